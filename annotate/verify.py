"""Recompute everything that can be recomputed, and name every break."""

from __future__ import annotations

import json
import sqlite3
from dataclasses import dataclass

from .ballots import VOTE_COLUMNS
from .events import check_chains, salted_digest
from .library import question_digest
from .planned import drawn_items
from .records import INLINE, Answer, Pair, QuestionKey, Turn, digest, turns_from_json
from .store import Store


@dataclass(frozen=True, slots=True)
class Verification:
    """What was checked, and the breaks in words (none: the study is as it was written)."""

    checked: dict[str, int]
    heads: dict[str, str]
    breaks: list[str]


def verify(store: Store) -> Verification:
    """Check the file, the chains, every vote against its event, and content against ids."""
    with store.snapshot() as conn:
        chains = check_chains(conn)
        breaks = [*_file(conn), *chains.breaks]
        votes, vote_breaks = _votes(conn)
        pairs, pair_breaks = _pairs(conn)
        protocols, protocol_breaks = _protocols(conn)
        breaks += vote_breaks + _comments(conn) + pair_breaks + protocol_breaks
        breaks += _texts(conn) + _people(conn) + _leases(conn)
        breaks += _labels(conn) + _draws(conn) + _opt_outs(conn)
    checked = {
        "events": chains.events,
        "removed bodies": chains.removed_bodies,
        "votes": votes,
        "pairs": pairs,
        "protocols": protocols,
    }
    return Verification(checked, chains.heads, breaks)


def _file(conn: sqlite3.Connection) -> list[str]:
    rows = conn.execute("PRAGMA integrity_check").fetchall()
    breaks = [f"database file: {row[0]}" for row in rows if row[0] != "ok"]
    broken = conn.execute("PRAGMA foreign_key_check").fetchall()
    return breaks + [f"{row[0]} row {row[1]}: points to a missing {row[2]}" for row in broken]


def _votes(conn: sqlite3.Connection) -> tuple[int, list[str]]:
    """Every vote equals what its event recorded; every vote event still has its vote."""
    breaks = []
    logged: dict[str, str | None] = {}
    for subject, body in conn.execute(
        "SELECT e.subject, b.body FROM event e LEFT JOIN event_body b ON b.hash = e.hash"
        " WHERE e.kind = 'vote'"
    ):
        if subject in logged:
            breaks.append(f"vote {subject}: logged twice")
        logged[subject] = body
    count = 0
    for row in conn.execute(f"SELECT {', '.join(VOTE_COLUMNS)} FROM vote"):
        count += 1
        body = logged.pop(row[0], "")
        if body == "":
            breaks.append(f"vote {row[0]}: stands in the table but not in the event log")
        elif body is not None:
            recorded = json.loads(body)
            if not isinstance(recorded, dict):
                recorded = {}  # the chain names it too: its body was changed
            changed = [
                name
                for name, value in zip(VOTE_COLUMNS, row, strict=True)
                if recorded.get(name) != value
            ]
            if changed:
                breaks.append(f"vote {row[0]}: {', '.join(changed)} changed since it was cast")
    breaks += [f"vote {vote}: was logged but is gone" for vote in logged]
    return count, breaks


def _comments(conn: sqlite3.Connection) -> list[str]:
    rows = conn.execute(
        "SELECT c.vote, c.salt, c.comment, v.comment_digest FROM vote_comment c"
        " JOIN vote v ON v.id = c.vote"
    )
    return [
        f"vote {vote}: its comment was changed"
        for vote, salt, comment, recorded in rows
        if salted_digest(salt, comment) != recorded
    ]


def _pairs(conn: sqlite3.Connection) -> tuple[int, list[str]]:
    """Pair ids and answer hashes recomputed from the stored texts."""
    breaks = []
    answers: dict[str, Answer] = {}
    for row_id, benchmark, question, name, stored, turns in conn.execute(
        "SELECT a.id, q.benchmark, q.question_id, m.name, a.hash, a.turns FROM answer a"
        " JOIN question q ON q.id = a.question JOIN model m ON m.id = a.model"
    ):
        key = QuestionKey(benchmark, question)
        try:
            answer = Answer(key, name, turns_from_json(json.loads(turns)))
        except (KeyError, TypeError, ValueError):
            answer = Answer(key, name)
        answers[row_id] = answer
        if answer.hash != stored:
            breaks.append(f"answer of {name} to question {question}: its text was changed")
    count = 0
    for pair_id, benchmark, question, model_a, model_b, one, other in conn.execute(
        "SELECT p.id, q.benchmark, q.question_id, p.model_a, p.model_b, p.answer_a, p.answer_b"
        " FROM pair p JOIN question q ON q.id = p.question"
    ):
        count += 1
        key = QuestionKey(benchmark, question)
        a = answers.get(one) or Answer(key, model_a)
        b = answers.get(other) or Answer(key, model_b)
        if Pair(key, a, b).id != pair_id:
            breaks.append(f"pair {pair_id} (question {question}): does not match its answers")
    return count, breaks


# Rows that must equal what their event recorded, as JSON objects of the same keys.
RECORDED = {
    "rater": "SELECT id, json_object('group', rater_group, 'kind', kind, 'label', label)"
    " FROM rater",
    "consent": "SELECT id, json_object('rater', rater, 'protocol', protocol,"
    " 'agreed', json(iif(agreed, 'true', 'false'))) FROM consent",
    "setting": "SELECT id, body FROM setting",
    "skip": "SELECT id, json_object('rater', rater, 'pair', pair, 'reason', reason) FROM skip",
    "label_skip": "SELECT id, json_object('rater', rater, 'answer', answer, 'reason', reason)"
    " FROM label_skip",
    "draw": "SELECT id, json_object('digest', digest) FROM draw",
}


def _people(conn: sqlite3.Connection) -> list[str]:
    """Raters, consents, settings and skips against their events."""
    breaks = []
    for kind, sql in RECORDED.items():
        logged = dict(
            conn.execute(
                "SELECT e.subject, b.body FROM event e LEFT JOIN event_body b ON b.hash = e.hash"
                " WHERE e.kind = ?",
                (kind,),
            ).fetchall()
        )
        for row_id, row in conn.execute(sql):
            body = logged.pop(row_id, "")
            if body == "":
                breaks.append(f"{kind} {row_id}: stands in the table but not in the event log")
            elif body is not None and json.loads(body) != json.loads(row):
                breaks.append(f"{kind} {row_id}: changed since it was recorded")
        breaks += [f"{kind} {row_id}: was logged but is gone" for row_id in logged]
    return breaks


def _texts(conn: sqlite3.Connection) -> list[str]:
    """Questions and references against what their import logged (the last time, if filled in)."""
    logged = dict(
        conn.execute(
            "SELECT e.kind || e.subject, b.body FROM event e JOIN event_body b ON b.hash = e.hash"
            " WHERE e.kind IN ('questions', 'references', 'inline references')"
            " ORDER BY e.created_at, e.rowid"
        ).fetchall()
    )
    breaks = []
    for row_id, number, turns in conn.execute(
        "SELECT id, question_id, turns FROM question WHERE turns IS NOT NULL"
    ):
        body = logged.get(f"questions{row_id}")
        if body and json.loads(body)["turns"] != question_digest(_turns(turns)):
            breaks.append(f"question {number}: its text is not the one that was imported")
    for row_id, kind, turns in conn.execute(
        "SELECT id, iif(source = ?, 'inline references', 'references'), turns FROM reference",
        (INLINE,),
    ):
        body = logged.get(f"{kind}{row_id}")
        if body and json.loads(body)["hash"] != digest(json.loads(turns)):
            breaks.append(f"reference {row_id}: its text is not the one that was imported")
    return breaks


def _turns(text: str) -> tuple[Turn, ...]:
    return turns_from_json(json.loads(text))


def _protocols(conn: sqlite3.Connection) -> tuple[int, list[str]]:
    rows = conn.execute("SELECT id, body FROM protocol").fetchall()
    return len(rows), [
        f"protocol {row[0][:12]}: its text was changed"
        for row in rows
        if digest(json.loads(row[1])) != row[0]
    ]


def _leases(conn: sqlite3.Connection) -> list[str]:
    """No vote under another order than its assignment showed, none by another rater."""
    rows = conn.execute(
        "SELECT v.id FROM vote v JOIN screen s ON s.id = v.screen"
        " JOIN assignment a ON a.id = s.assignment"
        " WHERE v.order_shown <> a.order_shown OR v.rater <> a.rater OR v.pair <> a.pair"
    )
    breaks = [f"vote {row[0]}: does not match the screen it was cast on" for row in rows]
    rows = conn.execute(
        "SELECT p.id FROM pair p LEFT JOIN (SELECT pair, count(*) FILTER (WHERE order_shown = 'ab')"
        " AS ab, count(*) FILTER (WHERE order_shown = 'ba') AS ba FROM assignment"
        " WHERE occurrence = 1 AND state IN ('leased', 'done') GROUP BY pair) h ON h.pair = p.id"
        " WHERE p.held_ab <> coalesce(h.ab, 0) OR p.held_ba <> coalesce(h.ba, 0)"
    )
    return breaks + [f"pair {row[0]}: its count of held slots is wrong" for row in rows]


def _labels(conn: sqlite3.Connection) -> list[str]:
    """No label by another rater, of another answer or turn than its screen asked about."""
    rows = conn.execute(
        "SELECT v.id FROM vote v JOIN label_screen s ON s.id = v.label_screen"
        " JOIN label_assignment a ON a.id = s.assignment JOIN label_item i ON i.id = a.item"
        " WHERE v.rater <> a.rater OR v.answer <> i.answer OR v.turn <> s.turn"
        " OR v.layer <> i.layer OR v.dimension <> i.dimension"
    )
    breaks = [f"label {row[0]}: does not match the screen it was given on" for row in rows]
    rows = conn.execute(
        "SELECT i.id FROM label_item i WHERE i.held <> (SELECT count(*) FROM label_assignment a"
        " WHERE a.item = i.id AND a.state IN ('leased', 'done'))"
    )
    return breaks + [f"label item {row[0]}: its count of held places is wrong" for row in rows]


def _draws(conn: sqlite3.Connection) -> list[str]:
    """Every drawn sample is the one that was put into the queues."""
    rows = conn.execute("SELECT id, digest FROM draw").fetchall()
    return [f"draw {one}: its items were changed" for one, said in rows
            if digest(drawn_items(conn, one)) != said]  # fmt: skip


def _opt_outs(conn: sqlite3.Connection) -> list[str]:
    """The declined categories are those of each rater's last word on them."""
    said = dict(
        conn.execute(
            "SELECT e.subject, json_extract(b.body, '$.out') FROM event e"
            " LEFT JOIN event_body b ON b.hash = e.hash WHERE e.kind = 'opt_out'"
            " ORDER BY e.created_at, e.rowid"
        ).fetchall()
    )
    held = {row[0] for row in conn.execute("SELECT rater || '|' || category FROM rater_optout")}
    return [
        f"opt-out {one}: not what its rater last said"
        for one in sorted({*said, *held})
        if said.get(one, 0) is not None and bool(said.get(one, 0)) != (one in held)
    ]
