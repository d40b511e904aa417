"""The append-only event log: one hash chain per writer, over salted digests.

hash_n = SHA-256(hash_{n-1} | writer | seq | time | kind | subject | digest),
digest  = SHA-256(salt | body). Bodies live beside the chain, so that personal data
can be removed while every hash still verifies.
"""

from __future__ import annotations

import hashlib
import json
import secrets
import sqlite3
from dataclasses import dataclass

from .records import canonical_json

GENESIS = "0" * 64
WRITER = "writer"
"""Kind of every chain's first event."""
PERSONAL = frozenset({"rater", "consent", "skip", "label_skip", "opt_out"})
"""Kinds whose bodies may be removed at a person's wish; others have no reason to go."""


def append(
    conn: sqlite3.Connection, writer: str, at: str, kind: str, subject: str, body: object
) -> str:
    """Add one event inside the caller's transaction; returns its hash.

    The head is read from the database, not from memory: a rolled-back transaction
    must not leave a gap in the chain. A writer's first event names the heads of all other
    chains, so that the end of one (or the whole) cannot vanish unseen once others wrote.
    """
    head = conn.execute(
        "SELECT seq, hash FROM event WHERE writer = ? ORDER BY seq DESC LIMIT 1", (writer,)
    ).fetchone()
    if head is None and kind != WRITER:
        append(conn, writer, at, WRITER, writer, {"heads": _heads(conn)})
        return append(conn, writer, at, kind, subject, body)
    seq, previous = (head[0] + 1, head[1]) if head else (1, GENESIS)
    salt, text = secrets.token_hex(16), canonical_json(body)
    body_digest = salted_digest(salt, text)
    link = link_hash(previous, writer, seq, at, kind, subject, body_digest)
    conn.execute(
        "INSERT INTO event (writer, seq, created_at, kind, subject, digest, previous, hash)"
        " VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
        (writer, seq, at, kind, subject, body_digest, previous, link),
    )
    conn.execute("INSERT INTO event_body (hash, salt, body) VALUES (?, ?, ?)", (link, salt, text))
    return link


def _heads(conn: sqlite3.Connection) -> dict[str, str]:
    """Writer → hash of its latest event."""
    return dict(
        conn.execute(
            "SELECT writer, hash FROM event e WHERE seq ="
            " (SELECT max(seq) FROM event l WHERE l.writer = e.writer)"
        ).fetchall()
    )


def salted_digest(salt: str, text: str) -> str:
    """SHA-256 (hex) of salt and text: says nothing of a short text without the salt."""
    return hashlib.sha256(f"{salt}|{text}".encode("utf-8", "surrogatepass")).hexdigest()


def link_hash(
    previous: str, writer: str, seq: int, at: str, kind: str, subject: str, body_digest: str
) -> str:
    """SHA-256 (hex) of one link of the chain."""
    line = "|".join((previous, writer, str(seq), at, kind, subject, body_digest))
    return hashlib.sha256(line.encode()).hexdigest()


@dataclass(frozen=True, slots=True)
class ChainReport:
    """What a walk over all chains found: events seen, bodies removed, breaks in words."""

    events: int
    removed_bodies: int
    heads: dict[str, str]
    breaks: list[str]


def check_chains(conn: sqlite3.Connection) -> ChainReport:
    """Recompute every link and every body digest of every writer."""
    breaks: list[str] = []
    heads: dict[str, str] = {}
    counts: dict[str, int] = {}
    events = removed = 0
    named: set[tuple[str, str, str]] = set()
    rows = conn.execute(
        "SELECT e.writer, e.seq, e.created_at, e.kind, e.subject, e.digest, e.previous, e.hash,"
        " b.salt, b.body FROM event e LEFT JOIN event_body b ON b.hash = e.hash"
        " ORDER BY e.writer, e.seq"
    )
    for writer, seq, at, kind, subject, body_digest, previous, link, salt, body in rows:
        events += 1
        where = f"event {writer[:8]}/{seq} ({kind})"
        if seq != counts.get(writer, 0) + 1:
            breaks.append(f"{where}: expected number {counts.get(writer, 0) + 1} here")
        if previous != heads.get(writer, GENESIS):
            breaks.append(f"{where}: does not follow the event before it")
        if link != link_hash(previous, writer, seq, at, kind, subject, body_digest):
            breaks.append(f"{where}: its hash does not match its content")
        if body is None:
            removed += 1
            if kind not in PERSONAL:
                breaks.append(f"{where}: its body is missing, and it held no personal data")
        elif salted_digest(salt, body) != body_digest:
            breaks.append(f"{where}: its body was changed")
        counts[writer], heads[writer] = seq, link
        if kind == WRITER and body is not None:
            named |= {(where, *item) for item in json.loads(body)["heads"].items()}
    breaks += _vanished(conn, named)
    return ChainReport(events, removed, heads, breaks)


def _vanished(conn: sqlite3.Connection, named: set[tuple[str, str, str]]) -> list[str]:
    """Heads that a later writer saw and that are not there any more."""
    return [
        f"{where}: saw the chain {writer[:8]} up to an event that is gone"
        for where, writer, link in sorted(named)
        if not conn.execute(
            "SELECT 1 FROM event WHERE writer = ? AND hash = ?", (writer, link)
        ).fetchone()
    ]
