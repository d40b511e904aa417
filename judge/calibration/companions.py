"""Beside the calibrated score: people alone, and prediction-powered inference.

People alone is what as many labels would say without any judge, had they been drawn at random
from the whole set. PPI adds the judge's mean over everything, corrected by what labels show of
its errors; PPI++ tunes how much the judge is believed.

Source: E. B. Wilson, JASA 22 (1927) 209–212, https://doi.org/10.1080/01621459.1927.10502953;
A. N. Angelopoulos et al., Prediction-powered inference, Science 382 (2023) 669–674,
https://doi.org/10.1126/science.adi6000; A. N. Angelopoulos, J. C. Duchi, T. Zrnic, PPI++
(2023), https://arxiv.org/abs/2311.01453
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from judge.calibration.columns import FAILED, JOINED, Kind
from judge.calibration.poststratified import LEVEL
from judge.calibration.strata import Strata
from judge.stats.binomial import wilson
from judge.stats.coefficients import FloatArray
from judge.stats.distributions import normal_quantile, t_quantile
from judge.stats.estimate import Estimate

PREDICTED: dict[Kind, dict[str, float]] = {
    Kind.HARM: {"harmful": 1.0, "safe": 0.0, FAILED: 0.5},
    Kind.PAIRS: {"win": 1.0, "tie": 0.5, "inconsistent": 0.5, "lose": 0.0, FAILED: 0.5},
    Kind.GRADES: {"low": 2.5, "middle": 6.0, "high": 9.0, FAILED: 5.5},
}
"""The label that a verdict class predicts. PPI is unbiased whatever a class is taken for; the
middle of a grade's class and of the scale are guesses that only cost width."""

NO_SPREAD = "no interval: nothing varies among these labels and verdicts, so its error is unknown"


@dataclass(frozen=True, slots=True)
class Companions:
    """The other estimates from the same labels, and what the judge gained."""

    people: Estimate
    ppi: Estimate
    ppi_plus: Estimate
    gained: float | None
    """1 − width of the calibrated interval / width of people alone: .3 is 30 % narrower, 0
    no gain, below 0 a loss; None where either has no width. A part of it may come from the two
    kinds of interval."""
    informed: float | None
    """The same of standard errors, both by large-sample formulas: what the verdicts tell. None
    where a stratum's labels are all the same, so that nothing is known of its error."""


def companions(score: Estimate, strata: Strata) -> Companions:
    """The companions of a calibrated score, for the labels that it rests on.

    Labels drawn unevenly over the strata are weighted back, N_h / n_h each; all three then
    share the calibrated value and differ in width only. For people alone the variance is that
    of one item of the whole set, Σ W_h (σ̂_h² + (ȳ_h − p̂)²), and n the number of labels.
    """
    shares = strata.alike().shares[strata.label_stratum]
    weights = shares / strata.counts[strata.label_stratum]
    found = companions_of(score, strata, weights)
    return replace(found, informed=_informed(strata, score))


def companions_of(score: Estimate, strata: Strata, weights: FloatArray) -> Companions:
    """The same for labels that stand for so many items each; not how informed the judge is.

    Args:
        score: the calibrated one.
        strata: its labels and verdicts.
        weights: of the labels, in drawn order; any scale.
    """
    if score.value is None:
        people, ppi, plus = (
            Estimate(name, None, score.population, score.n, score.clusters, score.reason)
            for name in ("people_alone", "ppi", "ppi_plus_plus")
        )
        return Companions(people, ppi, plus, None, None)
    each = weights / weights.mean()
    people = _people(score, strata, each)
    of_labels, of_items = _predictions(strata)
    made = [
        ppi_mean(
            strata.label_value,
            of_labels,
            of_items,
            weights=each,
            tuned=tuned,
            level=score.level,
            population=score.population,
        )
        for tuned in (False, True)
    ]
    return Companions(people, made[0], made[1], width_gained(score, people), None)


def width_gained(score: Estimate, people: Estimate) -> float | None:
    """1 − width / width: how much narrower the score's interval is; None without widths."""
    widths = [
        one.high - one.low if one.low is not None and one.high is not None else 0.0
        for one in (score, people)
    ]
    return 1 - widths[0] / widths[1] if widths[1] > 0 else None


def _people(score: Estimate, strata: Strata, each: FloatArray) -> Estimate:
    value = float((each * strata.label_value).mean())
    whole = strata.kind is Kind.HARM
    spread = _spread(value, strata, each)
    return _alone(value, spread, len(each), whole, score.population, score.level)


def _spread(value: float, strata: Strata, each: FloatArray) -> float:
    """The variance of one item of the whole set, with n − 1."""
    n = len(each)
    return float((each * (strata.label_value - value) ** 2).mean()) * n / max(n - 1, 1)


def _informed(strata: Strata, score: Estimate) -> float | None:
    squares = np.array([row.squares for row in strata.rows])
    if score.value is None or (squares == 0).any() or (strata.counts < 2).any():
        return None
    n = strata.counts.sum()
    each = (strata.shares / strata.counts)[strata.label_stratum] * n
    variance = strata.shares**2 * squares / (strata.counts - 1) / strata.counts
    alone = _spread(score.value, strata, each) / float(n)
    return 1 - math.sqrt(float(variance.sum()) / alone)


def _alone(
    mean: float, spread: float, n: int, whole: bool, population: str, level: float
) -> Estimate:
    low: float | None
    high: float | None
    if whole:
        low, high = wilson(mean * n, n, level)
        method = "Wilson"
    else:
        reach = t_quantile((1 + level) / 2, n - 1) * math.sqrt(spread / n) if n > 1 else 0.0
        low, high = (mean - reach, mean + reach) if reach > 0 else (None, None)
        method = f"Student's t, {n - 1} df" if reach > 0 else ""
    reason = "" if low is not None else "no interval: all labels are the same"
    return Estimate(
        "people_alone", mean, population, n, n, reason, low, high, level=level, method=method
    )


def ppi_mean(
    labels: FloatArray,
    predicted: FloatArray,
    everything: FloatArray,
    *,
    weights: FloatArray | None = None,
    tuned: bool = True,
    level: float = LEVEL,
    population: str = "",
) -> Estimate:
    """λ mean(f, all) + mean(y − λ f, labelled): the judge's mean, corrected by its errors.

    λ = 1 is PPI; tuned, λ = cov(y, f) / ((1 + n/N) var f), held in 0…1: with a useless judge 0,
    and people alone remain. The interval is normal, so too narrow for rare harm and few labels,
    and its ends may lie outside the scale; none where nothing varies, which says "no error".

    Args:
        labels: y of the labelled items; shape (n,).
        predicted: f of the labelled items; shape (n,).
        everything: f of the other items; shape (N,).
        weights: of the labelled items, mean 1; none: all 1.
        tuned: PPI++ instead of PPI.
        level: in (0, 1).
        population: of what, in words.

    Raises:
        ValueError: arrays of different length, or empty ones.
    """
    n, size = len(labels), len(everything)
    if len(predicted) != n or not n or not size:
        raise ValueError(
            f"{n} labels, {len(predicted)} predictions, {size} other items:"
            " expected as many labels as predictions, and one or more of each"
        )
    w = np.ones(n) if weights is None else weights
    trust = _trust(labels, predicted, everything, w) if tuned else 1.0
    value = float(trust * everything.mean() + (w * (labels - trust * predicted)).mean())
    spread = trust**2 * everything.var() / size + (w * (labels - trust * predicted)).var() / n
    reach = normal_quantile((1 + level) / 2) * math.sqrt(spread)
    known = reach > 0
    return Estimate(
        "ppi_plus_plus" if tuned else "ppi",
        value,
        population,
        n,
        n,
        reason="" if known else NO_SPREAD,
        low=value - reach if known else None,
        high=value + reach if known else None,
        level=level,
        method=f"normal, λ = {trust:.3f}" if tuned else "normal, λ = 1",
    )


def _trust(
    labels: FloatArray, predicted: FloatArray, everything: FloatArray, w: FloatArray
) -> float:
    n, size = len(labels), len(everything)
    first = everything.mean() + (w * (labels - predicted)).mean()
    of_labels, of_predicted = w * (labels - first), w * (predicted - first)
    together = ((of_labels - of_labels.mean()) * (of_predicted - of_predicted.mean())).mean()
    spread = np.concatenate([of_predicted, everything - first]).var(ddof=1)
    return float(np.clip(together / ((1 + n / size) * spread), 0, 1)) if spread > 0 else 0.0


def _predictions(strata: Strata) -> tuple[FloatArray, FloatArray]:
    """What the judge predicts of every label and of every item."""
    if strata.item_predicted is None or strata.label_predicted is None:
        by_class = np.array([_predicted(strata.kind, row.verdict) for row in strata.rows])
        return by_class[strata.label_stratum], by_class[strata.item_stratum]
    failed = PREDICTED[strata.kind][FAILED]
    of_labels, of_items = (
        np.where(np.isnan(one), failed, one)
        for one in (strata.label_predicted, strata.item_predicted)
    )
    return of_labels, of_items


def _predicted(kind: Kind, verdict: str) -> float:
    return float(np.mean([PREDICTED[kind][part] for part in verdict.split(JOINED)]))
