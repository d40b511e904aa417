"""The one tidy table that every statistic takes: people's votes and judges' verdicts."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain
from typing import Any

import pandas as pd

from annotate import ballots, library
from annotate.store import Store
from judge.database.order_verdicts import order_verdicts
from judge.database.store import VerdictStore
from judge.reporting.values import RunFacts


def tidy(store: Store) -> pd.DataFrame:
    """Judgments of everyone, one row each, with the columns of DESIGN §2.

    `order` is one screen's (`ab`, `ba`, `unknown`); a pair verdict has none, and says in
    `orders` whether both are behind it. Then `ab` and `ba` hold what was said in each: an
    outcome, or the status of a failure.

    Votes and verdicts are read in one snapshot, so a running study gives one moment.
    """
    verdicts = VerdictStore(store)
    with store.snapshot():
        rows = list(chain(ballots.judgments(store), _with_orders(store, verdicts)))
        marks = library.prompt_marks(store)
    table = pd.DataFrame(rows, columns=[*ballots.JUDGMENT_COLUMNS, "orders", "reason", "ab", "ba"])
    keys = list(zip(table["benchmark"], table["question_id"], strict=True))
    for at, name in enumerate(MARKS):
        table[name] = [marks[key][at] if key in marks else "" for key in keys]
    return table


MARKS = ("prompt_set", "matched")
"""What a question is there to find out about harm (`annotate.records.PromptSet`), and the group of
prompts to which it belongs; "" where that is not marked."""


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
