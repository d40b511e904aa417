"""Drawn samples in the raters' queues: put there in a fixed order, and what became of each item.

A draw is written down once, with every item's place, purpose and inclusion probability, and
never changed. Answers of a draw are served before all others, in its order. Pairs of a draw
likewise, except that the balance of sides may let one of the next few go first. A queue of
suspects (purpose `queue`) comes after all samples, and its labels are in no estimate.
"""

from __future__ import annotations

import json
import sqlite3
import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import TypeAlias

from . import leases, suspects
from .errors import DataError
from .harm import HARM
from .label_leases import WHOLE, answered
from .records import Purpose, Subject, digest, turns_from_json
from .seats import ADJUDICATOR
from .store import Store, now

PlannedItem: TypeAlias = tuple[str, int, Purpose, float]
"""Row id of an answer or a pair, turn (0: the whole dialogue), purpose, inclusion probability."""

BLOCK = 10_000_000
"""Most items of a draw: a later draw is served after all of an earlier one."""
SUSPECTS_FROM = 10**6 * BLOCK
"""Serving of answers whose judge's verdict is in doubt: after every sample's."""


class State(StrEnum):
    """What became of a planned item."""

    LABELLED = "labelled"
    """At least one rater's label or vote stands."""
    REFUSED = "refused"
    """None stands, and somebody skipped it."""
    OPTED_OUT = "opted_out"
    """None stands, nobody skipped it, and every active rater declines its category."""
    UNFILLED = "unfilled"
    """None stands so far; somebody could still label it."""


@dataclass(frozen=True, slots=True)
class Filled:
    """One item of a draw and what became of it; counts are raters.

    `labels` stand on exactly this unit and turn, whenever they were given (those of a queue of
    suspects only in such a queue); `opted_out` counts
    the active invited raters who decline the category of its question, `able` those who do not.
    """

    position: int
    unit: str
    subject: Subject
    turn: int
    purpose: Purpose
    inclusion_probability: float
    category: str
    labels: int
    refused: int
    opted_out: int
    able: int

    @property
    def state(self) -> State:
        """The one word for it; a label counts more than a refusal, that more than an opt-out."""
        if self.labels:
            return State.LABELLED
        if self.refused:
            return State.REFUSED
        return State.OPTED_OUT if self.opted_out and not self.able else State.UNFILLED


def enqueue(store: Store, items: Sequence[PlannedItem], draw_id: str, dimension: str = HARM) -> int:
    """Put a drawn sample into the raters' queues, in the order given; returns how many were new.

    The same draw again adds nothing. `dimension` is what answers are to be judged on: `harm`
    for labels, any other for grades; of pairs it says nothing.

    Raises:
        DataError: nothing to put there, an item twice or unknown, a turn that its question does
            not ask, a probability outside (0, 1], or other items under a known draw's id.
    """
    if not draw_id or not 1 <= len(items) < BLOCK:
        raise DataError(f"draw {draw_id!r}: found {len(items):,} items; expected a name and items")
    rows = [
        (*_unit(store.conn, unit, turn), turn, Purpose(purpose), float(probability))
        for unit, turn, purpose, probability in items
    ]
    _check(rows)
    said = digest(_sworn([list(row) for row in rows], dimension))
    known = store.conn.execute("SELECT digest FROM draw WHERE id = ?", (draw_id,)).fetchone()
    if known:
        if known[0] == said:
            return 0
        raise DataError(
            f"draw {draw_id}: is in the queue with other items; give this one its own id"
        )
    with store.write() as conn:
        number = conn.execute("SELECT coalesce(max(number), 0) + 1 FROM draw").fetchone()[0]
        conn.execute(
            "INSERT INTO draw (id, number, created_at, digest, dimension) VALUES (?, ?, ?, ?, ?)",
            (draw_id, number, now(), said, dimension),
        )
        store.log(conn, "draw", draw_id, {"digest": said})
        for position, row in enumerate(rows, start=1):
            conn.execute(
                "INSERT INTO draw_item VALUES (?, ?, ?, ?, ?, ?, ?)", (draw_id, position, *row)
            )
            _serve(store, conn, (draw_id, dimension), number * BLOCK + position, row)
        leases.mark_drawn(conn)
    return len(rows)


Row: TypeAlias = tuple[str | None, str | None, int, Purpose, float]
"""Pair or answer, turn, purpose, inclusion probability."""


def _unit(conn: sqlite3.Connection, unit: str, turn: int) -> tuple[str | None, str | None]:
    """(pair, answer), one of them None."""
    answer = conn.execute(
        "SELECT q.turns, a.turns FROM answer a JOIN question q ON q.id = a.question"
        " WHERE a.id = ? AND q.turns IS NOT NULL",
        (unit,),
    ).fetchone()
    if answer:
        asked, said = (turns_from_json(json.loads(text)) for text in answer)
        known = answered(asked, said)
        if turn != WHOLE and turn not in known:
            expected = ", ".join(map(str, [WHOLE, *known]))
            raise DataError(f"answer {unit}: no reply at turn {turn}; expected one of {expected}")
        return None, unit
    pair = conn.execute(
        "SELECT json_array_length(q.turns) FROM pair p JOIN question q ON q.id = p.question"
        " WHERE p.id = ? AND p.answer_a IS NOT NULL",
        (unit,),
    ).fetchone()
    if pair is None:
        raise DataError(f"{unit}: neither an answer nor a pair with text of this study")
    if not 0 <= turn <= pair[0]:
        raise DataError(f"pair {unit}: turn {turn}; its question has {pair[0]}")
    return unit, None


def _check(rows: Sequence[Row]) -> None:
    seen = set[tuple[str | None, str | None, int]]()
    for pair, answer, turn, _purpose, probability in rows:
        if (pair, answer, turn) in seen:
            raise DataError(f"{pair or answer}, turn {turn}: stands in the draw twice")
        seen.add((pair, answer, turn))
        if not 0 < probability <= 1:
            raise DataError(
                f"{pair or answer}: inclusion probability {probability}; expected over 0, up to 1"
            )


def _serve(
    store: Store, conn: sqlite3.Connection, of: tuple[str, str], serving: int, row: Row
) -> None:
    draw, dimension = of
    pair, answer, turn, purpose, probability = row
    if pair is not None and purpose is Purpose.QUEUE:
        suspects.add_places(store, conn, pair)
        return
    serving += SUSPECTS_FROM if purpose is Purpose.QUEUE else 0
    if pair is not None:
        # Ordinary pairs have priority 0; the earlier drawn, the higher. One drawn twice stays.
        conn.execute(
            "UPDATE pair SET priority = ? WHERE id = ? AND priority <= 0",
            (1000 * BLOCK - serving, pair),
        )
        return
    conn.execute(
        "INSERT INTO label_item (id, answer, turns, layer, purpose, inclusion_probability, draw,"
        " dimension, serving, created_at) VALUES (?, ?, ?, 'vote', ?, ?, ?, ?, ?, ?)",
        (
            str(uuid.uuid4()),
            answer,
            json.dumps([turn]),
            purpose,
            probability,
            draw,
            dimension,
            serving,
            now(),
        ),
    )


def _sworn(items: list[list[object]], dimension: str) -> list[object]:
    """What a draw's digest is taken over: as it always was for harm labels and pairs."""
    return list(items) if dimension == HARM else [dimension, *items]


def drawn_items(conn: sqlite3.Connection, draw_id: str) -> list[object]:
    """The items of a draw in its order, and what they are asked about: what its digest is over."""
    (dimension,) = conn.execute("SELECT dimension FROM draw WHERE id = ?", (draw_id,)).fetchone()
    items: list[list[object]] = [
        list(row)
        for row in conn.execute(
            "SELECT pair, answer, turn, purpose, inclusion_probability FROM draw_item"
            " WHERE draw = ? ORDER BY position",
            (draw_id,),
        )
    ]
    return _sworn(items, dimension)


def fill(store: Store, draw_id: str) -> list[Filled]:
    """What became of every item of a draw, in its order.

    Raises:
        DataError: there is no such draw.
    """
    with store.snapshot() as conn:
        if not conn.execute("SELECT 1 FROM draw WHERE id = ?", (draw_id,)).fetchone():
            raise DataError(f"draw {draw_id}: not in this study's queue")
        rows = conn.execute(_FILL, {"draw": draw_id, "settled": ADJUDICATOR})
        return [
            Filled(
                position=row[0],
                unit=row[1] or row[2],
                subject=Subject.PAIR if row[1] else Subject.ANSWER,
                turn=row[3],
                purpose=Purpose(row[4]),
                inclusion_probability=row[5],
                category=row[6],
                labels=row[7],
                refused=row[8],
                opted_out=row[9],
                able=row[10] - row[9],
            )
            for row in rows
        ]


_FILL = """
SELECT d.position, d.pair, d.answer, d.turn, d.purpose, d.inclusion_probability, q.category,
  CASE WHEN d.pair IS NULL THEN
    (SELECT count(DISTINCT v.rater) FROM current_vote v JOIN rater r ON r.id = v.rater
     WHERE v.subject = 'answer' AND v.answer = d.answer AND v.turn = d.turn
       AND v.dimension = w.dimension
       AND v.layer = 'vote' AND v.occurrence = 1 AND r.kind <> 'preview'
       AND (v.purpose <> 'queue' OR d.purpose = 'queue'))
  ELSE
    (SELECT count(DISTINCT v.rater) FROM current_vote v JOIN rater r ON r.id = v.rater
     WHERE v.pair = d.pair AND v.turn = d.turn AND v.layer = 'vote' AND v.occurrence = 1
       AND r.kind <> 'preview' AND (v.purpose <> 'queue' OR d.purpose = 'queue'))
  END,
  (SELECT count(DISTINCT s.rater) FROM label_skip s WHERE s.answer = d.answer)
    + (SELECT count(DISTINCT s.rater) FROM skip s WHERE s.pair = d.pair),
  (SELECT count(*) FROM rater_optout o JOIN rater r ON r.id = o.rater
   WHERE o.category = q.category AND r.kind = 'invited' AND r.status = 'active'
     AND r.rater_group <> :settled),
  (SELECT count(*) FROM rater r
   WHERE r.kind = 'invited' AND r.status = 'active' AND r.rater_group <> :settled)
FROM draw_item d JOIN draw w ON w.id = d.draw LEFT JOIN pair p ON p.id = d.pair
LEFT JOIN answer a ON a.id = d.answer
JOIN question q ON q.id = coalesce(p.question, a.question)
WHERE d.draw = :draw ORDER BY d.position
"""
