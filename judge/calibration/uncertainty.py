"""How unsure an item's label is before it is given: what an active draw goes by.

An item's label is as unsure as √(p (1 − p)), p the mean label of items like it: of the same model
and verdict class, in doubt (see :mod:`judge.calibration.doubted`) or not. p is learned from
earlier labels of this judge's items, pulled towards that of all models and that towards what is
assumed without any label, four labels' worth each. A wrong p costs width and never makes the
score wrong.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Collection, Sequence
from dataclasses import dataclass

import numpy as np

from judge.calibration.binding import IntArray
from judge.calibration.columns import SCALES, Items, Kind
from judge.calibration.planning import assumed

PULL = 4.0
"""Labels that what is assumed counts for beside those there are."""
LEAST_SPREAD = 0.01
"""Of p (1 − p): no class is taken to be sure."""


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

    @property
    def uncertainty(self) -> float:
        """√(p (1 − p)), at least .1."""
        return math.sqrt(max(self.mean * (1 - self.mean), LEAST_SPREAD))


def cells(
    items: Items, doubted: Collection[str], earlier: Sequence[Earlier] = ()
) -> tuple[tuple[Cell, ...], IntArray]:
    """The cells, in order of their names, and each item's cell as an index.

    Args:
        items: the set to draw from.
        doubted: ids of items whose verdict is in doubt.
        earlier: labels of other items with verdicts of this judge.
    """
    sets = items.prompt_sets
    prompt_sets = [sets] * len(items.ids) if isinstance(sets, str) else sets
    unsure = set(doubted)
    keys = [
        (model, verdict, prompts, one in unsure)
        for one, model, verdict, prompts in zip(
            items.ids, items.models, items.verdicts, prompt_sets, strict=True
        )
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

    def of(self, *, model: str, verdict: str, doubted: bool) -> tuple[float, int]:
        """(mean from 0 to 1, labels of this model behind it)."""
        guess = self._scaled(assumed(self.kind, verdict))
        if doubted:
            guess = (guess + 0.5) / 2
        known = self.values[verdict, doubted]
        mine = [value for other, value in known if other == model]
        every = _pulled([value for _model, value in known], guess)
        return _pulled(mine, every), len(mine)

    def _scaled(self, value: float) -> float:
        low, high = self.scale
        return (value - low) / (high - low)


def _pulled(values: Sequence[float], towards: float) -> float:
    return (sum(values) + PULL * towards) / (len(values) + PULL)
