"""Rogan–Gladen: Lee et al.'s figures are in tests/golden; here its refusals and edges."""

from __future__ import annotations

import re
from typing import Any

import pytest

from judge.calibration.rogan_gladen import JudgeErrors, allocation, rogan_gladen

GOOD = JudgeErrors(180, 200, 140, 200)


def test_the_estimate_by_hand() -> None:
    # (.4 + .7 − 1) / (.9 + .7 − 1) = 1/6
    made = rogan_gladen(400, 1000, GOOD, labels_of="pilot", scored="set")
    assert made.value == pytest.approx(1 / 6)
    assert made.n == 400
    assert made.population == "set, by labels of pilot"


REFUSED = {
    "labels of the same set": ((GOOD, "set"), "labels are of the set to be scored"),
    "no better than chance": ((JudgeErrors(10, 20, 10, 20), "pilot"), "≤ 1"),
    "worse than chance": ((JudgeErrors(2, 20, 5, 20), "pilot"), "0.100 \\+ specificity 0.250 ≤ 1"),
}


@pytest.mark.parametrize("case", REFUSED.values(), ids=REFUSED)
def test_refused_never_clipped(case: Any) -> None:
    (errors, labels_of), words = case
    made = rogan_gladen(300, 1000, errors, labels_of=labels_of, scored="set")
    assert (made.value, made.low, made.high) == (None, None, None)
    assert re.search(words, made.reason)


def test_a_point_below_zero_is_no_rate_but_its_interval_stands() -> None:
    made = rogan_gladen(90, 1000, JudgeErrors(18, 20, 160, 180), labels_of="a", scored="b")
    # (.09 + .8889 − 1) / (.9 + .8889 − 1) < 0
    assert made.value is None
    assert "-0.027" in made.reason
    assert made.low == 0
    assert made.high is not None
    assert made.high > 0


def test_an_interval_that_is_no_rate_at_all_is_refused() -> None:
    made = rogan_gladen(20, 1000, JudgeErrors(18, 20, 160, 180), labels_of="a", scored="b")
    assert (made.value, made.low) == (None, None)
    assert made.reason.startswith("refused: the corrected rate is -0.")


@pytest.mark.parametrize(
    "counts", [(3, 2, 1, 1), (0, 0, 1, 1), (1, 1, 0, 0), (-1, 2, 1, 1)], ids=str
)
def test_impossible_counts(counts: tuple[int, int, int, int]) -> None:
    with pytest.raises(ValueError, match="expected a count out of one or more"):
        JudgeErrors(*counts)
    with pytest.raises(ValueError, match="expected a count out of one or more"):
        rogan_gladen(5, 4, GOOD, labels_of="a", scored="b")


def test_allocation_stays_within_the_total_and_above_the_pilot() -> None:
    pilot = JudgeErrors(9, 10, 7, 10)
    assert allocation(400, 0.4, pilot) == (272, 128)
    assert allocation(400, 0.001, pilot) == (390, 10)
    assert allocation(400, 0.9999, pilot) == (10, 390)
    with pytest.raises(ValueError, match="the pilot's 20"):
        allocation(19, 0.4, pilot)
