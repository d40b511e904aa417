"""Whatever a study holds, its topics answer in words: no error, no nan, no table of dashes."""

from __future__ import annotations

import json
from functools import cache
from types import ModuleType
from typing import Any

import pandas as pd
import pytest

from annotate.records import Order
from judge.reporting.plain import plain
from judge.reporting.scope import Material, Scope, Settings, scopes
from judge.reporting.topics import gap, length, own_models, people, position, rankings
from judge.stats.agreement import pair_judgments
from tests.judge.reporting.made import (
    Row,
    columns_of_dashes,
    pictures,
    scope_of,
    tables,
    verdict,
    words,
)
from tests.judge.stats.tables import row

TOPICS = (position, length, own_models, people, rankings, gap)


def asked(unit: str, votes: str, said: str | None, **other: Any) -> list[Row]:
    """Votes like "aab" by r0, r1, …, and the verdict; None is a failure."""
    names = {"a": "a", "b": "b", "t": "tie"}
    made = [row(unit, f"r{n}", names[vote], **other) for n, vote in enumerate(votes)]
    if said is None:
        return [*made, verdict(unit, None, status="unparseable", **other)]
    return [*made, verdict(unit, names[said], **other)]


def everywhere(models: str, votes: str, said: str | None, questions: int = 4) -> list[Row]:
    return [one for q in range(questions) for one in asked(f"{q}:{models}", votes, said)]


HASHED = {"model_a": "unnamed:1", "model_b": "unnamed:2"}
CASES: dict[str, list[Row]] = {
    "a model that never wins": everywhere("alder-birch", "aa", "a"),
    "apart": everywhere("alder-birch", "ab", "a") + everywhere("cedar-dogwood", "ab", "b"),
    "only ties": everywhere("alder-birch", "tt", "t"),
    "one pair of models": everywhere("alder-birch", "ab", "a"),
    "only failures": everywhere("alder-birch", "ab", None),
    "one question": everywhere("alder-birch", "aab", "a", questions=1),
    "one vote": asked("1:alder-birch", "a", "a"),
    "no overlap": [*asked("1:alder-birch", "a", "a")[:1], verdict("2:alder-birch", "a")],
    "no names": [x for q in range(3) for x in asked(f"{q}", "ab", "a", **HASHED)],
    "two versions of one model": asked("1", "ab", "a", model_a="alder", model_b="alder"),
    "whole dialogues": asked("1:alder-birch", "ab", "a", turn=0),
    "no verdict on this kind of turn": [
        *asked("1:alder-birch", "ab", "a"),
        *asked("2:alder-birch", "ab", None, turn=0)[:2],
    ],
}  # fmt: skip


def lengths(rows: list[Row]) -> pd.DataFrame:
    units = sorted({(one["unit_id"], one["turn"]) for one in rows})
    return pd.DataFrame(
        [(unit, turn, 10 + 7 * n, 20) for n, (unit, turn) in enumerate(units)],
        columns=["unit_id", "turn", "length_a", "length_b"],
    )


def ballots(rows: list[Row]) -> pd.DataFrame:
    votes = [one for one in rows if one["source_kind"] == "rater"]
    sides = {"a": "left", "b": "right", "tie": "tie"}
    return pd.DataFrame(
        [
            ("overall", x["source_id"], "crowd", "vote", x["unit_id"], sides[x["value"]], Order.AB,
             None, n)
            for n, x in enumerate(votes)
        ],
        columns=["dimension", "rater", "rater_group", "layer", "pair", "choice", "order",
                 "active_ms", "sequence"],
    )  # fmt: skip


@cache
def scope(case: str, with_texts: bool) -> Scope:
    rows = CASES[case]
    material = {"answers": lengths(rows), "ballots": ballots(rows)} if with_texts else {}
    return scope_of(rows, **material)


def name(topic: ModuleType) -> str:
    return topic.__name__.rpartition(".")[2]


@pytest.mark.parametrize(
    ("topic", "with_texts"),
    [*((topic, True) for topic in TOPICS), (length, False), (people, False)],
    ids=lambda value: name(value) if isinstance(value, ModuleType) else "",
)
@pytest.mark.parametrize("case", CASES)
def test_any_study_gets_words(case: str, topic: ModuleType, with_texts: bool) -> None:
    values = topic.found(scope(case, with_texts))
    json.dumps(plain(values), allow_nan=False)
    assert topic.headline(values).words.endswith(".")
    section = topic.section(values)
    assert section.parts[0] == topic.headline(values)
    ids = [section.id, *(x.id for x in tables(section)), *(x.id for x in pictures(section))]
    assert len(set(ids)) == len(ids)
    assert all(one.endswith(values.key) for one in ids)
    for table in tables(section):
        assert not list(columns_of_dashes(table)), table.caption
    assert "None" not in words(section)
    assert "nan" not in words(section).split()


def test_the_dialogue_scope_of_a_judge_that_judged_turns_only() -> None:
    """The second scope has votes and not one verdict."""
    rows = CASES["no verdict on this kind of turn"]
    material = Material(pair_judgments(pd.DataFrame(rows)), lengths(rows))
    _, dialogues = scopes(material, Settings(resamples=50))
    assert dialogues.whole_dialogues
    for topic in TOPICS:
        values = topic.found(dialogues)
        section = topic.section(values)
        json.dumps(plain(values), allow_nan=False)
        assert all(not list(columns_of_dashes(table)) for table in tables(section))
