"""Many shares at once as estimates, all from the same resampled questions."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass, field, replace
from typing import TypeVar

import numpy as np

from judge.stats.coefficients import ratio
from judge.stats.estimate import Estimate
from judge.stats.intervals import percentile_interval, resampled_totals

Key = TypeVar("Key", bound=Hashable)


@dataclass(frozen=True, slots=True)
class Ratio:
    """A share as counts per question; it is undefined where nothing is counted."""

    name: str
    top: Mapping[str, float]
    bottom: Mapping[str, float]
    undefined: str
    """Why there is no value when `bottom` is empty."""
    excluded: Mapping[str, int] = field(default_factory=dict)
    whole: bool = True
    """False where a tie adds a half to `top`, so that it is no count."""


def estimated(
    ratios: Mapping[Key, Ratio],
    clusters: list[str],
    population: str,
    *,
    level: float,
    resamples: int,
    seed: int,
) -> dict[Key, Estimate]:
    """Every ratio of sums over questions, with a percentile cluster bootstrap.

    Args:
        ratios: counts per question; questions without an entry count 0.
        clusters: all questions, in an order that decides the resamples; at least one.
        population: whose judgments about what, in words.
        level: confidence level, in (0, 1).
        resamples: how many, ≥ 1.
        seed: same seed and counts, same intervals.
    """
    columns = np.zeros((len(clusters), 2 * len(ratios)))
    for index, made in enumerate(ratios.values()):
        for offset, counts in enumerate((made.top, made.bottom)):
            columns[:, 2 * index + offset] = [counts.get(question, 0) for question in clusters]
    draws = resampled_totals(columns, resamples=resamples, seed=seed)
    found = {}
    for index, (key, made) in enumerate(ratios.items()):
        top, bottom = columns[:, 2 * index], columns[:, 2 * index + 1]
        estimate = _point(made, float(top.sum()), int(bottom.sum()), population, level)
        estimate = replace(estimate, clusters=int((bottom > 0).sum()))
        if estimate.value is not None:
            drawn = ratio(draws[:, 2 * index], draws[:, 2 * index + 1])
            interval = percentile_interval(drawn, clusters=estimate.clusters, level=level)
            estimate = replace(
                estimate,
                low=interval.low,
                high=interval.high,
                method=interval.method,
                reason=interval.reason,
            )
        found[key] = estimate
    return found


def _point(made: Ratio, top: float, bottom: int, population: str, level: float) -> Estimate:
    return Estimate(
        name=made.name,
        value=top / bottom if bottom else None,
        reason="" if bottom else made.undefined,
        population=population,
        n=bottom,
        clusters=0,
        level=level,
        excluded=made.excluded,
        numerator=int(top) if made.whole else None,
        denominator=bottom,
    )
