"""Agreement coefficients as closed forms of counts, over any leading axes at once.

A *confusion* has shape (..., k, k): entry [i, j] counts the rows that the first judgment
puts into category i and the second into category j. Leading axes are bootstrap resamples,
so one call gives a whole bootstrap distribution. Inside these arrays nan marks "undefined"
(0/0); it never leaves the package: `judge.reporting.summary` turns it into None with a reason.

Categories are ordered so that reversing them exchanges the names of the two models:
(a, tie, b) or (a, b).
"""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

FloatArray: TypeAlias = NDArray[np.float64]


def percent_agreement(confusion: FloatArray) -> FloatArray:
    """Σ_c n_cc / n: the share of rows on which both judgments are the same.

    1: always the same; 0: never. Takes no account of chance. Undefined without rows.
    Shape (..., k, k) → (...).
    """
    return ratio(trace(confusion), total(total(confusion)))


def cohen_kappa(confusion: FloatArray) -> FloatArray:
    """(n Σ_c n_cc − Σ_c n_c. n_.c) / (n² − Σ_c n_c. n_.c): agreement beyond chance.

    1: always the same; 0: as often as two independent judges with these margins would;
    below 0: less often than that. Undefined without rows, and when both sides use one and
    the same category throughout (chance agreement is then 1). On pairs of models it
    depends on which model is called first; see :func:`cohen_kappa_symmetrised`.

    Source: J. Cohen, A Coefficient of Agreement for Nominal Scales, Educational and
    Psychological Measurement 20 (1960) 37–46, https://doi.org/10.1177/001316446002000104

    Shape (..., k, k) → (...).
    """
    rows, columns = total(confusion), total(confusion, -2)
    n, chance = total(rows), total(rows * columns)
    return ratio(n * trace(confusion) - chance, n * n - chance)


def cohen_kappa_symmetrised(confusion: FloatArray) -> FloatArray:
    """Cohen's kappa after every row is appended once more with both judgments mirrored.

    Which model of a pair is called first is arbitrary, but the margins, and so kappa,
    depend on it: MT-Bench's votes give .69 or .42 by naming alone. With the mirrored rows
    a and b are equally frequent on either side, and the value is the same for any naming.
    1, 0, below 0: as for kappa. Without ties it is 2p − 1, p the percent agreement.
    Undefined without rows, and when every judgment is a tie.

    Shape (..., k, k) → (...), categories ordered as the module says.
    """
    return cohen_kappa(confusion + confusion[..., ::-1, ::-1])


def alpha_nominal(categories: FloatArray, disagreement: FloatArray) -> FloatArray:
    """1 − (n − 1) D / (n² − Σ_c n_c²): Krippendorff's alpha for unordered categories.

    `categories` (..., k) counts the judgments in units with two or more of them, and
    `disagreement` (...) is D = Σ_units Σ_{i≠j} [differ] / (m − 1) = Σ_units
    (m² − Σ_c m_c²) / (m − 1), where m is the number of judgments in the unit.

    1: always the same; 0: as often as if judgments were shuffled over units; below 0:
    less often than that. Missing judgments are absent, not a category. With a single
    disagreement and otherwise one category it is close to 0 and may be exactly 0: that is
    right (there is no variation to agree about), and the reason for printing AC1 and the
    prevalence beside it. Undefined without such units or with one category.

    Source: K. Krippendorff, Computing Krippendorff's Alpha-Reliability (2011), sections C
    and D, https://repository.upenn.edu/asc_papers/43
    """
    n = total(categories)
    expected = n * n - total(categories**2)
    alpha: FloatArray = 1 - ratio((n - 1) * disagreement, expected)
    return alpha


def alpha_of_confusion(confusion: FloatArray) -> FloatArray:
    """Krippendorff's alpha of rows that are units of exactly two judgments.

    Shape (..., k, k) → (...); meaning and edges as in :func:`alpha_nominal`.
    """
    disagreement = 2 * (total(total(confusion)) - trace(confusion))
    return alpha_nominal(total(confusion) + total(confusion, -2), disagreement)


def gwet_ac1(observed: FloatArray, prevalence: FloatArray) -> FloatArray:
    """(p − e) / (1 − e), e = Σ_c π_c (1 − π_c) / (k − 1): Gwet's AC1.

    `observed` (...) is p, the agreement; `prevalence` (..., k) is π, the share of each of
    the k categories that were on offer (used or not). 1: always the same; 0: as often as
    by AC1's chance model; below 0: less often. Unlike kappa and alpha it stays high when
    one category dominates, and is 1 when only one occurs. Undefined only with p.

    Source: K. L. Gwet, Computing inter-rater reliability and its variance in the presence
    of high agreement, British Journal of Mathematical and Statistical Psychology 61
    (2008) 29–48, https://doi.org/10.1348/000711006X126600
    """
    chance = total(prevalence * (1 - prevalence)) / (prevalence.shape[-1] - 1)
    return ratio(observed - chance, 1 - chance)


def ac1_of_confusion(confusion: FloatArray) -> FloatArray:
    """Gwet's AC1 of two judgments per row; shape (..., k, k) → (...)."""
    both = total(confusion) + total(confusion, -2)
    return gwet_ac1(percent_agreement(confusion), ratio(both, total(both)[..., None]))


def total(values: FloatArray, axis: int = -1) -> FloatArray:
    """The sum over one short axis, slice by slice: numpy's own takes several times as long."""
    slices = np.moveaxis(values, axis, 0)
    result: FloatArray = slices[0].astype(np.float64)
    for one in slices[1:]:
        result = result + one
    return result


def trace(confusion: FloatArray) -> FloatArray:
    """Σ_c n_cc; shape (..., k, k) → (...)."""
    size = range(confusion.shape[-1])
    return total(np.stack([confusion[..., place, place] for place in size], axis=-1))


def ratio(numerator: FloatArray, denominator: FloatArray) -> FloatArray:
    """Division in which 0 in the denominator gives nan, silently: that is "undefined"."""
    numerator, denominator = np.broadcast_arrays(numerator, denominator)
    empty = np.full(numerator.shape, np.nan)
    quotient: FloatArray = np.divide(numerator, denominator, out=empty, where=denominator != 0)
    return quotient
