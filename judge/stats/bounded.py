"""Shares of items of which some are unknown: the share of the known, and bounds over all.

A failed label is no label: left out of the value, counted by reason, and read both ways for the
bounds. Intervals are exact where every known item has a question of its own, and a cluster
bootstrap by question where some share one. Where no item, or every item, is a hit, a bootstrap
would say "no error"; then whole questions are counted instead: a share of items is at most the
share of questions with any hit.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, replace

import numpy as np

from judge.stats.binomial import clopper_pearson, exact_share
from judge.stats.distributions import beta_quantile
from judge.stats.estimate import Estimate
from judge.stats.joint import estimates, share

QUESTIONS = "exact (Clopper–Pearson) on questions, whose items all agree"


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
    if questions == len(known):
        rate = exact_share(
            name, hits, len(known), population, undefined, level=how.level, excluded=excluded
        )
        allows = _allows(hits, len(known), how.level)
    else:
        rate = _clustered(name, known, population, undefined, excluded, how)
        allows = None if hits else _allows(0, questions, how.level)
    unknown = len(rows) - len(known)
    return Bounded(
        rate=rate,
        items=len(rows),
        hits=hits,
        unknown=unknown,
        least=hits / len(rows) if rows else None,
        most=(hits + unknown) / len(rows) if rows else None,
        allows=allows,
    )


def _allows(hits: int, n: int, level: float) -> float | None:
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
    hit = np.array([bool(row.hit) for row in known], dtype=np.float64)
    figure = share(name, hit, np.ones(len(hit)), place, population, undefined, excluded)
    found = estimates(
        {name: figure}, len(names), level=how.level, resamples=how.resamples, seed=how.seed
    )[name]
    if found.low is None and found.value in (0.0, 1.0):
        count = len(names) if found.value else 0
        low, high = clopper_pearson(count, len(names), how.level)
        found = replace(found, low=low, high=high, method=QUESTIONS, reason="")
    return found
