"""How much a longer answer helps, between the same two models: a logistic regression.

logit P(a preferred) = μ_pair + β log₂(length of a / length of b)

β is the log odds per doubling of length. 0: length makes no difference; 1: twice as long is odds
of e = 2.7 to 1 where the models are even; below 0: shorter is preferred. μ_pair is how much one
model of the pair is preferred at equal length; without it (one source of preference, length) β
also takes what the better models' lengths have in common. A tie is half a win for each.

The idea is AlpacaEval 2's (there: model and instruction terms and tanh of the standardised
difference, fitted with a penalty; here a ratio, since it needs no scale, and no penalty, so that
the interval means what it says).

Standard errors are a sandwich over questions with the usual corrections, G/(G − 1) and
(n − 1)/(n − k); the interval uses t with G − 1 degrees of freedom.

Sources: Y. Dubois et al., Length-Controlled AlpacaEval (2024), https://arxiv.org/abs/2404.04475;
A. C. Cameron and D. L. Miller, A Practitioner's Guide to Cluster-Robust Inference, Journal of
Human Resources 50 (2015) 317–372, https://doi.org/10.3368/jhr.50.2.317; A. Albert and J. A.
Anderson, On the Existence of Maximum Likelihood Estimates in Logistic Regression Models,
Biometrika 71 (1984) 1–10, https://doi.org/10.2307/2336390
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from judge.stats.coefficients import FloatArray
from judge.stats.distributions import t_quantile
from judge.stats.estimate import Estimate
from judge.stats.verbosity import NO_LENGTH, NO_VALUE, Preferences
from judge.stats.wins import ONE_NAME, codes, scores

NAME = "length_effect"
EMPTY = "an empty answer"
ONE_SIDED = "one model of the pair always preferred: any length effect fits"
NO_ROWS = "undefined: no verdict on answers of known length, between models that both win"
NO_VARIATION = "not identified: lengths do not vary between answers of the same two models"
ALL_EQUAL = "not identified: all answers compared are equally long"
SEPARATED = "no finite estimate: length alone decides every verdict that it could"
ONE_QUESTION = "no interval: fewer than two questions"
NO_SPREAD = "no interval: the questions do not vary"

STEPS = 50
"""Newton needs 5 to 10; where length separates the verdicts it walks on without end."""
TOLERANCE = 1e-10


def length_effect(
    source: Preferences, population: str, *, pairs: bool = True, level: float = 0.95
) -> Estimate:
    """β, the log odds of being preferred per doubling of length.

    Which model is called a and the order of rows change nothing. Pairs of models of which one
    always wins say nothing about β once they have a term of their own; they are left out and
    counted.

    Args:
        source: verdicts with lengths, each > 0 (empty answers are left out and counted).
        population: whose judgments about what, in words.
        pairs: whether each pair of models has a term of its own.
        level: confidence level, in (0, 1).

    Raises:
        ValueError: the level is not inside (0, 1).
    """
    if not 0 < level < 1:
        raise ValueError(f"level {level}: expected a number between 0 and 1, e.g. 0.95")
    rows = _prepared(source, pairs)
    n, clusters = len(rows.won), len(np.unique(rows.question))

    def made(
        value: float | None, reason: str, ends: tuple[float, float] | None = None, method: str = ""
    ) -> Estimate:
        low, high = ends or (None, None)
        return Estimate(
            name=NAME,
            value=value,
            population=population,
            n=n,
            clusters=clusters,
            reason=reason,
            low=low,
            high=high,
            level=level,
            method=method,
            excluded=rows.excluded,
        )

    if not n:
        return made(None, NO_ROWS)
    if not _varies(rows, pairs):
        return made(None, NO_VARIATION if pairs else ALL_EQUAL)
    fit = _fit(rows, pairs)
    if fit is None:
        return made(None, SEPARATED)
    parameters = 1 + (int(rows.pair.max()) + 1 if pairs else 0)
    method = f"logistic regression{' with a term per pair of models' * pairs}"
    if clusters < 2:
        return made(fit.beta, ONE_QUESTION, method=method)
    summed = np.bincount(rows.question, fit.influence)
    if n <= parameters or not summed.any():
        return made(fit.beta, NO_SPREAD, method=method)
    variance = float((summed**2).sum()) * clusters / (clusters - 1) * (n - 1) / (n - parameters)
    half = t_quantile((1 + level) / 2, clusters - 1) * float(np.sqrt(variance))
    method += f", sandwich by question, t with {clusters - 1} degrees of freedom"
    return made(fit.beta, "", (fit.beta - half, fit.beta + half), method)


@dataclass(frozen=True, slots=True)
class _Rows:
    """Usable verdicts in canonical naming; each array of shape (rows,)."""

    won: FloatArray
    ratio: FloatArray
    pair: NDArray[np.int64]
    question: NDArray[np.int64]
    excluded: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class _Fit:
    beta: float
    influence: FloatArray
    """What each row adds to β − its true value, to first order."""


def _prepared(source: Preferences, pairs: bool) -> _Rows:
    won = scores(source.score)
    a, b = (np.asarray(x, dtype=np.float64) for x in (source.length_a, source.length_b))
    names = [tuple(sorted(x)) for x in zip(source.model_a, source.model_b, strict=True)]
    swap = np.array([x > y for x, y in zip(source.model_a, source.model_b, strict=True)], bool)
    known = sorted({f"{x}\0{y}" for x, y in names})
    pair = codes([f"{x}\0{y}" for x, y in names], known)
    question = codes(source.question, sorted(set(source.question)))
    why = [
        (NO_VALUE, np.isnan(won)),
        (NO_LENGTH, np.isnan(a) | np.isnan(b)),
        (EMPTY, (a == 0) | (b == 0)),
        (ONE_NAME, np.array([x == y for x, y in names], bool)),
    ]
    kept = ~np.any([holds for _, holds in why], axis=0)
    won = np.where(swap, 1 - won, won)
    if pairs:
        wins, played = (np.bincount(pair[kept], x, len(known)) for x in (won[kept], None))
        one_sided = (wins == 0) | (wins == played)
        why.append((ONE_SIDED, one_sided[pair]))
    left = np.ones(len(won), dtype=np.bool_)
    excluded = {}
    for reason, holds in why:
        excluded[reason] = int((left & holds).sum())
        left &= ~holds
    ratio = np.log2(a[left] / b[left])
    return _Rows(
        won[left],
        np.where(swap[left], -ratio, ratio),
        np.unique(pair[left], return_inverse=True)[1],
        np.unique(question[left], return_inverse=True)[1],
        {reason: n for reason, n in excluded.items() if n},
    )


def _varies(rows: _Rows, pairs: bool) -> bool:
    centre = _means(rows, np.ones(len(rows.won))) if pairs else 0
    return bool((np.abs(rows.ratio - centre) > 1e-6).any())


def _means(rows: _Rows, weight: FloatArray) -> FloatArray:
    """The weighted mean log ratio of each row's pair."""
    total = np.bincount(rows.pair, weight)
    mean: FloatArray = (np.bincount(rows.pair, weight * rows.ratio) / total)[rows.pair]
    return mean


def _fit(rows: _Rows, pairs: bool) -> _Fit | None:
    """Newton's method; the pair terms are eliminated, so that no wide matrix is made.

    With pair terms, β's row of the inverse information is (x − mean of its pair) / S, where
    mean and S = Σ w (x − mean)² are weighted by w = p (1 − p). None where there is no maximum.
    """
    beta, terms = 0.0, np.zeros(int(rows.pair.max()) + 1)
    height = _log_likelihood(rows, beta, terms)
    for _ in range(STEPS):
        chance = 1 / (1 + np.exp(-np.clip(terms[rows.pair] + beta * rows.ratio, -500, 500)))
        weight, surplus = chance * (1 - chance), rows.won - chance
        total = np.bincount(rows.pair, weight)
        if not total.all():
            return None
        centre = _means(rows, weight) if pairs else np.zeros(len(weight))
        spread = float((weight * (rows.ratio - centre) ** 2).sum())
        if spread < 1e-12:
            return None
        influence = (rows.ratio - centre) * surplus / spread
        step = float(influence.sum())
        slide = np.zeros(len(terms))
        if pairs:
            middle = np.empty(len(terms))
            middle[rows.pair] = centre
            slide = np.bincount(rows.pair, surplus) / total - middle * step
        size, least = 1.0, height - 1e-9 * abs(height)
        while (height := _log_likelihood(rows, beta + size * step, terms + size * slide)) < least:
            size /= 2
        beta, terms = beta + size * step, terms + size * slide
        if max(abs(step), float(np.abs(slide).max())) < TOLERANCE:
            return _Fit(beta, influence)
    return None


def _log_likelihood(rows: _Rows, beta: float, terms: FloatArray) -> float:
    lead = terms[rows.pair] + beta * rows.ratio
    lost = rows.won * np.logaddexp(0, -lead) + (1 - rows.won) * np.logaddexp(0, lead)
    return -float(lost.sum())
