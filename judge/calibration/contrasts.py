"""Differences between two models' calibrated scores on the same prompts."""

from __future__ import annotations

import math

import numpy as np

from judge.calibration.linearised import influence
from judge.calibration.posterior import DRAWS, ends, holding, score_draws
from judge.calibration.poststratified import LEVEL, Target, point
from judge.calibration.refusals import REFUSED, refusal_words
from judge.calibration.strata import Strata
from judge.stats.distributions import t_quantile
from judge.stats.estimate import Estimate


def difference(
    strata: Strata,
    first: str,
    second: str,
    target: Target = Target.SET,
    *,
    level: float = LEVEL,
    draws: int = DRAWS,
    seed: int = 0,
) -> Estimate:
    """The first model's score minus the second's.

    Of the finite set: differences of posterior draws. Of the population of prompts: each
    question moves both scores, and the difference of its moves varies between questions
    (Student's t on questions with labels); what the models share cancels.

    Raises:
        ValueError: a model is not in the strata, or both are the same.
    """
    if first == second:
        raise ValueError(f"{first!r} twice: expected two models")
    parts = [strata.of(first), strata.of(second)]
    refused = {refusal for part in parts for refusal in part.refusals}
    population = f"{strata.name}: {first} − {second}"
    n = sum(len(part.label_value) for part in parts)
    questions = len(np.unique(np.concatenate([part.label_question for part in parts])))
    if refused:
        reason = f"{REFUSED}{refusal_words(r for r in strata.refusals if r in refused)}"
        return Estimate("difference", None, population, n, questions, reason, level=level)
    value = point(parts[0]) - point(parts[1])
    low: float | None
    high: float | None
    if target is Target.PROMPTS:
        low, high, method = _over_questions(parts, value, questions, level)
    else:
        finite = target is Target.SET
        drawn = [
            score_draws(part, finite=finite, draws=draws, seed=[seed, place])
            for place, part in enumerate(parts)
        ]
        low, high, error = ends(drawn[0] - drawn[1], level)
        low, high = holding(low, high, value)
        method = f"{target.value}: {draws:,} posterior draws, ends ± {error:.1g} (Monte Carlo)"
    return Estimate(
        "difference",
        value,
        population,
        n,
        questions,
        "" if low is not None else "no interval: fewer than two questions with labels",
        low=low,
        high=high,
        level=level,
        method=method,
    )


def _over_questions(
    parts: list[Strata], value: float, questions: int, level: float
) -> tuple[float | None, float | None, str]:
    spread = paired_variance(parts[0], parts[1], 1.0, 1.0)
    if not math.isfinite(spread):
        return None, None, ""
    reach = t_quantile((1 + level) / 2, questions - 1) * math.sqrt(spread)
    how = f"population of prompts: linearised by question, t, {questions - 1} df"
    return value - reach, value + reach, how


def paired_variance(first: Strata, second: Strata, weight: float, other: float) -> float:
    """The variance of weight × first score − other × second score between samples of questions.

    A question moves both scores together; what they share cancels. Nan with fewer than two
    questions, or fewer than two with labels.
    """
    moves = [
        factor * influence(part, point(part)) for factor, part in ((weight, first), (other, second))
    ]
    both = np.zeros(max(map(len, moves)))
    both[: len(moves[0])] += moves[0]
    both[: len(moves[1])] -= moves[1]
    parts = (first, second)
    number = len(np.unique(np.concatenate([part.item_question for part in parts])))
    labelled = len(np.unique(np.concatenate([part.label_question for part in parts])))
    if min(number, labelled) < 2:
        return math.nan
    return number / (number - 1) * float((both**2).sum())
