"""Does a judge's verdict depend on which answer it saw first? From verdicts in both orders.

The four columns of Zheng et al. (2023), Table 2, over pairs asked in both orders; they add
up to 100 %:

- *consistent*: both orders come to the same outcome (tie and both_bad count as one).
- *first*: inconsistent in favour of what was shown first. *second*: of what was shown second.
- *error*: at least one order came to no verdict, though it was asked.

The paper does not say what a winner in one order and a tie in the other is. Here each verdict
leans to the first answer (+1), to the second (−1) or to neither (0); over the two orders the
sum is above 0 for *first*, below 0 for *second*, and 0 exactly when the two agree. So a judge
that prefers X when X comes first and calls a tie when X comes second is *first*. How many of
first and second hold such a tie is counted beside them.

Verdicts whose orders are unknown (imported as one combined verdict) enter no figure here.

Source: https://arxiv.org/abs/2306.05685, section 3.3 and Table 2.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import TypeAlias

from annotate.records import Game, Order, Outcome, Status

NOT_BOTH = "no verdict in each order"

Orders: TypeAlias = tuple[Game | None, Game | None]
"""Verdicts with A first and with B first, in canonical terms; None: no verdict yet."""


class Position(StrEnum):
    """What two orders of one question say together."""

    CONSISTENT = "consistent"
    """The same outcome in both orders."""
    FIRST = "first"
    """Inconsistent, in favour of the answer shown first."""
    SECOND = "second"
    """Inconsistent, in favour of the answer shown second."""
    ERROR = "error"
    """An order was asked and gave no verdict."""


@dataclass(frozen=True, slots=True)
class PositionCounts:
    """How often each occurred; shares are of `n`, errors included."""

    counts: Mapping[Position, int]
    ties_in_one_order: int
    """How many of first and second name a winner in one order only."""
    excluded: Mapping[str, int]
    """Pairs in no column, by reason."""

    @property
    def n(self) -> int:
        """Pairs asked in both orders."""
        return sum(self.counts.values())

    def share(self, position: Position) -> float | None:
        """One column as a share in [0, 1]; None without any pair."""
        return self.counts[position] / self.n if self.n else None


def position(verdicts: Iterable[Orders]) -> PositionCounts:
    """Count pairs by what their two orders say together."""
    found: Counter[Position] = Counter()
    excluded: Counter[str] = Counter()
    half = 0
    for ab, ba in verdicts:
        kind = classify(ab, ba)
        if not isinstance(kind, Position):
            excluded[kind] += 1
            continue
        found[kind] += 1
        half += tie_in_one_order(ab, ba)
    counts = {kind: found[kind] for kind in Position}
    return PositionCounts(counts, half, dict(sorted(excluded.items())))


def classify(ab: Game | None, ba: Game | None) -> Position | str:
    """The column of one pair, or the reason why it is in none."""
    if ab is None or ba is None:
        return NOT_BOTH
    if Status.SKIPPED_BUDGET in (ab, ba):
        return Status.SKIPPED_BUDGET.value
    if not (isinstance(ab, Outcome) and isinstance(ba, Outcome)):
        return Position.ERROR
    total = _lean(ab, Order.AB) + _lean(ba, Order.BA)
    if total == 0:
        return Position.CONSISTENT
    return Position.FIRST if total > 0 else Position.SECOND


def tie_in_one_order(ab: Game | None, ba: Game | None) -> bool:
    """Whether exactly one of two verdicts names a winner."""
    if not (isinstance(ab, Outcome) and isinstance(ba, Outcome)):
        return False
    return (_lean(ab, Order.AB) == 0) != (_lean(ba, Order.BA) == 0)


def _lean(outcome: Outcome, order: Order) -> int:
    """+1 for what was shown first, −1 for what was shown second, 0 for neither."""
    if outcome not in (Outcome.A, Outcome.B):
        return 0
    return 1 if (outcome is Outcome.A) == (order is Order.AB) else -1
