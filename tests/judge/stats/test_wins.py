"""Verdicts as counts per question."""

from __future__ import annotations

import numpy as np
import pytest

from judge.stats.wins import count_wins

ROWS = [
    ("1", "p", "q", 1.0),
    ("1", "q", "p", 1.0),
    ("2", "q", "p", 0.5),
    ("2", "r", "p", 0.0),
    ("2", "q", "q", 1.0),
    ("3", "r", "q", float("nan")),
]


def test_by_hand() -> None:
    wins = count_wins(*zip(*ROWS, strict=True), questions=["4"])
    assert (wins.models, wins.questions) == (("p", "q", "r"), ("1", "2", "3", "4"))
    assert wins.pairs.tolist() == [[0, 1], [0, 2]]
    expected = [[[1, 1], [0, 0]], [[0.5, 0.5], [1, 0]], [[0, 0], [0, 0]], [[0, 0], [0, 0]]]
    assert wins.table.tolist() == expected
    assert wins.excluded == {"two versions of one model": 1, "no value": 1}
    # p: 1 + ½ + 1 of 4; q: 1 + ½ of 3; r: 0 of 1.
    assert wins.rates(wins.table.sum(0)).tolist() == [2.5 / 4, 1.5 / 3, 0.0]


def test_a_model_without_a_verdict_has_no_rate() -> None:
    wins = count_wins(["1", "1"], ["p", "p"], ["q", "r"], [1, np.nan])
    assert np.isnan(wins.rates(wins.table.sum(0))).tolist() == [False, False, True]


@pytest.mark.parametrize(
    ("score", "words"),
    [([2.0], "score 2.0: expected 1, 0.5, 0 or nan"), ([], "expected one entry per verdict")],
)
def test_strange_input(score: list[float], words: str) -> None:
    with pytest.raises(ValueError, match=words):
        count_wins(["1"], ["p"], ["q"], score)
