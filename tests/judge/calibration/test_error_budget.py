"""The gate's error budget: which looks fit beside those that were made."""

from __future__ import annotations

import pytest

from judge.calibration.error_budget import Look, budget

Short = tuple[str, int] | tuple[str, int, float]


def look(labels: str, attempts: int, level: float = 0.95) -> Look:
    return Look(labels, attempts, level)


CASES: list[tuple[str, list[Short], Short, int, bool]] = [
    ("the first", [], ("a", 1), 1, True),
    ("the same labels", [("a", 1)], ("a", 1), 1, True),
    ("the same labels, bolder", [("a", 20)], ("a", 1), 1, True),
    ("other labels", [("a", 1)], ("b", 1), 2, False),
    ("planned after it was spent", [("a", 1)], ("b", 20), 2, False),
    ("planned before", [("a", 2)], ("b", 2), 2, True),
    ("one too many", [("a", 2), ("b", 2)], ("c", 2), 3, False),
    ("three thirds, rounded", [("a", 3), ("b", 3)], ("c", 3), 3, True),
    ("bolder after a second look", [("a", 20), ("b", 20)], ("b", 1), 2, False),
    ("bolder once counts always", [("a", 20), ("a", 1), ("a", 20)], ("b", 20), 2, False),
    ("more looks than it allows", [("a", 20), ("b", 20)], ("c", 2), 3, False),
    ("the boldest is the newest", [("a", 4)], ("b", 2), 2, True),
    ("a look at a lower level", [("a", 2, 0.8)], ("b", 2), 2, False),
    ("a look at a higher level", [("a", 2, 0.99)], ("b", 2), 2, True),
]


@pytest.mark.parametrize(
    ("made", "this", "number", "fits"), [one[1:] for one in CASES], ids=[one[0] for one in CASES]
)
def test_which_look_fits(made: list[Short], this: Short, number: int, fits: bool) -> None:
    found = budget([look(*one) for one in made], look(*this))
    assert (found.number, found.spent is None) == (number, fits)


def test_what_is_spent_is_said() -> None:
    found = budget([look("a", 3), look("b", 3), look("c", 3)], look("d", 3))
    assert found.spent is not None
    assert found.spent.found == (
        "the error budget is spent: 3 attempts were made on other labels, and attempts = 3 leaves"
        " none for these"
    )
