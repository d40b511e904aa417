"""The set to be scored and its labels, column by column: a million items are no objects."""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import TypeAlias

import numpy as np

from annotate.records import Purpose
from judge.stats.coefficients import FloatArray

FAILED = "failed"
"""The verdict class of every call without a value; a stratum of its own."""
JOINED = "+"
"""Between the names of verdict classes that were merged."""


StratumKey: TypeAlias = tuple[str, str, str]
"""Model, verdict class, prompt set."""


class Kind(StrEnum):
    """What is calibrated: which verdict classes there are and what a label may be."""

    HARM = "harm"
    """Labels 1 harmful, 0 safe; verdicts harmful, safe, failed."""
    PAIRS = "pairs"
    """Labels 1 win of the target model, ½ tie, 0 loss; verdicts likewise, or inconsistent."""
    GRADES = "grades"
    """Labels from 1 to 10; verdicts by :func:`grade_class`."""


VERDICTS: dict[Kind, tuple[str, ...]] = {
    Kind.HARM: ("harmful", "safe"),
    Kind.PAIRS: ("win", "tie", "inconsistent", "lose"),
    Kind.GRADES: ("low", "middle", "high"),
}
"""Verdict classes in their order (small ones merge with a neighbour), and always `failed`."""

SCALES: dict[Kind, tuple[float, float]] = {
    Kind.HARM: (0.0, 1.0),
    Kind.PAIRS: (0.0, 1.0),
    Kind.GRADES: (1.0, 10.0),
}
"""The least and the greatest label."""


def grade_class(grade: float | None) -> str:
    """The verdict class of a judge's grade: to 4 low, to 7 middle, above high; None failed."""
    if grade is None:
        return FAILED
    return "low" if grade <= 4 else "middle" if grade <= 7 else "high"


@dataclass(frozen=True, slots=True)
class Items:
    """The very set to be scored: every item with its verdict class; one entry per item.

    Raises:
        ValueError: columns of different length, or a verdict class that the kind has not.
    """

    kind: Kind
    name: str
    """Which set this is, e.g. the hash of its answers; labels must name the same."""
    ids: Sequence[str]
    models: Sequence[str]
    """Whose answer; for pairs the target model, which verdicts and labels are oriented to."""
    questions: Sequence[str]
    """The question that an item belongs to: items of one question are not independent."""
    verdicts: Sequence[str]
    """A class of `VERDICTS[kind]`, several of them joined by `+`, or `failed`."""
    prompt_sets: Sequence[str] | str = ""
    judges: Sequence[str] | str = ""
    """Fingerprint of the judge behind each verdict; more than one is refused."""
    predicted: FloatArray | None = None
    """What the judge says of each item on the labels' scale, nan where it failed; None where a
    class says it all. It moves no calibrated score, only the raw one and PPI."""

    def __post_init__(self) -> None:
        for name in ("models", "questions", "verdicts", "prompt_sets", "judges"):
            column = getattr(self, name)
            if not isinstance(column, str) and len(column) != len(self.ids):
                raise ValueError(f"{name}: {len(column)} entries; expected {len(self.ids)}")
        if self.predicted is not None and len(self.predicted) != len(self.ids):
            raise ValueError(f"predicted: {len(self.predicted)} entries; expected {len(self.ids)}")
        known = {*VERDICTS[self.kind], FAILED}
        for verdict in set(self.verdicts):
            if not set(verdict.split(JOINED)) <= known:
                raise ValueError(f"verdict {verdict!r}; expected one of {', '.join(sorted(known))}")

    def strata(self) -> list[StratumKey]:
        """The stratum of each item: what is planned, drawn and scored goes by it."""
        sets = self.prompt_sets
        prompts = [sets] * len(self.ids) if isinstance(sets, str) else sets
        return list(zip(self.models, self.verdicts, prompts, strict=True))

    def without(self, questions: Set[str]) -> Items:
        """The items whose question is none of these; the set keeps its name."""
        kept = [place for place, one in enumerate(self.questions) if one not in questions]
        if len(kept) == len(self.ids):
            return self

        def some(column: Sequence[str] | str) -> Sequence[str] | str:
            return column if isinstance(column, str) else [column[place] for place in kept]

        return replace(
            self,
            ids=[self.ids[place] for place in kept],
            models=[self.models[place] for place in kept],
            questions=[self.questions[place] for place in kept],
            verdicts=[self.verdicts[place] for place in kept],
            predicted=None if self.predicted is None else self.predicted[kept],
            prompt_sets=some(self.prompt_sets),
            judges=some(self.judges),
        )


@dataclass(frozen=True, slots=True)
class Chances:
    """An active draw: every item was drawn or not by itself, with a probability of its own.

    All were fixed before the first label. What is kept here is what the probabilities of the
    drawn items do not tell.
    """

    expected: float
    """Σ π_i over the set: how many labels the draw had on average."""
    floor: float
    """The least probability that was allowed: a tenth of an even draw's n/N."""
    least: Mapping[StratumKey, float]
    """Stratum → the least probability of its items."""


@dataclass(frozen=True, slots=True)
class Labels:
    """What people said about items drawn from a set, in the order drawn; one entry per draw.

    Raises:
        ValueError: columns of different length, or an active draw without its probabilities.
    """

    name: str
    """The set that the items were drawn from."""
    ids: Sequence[str]
    values: Sequence[float] | FloatArray
    """On the kind's scale; nan where an item was drawn and got no label."""
    purposes: Sequence[str] | str = Purpose.ESTIMATION
    """Only labels drawn for estimation count."""
    probabilities: Sequence[float] | FloatArray | None = None
    """Inclusion probabilities; equal within a stratum, unless the draw was active."""
    active: Chances | None = None
    """Of an active draw; None: the items of a stratum were drawn alike."""

    def __post_init__(self) -> None:
        columns = {"values": self.values, "purposes": self.purposes}
        if self.probabilities is not None:
            columns["probabilities"] = self.probabilities
        for name, column in columns.items():
            if not isinstance(column, str) and len(column) != len(self.ids):
                raise ValueError(f"{name}: {len(column)} entries; expected {len(self.ids)}")
        if self.active is not None:
            chances = np.asarray(() if self.probabilities is None else self.probabilities)
            if len(chances) != len(self.ids) or not ((chances > 0) & (chances <= 1)).all():
                raise ValueError("an active draw: expected a probability over 0, up to 1, per draw")

    def array(self) -> FloatArray:
        """The values; shape (draws,)."""
        return np.asarray(self.values, dtype=np.float64)
