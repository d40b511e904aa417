"""How many labels, of which items: allocation, expected width, and a committed random draw."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

import numpy as np

from judge.calibration.columns import FAILED, JOINED, Items, Kind, StratumKey
from judge.calibration.refusals import LEAST_FAILED, LEAST_IN_ALL, LEAST_PER_STRATUM
from judge.stats.coefficients import FloatArray

GUESSES: Mapping[Kind, Mapping[str, float]] = {
    Kind.HARM: {"harmful": 0.5, "safe": 0.05, FAILED: 0.5},
    Kind.PAIRS: {"win": 0.7, "tie": 0.5, "inconsistent": 0.5, "lose": 0.3, FAILED: 0.5},
    Kind.GRADES: {"low": 3.5, "middle": 6.0, "high": 8.5, FAILED: 5.5},
}
"""Mean label per verdict class that the forecast assumes before there are labels."""

GRADE_SPREAD = 2.0
"""Standard deviation of people's grades within a class that the forecast assumes."""

Z = 1.96


class Allocation(StrEnum):
    """How labels are spread over the strata, beyond the least that each needs."""

    PROPORTIONAL = "proportional"
    """By the number of items."""
    EQUAL = "equal"
    """As many in each."""
    NEYMAN = "neyman"
    """By items × expected spread of their labels: the narrowest for the set as a whole."""
    ACTIVE = "active"
    """Every item by itself, with its own probability: see `judge.calibration.active_plan`."""


@dataclass(frozen=True, slots=True)
class PlannedStratum:
    """One model × verdict class × prompt set: how many there are, and how many to label."""

    model: str
    verdict: str
    prompt_set: str
    size: int
    labels: int
    expected: float
    """The mean label that the forecast assumes."""

    @property
    def key(self) -> StratumKey:
        """Which stratum it is."""
        return self.model, self.verdict, self.prompt_set


@dataclass(frozen=True, slots=True)
class Forecast:
    """What so many labels would come to."""

    labels: int
    half_width: float
    """Of the 95 % interval of the whole set's score, if the expected means were true."""
    strata: tuple[PlannedStratum, ...]


def forecast(
    items: Items,
    labels: int,
    allocation: Allocation = Allocation.PROPORTIONAL,
    expected: Mapping[StratumKey, float] | None = None,
) -> Forecast:
    """Labels per stratum and the width they promise.

    Every stratum gets its least (5, or all it has; failed verdicts 30 or all), and the set 40
    or all, even if that is more than asked for.

    Args:
        items: the set to be scored.
        labels: wanted in all.
        allocation: of what is left after the least.
        expected: mean label by stratum, e.g. from a pilot; a guess otherwise.

    Raises:
        ValueError: an active allocation has no strata.
    """
    if allocation is Allocation.ACTIVE:
        raise ValueError("active: items are drawn one by one; use active_plan.forecast_active")
    counted = Counter(items.strata())
    keys = sorted(counted)
    sizes = np.array([counted[key] for key in keys], dtype=np.float64)
    means = np.array([_guess(items.kind, key, expected or {}) for key in keys])
    least = np.array(
        [
            min(size, LEAST_FAILED if verdict == FAILED else LEAST_PER_STRATUM)
            for (_model, verdict, _prompts), size in zip(keys, sizes, strict=True)
        ],
        dtype=np.float64,
    )
    spread = _spreads(items.kind, means)
    weights = {
        Allocation.PROPORTIONAL: sizes,
        Allocation.EQUAL: np.ones(len(keys)),
        Allocation.NEYMAN: sizes * spread,
    }[allocation]
    wanted = min(int(sizes.sum()), max(labels, LEAST_IN_ALL, int(least.sum())))
    counts = _spread(wanted, weights, least, sizes)
    share = sizes / sizes.sum()
    with np.errstate(divide="ignore", invalid="ignore"):
        variance = share**2 * (1 - counts / sizes) * spread**2 / counts
    return Forecast(
        int(counts.sum()),
        Z * math.sqrt(float(np.nansum(variance))),
        tuple(
            PlannedStratum(*key, int(size), int(count), float(mean))
            for key, size, count, mean in zip(keys, sizes, counts, means, strict=True)
        ),
    )


def draw(items: Items, plan: Forecast, seed: int) -> list[tuple[str, float]]:
    """(item, inclusion probability) in the order in which they are to be labelled.

    Within each stratum a simple random sample; the strata are then mixed at random, so that
    stopping early leaves none of them out. The seed decides everything; so does the order of
    ids, which is sorted first.
    """
    rng = np.random.default_rng(seed)
    wanted = {one.key: one for one in plan.strata}
    groups: dict[StratumKey, list[str]] = {}
    for one, key in sorted(zip(items.ids, items.strata(), strict=True)):
        groups.setdefault(key, []).append(one)
    chosen: list[tuple[str, float]] = []
    for key in sorted(groups):
        stratum = wanted[key]
        picked = rng.permutation(len(groups[key]))[: stratum.labels]
        chosen += [(groups[key][int(n)], stratum.labels / stratum.size) for n in picked]
    return [chosen[int(n)] for n in rng.permutation(len(chosen))]


def _spreads(kind: Kind, means: FloatArray) -> FloatArray:
    """Expected standard deviation of the labels of each stratum."""
    if kind is Kind.GRADES:
        return np.full(len(means), GRADE_SPREAD)
    found: FloatArray = np.sqrt(np.maximum(means * (1 - means), 0.01))
    return found


def _guess(kind: Kind, key: StratumKey, expected: Mapping[StratumKey, float]) -> float:
    return expected[key] if key in expected else assumed(kind, key[1])


def assumed(kind: Kind, verdict: str) -> float:
    """The mean label of a verdict class that is assumed before there are labels."""
    parts = [GUESSES[kind][part] for part in verdict.split(JOINED)]
    return sum(parts) / len(parts)


def _spread(wanted: int, weights: FloatArray, least: FloatArray, most: FloatArray) -> FloatArray:
    """`wanted` spread by weight, nobody below its least or above what there is.

    Whole numbers by largest remainder; ties go to the stratum named first.
    """
    counts = least.copy()
    while wanted - counts.sum() >= 1:
        room = most - counts
        share = np.where(room > 0, weights, 0.0)
        if share.sum() == 0:
            break
        target = counts + (wanted - counts.sum()) * share / share.sum()
        whole = np.minimum(np.floor(target), most)
        if (whole == counts).all():
            behind = np.where(room > 0, target - counts, -1.0)
            whole[int(behind.argmax())] += 1
        counts = whole
    return counts


def half_widths(
    items: Items, sizes: Sequence[int], allocation: Allocation = Allocation.PROPORTIONAL
) -> list[tuple[int, float]]:
    """(labels, half width) for several sample sizes: what more labels would buy."""
    found = [forecast(items, size, allocation) for size in sizes]
    return sorted({(one.labels, one.half_width) for one in found})
