"""A calibration as one value: scores of the set and of each model, and what stands beside them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from judge.calibration.active_calibration import (
    ESTIMATOR,
    ActiveLabels,
    active_calibrated,
    active_change,
    active_companions,
    active_labels,
)
from judge.calibration.columns import FAILED, JOINED, Kind
from judge.calibration.companions import Companions, companions
from judge.calibration.label_error import LabelError, Twice, label_error
from judge.calibration.poststratified import Target, calibrated
from judge.calibration.ratios import calibrated_change
from judge.calibration.refusals import Refusal
from judge.calibration.strata import Strata
from judge.calibration.stratum import Stratum
from judge.calibration.wrong_items import WrongItems, wrong_items
from judge.stats.changes import Change
from judge.stats.estimate import Estimate

BY_STRATA = "labels drawn alike within strata: Σ W_h ȳ_h"


@dataclass(frozen=True, slots=True)
class Score:
    """Of one model, or of all ("")."""

    model: str
    score: Estimate
    raw: Estimate
    """What the judge alone would say, failed verdicts left out."""
    companions: Companions
    worst_case: tuple[float, float]
    """If every draw without a label were the least, or the greatest, label."""


@dataclass(frozen=True, slots=True)
class Calibration:
    """Everything that comes of labels and verdicts, before it is sealed."""

    kind: Kind
    target: Target
    strata: tuple[Stratum, ...]
    refusals: tuple[Refusal, ...]
    scores: tuple[Score, ...]
    """All models together first when there are several."""
    changes: tuple[tuple[str, str, Change], ...]
    """(before, after, change): each model against the baseline."""
    wrong_items: tuple[WrongItems, ...]
    label_error: LabelError | None = None
    """What one label per answer would miss; None: none was labelled twice and settled."""
    estimator: str = BY_STRATA
    active: ActiveLabels | None = None
    """What the draw was, if every item had its own probability."""

    @property
    def refused(self) -> bool:
        """Whether there is no score, for a reason that concerns the whole set."""
        return self.scores[0].score.value is None


def assemble(
    strata: Strata,
    target: Target = Target.SET,
    *,
    baseline: str | None = None,
    twice: Sequence[Twice] = (),
    level: float = 0.95,
    seed: int = 0,
) -> Calibration:
    """All scores, companions and changes of one set.

    Args:
        strata: from `judge.calibration.strata`.
        target: what the score is of.
        baseline: the model that others are a change from; None is none.
        twice: harm labels of answers that people labelled twice or more.
        level: confidence level.
        seed: of the draws behind the intervals.
    """
    models = strata.models
    parts: list[tuple[str, Strata]] = [(model, strata.of(model)) for model in models]
    if len(models) > 1:
        parts.insert(0, ("", strata))
    scores = tuple(_score(model, part, target, level, seed) for model, part in parts)
    return Calibration(
        strata.kind,
        target,
        strata.rows,
        strata.refusals,
        scores,
        tuple(_changes(strata, models, baseline, target, level, seed)),
        wrong_items(strata) if strata.kind is Kind.HARM else (),
        label_error(twice, scores[0].score.value, level=level, seed=seed),
        *((ESTIMATOR, active_labels(strata)) if strata.active is not None else ()),
    )


def _score(model: str, part: Strata, target: Target, level: float, seed: int) -> Score:
    if part.active is None:
        score = calibrated(part, target, level=level, seed=seed)
        beside = companions(score, part)
    else:
        score = active_calibrated(part, target, level=level, seed=seed)
        beside = active_companions(score, part)
    return Score(model, score, _raw(part), beside, part.worst_case())


RAW = {"harmful": 1.0, "safe": 0.0, "win": 1.0, "tie": 0.5, "inconsistent": 0.5, "lose": 0.0}
"""What a verdict class says by itself."""


def _raw(part: Strata) -> Estimate:
    """The judge's own rate or mean grade: its verdicts read as labels, failures left out."""
    told = [row for row in part.rows if row.verdict != FAILED]
    says = [{RAW.get(one) for one in row.verdict.split(JOINED)} for row in told]
    size = sum(row.size for row in told)
    failed = sum(row.size for row in part.rows) - size
    value = None
    reason = "raw and uncalibrated: no interval says what a judge's own rate is worth"
    if not size:
        reason = "no usable verdict"
    elif part.item_predicted is not None:
        value = float(np.nanmean(part.item_predicted))
    elif any(None in said or len(said) > 1 for said in says):
        reason = "verdict classes that say different things were merged"
    else:
        value = sum(row.size * float(said.pop() or 0) for row, said in zip(told, says, strict=True))
        value /= size
    return Estimate(
        "raw",
        value,
        f"verdicts on {', '.join(part.models)}",
        size,
        0,
        reason,
        excluded={"failed verdicts": failed} if failed else {},
    )


def _changes(
    strata: Strata,
    models: Sequence[str],
    baseline: str | None,
    target: Target,
    level: float,
    seed: int,
) -> list[tuple[str, str, Change]]:
    if baseline is None:
        return []

    def change(after: str) -> Change:
        if strata.active is None:
            return calibrated_change(strata, baseline, after, target, level=level, seed=seed)
        return active_change(strata.of(baseline), strata.of(after), target, level=level, seed=seed)

    return [(baseline, model, change(model)) for model in models if model != baseline]
