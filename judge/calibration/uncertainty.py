"""How unsure an item's label is before it is given: what an active draw goes by.

An item's label is as unsure as √(p (1 − p)), p the mean label of items like it: of the same model
and verdict class, in doubt (see :mod:`judge.calibration.doubted`) or not. p is learned from
earlier labels of this judge's items, pulled towards that of all models and that towards what is
assumed without any label, four labels' worth each. Grades have a standard deviation of their
own, learned in the same way. What is wrong there costs width and never makes the score wrong.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Collection, Sequence
from dataclasses import dataclass

import numpy as np

from judge.calibration.binding import IntArray
from judge.calibration.columns import SCALES, Items, Kind, StratumKey
from judge.calibration.planning import GRADE_SPREAD, assumed

PULL = 4.0
"""Labels that what is assumed counts for beside those there are."""
LEAST_SPREAD = 0.01
"""Of a label's variance: no class is taken to be sure."""
DOUBTED_GRADE = 1.5
"""How much more the grades of verdicts in doubt are assumed to vary."""


@dataclass(frozen=True, slots=True)
class Earlier:
    """A label given before, to an item that is not to be drawn."""

    model: str
    verdict: str
    doubted: bool
    value: float
    """On the kind's scale."""


@dataclass(frozen=True, slots=True)
class Cell:
    """Items that are told apart before there are labels."""

    model: str
    verdict: str
    prompt_set: str
    doubted: bool
    size: int
    mean: float
    """The mean label expected, from 0 to 1 (the least and the greatest label)."""
    behind: int
    """Earlier labels of just such items, of whatever prompt set."""
    uncertainty: float
    """The standard deviation of their labels expected, on that scale; at least .1."""

    @property
    def stratum(self) -> StratumKey:
        """The stratum that it is a part of."""
        return self.model, self.verdict, self.prompt_set


def cells(
    items: Items, doubted: Collection[str], earlier: Sequence[Earlier] = ()
) -> tuple[tuple[Cell, ...], IntArray]:
    """The cells, in order of their names, and each item's cell as an index.

    Args:
        items: the set to draw from.
        doubted: ids of items whose verdict is in doubt.
        earlier: labels of other items with verdicts of this judge.
    """
    unsure = set(doubted)
    keys = [
        (*stratum, one in unsure) for one, stratum in zip(items.ids, items.strata(), strict=True)
    ]
    sizes = Counter(keys)
    names = sorted(sizes)
    means = _Means(items.kind, earlier)
    found = tuple(
        Cell(*key, sizes[key], *means.of(model=key[0], verdict=key[1], doubted=key[3]))
        for key in names
    )
    place = {key: index for index, key in enumerate(names)}
    return found, np.array([place[key] for key in keys], dtype=np.int64)


class _Means:
    """Mean labels by model, verdict class and doubt."""

    def __init__(self, kind: Kind, earlier: Sequence[Earlier]) -> None:
        self.kind = kind
        self.scale = SCALES[kind]
        self.values: dict[tuple[str, bool], list[tuple[str, float]]] = defaultdict(list)
        for one in earlier:
            scaled = self._scaled(one.value)
            self.values[one.verdict, one.doubted].append((one.model, scaled))

    def of(self, *, model: str, verdict: str, doubted: bool) -> tuple[float, int, float]:
        """(mean from 0 to 1, labels of this model behind it, standard deviation)."""
        guess = self._scaled(assumed(self.kind, verdict))
        if doubted and self.kind is not Kind.GRADES:
            guess = (guess + 0.5) / 2
        known = self.values[verdict, doubted]
        mine = [value for other, value in known if other == model]
        mean = _pulled(mine, _pulled([value for _model, value in known], guess))
        spread = (
            self._grade_spread(mine, doubted) if self.kind is Kind.GRADES else mean * (1 - mean)
        )
        return mean, len(mine), math.sqrt(max(spread, LEAST_SPREAD))

    def _grade_spread(self, mine: Sequence[float], doubted: bool) -> float:
        """Variance of grades from 0 to 1."""
        low, high = self.scale
        guess = (GRADE_SPREAD / (high - low) * (DOUBTED_GRADE if doubted else 1)) ** 2
        middle = sum(mine) / len(mine) if mine else 0.0
        return _pulled([(value - middle) ** 2 for value in mine], guess)

    def _scaled(self, value: float) -> float:
        low, high = self.scale
        return (value - low) / (high - low)


def _pulled(values: Sequence[float], towards: float) -> float:
    return (sum(values) + PULL * towards) / (len(values) + PULL)
