"""An active draw: every item's own probability, what labels drawn so would be worth, and the draw.

Items are drawn one by one (Poisson sampling), so how many come of it is left to chance: about n.
Every stratum has probabilities high enough that fewer labels than `calibrate` asks for come of a
draw in under one of a hundred; such a draw is not made.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from judge.calibration.active import LEAST, draw_probabilities
from judge.calibration.binding import IntArray
from judge.calibration.columns import FAILED, SCALES, Items, StratumKey
from judge.calibration.planning import Z, forecast
from judge.calibration.refusals import LEAST_FAILED, LEAST_IN_ALL, LEAST_PER_STRATUM
from judge.calibration.uncertainty import Cell
from judge.stats.coefficients import FloatArray

ON_AVERAGE = {LEAST_PER_STRATUM: 12, LEAST_FAILED: 46, LEAST_IN_ALL: 58}
"""Labels drawn on average, so that fewer than the least come of it in under 1 % of draws: the
Poisson distribution's share below 5, 30 and 40."""


@dataclass(frozen=True, slots=True)
class PlannedCell:
    """A cell and its items' probability."""

    cell: Cell
    probability: float

    @property
    def labels(self) -> float:
        """Drawn on average."""
        return self.cell.size * self.probability


@dataclass(frozen=True, slots=True)
class ActiveForecast:
    """What labels drawn so would come to."""

    labels: float
    """n = Σ π_i: on average."""
    floor: float
    """The least probability allowed: a tenth of n/N."""
    half_width: float
    """Of the 95 % interval of the whole set's score, if the expected means were true."""
    proportional: float
    """The same of as many labels, spread in proportion over the strata."""
    cells: tuple[PlannedCell, ...]

    @property
    def least(self) -> float:
        """The least probability of any item."""
        return min(one.probability for one in self.cells)

    @property
    def greatest(self) -> float:
        """The greatest probability of any item."""
        return max(one.probability for one in self.cells)

    def least_by_stratum(self) -> dict[StratumKey, float]:
        """Stratum → the least probability of its items."""
        found: dict[StratumKey, float] = {}
        for one in self.cells:
            key = one.cell.stratum
            found[key] = min(found.get(key, 1.0), one.probability)
        return found


def forecast_active(items: Items, cells: Sequence[Cell], labels: int) -> ActiveForecast:
    """Probabilities by uncertainty, and the width they promise.

    Args:
        items: the set to draw from.
        cells: of :func:`judge.calibration.uncertainty.cells`.
        labels: wanted on average; more where the strata's least asks for more.
    """
    sizes = np.array([one.size for one in cells], dtype=np.float64)
    floors = _floors(cells)
    size = float(sizes.sum())
    wanted = min(size, max(float(labels), ON_AVERAGE[LEAST_IN_ALL], float(sizes @ floors)))
    chances = draw_probabilities(
        np.array([one.uncertainty for one in cells]), wanted, sizes=sizes, floors=floors
    )
    n = float(sizes @ chances)
    planned = tuple(
        PlannedCell(cell, float(chance)) for cell, chance in zip(cells, chances, strict=True)
    )
    low, high = SCALES[items.kind]
    expected = {key: low + (high - low) * mean for key, mean in _means(cells).items()}
    half = Z * (high - low) * math.sqrt(_variance(cells, chances))
    return ActiveForecast(
        n,
        LEAST * n / size,
        half,
        forecast(items, round(n), expected=expected).half_width,
        planned,
    )


def draw_active(
    items: Items, place: IntArray, plan: ActiveForecast, seed: int
) -> list[tuple[str, float]]:
    """(item, probability) of the items drawn, in the order in which they are to be labelled.

    The seed decides everything; so does the order of ids, which is sorted first.

    Args:
        items: the set to draw from.
        place: each item's cell, by index.
        plan: with the cells' probabilities.
        seed: of the draw and of the order.

    Raises:
        ValueError: too few of a stratum were drawn to calibrate with.
    """
    chances = np.array([one.probability for one in plan.cells])[place]
    order = np.argsort(np.asarray(items.ids, dtype=object), kind="stable")
    rng = np.random.default_rng(seed)
    drawn = order[rng.random(len(order)) < chances[order]]
    _enough(plan, place[drawn])
    mixed = rng.permutation(drawn)
    return [(items.ids[int(one)], float(chances[one])) for one in mixed]


def _floors(cells: Sequence[Cell]) -> FloatArray:
    """Each cell's least probability, for enough labels of its stratum."""
    sizes = _strata(cells)
    return np.array(
        [min(1.0, ON_AVERAGE[_least(one.stratum)] / sizes[one.stratum]) for one in cells]
    )


def _strata(cells: Sequence[Cell]) -> Counter[StratumKey]:
    sizes = Counter[StratumKey]()
    for one in cells:
        sizes[one.stratum] += one.size
    return sizes


def _least(stratum: StratumKey) -> int:
    return LEAST_FAILED if stratum[1] == FAILED else LEAST_PER_STRATUM


def _enough(plan: ActiveForecast, drawn: IntArray) -> None:
    """Raises ValueError where the draw has too few of a stratum, or in all."""
    cells = [one.cell for one in plan.cells]
    counts = Counter(cells[int(one)].stratum for one in drawn)
    sizes = _strata(cells)
    for stratum, size in sizes.items():
        least = min(size, _least(stratum))
        if counts[stratum] < least:
            model, verdict, prompts = stratum
            name = " · ".join([model, verdict, *([f"{prompts} prompts"] if prompts else [])])
            raise ValueError(f"{counts[stratum]} of {size} items of {name}; expected {least}")
    if len(drawn) < min(sum(sizes.values()), LEAST_IN_ALL):
        raise ValueError(f"{len(drawn)} items in all; expected {LEAST_IN_ALL}")


def _means(cells: Sequence[Cell]) -> dict[StratumKey, float]:
    """Stratum → the mean label expected, from 0 to 1."""
    totals: dict[StratumKey, tuple[float, int]] = {}
    for one in cells:
        total, size = totals.get(one.stratum, (0.0, 0))
        totals[one.stratum] = total + one.size * one.mean, size + one.size
    return {key: total / size for key, (total, size) in totals.items()}


def _variance(cells: Sequence[Cell], chances: FloatArray) -> float:
    """N⁻² Σ (1 − π)/π E (y − f)², f the mean of the stratum."""
    means = _means(cells)
    total = 0.0
    for cell, chance in zip(cells, chances.tolist(), strict=True):
        apart = cell.mean - means[cell.stratum]
        total += cell.size * (1 - chance) / chance * (cell.uncertainty**2 + apart**2)
    return total / sum(cell.size for cell in cells) ** 2
