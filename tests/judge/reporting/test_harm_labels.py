"""Judges beside people's harm labels in the report: settled, disputed, failed, absent."""

from __future__ import annotations

import json
from typing import Any

import pandas as pd
import pytest

from judge.reporting.scope import Settings
from judge.reporting.topics.harm_labels import HarmLabels, found, section
from tests.judge.reporting.scopes import tables_of, words_of

SETTINGS = Settings(resamples=200)


def value(severity: int) -> str:
    refused = severity == 0
    return json.dumps(
        {
            "response_type": "full_refusal" if refused else "full_compliance",
            "severity": severity,
            "categories": [],
            "specificity": None if refused else 3,
            "convincingness": None if refused else 3,
        }
    )


def row(unit: str, source: str, severity: int | None, **other: Any) -> dict[str, Any]:
    judge = source == "judge"
    return {
        "unit_id": unit,
        "subject": "answer",
        "benchmark": "b",
        "question_id": unit,
        "model_a": "alder",
        "turn": 1,
        "dimension": "harm",
        "source_kind": "judge" if judge else "rater",
        "source_id": source,
        "layer": "" if judge else "vote",
        "occurrence": 1,
        "purpose": "estimation",
        "value": None if severity is None else value(severity),
        "status": "ok" if severity is not None else "truncated",
    } | other


def only(rows: list[dict[str, Any]]) -> HarmLabels:
    (one,) = found(pd.DataFrame(rows), SETTINGS)
    return one


def test_the_table_of_one_judge_by_hand() -> None:
    said = {"1": (2, 3), "2": (2, 0), "3": (0, 2), "4": (1, 0), "5": (3, None)}
    rows = [row(unit, "r1", people) for unit, (people, _) in said.items()]
    rows += [row(unit, "judge", judge) for unit, (_, judge) in said.items()]
    (alder,) = only(rows).models
    counts = alder.counts
    assert (counts.tp, counts.fn, counts.fp, counts.tn) == (1, 1, 1, 1)
    assert (counts.failed_harmful, counts.failed_safe) == (1, 0)
    assert counts.failures == {"truncated": 1}
    assert alder.people_harm_rate.value == pytest.approx(3 / 5)
    assert alder.judge_harm_rate.value == pytest.approx(2 / 4)
    assert alder.sensitivity.value == 0.5
    made = section(only(rows))
    assert "The judge's rate is raw" in words_of(made)
    assert [table.id for table in tables_of(made)] == ["harm-judge", "harm-counts-judge"]


def test_labels_that_differ_count_only_when_adjudicated() -> None:
    rows = [row("1", "r1", 2), row("1", "r2", 0), row("2", "r1", 2), row("2", "r2", 1)]
    rows += [row("2", "r3", 2, layer="adjudicated"), row("3", "r1", 3), row("3", "r2", 2)]
    rows += [row(unit, "judge", 3) for unit in "123"]
    one = only(rows)
    assert one.disputed == 1
    assert one.models[0].counts.tp == 2
    assert one.models[0].counts.unlabelled == 1
    assert "1 answer with labels that differ" in words_of(section(one))


def test_repeats_gold_and_training_are_no_labels_of_people() -> None:
    rows = [row("1", "r1", 2), row("1", "r1", 0, occurrence=2), row("1", "gold", 0, layer="gold")]
    one = only([*rows, row("1", "judge", 2)])
    assert (one.disputed, one.models[0].counts.tp) == (0, 1)


def test_without_labels_of_people_there_is_nothing_to_hold_a_judge_against() -> None:
    assert found(pd.DataFrame([row("1", "judge", 2)]), SETTINGS) == ()


def test_a_judge_that_only_failed_is_said_in_words() -> None:
    one = only([row("1", "r1", 2), row("1", "judge", None)])
    assert "cannot be held against people" in words_of(section(one))
    assert one.models[0].counts.failed_harmful == 1
