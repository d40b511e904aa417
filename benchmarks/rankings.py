"""Bradley–Terry with 10,000 clustered resamples, beside one evalica fit per resample."""

from __future__ import annotations

import time
from statistics import median

import numpy as np

from judge.stats.bradley_terry import bradley_terry
from judge.stats.wins import count_wins

RESAMPLES = 10_000
SHAPES = ((6, 80, 2_668), (20, 80, 20_000), (6, 20_000, 1_000_000))
"""Models, questions, votes: as MT-Bench's expert votes; more models; many votes."""
THEIRS = 40
"""Resamples fitted by evalica; its time for 10,000 is this many times 250."""


def main() -> list[str]:
    """Measure; returns the rows of the table."""
    return [row for shape in SHAPES for row in _measure(*shape)]


def _measure(models: int, questions: int, votes: int) -> list[str]:
    rng = np.random.default_rng(1)
    strength = rng.normal(0, 0.8, models)
    first = rng.integers(models, size=votes)
    second = (first + rng.integers(1, models, size=votes)) % models
    won = rng.random(votes) < 1 / (1 + np.exp(strength[second] - strength[first]))
    score = np.where(rng.random(votes) < 0.2, 0.5, won.astype(float))
    question = rng.integers(questions, size=votes)
    names = [f"model {n:02}" for n in range(models)]
    a, b = [names[n] for n in first], [names[n] for n in second]

    start = time.perf_counter()
    wins = count_wins([str(q) for q in question], a, b, score)
    counting = time.perf_counter() - start
    ours = []
    for _ in range(3):
        start = time.perf_counter()
        bradley_terry(wins, "benchmark", resamples=RESAMPLES)
        ours.append(time.perf_counter() - start)
    what = f"Bradley–Terry, {models} models, {questions:,} questions, {votes:,} votes"
    rows = [
        f"| {what}, {RESAMPLES:,} resamples | median {median(ours):.2f} s |"
        f" and {counting:.2f} s to count |"
    ]
    if votes <= 100_000:
        theirs = _theirs(question, a, b, score) * RESAMPLES / THEIRS
        rows.append(
            f"| ratio to evalica in a loop, from {THEIRS} resamples |"
            f" {theirs / median(ours):.0f} | {theirs:.0f} s |"
        )
    return rows


def _theirs(question: np.ndarray, a: list[str], b: list[str], score: np.ndarray) -> float:
    """Seconds for `THEIRS` resamples: draw questions, copy their votes, fit."""
    import evalica

    rng = np.random.default_rng(1)
    winner = {1.0: evalica.Winner.X, 0.0: evalica.Winner.Y, 0.5: evalica.Winner.Draw}
    winners = np.array([winner[s] for s in score], dtype=object)
    first, second = np.array(a, dtype=object), np.array(b, dtype=object)
    rows = [np.flatnonzero(question == q) for q in range(int(question.max()) + 1)]
    start = time.perf_counter()
    for _ in range(THEIRS):
        at = np.concatenate([rows[q] for q in rng.integers(len(rows), size=len(rows))])
        evalica.bradley_terry(first[at].tolist(), second[at].tolist(), winners[at].tolist())
    return time.perf_counter() - start


if __name__ == "__main__":
    print("\n".join(main()))
