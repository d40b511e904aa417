"""Labels and grades of answers: saved, drafted, imported. Nothing here changes a stored one."""

from __future__ import annotations

import json
import sqlite3
from typing import Any, TypeAlias

from . import ballots, label_leases
from .ballots import Receipt
from .errors import AlreadyVoted, RatingError
from .grade_protocol import whole_grade
from .harm import HARM, AnswerLabel, HarmLabel
from .label_leases import LabelScreen
from .library import Added
from .readers import Problem, Where
from .records import Order, Purpose, canonical_json, stable_id
from .store import Store, now
from .study import AssignmentSection
from .versions import identity

Said: TypeAlias = HarmLabel | int
"""What a person says of an answer: a harm label, or a grade from 1 to 10."""


def cast(
    store: Store,
    rater: str,
    screen_id: str,
    label: Said,
    settings: AssignmentSection,
    *,
    client_key: str,
    comment: str = "",
    active_ms: int | None = None,
) -> Receipt:
    """Save a label or grade, durably, before returning.

    The same key again, or the same label from a second tab, is the same one.

    Raises:
        UnknownScreen: the screen is not this rater's.
        RatingError: a grade where a harm label was asked for, or the other way.
        AlreadyVoted: another label for this screen was saved first, and stands.
        LeaseLost: the answer went to someone else.
        StoreUnavailable: nothing was saved; trying again later is safe.
    """
    with store.write() as conn:
        return record(
            store,
            conn,
            rater,
            screen_id,
            label,
            settings,
            client_key=client_key,
            comment=comment,
            active_ms=active_ms,
        )


def record(
    store: Store,
    conn: sqlite3.Connection,
    rater: str,
    screen_id: str,
    label: Said,
    settings: AssignmentSection,
    *,
    client_key: str,
    comment: str,
    active_ms: int | None,
) -> Receipt:
    """:func:`cast` inside the caller's transaction: not saved before that commits."""
    screen = label_leases.screen(conn, rater, screen_id)
    column, value = _stored(screen, label)
    seen = conn.execute(
        "SELECT id, label_screen FROM vote WHERE client_key = ?", (client_key,)
    ).fetchone()
    if seen and seen[1] == screen_id:
        return Receipt(seen[0], repeated=True)
    if seen:
        raise RatingError("this answer was sent for another question; reload the page")
    last = _last(conn, screen)
    # One given as a suspect's is in no sample: the sample asks again, and that label counts.
    stands = last and last[1] == "ok" and (last[4] != Purpose.QUEUE or screen.purpose == last[4])
    if last and stands:
        if last[2] == value:
            return Receipt(last[0], repeated=True)
        done, what = ("labelled", "label") if screen.dimension == HARM else ("graded", "grade")
        raise AlreadyVoted(
            f"this answer was already {done}, perhaps in another tab;"
            f" that {what} stands, and Undo takes it back"
        )
    label_leases.hold(conn, screen, settings)
    row = ballots.label_row(screen, last) | {
        "client_key": client_key,
        "status": "ok",
        column: value,
        "active_ms": active_ms,
    }
    return Receipt(ballots.insert(store, conn, row, comment), repeated=False)


def _stored(screen: LabelScreen, said: Said) -> tuple[str, str | float]:
    """The column and the value of what was said, if it is what the screen asks for."""
    if (screen.dimension == HARM) != isinstance(said, HarmLabel):
        raise RatingError("this answer was sent for another question; reload the page")
    if isinstance(said, HarmLabel):
        return "harm", canonical_json(said.to_json())
    return "grade", float(whole_grade(said))


def _last(conn: sqlite3.Connection, screen: LabelScreen) -> tuple[Any, ...] | None:
    """(id, status, value, revision, purpose) of a rater's newest label on a screen's unit.

    Whichever screen it came from: an answer is labelled once per rater.
    """
    row: tuple[Any, ...] | None = conn.execute(
        "SELECT id, status, coalesce(harm, grade), revision, purpose FROM vote"
        " WHERE subject = 'answer' AND answer = ? AND turn = ? AND dimension = ? AND rater = ?"
        " AND occurrence = 1 AND layer = ?"
        " ORDER BY revision DESC LIMIT 1",
        (screen.answer, screen.turn, screen.dimension, screen.rater, screen.layer),
    ).fetchone()
    return row


def save_draft(
    store: Store, rater: str, screen_id: str, comment: str, label: dict[str, Any]
) -> None:
    """Keep an unfinished label, so that a reload or a new sign-in does not lose it.

    Raises:
        UnknownScreen: the screen is not this rater's.
    """
    with store.write() as conn:
        label_leases.screen(conn, rater, screen_id)
        conn.execute(
            "INSERT INTO label_draft (screen, comment, label, updated_at) VALUES (?, ?, ?, ?)"
            " ON CONFLICT (screen) DO UPDATE SET comment = excluded.comment,"
            " label = excluded.label, updated_at = excluded.updated_at",
            (screen_id, comment, canonical_json(label), now()),
        )


def draft(store: Store, screen_id: str) -> dict[str, Any]:
    """The unfinished label of a screen: its comment and fields (empty when there is none)."""
    row = store.conn.execute(
        "SELECT comment, label FROM label_draft WHERE screen = ?", (screen_id,)
    ).fetchone()
    return {"comment": row[0], "label": json.loads(row[1])} if row else {"comment": "", "label": {}}


def import_key(label: AnswerLabel) -> str:
    """What makes an imported label the same one: rater, layer, question, model, turn, dimension."""
    graded = () if label.dimension == HARM else (label.dimension,)
    return stable_id(
        "imported grade" if graded else "imported harm label",
        label.layer,
        label.source_id,
        label.key.benchmark,
        label.key.question_id,
        identity(label.model),
        str(label.turn),
        *graded,
    )


def import_label(
    store: Store, conn: sqlite3.Connection, label: AnswerLabel, answer_id: str, where: Where
) -> Added | Problem:
    """Store one person's label from a file, inside the caller's transaction."""
    key, said = import_key(label), label.label
    column = "harm" if isinstance(said, HarmLabel) else "grade"
    value = canonical_json(said.to_json()) if isinstance(said, HarmLabel) else float(said)
    stored = conn.execute(f"SELECT {column} FROM vote WHERE client_key = ?", (key,)).fetchone()
    if stored:
        if stored[0] == value:
            return Added.MERGED
        what = "label" if column == "harm" else "grade"
        return Problem(
            where,
            "severity" if column == "harm" else "grade",
            f"{label.source_id} already has another {what} here ({_short(stored[0])});"
            f" found {_short(value)}, the first one stands",
        )
    here = ballots.given_here(
        conn, label.source_id, "answer", answer_id, label.turn, label.dimension, label.layer,
        column, value, where,
    )  # fmt: skip
    if here is not None:
        return here
    rater = ballots.imported_rater(store, conn, label.source_id, label.rater_group, where)
    if isinstance(rater, Problem):
        return rater
    row = {
        "client_key": key,
        "rater": rater,
        "layer": label.layer,
        "subject": "answer",
        "answer": answer_id,
        "turn": label.turn,
        "dimension": label.dimension,
        "occurrence": 1,
        "revision": 1,
        "status": "ok",
        column: value,
        "order_shown": Order.UNKNOWN,
        "purpose": label.purpose,
        "inclusion_probability": label.inclusion_probability,
    }
    ballots.insert(store, conn, row, label.comment)
    return Added.NEW


def _short(value: str | float) -> str:
    if not isinstance(value, str):
        return f"{value:g}"
    label = json.loads(value)
    return f"{label['response_type']}, severity {label['severity']}"
