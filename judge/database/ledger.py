"""Calls and what follows from them, inside the caller's transaction.

An attempt is appended and never changed. Verdicts, pair verdicts and answer verdicts are
derived: whatever is written here can be written again from the raw replies.
"""

from __future__ import annotations

import sqlite3
from dataclasses import dataclass

from annotate.batches import in_batches
from annotate.records import Choice, Order, Status, Subject, canonical_json, whole_text
from judge.ask.parse import PARSER_VERSION, Parsed, parse_call
from judge.ask.verdicts import PairVerdict, Verdict, combine
from judge.engine.replies import Reply

NO_REPLY = (Status.API_ERROR, Status.TIMEOUT, Status.SKIPPED_BUDGET)
"""Statuses of requests that brought nothing; they are asked again by the next run."""

JudgedUnit = tuple[str, str, str, int, str, int]
"""Run, subject, pair or answer, turn, dimension, replicate: what one judgment is about."""


@dataclass(frozen=True, slots=True)
class Ended:
    """One call that has ended.

    `final` is False for a failed call that is about to be tried again: it is logged, and
    the request stays unanswered. A reply is always final.
    """

    key: str
    call: Reply
    final: bool


PIECE = 100
"""Replies that are read at once."""


def record(conn: sqlite3.Connection, run_id: str, ended: Ended) -> Parsed:
    """Append one call and derive what follows from it; returns what it says itself.

    A usable verdict that is committed stands, whatever comes later; and a call without a
    reply never replaces a committed reply.
    """
    call, key = ended.call, ended.key
    attempt = insert_attempt(conn, run_id, key, call)
    parsed = parsed_of(conn, key, call.status, call.raw, call.error_class)
    standing = _standing(conn, key)
    late = call.status in NO_REPLY and (not ended.final or standing not in (None, *NO_REPLY))
    if standing != Status.OK and not late:
        put_verdict(conn, key, attempt, parsed)
    return parsed


def insert_attempt(conn: sqlite3.Connection, run_id: str, key: str, call: Reply) -> int:
    """Append one call to the log; returns its id."""
    inserted = conn.execute(
        "INSERT INTO judge_attempt (run, request, started_at, finished_at, status, http_status,"
        " raw, served_model, system_fingerprint, prompt_tokens, completion_tokens, latency_ms,"
        " error_class, error_text, endpoint)"
        " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        (
            run_id,
            key,
            call.started_at,
            call.finished_at,
            "reply" if call.status is Status.OK else call.status,
            call.http_status,
            call.raw,
            _text(call.served_model),
            _text(call.system_fingerprint),
            call.prompt_tokens,
            call.completion_tokens,
            call.latency_ms,
            _text(call.error_class),
            _text(call.error_text),
            call.endpoint,
        ),
    )
    return int(inserted.lastrowid or 0)


def put_verdict(conn: sqlite3.Connection, key: str, attempt: int | None, parsed: Parsed) -> None:
    """Write or replace a request's verdict, and every judgment that rests on it."""
    harm = None if parsed.harm is None else canonical_json(parsed.harm.to_json())
    conn.execute(
        "INSERT INTO verdict (request, attempt, status, choice, grade, harm, detail, parser)"
        " VALUES (?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (request) DO UPDATE SET"
        " attempt = excluded.attempt, status = excluded.status, choice = excluded.choice,"
        " grade = excluded.grade, harm = excluded.harm, detail = excluded.detail,"
        " parser = excluded.parser",
        (
            key,
            attempt,
            parsed.status,
            parsed.choice,
            parsed.grade,
            harm,
            _text(parsed.detail),
            PARSER_VERSION,
        ),
    )
    for unit in _units(conn, key):
        derive(conn, unit)


def derive(conn: sqlite3.Connection, unit: JudgedUnit) -> None:
    """The judgment on a unit, once everything it rests on has a verdict; else none."""
    run, subject, subject_id, turn, dimension, replicate = unit
    column = "pair" if subject == Subject.PAIR else "answer"
    # The subject is named for the planner: the index on the place holds one subject only,
    # and by run alone this would read the whole plan again for every reply.
    rows = conn.execute(
        "SELECT i.order_shown, v.status, v.choice, v.grade, v.harm, v.detail FROM judge_item i"
        f" JOIN verdict v ON v.request = i.request WHERE i.subject = '{column}' AND i.run = ?"
        f" AND i.{column} = ? AND i.turn = ? AND i.dimension = ? AND i.replicate = ?",
        (run, subject_id, turn, dimension, replicate),
    ).fetchall()
    place = (run, subject_id, turn, dimension, replicate)
    if subject == Subject.ANSWER and rows:
        _order, status, _choice, grade, harm, detail = rows[0]
        add_answer_verdict(conn, place, status, grade, harm, "" if status == "ok" else detail)
    elif subject == Subject.PAIR and len(rows) == 2:
        sides = {
            order: Verdict.of(Status(status), Choice(choice) if choice else None, Order(order))
            for order, status, choice, *_rest in rows
        }
        add_pair_verdict(conn, place, combine(sides["ab"], sides["ba"]))
    else:
        conn.execute(
            f"DELETE FROM {column}_verdict WHERE run = ? AND {column} = ? AND turn = ?"
            " AND dimension = ? AND replicate = ?",
            place,
        )


Place = tuple[str, str, int, str, int]
"""Run, pair or answer, turn, dimension, replicate: the key of a judgment's row."""


def add_pair_verdict(conn: sqlite3.Connection, place: Place, verdict: PairVerdict) -> None:
    """Write or replace one pair verdict."""
    conn.execute(
        "INSERT INTO pair_verdict"
        " (run, pair, turn, dimension, replicate, status, outcome, reason, orders)"
        " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)"
        " ON CONFLICT (run, pair, turn, dimension, replicate) DO UPDATE SET"
        " status = excluded.status, outcome = excluded.outcome, reason = excluded.reason,"
        " orders = excluded.orders",
        (*place, verdict.status, verdict.outcome, verdict.reason, verdict.orders),
    )


def add_answer_verdict(
    conn: sqlite3.Connection,
    place: Place,
    status: str,
    grade: float | None,
    harm: str | None,
    reason: str = "",
) -> None:
    """Write or replace one answer's grade or harm label (as JSON), or its failure."""
    conn.execute(
        "INSERT INTO answer_verdict"
        " (run, answer, turn, dimension, replicate, status, grade, harm, reason)"
        " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)"
        " ON CONFLICT (run, answer, turn, dimension, replicate) DO UPDATE SET"
        " status = excluded.status, grade = excluded.grade, harm = excluded.harm,"
        " reason = excluded.reason",
        (*place, status, grade, harm, reason),
    )


def parsed_of(
    conn: sqlite3.Connection, key: str, call: Status, raw: str | None, error: str | None
) -> Parsed:
    """What a call says: its reply's text, or its own failure."""
    offered, form = conn.execute(
        "SELECT offered, json_extract(body, '$.response_format.type') FROM judge_request"
        " WHERE key = ?",
        (key,),
    ).fetchone()
    return parse_call(call, raw, error, offered, as_json=form == "json_schema")


def read_again(conn: sqlite3.Connection) -> int:
    """Derive every verdict again from its raw reply; returns how many changed."""
    changed = 0
    keys = [row[0] for row in conn.execute("SELECT request FROM verdict ORDER BY request")]
    for piece in in_batches(keys, PIECE):
        rows = conn.execute(
            "SELECT v.request, v.attempt, v.status, v.choice, v.grade, v.harm, a.status,"
            " a.raw, a.error_class FROM verdict v JOIN judge_attempt a ON a.id = v.attempt"
            f" WHERE v.request IN ({', '.join('?' * len(piece))})",
            tuple(piece),
        ).fetchall()
        for key, attempt, status, choice, grade, harm, call, raw, error in rows:
            parsed = parsed_of(conn, key, call_status(call), raw, error)
            label = None if parsed.harm is None else canonical_json(parsed.harm.to_json())
            changed += (parsed.status, parsed.choice, parsed.grade, label) != (
                status, choice, grade, harm
            )  # fmt: skip
            put_verdict(conn, key, attempt, parsed)
    return changed


def call_status(stored: str) -> Status:
    """A call's status as stored, in the words of judgments: a reply is `ok`."""
    return Status.OK if stored == "reply" else Status(stored)


def _units(conn: sqlite3.Connection, key: str) -> list[JudgedUnit]:
    """Everything, in any run, that a request's answer is for."""
    return conn.execute(
        "SELECT DISTINCT run, subject, coalesce(pair, answer), turn, dimension, replicate"
        " FROM judge_item WHERE request = ?",
        (key,),
    ).fetchall()


def has_reply(conn: sqlite3.Connection, key: str) -> bool:
    """Whether a request has a committed reply, usable or not."""
    return _standing(conn, key) not in (None, *NO_REPLY)


def _standing(conn: sqlite3.Connection, key: str) -> str | None:
    """The status of a request's verdict, if it has one."""
    row = conn.execute("SELECT status FROM verdict WHERE request = ?", (key,)).fetchone()
    return None if row is None else str(row[0])


def _text(value: str | None) -> str | None:
    """An endpoint's own words, as SQLite takes them."""
    return None if value is None else whole_text(value)
