"""The score's variance over questions: items of one question count as one draw.

The score Σ W_h ȳ_h is linearised: every question gets the sum of what its items and labels move
it by, and these sums vary between questions as the score would between samples of questions.
Where the scale ends, an interval must end too: it is made on the logit of the score.

Source: K. M. Wolter, Introduction to Variance Estimation (2007), chapter 6; E. L. Korn and
B. I. Graubard, Confidence Intervals for Proportions with Small Expected Number of Positive
Counts Estimated from Survey Data, Survey Methodology 24 (1998) 193–201.
"""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from judge.calibration.strata import Strata
from judge.stats.coefficients import FloatArray
from judge.stats.distributions import t_quantile


def influence(strata: Strata, target: float) -> FloatArray:
    """What each question moves the score by; shape (questions,), sums to 0 at the score itself.

    u_q = Σ_{i ∈ q} (ȳ_h(i) − θ̂) / N + Σ_{labelled i ∈ q} (W_h / n_h) (y_i − ȳ_h).
    """
    questions = int(strata.item_question.max()) + 1
    means, shares, counts = strata.alike().means, strata.shares, strata.counts
    size = len(strata.item_stratum)
    of_items = (means - target)[strata.item_stratum] / size
    of_labels = (shares / counts)[strata.label_stratum] * (
        strata.label_value - means[strata.label_stratum]
    )
    found = np.bincount(strata.item_question, of_items, minlength=questions)
    found += np.bincount(strata.label_question, of_labels, minlength=questions)
    return found.astype(np.float64)


def question_variance(strata: Strata, target: float) -> float:
    """Q/(Q − 1) Σ_q u_q²: the score's variance between samples of questions."""
    present = np.unique(strata.item_question)
    moves = influence(strata, target)[present]
    number = len(moves)
    return float(number / (number - 1) * (moves**2).sum()) if number > 1 else math.nan


def logit_t(
    value: float, variance: float, freedom: float, level: float, scale: tuple[float, float]
) -> tuple[float, float]:
    """Logit θ̂ ± t √V / (θ̂ (1 − θ̂)), back on the scale.

    Args:
        value: inside the scale, not at an end.
        variance: of the value.
        freedom: degrees of freedom, ≥ 1.
        level: in (0, 1).
        scale: its two ends.
    """
    low, high = scale
    share = (value - low) / (high - low)
    error = math.sqrt(variance) / (high - low) / (share * (1 - share))
    reach = t_quantile((1 + level) / 2, freedom) * error
    middle = math.log(share / (1 - share))
    first, second = (
        low + (high - low) / (1 + math.exp(-(middle + sign * reach))) for sign in (-1, 1)
    )
    return first, second


def one_label_per_question(strata: Strata) -> Strata:
    """The same strata with the labels of a question averaged within each stratum.

    Where all labels are equal, nothing varies between questions; then a question counts once,
    as if its labels were sure to be the same.
    """
    code = strata.label_stratum * (int(strata.item_question.max()) + 1) + strata.label_question
    _, first, place, counts = np.unique(
        code, return_index=True, return_inverse=True, return_counts=True
    )
    values = np.bincount(place, strata.label_value) / counts
    stratum = strata.label_stratum[first]
    labelled = np.bincount(stratum, minlength=len(strata.rows))
    totals = np.bincount(stratum, values, minlength=len(strata.rows))
    rows = tuple(
        replace(row, labelled=int(n), total=float(total))
        for row, n, total in zip(strata.rows, labelled, totals, strict=True)
    )
    return replace(
        strata,
        rows=rows,
        label_stratum=stratum,
        label_question=strata.label_question[first],
        label_value=values,
        item_predicted=None,
        label_predicted=None,
    )
