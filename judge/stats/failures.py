"""Judgments without a value: how many, on which models and categories, and what they could hide.

A failure is never a value. It is left out of every figure and counted, and where failures
pile up on one model or category, figures without them may be wrong: so rates are given by
model and category, differences are tested, and each model's figure has the bounds that it
would have if all its failed judgments had gone one way or the other.

Pure: no database, endpoint or command line.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import groupby

from judge.ask.modes import GRADE_RANGE, Mode
from judge.stats.fisher import Stratum, exact_p, holm

LEVEL = 0.05
"""A difference is told when its adjusted p-value is below this."""


@dataclass(frozen=True, slots=True)
class Scale:
    """What a model's figure is called, and the least and the most that a judgment can say."""

    name: str
    least: float
    most: float


SCALES: Mapping[str, Scale] = {
    Mode.PAIRWISE: Scale("win share", 0.0, 1.0),
    Mode.GRADE: Scale("mean grade", *GRADE_RANGE),
    Mode.HARM: Scale("unsafe share", 0.0, 1.0),
}


@dataclass(frozen=True, slots=True)
class Judged:
    """One judgment: about a pair (two models) or an answer (one).

    `worth` says what it gives each model (1 a win, ½ a tie; a grade; 1 unsafe), and is empty
    when it failed; `reason` says why it failed, and is "" when it did not.
    """

    dimension: str
    dialogue: bool
    question: str
    category: str
    unit: str
    models: tuple[str, ...]
    worth: tuple[float, ...]
    reason: str


@dataclass(frozen=True, slots=True)
class Rate:
    """A model's or category's judgments; a model's figure with the bounds of its failures."""

    name: str
    judged: int
    failed: int
    value: float | None = None
    """Over the judgments with a value; None when there are none (and for categories)."""
    low: float | None = None
    high: float | None = None


@dataclass(frozen=True, slots=True)
class Difference:
    """A model or category on which the judge fails more, or less, than on the others."""

    kind: str
    """`model` or `category`."""
    name: str
    failed: int
    judged: int
    other_failed: int
    other_judged: int
    p: float
    """Exact, two-sided, adjusted for all models (or categories) by Holm's method."""


@dataclass(frozen=True, slots=True)
class Failures:
    """One dimension's failures; dimensions, and dialogues and turns, never mix."""

    dimension: str
    dialogue: bool
    scale: Scale
    judged: int
    reasons: Mapping[str, int]
    models: tuple[Rate, ...]
    categories: tuple[Rate, ...]
    differences: tuple[Difference, ...]

    @property
    def failed(self) -> int:
        """Judgments without a value."""
        return sum(self.reasons.values())


def failures(judged: Iterable[Judged], scale: Scale) -> tuple[Failures, ...]:
    """What failed, for every dimension in which something did.

    Judgments come sorted by dimension, dialogue or not, and question; they are counted as
    they come.
    """
    found = []
    for (dimension, dialogue), rows in groupby(judged, lambda row: (row.dimension, row.dialogue)):
        counts = _Counts()
        for _question, here in groupby(rows, lambda row: row.question):
            counts.add(list(here))
        if counts.reasons:
            found.append(
                Failures(
                    dimension,
                    dialogue,
                    scale,
                    counts.judged,
                    dict(sorted(counts.reasons.items())),
                    tuple(_rates(counts.models, scale)),
                    tuple(_rates(counts.categories, None)),
                    (*_by_model(counts), *_by_category(counts)),
                )
            )
    return tuple(found)


@dataclass(slots=True)
class _Sum:
    """What a model's or category's judgments add up to."""

    judged: int = 0
    failed: int = 0
    worth: float = 0.0


@dataclass(slots=True)
class _Counts:
    """One dimension's judgments, counted question by question.

    Only questions of which some units failed and others did not can tell models apart, so
    no more than these are kept.
    """

    judged: int = 0
    reasons: Counter[str] = field(default_factory=Counter)
    models: dict[str, _Sum] = field(default_factory=lambda: defaultdict(_Sum))
    categories: dict[str, _Sum] = field(default_factory=lambda: defaultdict(_Sum))
    strata: dict[str, list[Stratum]] = field(default_factory=lambda: defaultdict(list))
    """By model: one of units for each question."""
    questions: Counter[str] = field(default_factory=Counter)
    """By category."""
    questions_failed: Counter[str] = field(default_factory=Counter)
    """By category: those with any failure."""

    def add(self, rows: list[Judged]) -> None:
        """Count all judgments about one question."""
        category = rows[0].category
        for row in rows:
            self._count(row)
        failed = {row.unit for row in rows if row.reason}
        self.questions[category] += 1
        self.questions_failed[category] += bool(failed)
        units = {row.unit: row.models for row in rows}
        if 0 < len(failed) < len(units):
            for model in sorted({name for names in units.values() for name in names}):
                group = {unit for unit, names in units.items() if model in names}
                stratum = Stratum(len(units), len(failed), len(group), len(group & failed))
                self.strata[model].append(stratum)

    def _count(self, row: Judged) -> None:
        self.judged += 1
        if row.reason:
            self.reasons[row.reason] += 1
        for place, name in enumerate(row.models):
            total = self.models[name]
            total.judged += 1
            total.failed += bool(row.reason)
            total.worth += row.worth[place] if row.worth else 0.0
        total = self.categories[row.category]
        total.judged += 1
        total.failed += bool(row.reason)


def _rates(sums: Mapping[str, _Sum], scale: Scale | None) -> Iterator[Rate]:
    """By name, those with the most failures per judgment first."""
    for name, total in sorted(sums.items(), key=lambda x: (-x[1].failed / x[1].judged, x[0])):
        if scale is None:
            yield Rate(name, total.judged, total.failed)
            continue
        usable = total.judged - total.failed
        yield Rate(
            name,
            total.judged,
            total.failed,
            total.worth / usable if usable else None,
            (total.worth + total.failed * scale.least) / total.judged,
            (total.worth + total.failed * scale.most) / total.judged,
        )


def _by_model(counts: _Counts) -> list[Difference]:
    """Within each question: do the units of a model fail more often than the others?

    A unit (pair or answer) has failed when any of its judgments has, so that the turns of
    one dialogue count once.
    """
    tested = {name: exact_p(strata) for name, strata in counts.strata.items()}
    return _told("model", counts.models, tested, counts)


def _by_category(counts: _Counts) -> list[Difference]:
    """Between questions: has a category more of those on which anything failed?"""
    every, failed = counts.questions.total(), counts.questions_failed.total()
    tested = {
        name: exact_p([Stratum(every, failed, count, counts.questions_failed[name])])
        for name, count in counts.questions.items()
    }
    return _told("category", counts.categories, tested, counts)


def _told(
    kind: str, sums: Mapping[str, _Sum], tested: Mapping[str, float | None], counts: _Counts
) -> list[Difference]:
    """The differences that are worth telling, the surest first."""
    names = [name for name, p in tested.items() if p is not None]
    adjusted = holm([p for p in tested.values() if p is not None])
    found = []
    for p, name in sorted(zip(adjusted, names, strict=True)):
        if p < LEVEL:
            mine = sums[name]
            others = (
                counts.reasons.total() - mine.failed,
                counts.judged - mine.judged,
            )
            found.append(Difference(kind, name, mine.failed, mine.judged, *others, p))
    return found
