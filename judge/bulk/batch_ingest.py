"""Answers of a batch service back into the study: the output file, the error file, any order.

Both dialects are read: hosted services put a failure's body into `response.body`,
`vllm run-batch` into `error`; a request that was never run has no response at all.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from annotate.batches import in_batches
from annotate.errors import DataError, UsageError
from annotate.readers import Problem, Where
from annotate.records import Status
from annotate.store import Store, now, stamp
from judge.database.ledger import Ended, insert_attempt, record
from judge.database.store import VerdictStore
from judge.engine.adapt import Parameters
from judge.engine.bodies import dumps, loads, visible
from judge.engine.plan import body_of
from judge.engine.replies import NO_SECRETS, Next, Reply, Timing, is_completion, read, said_by

BATCH = 500
NOT_RUN = "batch_not_run"
"""Error class of a request that the service did not run and gave no reason for."""
ANSWERED = "answered already; the first reply stands"
NAME_LIMIT = 100
"""Characters of a service's error code that are kept."""
PROBLEMS_SHOWN = 3


@dataclass(slots=True)
class Ingested:
    """What became of every line."""

    lines: int = 0
    replies: int = 0
    failures: int = 0
    known: int = 0
    """Lines that an earlier reading has brought already."""
    late: int = 0
    """Other replies to requests that have a verdict by now: logged, and the first stands."""
    problems: list[Problem] = field(default_factory=list)
    rejected: dict[str, str] = field(default_factory=dict)
    """Parameters that the service turned out not to take; the next export leaves them out."""


def ingest_batch(store: Store, files: Sequence[Path]) -> Ingested:
    """Read answer files of a batch service; reading one twice changes nothing.

    Requests without an answer, or with a failure that another try could mend, stay open:
    the next export holds them and nothing else.

    Raises:
        DataError: no line of the files is an answer to a request of this study.
        UsageError: a file cannot be read.
    """
    verdicts, found = VerdictStore(store), Ingested()
    touched: set[str] = set()
    for path in files:
        for batch in in_batches(_lines(path, found), BATCH):
            with store.write() as conn:
                for where, key, reply in batch:
                    run_id = _run_of(conn, key)
                    if run_id is None:
                        found.problems.append(Problem(where, "custom_id", _unknown(key)))
                        continue
                    touched.add(run_id)
                    _take(verdicts, conn, run_id, where, key, reply, found)
    if not found.lines:
        names = ", ".join(path.name for path in files)
        raise DataError(f"{names}: no line in it; give the output and error files of the service")
    if len([problem for problem in found.problems if not problem.warning]) == found.lines:
        shown = "; ".join(map(str, found.problems[:PROBLEMS_SHOWN]))
        raise DataError(
            f"none of {found.lines:,} lines is an answer to a request of this study: {shown};"
            " give the output and error files of the batch service"
        )
    for run_id in sorted(touched):
        _finish(verdicts, run_id, found)
    return found


def _take(
    verdicts: VerdictStore,
    conn: sqlite3.Connection,
    run_id: str,
    where: Where,
    key: str,
    reply: Reply,
    found: Ingested,
) -> None:
    """Record one call, unless it is known."""
    conn.execute("DELETE FROM judge_batch_item WHERE request = ?", (key,))
    if _known(conn, key, reply):
        found.known += 1
        return
    replied = reply.status not in (Status.API_ERROR, Status.TIMEOUT)
    if replied and _judged(conn, key):
        insert_attempt(conn, run_id, key, reply)
        found.late += 1
        found.problems.append(Problem(where, "custom_id", ANSWERED, warning=True))
        return
    body = conn.execute("SELECT body FROM judge_request WHERE key = ?", (key,)).fetchone()[0]
    learnt = _learn(verdicts, run_id, body, reply, found)
    record(conn, run_id, Ended(key, reply, not learnt))
    if replied:
        found.replies += 1
    else:
        found.failures += 1


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
                    key, reply = _answer(NO_SECRETS.fit(loads(raw.decode("utf-8-sig"))))
                except ValueError as error:
                    found.problems.append(Problem(where, "", visible(str(error))[:200]))
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
    if {"method", "url", "body"} <= line.keys() and "response" not in line:
        raise ValueError("a request, not an answer; expected the file that the service gave back")
    key, error = line["custom_id"], line.get("error")
    # Half of a surrogate pair: no text that the database takes, and so no id of ours.
    key.encode()
    response = line.get("response")
    response = response if isinstance(response, dict) else {}
    body = response.get("body")
    if body in (None, "", {}) and error:
        body = {"error": error}
    status = _status(response.get("status_code"), body)
    if status is None:
        return key, _not_run(error, body)
    text = body if isinstance(body, str) else dumps(body)
    return key, read(status, {}, text, _timing(body), error_class="BatchError")


def _status(given: object, body: object) -> int | None:
    """The HTTP status of a line; None when the service did not run the request.

    Raises:
        ValueError: it is none.
    """
    if given in (None, "", 0) and given is not False:
        # Some services leave it out where all went well.
        return 200 if is_completion(body) else None
    text = str(given)
    if isinstance(given, bool) or not (text.isdecimal() and 100 <= int(text[:4]) <= 999):
        raise ValueError(f"status_code is {text[:20]!r}; expected an HTTP status")
    return int(text)


def _not_run(error: object, body: Any) -> Reply:
    """The service did not run the request (expired, cancelled): it stays open."""
    fields = error if isinstance(error, dict) else {}
    return Reply(
        Next.RETRY,
        Status.API_ERROR,
        *_timing(None),
        raw=dumps(body),
        error_class=said_by(str(fields.get("code") or NOT_RUN))[:NAME_LIMIT],
        error_text=said_by(str(fields.get("message") or "the batch service gave no response")),
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


def _judged(conn: sqlite3.Connection, key: str) -> bool:
    """Whether a request has a verdict that another reply must not replace."""
    row = conn.execute("SELECT status FROM verdict WHERE request = ?", (key,)).fetchone()
    return row is not None and row[0] == Status.OK


def _unknown(key: str) -> str:
    return f"{key[:80]!r} is no request of this study; was the file made from another one?"
