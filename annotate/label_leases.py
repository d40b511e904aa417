"""Answers to be labelled: which one a rater holds, and at which turn they are.

The counterpart of `leases` for single answers. An item is an answer at some turns; a lease is
a row of `label_assignment` in state `leased`, and unique indexes make two raters on one place,
or one rater twice on an item, impossible. Items of a drawn sample come first, in its order.
"""

from __future__ import annotations

import json
import sqlite3
import uuid
from dataclasses import dataclass

from . import library, suspects
from .errors import LeaseLost, UnknownScreen
from .leases import Empty, Progress
from .records import Layer, Purpose, Turn, asked_of, turns_from_json
from .seats import ADJUDICATOR, Rater
from .store import Store, after, now
from .study import AssignmentSection, ProtocolSection

WHOLE = 0
"""The turn of a label on the whole conversation."""


@dataclass(frozen=True, slots=True)
class LabelScreen:
    """What one rater is asked once: an answer up to a turn (0: all of it)."""

    id: str
    assignment: str
    rater: str
    item: str
    answer: str
    dimension: str
    turn: int
    turns: int
    asked: tuple[int, ...]
    """The turns of the question to which the answer replies."""
    position: int
    steps: int
    layer: Layer
    protocol: str
    purpose: str
    inclusion_probability: float | None


def prepare(store: Store, protocol: ProtocolSection, settings: AssignmentSection) -> int:
    """Make the missing items of every answer, if all are to be labelled; returns how many.

    One for each dimension on which answers are judged.
    """
    if settings.answers != "all":
        return 0
    return sum(
        _prepare(store, dimension, whole=words.turns == "whole")
        for dimension, words in protocol.answer_forms.items()
    )


def _prepare(store: Store, dimension: str, *, whole: bool) -> int:
    rows = store.conn.execute(
        "SELECT a.id, q.turns, a.turns FROM answer a JOIN question q ON q.id = a.question"
        " WHERE q.turns IS NOT NULL AND NOT EXISTS"
        " (SELECT 1 FROM label_item i WHERE i.answer = a.id AND i.layer = 'vote'"
        "  AND i.draw IS NULL AND i.dimension = ?)",
        (dimension,),
    ).fetchall()
    made = [
        (
            str(uuid.uuid4()),
            answer,
            dimension,
            json.dumps([WHOLE] if whole else turns),
            library.draw_order(store.study_id, answer),
            now(),
        )
        for answer, asked, said in rows
        if (turns := answered(_turns(asked), _turns(said)))
    ]
    if not made:
        return 0
    with store.write() as conn:
        return conn.executemany(
            "INSERT OR IGNORE INTO label_item (id, answer, dimension, turns, layer, purpose,"
            " inclusion_probability, serving, created_at)"
            " VALUES (?, ?, ?, ?, 'vote', 'estimation', 1.0, ?, ?)",
            made,
        ).rowcount


def answered(asked: tuple[Turn, ...], said: tuple[Turn, ...]) -> list[int]:
    """The asked turns to which an answer has a reply, empty ones included."""
    return [turn for turn in asked_of(asked) if turn <= len(said) and said[turn - 1]]


def advance(
    conn: sqlite3.Connection,
    rater: Rater,
    protocol: ProtocolSection,
    settings: AssignmentSection,
) -> LabelScreen | None:
    """The screen that a rater is on, leasing the next answer when the last one is done.

    None when there is nothing for them. Idempotent, inside the caller's transaction.
    """
    if not protocol.answer_forms:
        return None
    expire(conn)
    while True:
        held = _held(conn, rater.id, protocol) or _lease(conn, rater, protocol, settings)
        if held is None:
            return None
        found = _open_screen(conn, rater, held, protocol)
        if found is not None:
            _renew(conn, held, settings)
            return found
        conn.execute(
            "UPDATE label_assignment SET state = 'done', finished_at = ? WHERE id = ?",
            (now(), held),
        )


def expire(conn: sqlite3.Connection) -> int:
    """Give back the places of leases that ran out; returns how many."""
    return conn.execute(
        "UPDATE label_assignment SET state = 'expired' WHERE state = 'leased' AND expires_at < ?",
        (now(),),
    ).rowcount


def layer_of(rater: Rater) -> Layer:
    """Whose labels settle a disagreement, and whose may disagree."""
    return Layer.ADJUDICATED if rater.group == ADJUDICATOR else Layer.VOTE


def wanted(layer: Layer, settings: AssignmentSection) -> int:
    """How many labels an item is to have."""
    return 1 if layer is Layer.ADJUDICATED else settings.labels


def _held(conn: sqlite3.Connection, rater: str, protocol: ProtocolSection) -> str | None:
    row = conn.execute(
        "SELECT l.id FROM label_assignment l JOIN label_item i ON i.id = l.item"
        " WHERE l.rater = ? AND l.state = 'leased'"
        " AND i.dimension IN (SELECT value FROM json_each(?))"
        " ORDER BY l.leased_at, l.rowid LIMIT 1",
        (rater, _asked(protocol)),
    ).fetchone()
    return None if row is None else str(row[0])


def _asked(protocol: ProtocolSection) -> str:
    return json.dumps(list(protocol.answer_forms))


# An answer that a rater skipped does not come back to them in another item, on any dimension. A
# rater who has labelled a drawn answer already is not asked again: the item closes with it.
_OPEN = """
FROM label_item i JOIN answer a ON a.id = i.answer JOIN question q ON q.id = a.question
WHERE i.layer = :layer AND i.held < iif(i.purpose = 'queue' AND i.layer = 'vote', :suspect, :wanted)
  AND i.dimension IN (SELECT value FROM json_each(:asked))
  AND (i.draw IS NOT NULL OR :all)
  -- A suspect needs so many people in all, whatever they were asked for.
  AND (i.purpose <> 'queue' OR i.layer <> 'vote' OR
    (SELECT count(DISTINCT v.rater) FROM current_vote v JOIN rater r ON r.id = v.rater
      WHERE v.subject = 'answer' AND v.answer = i.answer AND v.turn = i.turns ->> 0
        AND v.dimension = i.dimension AND v.layer = 'vote' AND r.kind <> 'preview')
    + (SELECT count(*) FROM label_assignment l WHERE l.item = i.id AND l.state = 'leased')
    < :suspect)
  AND NOT EXISTS (SELECT 1 FROM answer_excluded x WHERE x.answer = i.answer)
  AND NOT EXISTS (SELECT 1 FROM label_assignment m WHERE m.item = i.id AND m.rater = :rater
                  AND m.state IN ('leased', 'done', 'skipped'))
  AND NOT EXISTS (SELECT 1 FROM label_skip s WHERE s.answer = i.answer AND s.rater = :rater)
  AND (SELECT count(DISTINCT s.rater) FROM label_skip s WHERE s.answer = i.answer) < :skips
  AND q.category NOT IN (SELECT category FROM rater_optout WHERE rater = :rater)
"""


def _open_values(
    rater: Rater, protocol: ProtocolSection, settings: AssignmentSection
) -> dict[str, object]:
    layer = layer_of(rater)
    return {
        "rater": rater.id,
        "layer": layer,
        "asked": _asked(protocol),
        "wanted": wanted(layer, settings),
        "suspect": suspects.NEEDED,
        "all": settings.answers == "all" or layer is Layer.ADJUDICATED,
        "skips": settings.skips_before_owner,
    }


def _lease(
    conn: sqlite3.Connection,
    rater: Rater,
    protocol: ProtocolSection,
    settings: AssignmentSection,
) -> str | None:
    """Lease the first open item for a rater; returns the assignment's id."""
    row = conn.execute(
        f"SELECT i.id {_OPEN} ORDER BY (i.draw IS NULL), iif(i.draw IS NULL, i.dimension, ''),"
        " i.serving, i.id LIMIT 1",
        _open_values(rater, protocol, settings),
    ).fetchone()
    if row is None:
        return None
    item, until = row[0], after(settings.lease_minutes * 60)
    place = _free_place(conn, item)
    earlier = conn.execute(
        "SELECT id FROM label_assignment WHERE rater = ? AND item = ?", (rater.id, item)
    ).fetchone()
    if earlier:
        # The same row again: screens and labels of the interrupted work stay attached to it.
        conn.execute(
            "UPDATE label_assignment SET place = ?, state = 'leased', expires_at = ? WHERE id = ?",
            (place, until, earlier[0]),
        )
        return str(earlier[0])
    lease_id = str(uuid.uuid4())
    conn.execute(
        "INSERT INTO label_assignment (id, item, rater, place, state, leased_at, expires_at)"
        " VALUES (?, ?, ?, ?, 'leased', ?, ?)",
        (lease_id, item, rater.id, place, now(), until),
    )
    return lease_id


def _free_place(conn: sqlite3.Connection, item: str) -> int:
    taken = {
        row[0]
        for row in conn.execute(
            "SELECT place FROM label_assignment WHERE item = ? AND state IN ('leased', 'done')",
            (item,),
        )
    }
    return next(place for place in range(len(taken) + 1) if place not in taken)


def _open_screen(
    conn: sqlite3.Connection, rater: Rater, lease: str, protocol: ProtocolSection
) -> LabelScreen | None:
    """The first turn of a lease without a standing label; None when all are labelled."""
    answer, dimension, listed, layer, purpose = conn.execute(
        "SELECT i.answer, i.dimension, i.turns, i.layer, i.purpose FROM label_assignment a"
        " JOIN label_item i ON i.id = a.item WHERE a.id = ?",
        (lease,),
    ).fetchone()
    labelled = {
        row[0]
        for row in conn.execute(
            "SELECT turn FROM current_vote WHERE subject = 'answer' AND answer = ?"
            " AND dimension = ? AND rater = ? AND occurrence = 1 AND layer = ?"
            # A label of the queue of suspects is in no sample: the sample asks again.
            " AND (purpose <> 'queue' OR ? = 'queue')",
            (answer, dimension, rater.id, layer, purpose),
        )
    }
    for position, turn in enumerate(json.loads(listed)):
        if turn in labelled:
            continue
        conn.execute(
            "INSERT OR IGNORE INTO label_screen"
            " (id, assignment, turn, position, protocol, shown_at) VALUES (?, ?, ?, ?, ?, ?)",
            (str(uuid.uuid4()), lease, turn, position, protocol.id, now()),
        )
        found = conn.execute(
            "SELECT id FROM label_screen WHERE assignment = ? AND turn = ?", (lease, turn)
        ).fetchone()
        return screen(conn, rater.id, found[0])
    return None


def is_screen(conn: sqlite3.Connection, screen_id: str) -> bool:
    """Whether a screen asks about an answer (else about a pair, or there is none)."""
    sql = "SELECT 1 FROM label_screen WHERE id = ?"
    return conn.execute(sql, (screen_id,)).fetchone() is not None


def screen(conn: sqlite3.Connection, rater: str, screen_id: str) -> LabelScreen:
    """A screen of a rater's.

    Raises:
        UnknownScreen: there is none, or it is somebody else's.
    """
    row = conn.execute(
        "SELECT s.id, s.assignment, a.rater, a.item, i.answer, s.turn, q.turns, i.dimension,"
        " s.position, i.turns, i.layer, s.protocol, i.purpose, i.inclusion_probability"
        " FROM label_screen s JOIN label_assignment a ON a.id = s.assignment"
        " JOIN label_item i ON i.id = a.item JOIN answer w ON w.id = i.answer"
        " JOIN question q ON q.id = w.question WHERE s.id = ? AND a.rater = ?",
        (screen_id, rater),
    ).fetchone()
    if row is None:
        raise UnknownScreen("this screen is not yours or no longer exists; reload the page")
    asked = _turns(row[6])
    return LabelScreen(
        id=row[0],
        assignment=row[1],
        rater=row[2],
        item=row[3],
        answer=row[4],
        dimension=row[7],
        turn=row[5],
        turns=len(asked),
        asked=tuple(asked_of(asked)),
        position=row[8],
        steps=len(json.loads(row[9])),
        layer=Layer(row[10]),
        protocol=row[11],
        purpose=row[12],
        inclusion_probability=row[13],
    )


def hold(conn: sqlite3.Connection, screen: LabelScreen, settings: AssignmentSection) -> None:
    """Make sure the rater holds the screen's answer, taking it back if it is still free.

    Raises:
        LeaseLost: it was given to someone else, or closed.
    """
    state, held = conn.execute(
        "SELECT a.state, i.held FROM label_assignment a JOIN label_item i ON i.id = a.item"
        " WHERE a.id = ?",
        (screen.assignment,),
    ).fetchone()
    if state == "expired":
        suspect = screen.purpose == Purpose.QUEUE and screen.layer is Layer.VOTE
        if held >= (suspects.NEEDED if suspect else wanted(screen.layer, settings)):
            raise LeaseLost(
                "this answer was open for too long and went to someone else; your earlier labels"
                " are kept, please go on with the next answer"
            )
        conn.execute(
            "UPDATE label_assignment SET state = 'leased', place = ? WHERE id = ?",
            (_free_place(conn, screen.item), screen.assignment),
        )
    elif state == "skipped":
        raise LeaseLost("that answer was skipped and stays set aside; go on with the one on screen")
    elif state != "leased":
        raise LeaseLost("this answer is closed; reload the page to go on with the next one")
    _renew(conn, screen.assignment, settings)


def reopen(conn: sqlite3.Connection, screen: LabelScreen, settings: AssignmentSection) -> None:
    """Open a finished answer again for its rater; `done` keeps its place.

    Raises:
        LeaseLost: it was given to someone else, or closed.
    """
    conn.execute(
        "UPDATE label_assignment SET state = 'leased', finished_at = NULL"
        " WHERE id = ? AND state = 'done'",
        (screen.assignment,),
    )
    hold(conn, screen, settings)


def _renew(conn: sqlite3.Connection, lease: str, settings: AssignmentSection) -> None:
    conn.execute(
        "UPDATE label_assignment SET expires_at = ? WHERE id = ?",
        (after(settings.lease_minutes * 60), lease),
    )


def heartbeat(store: Store, rater: str, settings: AssignmentSection) -> None:
    """Keep a rater's leases while their page is open."""
    with store.write() as conn:
        conn.execute(
            "UPDATE label_assignment SET expires_at = ? WHERE rater = ? AND state = 'leased'",
            (after(settings.lease_minutes * 60), rater),
        )


def skip(store: Store, screen: LabelScreen, reason: str, note: str) -> None:
    """Close a rater's answer without a label; after enough skips it is the owner's."""
    with store.write() as conn:
        closed = conn.execute(
            "UPDATE label_assignment SET state = 'skipped', finished_at = ?"
            " WHERE id = ? AND state = 'leased'",
            (now(), screen.assignment),
        ).rowcount
        if not closed:
            return  # a repeated click: the first one stands
        skip_id = str(uuid.uuid4())
        conn.execute(
            "INSERT INTO label_skip (id, assignment, rater, answer, reason, note, created_at)"
            " VALUES (?, ?, ?, ?, ?, ?, ?)",
            (skip_id, screen.assignment, screen.rater, screen.answer, reason, note, now()),
        )
        body = {"rater": screen.rater, "answer": screen.answer, "reason": reason}
        store.log(conn, "label_skip", skip_id, body)


def release(conn: sqlite3.Connection, rater: str, *, opted_out: bool = False) -> None:
    """Give back what a rater holds; with `opted_out`, only in categories they declined."""
    conn.execute(
        "UPDATE label_assignment SET state = 'released' WHERE rater = ?1 AND state = 'leased'"
        " AND (NOT ?2 OR item IN (SELECT i.id FROM label_item i JOIN answer a ON a.id = i.answer"
        "  JOIN question q ON q.id = a.question JOIN rater_optout o ON o.category = q.category"
        "  WHERE o.rater = ?1))",
        (rater, opted_out),
    )


def answers_done(store: Store, rater: Rater) -> int:
    """How many answers a rater finished."""
    return _count(
        store.conn,
        "SELECT count(*) FROM label_assignment WHERE rater = ? AND state = 'done'",
        rater.id,
    )


def progress(
    store: Store, rater: Rater, protocol: ProtocolSection, settings: AssignmentSection
) -> Progress:
    """How many answers a rater finished, and how many are open to them now."""
    leased = _count(
        store.conn,
        "SELECT count(*) FROM label_assignment WHERE rater = ? AND state = 'leased'",
        rater.id,
    )
    values = _open_values(rater, protocol, settings)
    free = store.conn.execute(f"SELECT count(*) {_OPEN}", values)
    return Progress(answers_done(store, rater), leased + int(free.fetchone()[0]))


def why_empty(
    conn: sqlite3.Connection, rater: Rater, protocol: ProtocolSection, settings: AssignmentSection
) -> Empty:
    """Name the reason: nothing there, done, all leased until …, or not eligible."""
    values = _open_values(rater, protocol, settings)
    mine = dict(
        conn.execute(
            "SELECT state, count(*) FROM label_assignment WHERE rater = ? GROUP BY 1", (rater.id,)
        ).fetchall()
    )
    done, skipped = mine.get("done", 0), mine.get("skipped", 0)
    served = (
        "FROM label_item i WHERE i.layer = :layer AND (i.draw IS NOT NULL OR :all)"
        " AND i.dimension IN (SELECT value FROM json_each(:asked))"
        " AND NOT EXISTS (SELECT 1 FROM answer_excluded x WHERE x.answer = i.answer)"
        " AND NOT EXISTS (SELECT 1 FROM label_assignment m WHERE m.item = i.id"
        "  AND m.rater = :rater AND m.state IN ('done', 'skipped'))"
    )
    if not done + skipped and not conn.execute(f"SELECT 1 {served} LIMIT 1", values).fetchone():
        return Empty("nothing_imported", 0)
    leased = conn.execute(
        "SELECT count(*), min(l.expires_at) FROM label_assignment l WHERE l.state = 'leased'"
        f" AND l.rater <> :rater AND l.item IN (SELECT i.id {served})",
        values,
    ).fetchone()
    if leased[0]:
        return Empty("all_leased", done, leased[0], leased[1])
    unfinished = conn.execute(
        f"SELECT 1 {served} AND (SELECT count(*) FROM label_assignment d WHERE d.item = i.id"
        " AND d.state = 'done') < :wanted LIMIT 1",
        values,
    ).fetchone()
    return Empty("not_eligible" if unfinished else "done", done, skipped=skipped)


def _count(conn: sqlite3.Connection, sql: str, *values: object) -> int:
    return int(conn.execute(sql, values).fetchone()[0])


def _turns(text: str) -> tuple[Turn, ...]:
    return turns_from_json(json.loads(text))
