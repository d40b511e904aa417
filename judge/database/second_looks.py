"""Suspect verdicts of a run in the raters' queues: what stands there, and what can be put there."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from annotate.planned import PlannedItem, enqueue
from annotate.records import Purpose
from annotate.store import Store
from judge.database.runs import Run
from judge.stats.suspects import Unit


def queued(store: Store, run: Run, dimension: str) -> set[Unit]:
    """Units of a run and dimension that were ever queued; an answer as (id, 0)."""
    start = _start(run, dimension)
    rows = store.conn.execute(
        "SELECT pair, answer, turn FROM draw_item WHERE purpose = 'queue' AND"
        " substr(draw, 1, ?) = ?",
        (len(start), start),
    )
    return {(pair, turn) if pair else (answer, 0) for pair, answer, turn in rows}


def queue(
    store: Store, run: Run, dimension: str, units: Sequence[tuple[str, Sequence[int]]]
) -> int:
    """Put units, each with the turns to be asked, behind what stands there; returns how many.

    A queue is no sample: its labels have the purpose `queue`, and chance chose nothing.
    """
    start = _start(run, dimension)
    number = store.conn.execute(
        "SELECT count(*) FROM draw WHERE substr(id, 1, ?) = ?", (len(start), start)
    ).fetchone()[0]
    items: list[PlannedItem] = [
        (unit, turn, Purpose.QUEUE, 1.0) for unit, turns in units for turn in turns
    ]
    if not items:
        return 0
    enqueue(store, items, f"{start}{number + 1}")
    return len(units)


def with_text(store: Store, units: Iterable[str]) -> set[str]:
    """The pairs and answers among these that can be shown to raters."""
    wanted = set(units)
    rows = store.conn.execute(
        "SELECT id FROM pair WHERE answer_a IS NOT NULL AND excluded IS NULL"
        " UNION ALL SELECT a.id FROM answer a JOIN question q ON q.id = a.question"
        " WHERE q.turns IS NOT NULL AND a.turns IS NOT NULL"
        " AND a.id NOT IN (SELECT answer FROM answer_excluded)"
    )
    return {unit for (unit,) in rows if unit in wanted}


def _start(run: Run, dimension: str) -> str:
    """How the names of a run's queues begin; a draw keeps its name for ever."""
    return f"errors {run.id} {dimension} "
