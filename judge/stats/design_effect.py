"""What it costs that votes come in questions: the design effect of a share.

deff = V_question / V_vote, the variance of the share p when questions were sampled over its
variance had n independent votes been sampled, both from the same rows:

- V_question = C / (C − 1) Σ_c (Σ_i (y_ci − p))² / n², the linearised variance over the C
  questions with a row;
- V_vote = p (1 − p) / (n − 1).

1: clustering costs nothing; 4: four times as many votes are needed as if they were independent,
and the interval is √4 = 2 times as wide; below 1: votes on one question differ more than chance
makes them. With C questions of m votes each it is about 1 + (m − 1) ρ, ρ the correlation of two
votes on one question: every vote more on the same questions buys less.

For any other statistic, by leaving out instead of by formula: `judge.stats.two_way.Components`.

Source: L. Kish, Survey Sampling (1965), sections 5.4 and 8.2; the linearised variance as in
W. G. Cochran, Sampling Techniques (3rd ed., 1977), section 9A.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from judge.stats.coefficients import FloatArray
from judge.stats.joint import IntArray

NO_ROWS = "no rows"
ONE_QUESTION = "fewer than two questions"
ALL_ALIKE = "every row is the same, so there is no variance to compare with"


@dataclass(frozen=True, slots=True)
class DesignEffect:
    """How many times more votes, and how much wider, than independence would have it."""

    value: float | None
    """V_question / V_vote; None is undefined, and `reason` says why."""
    width: float | None
    """√value: the interval is so many times as wide as one of independent votes."""
    n: int
    """Rows."""
    clusters: int
    """Questions with a row."""
    reason: str = ""


def design_effect(hits: FloatArray, question: IntArray) -> DesignEffect:
    """Of the share of hits.

    Args:
        hits: 1 or 0 per row, shape (rows,).
        question: of each row, shape (rows,).
    """
    n = len(hits)
    place = np.unique(question, return_inverse=True)[1]
    clusters = int(place.max(initial=-1)) + 1
    reason = NO_ROWS if not n else ONE_QUESTION if clusters < 2 else ""
    if not reason and np.ptp(hits) == 0:
        reason = ALL_ALIKE
    if reason:
        return DesignEffect(None, None, n, clusters, reason)
    p = float(hits.mean())
    sums = np.bincount(place, hits - p)
    by_question = clusters / (clusters - 1) * float((sums**2).sum()) / n**2
    value = by_question / (p * (1 - p) / (n - 1))
    return DesignEffect(value, value**0.5, n, clusters)
