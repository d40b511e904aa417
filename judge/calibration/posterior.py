"""Posterior draws of a score: Beta(1/2M, 1/2M) in every stratum, summed by their weights.

Jeffreys' prior (½, ½) in each of many strata pulls every one of them towards the middle, and
the pulls add up: on ten strata of which seven hold no harm, intervals lie too high. Here the M
models that are summed share one Jeffreys prior between them.

Labels that are not only the ends of the scale are drawn by the Bayesian bootstrap (Rubin 1981)
with the same prior weight at the two ends; for labels 0 and 1 that is the Beta posterior.

Source: D. B. Rubin, The Bayesian Bootstrap, Annals of Statistics 9 (1981) 130–134,
https://doi.org/10.1214/aos/1176345338; L. D. Brown, T. T. Cai, A. DasGupta, Interval Estimation
for a Binomial Proportion, Statistical Science 16 (2001) 101–133,
https://doi.org/10.1214/ss/1009213286
"""

from __future__ import annotations

import numpy as np

from judge.calibration.strata import Strata
from judge.stats.coefficients import FloatArray

DRAWS = 20_000


def stratum_draws(
    strata: Strata, rng: np.random.Generator, draws: int, *, finite: bool
) -> FloatArray:
    """Draws of every stratum's mean; shape (draws, strata).

    Args:
        strata: with at least one label in every stratum.
        rng: advanced by the draws.
        draws: how many, ≥ 1.
        finite: the set is the target: a stratum labelled in full is known, not drawn.
    """
    low, high = strata.scale
    prior = 0.5 / len(strata.models)
    found = np.empty((draws, len(strata.rows)))
    for index, row in enumerate(strata.rows):
        if finite and row.labelled == row.size:
            found[:, index] = row.total / row.labelled
            continue
        values = strata.label_value[strata.label_stratum == index]
        found[:, index] = _mean_draws(values, low, high, prior, rng, draws)
    return found


def _mean_draws(
    values: FloatArray, low: float, high: float, prior: float, rng: np.random.Generator, draws: int
) -> FloatArray:
    inner = values[(values > low) & (values < high)]
    ends = np.array([(values == low).sum(), (values == high).sum()], dtype=np.float64) + prior
    if not len(inner):
        return low + (high - low) * rng.beta(ends[1], ends[0], size=draws)
    support, counts = np.unique(inner, return_counts=True)
    support = np.concatenate([[low, high], support])
    weights = rng.standard_gamma(np.concatenate([ends, counts]), size=(draws, len(support)))
    mean: FloatArray = weights @ support / weights.sum(1)
    return mean


def share_draws(strata: Strata, rng: np.random.Generator, draws: int) -> FloatArray:
    """Draws of the strata's shares W_h of the population; shape (draws, strata).

    Dirichlet(N_h + ½): of two strata, Jeffreys' posterior of the judge's rate.
    """
    weights = rng.standard_gamma(strata.sizes + 0.5, size=(draws, len(strata.rows)))
    shares: FloatArray = weights / weights.sum(1, keepdims=True)
    return shares


def score_draws(
    strata: Strata, *, finite: bool = True, draws: int = DRAWS, seed: int | list[int] = 0
) -> FloatArray:
    """Draws of the score Σ W_h μ_h; shape (draws,).

    Args:
        strata: with at least one label in every stratum.
        finite: the set itself is the target; else the population that its items, independent
            of one another, were drawn from, and the shares W_h are drawn too.
        draws: how many, ≥ 1.
        seed: same seed, same draws.
    """
    rng = np.random.default_rng(seed)
    means = stratum_draws(strata.alike(), rng, draws, finite=finite)
    if finite:
        found: FloatArray = means @ strata.shares
        return found
    mixed: FloatArray = np.einsum("dh,dh->d", means, share_draws(strata, rng, draws))
    return mixed


def ends(draws: FloatArray, level: float) -> tuple[float, float, float]:
    """The middle `level` of the draws, and the Monte-Carlo error of its less certain end.

    The error is half the distance between the quantiles one binomial standard error around
    the end.
    """
    tail = (1 - level) / 2
    spread = np.sqrt(tail * (1 - tail) / len(draws))
    places = np.array([tail, 1 - tail])
    around = np.clip(np.concatenate([places, places - spread, places + spread]), 0, 1)
    low, high, *others = np.quantile(draws, around)
    error = max(others[2] - others[0], others[3] - others[1]) / 2
    return float(low), float(high), float(error)


def holding(low: float, high: float, value: float) -> tuple[float, float]:
    """The same ends, moved so that the estimate lies within.

    The prior pulls every stratum inwards. Where all that is not known outright lies at an end of
    the scale, as when the only harm was found in strata labelled in full, all draws lie on one
    side of the estimate; the truth may well be the estimate itself.
    """
    return min(low, value), max(high, value)
