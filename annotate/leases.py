"""Slots, leases and screens: which pair a rater holds, and what they see of it next.

A lease is a row of `assignment` in state `leased`; unique indexes make two raters on one
slot, or one rater twice on a pair, impossible whatever the timing. Expired leases return
their slots; a rater who comes back finds the same pair in the same order.
"""

from __future__ import annotations

import json
import sqlite3
import uuid
from collections.abc import Sequence
from dataclasses import dataclass

from . import assignment as rule
from . import suspects
from .assignment import Balance, Candidate
from .errors import LeaseLost, UnknownScreen
from .records import Order, Purpose, asked_of, turns_from_json
from .seats import Rater
from .store import Store, after, now
from .study import AssignmentSection, ProtocolSection


@dataclass(frozen=True, slots=True)
class Screen:
    """What one rater is shown once: a pair up to a turn, asked about one dimension."""

    id: str
    assignment: str
    rater: str
    pair: str
    order: Order
    turn: int
    turns: int
    asked: tuple[int, ...]
    """The turns that are voted on; the question gives the reply to the others itself."""
    dimension: str
    dimensions: tuple[str, ...]
    position: int
    occurrence: int
    protocol: str
    purpose: str
    inclusion_probability: float | None


@dataclass(frozen=True, slots=True)
class Empty:
    """Why there is nothing to show, in counts; `until` is when the next lease runs out."""

    reason: str
    done: int
    leased_by_others: int = 0
    until: str | None = None
    skipped: int = 0


@dataclass(frozen=True, slots=True)
class Progress:
    """A rater's own progress, in pairs."""

    done: int
    open: int


def prepare(store: Store, settings: AssignmentSection) -> int:
    """Pre-make every missing slot of every pair that can be served; returns how many."""
    made = 0
    with store.write() as conn:
        for ordinal, order in _slots(settings.overlap):
            rows = conn.execute(
                "SELECT p.id FROM pair p WHERE p.answer_a IS NOT NULL AND NOT EXISTS"
                " (SELECT 1 FROM slot s WHERE s.pair = p.id AND s.occurrence = 1"
                "  AND s.order_shown = ? AND s.ordinal = ?)",
                (order, ordinal),
            ).fetchall()
            conn.executemany(
                "INSERT INTO slot (id, pair, ordinal, order_shown, purpose, inclusion_probability)"
                " VALUES (?, ?, ?, ?, 'estimation', 1.0)",
                [(str(uuid.uuid4()), pair, ordinal, order) for (pair,) in rows],
            )
            made += len(rows)
        mark_drawn(conn)
    return made


def mark_drawn(conn: sqlite3.Connection) -> None:
    """Give the untouched slots of drawn pairs their draw's purpose and probability.

    A queue of suspects has places of its own: the ordinary ones stay what they are.
    """
    conn.execute(
        "UPDATE slot SET (purpose, inclusion_probability) ="
        " (SELECT d.purpose, d.inclusion_probability FROM draw_item d JOIN draw w ON w.id = d.draw"
        "  WHERE d.pair = slot.pair AND d.purpose <> 'queue'"
        "  ORDER BY w.number, d.position LIMIT 1)"
        " WHERE occurrence = 1 AND purpose <> 'queue' AND pair IN"
        "  (SELECT pair FROM draw_item WHERE pair IS NOT NULL AND purpose <> 'queue')"
        " AND NOT EXISTS (SELECT 1 FROM assignment a WHERE a.slot = slot.id)"
    )


def _slots(overlap: int) -> list[tuple[int, Order]]:
    orders = rule.slot_orders(overlap)
    return [(index // 2, order) for index, order in enumerate(orders)]


def next_screen(
    store: Store, rater: Rater, protocol: ProtocolSection, settings: AssignmentSection
) -> Screen | Empty:
    """The screen that a rater is on, leasing the next pair when the last one is done.

    Idempotent: asking again (a reload, a second tab) gives the same screen.
    """
    with store.write() as conn:
        return advance(store, conn, rater, protocol, settings)


def advance(
    store: Store,
    conn: sqlite3.Connection,
    rater: Rater,
    protocol: ProtocolSection,
    settings: AssignmentSection,
) -> Screen | Empty:
    """:func:`next_screen` inside the caller's transaction."""
    expire(conn)
    while True:
        held = _held(conn, rater.id) or _lease(store, conn, rater, protocol, settings)
        if held is None:
            return _why_empty(conn, rater, settings)
        screen = _open_screen(conn, rater, held, protocol)
        if screen is not None:
            _renew(conn, held, settings)
            return screen
        conn.execute(
            "UPDATE assignment SET state = 'done', finished_at = ? WHERE id = ?", (now(), held)
        )


def expire(conn: sqlite3.Connection) -> int:
    """Give back the slots of leases that ran out; returns how many."""
    return conn.execute(
        "UPDATE assignment SET state = 'expired' WHERE state = 'leased' AND expires_at < ?",
        (now(),),
    ).rowcount


def _held(conn: sqlite3.Connection, rater: str) -> str | None:
    row = conn.execute(
        "SELECT id FROM assignment WHERE rater = ? AND state = 'leased'"
        " ORDER BY leased_at, rowid LIMIT 1",
        (rater,),
    ).fetchone()
    return None if row is None else str(row[0])


def _lease(
    store: Store,
    conn: sqlite3.Connection,
    rater: Rater,
    protocol: ProtocolSection,
    settings: AssignmentSection,
) -> str | None:
    """Lease the best free (pair, slot) for a rater; returns the assignment's id."""
    shown = conn.execute(
        "SELECT p.model_a, p.model_b, a.order_shown, p.question FROM assignment a"
        " JOIN pair p ON p.id = a.pair WHERE a.rater = ? AND a.occurrence = 1"
        " AND a.state IN ('leased', 'done', 'skipped') ORDER BY a.leased_at, a.rowid",
        (rater.id,),
    ).fetchall()
    open_now = candidates(conn, rater.id, settings)
    suspect = None
    if not (open_now and _is_drawn(conn, open_now[0].pair_id)):
        suspect = suspects.free_place(conn, rater.id, settings)
    if suspect is not None:
        return _hold_slot(conn, rater, protocol, settings, *suspect)
    chosen = rule.choose(
        open_now,
        Balance.of((a, b, Order(order)) for a, b, order, _ in shown),
        last_question=shown[-1][3] if shown else None,
        seed=f"{store.study_id}|{rater.id}|{len(shown)}",
    )
    if chosen is None:
        return None
    candidate, order = chosen
    slot = _free_slot(conn, candidate.pair_id, order)
    return _hold_slot(conn, rater, protocol, settings, candidate.pair_id, slot, order)


def _is_drawn(conn: sqlite3.Connection, pair: str) -> bool:
    row = conn.execute("SELECT priority > 0 FROM pair WHERE id = ?", (pair,)).fetchone()
    return bool(row[0])


def _hold_slot(
    conn: sqlite3.Connection,
    rater: Rater,
    protocol: ProtocolSection,
    settings: AssignmentSection,
    pair: str,
    slot: str,
    order: Order,
) -> str:
    """Lease one slot for a rater; returns the assignment's id."""
    earlier = conn.execute(
        "SELECT id FROM assignment WHERE rater = ? AND pair = ? AND occurrence = 1"
        " AND state IN ('expired', 'released')",
        (rater.id, pair),
    ).fetchone()
    lease_id = earlier[0] if earlier else str(uuid.uuid4())
    until = after(settings.lease_minutes * 60)
    if earlier:
        # The same row again: screens and votes of the interrupted work stay attached to it.
        conn.execute(
            "UPDATE assignment SET slot = ?, state = 'leased', expires_at = ? WHERE id = ?",
            (slot, until, lease_id),
        )
    else:
        names = [d.name for d in protocol.dimensions]
        conn.execute(
            "INSERT INTO assignment (id, slot, rater, pair, occurrence, order_shown, dimensions,"
            " state, leased_at, expires_at) VALUES (?, ?, ?, ?, 1, ?, ?, 'leased', ?, ?)",
            (
                lease_id,
                slot,
                rater.id,
                pair,
                order,
                json.dumps(rule.dimension_order(names, rater.seat)),
                now(),
                until,
            ),
        )
    return str(lease_id)


def _free_slot(conn: sqlite3.Connection, pair: str, order: Order) -> str:
    row = conn.execute(
        "SELECT s.id FROM slot s WHERE s.pair = ? AND s.occurrence = 1 AND s.order_shown = ?"
        " AND s.purpose <> 'queue'"
        " AND NOT EXISTS (SELECT 1 FROM assignment h WHERE h.slot = s.id"
        "  AND h.state IN ('leased', 'done')) ORDER BY s.ordinal LIMIT 1",
        (pair, order),
    ).fetchone()
    if row is not None:
        return str(row[0])
    # The overlap was raised and this pair's further slots are not made yet.
    slot_id = str(uuid.uuid4())
    conn.execute(
        "INSERT INTO slot (id, pair, ordinal, order_shown, purpose, inclusion_probability)"
        " SELECT ?, ?, count(*), ?, 'estimation', 1.0 FROM slot"
        " WHERE pair = ? AND occurrence = 1 AND order_shown = ? AND purpose <> 'queue'",
        (slot_id, pair, order, pair, order),
    )
    mark_drawn(conn)
    return slot_id


# Serving order, with what is held of each pair's ordinary places. A rater who held a pair before
# (expired, released) may only get it back in the order they saw.
_OPEN_PAIRS = """
WITH queued AS (
  SELECT a.pair, sum(a.order_shown = 'ab') AS ab, sum(a.order_shown = 'ba') AS ba
  FROM slot s JOIN assignment a ON a.slot = s.id AND a.state IN ('leased', 'done')
  WHERE s.purpose = 'queue' AND s.occurrence = 1
    AND s.pair IN (SELECT pair FROM draw_item WHERE pair IS NOT NULL AND purpose = 'queue')
  GROUP BY a.pair
)
SELECT p.id, p.question, p.model_a, p.model_b,
  p.held_ab - coalesce(u.ab, 0) AS ab, p.held_ba - coalesce(u.ba, 0) AS ba, m.order_shown
FROM pair p
LEFT JOIN queued u ON u.pair = p.id
LEFT JOIN assignment m ON m.rater = :rater AND m.pair = p.id AND m.occurrence = 1
WHERE p.held_ab + p.held_ba - coalesce(u.ab + u.ba, 0) < :overlap
  AND p.answer_a IS NOT NULL AND p.excluded IS NULL
  -- An import in progress makes pairs first and slots last, when it is settled what is served.
  AND EXISTS (SELECT 1 FROM slot s WHERE s.pair = p.id AND s.occurrence = 1)
  AND (m.state IS NULL OR m.state IN ('expired', 'released'))
  AND (m.slot IS NULL OR (SELECT purpose FROM slot WHERE id = m.slot) <> 'queue')
  AND (m.order_shown IS NULL OR :per_order > iif(m.order_shown = 'ab',
    p.held_ab - coalesce(u.ab, 0), p.held_ba - coalesce(u.ba, 0)))
  AND p.id NOT IN (SELECT pair FROM skip GROUP BY pair HAVING count(DISTINCT rater) >= :skips)
  AND p.question NOT IN (SELECT q.id FROM rater_optout o JOIN question q USING (category)
                         WHERE o.rater = :rater)
ORDER BY p.priority DESC, p.draw_order
LIMIT :window
"""


def _open_values(rater: str, settings: AssignmentSection, window: int) -> dict[str, object]:
    return {
        "rater": rater,
        "skips": settings.skips_before_owner,
        "overlap": settings.overlap,
        "per_order": len(rule.slot_orders(settings.overlap)) // 2,
        "window": window,
    }


def candidates(
    conn: sqlite3.Connection, rater: str, settings: AssignmentSection
) -> Sequence[Candidate]:
    """Pairs that a rater may be given now, in serving order, at most a window of them."""
    values = _open_values(rater, settings, rule.WINDOW)
    per_order = len(rule.slot_orders(settings.overlap)) // 2
    found = []
    for pair, question, model_a, model_b, held_ab, held_ba, seen in conn.execute(
        _OPEN_PAIRS, values
    ):
        held = ((Order.AB, held_ab), (Order.BA, held_ba))
        orders = tuple(o for o, n in held if n < per_order and (seen is None or o == seen))
        if orders:
            found.append(Candidate(pair, question, model_a, model_b, orders))
    return found


def _open_screen(
    conn: sqlite3.Connection, rater: Rater, lease: str, protocol: ProtocolSection
) -> Screen | None:
    """The first screen of a lease without a standing vote; None when all are voted."""
    row = conn.execute(
        "SELECT a.dimensions, q.turns FROM assignment a JOIN pair p ON p.id = a.pair"
        " JOIN question q ON q.id = p.question WHERE a.id = ?",
        (lease,),
    ).fetchone()
    names, asked = json.loads(row[0]), asked_of(turns_from_json(json.loads(row[1])))
    voted = set(
        conn.execute(
            "SELECT s.turn, s.dimension FROM screen s JOIN current_vote v ON v.screen = s.id"
            " WHERE s.assignment = ?",
            (lease,),
        ).fetchall()
    )
    order = [(turn, name) for turn in asked for name in names]
    for position, (turn, name) in enumerate(order):
        if (turn, name) in voted:
            continue
        conn.execute(
            "INSERT OR IGNORE INTO screen"
            " (id, assignment, turn, dimension, position, protocol, shown_at)"
            " VALUES (?, ?, ?, ?, ?, ?, ?)",
            (str(uuid.uuid4()), lease, turn, name, position, protocol.id, now()),
        )
        found = conn.execute(
            "SELECT id FROM screen WHERE assignment = ? AND turn = ? AND dimension = ?",
            (lease, turn, name),
        ).fetchone()
        return screen(conn, rater.id, found[0])
    return None


def screen(conn: sqlite3.Connection, rater: str, screen_id: str) -> Screen:
    """A screen of a rater's.

    Raises:
        UnknownScreen: there is none, or it is somebody else's.
    """
    row = conn.execute(
        "SELECT s.id, s.assignment, a.rater, a.pair, a.order_shown, s.turn,"
        " q.turns, s.dimension, a.dimensions, s.position, a.occurrence,"
        " s.protocol, t.purpose, t.inclusion_probability"
        " FROM screen s JOIN assignment a ON a.id = s.assignment JOIN slot t ON t.id = a.slot"
        " JOIN pair p ON p.id = a.pair JOIN question q ON q.id = p.question"
        " WHERE s.id = ? AND a.rater = ?",
        (screen_id, rater),
    ).fetchone()
    if row is None:
        raise UnknownScreen("this screen is not yours or no longer exists; reload the page")
    names = ("id", "assignment", "rater", "pair", "order", "turn", "turns", "dimension")
    rest = ("dimensions", "position", "occurrence", "protocol", "purpose", "inclusion_probability")
    fields = dict(zip(names + rest, row, strict=True))
    turns = turns_from_json(json.loads(row[6]))
    fields |= {"order": Order(row[4]), "dimensions": tuple(json.loads(row[8]))}
    return Screen(**fields | {"turns": len(turns), "asked": tuple(asked_of(turns))})


def hold(conn: sqlite3.Connection, screen: Screen, settings: AssignmentSection) -> None:
    """Make sure the rater holds the screen's pair, taking it back if it is still free.

    Raises:
        LeaseLost: it was given to someone else, or closed.
    """
    state = conn.execute(
        "SELECT state FROM assignment WHERE id = ?", (screen.assignment,)
    ).fetchone()[0]
    if state == "expired":
        used = conn.execute(
            "SELECT count(*) FROM assignment a JOIN slot s ON s.id = a.slot WHERE a.pair = ?"
            " AND a.occurrence = ? AND a.state IN ('leased', 'done') AND s.purpose <> 'queue'",
            (screen.pair, screen.occurrence),
        ).fetchone()[0]
        taken = conn.execute(
            "SELECT 1 FROM assignment a JOIN assignment b ON b.slot = a.slot AND b.id <> a.id"
            " WHERE a.id = ? AND b.state IN ('leased', 'done')",
            (screen.assignment,),
        ).fetchone()
        ordinary = screen.purpose != Purpose.QUEUE
        if taken or (ordinary and used >= settings.overlap):
            raise LeaseLost(
                "this pair was open for too long and went to someone else; your earlier votes"
                " are kept, please go on with the next pair"
            )
        conn.execute("UPDATE assignment SET state = 'leased' WHERE id = ?", (screen.assignment,))
    elif state == "skipped":
        raise LeaseLost("that pair was skipped and stays set aside; go on with the one on screen")
    elif state != "leased":
        raise LeaseLost("this pair is closed; reload the page to go on with the next one")
    _renew(conn, screen.assignment, settings)


def _renew(conn: sqlite3.Connection, lease: str, settings: AssignmentSection) -> None:
    conn.execute(
        "UPDATE assignment SET expires_at = ? WHERE id = ?",
        (after(settings.lease_minutes * 60), lease),
    )


def heartbeat(store: Store, rater: str, settings: AssignmentSection) -> None:
    """Keep a rater's leases while their page is open."""
    with store.write() as conn:
        conn.execute(
            "UPDATE assignment SET expires_at = ? WHERE rater = ? AND state = 'leased'",
            (after(settings.lease_minutes * 60), rater),
        )


def skip(store: Store, screen: Screen, reason: str, note: str) -> None:
    """Close a rater's pair without a vote; after enough skips it is the owner's."""
    with store.write() as conn:
        skip_id = str(uuid.uuid4())
        closed = conn.execute(
            "UPDATE assignment SET state = 'skipped', finished_at = ?"
            " WHERE id = ? AND state = 'leased'",
            (now(), screen.assignment),
        ).rowcount
        if not closed:
            return  # a repeated click: the first one stands
        conn.execute(
            "INSERT INTO skip (id, assignment, rater, pair, reason, note, created_at)"
            " VALUES (?, ?, ?, ?, ?, ?, ?)",
            (skip_id, screen.assignment, screen.rater, screen.pair, reason, note, now()),
        )
        body = {"rater": screen.rater, "pair": screen.pair, "reason": reason}
        store.log(conn, "skip", skip_id, body)


def release(conn: sqlite3.Connection, rater: str, *, opted_out: bool = False) -> None:
    """Give back the pairs that a rater holds; with `opted_out`, those of declined categories."""
    conn.execute(
        "UPDATE assignment SET state = 'released' WHERE rater = ?1 AND state = 'leased'"
        " AND (NOT ?2 OR pair IN (SELECT p.id FROM pair p JOIN question q ON q.id = p.question"
        "  JOIN rater_optout o ON o.category = q.category WHERE o.rater = ?1))",
        (rater, opted_out),
    )


def pairs_done(store: Store, rater: Rater) -> int:
    """How many pairs a rater finished."""
    return _count(
        store.conn, "SELECT count(*) FROM assignment WHERE rater = ? AND state = 'done'", rater
    )


def progress(store: Store, rater: Rater, settings: AssignmentSection) -> Progress:
    """How many pairs a rater finished, and how many are open to them now."""
    conn = store.conn
    row = conn.execute(
        "SELECT count(*) FILTER (WHERE state = 'done'), count(*) FILTER (WHERE state = 'leased')"
        " FROM assignment WHERE rater = ?",
        (rater.id,),
    ).fetchone()
    open_now = conn.execute(
        f"SELECT count(*) FROM ({_OPEN_PAIRS})", _open_values(rater.id, settings, -1)
    ).fetchone()[0]
    open_now += suspects.free_pairs(conn, rater.id, settings)
    return Progress(done=row[0], open=row[1] + open_now)


def _why_empty(conn: sqlite3.Connection, rater: Rater, settings: AssignmentSection) -> Empty:
    """Name the reason: nothing imported, done, all leased until …, or not eligible."""
    done = _count(conn, "SELECT count(*) FROM assignment WHERE rater = ? AND state = 'done'", rater)
    total = _count(
        conn, "SELECT count(*) FROM pair WHERE answer_a IS NOT NULL AND excluded IS NULL"
    )
    if total == 0:
        return Empty("nothing_imported", done)
    leased = conn.execute(
        "SELECT count(*), min(a.expires_at) FROM assignment a JOIN pair p ON p.id = a.pair"
        " WHERE a.state = 'leased' AND a.rater <> ? AND p.excluded IS NULL"
        " AND NOT EXISTS (SELECT 1 FROM assignment m WHERE m.rater = ? AND m.pair = a.pair"
        "  AND m.state IN ('leased', 'done', 'skipped'))",
        (rater.id, rater.id),
    ).fetchone()
    if leased[0]:
        return Empty("all_leased", done, leased[0], leased[1])
    skipped = _count(
        conn, "SELECT count(*) FROM assignment WHERE rater = ? AND state = 'skipped'", rater
    )
    full = conn.execute(
        "SELECT count(*) FROM pair p WHERE p.answer_a IS NOT NULL AND p.excluded IS NULL AND"
        " (SELECT count(*) FROM assignment u WHERE u.pair = p.id AND u.occurrence = 1"
        "  AND u.state = 'done') < ?",
        (settings.overlap,),
    ).fetchone()[0]
    if full and done + skipped < total:
        return Empty("not_eligible", done)
    return Empty("done", done, skipped=skipped)


def _count(conn: sqlite3.Connection, sql: str, rater: Rater | None = None) -> int:
    return int(conn.execute(sql, () if rater is None else (rater.id,)).fetchone()[0])
