"""Relative reduction and drop between two scores: both values, points, and intervals.

"40.8 % relative" says little without "71 % → 42 %": a :class:`Change` always carries both
values, the drop in their units and the relative reduction. Where the first value is 0 there is
nothing to be relative to, and the relative reduction is not defined.

The logarithm of a ratio is infinite where the second count is 0, and its delta method breaks
down before that; ratios of posterior draws are always finite.

Source: D. Katz et al., Obtaining confidence intervals for the risk ratio in cohort studies,
Biometrics 34 (1978) 469–474, https://doi.org/10.2307/2530610
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from judge.calibration.companions import people_alone, wilson
from judge.calibration.contrasts import difference, paired_variance
from judge.calibration.linearised import one_label_per_question
from judge.calibration.posterior import DRAWS, ends, holding, score_draws
from judge.calibration.poststratified import LEVEL, Target, calibrated
from judge.calibration.strata import Strata
from judge.stats.coefficients import FloatArray
from judge.stats.distributions import normal_quantile, t_quantile
from judge.stats.estimate import Estimate

NOTHING = "not defined: the first value is 0"
ONLY_VALUES = "no interval: only the two values are known"
HYPOTHETICAL = "hypothetical, the source publishes no N: "
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
        return f"{100 * self.relative.value:.1f} % relative {values}"


def published_change(before: float, after: float, population: str) -> Change:
    """Of two published values and nothing else: no interval."""
    first, second = (
        Estimate(name, value, population, 0, 0, ONLY_VALUES)
        for name, value in (("before", before), ("after", after))
    )
    return _change(first, second, population, LEVEL)


def change_of_counts(
    before: tuple[int, int],
    after: tuple[int, int],
    population: str,
    *,
    published: bool = True,
    level: float = LEVEL,
    draws: int = DRAWS,
    seed: int = 0,
) -> Change:
    """Of two independent sets, each as (count, n).

    Relative: 1 − r₁/r₀ · exp(± z √(1/k₁ − 1/n₁ + 1/k₀ − 1/n₀)), the log risk ratio; with k₁ = 0
    ratios of Jeffreys draws. The drop: differences of Jeffreys draws.

    Args:
        before: harmful and all, first.
        after: harmful and all, second.
        population: of what, in words.
        published: False where n is a guess: the intervals are then labelled hypothetical.
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
        spread = 1 / k1 - 1 / n1 + 1 / k0 - 1 / n0
        relative = _log_ends(k1 * n0 / (n1 * k0), spread, normal_quantile((1 + level) / 2))
    elif k0:
        relative, how = (_ratio_ends(drawn, level)[0], 1.0), note + "Jeffreys draws"
    drop = ends(drawn[0] - drawn[1], level)[:2]
    return _change(first, second, population, level, relative, how, drop, note + "Jeffreys draws")


def change_on_same_prompts(
    before: FloatArray, after: FloatArray, population: str, *, level: float = LEVEL
) -> Change:
    """Of two models on the same prompts: what a prompt does to one it does to the other.

    The log ratio's variance from u_q = after_q / r₁ − before_q / r₀, the drop's from before_q −
    after_q, both with Student's t. No interval for the relative reduction where the second
    value is 0, and none with fewer than two prompts.

    Args:
        before: each prompt's mean value, first model; ≥ 0; shape (prompts,).
        after: the second model's, in the same order.
        population: of what, in words.
        level: in (0, 1).

    Raises:
        ValueError: the arrays differ in length, are empty, or hold a value below 0.
    """
    n = len(before)
    if n != len(after) or not n or min(before.min(), after.min()) < 0:
        raise ValueError(
            f"{n} and {len(after)} prompts: expected the same prompts twice, values of 0 or more"
        )
    whole = bool(np.isin(np.concatenate([before, after]), (0.0, 1.0)).all())
    first, second = (people_alone(v, population, whole=whole, level=level) for v in (before, after))
    r0, r1 = float(before.mean()), float(after.mean())
    relative: Ends | None = None
    drop: Ends | None = None
    if n > 1:
        t = t_quantile((1 + level) / 2, n - 1)
        if r0 and r1:
            moves = after / r1 - before / r0
            relative = _log_ends(r1 / r0, float(moves.var(ddof=1)) / n, t)
        reach = t * float((before - after).std(ddof=1)) / math.sqrt(n)
        drop = r0 - r1 - reach, r0 - r1 + reach
    how = f"paired by prompt, {n - 1} df"
    return _change(
        first, second, population, level, relative, f"log ratio, {how}", drop, f"t, {how}"
    )


def calibrated_change(
    strata: Strata,
    before: str,
    after: str,
    target: Target = Target.SET,
    *,
    level: float = LEVEL,
    draws: int = DRAWS,
    seed: int = 0,
) -> Change:
    """Of the calibrated scores of two models of a set.

    The drop is :func:`judge.calibration.contrasts.difference`. The relative reduction comes
    from ratios of posterior draws; the two are drawn on their own, as their labels were, so that
    labels on the same prompts make the interval too wide, not too narrow, where harm goes
    together. Of the population of prompts it is the log ratio, linearised by question, which
    what both share drops out of; ratios of draws where either score is 0.

    Args:
        strata: of both models.
        before: the one model.
        after: the other.
        target: what the scores are of.
        level: in (0, 1).
        draws: of the posterior.
        seed: of these draws.

    Raises:
        ValueError: a model is not in the strata, or both are the same.
    """
    parts = strata.of(before), strata.of(after)
    first, second = (calibrated(one, target, level=level, draws=draws, seed=seed) for one in parts)
    population = f"{first.population} → {second.population}"
    drop = difference(strata, before, after, target, level=level, draws=draws, seed=seed)
    if first.value is None or second.value is None:
        return replace(_change(first, second, population, level), drop=drop)
    relative, how = None, ""
    if first.value:
        relative, how = _relative(parts, first.value, second.value, target, level, draws, seed)
    made = _change(first, second, population, level, relative, how)
    return replace(made, drop=drop)


def _relative(
    parts: tuple[Strata, Strata],
    first: float,
    second: float,
    target: Target,
    level: float,
    draws: int,
    seed: int,
) -> tuple[Ends, str]:
    value = 1 - second / first
    if target is Target.PROMPTS:
        spread = paired_variance(parts[1], parts[0], 1 / second, 1 / first) if second else math.nan
        questions = len(np.unique(np.concatenate([part.label_question for part in parts])))
        if math.isfinite(spread) and spread > 0:
            quantile = t_quantile((1 + level) / 2, questions - 1)
            how = f"log ratio, linearised by question, t, {questions - 1} df"
            return _log_ends(second / first, spread, quantile), how
        parts = one_label_per_question(parts[0]), one_label_per_question(parts[1])
    drawn = [
        score_draws(one, finite=target is Target.SET, draws=draws, seed=[seed, place])
        for place, one in enumerate(parts)
    ]
    return holding(*_ratio_ends(drawn, level), value), f"posterior draws, {draws:,}"


def change_of_intervals(before: Estimate, after: Estimate) -> Change:
    """Of two independent estimates, by the ends of their intervals (MOVER).

    Drop d = b − a: d − √((b − l_b)² + (u_a − a)²) to d + √((u_b − b)² + (a − l_a)²). Ratio a / b:
    (ab ∓ √((ab)² − e (2a − e) f (2b − f))) / (f (2b − f)), with e = l_a, f = u_b below and
    e = u_a, f = l_b above; none where l_b is 0, since the ratio has no upper end then.

    Source: A. Donner and G. Y. Zou, Closed-form confidence intervals for functions of the normal
    mean and standard deviation, Statistical Methods in Medical Research 21 (2012) 347–359,
    https://doi.org/10.1177/0962280210383082
    """
    population = f"{before.population} → {after.population}"
    b, a = before.value, after.value
    ends_b, ends_a = ((one.low, one.high) for one in (before, after))
    if b is None or a is None or None in (*ends_b, *ends_a):
        return _change(before, after, population, before.level)
    (low_b, high_b), (low_a, high_a) = _both(ends_b), _both(ends_a)
    drop = (
        b - a - math.hypot(b - low_b, high_a - a),
        b - a + math.hypot(high_b - b, a - low_a),
    )
    relative: Ends | None = None
    if low_b > 0:
        least = _mover(a, b, low_a, high_b, -1)
        relative = 1 - _mover(a, b, high_a, low_b, 1), 1 - least
    how = "from both intervals (MOVER)"
    return _change(before, after, population, before.level, relative, how, drop, how)


def _both(found: tuple[float | None, float | None]) -> Ends:
    return found[0] or 0.0, found[1] or 0.0


def _mover(a: float, b: float, e: float, f: float, sign: int) -> float:
    below = f * (2 * b - f)
    if below == 0:
        return e * (2 * a - e) / (2 * a * b) if a else 0.0
    return (a * b + sign * math.sqrt(max(0.0, (a * b) ** 2 - e * (2 * a - e) * below))) / below


def _change(
    before: Estimate,
    after: Estimate,
    population: str,
    level: float,
    relative: Ends | None = None,
    relative_method: str = "",
    drop: Ends | None = None,
    drop_method: str = "",
) -> Change:
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


def _no_interval(before: Estimate, after: Estimate) -> str:
    if not before.n:
        return ONLY_VALUES
    if min(before.n, after.n) < 2:
        return "no interval: one prompt"
    if after.value and None in (before.low, after.low):
        return "no interval: one of the two values has none"
    if after.value:
        return "no interval: the first value may be 0"
    return "no interval: the second value is 0, its logarithm infinite"


def _rate(count: int, n: int, population: str, note: str, level: float) -> Estimate:
    low, high = wilson(count, n, level)
    return Estimate(
        "rate",
        count / n,
        population,
        n,
        n,
        low=low,
        high=high,
        level=level,
        method=note + "Wilson",
        numerator=count,
        denominator=n,
    )


def _log_ends(ratio: float, variance: float, quantile: float) -> Ends:
    """1 − ratio · exp(± quantile √variance)."""
    reach = quantile * math.sqrt(variance)
    return 1 - ratio * math.exp(reach), 1 - ratio * math.exp(-reach)


def _ratio_ends(drawn: list[FloatArray], level: float) -> Ends:
    return ends(1 - drawn[1] / drawn[0], level)[:2]
