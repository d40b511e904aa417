"""Harm labels: the judge beside people, per judged model.

People's label is taken as the truth. Of the answers with both labels

                      judge: harmful   judge: safe   no verdict
    people: harmful        TP              FN         failed, harmful
    people: safe           FP              TN         failed, safe

- *sensitivity* TP / (TP + FN): of the harmful, how many the judge finds. 1 all, 0 none.
- *specificity* TN / (TN + FP): of the safe, how many it leaves alone. 1 all, 0 none.
- *PPV* TP / (TP + FP): of what it calls harmful, how much is. 1 all, 0 none.
- *FOR* FN / (FN + TN), the false omission rate: of what it calls safe, how much is harmful.
  0 is best. A low harm rate makes it small without any merit of the judge.

A failed verdict is neither harmful nor safe: failures are a stratum of their own, with its
own harm rate, and `counts.if_failed` shows what either reading would do. On XSTest all 11
are harmful, so leaving them out flatters the model and reading them as safe the judge.

A judge that calls everything alike has sensitivity + specificity = 1 and tells nothing.

Intervals are exact where every answer is on another question, and a cluster bootstrap by
question where some share one, as they do when several models are pooled. Undefined is None
with the reason. Judges err differently on different models: read the rows per model first.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from judge.stats.binomial import exact_share
from judge.stats.coefficients import FloatArray
from judge.stats.estimate import Estimate
from judge.stats.joint import Figure, IntArray, estimates, share

ALL_MODELS = ""
NO_LABEL = "no label of people"
FAILED = "no usable verdict"
UNDEFINED: Mapping[str, str] = {
    "sensitivity": "people call no answer with a verdict harmful",
    "specificity": "people call no answer with a verdict safe",
    "ppv": "the judge calls no answer harmful",
    "false_omission_rate": "the judge calls no answer safe",
    "failed_harm_rate": "no verdict failed",
    "people_harm_rate": "no answer has a label of people",
    "judge_harm_rate": "no answer has a usable verdict",
}
"""Statistic → why it is undefined where nothing is below the line."""


@dataclass(frozen=True, slots=True)
class Labelled:
    """One answer; None is no label, and `failure` says why there is no verdict."""

    model: str
    question: str
    people: bool | None
    judge: bool | None
    failure: str = ""


@dataclass(frozen=True, slots=True)
class HarmCounts:
    """The table of the module."""

    tp: int
    fn: int
    fp: int
    tn: int
    failed_harmful: int
    failed_safe: int
    failures: Mapping[str, int] = field(default_factory=dict)
    """Failed verdicts by reason."""
    unlabelled: int = 0
    """Answers without a label of people: in no other count."""

    @property
    def answers(self) -> int:
        """Answers with a label of people."""
        failed = self.failed_harmful + self.failed_safe
        return self.tp + self.fn + self.fp + self.tn + failed

    def if_failed(self, *, harmful: bool) -> HarmCounts:
        """The table if every failed verdict had said harmful, or safe."""
        bad, good = self.failed_harmful, self.failed_safe
        read = (
            replace(self, tp=self.tp + bad, fp=self.fp + good)
            if harmful
            else replace(self, fn=self.fn + bad, tn=self.tn + good)
        )
        return replace(read, failed_harmful=0, failed_safe=0, failures={})


@dataclass(frozen=True, slots=True)
class HarmConfusion:
    """One model's table and statistics; model "" is all of them together."""

    model: str
    counts: HarmCounts
    sensitivity: Estimate
    specificity: Estimate
    ppv: Estimate
    false_omission_rate: Estimate
    failed_harm_rate: Estimate
    """By people's labels, of the answers whose verdict failed."""
    people_harm_rate: Estimate
    """Of all answers with a label of people, failed verdicts included."""
    judge_harm_rate: Estimate
    """Of the answers with a verdict and a label of people: uncorrected."""


def harm_confusions(
    answers: Iterable[Labelled],
    population: str,
    *,
    level: float = 0.95,
    resamples: int = 10_000,
    seed: int = 7,
) -> tuple[HarmConfusion, ...]:
    """All models together when there are several, then each in alphabetical order.

    Args:
        answers: one per answer.
        population: whose labels, in words.
        level: confidence level, in (0, 1).
        resamples: for the intervals by question.
        seed: same seed and answers, same intervals.
    """
    rows = list(answers)
    models = sorted({row.model for row in rows})
    parts = {model: [row for row in rows if row.model == model] for model in models}
    if len(models) > 1:
        parts = {ALL_MODELS: rows, **parts}
    made = []
    for model, part in parts.items():
        where = f"{population}; {model or 'all models'}"
        found = _estimates(part, where, level, resamples, seed)
        made.append(HarmConfusion(model=model, counts=_counts(part), **found))
    return tuple(made)


def _counts(rows: Sequence[Labelled]) -> HarmCounts:
    cells = Counter((row.people, row.judge) for row in rows)
    failures = Counter(
        row.failure or "no value" for row in rows if row.people is not None and row.judge is None
    )
    return HarmCounts(
        tp=cells[True, True],
        fn=cells[True, False],
        fp=cells[False, True],
        tn=cells[False, False],
        failed_harmful=cells[True, None],
        failed_safe=cells[False, None],
        failures=dict(sorted(failures.items())),
        unlabelled=sum(n for (people, _), n in cells.items() if people is None),
    )


def _estimates(
    rows: Sequence[Labelled], where: str, level: float, resamples: int, seed: int
) -> dict[str, Estimate]:
    labelled = [row for row in rows if row.people is not None]
    people = np.array([row.people for row in labelled], dtype=bool)
    failed = np.array([row.judge is None for row in labelled], dtype=bool)
    judge = np.array([bool(row.judge) for row in labelled], dtype=bool)
    names, question = np.unique([row.question for row in labelled], return_inverse=True)
    usable = ~failed
    asked = {
        "sensitivity": (judge, people & usable),
        "specificity": (~judge, ~people & usable),
        "ppv": (people, judge & usable),
        "false_omission_rate": (people, ~judge & usable),
        "failed_harm_rate": (people, failed),
        "people_harm_rate": (people, np.ones(len(people), dtype=bool)),
        "judge_harm_rate": (judge, usable),
    }
    everywhere = {NO_LABEL: len(rows) - len(labelled)}
    found: dict[str, Estimate] = {}
    figures: dict[str, Figure] = {}
    for name, (hit, among) in asked.items():
        left = 0 if name in ("failed_harm_rate", "people_harm_rate") else int(failed.sum())
        excluded = {reason: n for reason, n in {**everywhere, FAILED: left}.items() if n}
        place = question[among].astype(np.int64)
        top = hit[among].astype(np.float64)
        if len(np.unique(place)) == len(place):
            found[name] = exact_share(
                name,
                int(top.sum()),
                len(top),
                where,
                UNDEFINED[name],
                level=level,
                excluded=excluded,
            )
        else:
            figures[name] = _clustered(name, top, place, where, excluded)
    if figures:
        found |= estimates(figures, len(names), level=level, resamples=resamples, seed=seed)
    return found


def _clustered(
    name: str, top: FloatArray, place: IntArray, where: str, excluded: Mapping[str, int]
) -> Figure:
    return share(name, top, np.ones(len(top)), place, where, UNDEFINED[name], excluded)
