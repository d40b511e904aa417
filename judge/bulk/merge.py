"""What workers on copies of a study have asked, brought back into one file.

Merging adds calls that are not here yet and derives verdicts from them; a reply that was
committed here stands. Merging the same copy twice adds nothing.
"""

from __future__ import annotations

import sqlite3
from dataclasses import dataclass, fields
from typing import Any

from annotate.batches import in_batches
from annotate.errors import UsageError
from annotate.store import Store
from judge.database.ledger import call_status, derive, has_reply, parsed_of, put_verdict
from judge.database.runs import Run, RunStore
from judge.database.store import VerdictStore
from judge.engine.answer_runner import keep, refuse_foreign
from judge.engine.answering import (
    AnswerSpec,
    AnswerWork,
    has_text,
    put_generation,
    questions_of,
    said_by,
)

BATCH = 500
_ATTEMPT = (
    "started_at, finished_at, status, http_status, raw, served_model, system_fingerprint,"
    " prompt_tokens, completion_tokens, latency_ms, error_class, error_text, endpoint"
)


Standing = dict[str, tuple[int, str, str | None, str | None]]
"""Request → the call here that its verdict names: id, status, raw reply, error class."""


@dataclass(slots=True)
class Merged:
    """What a merge added; `foreign` items are about pairs or answers that are not here."""

    runs: int = 0
    requests: int = 0
    items: int = 0
    calls: int = 0
    verdicts: int = 0
    answers: int = 0
    foreign: int = 0

    @property
    def added(self) -> int:
        """Everything new."""
        return sum(int(getattr(self, f.name)) for f in fields(self)) - self.foreign


def merge(store: Store, other: Store) -> Merged:
    """Add the live runs of `other`, a copy of the same study, to `store`.

    Runs are the same when fingerprint and endpoint are. Each transaction is short, and
    killing the program leaves a merge that the next one completes.

    Raises:
        UsageError: `other` is no copy of this study, or its generated answers bear a name that
            this study has given to other answers.
    """
    if other.study_id != store.study_id:
        raise UsageError(
            f"{other.path}: another study, not a copy of this one; make copies with evenhand backup"
        )
    ours, theirs, merged = VerdictStore(store), RunStore(other), Merged()
    for run in theirs.runs():
        if run.kind != "live":
            continue
        before = merged.added
        run_id = _run(ours, run, merged)
        _requests(store, other, run, merged)
        _items(store, other, run, run_id, merged)
        standing = _attempts(store, other, run, run_id, merged)
        if run.mode == "answer":
            _generations(store, other, run, run_id, merged)
            _texts(store, standing, merged)
            _whole(ours, run_id, merged)
        else:
            _verdicts(store, standing, merged)
        if merged.added > before:
            waiting = ours.counts(run_id).get("pending", 0)
            ours.finish_run(run_id, "stopped" if waiting else "done")
    return merged


def _run(ours: VerdictStore, run: Run, merged: Merged) -> str:
    """Our run of the same judge, made if needed."""
    known = ours.live(run.fingerprint, run.endpoint)
    if known is not None:
        return known.id
    merged.runs += 1
    name = run.name if run.name not in {r.name for r in ours.runs()} else ""
    made = ours.start_run(
        model=run.requested_model,
        endpoint=run.endpoint,
        fingerprint=run.fingerprint,
        manifest=run.manifest,
        name=name,
        mode=run.mode,
    )
    ours.finish_run(made.id, "stopped" if run.state == "running" else run.state)
    return made.id


def _requests(store: Store, other: Store, run: Run, merged: Merged) -> None:
    rows = other.conn.execute(
        "SELECT DISTINCT r.key, r.created_at, r.endpoint, r.replicate, r.body, r.offered"
        " FROM judge_request r WHERE r.key IN (SELECT request FROM judge_item WHERE run = ?1"
        " UNION SELECT request FROM generation_item WHERE run = ?1"
        " UNION SELECT request FROM judge_attempt WHERE run = ?1) ORDER BY r.rowid",
        (run.id,),
    )
    for batch in in_batches(rows, BATCH):
        with store.write() as conn:
            for row in batch:
                merged.requests += conn.execute(
                    "INSERT OR IGNORE INTO judge_request"
                    " (key, created_at, endpoint, replicate, body, offered)"
                    " VALUES (?, ?, ?, ?, ?, ?)",
                    row,
                ).rowcount


def _items(store: Store, other: Store, run: Run, run_id: str, merged: Merged) -> None:
    """What their run asked about; a unit that ours asks about as well keeps our request."""
    rows = other.conn.execute(
        "SELECT subject, pair, answer, turn, dimension, order_shown, replicate, request"
        " FROM judge_item WHERE run = ? ORDER BY id",
        (run.id,),
    )
    for batch in in_batches(rows, BATCH):
        with store.write() as conn:
            for row in batch:
                subject, pair, answer = row[:3]
                table = "pair" if subject == "pair" else "answer"
                unit = pair or answer
                if not conn.execute(f"SELECT 1 FROM {table} WHERE id = ?", (unit,)).fetchone():
                    merged.foreign += 1
                    continue
                added = conn.execute(
                    "INSERT OR IGNORE INTO judge_item (run, subject, pair, answer, turn,"
                    " dimension, order_shown, replicate, request)"
                    " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
                    (run_id, *row),
                ).rowcount
                merged.items += added
                if added:
                    derive(conn, (run_id, subject, unit, row[3], row[4], row[6]))


def _attempts(store: Store, other: Store, run: Run, run_id: str, merged: Merged) -> Standing:
    """Append calls that are not here yet; returns request → the attempt its verdict names."""
    standing = dict(
        other.conn.execute(
            "SELECT attempt, request FROM verdict WHERE attempt IS NOT NULL"
            " UNION SELECT attempt, request FROM generation WHERE attempt IS NOT NULL"
        ).fetchall()
    )
    found: Standing = {}
    rows = other.conn.execute(
        f"SELECT id, request, {_ATTEMPT} FROM judge_attempt WHERE run = ? ORDER BY id", (run.id,)
    )
    for batch in in_batches(rows, BATCH):
        with store.write() as conn:
            for attempt, request, *call in batch:
                ours = _attempt(conn, run_id, request, call, merged)
                if attempt in standing:
                    found[request] = (ours, call[2], call[4], call[10])
    return found


def _attempt(
    conn: sqlite3.Connection, run_id: str, request: str, call: list[Any], merged: Merged
) -> int:
    """The id here of one call, appended if it is not known."""
    known = conn.execute(
        "SELECT id FROM judge_attempt WHERE request = ? AND started_at = ? AND finished_at = ?"
        " AND latency_ms = ? AND status = ? AND raw IS ? AND error_text IS ?",
        (request, call[0], call[1], call[9], call[2], call[4], call[11]),
    ).fetchone()
    if known:
        return int(known[0])
    merged.calls += 1
    marks = ", ".join("?" * (2 + len(call)))
    inserted = conn.execute(
        f"INSERT INTO judge_attempt (run, request, {_ATTEMPT}) VALUES ({marks})",
        (run_id, request, *call),
    )
    return int(inserted.lastrowid or 0)


def _verdicts(store: Store, standing: Standing, merged: Merged) -> None:
    """Derive a verdict from each of their standing calls, unless a reply of ours stands."""
    for batch in in_batches(iter(standing.items()), BATCH):
        with store.write() as conn:
            for request, (attempt, status, raw, error) in batch:
                parsed = parsed_of(conn, request, call_status(status), raw, error)
                known = conn.execute(
                    "SELECT status FROM verdict WHERE request = ?", (request,)
                ).fetchone()
                if known is None or (not has_reply(conn, request) and known[0] != parsed.status):
                    put_verdict(conn, request, attempt, parsed)
                    merged.verdicts += 1


def _generations(store: Store, other: Store, run: Run, run_id: str, merged: Merged) -> None:
    """Which question and turn their requests were for."""
    rows = other.conn.execute(
        "SELECT question, turn, request FROM generation_item WHERE run = ? ORDER BY id", (run.id,)
    )
    for batch in in_batches(rows, BATCH):
        with store.write() as conn:
            for question, turn, request in batch:
                if not conn.execute("SELECT 1 FROM question WHERE id = ?", (question,)).fetchone():
                    merged.foreign += 1
                    continue
                merged.items += conn.execute(
                    "INSERT OR IGNORE INTO generation_item (run, question, turn, request)"
                    " VALUES (?, ?, ?, ?)",
                    (run_id, question, turn, request),
                ).rowcount


def _texts(store: Store, standing: Standing, merged: Merged) -> None:
    """The texts of their standing calls, unless one of ours stands."""
    for batch in in_batches(iter(standing.items()), BATCH):
        with store.write() as conn:
            for request, (attempt, status, raw, error) in batch:
                said = said_by(call_status(status), raw, error)
                known = conn.execute(
                    "SELECT status FROM generation WHERE request = ?", (request,)
                ).fetchone()
                if known is None or (not has_text(conn, request) and known[0] != said.status):
                    put_generation(conn, request, attempt, said)
                    merged.verdicts += 1


def _whole(ours: VerdictStore, run_id: str, merged: Merged) -> None:
    """The dialogues that are whole by now belong to the study."""
    run = ours.run(run_id)
    work = AnswerWork(ours, run_id, questions_of(ours), AnswerSpec("", ""))
    refuse_foreign(ours.store, run.manifest["model_name"], work)
    whole = work.answers(run.manifest["model_name"])
    before = _stored(ours.store)
    if whole:
        keep(ours.store, whole, run_id)
    merged.answers += _stored(ours.store) - before


def _stored(store: Store) -> int:
    return int(store.conn.execute("SELECT count(*) FROM answer").fetchone()[0])
