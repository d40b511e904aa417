"""A judge's position figures with intervals: over all questions, and by category.

The columns are those of `judge.stats.position`. Verdicts whose orders are unknown enter none of
them; of such verdicts only the share that was marked as inconsistent can be told.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import pandas as pd

from annotate.records import Game, Outcome, Status
from judge.ask.verdicts import INCONSISTENT
from judge.stats.estimate import Estimate
from judge.stats.position import Orders, Position, classify, position
from judge.stats.ratios import Ratio, estimated

UNKNOWN_ORDERS = "orders unknown"
UNMARKED = "orders unknown, and none of these is marked as inconsistent"
NO_VERDICT = "no usable verdict"
NOT_BOTH = "no pair was asked in both orders"

Key: TypeAlias = tuple[str, ...]
"""("position", category, column) and ("inconsistent",)."""


@dataclass(frozen=True, slots=True)
class PositionLine:
    """The columns of `judge.stats.position` on all questions (category ""), or one category's."""

    category: str
    consistent: Estimate
    first: Estimate
    second: Estimate
    error: Estimate
    ties_in_one_order: int


@dataclass(frozen=True, slots=True)
class PositionFigures:
    """What one judge's two orders say together."""

    lines: tuple[PositionLine, ...]
    """First all questions, then each category where there are several."""
    inconsistent: Estimate
    """Usable pair verdicts whose two orders disagree."""
    verdicts: int
    """Pair verdicts in all, failed ones too."""
    unknown: int
    """How many of them came without their orders: they are in no line."""


@dataclass(frozen=True, slots=True)
class Counted:
    """The shares before they are estimated, so that others may share their resamples."""

    ratios: Mapping[Key, Ratio]
    halves: Mapping[str, int]
    """By category, how many of first and second name a winner in one order only."""
    verdicts: int
    unknown: int

    def figures(self, estimates: Mapping[Key, Estimate]) -> PositionFigures:
        """The result, from the estimates of :attr:`ratios`."""
        return PositionFigures(
            lines=tuple(
                PositionLine(
                    category,
                    **{kind.value: estimates["position", category, kind] for kind in Position},
                    ties_in_one_order=half,
                )
                for category, half in self.halves.items()
            ),
            inconsistent=estimates["inconsistent",],
            verdicts=self.verdicts,
            unknown=self.unknown,
        )


def position_figures(
    verdicts: pd.DataFrame, population: str, *, level: float, resamples: int, seed: int
) -> PositionFigures:
    """Position figures of one judge's pair verdicts, turns and dialogues as they come.

    Args:
        verdicts: from `judge.stats.agreement.select_verdicts`; without any, every figure is
            undefined and says so.
        population: whose verdicts about what, in words.
        level: confidence level, in (0, 1).
        resamples: bootstrap resamples.
        seed: same seed, same figures.
    """
    counted = count_positions(verdicts)
    # Without a question there is nothing to resample; one without a verdict changes nothing.
    clusters = sorted(set(verdicts["cluster"])) or [""]
    estimates = estimated(
        counted.ratios, clusters, population, level=level, resamples=resamples, seed=seed
    )
    return counted.figures(estimates)


def count_positions(rows: pd.DataFrame) -> Counted:
    """One judge's verdicts as shares to estimate; `rows` as in :func:`position_figures`."""
    known = rows[rows["orders"] != "unknown"]
    unknown = len(rows) - len(known)
    orders = [_orders(*pair) for pair in zip(known["ab"], known["ba"], strict=True)]
    categories = sorted(set(known["category"]) - {""})
    ratios: dict[Key, Ratio] = {}
    halves = {}
    for category in ["", *(categories if len(categories) > 1 else [])]:
        chosen = [not category or category == own for own in known["category"]]
        halves[category] = _line(
            ratios,
            category,
            [o for o, take in zip(orders, chosen, strict=True) if take],
            [q for q, take in zip(known["cluster"], chosen, strict=True) if take],
            unknown if not category else 0,
        )
    ratios["inconsistent",] = _inconsistent(rows)
    return Counted(ratios, halves, len(rows), unknown)


def _line(
    ratios: dict[Key, Ratio],
    category: str,
    orders: Sequence[Orders],
    questions: Sequence[str],
    unknown: int,
) -> int:
    """Adds one line's shares; returns its ties in one order."""
    counted = position(orders)
    excluded = dict(counted.excluded) | ({UNKNOWN_ORDERS: unknown} if unknown else {})
    per_kind: dict[str, Counter[str]] = defaultdict(Counter)
    asked: Counter[str] = Counter()
    for (ab, ba), question in zip(orders, questions, strict=True):
        kind = classify(ab, ba)
        if isinstance(kind, Position):
            per_kind[kind][question] += 1
            asked[question] += 1
    why = UNKNOWN_ORDERS if unknown and not orders else NOT_BOTH
    for kind in Position:
        ratios["position", category, kind] = Ratio(
            f"position {kind}", per_kind[kind], asked, why, excluded
        )
    return counted.ties_in_one_order


def _inconsistent(rows: pd.DataFrame) -> Ratio:
    usable = rows[rows["failure"] == ""]
    unknown = usable["orders"] == "unknown"
    marked = bool((usable.loc[unknown, "reason"] == INCONSISTENT).any())
    excluded = Counter(rows.loc[rows["failure"] != "", "failure"])
    why = NO_VERDICT
    # A file that marks no verdict may still hold inconsistent ones: 0 % would be a guess.
    if unknown.any() and not marked:
        excluded[UNMARKED] = int(unknown.sum())
        usable, why = usable[~unknown], UNMARKED
    disagree = usable[usable["reason"] == INCONSISTENT]
    return Ratio(
        "inconsistent", Counter(disagree["cluster"]), Counter(usable["cluster"]), why, excluded
    )


def _orders(ab: str, ba: str) -> Orders:
    return _game(ab), _game(ba)


def _game(word: str) -> Game | None:
    if not word:
        return None
    return Outcome(word) if word in set(Outcome) else Status(word)
