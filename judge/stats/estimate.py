"""One figure with everything needed to read it: value, interval, counts, population.

Undefined is `None` with a reason; never 0, 1 or nan.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any

JSON_DECIMALS = 10
"""Figures are written to ten decimals: summation order may move the sixteenth."""


@dataclass(frozen=True, slots=True)
class Estimate:
    """A statistic of a named population, with its interval and how both came about.

    Raises:
        ValueError: a number is nan or infinite, a missing value has no reason, or only one
            end of the interval is given.
    """

    name: str
    """Which statistic, e.g. `agreement` or `kappa_symmetrised`."""
    value: float | None
    """The point estimate; None is undefined, and `reason` says why."""
    population: str
    """Whose judgments about what, in words."""
    n: int
    """Rows (judge–human: votes with a verdict; human–human: pairs of votes)."""
    clusters: int
    """Questions that contribute at least one row."""
    reason: str = ""
    """Why the value, or else the interval, is missing; empty when both are there."""
    low: float | None = None
    """Lower end of the interval."""
    high: float | None = None
    """Upper end of the interval."""
    level: float = 0.95
    """Confidence level, in (0, 1)."""
    method: str = ""
    """How the interval was made."""
    excluded: Mapping[str, int] = field(default_factory=dict)
    """Votes that are not in the figure, by reason."""
    numerator: int | None = None
    """Of a share: how many."""
    denominator: int | None = None
    """Of a share: out of how many."""

    def __post_init__(self) -> None:
        for number in (self.value, self.low, self.high):
            if number is not None and not math.isfinite(number):
                raise ValueError(f"{self.name}: {number} is no estimate; expected None, reason")
        if self.value is None and not self.reason:
            raise ValueError(f"{self.name}: an undefined value needs a reason")
        if (self.low is None) != (self.high is None):
            raise ValueError(f"{self.name}: an interval has two ends or none")

    def to_json(self) -> dict[str, object]:
        """Every field as plain JSON values; numbers to ten decimals."""
        return {
            "name": self.name,
            "value": rounded(self.value),
            "reason": self.reason,
            "low": rounded(self.low),
            "high": rounded(self.high),
            "level": self.level,
            "method": self.method,
            "n": self.n,
            "clusters": self.clusters,
            "excluded": dict(sorted(self.excluded.items())),
            "population": self.population,
            "numerator": self.numerator,
            "denominator": self.denominator,
        }


def from_json(value: Mapping[str, Any]) -> Estimate:
    """An estimate back from what `to_json` made of it."""
    return Estimate(**{one.name: value[one.name] for one in fields(Estimate)})


def rounded(number: float | None) -> float | None:
    """To JSON_DECIMALS."""
    # Adding 0.0 turns a rounded -0.0 into 0.0, which would else differ between runs.
    return None if number is None else round(number, JSON_DECIMALS) + 0.0
