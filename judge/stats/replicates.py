"""How far a judge agrees with itself: the same question asked k times.

Pure: plain sequences in, frozen values out. Chance is not corrected for: a judge that
always says A has no spread and no worth.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from itertools import combinations
from math import sqrt


@dataclass(frozen=True, slots=True)
class Stability:
    """Replicates of one judge, compared within each unit.

    `units` have two or more usable replicates; `alone` had fewer and are left out.
    `flips` of `comparisons` unordered pairs of replicates of one unit differ; `unanimous`
    units have none that does. `spread` is the pooled within-unit standard deviation of
    grades (None for outcomes): √(Σ (x − mean of its unit)² / Σ (k − 1)).
    """

    replicates: int
    units: int
    alone: int
    comparisons: int
    flips: int
    unanimous: int
    spread: float | None = None

    @property
    def flip_rate(self) -> float | None:
        """Share of pairs of replicates that differ: 0 never, 1 always; None without a pair."""
        return self.flips / self.comparisons if self.comparisons else None


def stability(units: Collection[Sequence[str]]) -> Stability:
    """Of outcomes: `units` holds the usable outcomes of each unit's replicates."""
    several = [values for values in units if len(values) > 1]
    pairs = [one != other for values in several for one, other in combinations(values, 2)]
    return Stability(
        replicates=max((len(values) for values in units), default=0),
        units=len(several),
        alone=len(units) - len(several),
        comparisons=len(pairs),
        flips=sum(pairs),
        unanimous=sum(len(set(values)) == 1 for values in several),
    )


def grade_stability(units: Collection[Sequence[float]]) -> Stability:
    """Of grades from 1 to 10: as :func:`stability`, with the spread in grade points."""
    found = stability([[repr(float(grade)) for grade in values] for values in units])
    squares, freedom = 0.0, 0
    for values in units:
        if len(values) > 1:
            mean = sum(values) / len(values)
            squares += sum((value - mean) ** 2 for value in values)
            freedom += len(values) - 1
    spread = sqrt(squares / freedom) if freedom else None
    return Stability(
        found.replicates,
        found.units,
        found.alone,
        found.comparisons,
        found.flips,
        found.unanimous,
        spread,
    )
