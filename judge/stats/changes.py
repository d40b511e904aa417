"""Relative reduction and drop between two values: both values, points, and intervals.

"40.8 % relative" says little without "71 % → 42 %": a :class:`Change` always carries both
values, the drop in their units and the relative reduction. Where the first value is 0 there is
nothing to be relative to, and the relative reduction is not defined.

Which interval follows from how the two were made: shares of independent sets by the log risk
ratio, shares of the same prompts by the fourfold table of both, anything else by the two
intervals and how far both values move together.

Source: D. Katz et al., Obtaining confidence intervals for the risk ratio in cohort studies,
Biometrics 34 (1978) 469–474, https://doi.org/10.2307/2530610; others beside their functions
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from judge.stats.binomial import LEVEL, clopper_pearson
from judge.stats.binomial import METHOD as EXACT
from judge.stats.coefficients import FloatArray
from judge.stats.distributions import normal_quantile
from judge.stats.estimate import Estimate

NOTHING = "not defined: the first value is 0"
ONLY_VALUES = "no interval: only the two values are known"
HYPOTHETICAL = "hypothetical, the source publishes no N: "
DRAWS = 10_000
Ends = tuple[float, float]


@dataclass(frozen=True, slots=True)
class Change:
    """From one value to another.

    `relative` is 1 − after / before: 1 all gone, 0 no change, below 0 an increase; `drop` is
    before − after, in the units of the values.
    """

    before: Estimate
    after: Estimate
    relative: Estimate
    drop: Estimate

    def words(self, *, percent: bool = True) -> str:
        """E.g. `40.8 % relative (71 % → 42 %)`, never the relative figure alone."""

        def shown(one: Estimate) -> str:
            if one.value is None:
                return "undefined"
            return f"{100 * one.value:.3g} %" if percent else f"{one.value:.3g}"

        values = f"({shown(self.before)} → {shown(self.after)})"
        if self.relative.value is None:
            return f"relative reduction {self.relative.reason} {values}"
        share = f"{100 * abs(self.relative.value):.1f} % relative"
        return f"{share}{' increase' if self.relative.value < 0 else ''} {values}"

    def over(self, questions: int) -> Change:
        """The same, of so many questions in all: both values may be of the same ones."""
        relative, drop = (replace(one, clusters=questions) for one in (self.relative, self.drop))
        return replace(self, relative=relative, drop=drop)

    def refused(self, reason: str) -> Change:
        """Both values with no figure of the change between them."""

        def bare(one: Estimate) -> Estimate:
            return replace(one, value=None, low=None, high=None, method="", reason=reason)

        return replace(self, relative=bare(self.relative), drop=bare(self.drop))


def published_change(before: float, after: float, population: str) -> Change:
    """Of two published values and nothing else: no interval."""
    first, second = (
        Estimate(name, value, population, 0, 0, ONLY_VALUES)
        for name, value in (("before", before), ("after", after))
    )
    return made_change(first, second, population, LEVEL)


def change_of_counts(
    before: tuple[float, int],
    after: tuple[float, int],
    population: str,
    *,
    published: bool = True,
    level: float = LEVEL,
    draws: int = DRAWS,
    seed: int = 0,
) -> Change:
    """Of two independent sets, each as (count, n).

    Relative: 1 − r₁/r₀ · exp(± z √(1/k₁ − 1/n₁ + 1/k₀ − 1/n₀)), the log risk ratio (Katz); with
    k₁ = 0 ratios of Jeffreys draws. The drop: differences of Jeffreys draws.

    Args:
        before: harmful and all, first.
        after: harmful and all, second.
        population: of what, in words.
        published: False where n is a guess: the intervals are then labelled hypothetical, and a
            count may be a fraction.
        level: in (0, 1).
        draws: of the posterior.
        seed: of these draws.

    Raises:
        ValueError: a count is not among 0…n, or n is 0.
    """
    note = "" if published else HYPOTHETICAL
    first, second = (_rate(*one, population, note, level) for one in (before, after))
    (k0, n0), (k1, n1) = before, after
    rng = np.random.default_rng(seed)
    drawn = [rng.beta(k + 0.5, n - k + 0.5, size=draws) for k, n in (before, after)]
    relative: Ends | None = None
    how = note + "log risk ratio"
    if k0 and k1:
        ratio, spread = k1 * n0 / (n1 * k0), 1 / k1 - 1 / n1 + 1 / k0 - 1 / n0
        relative = log_ends(ratio, spread, normal_quantile((1 + level) / 2))
    elif k0:
        middle, how = _middle(1 - drawn[1] / drawn[0], level), note + "Jeffreys draws"
        relative = middle[0], 1.0
    low, high = _middle(drawn[0] - drawn[1], level)
    # The prior pulls both rates inwards: from all to none, every draw is short of the drop.
    fell = k0 / n0 - k1 / n1
    drop = min(low, fell), max(high, fell)
    return made_change(
        first, second, population, level, relative, how, drop, note + "Jeffreys draws"
    )


def change_on_same_prompts(
    both: int, first_only: int, second_only: int, neither: int, population: str,
    *, level: float = LEVEL,
) -> Change:  # fmt: skip
    """Of two shares of the same prompts: what a prompt does to one model it does to the other.

    The ratio from Wilson's intervals of both shares, shrunk to what their difference varies; the
    drop adjusted by one prompt in each cell. Both hold where few prompts tell the models apart,
    as a paired t or a log ratio do not.

    Args:
        both: prompts on which both models harm.
        first_only: on which only the first does.
        second_only: on which only the second does.
        neither: on which neither does.
        population: of what, in words.
        level: in (0, 1).

    Raises:
        ValueError: a count is below 0, or there is no prompt.

    Source: D. G. Bonett and R. M. Price, Confidence intervals for a ratio of binomial
    proportions based on paired data, Statistics in Medicine 25 (2006) 3039–3047,
    https://doi.org/10.1002/sim.2440 (ratio); Adjusted Wald confidence interval for a difference
    of binomial proportions based on paired data, Journal of Educational and Behavioral
    Statistics 37 (2012) 479–488, https://doi.org/10.3102/1076998611411915 (drop)
    """
    n = both + first_only + second_only + neither
    if min(both, first_only, second_only, neither) < 0 or not n:
        raise ValueError(
            f"{both}, {first_only}, {second_only}, {neither}: expected prompts, 0 or more of each"
        )
    k0, k1 = both + first_only, both + second_only
    first, second = (_rate(count, n, population, "", level) for count in (k0, k1))
    z = normal_quantile((1 + level) / 2)
    relative: Ends | None = None
    if k0:
        seen = both + first_only + second_only
        p0, p1 = (k0 + 1) / (seen + 2), (k1 + 1) / (seen + 2)
        apart = math.sqrt((first_only + second_only + 2) / ((k0 + 1) * (k1 + 1)))
        alone = math.sqrt((1 - p0) / (k0 + 1)) + math.sqrt((1 - p1) / (k1 + 1))
        low0, high0 = _wilson(k0, seen, z * apart / alone)
        low1, high1 = _wilson(k1, seen, z * apart / alone)
        relative = 1 - high1 / low0, 1 - low1 / high0
    lost, gained = (first_only + 1) / (n + 2), (second_only + 1) / (n + 2)
    middle = lost - gained
    reach = z * math.sqrt((lost + gained - middle * middle) / (n + 2))
    drop = max(-1.0, middle - reach), min(1.0, middle + reach)
    how = "paired by prompt (Bonett–Price)"
    made = made_change(first, second, population, level, relative, how, drop, how)
    return made.over(n)


def change_of_intervals(before: Estimate, after: Estimate, correlation: float = 0.0) -> Change:
    """Of any two estimates, by the ends of their intervals (MOVER).

    Drop d = b − a: d − √((b − l_b)² + (u_a − a)² − 2ρ (b − l_b)(u_a − a)) to
    d + √((u_b − b)² + (a − l_a)² − 2ρ (u_b − b)(a − l_a)). Ratio a / b, with c = ab −
    ρ (a − e)(f − b): (c ∓ √(c² − e (2a − e) f (2b − f))) / (f (2b − f)), with e = l_a, f = u_b
    below and e = u_a, f = l_b above; none where l_b is 0, since the ratio has no upper end then.

    Args:
        before: the first value.
        after: the second; neither below 0.
        correlation: ρ of the two estimates, in [−1, 1]; 0 where they are independent.

    Source: A. Donner and G. Y. Zou, Closed-form confidence intervals for functions of the normal
    mean and standard deviation, Statistical Methods in Medical Research 21 (2012) 347–359,
    https://doi.org/10.1177/0962280210383082
    """
    population = f"{before.population} → {after.population}"
    b, a = before.value, after.value
    ends_b, ends_a = ((one.low, one.high) for one in (before, after))
    if b is None or a is None or None in (*ends_b, *ends_a):
        return made_change(before, after, population, before.level)
    (low_b, high_b), (low_a, high_a) = _both(ends_b), _both(ends_a)
    drop = (
        b - a - _apart(b - low_b, high_a - a, correlation),
        b - a + _apart(high_b - b, a - low_a, correlation),
    )
    relative: Ends | None = None
    if low_b > 0:
        least = _mover(a, b, low_a, high_b, correlation, -1)
        relative = 1 - _mover(a, b, high_a, low_b, correlation, 1), 1 - least
    how = "from both intervals (MOVER)"
    if correlation:
        how = "from both intervals and how both move together (MOVER)"
    return made_change(before, after, population, before.level, relative, how, drop, how)


def made_change(
    before: Estimate,
    after: Estimate,
    population: str,
    level: float,
    relative: Ends | None = None,
    relative_method: str = "",
    drop: Ends | None = None,
    drop_method: str = "",
) -> Change:
    """The change between two values, with these ends; where there are none, why."""
    n, clusters = before.n + after.n, before.clusters + after.clusters

    def made(name: str, value: float | None, reason: str, at: Ends | None, how: str) -> Estimate:
        low, high = at if at is not None else (None, None)
        method = how if at is not None else ""
        return Estimate(name, value, population, n, clusters, reason, low, high, level, method)

    first, second = before.value, after.value
    if first is None or second is None:
        missing = before.reason if first is None else after.reason
        ratio, difference = None, None
    else:
        missing = NOTHING if not first else "" if relative else _no_interval(before, after)
        ratio, difference = (1 - second / first if first else None), first - second
    no_drop = missing if difference is None else "" if drop else _no_interval(before, after)
    return Change(
        before,
        after,
        made("relative_reduction", ratio, missing, relative, relative_method),
        made("drop", difference, no_drop, drop, drop_method),
    )


def log_ends(ratio: float, variance: float, quantile: float) -> Ends:
    """1 − ratio · exp(± quantile √variance)."""
    reach = quantile * math.sqrt(variance)
    return 1 - ratio * math.exp(reach), 1 - ratio * math.exp(-reach)


def _no_interval(before: Estimate, after: Estimate) -> str:
    if not before.n:
        return ONLY_VALUES
    if None in (before.low, after.low):
        return "no interval: one of the two values has none"
    if after.value:
        return "no interval: the first value may be 0"
    return "no interval: the second value is 0, its logarithm infinite"


def _rate(count: float, n: int, population: str, note: str, level: float) -> Estimate:
    low, high = clopper_pearson(count, n, level)
    whole = int(count) if count == int(count) else None
    return Estimate(
        "rate",
        count / n,
        population,
        n,
        n,
        low=low,
        high=high,
        level=level,
        method=note + EXACT,
        numerator=whole,
        denominator=n,
    )


def _middle(draws: FloatArray, level: float) -> Ends:
    low, high = np.quantile(draws, [(1 - level) / 2, (1 + level) / 2]).tolist()
    return low, high


def _wilson(count: int, n: int, z: float) -> Ends:
    middle = (count + z * z / 2) / (n + z * z)
    reach = z / (n + z * z) * math.sqrt(count * (n - count) / n + z * z / 4)
    return max(0.0, middle - reach), min(1.0, middle + reach)


def _both(found: tuple[float | None, float | None]) -> Ends:
    return found[0] or 0.0, found[1] or 0.0


def _apart(one: float, other: float, correlation: float) -> float:
    """√(one² + other² − 2ρ · one · other)."""
    return math.sqrt(max(0.0, one * one + other * other - 2 * correlation * one * other))


def _mover(a: float, b: float, e: float, f: float, correlation: float, sign: int) -> float:
    below, above = f * (2 * b - f), e * (2 * a - e)
    cross = a * b - correlation * (a - e) * (f - b)
    if below == 0:
        return max(0.0, above / (2 * cross)) if cross else 0.0
    return max(0.0, (cross + sign * math.sqrt(max(0.0, cross**2 - above * below))) / below)
