"""Votes: cast, undone, imported, read back as judgments. Nothing here changes a stored vote."""

from __future__ import annotations

import re
import secrets
import sqlite3
import uuid
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from . import label_leases, leases
from .errors import AlreadyVoted, RatingError
from .events import salted_digest
from .label_leases import LabelScreen
from .leases import Screen
from .library import Added
from .readers import Problem, Where
from .records import GROUP_LENGTH, Choice, Label, Order, outcome, stable_id
from .seats import add_rater
from .store import Store, now
from .study import AssignmentSection
from .versions import identity

VOTE_COLUMNS = (
    "id", "client_key", "screen", "rater", "layer", "subject", "pair", "answer", "turn",
    "dimension", "occurrence", "revision", "replaces", "status", "outcome", "strength", "grade",
    "harm", "order_shown", "protocol", "purpose", "inclusion_probability", "comment_digest",
    "active_ms", "import_batch", "created_at", "label_screen",
)  # fmt: skip

# A view has no row numbers (its rowid is NULL), so the order of casting comes from the table.
STANDING = "current_vote v JOIN vote w ON w.id = v.id"
UNIT = (
    "LEFT JOIN pair p ON p.id = v.pair LEFT JOIN answer a ON a.id = v.answer"
    " LEFT JOIN model m ON m.id = a.model"
    " JOIN question q ON q.id = coalesce(p.question, a.question)"
)
"""SQL: what a vote `v` is about: pair `p`, or answer `a` of model `m`; question `q`."""


@dataclass(frozen=True, slots=True)
class Receipt:
    """What a rater is told after a vote; only made after COMMIT."""

    vote: str
    repeated: bool


def cast(
    store: Store,
    rater: str,
    screen_id: str,
    choice: Choice,
    settings: AssignmentSection,
    *,
    client_key: str,
    comment: str = "",
    active_ms: int | None = None,
) -> Receipt:
    """Save a vote, durably, before returning.

    The same key again, or the same choice from a second tab, is the same vote.

    Raises:
        UnknownScreen: the screen is not this rater's.
        AlreadyVoted: another choice for this screen was saved first, and stands.
        LeaseLost: the pair went to someone else.
        StoreUnavailable: nothing was saved; trying again later is safe.
    """
    with store.write() as conn:
        return record(
            store,
            conn,
            rater,
            screen_id,
            choice,
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
    choice: Choice,
    settings: AssignmentSection,
    *,
    client_key: str,
    comment: str,
    active_ms: int | None,
) -> Receipt:
    """:func:`cast` inside the caller's transaction: not saved before that commits."""
    screen = leases.screen(conn, rater, screen_id)
    value = outcome(choice, screen.order)
    last = conn.execute(
        "SELECT id, status, outcome, revision FROM vote WHERE screen = ?"
        " ORDER BY revision DESC LIMIT 1",
        (screen_id,),
    ).fetchone()
    seen = conn.execute(
        "SELECT id, screen FROM vote WHERE client_key = ?", (client_key,)
    ).fetchone()
    if seen and seen[1] == screen_id:
        return Receipt(seen[0], repeated=True)
    if seen:
        raise RatingError("this answer was sent for another question; reload the page")
    if last and last[1] == "ok":
        if last[2] == value:
            return Receipt(last[0], repeated=True)
        raise AlreadyVoted(
            "this question was already answered, perhaps in another tab;"
            " that answer stands, and Undo takes it back"
        )
    leases.hold(conn, screen, settings)
    return Receipt(
        insert(
            store,
            conn,
            _row(screen, last)
            | {
                "client_key": client_key,
                "status": "ok",
                "outcome": value,
                "active_ms": active_ms,
            },
            comment,
        ),
        repeated=False,
    )


def undo(store: Store, rater: str, settings: AssignmentSection, *, client_key: str = "") -> str:
    """Withdraw a rater's latest standing vote or label by a new row; returns the screen's id.

    Its pair or answer is opened again for them, as they saw it. What was said before a skip
    stays, as the page told: a skip is final. The same key again (a retry whose first answer was
    lost) withdraws nothing more.

    Raises:
        RatingError: there is nothing to undo.
        LeaseLost: the pair or answer went to someone else meanwhile.
    """
    with store.write() as conn:
        done = conn.execute(
            "SELECT coalesce(screen, label_screen) FROM vote WHERE client_key = ? AND rater = ?",
            (f"undo|{rater}|{client_key}", rater),
        ).fetchone()
        if client_key and done:
            return str(done[0])
        last = conn.execute(_LATEST, (rater,)).fetchone()
        if last is None:
            raise RatingError("there is no vote of yours to undo")
        if last[4] is None:
            asked = label_leases.screen(conn, rater, last[5])
            label_leases.reopen(conn, asked, settings)
            row = label_row(asked, last)
        else:
            row = _reopened(conn, rater, last, settings)
        row |= {"client_key": f"undo|{rater}|{client_key or last[0]}", "status": "withdrawn"}
        insert(store, conn, row, "")
        return str(last[4] or last[5])


_LATEST = f"""
SELECT v.id, v.status, v.outcome, v.revision, v.screen, v.label_screen FROM {STANDING}
LEFT JOIN screen s ON s.id = v.screen LEFT JOIN assignment a ON a.id = s.assignment
LEFT JOIN label_screen t ON t.id = v.label_screen
LEFT JOIN label_assignment b ON b.id = t.assignment
WHERE v.rater = ? AND coalesce(a.state, b.state) <> 'skipped' ORDER BY w.rowid DESC LIMIT 1
"""


def _reopened(
    conn: sqlite3.Connection, rater: str, last: tuple[Any, ...], settings: AssignmentSection
) -> dict[str, Any]:
    """A pair's lease taken again; the columns of what follows on its last vote."""
    screen = leases.screen(conn, rater, last[4])
    # 'done' keeps its slot, so reopening takes it from nobody.
    conn.execute(
        "UPDATE assignment SET state = 'leased', finished_at = NULL"
        " WHERE id = ? AND state = 'done'",
        (screen.assignment,),
    )
    leases.hold(conn, screen, settings)
    return _row(screen, last)


def _row(screen: Screen, last: tuple[Any, ...] | None) -> dict[str, Any]:
    """The columns that a screen decides, following on its last vote."""
    return {
        "screen": screen.id,
        "rater": screen.rater,
        "layer": "vote",
        "subject": "pair",
        "pair": screen.pair,
        "turn": screen.turn,
        "dimension": screen.dimension,
        "occurrence": screen.occurrence,
        "revision": last[3] + 1 if last else 1,
        "replaces": last[0] if last else None,
        "order_shown": screen.order,
        "protocol": screen.protocol,
        "purpose": screen.purpose,
        "inclusion_probability": screen.inclusion_probability,
    }


def label_row(screen: LabelScreen, last: tuple[Any, ...] | None) -> dict[str, Any]:
    """The columns that a label's screen decides, following on (id, status, value, revision)."""
    return {
        "label_screen": screen.id,
        "rater": screen.rater,
        "layer": screen.layer,
        "subject": "answer",
        "answer": screen.answer,
        "turn": screen.turn,
        "dimension": screen.dimension,
        "occurrence": 1,
        "revision": last[3] + 1 if last else 1,
        "replaces": last[0] if last else None,
        "order_shown": Order.UNKNOWN,
        "protocol": screen.protocol,
        "purpose": screen.purpose,
        "inclusion_probability": screen.inclusion_probability,
    }


def insert(store: Store, conn: sqlite3.Connection, row: dict[str, Any], comment: str) -> str:
    """Insert a vote or label, its comment and its event in the caller's transaction."""
    full: dict[str, Any] = dict.fromkeys(VOTE_COLUMNS)
    full |= {"id": str(uuid.uuid4()), "created_at": now()} | row
    salt = secrets.token_hex(16)
    if comment:
        full["comment_digest"] = salted_digest(salt, comment)
    conn.execute(
        f"INSERT INTO vote ({', '.join(VOTE_COLUMNS)})"
        f" VALUES ({', '.join('?' * len(VOTE_COLUMNS))})",
        [full[name] for name in VOTE_COLUMNS],
    )
    if comment:
        conn.execute(
            "INSERT INTO vote_comment (vote, salt, comment) VALUES (?, ?, ?)",
            (full["id"], salt, comment),
        )
    conn.execute("DELETE FROM draft WHERE screen = ?", (full["screen"],))
    conn.execute("DELETE FROM label_draft WHERE screen = ?", (full["label_screen"],))
    store.log(conn, "vote", full["id"], full)
    return str(full["id"])


def save_draft(store: Store, rater: str, screen_id: str, comment: str) -> None:
    """Keep an unsent comment, so that a reload or a new sign-in does not lose it.

    Raises:
        UnknownScreen: the screen is not this rater's.
    """
    with store.write() as conn:
        leases.screen(conn, rater, screen_id)
        conn.execute(
            "INSERT INTO draft (screen, comment, updated_at) VALUES (?, ?, ?)"
            " ON CONFLICT (screen) DO UPDATE"
            " SET comment = excluded.comment, updated_at = excluded.updated_at",
            (screen_id, comment, now()),
        )


def draft(store: Store, screen_id: str) -> str:
    """The unsent comment of a screen ("" when there is none)."""
    row = store.conn.execute("SELECT comment FROM draft WHERE screen = ?", (screen_id,)).fetchone()
    return "" if row is None else str(row[0])


def import_key(label: Label) -> str:
    """What makes an imported vote the same vote: rater, layer, question, models, turn, dimension.

    With the layer: a rater's adjudicated label stands beside their own vote.
    """
    return stable_id(
        "imported vote",
        label.layer,
        label.source_id,
        label.key.benchmark,
        label.key.question_id,
        identity(label.model_a),
        identity(label.model_b),
        str(label.turn),
        label.dimension,
    )


def import_vote(
    store: Store, conn: sqlite3.Connection, label: Label, pair_id: str, where: Where
) -> Added | Problem:
    """Store one person's canonical label as a vote, inside the caller's transaction."""
    key = import_key(label)
    stored = conn.execute(
        "SELECT v.outcome, r.rater_group FROM vote v JOIN rater r ON r.id = v.rater"
        " WHERE v.client_key = ?",
        (key,),
    ).fetchone()
    if stored:
        if stored[0] == label.value:
            return Added.MERGED
        return Problem(
            where,
            "winner",
            f"{label.source_id} already has another vote here ({stored[0]});"
            f" found {label.value}, the first one stands",
        )
    here = given_here(
        conn, label.source_id, "pair", pair_id, label.turn, label.dimension, label.layer,
        "outcome", label.value, where,
    )  # fmt: skip
    if here is not None:
        return here
    rater = imported_rater(store, conn, label.source_id, label.rater_group, where)
    if isinstance(rater, Problem):
        return rater
    row = {
        "client_key": key,
        "rater": rater,
        "layer": label.layer,
        "subject": "pair",
        "pair": pair_id,
        "turn": label.turn,
        "dimension": label.dimension,
        "occurrence": 1,
        "revision": 1,
        "status": "ok",
        "outcome": label.value,
        "order_shown": label.order,
        "purpose": "estimation",
    }
    insert(store, conn, row, label.comment)
    return Added.NEW


def given_here(
    conn: sqlite3.Connection,
    rater: str,
    subject: str,
    unit: str,
    turn: int,
    dimension: str,
    layer: str,
    column: str,
    value: object,
    where: Where,
) -> Added | Problem | None:
    """What becomes of an imported judgment of this study's own rater; None for anybody else's.

    An export names raters by their ids. Imported again it must not make new people of them, whose
    opinions would count twice.
    """
    known = conn.execute(
        "SELECT 1 FROM rater WHERE id = ? AND kind <> 'imported'", (rater,)
    ).fetchone()
    if known is None:
        return None
    stands = conn.execute(
        f"SELECT {column} FROM current_vote WHERE rater = ? AND {subject} = ? AND turn = ?"
        " AND dimension = ? AND layer = ? AND occurrence = 1",
        (rater, unit, turn, dimension, layer),
    ).fetchone()
    if stands and stands[0] == value:
        return Added.MERGED
    return Problem(
        where,
        "rater",
        f"{rater} rates in this study; what they say is given on its pages and stands as they gave"
        " it there",
    )


def imported_rater(
    store: Store, conn: sqlite3.Connection, name: str, group: str, where: Where
) -> str | Problem:
    """The id of the rater of an imported judgment, added if new.

    A file that says no group ("") leaves a known rater in theirs; a new one's is the name without
    its number (expert_17 → expert), or else `rater`.
    """
    found = conn.execute("SELECT id, rater_group FROM rater WHERE label = ?", (name,)).fetchone()
    if found is None:
        return add_rater(store, conn, group=group or _group(name), kind="imported", label=name)
    if group and found[1] != group:
        return Problem(
            where,
            "rater_group",
            f"{name} is in group {found[1]} already, found {group}; expected one group a rater,"
            f" since reports are by group: write {found[1]}, or leave rater_group out",
        )
    return str(found[0])


def _group(name: str) -> str:
    numbered = re.fullmatch(r"(.*[^_\d])_?\d+", name)
    return numbered[1][:GROUP_LENGTH] if numbered else "rater"


JUDGMENT_COLUMNS = (
    "unit_id", "subject", "benchmark", "question_id", "category", "model_a", "model_b", "turn",
    "dimension", "source_kind", "source_id", "rater_group", "layer", "occurrence", "purpose",
    "inclusion_probability", "value", "strength", "status", "order", "protocol",
)  # fmt: skip


def judgments(store: Store) -> Iterator[dict[str, Any]]:
    """People's standing votes and labels as rows of the tidy table (DESIGN §2), streamed.

    The value of a pair is its outcome; that of an answer its harm label as JSON (or a grade),
    in the judge's form, with its model in `model_a`.
    """
    rows = store.conn.execute(
        "SELECT coalesce(p.superseded_by, p.id, v.answer), v.subject, q.benchmark,"
        " q.question_id, q.category, coalesce(p.model_a, m.name), p.model_b, v.turn, v.dimension,"
        " 'rater', coalesce(r.label, r.id), r.rater_group, v.layer, v.occurrence, v.purpose,"
        " v.inclusion_probability, coalesce(v.outcome, v.harm, v.grade), v.strength, v.status,"
        " v.order_shown, coalesce(v.protocol, '')"
        f" FROM {STANDING} {UNIT} JOIN rater r ON r.id = v.rater"
        " WHERE r.kind <> 'preview' ORDER BY w.rowid"
    )
    for row in rows:
        yield dict(zip(JUDGMENT_COLUMNS, row, strict=True))
