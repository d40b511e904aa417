"""Verdicts kept only where the judge is sure: the least sure that still keeps its promise.

Thresholds are tested from the strictest on, each at the full error δ, until the first whose
bound is above the promise (fixed-sequence testing): whichever is chosen then, the risk among
kept items is above the promise with probability at most δ. One unit per question, since the
exact bound counts independent units.

Source: C. J. Clopper and E. S. Pearson, Biometrika 26 (1934) 404–413,
https://doi.org/10.1093/biomet/26.4.404; J. Jung, F. Brahman, Y. Choi, Trust or Escalate (2024),
https://arxiv.org/abs/2407.18370; A. N. Angelopoulos et al., Learn then Test (2021),
https://arxiv.org/abs/2110.01052
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from judge.calibration.binding import BoolArray
from judge.stats.coefficients import FloatArray
from judge.stats.distributions import beta_quantile

DELTA = 0.10
STEPS = 20
"""Thresholds tried: quantiles of the confidence, which no label has a part in."""


@dataclass(frozen=True, slots=True)
class Threshold:
    """Verdicts kept from this confidence on."""

    confidence: float
    kept: int
    """Units kept."""
    wrong: int
    """Of them, verdicts that people contradict."""
    coverage: float
    """Share of units kept."""
    upper: float
    """Upper bound of the risk; 1 where nothing is kept."""


@dataclass(frozen=True, slots=True)
class Selection:
    """The chosen threshold, all that were tested, and warnings."""

    chosen: Threshold | None
    """None: not even the strictest keeps the promise; abstain everywhere."""
    tested: tuple[Threshold, ...]
    promise: float
    delta: float
    warnings: tuple[str, ...]


def risk_upper(wrong: int, n: int, delta: float = DELTA) -> float:
    """Clopper and Pearson's one-sided bound: the risk is above it with probability ≤ δ.

    1 where all are wrong or there is nothing; 1 − δ^(1/n) where none is.

    Raises:
        ValueError: `wrong` is not among 0…n, or δ is not inside (0, 1).
    """
    if not 0 <= wrong <= n or not 0 < delta < 1:
        raise ValueError(f"{wrong} of {n} at δ {delta}: expected a count and δ between 0 and 1")
    return 1.0 if wrong == n else beta_quantile(1 - delta, wrong + 1, n - wrong)


def selective(
    confidence: FloatArray,
    wrong: BoolArray,
    questions: Sequence[str],
    promise: float,
    *,
    delta: float = DELTA,
    thresholds: Sequence[float] | None = None,
    reference: float | None = None,
    seed: int = 0,
) -> Selection:
    """The lowest confidence from which on the risk is at most `promise`.

    Args:
        confidence: of each verdict, higher is surer; shape (units,).
        wrong: people contradict it; shape (units,).
        questions: of each unit; of several units one is drawn, without looking at the others.
        promise: the risk that must not be passed, in (0, 1).
        delta: chance that it is passed all the same.
        thresholds: fixed before labelling; none: quantiles of the confidence.
        reference: how often people contradict each other on such items; above the promise, no
            judge can be held to it, and a warning says so.
        seed: of the draw of one unit per question.

    Raises:
        ValueError: columns of different length, none at all, or promise or δ outside (0, 1).
    """
    if not len(confidence) or not len(confidence) == len(wrong) == len(questions):
        raise ValueError(
            f"{len(confidence)} confidences, {len(wrong)} verdicts, {len(questions)} questions:"
            " expected as many of each, and one or more"
        )
    if not 0 < promise < 1:
        raise ValueError(f"promise {promise}: expected a risk between 0 and 1, e.g. 0.1")
    units = _one_per_question(questions, seed)
    sure, bad = confidence[units], wrong[units]
    asked = np.quantile(sure, np.linspace(1, 0, STEPS)) if thresholds is None else thresholds
    tested: list[Threshold] = []
    chosen = None
    for threshold in sorted({float(one) for one in asked}, reverse=True):
        tested.append(_tested(threshold, sure, bad, delta))
        if tested[-1].upper > promise:
            break
        chosen = tested[-1]
    return Selection(
        chosen, tuple(tested), promise, delta, _warnings(promise, reference, len(units), questions)
    )


def _one_per_question(questions: Sequence[str], seed: int) -> np.ndarray:
    order = np.random.default_rng(seed).permutation(len(questions))
    first = np.unique(np.asarray(questions, dtype=str)[order], return_index=True)[1]
    return np.sort(order[first])


def _tested(threshold: float, sure: FloatArray, bad: BoolArray, delta: float) -> Threshold:
    kept = sure >= threshold
    n, wrong = int(kept.sum()), int(bad[kept].sum())
    upper = risk_upper(wrong, n, delta) if n else 1.0
    return Threshold(threshold, n, wrong, n / len(sure), upper)


def _warnings(
    promise: float, reference: float | None, units: int, questions: Sequence[str]
) -> tuple[str, ...]:
    found = []
    if reference is not None and reference > promise:
        found.append(
            f"people contradict each other on {100 * reference:.1f} % of such items, more than the"
            f" promised {100 * promise:.1f} %: the promise is about the labels, not about the truth"
        )
    if units < len(questions):
        found.append(f"{len(questions)} units of {units} questions: one per question was used")
    return tuple(found)
