"""What a judge said of each pair in each order, read from the store: calls and imports alike."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import groupby

from annotate.records import Choice, Game, Order, Outcome, Status
from annotate.store import Store
from judge.ask.verdicts import Verdict


@dataclass(frozen=True, slots=True)
class OrderVerdicts:
    """A pair's verdicts in both orders, in canonical terms; None: not answered yet."""

    judge: str
    """The run's name."""
    pair: str
    turn: int
    dimension: str
    replicate: int
    ab: Game | None
    ba: Game | None


def order_verdicts(store: Store) -> Iterator[OrderVerdicts]:
    """Every pair that a run asked in some order, or that a file brought with its orders.

    Imported verdicts without their orders are not here. A label-only pair counts as the
    pair that superseded it, as in the tidy table. The judge's tables must be up to date
    (`VerdictStore(store)`).
    """
    for sql in (_CALLS, _IMPORTED):
        rows = store.conn.execute(sql)
        for unit, group in groupby(rows, key=lambda row: row[:5]):
            games = {row[5]: _game(*row[5:]) for row in group}
            judge, pair, turn, dimension, replicate = unit
            both = (games.get("ab"), games.get("ba"))
            yield OrderVerdicts(judge, pair, turn, dimension, replicate, *both)


_CALLS = (
    "SELECT r.name, coalesce(p.superseded_by, p.id), i.turn, i.dimension, i.replicate,"
    " i.order_shown, v.status, v.choice, NULL FROM judge_item i"
    " JOIN judge_run r ON r.id = i.run JOIN pair p ON p.id = i.pair"
    " LEFT JOIN verdict v ON v.request = i.request WHERE i.subject = 'pair'"
    " ORDER BY i.run, i.pair, i.turn, i.dimension, i.replicate, i.order_shown"
)
_IMPORTED = (
    "SELECT r.name, coalesce(p.superseded_by, p.id), o.turn, o.dimension, o.replicate,"
    " o.order_shown, o.status, NULL, o.outcome FROM imported_order o"
    " JOIN judge_run r ON r.id = o.run JOIN pair p ON p.id = o.pair"
    " ORDER BY o.run, o.pair, o.turn, o.dimension, o.replicate, o.order_shown"
)


def _game(order: str, status: str | None, choice: str | None, outcome: str | None) -> Game | None:
    if status is None:
        return None
    if outcome is not None:
        return Outcome(outcome)
    picked = None if choice is None else Choice(choice)
    verdict = Verdict.of(Status(status), picked, Order(order))
    return verdict.outcome or verdict.status
