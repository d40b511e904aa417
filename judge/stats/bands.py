"""Bands for many levels at once: categories, model pairs, turns of one breakdown.

Twenty intervals of 95 % hold together far less often than 95 % of the time, and whoever
looks at a breakdown looks at its extremes. A *simultaneous* band covers every level at
once with the probability given: value ± c_l s_l per level l, where

- all levels are drawn from the same resampled questions, so that they hang together as in
  the data;
- s_l is the standard deviation of the level's draws, times √(C_l / (C_l − 1)) for its C_l
  questions, since a bootstrap of few questions is that much too narrow;
- z is the `level` quantile over resamples of max_l |draw_l − mean_l| / s_l, and c_l is the
  point that t with C_l − 1 degrees of freedom exceeds as rarely as a normal exceeds z: a
  level of ten questions gets a wider multiple than one of eighty.

In simulations of shares that vary by question, bands of 95 % held for all of eight levels
of ten questions 91 % of the time (with z in place of c_l and no correction of s_l: 68 %),
of five levels of sixteen 92 %, of four levels of forty 93 %.

Bands are cut at the ends of the scale. A level with fewer than INDICATIVE_BELOW questions
is marked as indicative. A level without variation, or with fewer than two questions, has no
band, does not widen those of the others, and says why.

Source: A. C. Davison and D. V. Hinkley, Bootstrap Methods and their Application (1997),
sections 4.2.4 and 5.2; R. Beran, Balanced simultaneous confidence sets, Journal of the
American Statistical Association 83 (1988) 679–686, https://doi.org/10.1080/01621459.1988.10478649
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd

from judge.stats.coefficients import FloatArray
from judge.stats.distributions import normal_above, t_quantile
from judge.stats.estimate import Estimate
from judge.stats.intervals import MAX_UNDEFINED
from judge.stats.joint import Figure, Key, drawn, estimate, share
from judge.stats.rows import NO_ROW, Rows

INDICATIVE_BELOW = 30
"""Questions under which a level is only indicative."""

SMALLEST_SPREAD = 1e-12
"""Below it, draws are all the same but for rounding."""


@dataclass(frozen=True, slots=True)
class Band:
    """One level's value with its own interval and the band that holds for all levels."""

    estimate: Estimate
    """With the interval of this level alone."""
    low: float | None
    high: float | None
    indicative: bool
    """Fewer than INDICATIVE_BELOW questions."""
    reason: str
    """Why there is no band."""
    method: str


def simultaneous_bands(
    figures: Mapping[Key, Figure],
    clusters: int,
    *,
    level: float,
    resamples: int,
    seed: int,
    bounds: tuple[float, float] = (0.0, 1.0),
) -> dict[Key, Band]:
    """Bands for all levels of one breakdown, from one joint bootstrap of the questions.

    Args:
        figures: one per level, of one and the same statistic.
        clusters: questions in all.
        level: probability with which all bands hold together, in (0, 1).
        resamples: how many.
        seed: same seed and counts, same bands.
        bounds: ends of the statistic's scale.
    """
    draws = drawn(figures, clusters, resamples=resamples, seed=seed)
    alone = {key: estimate(one, draws[key], level=level) for key, one in figures.items()}
    reasons = {key: _why_none(alone[key], draws[key]) for key in figures}
    banded = [key for key, reason in reasons.items() if not reason]
    spread = {key: _spread(draws[key], alone[key].clusters) for key in banded}
    z = _critical([_standardised(draws[key], spread[key]) for key in banded], level)
    method = f"simultaneous over {len(banded)} levels, max |t| of {resamples} joint resamples"
    made = {}
    for key, one in alone.items():
        band = Band(one, None, None, one.clusters < INDICATIVE_BELOW, reasons[key], method)
        if not reasons[key] and one.value is not None:
            half = _multiple(z, one.clusters) * spread[key]
            low, high = max(bounds[0], one.value - half), min(bounds[1], one.value + half)
            band = replace(band, low=low, high=high)
        made[key] = band
    return made


def agreement_by(rows: Rows, labels: pd.Series[str], population: str) -> dict[str, Figure]:
    """A judge's agreement per level of a breakdown, levels in alphabetical order.

    Args:
        rows: of the judge, in one setup.
        labels: of each row, e.g. its category; rows with an empty one are in no level.
        population: whose votes, in words.
    """
    words = labels.to_numpy(dtype=object)
    found = {}
    for label in sorted({str(word) for word in words} - {""}):
        own = words == label
        agree = rows.agree[own]
        found[label] = share(
            "agreement",
            agree,
            np.ones(len(agree)),
            rows.question[own],
            f"{population}; {label}",
            NO_ROW[rows.setup],
        )
    return found


def _why_none(one: Estimate, draws: FloatArray) -> str:
    if one.value is None:
        return one.reason
    if one.clusters < 2:
        return "no band: fewer than two questions"
    undefined = int(np.isnan(draws).sum())
    if undefined > MAX_UNDEFINED * len(draws):
        return f"no band: undefined in {undefined} of {len(draws)} resamples"
    if np.nanmax(draws) - np.nanmin(draws) < SMALLEST_SPREAD:
        return "no band: every resample gives the same value"
    return ""


def _spread(draws: FloatArray, clusters: int) -> float:
    return float(np.nanstd(draws)) * float(np.sqrt(clusters / (clusters - 1)))


def _standardised(draws: FloatArray, spread: float) -> FloatArray:
    # A level that is not in a resample at all says nothing about the largest deviation.
    gaps: FloatArray = np.nan_to_num(np.abs(draws - np.nanmean(draws)) / spread)
    return gaps


def _critical(gaps: list[FloatArray], level: float) -> float:
    return float(np.quantile(np.max(gaps, axis=0), level)) if gaps else 0.0


def _multiple(z: float, clusters: int) -> float:
    return -t_quantile(normal_above(z), clusters - 1)
