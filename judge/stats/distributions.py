"""Quantiles and tails of the distributions that intervals and tests here need.

By `scipy.special`, a quarter of a second of start-up less than `scipy.stats`, whose values these
are (tests compare them).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from judge.stats.coefficients import FloatArray


def t_quantile(probability: float, freedom: float) -> float:
    """What Student's t with so many degrees of freedom stays below with that probability."""
    from scipy.special import stdtrit

    return float(stdtrit(freedom, probability))


def t_below(value: float, freedom: float) -> float:
    """The probability that Student's t is at most `value`."""
    from scipy.special import stdtr

    return float(stdtr(freedom, value))


def normal_quantile(probability: float) -> float:
    """What a standard normal stays below with that probability."""
    from scipy.special import ndtri

    return float(ndtri(probability))


def normal_above(value: float) -> float:
    """The probability that a standard normal is above `value`."""
    from scipy.special import ndtr

    return float(ndtr(-value))


def beta_quantile(probability: float, a: float, b: float) -> float:
    """What a beta variable with parameters a and b stays below with that probability."""
    from scipy.special import betaincinv

    return float(betaincinv(a, b, probability))


def binomial_at_most(count: int, n: int, probability: float) -> float:
    """The probability of at most `count` hits in n independent trials."""
    from scipy.special import bdtr

    return float(bdtr(count, n, probability))


def benjamini_yekutieli(p_values: Sequence[float]) -> FloatArray:
    """P-values adjusted for the false discovery rate under any dependence, in the order given.

    Source: Y. Benjamini and D. Yekutieli, Annals of Statistics 29 (2001) 1165–1188,
    https://doi.org/10.1214/aos/1013699998
    """
    found = np.asarray(p_values, dtype=np.float64)
    n = len(found)
    order = np.argsort(found, kind="stable")
    ranks = np.arange(1, n + 1)
    scaled = found[order] * n * (1 / ranks).sum() / ranks
    adjusted = np.empty(n)
    adjusted[order] = np.minimum(np.minimum.accumulate(scaled[::-1])[::-1], 1)
    return adjusted
