"""Do two sources put models in the same order? Spearman's rho and Kendall's tau.

The unit is a model, so with few models there is little to say: the p-value counts how many
orders of the models would agree at least as well (or as badly), and the words beside it say what
a perfect match is worth with so few.

Sources: C. Spearman, The Proof and Measurement of Association between Two Things, American
Journal of Psychology 15 (1904) 72–101, https://doi.org/10.2307/1412159; M. G. Kendall, The
Treatment of Ties in Ranking Problems, Biometrika 33 (1945) 239–251,
https://doi.org/10.1093/biomet/33.3.239 (tau-b).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import permutations
from math import factorial

import numpy as np

from judge.stats.coefficients import FloatArray, ratio

FEW_MODELS = 5
"""Below this not even a perfect match can reach p < .05, two-sided."""
MOST_EXACT = 8
"""Models up to which all n! orders are counted (40,320); above, `SHUFFLES` random ones."""
SHUFFLES = 10_000
DECIMALS = 10
"""Values equal to ten decimals are a tie: summation order may move the sixteenth."""


@dataclass(frozen=True, slots=True)
class RankCorrelation:
    """How far two rankings agree. 1: the same order; 0: no relation; −1: the reverse order."""

    name: str
    """`spearman` or `kendall`."""
    value: float | None
    reason: str
    """Why there is no value; empty when there is one."""
    n: int
    """Models that both sources rank."""
    left_out: tuple[str, ...]
    """Models that only one of them ranks."""
    p: float | None
    """Share of orders of the models that agree as strongly, in either direction."""
    p_method: str
    caveat: str
    """What so few models allow to say; empty with five or more."""


def rank_correlation(
    first: Mapping[str, float | None], second: Mapping[str, float | None], *, seed: int = 0
) -> tuple[RankCorrelation, RankCorrelation]:
    """Spearman's rho (Pearson's r of mid-ranks) and Kendall's tau-b of two rankings.

    Only the order of values counts. Ties share their mean rank in rho, and leave both the
    numerator and their side's half of the denominator of tau-b. Undefined with fewer than two
    models, and where one source ties all of them.

    Args:
        first: value per model, higher is better; None is unranked.
        second: likewise.
        seed: of the random orders, used above eight models.
    """
    both = sorted(m for m in first if first[m] is not None and second.get(m) is not None)
    left_out = tuple(sorted({*first, *second} - set(both)))
    sides = [np.array([side[m] for m in both], dtype=np.float64) for side in (first, second)]
    x, y = (_ranks(np.round(side, DECIMALS)) for side in sides)
    orders, p_method = _orders(len(both), seed)
    found = []
    for name, prepare in (("spearman", _centred), ("kendall", _signs)):
        reason = _undefined(x, y)
        value = p = None
        if not reason:
            value = float(_cosine(prepare(x), prepare(y[None]))[0])
            others = _cosine(prepare(x), prepare(y[orders]))
            as_strong = int((np.abs(others) >= abs(value) - 1e-9).sum())
            exact = len(both) <= MOST_EXACT
            p = as_strong / len(others) if exact else (as_strong + 1) / (len(others) + 1)
        caveat = _caveat(len(both)) if value is not None else ""
        made = RankCorrelation(
            name, value, reason, len(both), left_out, p, p_method if p is not None else "", caveat
        )
        found.append(made)
    return found[0], found[1]


def _undefined(x: FloatArray, y: FloatArray) -> str:
    if len(x) < 2:
        return f"undefined: {len(x)} model{'s' * (len(x) != 1)} in both rankings, 2 needed"
    for which, ranks in (("first", x), ("second", y)):
        if np.ptp(ranks) == 0:
            return f"undefined: the {which} ranking ties all models"
    return ""


def _caveat(models: int) -> str:
    if models >= FEW_MODELS:
        return ""
    orders = factorial(models)
    return (
        f"only {models} models: of their {orders} orders 1 matches perfectly by chance and 1 is"
        f" the exact reverse, so p cannot be below {2 / orders:.3g}"
    )


def _orders(models: int, seed: int) -> tuple[np.ndarray, str]:
    """Orders of the models, shape (orders, models), and in words which."""
    if models <= MOST_EXACT:
        every = np.array(list(permutations(range(models))), dtype=np.int64)
        return every, f"exact over {len(every)} orders, two-sided"
    rng = np.random.default_rng(seed)
    drawn = rng.permuted(np.tile(np.arange(models), (SHUFFLES, 1)), axis=1)
    return drawn, f"{SHUFFLES} random orders, two-sided"


def _ranks(values: FloatArray) -> FloatArray:
    """Mean of the ranks that equal values share."""
    below = (values[None, :] < values[:, None]).sum(1)
    same = (values[None, :] == values[:, None]).sum(1)
    ranks: FloatArray = below + (same + 1) / 2
    return ranks


def _centred(ranks: FloatArray) -> FloatArray:
    centred: FloatArray = ranks - ranks.mean(-1, keepdims=True)
    return centred


def _signs(ranks: FloatArray) -> FloatArray:
    """Which of each two models is ahead: 1, 0, −1; shape (..., n(n − 1)/2)."""
    upper = np.triu_indices(ranks.shape[-1], 1)
    ahead: FloatArray = np.sign(ranks[..., upper[0]] - ranks[..., upper[1]])
    return ahead


def _cosine(x: FloatArray, y: FloatArray) -> FloatArray:
    """Σ x y / √(Σ x² Σ y²): rho of centred ranks, tau-b of signs."""
    return ratio((x * y).sum(-1), np.sqrt((x * x).sum(-1) * (y * y).sum(-1)))
