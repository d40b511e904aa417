"""Shares of independent items: the exact interval, and the exact test of one half."""

from __future__ import annotations

import math
from collections.abc import Mapping

from judge.stats.distributions import beta_quantile, binomial_at_most, normal_quantile
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


def wilson(
    count: float, n: float, level: float = LEVEL, *, quantile: float | None = None
) -> tuple[float, float]:
    """Wilson's interval of a share: covers `level` on average, also near 0 and 1.

    Args:
        count: hits; may be a fraction, as may `n`, where these are effective numbers.
        n: of how many, over 0.
        level: in (0, 1).
        quantile: to be taken instead of the normal one of `level`.

    Raises:
        ValueError: `count` is not between 0 and n, or n is not positive.

    Source: E. B. Wilson, Journal of the American Statistical Association 22 (1927) 209–212,
    https://doi.org/10.1080/01621459.1927.10502953
    """
    if not 0 <= count <= n or n <= 0:
        raise ValueError(f"{count} of {n}: expected a count out of one or more")
    z = normal_quantile((1 + level) / 2) if quantile is None else quantile
    share = count / n
    middle = (share + z * z / (2 * n)) / (1 + z * z / n)
    reach = z / (1 + z * z / n) * math.sqrt(share * (1 - share) / n + z * z / (4 * n * n))
    # At the ends the interval ends there, whatever rounding says.
    low = max(0.0, middle - reach) if count else 0.0
    return low, min(1.0, middle + reach) if count < n else 1.0


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
