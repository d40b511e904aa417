"""Answers of a batch service back into the study: the output file, the error file, any order.

Both dialects are read: hosted services put a failure's body into `response.body`,
`vllm run-batch` into `error`; a request that was never run has no response at all.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from itertools import islice
from pathlib import Path
from typing import Any

from annotate.errors import UsageError
from annotate.readers import Problem, Where
from annotate.records import Status
from annotate.store import Store, now, stamp

from .adapt import Parameters
from .ledger import Ended, record
from .plan import body_of
from .replies import Next, Reply, Timing, read
from .store import VerdictStore

BATCH = 500
NOT_RUN = "batch_not_run"
"""Error class of a request that the service did not run and gave no reason for."""


@dataclass(slots=True)
class Ingested:
    """What became of every line."""

    lines: int = 0
    replies: int = 0
    failures: int = 0
    known: int = 0
    """Lines that an earlier reading has brought already."""
    problems: list[Problem] = field(default_factory=list)
    rejected: dict[str, str] = field(default_factory=dict)
    """Parameters that the service turned out not to take; the next export leaves them out."""


def ingest_batch(store: Store, files: Sequence[Path]) -> Ingested:
    """Read answer files of a batch service; reading one twice changes nothing.

    Requests without an answer, or with a failure that another try could mend, stay open:
    the next export holds them and nothing else.

    Raises:
        UsageError: a file cannot be read.
    """
    verdicts, found = VerdictStore(store), Ingested()
    touched: set[str] = set()
    for path in files:
        for batch in _batches(_lines(path, found)):
            with store.write() as conn:
                for where, key, reply in batch:
                    run_id = _run_of(conn, key)
                    if run_id is None:
                        found.problems.append(Problem(where, "custom_id", _unknown(key)))
                        continue
                    touched.add(run_id)
                    _take(verdicts, conn, run_id, key, reply, found)
    for run_id in sorted(touched):
        _finish(verdicts, run_id, found)
    return found


def _take(
    verdicts: VerdictStore,
    conn: sqlite3.Connection,
    run_id: str,
    key: str,
    reply: Reply,
    found: Ingested,
) -> None:
    """Record one call, unless it is known."""
    conn.execute("DELETE FROM judge_batch_item WHERE request = ?", (key,))
    if _known(conn, key, reply):
        found.known += 1
        return
    body = conn.execute("SELECT body FROM judge_request WHERE key = ?", (key,)).fetchone()[0]
    learnt = _learn(verdicts, run_id, body, reply, found)
    record(conn, run_id, Ended(key, reply, not learnt))
    if reply.status in (Status.API_ERROR, Status.TIMEOUT):
        found.failures += 1
    else:
        found.replies += 1


def _learn(verdicts: VerdictStore, run_id: str, body: str, reply: Reply, found: Ingested) -> bool:
    """Whether the call was refused for a parameter that is left out from now on."""
    if reply.next is not Next.GIVE_UP:
        return False
    known = verdicts.run(run_id).manifest["rejected_parameters"]
    parameters = Parameters({**known, **found.rejected})
    if parameters.learn(parameters.apply(body_of(body)), reply.http_status, reply.raw) is None:
        return False
    found.rejected = dict(parameters.rejected)
    return True


def _finish(verdicts: VerdictStore, run_id: str, found: Ingested) -> None:
    if found.rejected:
        verdicts.note_rejected(run_id, found.rejected)
    waiting = verdicts.counts(run_id)
    verdicts.finish_run(run_id, "stopped" if waiting.get("pending") else "done")


def _lines(path: Path, found: Ingested) -> Iterator[tuple[Where, str, Reply]]:
    """Every answer of a file; a broken line loses only itself."""
    try:
        with path.open("rb") as file:
            for number, raw in enumerate(file, start=1):
                if not raw.strip():
                    continue
                found.lines += 1
                where = Where(path.name, number)
                try:
                    key, reply = _answer(json.loads(raw))
                except (ValueError, RecursionError) as error:
                    found.problems.append(Problem(where, "", str(error)[:200]))
                    continue
                yield where, key, reply
    except OSError as error:
        raise UsageError(f"{path}: cannot be read ({error.strerror})") from error


def _answer(line: object) -> tuple[str, Reply]:
    """(custom id, reply) of one line.

    Raises:
        ValueError: it is no line of a batch answer file.
    """
    if not isinstance(line, dict) or not isinstance(line.get("custom_id"), str):
        raise ValueError("no custom_id; expected a line of a batch output or error file")
    response, error = line.get("response"), line.get("error")
    response = response if isinstance(response, dict) else {}
    body = response.get("body")
    status = response.get("status_code")
    if not isinstance(status, int):
        status = None
    if body in (None, "", {}) and error:
        body = {"error": error}
    if status is None:
        return line["custom_id"], _not_run(error, body)
    text = body if isinstance(body, str) else json.dumps(body)
    return line["custom_id"], read(status, {}, text, _timing(body), error_class="BatchError")


def _not_run(error: object, body: Any) -> Reply:
    """The service did not run the request (expired, cancelled): it stays open."""
    fields = error if isinstance(error, dict) else {}
    return Reply(
        Next.RETRY,
        Status.API_ERROR,
        *_timing(None),
        raw=json.dumps(body),
        error_class=str(fields.get("code") or NOT_RUN),
        error_text=str(fields.get("message") or "the batch service gave no response")[:500],
        connected=False,
        unsent=True,
    )


def _timing(body: Any) -> Timing:
    """When the service made the reply, as far as it says; how long it took is not told."""
    created = body.get("created") if isinstance(body, dict) else None
    at = now()
    if isinstance(created, int | float) and 0 < created < 1e11:
        at = stamp(datetime.fromtimestamp(created, UTC))
    return Timing(at, at, 0)


def _run_of(conn: sqlite3.Connection, key: str) -> str | None:
    """The run whose file the request stood in, or else one that wants to know it."""
    row = conn.execute(
        "SELECT b.run FROM judge_batch_item i JOIN judge_batch b ON b.id = i.batch"
        " WHERE i.request = ?1 UNION ALL"
        " SELECT run FROM judge_item WHERE request = ?1 LIMIT 1",
        (key,),
    ).fetchone()
    return None if row is None else str(row[0])


def _known(conn: sqlite3.Connection, key: str, reply: Reply) -> bool:
    return bool(
        conn.execute(
            "SELECT 1 FROM judge_attempt WHERE request = ? AND raw IS ? AND http_status IS ?"
            " AND error_class IS ?",
            (key, reply.raw, reply.http_status, reply.error_class),
        ).fetchone()
    )


def _unknown(key: str) -> str:
    return f"{key[:80]!r} is no request of this study; was the file made from another one?"


def _batches(
    items: Iterator[tuple[Where, str, Reply]],
) -> Iterator[list[tuple[Where, str, Reply]]]:
    while batch := list(islice(items, BATCH)):
        yield batch
