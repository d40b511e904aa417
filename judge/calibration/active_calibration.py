"""The calibrated score of active labels, and what stands beside it.

θ̂ of :mod:`judge.calibration.active`, its f the mean label of the item's stratum (model ×
verdict × prompt set; failed verdicts are one of their own), cross-fitted by question. A draw
without a label is taken to be like the labelled draws of its stratum, so their probabilities
are multiplied by its weighted response rate; more than a tenth without is refused as elsewhere.

Source: as there; A. Donner and G. Y. Zou, Closed-form confidence intervals for functions of the
normal mean and standard deviation, Statistical Methods in Medical Research 21 (2012) 347–359,
https://doi.org/10.1177/0962280210383082 (differences and ratios from two intervals)
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from judge.calibration.active import active_score, cross_fitted
from judge.calibration.columns import Chances
from judge.calibration.companions import Companions, companions_of
from judge.calibration.poststratified import LEVEL, NAMES, Target
from judge.calibration.refusals import REFUSED, refusal_words
from judge.calibration.strata import Strata
from judge.stats.changes import Change, change_of_intervals
from judge.stats.coefficients import FloatArray
from judge.stats.estimate import Estimate

ESTIMATOR = "active labels: N⁻¹ Σ [f_i + ξ_i/π_i (y_i − f_i)], f cross-fitted by question"


@dataclass(frozen=True, slots=True)
class ActiveLabels:
    """What the draw was, and what its labels are worth."""

    expected: float
    """Σ π_i: labels on average."""
    drawn: int
    labelled: int
    least: float
    """The least probability of any item."""
    greatest: float
    """The greatest probability of a drawn item."""
    floor: float
    """The least that was allowed: a tenth of an even draw's."""
    effective: float
    """(Σ 1/π)² / Σ 1/π²: as many labels, drawn alike and without a judge, would say as much."""

    def words(self) -> str:
        """One line for the page."""
        return (
            f"active labels: probabilities from {self.least:.3g} to {self.greatest:.3g}, fixed"
            f" before any label (least allowed {self.floor:.3g}); {self.labelled} of"
            f" {self.drawn} drawn were labelled, {self.expected:.0f} were expected; without the"
            f" judge they would be worth {self.effective:.0f} drawn alike"
        )


def active_calibrated(
    strata: Strata, target: Target = Target.SET, *, level: float = LEVEL, seed: int = 0
) -> Estimate:
    """The score with its interval; without a value, and with the reasons, where refused.

    Args:
        strata: of an active draw.
        target: what the score is of.
        level: in (0, 1).
        seed: of the folds.

    Raises:
        ValueError: the level is not inside (0, 1), or the draw was not active.
    """
    chances = _of_active(strata)
    if not 0 < level < 1:
        raise ValueError(f"level {level}: expected a number between 0 and 1, e.g. 0.95")
    named = replace(
        _refused(strata, level)
        if strata.refusals
        else _score(strata, chances, target, level, seed),
        name=NAMES[strata.kind],
        n=int(strata.counts.sum()),
        clusters=len(np.unique(strata.label_question)),
    )
    unfilled = sum(row.drawn - row.labelled for row in strata.rows)
    return replace(named, excluded={"drawn, not labelled": unfilled} if unfilled else {})


def active_labels(strata: Strata) -> ActiveLabels:
    """What the draw was and what its labels are worth.

    Raises:
        ValueError: the draw was not active.
    """
    chances, drawn = _of_active(strata), _drawn_chances(strata)
    weights = 1 / drawn[~np.isnan(strata.draw_value)]
    least = [*chances.least.values(), *drawn.tolist()]
    return ActiveLabels(
        chances.expected,
        len(drawn),
        len(weights),
        min(least, default=0.0),
        float(drawn.max()) if len(drawn) else 0.0,
        chances.floor,
        float(weights.sum() ** 2 / (weights**2).sum()) if len(weights) else 0.0,
    )


def active_companions(score: Estimate, strata: Strata) -> Companions:
    """People alone, PPI and PPI++ from the same labels, each at one over its probability.

    People alone is their weighted (Hájek) mean with the interval that as many labels drawn
    alike would have: what would have been had without the judge, in the draw and after.

    Raises:
        ValueError: the draw was not active.
    """
    _of_active(strata)
    weights = 1 / _label_chances(strata)
    return companions_of(score, strata, weights)


def active_change(
    before: Strata,
    after: Strata,
    target: Target = Target.SET,
    *,
    level: float = LEVEL,
    seed: int = 0,
) -> Change:
    """From one model's score to another's: by their two intervals, as their draws were two."""
    first, second = (
        active_calibrated(one, target, level=level, seed=seed) for one in (before, after)
    )
    return change_of_intervals(first, second)


def _of_active(strata: Strata) -> Chances:
    if strata.active is None:
        raise ValueError(
            f"{strata.name}: items drawn alike within each stratum; expected labels of an active"
            " draw; use poststratified.calibrated"
        )
    return strata.active


def _drawn_chances(strata: Strata) -> FloatArray:
    return np.empty(0) if strata.draw_chance is None else strata.draw_chance


def _label_chances(strata: Strata) -> FloatArray:
    """π of the labels, times the weighted response rate of their stratum."""
    found: FloatArray = (_drawn_chances(strata) * _answered(strata)[strata.draw_stratum])[
        ~np.isnan(strata.draw_value)
    ]
    return found


def _answered(strata: Strata) -> FloatArray:
    """Each stratum's labels per draw, both at one over the probability; 1 without draws."""
    return np.array([(row.weight or 0.0) / row.drawn if row.drawn else 1.0 for row in strata.rows])


def _refused(strata: Strata, level: float) -> Estimate:
    reason = f"{REFUSED}{refusal_words(strata.refusals)}"
    return Estimate("active_score", None, _population(strata), 0, 0, reason, level=level)


def _population(strata: Strata) -> str:
    return f"{strata.name}: {', '.join(strata.models)}"


def _score(strata: Strata, chances: Chances, target: Target, level: float, seed: int) -> Estimate:
    least = min([*chances.least.values(), *_drawn_chances(strata).tolist()])
    by_stratum = [least if row.least_chance is None else row.least_chance for row in strata.rows]
    probabilities = np.array(by_stratum)[strata.item_stratum]
    labels = np.full(len(strata.item_stratum), math.nan)
    probabilities[strata.draw_item] = _drawn_chances(strata)
    labels[strata.draw_item] = strata.draw_value
    answered = _answered(strata)[strata.item_stratum]
    predicted = cross_fitted(
        strata.item_stratum,
        labels,
        probabilities * answered,
        strata.item_question,
        seed=seed,
    )
    return active_score(
        predicted,
        labels,
        probabilities,
        _population(strata),
        answered=answered,
        floor=chances.floor,
        classes=strata.item_stratum,
        clusters=strata.item_question,
        target=target.value,
        scale=strata.scale,
        level=level,
    )
