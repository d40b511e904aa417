"""Relative reduction and drop between two values: both values, points, and intervals.

"40.8 % relative" says little without "71 % → 42 %": a :class:`Change` always carries both
values, the drop in their units and the relative reduction. Where the first value is 0 there is
nothing to be relative to, and the relative reduction is not defined.

Source: D. Katz et al., Obtaining confidence intervals for the risk ratio in cohort studies,
Biometrics 34 (1978) 469–474, https://doi.org/10.2307/2530610; A. Donner and G. Y. Zou,
Closed-form confidence intervals for functions of the normal mean and standard deviation,
Statistical Methods in Medical Research 21 (2012) 347–359,
https://doi.org/10.1177/0962280210383082
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

from judge.stats.binomial import LEVEL, clopper_pearson, wilson
from judge.stats.binomial import METHOD as EXACT
from judge.stats.distributions import normal_quantile
from judge.stats.estimate import Estimate

NOTHING = "not defined: the first value is 0"
ONLY_VALUES = "no interval: only the two values are known"
HYPOTHETICAL = "hypothetical, the source publishes no N: "
KATZ = "log risk ratio"
MOVER = "MOVER, from both intervals"
TOGETHER = "MOVER, from both intervals and how both move together"
LEAST_CELL = 5
"""Hits, and others, from which the log risk ratio is taken: with fewer it holds too seldom."""
Ends = tuple[float, float]


@dataclass(frozen=True, slots=True)
class Change:
    """From one value to another.

    `relative` is 1 − after / before: 1 all gone, 0 no change, below 0 an increase; `drop` is
    before − after, in the units of the values, below 0 a rise.
    """

    before: Estimate
    after: Estimate
    relative: Estimate
    drop: Estimate

    def words(self, *, percent: bool = True) -> str:
        """E.g. `40.8 % relative (71 % → 42 %)`, never the relative figure alone."""
        shown = share_words if percent else value_words
        both = ("–" if one.value is None else shown(one.value) for one in (self.before, self.after))
        return self.between(*both)

    def between(self, before: str, after: str) -> str:
        """The same, the two values as they are written elsewhere."""
        values = f"({before} → {after})"
        if self.relative.value is None:
            return f"relative reduction {self.relative.reason} {values}"
        return f"{relative_words(self.relative.value)} % relative {values}"

    def of_questions(self, questions: int) -> Change:
        """The same, of so many questions in all: both values may be of the same ones."""
        relative, drop = (replace(one, clusters=questions) for one in (self.relative, self.drop))
        return replace(self, relative=relative, drop=drop)

    def refused(self, reason: str) -> Change:
        """Both values with no figure of the change between them."""

        def bare(one: Estimate) -> Estimate:
            return replace(one, value=None, low=None, high=None, method="", reason=reason)

        return replace(self, relative=bare(self.relative), drop=bare(self.drop))


def share_words(share: float) -> str:
    """In percent as quoted: 71 %, 30.5 %; what is not 0 or all never reads so."""
    text = f"{100 * share:.1f}".removesuffix(".0")
    if text in ("0", "100") and share not in (0.0, 1.0):
        text = f"{100 * share:.2g}" if share < 0.5 else f"{100 * share:.6g}"
    return f"{text} %"


def value_words(value: float) -> str:
    """A grade as quoted: 6.05."""
    return f"{value:.2f}"


def relative_words(relative: float) -> str:
    """In percent, one decimal, an increase with a minus: 40.8, −12.5."""
    rounded = round(100 * relative, 1) + 0.0
    return f"{'−' if rounded < 0 else ''}{abs(rounded):.1f}"


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
) -> Change:
    """Of shares of two independent sets, each as (count, n).

    Relative: 1 − r₁/r₀ · exp(± z √(1/k₁ − 1/n₁ + 1/k₀ − 1/n₀)), the log risk ratio (Katz), where
    both sets hold five hits and five others; its variance is 0 where all are hits. Elsewhere, and
    for the drop, from Wilson's intervals of both shares (MOVER).

    Args:
        before: hits and all, first.
        after: hits and all, second.
        population: of what, in words.
        published: False where n is a guess: the intervals are then labelled hypothetical, and a
            count may be a fraction.
        level: in (0, 1).

    Raises:
        ValueError: a count is not among 0…n, or n is 0.
    """
    note = "" if published else HYPOTHETICAL
    first, second = (_share(*one, population, note, level) for one in (before, after))
    made = change_of_intervals(_by_wilson(first, *before), _by_wilson(second, *after))
    (k0, n0), (k1, n1) = before, after
    relative = replace(made.relative, method=note + made.relative.method)
    if min(k0, n0 - k0, k1, n1 - k1) >= LEAST_CELL:
        spread = 1 / k1 - 1 / n1 + 1 / k0 - 1 / n0
        low, high = log_ends(k1 * n0 / (n1 * k0), spread, normal_quantile((1 + level) / 2))
        relative = replace(relative, low=low, high=high, method=note + KATZ)
    drop = replace(made.drop, method=note + made.drop.method)
    return Change(first, second, relative, drop)


def change_of_intervals(before: Estimate, after: Estimate, correlation: float = 0.0) -> Change:
    """Of any two estimates, by the ends of their intervals (MOVER, Donner and Zou).

    Drop d = b − a: d − √((b − l_b)² + (u_a − a)² − 2ρ (b − l_b)(u_a − a)) to
    d + √((u_b − b)² + (a − l_a)² − 2ρ (u_b − b)(a − l_a)). Ratio a / b, with c = ab −
    ρ (a − e)(f − b): (c ∓ √(c² − e (2a − e) f (2b − f))) / (f (2b − f)), with e = l_a, f = u_b
    below and e = u_a, f = l_b above; none where l_b is 0, since the ratio has no upper end then.

    Args:
        before: the first value.
        after: the second; neither below 0.
        correlation: ρ of the two estimates, in [−1, 1]; 0 where they are independent.
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
        least, _ = _ratio_roots(a, b, low_a, high_b, correlation)
        _, most = _ratio_roots(a, b, high_a, low_b, correlation)
        relative = 1 - most, 1 - least
    how = TOGETHER if correlation else MOVER
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
    for one in (before, after):
        if one.low is None:
            return one.reason or "no interval: one of the two values has none"
    return "no interval: the first value's interval begins at 0"


def _share(count: float, n: int, population: str, note: str, level: float) -> Estimate:
    low, high = clopper_pearson(count, n, level)
    whole = int(count) if count == int(count) else None
    return Estimate(
        "share",
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


def _by_wilson(share: Estimate, count: float, n: int) -> Estimate:
    low, high = wilson(count, n, share.level)
    return replace(share, low=low, high=high)


def _both(found: tuple[float | None, float | None]) -> Ends:
    return found[0] or 0.0, found[1] or 0.0


def _apart(one: float, other: float, correlation: float) -> float:
    """√(one² + other² − 2ρ · one · other)."""
    return math.sqrt(max(0.0, one * one + other * other - 2 * correlation * one * other))


def _ratio_roots(a: float, b: float, e: float, f: float, correlation: float) -> Ends:
    """The two ratios of :func:`change_of_intervals`; the lower one by its conjugate, which does
    not cancel where f is near 2b.
    """
    below, above = f * (2 * b - f), e * (2 * a - e)
    cross = a * b - correlation * (a - e) * (f - b)
    root = math.sqrt(max(0.0, cross * cross - above * below))
    least = max(0.0, above / (cross + root)) if cross + root > 0 else 0.0
    return least, (cross + root) / below if below > 0 else math.inf
