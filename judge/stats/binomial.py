"""Shares of independent items: the exact interval, and the exact test of one half."""

from __future__ import annotations

from collections.abc import Mapping

from judge.stats.distributions import beta_quantile, binomial_at_most
from judge.stats.estimate import Estimate

LEVEL = 0.95
METHOD = "exact (Clopper–Pearson), items independent"


def clopper_pearson(count: float, n: int, level: float = LEVEL) -> tuple[float, float]:
    """The exact interval of a share, 0 < `level` < 1: covers at least `level`, often more.

    0 of n gives 0 to 1 − ((1 − level) / 2)^(1/n), n of n its mirror image.

    Source: C. J. Clopper and E. S. Pearson, Biometrika 26 (1934) 404–413,
    https://doi.org/10.1093/biomet/26.4.404

    Raises:
        ValueError: `count` is not among 0…n, or there is nothing to count.
    """
    if not 0 <= count <= n or n == 0:
        raise ValueError(f"{count} of {n}: expected a count out of one or more")
    tail = (1 - level) / 2
    low = 0.0 if count == 0 else beta_quantile(tail, count, n - count + 1)
    high = 1.0 if count == n else beta_quantile(1 - tail, count + 1, n - count)
    return low, high


def sign_p(count: int, n: int) -> float:
    """min(1, 2 Σ_{i ≤ min(k, n − k)} C(n, i) / 2ⁿ): the exact two-sided test of ½.

    1 where the two sides are even; nothing but 1 is possible with n = 1.

    Raises:
        ValueError: `count` is not among 0…n, or there is nothing to count.
    """
    if not 0 <= count <= n or n == 0:
        raise ValueError(f"{count} of {n}: expected a count out of one or more")
    return min(1.0, 2 * binomial_at_most(min(count, n - count), n, 0.5))


def exact_share(
    name: str,
    count: int,
    n: int,
    population: str,
    undefined: str,
    *,
    level: float = LEVEL,
    excluded: Mapping[str, int] | None = None,
) -> Estimate:
    """A share with its exact interval; without items undefined, for the reason given."""
    low, high = clopper_pearson(count, n, level) if n else (None, None)
    return Estimate(
        name=name,
        value=count / n if n else None,
        reason="" if n else undefined,
        population=population,
        n=n,
        clusters=n,
        low=low,
        high=high,
        level=level,
        method=METHOD if n else "",
        excluded=excluded or {},
        numerator=count,
        denominator=n,
    )
