"""The one tidy table that every statistic takes: people's votes and judges' verdicts."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from itertools import chain
from typing import Any

import pandas as pd

from annotate import ballots, library
from annotate.store import Store
from judge.database.answer_places import version_names
from judge.database.order_verdicts import order_verdicts
from judge.database.store import VerdictStore
from judge.reporting.values import RunFacts

COLUMNS = (*ballots.JUDGMENT_COLUMNS, "orders", "reason", "ab", "ba")


def tidy(store: Store) -> pd.DataFrame:
    """Judgments of everyone, one row each, with the columns of DESIGN §2.

    `order` is one screen's (`ab`, `ba`, `unknown`); a pair verdict has none, and says in
    `orders` whether both are behind it. Then `ab` and `ba` hold what was said in each: an
    outcome, or the status of a failure.

    Votes and verdicts are read in one snapshot, so a running study gives one moment. Models with
    several answer sets under one name are told apart by version, as in `answer_places`.
    """
    verdicts = VerdictStore(store)
    with store.snapshot():
        marks = library.prompt_marks(store)
        rows = chain(ballots.judgments(store), _with_orders(store, verdicts))
        return _frame(_told_apart(rows, version_names(store)), marks)


def _told_apart(
    rows: Iterable[Mapping[str, Any]], names: Mapping[str, tuple[str, str | None]]
) -> Iterable[Mapping[str, Any]]:
    if not names:
        return rows
    return (
        row | dict(zip(("model_a", "model_b"), names[row["unit_id"]], strict=True))
        if row["unit_id"] in names
        else row
        for row in map(dict, rows)
    )


MARKS = ("prompt_set", "matched")
"""What a question is there to find out about harm (`annotate.records.PromptSet`), and the group of
prompts to which it belongs; "" where that is not marked."""


def _frame(
    rows: Iterable[Mapping[str, Any]], marks: Mapping[tuple[str, str], tuple[str, str]]
) -> pd.DataFrame:
    """Rows as columns, equal texts held once: a million rows as they come fill gigabytes."""
    columns: dict[str, list[Any]] = {name: [] for name in COLUMNS}
    marked: dict[str, list[str]] = {name: [] for name in MARKS}
    texts: dict[str, str] = {}
    for row in rows:
        for name, column in columns.items():
            value = row.get(name, math.nan)
            column.append(texts.setdefault(value, value) if type(value) is str else value)
        found = marks.get((row["benchmark"], row["question_id"]), ("", ""))
        for place, name in enumerate(MARKS):
            marked[name].append(found[place])
    frame = pd.DataFrame({name: pd.Series(columns.pop(name)) for name in COLUMNS})
    for name in MARKS:
        frame[name] = pd.Series(marked.pop(name), dtype=object if not len(frame) else None)
    return frame


def _with_orders(store: Store, verdicts: VerdictStore) -> Iterator[dict[str, Any]]:
    known = {
        (one.judge, one.pair, one.turn, one.dimension, one.replicate): (one.ab, one.ba)
        for one in order_verdicts(store)
    }
    for row in verdicts.judgments():
        unit = (row["source_id"], row["unit_id"], row["turn"], row["dimension"], row["occurrence"])
        ab, ba = known.get(unit, (None, None))
        yield {**row, "ab": ab, "ba": ba}


def run_facts(store: Store) -> list[RunFacts]:
    """What the judges with verdicts were, and their manifests."""
    verdicts = VerdictStore(store)
    judged = {
        row[0]
        for row in store.conn.execute(
            "SELECT DISTINCT run FROM pair_verdict UNION SELECT DISTINCT run FROM answer_verdict"
        )
    }
    return [
        RunFacts(run.name, run.kind, run.mode, run.fingerprint, run.manifest)
        for run in verdicts.runs()
        if run.id in judged
    ]
