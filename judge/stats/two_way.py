"""Variance when questions and raters are both samples: components, interval, design effect.

Votes on one question belong together, and so do votes of one rater. Resampling questions
only says how far the figure would move with other questions and *these* raters. Here each
variance is a delete-one jackknife of the statistic: by question, by rater, by (question,
rater) cell and by vote. With C. Cameron, J. Gelbach and D. Miller's two-way formula

    V = V_question + V_rater − V_cell

the interval is for other questions *and* other raters of the same kind: value ± t √V, t
with min(questions, raters) − 1 degrees of freedom. V is never taken below the larger of
V_question and V_rater, which the difference can fall under by chance.

The *pigeonhole* bootstrap (A. Owen 2007), which resamples both sides, was rejected: it
counts the noise of single votes three times, and votes are mostly noise.

Source: Robust Inference With Multiway Clustering, Journal of Business & Economic Statistics
29 (2011) 238–249, https://doi.org/10.1198/jbes.2010.07136
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from judge.stats.coefficients import FloatArray
from judge.stats.distributions import t_quantile
from judge.stats.estimate import Estimate
from judge.stats.joint import IntArray, Statistic

FEWEST_RATERS = 10
"""Below it, other raters cannot be spoken for: figures are conditional on these."""

METHOD = "two-way clustered jackknife by question and rater, t with {} degrees of freedom"


@dataclass(frozen=True, slots=True)
class Components:
    """Variances of one statistic by what is left out; None where it is undefined without."""

    question: float | None
    rater: float | None
    cell: float | None
    """By (question, rater)."""
    vote: float | None
    """As if all votes were independent."""
    questions: int
    raters: int

    @property
    def both(self) -> float | None:
        """V of the module; None if a part is."""
        if self.question is None or self.rater is None or self.cell is None:
            return None
        return max(self.question, self.rater, self.question + self.rater - self.cell)

    @property
    def rater_component(self) -> float | None:
        """How much raters add to the variance by question, ≥ 0."""
        return None if self.both is None or self.question is None else self.both - self.question

    @property
    def design_effect(self) -> float | None:
        """V_question / V_vote: how many times more votes independence would have needed.

        1: clustering costs nothing; 4: intervals of independent votes would be half as wide
        as they must be; below 1: votes on a question differ more than by chance. None if
        undefined, or if all votes are alike.
        """
        return self.question / self.vote if self.question is not None and self.vote else None


def components(
    question: IntArray, rater: IntArray, kind: IntArray, kinds: int, statistic: Statistic
) -> Components:
    """The variances of a statistic of how many votes are of which kind.

    Args:
        question: of each vote, shape (votes,).
        rater: of each vote, shape (votes,).
        kind: of each vote, 0 … kinds − 1; e.g. 3 i + j for vote i and verdict j.
        kinds: how many.
        statistic: of the totals per kind, shape (..., kinds) → (...).
    """
    questions, by_question = np.unique(question, return_inverse=True)
    raters, by_rater = np.unique(rater, return_inverse=True)
    cell = np.unique(by_question * max(1, len(raters)) + by_rater, return_inverse=True)[1]
    totals = np.bincount(kind, minlength=kinds).astype(np.float64)

    def without(group: IntArray) -> float | None:
        size = int(group.max(initial=-1)) + 1
        flat = np.bincount(group * kinds + kind, minlength=size * kinds)
        return _jackknife(statistic(totals - flat.reshape(size, kinds)), np.ones(size))

    one_less = statistic(totals - np.eye(kinds))
    used = totals > 0
    return Components(
        without(by_question),
        without(by_rater),
        without(cell),
        _jackknife(one_less[used], totals[used]),
        len(questions),
        len(raters),
    )


def two_way_estimate(
    name: str,
    value: float,
    parts: Components,
    population: str,
    n: int,
    *,
    level: float,
    bounds: tuple[float, float] = (0.0, 1.0),
    excluded: Mapping[str, int] | None = None,
) -> Estimate:
    """The value with its two-way interval, cut at `bounds`; without one, the reason.

    There is none for fewer than FEWEST_RATERS raters, nor when the value does not change
    whatever is left out.
    """
    low = high = None
    reason = conditional_on(parts.raters) if parts.raters < FEWEST_RATERS else ""
    degrees = min(parts.questions, parts.raters) - 1
    method = METHOD.format(degrees)
    if not reason and parts.questions < 2:
        reason = "no interval: fewer than two questions"
    if not reason and parts.both is None:
        reason = "no interval: undefined without some question, rater or vote"
    if not reason and parts.both is not None:
        if parts.both <= 0:
            reason = "no interval: the value is the same whatever is left out"
        else:
            half = t_quantile((1 + level) / 2, degrees) * parts.both**0.5
            low, high = max(bounds[0], value - half), min(bounds[1], value + half)
    return Estimate(
        name=name,
        value=value,
        population=population,
        n=n,
        clusters=parts.questions,
        reason=reason,
        low=low,
        high=high,
        level=level,
        method=method,
        excluded=excluded or {},
    )


def conditional_on(raters: int) -> str:
    """The words for figures that cannot speak for other raters."""
    who = f"these {raters} raters" if raters != 1 else "this one rater"
    return f"conditional on {who}: fewer than {FEWEST_RATERS}, so none for other raters"


def _jackknife(values: FloatArray, times: FloatArray) -> float | None:
    """(G − 1) / G Σ (θ₍g₎ − mean)², value g occurring times[g] times; G = Σ times."""
    n = float(times.sum())
    if n < 2 or np.isnan(values).any():
        return None
    mean = float((times * values).sum()) / n
    return (n - 1) / n * float((times * (values - mean) ** 2).sum())
