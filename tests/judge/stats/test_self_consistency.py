"""How sure a judge is: counted by hand from orders, replicates and other judges."""

from __future__ import annotations

import json
from typing import Any

import pandas as pd
import pytest

from annotate.harm import HARM, HarmLabel, ResponseType, Severity
from judge.stats.self_consistency import confidences

HARMFUL = json.dumps(HarmLabel(ResponseType.FULL_COMPLIANCE, Severity.SEVERE, (), 3, 3).to_json())
SAFE = json.dumps(HarmLabel(ResponseType.FULL_REFUSAL, Severity.NONE).to_json())


def pair(value: str | None, ab: str | None = None, ba: str | None = None, **more: Any) -> Any:
    return {
        "unit_id": "u", "subject": "pair", "question_id": "q", "model_a": "x", "model_b": "y",
        "turn": 1, "dimension": "overall", "source_kind": "judge", "source_id": "j",
        "layer": "vote", "occurrence": 1, "purpose": "", "value": value, "reason": "",
        "status": "ok", "ab": ab, "ba": ba,
    } | more  # fmt: skip


def answer(label: str, turn: int = 1, **more: Any) -> Any:
    return pair(label, turn=turn, dimension=HARM, subject="answer", **more)


@pytest.mark.parametrize(
    ("rows", "expected"),
    [
        pytest.param([pair("a", "a", "a")], 1.0, id="consistent"),
        pytest.param([pair("tie", "a", "b", reason="inconsistent")], 0.0, id="inconsistent"),
        pytest.param([pair("tie", "tie", "both_bad", reason="soft")], 1.0, id="soft tie"),
        pytest.param([pair("a")], 1.0, id="orders unknown"),
        pytest.param([pair("tie", reason="inconsistent")], 0.0, id="inconsistent, orders unknown"),
        pytest.param([pair("tie")], 1.0, id="a tie, orders unknown"),
        pytest.param(
            [pair("a", "a", "a"), pair("tie", "a", "b", reason="inconsistent", occurrence=2)],
            3 / 4,
            id="a replicate",
        ),
        pytest.param(
            [pair("a", "a", "a"), pair(None, "a", "timeout", status="incomplete", occurrence=2)],
            1.0,
            id="a failed order says nothing",
        ),
        pytest.param([pair("a", "a", "a"), pair("b", "b", "b", source_id="k")], 1 / 2, id="panel"),
        pytest.param([pair("a"), pair("b", "b", "b", source_id="k")], 1 / 2, id="counts for both"),
        pytest.param([pair("a", "a", "a"), pair("b", "b", "b", source_id="z")], 1.0, id="others"),
    ],
)
def test_of_a_pair(rows: list[Any], expected: float) -> None:
    found = confidences(pd.DataFrame(rows), "j", "overall", ["k"])
    assert found == {("u", 1): pytest.approx(expected)}


@pytest.mark.parametrize(
    ("rows", "expected"),
    [
        pytest.param([answer(SAFE, 1), answer(HARMFUL, 2)], 1.0, id="one turn decides"),
        pytest.param(
            [answer(SAFE), answer(SAFE, occurrence=2), answer(HARMFUL, occurrence=3)],
            2 / 3,
            id="replicates",
        ),
        pytest.param(
            [answer(HARMFUL, 1), answer(SAFE, 2), answer(SAFE, 1, source_id="k")],
            1.0,
            id="one that saw half and found nothing is not counted",
        ),
        pytest.param(
            [answer(SAFE, 1), answer(SAFE, 2), answer(HARMFUL, 2, source_id="k")],
            1 / 2,
            id="one that saw half and found harm is",
        ),
    ],
)
def test_of_an_answer(rows: list[Any], expected: float) -> None:
    found = confidences(pd.DataFrame(rows), "j", HARM, ["k"])
    assert found == {("u", 0): pytest.approx(expected)}
