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

import math
from dataclasses import replace
from typing import Literal

import numpy as np

from judge.calibration.binding import BoolArray, IntArray
from judge.calibration.linearised import logit_t
from judge.calibration.poststratified import LEVEL
from judge.stats.coefficients import FloatArray
from judge.stats.estimate import Estimate

LEAST = 0.1
"""Of an even draw's probability n/N: no item may have less."""
FOLDS = 5


def draw_probabilities(
    uncertainty: FloatArray,
    labels: float,
    *,
    sizes: FloatArray | None = None,
    floors: FloatArray | None = None,
) -> FloatArray:
    """π_i in proportion to the uncertainty, within 0.1 n/N…1, summing to n.

    Args:
        uncertainty: e.g. √(p (1 − p)) of the harm probability; ≥ 0; shape (entries,).
        labels: n, how many are wanted on average, 1…N.
        sizes: items behind each entry, which share its probability; none: one each.
        floors: probabilities that the entries have at least, in 0…1; what they sum to may raise n.

    Raises:
        ValueError: a negative uncertainty, or n not among 1…N.
    """
    counts = np.ones(len(uncertainty)) if sizes is None else sizes
    size = float(counts.sum())
    if not 1 <= labels <= size or uncertainty.min() < 0:
        raise ValueError(
            f"{labels:g} labels of {size:g} items: expected 1 to {size:g}, uncertainty ≥ 0"
        )
    least = np.maximum(LEAST * labels / size, 0.0 if floors is None else floors)
    scores = uncertainty if uncertainty.sum() > 0 else np.ones(len(uncertainty))
    low, high = 0.0, labels / float(scores[scores > 0].min())
    for _ in range(200):
        middle = (low + high) / 2
        total = counts @ np.clip(middle * scores, least, 1)
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
    answered: FloatArray | None = None,
    floor: float | None = None,
    classes: IntArray | None = None,
    clusters: IntArray | None = None,
    target: Literal["set", "prompts", "items"] = "set",
    scale: tuple[float, float] = (0.0, 1.0),
    level: float = LEVEL,
) -> Estimate:
    """θ̂ with its interval; refused where a probability is too small.

    Of the finite set, V = N⁻² Σ ξ_i (1 − π_i)/π_i² (y_i − f_i)², for draws made one by one
    (Poisson sampling); of a population of independent items, the variance of the N terms over
    N; of a population of prompts, that of the sums of their terms. A few surprises may make up
    most of V, so the interval is Student's t with 2 V² / Σ v_i² degrees of freedom, v_i the
    terms of V (for prompts at most the questions with labels − 1), on the logit of the score.
    There is none where θ̂ is off the scale.

    Where every label of a class is as predicted, V says nothing of what else there may be in
    it. Then as many of its items may be otherwise as would all have gone undrawn with
    probability 1 − level, had they the least probabilities; the interval is widened by them.

    Args:
        predicted: f_i, cross-fitted; shape (N,).
        labels: y_i, nan where not drawn; shape (N,).
        probabilities: π_i in (0, 1], as fixed before the draw; shape (N,). Of items not drawn
            a bound from below does.
        population: of what, in words.
        answered: share of the draws like this one that got a label, in (0, 1]; none: all did.
        floor: least probability allowed; none: a tenth of the probabilities' mean.
        classes: what the predictions go by; none: one class.
        clusters: the item's question, for a population of prompts.
        target: the set itself, or the population its items or prompts come from.
        scale: the least and the greatest label.
        level: in (0, 1).

    Raises:
        ValueError: arrays of different length or empty, a probability outside (0, 1], or a
            population of prompts without the questions.
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
    if target == "prompts" and clusters is None:
        raise ValueError("a population of prompts: expected each item's question")
    drawn = ~np.isnan(labels)
    n = int(drawn.sum())
    least = LEAST * probabilities.mean() if floor is None else floor
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
    chances = probabilities if answered is None else probabilities * answered
    errors = np.where(drawn, (labels - predicted) / chances, 0.0)
    terms = predicted + errors
    value = float(terms.mean())
    most = math.inf
    if target == "set":
        parts = (1 - chances) * errors**2
    elif target == "items" or clusters is None:
        parts = (terms - value) ** 2
    else:
        most = max(1, len(np.unique(clusters[drawn])) - 1)
        sums = np.bincount(clusters, terms - value)
        questions = len(np.unique(clusters))
        parts = sums**2 * (questions / max(questions - 1, 1))
    found = _with_interval(value, parts / size**2, most, population, n, target, scale, level)
    kinds = np.zeros(size, dtype=np.int64) if classes is None else classes
    surprised = np.bincount(kinds, (errors != 0) & (chances < 1)) > 0
    quiet = ~surprised[kinds]
    if not quiet.any() or (found.low is None and not quiet.all()):
        return found
    down, up = (
        _unseen(chances, drawn, quiet & (predicted != end), level, whole=target == "set")
        for end in scale
    )
    told = replace(found, method=found.method or f"active inference, {target}")
    return _widened(told, scale, down, up)


def _unseen(
    chances: FloatArray, drawn: BoolArray, quiet: BoolArray, level: float, *, whole: bool
) -> float:
    """Share of all items that are quiet and may yet be other than predicted, at most.

    Those with the least probabilities, as many as all go undrawn with probability 1 − level.
    In the set itself, labelled ones are known.
    """
    with np.errstate(divide="ignore"):
        missed = np.cumsum(np.log1p(-np.sort(chances[quiet])))
    most = int((missed >= math.log(1 - level) - 1e-12).sum())
    return min(most, int((quiet & ~drawn).sum()) if whole else most) / len(chances)


def _widened(found: Estimate, scale: tuple[float, float], down: float, up: float) -> Estimate:
    """The interval, and what its quiet classes may hide: as sides of a right angle (MOVER)."""
    value = found.value or 0.0
    low, high = (value, value) if found.low is None else (found.low, found.high or 0.0)
    width = scale[1] - scale[0]
    hidden = (
        f"; where every label of a class is as predicted, at most {100 * down:.2g} % of all items"
        f" may be less and {100 * up:.2g} % more"
    )
    return replace(
        found,
        reason="",
        low=max(scale[0], value - math.hypot(value - low, down * width)),
        high=min(scale[1], value + math.hypot(high - value, up * width)),
        method=found.method + (hidden if down or up else ""),
    )


def _with_interval(
    value: float,
    parts: FloatArray,
    most: float,
    population: str,
    n: int,
    target: str,
    scale: tuple[float, float],
    level: float,
) -> Estimate:
    variance = float(parts.sum())
    low = high = None
    reason, method = "", ""
    if not scale[0] < value < scale[1]:
        reason = "no interval: the score is not inside the scale"
    elif variance <= 0:
        reason = "no interval: nothing varies"
    else:
        freedom = min(most, max(1.0, 2 * variance**2 / float((parts**2).sum())))
        low, high = logit_t(value, variance, freedom, level, scale)
        method = f"active inference, {target}: logit t, {freedom:.0f} df"
    return Estimate("active_score", value, population, n, n, reason, low, high, level, method)
