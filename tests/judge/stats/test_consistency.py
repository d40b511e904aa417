"""Hidden repeats: the same rater, the same pair, sides flipped."""

from __future__ import annotations

from typing import Any

import pytest

from annotate.records import Purpose
from judge.stats.consistency import consistency_figure, consistency_with_raters, repeats
from judge.stats.joint import estimates
from tests.judge.stats.tables import WHO, made, row


def twice(unit: str, rater: str, first: str, second: str | None, **other: Any) -> list[Any]:
    again = {"occurrence": 2, "purpose": Purpose.REPEAT, **other}
    return [row(unit, rater, first), row(unit, rater, second, **again)]


def test_the_share_of_repeats_with_the_same_vote() -> None:
    rows = [
        *twice("q0", "r0", "a", "a"),
        *twice("q1", "r0", "a", "b"),
        *twice("q2", "r1", "tie", "both_bad"),
        *twice("q3", "r1", "b", "b", status="withdrawn"),
        row("q4", "r0", "a"),
        row("q5", "r0", "a", occurrence=2, purpose="repeat", dimension="harmlessness"),
        row("q0", "r0", "b", occurrence=3, purpose="repeat"),
    ]
    study = made(rows)
    found = repeats(study.judgments, "overall", study.questions)
    assert (found.same.tolist(), found.raters) == ([1, 0, 1], 2)
    figure = consistency_figure(found, WHO)
    assert (figure.numerator, figure.denominator) == (2, 3)
    assert figure.excluded == {"a vote is missing or was withdrawn, first or second time": 1}
    (one,) = estimates(
        {1: figure}, len(study.questions), level=0.95, resamples=300, seed=7
    ).values()
    assert one.low is not None
    few = consistency_with_raters(found, WHO)
    assert few.value == pytest.approx(2 / 3)
    assert few.reason.startswith("conditional on these 2 raters")


def test_with_ten_raters_the_interval_is_for_others_too() -> None:
    rows = [
        one
        for rater in range(12)
        for question in range(10)
        for one in twice(f"q{question}", f"r{rater}", "a", "b" if rater == question else "a")
    ]
    study = made(rows)
    found = consistency_with_raters(repeats(study.judgments, "overall", study.questions), WHO)
    assert found.value == pytest.approx(110 / 120)
    assert found.low is not None
    assert found.high is not None
    assert 0.8 < found.low < 0.9
    assert 0.93 < found.high <= 1


def test_groups_and_simulated_raters_are_kept_apart() -> None:
    rows = [
        *twice("q0", "r0", "a", "a"),
        *[{**one, "layer": "simulated"} for one in twice("q1", "s0", "a", "b")],
        *[{**one, "rater_group": "expert"} for one in twice("q2", "e0", "a", "b")],
    ]
    study = made(rows)
    for settings, same in (({"groups": ["crowd"]}, [1]), ({"simulated": True}, [0])):
        found = repeats(study.judgments, "overall", study.questions, **settings)
        assert found.same.tolist() == same


def test_no_repeats_is_undefined_with_the_reason() -> None:
    study = made([row("q0", "r0", "a"), row("q0", "judge", "a")])
    found = repeats(study.judgments, "overall", study.questions)
    figure = consistency_figure(found, WHO)
    assert figure.value() is None
    assert figure.undefined == "no rater was shown a pair a second time"
    other = consistency_with_raters(found, WHO)
    assert (other.value, other.reason) == (None, "no rater was shown a pair a second time")
