"""Elo: one order as evalica plays it, and laws of the shuffled figure."""

from __future__ import annotations

import evalica
import numpy as np
import pytest

from judge.stats import elo as module
from judge.stats.elo import EloSettings, elo, play

RNG = np.random.default_rng(2)
NAMES = np.array(["p", "q", "r", "s"])
PAIRS = np.array([RNG.choice(4, 2, replace=False) for _ in range(400)])
SCORE = RNG.choice([0.0, 0.5, 1.0, 1.0], 400)
A, B = (NAMES[PAIRS[:, side]].tolist() for side in (0, 1))
WINNER = {1.0: evalica.Winner.X, 0.0: evalica.Winner.Y, 0.5: evalica.Winner.Draw}


def test_by_hand() -> None:
    # Even at first: 4 (1 − ½) = 2 points; then 4 (0 − 1 / (1 + 10^(−4 / 400))) = −2.023.
    ratings = play(
        np.array([[0, 1], [0, 1]]), np.array([1.0, 0.0]), np.array([[0, 1]]), 2, EloSettings()
    )
    assert ratings[0] == pytest.approx([1000 + 2 - 2.0230248, 1000 - 2 + 2.0230248], abs=1e-6)


@pytest.mark.parametrize("settings", [EloSettings(), EloSettings(k=30, scale=200, initial=1500)])
def test_each_order_is_evalicas(settings: EloSettings) -> None:
    orders = np.stack([np.arange(400), RNG.permutation(400)])
    ours = play(PAIRS, SCORE, orders, 4, settings)
    for found, order in zip(ours, orders, strict=True):
        theirs = evalica.elo(
            [A[i] for i in order],
            [B[i] for i in order],
            [WINNER[SCORE[i]] for i in order],
            initial=settings.initial,
            base=settings.base,
            scale=settings.scale,
            k=settings.k,
        ).scores
        assert found == pytest.approx([theirs[name] for name in NAMES])


def test_rows_are_the_middle_and_spread_over_shuffles() -> None:
    rows = elo(A, B, SCORE, settings=EloSettings(shuffles=50))
    assert [row.median for row in rows] == sorted((row.median for row in rows), reverse=True)
    assert all(row.low < row.median < row.high for row in rows)
    assert sum(row.n for row in rows) == 800
    assert "K 4, base 10, scale 400, start 1000" in rows[0].method
    assert "50 shuffles" in rows[0].method


def test_order_of_rows_and_naming_change_nothing_and_the_seed_does() -> None:
    order = RNG.permutation(400)
    flip = RNG.random(400) < 0.5
    a = [B[i] if flip[i] else A[i] for i in order]
    b = [A[i] if flip[i] else B[i] for i in order]
    score = [1 - SCORE[i] if flip[i] else SCORE[i] for i in order]
    assert elo(a, b, score) == elo(A, B, SCORE)
    assert elo(A, B, SCORE, seed=1) != elo(A, B, SCORE)


def test_losses_for_wins_mirror_the_ratings() -> None:
    plain = {row.model: row for row in elo(A, B, SCORE, settings=EloSettings(shuffles=800))}
    for row in elo(A, B, 1 - SCORE, settings=EloSettings(shuffles=800)):
        # Another sorting of the verdicts, so other shuffles: equal up to their noise.
        assert row.median == pytest.approx(2000 - plain[row.model].median, abs=1.5)


def test_many_verdicts_are_drawn_anew_in_each_shuffle(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MOST_VERDICTS", 100)
    rows = elo(A, B, SCORE)
    assert "200 shuffles of 100 out of 400 verdicts" in rows[0].method
    # The part played differs by shuffle, so nobody keeps a rating that no order can move.
    assert all(row.low < row.high for row in rows)


def test_looking_verdicts_up_in_pieces_changes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    columns = (["p", "q", "r"] * 9, ["q", "r", "p"] * 9, [1.0, 0.5, 0.0] * 9)
    whole = elo(*columns)
    monkeypatch.setattr("judge.stats.elo.STEPS_AT_ONCE", 4)
    assert elo(*columns) == whole


def test_nothing_to_play() -> None:
    assert elo(["p", "p"], ["p", "q"], [1.0, np.nan]) == ()
