"""Elo ratings over random orders of the same verdicts: one row, never the headline.

After each verdict the ratings move by K × (score − expected), expected = 1 / (1 + base^((b − a) /
scale)). The end depends on the order in which verdicts come, and late ones weigh more; for a
fixed set of models that order means nothing. So the verdicts are shuffled, and what is reported
is the middle and the spread over shuffles. The spread is what the order alone does. It is no
confidence interval: that would ask what other questions do (see `judge.stats.bradley_terry`).

Sources: A. E. Elo, The Rating of Chessplayers, Past and Present (1978); M. Boubdir et al., Elo
Uncovered: Robustness and Best Practices in Language Model Evaluation (2023),
https://arxiv.org/abs/2311.17295. K = 4, base 10, scale 400 and start 1000 are Chatbot Arena's
(Zheng et al. 2023, https://arxiv.org/abs/2306.05685).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from judge.stats.coefficients import FloatArray

MOST_VERDICTS = 20_000
"""Of more verdicts each shuffle plays its first so many: Elo has long forgotten the start."""


STEPS_AT_ONCE = 1_000
"""Verdicts looked up together, over all shuffles."""


@dataclass(frozen=True, slots=True)
class EloSettings:
    """What the numbers of a rating mean: `scale` points are odds of `base` to 1."""

    k: float = 4.0
    base: float = 10.0
    scale: float = 400.0
    initial: float = 1000.0
    shuffles: int = 200


@dataclass(frozen=True, slots=True)
class EloRow:
    """One model's rating; above `initial` is better than the average of those it met."""

    model: str
    median: float
    """The middle over shuffles."""
    low: float
    """2.5 % of the shuffles end below; the spread of order, no confidence interval."""
    high: float
    """2.5 % of the shuffles end above."""
    n: int
    """Verdicts in which the model is compared."""
    method: str


def elo(
    model_a: Sequence[str],
    model_b: Sequence[str],
    score: Sequence[float] | FloatArray,
    *,
    settings: EloSettings | None = None,
    seed: int = 0,
) -> tuple[EloRow, ...]:
    """Ratings of all models with a verdict, best first.

    Which model is called a or b and the order of rows change nothing.

    Args:
        model_a: one per verdict.
        model_b: likewise; a verdict between two answers of one name is left out.
        score: of a: 1 preferred, ½ tie, 0 b preferred; nan is left out.
        settings: K, base, scale, start and number of shuffles.
        seed: of the shuffles.
    """
    chosen = settings or EloSettings()
    values = np.asarray(score, dtype=np.float64)
    rows = sorted(
        (a, b, float(s)) if a < b else (b, a, 1 - float(s))
        for a, b, s in zip(model_a, model_b, values, strict=True)
        if a != b and not np.isnan(s)
    )
    if not rows:
        return ()
    models = sorted({name for a, b, _ in rows for name in (a, b)})
    place = {name: index for index, name in enumerate(models)}
    games = np.array([(place[a], place[b]) for a, b, _ in rows], dtype=np.int64)
    played = min(len(rows), MOST_VERDICTS)
    rng = np.random.default_rng(seed)
    drawn = [rng.choice(len(rows), played, replace=False) for _ in range(chosen.shuffles)]
    ratings = play(games, np.array([s for _, _, s in rows]), np.stack(drawn), len(models), chosen)
    low, median, high = np.quantile(ratings, [0.025, 0.5, 0.975], axis=0)
    counts = np.bincount(games.ravel(), minlength=len(models))
    method = _words(chosen, played, len(rows))
    found = [
        EloRow(name, float(median[i]), float(low[i]), float(high[i]), int(counts[i]), method)
        for i, name in enumerate(models)
    ]
    return tuple(sorted(found, key=lambda row: (-row.median, row.model)))


def play(
    games: NDArray[np.int64],
    score: FloatArray,
    orders: NDArray[np.int64],
    models: int,
    settings: EloSettings,
) -> FloatArray:
    """Ratings at the end of each order, all orders side by side.

    Args:
        games: shape (verdicts, 2), indices of the two models.
        score: shape (verdicts,), of the first model.
        orders: shape (orders, played), indices of verdicts as they are played.
        models: how many.
        settings: K, base, scale and start.

    Returns:
        Shape (orders, models).
    """
    flat = np.full(len(orders) * models, float(settings.initial))
    row = models * np.arange(len(orders))
    # Odds of base to 1 per `scale` points, as a factor in the exponent of e.
    steepness = np.log(settings.base) / settings.scale
    for start in range(0, orders.shape[1], STEPS_AT_ONCE):
        now = orders[:, start : start + STEPS_AT_ONCE].T
        first, second = row + games[now, 0], row + games[now, 1]
        for a, b, gained in zip(first, second, score[now], strict=True):
            mine, other = flat[a], flat[b]
            moved = settings.k * (gained - 1 / (1 + np.exp(steepness * (other - mine))))
            flat[a] = mine + moved
            flat[b] = other - moved
    return flat.reshape(len(orders), models)


def _words(settings: EloSettings, played: int, verdicts: int) -> str:
    part = f" of {played} out of {verdicts} verdicts" if played < verdicts else ""
    return (
        f"Elo, K {settings.k:g}, base {settings.base:g}, scale {settings.scale:g}, start"
        f" {settings.initial:g}; median and middle 95 % of {settings.shuffles} shuffles{part}"
    )
