"""Relative reduction and drop between the calibrated scores of two models.

The logarithm of a ratio is infinite where the second score is 0, and its delta method breaks down
before that; ratios of posterior draws are always finite. `judge.stats.changes` has the same of raw
values.
"""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from judge.calibration.contrasts import difference, paired_variance
from judge.calibration.linearised import one_label_per_question
from judge.calibration.posterior import DRAWS, ends, holding, score_draws
from judge.calibration.poststratified import LEVEL, Target, calibrated
from judge.calibration.strata import Strata
from judge.stats.changes import Change, Ends, log_ends, made_change
from judge.stats.coefficients import FloatArray
from judge.stats.distributions import t_quantile


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
        return replace(made_change(first, second, population, level), drop=drop)
    relative, how = None, ""
    if first.value:
        relative, how = _relative(parts, first.value, second.value, target, level, draws, seed)
    made = made_change(first, second, population, level, relative, how)
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
            return log_ends(second / first, spread, quantile), how
        parts = one_label_per_question(parts[0]), one_label_per_question(parts[1])
    drawn = [
        score_draws(one, finite=target is Target.SET, draws=draws, seed=[seed, place])
        for place, one in enumerate(parts)
    ]
    return holding(*_ratio_ends(drawn, level), value), f"posterior draws, {draws:,}"


def _ratio_ends(drawn: list[FloatArray], level: float) -> Ends:
    return ends(1 - drawn[1] / drawn[0], level)[:2]
