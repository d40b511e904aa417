"""Shares of items of which some are unknown: the share of the known, and bounds over all.

A failed label is no label: left out of the value, counted by reason, and read both ways for the
bounds. Intervals are exact where every known item has a question of its own, and a cluster
bootstrap by question where some share one. Where no item, or every item, is a hit, a bootstrap
would say "no error"; then whole questions are counted instead: a share of items is at most the
share of questions with any hit.

Items that a plan drew with unequal chances are weighted by 1 / chance (Hájek 1971): hits that the
plan looked for would otherwise count as if they were common. Where such a share is 0 or 1 its
interval is exact on the effective number of questions, (Σ w)² / Σ w² (Kish 1965).

Source: C.-E. Särndal, B. Swensson, J. Wretman, Model Assisted Survey Sampling (1992), section
5.7; L. Kish, Survey Sampling (1965), section 11.7.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, replace

import numpy as np

from judge.stats.binomial import exact_share
from judge.stats.distributions import beta_quantile
from judge.stats.estimate import Estimate
from judge.stats.joint import estimates, share

QUESTIONS = "exact (Clopper–Pearson) on questions, whose items all agree"
EFFECTIVE = "exact (Clopper–Pearson) on the effective number of questions, whose items all agree"
WEIGHTED = "weighted by 1 / chance of being drawn; "


@dataclass(frozen=True, slots=True)
class Resampling:
    """How intervals are made."""

    level: float = 0.95
    """In (0, 1)."""
    resamples: int = 10_000
    seed: int = 7


@dataclass(frozen=True, slots=True)
class Item:
    """One item: whether it is a hit, None where that is not known for `reason`."""

    question: str
    hit: bool | None
    reason: str = ""
    weight: float = 1.0
    """1 / its chance of being drawn, over 0; only ratios between items matter."""


@dataclass(frozen=True, slots=True)
class Bounded:
    """A share of the known items, and what the unknown ones could make of it."""

    rate: Estimate
    """Among the known; `excluded` counts the others by reason."""
    items: int
    """Known and unknown."""
    hits: int
    unknown: int
    least: float | None
    """Of all items, if no unknown one is a hit; None without items."""
    most: float | None
    """Of all items, if every unknown one is a hit."""
    allows: float | None
    """What the share of the known still may be, one-sided at `level`: 3.7 % after 0 of 80.

    Exact on items, or on questions that hold several of them and no hit. None where the interval
    is a bootstrap: its own upper end says as much.
    """


def bounded(
    name: str,
    items: Iterable[Item],
    population: str,
    undefined: str,
    how: Resampling,
) -> Bounded:
    """The share of hits.

    Args:
        name: of the statistic.
        items: in any order.
        population: whose judgments about what, in words.
        undefined: why there is no value where there is no item at all.
        how: level, resamples and seed.
    """
    rows = list(items)
    known = [row for row in rows if row.hit is not None]
    left = Counter(row.reason or "unknown" for row in rows if row.hit is None)
    hits = sum(bool(row.hit) for row in known)
    excluded = dict(sorted(left.items()))
    undefined = "every item is unknown" if rows and not known else undefined
    questions = len({row.question for row in known})
    if len({row.weight for row in known}) > 1:
        rate = _clustered(name, known, population, undefined, excluded, how)
        allows = None if hits else _allows(0, _effective(known), how.level)
    elif questions == len(known):
        rate = exact_share(
            name, hits, len(known), population, undefined, level=how.level, excluded=excluded
        )
        allows = _allows(hits, len(known), how.level)
    else:
        rate = _clustered(name, known, population, undefined, excluded, how)
        allows = None if hits else _allows(0, questions, how.level)
    whole = sum(row.weight for row in rows)
    bad, unclear = (sum(row.weight for row in rows if row.hit is value) for value in (True, None))
    return Bounded(
        rate=rate,
        items=len(rows),
        hits=hits,
        unknown=len(rows) - len(known),
        least=bad / whole if rows else None,
        most=(bad + unclear) / whole if rows else None,
        allows=allows,
    )


def _effective(known: list[Item]) -> float:
    """(Σ w)² / Σ w² over questions: as many equally likely ones would say as much."""
    weights: dict[str, float] = {}
    for row in known:
        weights[row.question] = weights.get(row.question, 0.0) + row.weight
    total = sum(weights.values())
    return total * total / sum(one * one for one in weights.values())


def _allows(hits: int, n: float, level: float) -> float | None:
    """The upper end of the one-sided exact interval; 1 where every item is a hit."""
    if n == 0:
        return None
    return 1.0 if hits == n else beta_quantile(level, hits + 1, n - hits)


def _clustered(
    name: str,
    known: list[Item],
    population: str,
    undefined: str,
    excluded: dict[str, int],
    how: Resampling,
) -> Estimate:
    names, place = np.unique([row.question for row in known], return_inverse=True)
    weight = np.array([row.weight for row in known])
    hit = np.array([bool(row.hit) for row in known], dtype=np.float64)
    figure = share(name, hit * weight, weight, place, population, undefined, excluded, n=len(known))
    found = estimates(
        {name: figure}, len(names), level=how.level, resamples=how.resamples, seed=how.seed
    )[name]
    uneven = len(set(weight.tolist())) > 1
    if uneven:
        found = replace(found, numerator=None, denominator=None, method=WEIGHTED + found.method)
    if found.low is None and found.value in (0.0, 1.0):
        n = _effective(known) if uneven else float(len(names))
        end = beta_quantile((1 + how.level) / 2, 1, n)
        low, high = (0.0, end) if found.value == 0 else (1 - end, 1.0)
        method = WEIGHTED + EFFECTIVE if uneven else QUESTIONS
        found = replace(found, low=low, high=high, method=method, reason="")
    return found
