"""Are longer answers preferred? Shares of verdicts, for a judge and for people.

A share above ½ is an association: longer answers may be better. So the judge's stands beside the
people's, and `judge.stats.length_effect` holds the models fixed.

Sources: Zheng et al. (2023), https://arxiv.org/abs/2306.05685, section 3.3 (verbosity bias);
Y. Dubois et al., Length-Controlled AlpacaEval (2024), https://arxiv.org/abs/2404.04475
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from judge.stats.coefficients import FloatArray, ratio
from judge.stats.estimate import Estimate
from judge.stats.intervals import percentile_interval, resampled_totals
from judge.stats.ratios import Ratio, estimated
from judge.stats.wins import codes, scores

BoolArray: TypeAlias = NDArray[np.bool_]

NO_VALUE = "no value"
NO_LENGTH = "length unknown"
ONE_LENGTH = "both answers equally long"
TIE = "tie"
NO_ROWS = "no verdict names a winner among answers of different length"
NO_ROWS_HERE = "no verdict on answers this far apart in length"

DIFFERENCE = "longer_share_difference"

EDGES = (1.0, 1.25, 1.5, 2.0, 3.0)
"""How many times longer the longer answer is: where the curve's points begin."""


@dataclass(frozen=True, slots=True)
class Preferences:
    """Verdicts of one source and the lengths of what it compared; all of shape (verdicts,)."""

    question: Sequence[str]
    """What is resampled."""
    model_a: Sequence[str]
    model_b: Sequence[str]
    score: Sequence[float] | FloatArray
    """Of a: 1 preferred, ½ tie, 0 b preferred, nan no value."""
    length_a: Sequence[float] | FloatArray
    """In any one unit, e.g. characters; nan is unknown."""
    length_b: Sequence[float] | FloatArray


@dataclass(frozen=True, slots=True)
class CurvePoint:
    """How often the longer answer is preferred where it is `least` to `most` times as long."""

    least: float
    """Inclusive (exclusive at 1: equal lengths have no longer answer)."""
    most: float
    """Exclusive; infinite for the last."""
    longer: Estimate
    """(wins of the longer + ties / 2) / verdicts. 1 always, ½ no relation, 0 never."""


def longer_share(
    sources: Mapping[str, Preferences],
    *,
    level: float = 0.95,
    resamples: int = 10_000,
    seed: int = 0,
) -> dict[str, Estimate]:
    """Of the verdicts that name a winner, the share that name the longer answer, per source.

    1: always the longer; ½: no relation; 0: always the shorter. Ties and pairs of equal or
    unknown length are left out and counted. All sources share their resamples.

    Args:
        sources: verdicts by population, which is the key, in words.
        level: confidence level, in (0, 1).
        resamples: how many, ≥ 1.
        seed: same seed and verdicts, same intervals.
    """
    clusters = _clusters(sources)
    if not clusters:
        return {name: _empty(name, level) for name in sources}
    ratios = {}
    for name, one in sources.items():
        rows = _Rows(one)
        why = [*rows.why, (TIE, rows.score == 0.5)]
        kept, excluded = _left(why, len(rows.score))
        longer = rows.longer == 1
        ratios[name] = rows.ratio(clusters, "longer_share", longer, kept, NO_ROWS, excluded, True)
    found = estimated(ratios, clusters, "", level=level, resamples=resamples, seed=seed)
    return {name: replace(made, population=name) for name, made in found.items()}


def longer_difference(
    first: Preferences,
    second: Preferences,
    population: str,
    *,
    level: float = 0.95,
    resamples: int = 10_000,
    seed: int = 0,
) -> Estimate:
    """The share of :func:`longer_share` of the first source minus that of the second.

    Above 0: the first names the longer answer more often. 0: as often. Both shares come from
    the same resampled questions; `n` counts the first source's verdicts. Undefined where either
    share is.
    """
    clusters = _clusters({"first": first, "second": second})
    columns, kept_rows = [], []
    for one in (first, second):
        rows = _Rows(one)
        kept, _ = _left([*rows.why, (TIE, rows.score == 0.5)], len(rows.score))
        place = codes(one.question, clusters)[kept]
        for part in (rows.longer[kept] == 1, np.ones(int(kept.sum()))):
            weights = np.asarray(part, dtype=np.float64)
            columns.append(np.bincount(place, weights, minlength=len(clusters)))
        kept_rows.append(int(kept.sum()))
    counts = np.column_stack(columns).astype(np.float64)
    n, met = kept_rows[0], int(((counts[:, 1] > 0) & (counts[:, 3] > 0)).sum())
    if not all(kept_rows):
        return Estimate(DIFFERENCE, None, population, n, met, NO_ROWS, level=level)
    draws = resampled_totals(counts, resamples=resamples, seed=seed)
    value = _apart(counts.sum(0))
    interval = percentile_interval(_apart(draws), clusters=met, level=level)
    return Estimate(
        name=DIFFERENCE,
        value=float(value),
        population=population,
        n=n,
        clusters=met,
        reason=interval.reason,
        low=interval.low,
        high=interval.high,
        level=level,
        method=interval.method,
    )


def longer_curve(
    source: Preferences,
    population: str,
    *,
    level: float = 0.95,
    resamples: int = 10_000,
    seed: int = 0,
) -> tuple[CurvePoint, ...]:
    """How the preference for the longer answer grows with how much longer it is; ties half.

    Arguments as in :func:`longer_share`. A pair with an empty answer is infinitely far apart
    and falls into the last point. Empty without any verdict.
    """
    made = longer_curves({population: source}, level=level, resamples=resamples, seed=seed)
    return made[population]


def longer_curves(
    sources: Mapping[str, Preferences],
    *,
    level: float = 0.95,
    resamples: int = 10_000,
    seed: int = 0,
) -> dict[str, tuple[CurvePoint, ...]]:
    """:func:`longer_curve` of several sources, which share their resamples; key: population."""
    clusters = _clusters(sources)
    if not clusters:
        return dict.fromkeys(sources, ())
    bounds = list(zip(EDGES, (*EDGES[1:], np.inf), strict=True))
    ratios = {}
    for name, source in sources.items():
        rows = _Rows(source)
        kept, excluded = _left(rows.why, len(rows.score))
        for least, most in bounds:
            here = kept & (rows.times >= least) & (rows.times < most if most < np.inf else True)
            ratios[name, least] = rows.ratio(
                clusters, "longer_preferred", rows.longer, here, NO_ROWS_HERE, excluded, False
            )
    found = estimated(ratios, clusters, "", level=level, resamples=resamples, seed=seed)
    return {
        name: tuple(
            CurvePoint(least, most, replace(found[name, least], population=name))
            for least, most in bounds
        )
        for name in sources
    }


class _Rows:
    """A source's verdicts, turned so that they are about the longer answer."""

    def __init__(self, source: Preferences) -> None:
        self.question = source.question
        self.score = scores(source.score)
        a, b = (np.asarray(x, dtype=np.float64) for x in (source.length_a, source.length_b))
        self.longer = np.where(a > b, self.score, 1 - self.score)
        with np.errstate(divide="ignore", invalid="ignore"):
            self.times = np.maximum(a, b) / np.minimum(a, b)
        self.why = [
            (NO_VALUE, np.isnan(self.score)),
            (NO_LENGTH, np.isnan(a) | np.isnan(b)),
            (ONE_LENGTH, a == b),
        ]

    def ratio(
        self,
        clusters: Sequence[str],
        name: str,
        value: FloatArray | BoolArray,
        kept: BoolArray,
        undefined: str,
        excluded: Mapping[str, int],
        whole: bool,
    ) -> Ratio:
        place = codes(self.question, clusters)[kept]
        sums = [
            np.bincount(place, part[kept].astype(np.float64), minlength=len(clusters))
            for part in (value, np.ones(len(kept)))
        ]
        top, bottom = (dict(zip(clusters, x.tolist(), strict=True)) for x in sums)
        return Ratio(name, top, bottom, undefined, excluded, whole)


def _left(why: Sequence[tuple[str, BoolArray]], rows: int) -> tuple[BoolArray, dict[str, int]]:
    """Rows for which no reason holds, and the others by their first one."""
    kept = np.ones(rows, dtype=np.bool_)
    counts = {}
    for reason, holds in why:
        counts[reason] = int((kept & holds).sum())
        kept &= ~holds
    return kept, {reason: n for reason, n in counts.items() if n}


def _apart(totals: FloatArray) -> FloatArray:
    """First column / second − third / fourth; shape (..., 4) → (...)."""
    apart: FloatArray = ratio(totals[..., 0], totals[..., 1]) - ratio(
        totals[..., 2], totals[..., 3]
    )
    return apart


def _clusters(sources: Mapping[str, Preferences]) -> list[str]:
    return sorted({name for one in sources.values() for name in one.question})


def _empty(name: str, level: float) -> Estimate:
    return Estimate("longer_share", None, name, 0, 0, NO_ROWS, level=level)
