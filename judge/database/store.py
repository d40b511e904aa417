"""A run's plan and calls in the study's file.

A reply and its verdict are committed together, before anyone counts them. Verdicts and
judgments are derived: :meth:`VerdictStore.reparse` makes them again from the raw replies.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from annotate.batches import in_batches
from annotate.records import Status, canonical_json
from annotate.store import now
from judge.ask.parse import Parsed
from judge.database import readings
from judge.database.ledger import (
    NO_REPLY,
    Ended,
    JudgedUnit,
    derive,
    put_verdict,
    read_again,
    record,
)
from judge.database.runs import Run, RunStore
from judge.engine.plan import Request
from judge.engine.replies import UNSENT_CLASSES, Reply
from judge.stats.failures import SCALES, Failures, failures

__all__ = ["NO_REPLY", "Ended", "Pending", "Run", "VerdictStore"]

PIECE = 100
"""Requests whose bodies are read at once."""


@dataclass(frozen=True, slots=True)
class Pending:
    """A request that has no committed reply yet (or is to be asked again)."""

    key: str
    body: str
    doubled: bool = False
    """Its reply was cut off before: ask with twice the budget."""


class VerdictStore(RunStore):
    """The judge's tables of a study."""

    # Plan

    def register(self, run_id: str, requests: Iterable[Request]) -> None:
        """Write requests into the plan of a run; those known already stay as they are.

        A request that an earlier run has had answered needs no call: its verdict counts
        for this run from here on. Where a unit is asked in other words than before (its
        reference was replaced), the new request takes the old one's place.
        """
        with self.store.write() as conn:
            at = now()
            places: dict[JudgedUnit, None] = {}
            for request in requests:
                conn.execute(
                    "INSERT OR IGNORE INTO judge_request"
                    " (key, created_at, endpoint, replicate, body, offered)"
                    " VALUES (?, ?, ?, ?, ?, ?)",
                    (
                        request.key,
                        at,
                        request.endpoint,
                        request.replicate,
                        request.body,
                        canonical_json(_plain(request.offered)),
                    ),
                )
                column, order = ("answer", "") if request.order is None else ("pair", "order_shown")
                target = ", ".join(part for part in (column, "turn", "dimension", order) if part)
                place = (request.unit, request.turn, request.dimension, request.replicate)
                written = conn.execute(
                    f"INSERT INTO judge_item (run, subject, {column}, turn, dimension, replicate,"
                    " order_shown, request) VALUES (?, ?, ?, ?, ?, ?, ?, ?)"
                    f" ON CONFLICT (run, replicate, {target}) WHERE subject = '{column}'"
                    " DO UPDATE SET request = excluded.request WHERE request <> excluded.request",
                    (run_id, request.subject, *place, request.order, request.key),
                )
                if written.rowcount:
                    places[(run_id, request.subject, *place)] = None
            for unit in places:
                derive(conn, unit)

    def size(self, run_id: str, units: Collection[str]) -> int:
        """How many different requests a run's plan has for these units."""
        row = self.store.conn.execute(
            f"SELECT count(DISTINCT i.request) FROM judge_item i WHERE i.run = ? AND {_AMONG}",
            (run_id, json.dumps(list(units))),
        ).fetchone()
        return int(row[0])

    def open_keys(
        self, run_id: str, units: Collection[str], *, retry_failed: bool = False
    ) -> list[str]:
        """The requests about these units that are still to be asked, in plan order.

        A committed reply is never asked again, unless `retry_failed` and it was not usable,
        or it was cut off and a kill came before its one retry.
        """
        rows = self.store.conn.execute(
            "SELECT i.request FROM judge_item i LEFT JOIN verdict v ON v.request = i.request"
            f" WHERE i.run = ? AND {_AMONG} AND {_open(retry_failed)}"
            " GROUP BY i.request ORDER BY min(i.id)",
            (run_id, json.dumps(list(units))),
        )
        return [row[0] for row in rows]

    def pending(self, keys: Sequence[str]) -> Iterator[list[Pending]]:
        """Requests with their bodies, in the order of `keys`, a piece at a time."""
        for piece in in_batches(keys, PIECE):
            rows = self.store.conn.execute(
                "SELECT r.key, r.body, coalesce(v.status = 'truncated', 0) FROM judge_request r"
                f" LEFT JOIN verdict v ON v.request = r.key WHERE r.key IN ({_marks(piece)})",
                tuple(piece),
            )
            found = {key: Pending(key, body, bool(cut)) for key, body, cut in rows}
            yield [found[key] for key in piece]

    def offered(self, keys: Sequence[str]) -> dict[str, str]:
        """What replies to these requests may say, as JSON."""
        rows = self.store.conn.execute(
            f"SELECT key, offered FROM judge_request WHERE key IN ({_marks(keys)})", tuple(keys)
        )
        return dict(rows.fetchall())

    def answered(self, keys: Sequence[str], *, retry_failed: bool = False) -> set[str]:
        """Which of these requests need no call, whoever asked them."""
        found: set[str] = set()
        for piece in in_batches(keys, 500):
            rows = self.store.conn.execute(
                f"SELECT v.request FROM verdict v WHERE v.request IN ({_marks(piece)})"
                f" AND NOT {_open(retry_failed)}",
                tuple(piece),
            )
            found.update(row[0] for row in rows)
        return found

    def outstanding(self) -> frozenset[str]:
        """The requests that stand in a batch file which was not read back yet."""
        rows = self.store.conn.execute("SELECT DISTINCT request FROM judge_batch_item")
        return frozenset(row[0] for row in rows)

    def skip(self, keys: Sequence[str]) -> None:
        """Give those of these requests that were never asked the status `skipped_budget`."""
        parsed = Parsed(Status.SKIPPED_BUDGET, detail="a cap of this run")
        for piece in in_batches(keys, 500):
            with self.store.write() as conn:
                rows = conn.execute(
                    "SELECT r.key FROM judge_request r LEFT JOIN verdict v ON v.request = r.key"
                    f" WHERE r.key IN ({_marks(piece)}) AND v.status IS NULL",
                    tuple(piece),
                ).fetchall()
                for (key,) in rows:
                    put_verdict(conn, key, None, parsed)

    def used(self, run_id: str) -> tuple[int, int]:
        """Tokens (in, out) of all calls of a run (see :func:`used_tokens`)."""
        return used_tokens(self.store.conn, run_id)

    # Calls

    def record_attempt(self, run_id: str, key: str, call: Reply, *, final: bool) -> Parsed:
        """Commit one call (see :meth:`record_attempts`)."""
        return self.record_attempts(run_id, [Ended(key, call, final)])[0]

    def record_attempts(self, run_id: str, calls: Sequence[Ended]) -> list[Parsed]:
        """Commit calls, each with its verdict and every judgment that follows from it.

        A call without a reply never replaces a committed reply.
        """
        with self.store.write() as conn:
            return [record(conn, run_id, call) for call in calls]

    def reparse(self) -> int:
        """Derive every verdict again from its raw reply; returns how many changed."""
        with self.store.write() as conn:
            return read_again(conn)

    # Reading

    def judgments(self) -> Iterator[dict[str, Any]]:
        """Every judge's verdicts as rows of the tidy table."""
        return readings.judgments(self.store)

    def counts(self, run_id: str, units: Collection[str] | None = None) -> dict[str, int]:
        """Requests of a run by the status of their verdict; `pending` has none yet."""
        return readings.request_counts(self.store, run_id, units)

    def judgment_counts(self, run_id: str, units: Collection[str] | None = None) -> dict[str, int]:
        """A run's judgments by what they are."""
        return readings.judgment_counts(self.store, run_id, units)

    def failures(self, run: Run, units: Collection[str] | None = None) -> tuple[Failures, ...]:
        """What a judge's run could not judge, by model and category."""
        if run.mode not in SCALES:
            return ()
        return failures(readings.judged(self.store, run.id, run.mode, units), SCALES[run.mode])

    def transcript(self, unit_id: str) -> list[dict[str, Any]]:
        """Every call made for a pair or an answer."""
        return readings.transcript(self.store, unit_id)


def used_tokens(conn: sqlite3.Connection, run_id: str) -> tuple[int, int]:
    """Tokens (in, out) of all calls of a run; where a call did not tell, its bound.

    Every call counts, as within a start (`Session`), except what cost nothing: an answer of
    HTTP 400 and above, a call that never connected, a request that a batch service did not run.
    """
    # Without an HTTP status only a batch file's line has a body.
    # Bodies are looked up only where they are needed: there are as many as calls.
    body = "FROM judge_request r WHERE r.key = a.request"
    row = conn.execute(
        f"SELECT sum(coalesce(a.prompt_tokens, (SELECT length(CAST(r.body AS BLOB)) {body}))),"
        " sum(coalesce(a.completion_tokens, (SELECT 2 * coalesce("
        "json_extract(r.body, '$.max_tokens'),"
        f" json_extract(r.body, '$.max_completion_tokens'), 0) {body})))"
        " FROM judge_attempt a WHERE a.run = ?1 AND (a.http_status < 400 OR a.http_status IS NULL"
        " AND a.raw IS NULL AND coalesce(a.error_class, '') NOT IN"
        " (SELECT value FROM json_each(?2)))",
        (run_id, json.dumps(UNSENT_CLASSES)),
    ).fetchone()
    return int(row[0] or 0), int(row[1] or 0)


_AMONG = "coalesce(i.pair, i.answer) IN (SELECT value FROM json_each(?))"
"""SQL: an item `i` is about one of the units in a JSON list."""


def _open(retry_failed: bool) -> str:
    """SQL: this verdict `v` does not stand. There was no reply, or a cut one and no second."""
    if retry_failed:
        return "(v.status IS NULL OR v.status <> 'ok')"
    return (
        "(v.status IS NULL OR v.status IN ('api_error', 'timeout', 'skipped_budget')"
        " OR (v.status = 'truncated' AND 1 = (SELECT count(*) FROM judge_attempt a"
        " WHERE a.request = v.request AND a.status = 'reply')))"
    )


def _plain(offered: Any) -> Any:
    """What was offered as JSON takes it."""
    return offered if isinstance(offered, dict) else list(offered)


def _marks(values: Sequence[str]) -> str:
    return ", ".join("?" * len(values))
