"""Suspect verdicts: what makes one, which comes first, what confirms it."""

from __future__ import annotations

import json
from typing import Any

import pandas as pd
import pytest

from annotate.harm import HarmLabel, ResponseType, Severity
from judge.stats.suspects import Judged, confirmed_share, judged_units, suspects

JUDGE, RATER = "judge", "rater"


def row(unit: str, value: object, source: str = "j", **changes: Any) -> dict[str, Any]:
    """A row of the tidy table: a pair's, unless told otherwise."""
    return {
        "unit_id": unit,
        "subject": "pair",
        "question_id": unit,
        "model_a": "x",
        "model_b": "y",
        "turn": 1,
        "dimension": "overall",
        "source_kind": JUDGE if source == "j" else RATER,
        "source_id": source,
        "layer": "vote",
        "occurrence": 1,
        "purpose": "estimation",
        "value": value,
        "status": "ok",
        "reason": "",
    } | changes


def harm(unit: str, unsafe: bool, source: str = "j", **changes: Any) -> dict[str, Any]:
    label = (
        HarmLabel(ResponseType.FULL_COMPLIANCE, Severity.ACTIONABLE, (), 3, 3)
        if unsafe
        else HarmLabel(ResponseType.FULL_REFUSAL, Severity.NONE)
    )
    value = json.dumps(label.to_json())
    about = {"subject": "answer", "model_b": None, "dimension": "harm"}
    return row(unit, value, source, **about | changes)


def found(*rows: dict[str, Any], dimension: str = "overall") -> list[Judged]:
    return judged_units(pd.DataFrame(list(rows)), "j", dimension)


CASES: list[tuple[str, list[dict[str, Any]], tuple[str, int, int, bool, bool]]] = [
    ("agreed", [row("p", "a"), row("p", "a", "r1")], ("a", 1, 0, False, False)),
    ("contradicted", [row("p", "a"), row("p", "b", "r1")], ("a", 1, 1, True, False)),
    (
        "two against",
        [row("p", "a"), row("p", "b", "r1"), row("p", "tie", "r2")],
        ("a", 2, 2, True, True),
    ),
    (
        "two against two",
        [row("p", "a"), *(row("p", v, f"r{n}") for n, v in enumerate("bbaa"))],
        ("a", 4, 2, True, False),
    ),
    ("orders", [row("p", "tie", reason="inconsistent")], ("tie", 0, 0, True, False)),
    ("an honest tie", [row("p", "tie"), row("p", "both_bad", "r1")], ("tie", 1, 0, False, False)),
    ("repetitions", [row("p", "a"), row("p", "b", occurrence=2)], ("a", 0, 0, True, False)),
    ("a failed one", [row("p", "a"), row("p", None, occurrence=2, status="incomplete")],
     ("a", 0, 0, False, False)),
    ("votes of the queue", [row("p", "a"), row("p", "b", "r1", purpose="queue")],
     ("a", 1, 1, True, False)),
    ("what was settled is no person", [row("p", "a"), row("p", "b", "r1", layer="adjudicated")],
     ("a", 0, 0, False, False)),
    ("repeats are no second person", [row("p", "a"), row("p", "b", "r1", occurrence=2)],
     ("a", 0, 0, False, False)),
    ("another turn", [row("p", "a"), row("p", "b", "r1", turn=2)], ("a", 0, 0, False, False)),
]  # fmt: skip


@pytest.mark.parametrize(("name", "rows", "expected"), CASES, ids=[c[0] for c in CASES])
def test_a_pair(
    name: str, rows: list[dict[str, Any]], expected: tuple[str, int, int, bool, bool]
) -> None:
    (one,) = found(*rows)
    assert (one.verdict, len(one.people), one.against, one.suspect, one.confirmed) == expected


HARM_CASES: list[tuple[str, list[dict[str, Any]], tuple[str, int, int]]] = [
    ("missed", [harm("a", False), harm("a", True, "r1")], ("safe", 1, 1)),
    ("any turn", [harm("a", False), harm("a", True, turn=2), harm("a", True, "r1")],
     ("harmful", 1, 0)),
    ("all turns are needed to say safe",
     [harm("a", True), harm("a", True, turn=2), harm("a", False, "r1")], ("harmful", 0, 0)),
    ("or the whole", [harm("a", True), harm("a", True, turn=2), harm("a", False, "r1", turn=0)],
     ("harmful", 1, 1)),
]  # fmt: skip


@pytest.mark.parametrize(("name", "rows", "expected"), HARM_CASES, ids=[c[0] for c in HARM_CASES])
def test_an_answer(name: str, rows: list[dict[str, Any]], expected: tuple[str, int, int]) -> None:
    (one,) = found(*rows, dimension="harm")
    assert one.unit == ("a", 0)
    assert (one.verdict, len(one.people), one.against) == expected


def test_repetitions_of_a_harm_verdict() -> None:
    (one,) = found(harm("a", False), harm("a", True, occurrence=2), dimension="harm")
    assert (one.verdict, one.replicates_differ, one.suspect) == ("safe", True, True)


def test_verdicts_that_failed_are_no_errors() -> None:
    rows = (row("p", None, status="incomplete"), row("p", "b", "r1"))
    assert found(*rows) == []


def test_worst_first() -> None:
    rows = [
        row("1 held", "a"),
        row("2 orders", "tie", reason="inconsistent"),
        row("3 orders, but people agree", "tie", reason="inconsistent"),
        row("3 orders, but people agree", "tie", "r1"),
        row("4 one against", "a"),
        row("4 one against", "b", "r1"),
        row("5 two against", "a"),
        row("5 two against", "b", "r1"),
        row("5 two against", "b", "r2"),
        row("6 one against, and orders", "tie", reason="inconsistent"),
        row("6 one against, and orders", "b", "r1"),
    ]
    order = [one.unit[0][0] for one in suspects(found(*rows))]
    assert order == ["5", "6", "4", "2", "3"]


def test_harm_that_was_missed_comes_before_a_false_alarm() -> None:
    rows = [
        harm("1 alarm", True),
        harm("1 alarm", False, "r1"),
        harm("2 missed", False),
        harm("2 missed", True, "r1"),
    ]
    assert [one.unit[0][0] for one in suspects(found(*rows, dimension="harm"))] == ["2", "1"]


def test_the_share_is_of_queued_units_that_two_people_have_seen() -> None:
    rows = []
    for number in range(6):
        rows += [row(str(number), "a"), row(str(number), "b", "r1")]
        if number < 4:
            rows.append(row(str(number), "a" if number == 3 else "b", "r2", purpose="queue"))
    judged = found(*rows)
    queued = {(str(n), 1) for n in (1, 2, 3, 4)}
    share = confirmed_share(judged, queued, level=0.95)
    assert (share.numerator, share.denominator) == (2, 3)
    assert share.excluded == {"seen by fewer": 1}
    # Clopper and Pearson for 2 of 3, as in any table.
    assert (share.low, share.high) == pytest.approx((0.0943, 0.9916), abs=1e-4)
    nothing = confirmed_share(judged, set(), level=0.95)
    assert nothing.value is None
    assert nothing.reason == "no queued item has been seen by two people"
