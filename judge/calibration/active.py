"""Labels chosen by their use: every item with its own probability, and an unbiased score.

θ̂ = N⁻¹ Σ [f_i + ξ_i/π_i (y_i − f_i)]: predictions for all, corrected by the labels drawn (ξ_i =
1) at one over their probability. Unbiased for any f that did not see the item's own label, and
any π fixed before. No π may be below a tenth of an even draw's, or one label could move the
score by more than ten.

Source: T. Zrnic and E. J. Candès, Active Statistical Inference (2024),
https://arxiv.org/abs/2403.03208; C.-E. Särndal, B. Swensson, J. Wretman, Model Assisted Survey
Sampling (1992), section 6.3.
"""

from __future__ import annotations

from typing import Literal

import numpy as np

from judge.calibration.binding import IntArray
from judge.calibration.linearised import logit_t
from judge.calibration.poststratified import LEVEL
from judge.stats.coefficients import FloatArray
from judge.stats.estimate import Estimate

LEAST = 0.1
"""Of an even draw's probability n/N: no item may have less."""
FOLDS = 5


def draw_probabilities(uncertainty: FloatArray, labels: int) -> FloatArray:
    """π_i in proportion to the uncertainty, within 0.1 n/N…1, summing to n.

    Args:
        uncertainty: e.g. √(p (1 − p)) of the harm probability; ≥ 0; shape (N,).
        labels: n, how many are wanted on average, 1…N.

    Raises:
        ValueError: a negative uncertainty, or n not among 1…N.
    """
    size = len(uncertainty)
    if not 1 <= labels <= size or uncertainty.min() < 0:
        raise ValueError(f"{labels} labels of {size} items: expected 1 to {size}, uncertainty ≥ 0")
    least = LEAST * labels / size
    scores = uncertainty if uncertainty.sum() > 0 else np.ones(size)
    low, high = 0.0, labels / float(scores[scores > 0].min())
    for _ in range(200):
        middle = (low + high) / 2
        total = np.clip(middle * scores, least, 1).sum()
        low, high = (middle, high) if total < labels else (low, middle)
    found: FloatArray = np.clip(high * scores, least, 1)
    return found


def cross_fitted(
    classes: IntArray,
    labels: FloatArray,
    probabilities: FloatArray,
    clusters: IntArray,
    *,
    folds: int = FOLDS,
    seed: int = 0,
) -> FloatArray:
    """f_i: the mean label of the item's verdict class in the other folds; shape (N,).

    Labels count at 1/π. A class without labels in the other folds gets the mean of all classes
    there; without any label it is 0.

    Args:
        classes: of each item, as an index; shape (N,).
        labels: nan where not labelled; shape (N,).
        probabilities: π_i; shape (N,).
        clusters: the item's question: a question's items share a fold; shape (N,).
        folds: ≥ 2.
        seed: of the folds.
    """
    number = int(classes.max()) + 1
    fold = np.random.default_rng(seed).integers(folds, size=int(clusters.max()) + 1)[clusters]
    found = np.zeros(len(classes))
    weight = np.where(np.isnan(labels), 0.0, 1 / probabilities)
    value = np.where(np.isnan(labels), 0.0, labels)
    for one in range(folds):
        other = fold != one
        mass = np.bincount(classes[other], weight[other], minlength=number)
        total = np.bincount(classes[other], (weight * value)[other], minlength=number)
        everywhere = total.sum() / mass.sum() if mass.sum() else 0.0
        means = np.where(mass > 0, total / np.where(mass > 0, mass, 1), everywhere)
        found[~other] = means[classes[~other]]
    return found


def active_score(
    predicted: FloatArray,
    labels: FloatArray,
    probabilities: FloatArray,
    population: str,
    *,
    target: Literal["set", "items"] = "set",
    scale: tuple[float, float] = (0.0, 1.0),
    level: float = LEVEL,
) -> Estimate:
    """θ̂ with its interval; refused where a probability is too small.

    Of the finite set, V = N⁻² Σ ξ_i (1 − π_i)/π_i² (y_i − f_i)², for draws made one by one
    (Poisson sampling); of a population of independent items, the variance of the N terms over
    N. A few surprises may make up most of V, so the interval is Student's t with 2 V² / Σ v_i²
    degrees of freedom, v_i the terms of V, on the logit of the score. There is none where every
    label is as predicted, or θ̂ is off the scale.

    Args:
        predicted: f_i, cross-fitted; shape (N,).
        labels: y_i, nan where not drawn; shape (N,).
        probabilities: π_i in (0, 1], as fixed before the draw; shape (N,).
        population: of what, in words.
        target: the set itself, or the population its items come from.
        scale: the least and the greatest label.
        level: in (0, 1).

    Raises:
        ValueError: arrays of different length or empty, or a probability outside (0, 1].
    """
    size = len(labels)
    if not size or not size == len(predicted) == len(probabilities):
        raise ValueError(
            f"{len(predicted)} predictions, {size} labels, {len(probabilities)} probabilities:"
            " expected as many of each, and one or more"
        )
    if probabilities.min() <= 0 or probabilities.max() > 1:
        raise ValueError(
            f"probabilities {probabilities.min():g} to {probabilities.max():g}:"
            " expected more than 0, and 1 or less"
        )
    drawn = ~np.isnan(labels)
    n = int(drawn.sum())
    least = LEAST * probabilities.mean()
    reason = ""
    if probabilities.min() < least * (1 - 1e-9):
        reason = (
            f"refused: a draw probability of {probabilities.min():.3g}; expected"
            f" {least:.3g} (a tenth of an even draw's) or more; fix them by draw_probabilities"
        )
    elif not n:
        reason = "refused: no labels; expected one or more; label the items drawn"
    if reason:
        return Estimate("active_score", None, population, n, n, reason, level=level)
    errors = np.where(drawn, (labels - predicted) / probabilities, 0.0)
    terms = predicted + errors
    value = float(terms.mean())
    parts = (1 - probabilities) * errors**2 if target == "set" else (terms - value) ** 2
    return _with_interval(value, parts / size**2, population, n, target, scale, level)


def _with_interval(
    value: float,
    parts: FloatArray,
    population: str,
    n: int,
    target: str,
    scale: tuple[float, float],
    level: float,
) -> Estimate:
    variance = float(parts.sum())
    low = high = None
    reason, method = "", ""
    if variance <= 0:
        reason = "no interval: every label is as predicted"
    elif not scale[0] < value < scale[1]:
        reason = "no interval: the score is not inside the scale"
    else:
        freedom = max(1.0, 2 * variance**2 / float((parts**2).sum()))
        low, high = logit_t(value, variance, freedom, level, scale)
        method = f"active inference, {target}: logit t, {freedom:.0f} df"
    return Estimate("active_score", value, population, n, n, reason, low, high, level, method)
