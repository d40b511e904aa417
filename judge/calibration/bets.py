"""The bets of :mod:`judge.calibration.stopping`, and their worst null.

Bet c_t on draw t of stratum h: wealth grows by 1 − c_t + c_t x_t / η_t, η_t = (N η − S_{t−1}) /
(N − t + 1) the mean of what is left if the stratum's mean is η. Under that null the factor has
mean 1.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from judge.calibration.binding import IntArray
from judge.stats.coefficients import FloatArray

MOST = 0.95
"""The largest bet: one surprise then costs a factor of 20, not everything."""
HALVINGS = 45
ROUGH = 16
"""Halvings where a bet is placed: any bet is valid."""


@dataclass(frozen=True, slots=True)
class Bets:
    """Draws with the bets on them, all in drawn order."""

    stratum: IntArray
    values: FloatArray
    """x_t in 0…1; the null says their mean is low."""
    bets: FloatArray
    """c_t, from the draws before t alone."""
    before: FloatArray
    """S_{t−1}: sum of the stratum's values before this draw."""
    left: FloatArray
    """N − t + 1: items of the stratum not drawn before this one."""
    sizes: FloatArray
    """N_h; shape (strata,)."""
    null: float
    """τ: the mean of all strata under the null."""

    def first(self, draws: int) -> Bets:
        """The same, as it was after so many draws."""
        return Bets(
            self.stratum[:draws],
            self.values[:draws],
            self.bets[:draws],
            self.before[:draws],
            self.left[:draws],
            self.sizes,
            self.null,
        )

    @property
    def range(self) -> tuple[FloatArray, FloatArray]:
        """Least and greatest mean that each stratum can still have."""
        drawn = np.bincount(self.stratum, minlength=len(self.sizes))
        total = np.bincount(self.stratum, self.values, minlength=len(self.sizes))
        return total / self.sizes, (total + self.sizes - drawn) / self.sizes

    @property
    def shares(self) -> FloatArray:
        """W_h; shape (strata,)."""
        found: FloatArray = self.sizes / self.sizes.sum()
        return found

    @property
    def guess(self) -> FloatArray:
        """A null that is nearly the worst; shape (strata,)."""
        drawn = np.bincount(self.stratum, minlength=len(self.sizes)).astype(np.float64)
        total = np.bincount(self.stratum, self.values, minlength=len(self.sizes))
        return self.on_plane(_adversary(drawn, total.astype(np.float64), self.shares, self.null))

    def on_plane(self, means: FloatArray) -> FloatArray:
        """Means that are still possible and have the null's mean, near those given."""
        low, high = self.range
        found = np.clip(means, low, high)
        gap = self.null - float(self.shares @ found)
        room = (high - found) if gap > 0 else (found - low)
        total_room = float(self.shares @ room)
        step = 0.0 if total_room <= 0 else min(1.0, abs(gap) / total_room)
        moved: FloatArray = found + math.copysign(step, gap) * room
        return moved


def placed(stratum: IntArray, values: FloatArray, sizes: FloatArray, null: float) -> Bets:
    """The bets on every draw, each from the draws before it."""
    n, strata = len(values), len(sizes)
    bets, before, left = np.zeros(n), np.zeros(n), np.zeros(n)
    drawn, total = np.zeros(strata), np.zeros(strata)
    shares = sizes / sizes.sum()
    for t in range(n):
        h = int(stratum[t])
        before[t], left[t] = total[h], sizes[h] - drawn[h]
        mean = _shrunk(drawn, total, null)[h]
        null_mean = _adversary(drawn, total, shares, null)[h]
        bets[t] = min(MOST, max(0.0, (mean - null_mean) / max(1 - null_mean, 1e-9)))
        drawn[h] += 1
        total[h] += values[t]
    return Bets(stratum, values, bets, before, left, sizes, null)


def log_wealth(bets: Bets, means: FloatArray) -> float:
    """Log of the product of wealths under the null that the strata have these means."""
    if float(bets.shares @ means) > bets.null + 1e-9:
        return math.inf
    return float(_log_factors(bets, means).sum())


def worst(bets: Bets) -> tuple[float, FloatArray]:
    """The least log wealth over all nulls (Σ W_h η_h ≤ τ, each η_h still possible), and where.

    Infinite where no such null is possible any more. From the Lagrangian dual, whose every
    value is a lower bound: an inexact search errs on the safe side.
    """
    low, high = bets.range
    shares = bets.shares
    if float(shares @ low) > bets.null + 1e-12:
        return math.inf, low
    if float(shares @ high) <= bets.null:
        return float(_log_factors(bets, high).sum()), high
    below, above = -30.0, 30.0
    best = -math.inf
    means = low
    for _ in range(HALVINGS):
        price = math.exp((below + above) / 2)
        means = _cheapest(bets, price * shares, low, high)
        spent = float(shares @ means) - bets.null
        best = max(best, float(_log_factors(bets, means).sum()) + price * spent)
        below, above = ((below + above) / 2, above) if spent > 0 else (below, (below + above) / 2)
    return best, means


def _cheapest(bets: Bets, prices: FloatArray, low: FloatArray, high: FloatArray) -> FloatArray:
    """Each stratum's mean that makes log wealth + price · mean least: convex, so by halving."""
    low, high = low.copy(), high.copy()
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        falling = _slopes(bets, middle) + prices < 0
        low, high = np.where(falling, middle, low), np.where(falling, high, middle)
    return (low + high) / 2


def _left_means(bets: Bets, means: FloatArray) -> FloatArray:
    return (bets.sizes * means)[bets.stratum] - bets.before


def _log_factors(bets: Bets, means: FloatArray) -> FloatArray:
    # max: at the least possible mean rounding may leave a little less than what is there.
    rest = np.maximum(_left_means(bets, means), bets.values) / bets.left
    ratio = np.divide(bets.values, rest, out=np.zeros(len(rest)), where=bets.values > 0)
    found: FloatArray = np.log(1 - bets.bets + bets.bets * ratio)
    return found


def _slopes(bets: Bets, means: FloatArray) -> FloatArray:
    """The slope of log wealth in each stratum's mean; shape (strata,)."""
    rest = np.maximum(_left_means(bets, means), bets.values) / bets.left
    top = bets.bets * bets.values * (bets.sizes[bets.stratum] / bets.left)
    bottom = rest * ((1 - bets.bets) * rest + bets.bets * bets.values)
    each = np.divide(top, bottom, out=np.zeros(len(rest)), where=top > 0)
    return -np.bincount(bets.stratum, each, minlength=len(bets.sizes)).astype(np.float64)


def _shrunk(drawn: FloatArray, total: FloatArray, null: float) -> FloatArray:
    """Each stratum's mean so far, one draw's worth pulled towards the mean of all.

    And that towards the null: without draws there is nothing to bet on.
    """
    overall = (total.sum() + null) / (drawn.sum() + 1)
    found: FloatArray = (total + overall) / (drawn + 1)
    return found


def _adversary(drawn: FloatArray, total: FloatArray, shares: FloatArray, null: float) -> FloatArray:
    """The null that the means so far speak least against; the means themselves where it holds.

    Wealth grows least under it when every bet is the best one against it: n_h (p_h − η_h) /
    (η_h (1 − η_h)) is then the same multiple ν of W_h in all strata. Bets against any other
    null leave this one, or one near it, unharmed.
    """
    means = _shrunk(drawn, total, null)
    if float(shares @ means) <= null:
        return means
    each = shares / (drawn + 1)
    below, above = -12.0, 12.0
    found = means
    for _ in range(ROUGH):
        slope = math.exp((below + above) / 2) * each
        # The smaller root of κ η² − (1 + κ) η + p = 0, in the form that does not cancel.
        found = 2 * means / (1 + slope + np.sqrt((1 + slope) ** 2 - 4 * slope * means))
        over = float(shares @ found) > null
        below, above = ((below + above) / 2, above) if over else (below, (below + above) / 2)
    return found
