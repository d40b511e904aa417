"""Runs, requests, calls and verdicts in the study's file.

A reply and its verdict are committed together, before anyone counts them. Verdicts and
pair verdicts are derived: :meth:`VerdictStore.reparse` makes them again from the raw
replies.
"""

from __future__ import annotations

import json
import sqlite3
import uuid
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from annotate.errors import StoreError, UsageError
from annotate.records import Choice, Order, Status, canonical_json
from annotate.store import Store, migrate, now

from .migrations import MIGRATIONS
from .parse import PARSER_VERSION, Parsed, parse_reply
from .plan import Request
from .replies import Reply
from .verdicts import PairVerdict, Verdict, combine

NO_REPLY = (Status.API_ERROR, Status.TIMEOUT, Status.SKIPPED_BUDGET)
"""Statuses of requests that brought nothing; they are asked again by the next run."""


@dataclass(frozen=True, slots=True)
class Run:
    """One judge run as stored."""

    id: str
    name: str
    kind: str
    state: str
    requested_model: str
    endpoint: str
    fingerprint: str
    created_at: str
    finished_at: str | None
    manifest: dict[str, Any]


@dataclass(frozen=True, slots=True)
class Pending:
    """A request that has no committed reply yet (or is to be asked again)."""

    key: str
    body: str
    doubled: bool = False
    """Its reply was cut off before: ask with twice the budget."""


@dataclass(frozen=True, slots=True)
class Ended:
    """One call that has ended.

    `final` is False for a failed call that is about to be tried again: it is logged, and
    the request stays unanswered. A reply is always final.
    """

    key: str
    call: Reply
    final: bool


class VerdictStore:
    """The judge's tables of a study; opening brings them up to date."""

    def __init__(self, store: Store) -> None:
        self.store = store
        migrate(store.conn, MIGRATIONS, store.path)

    # Runs

    def start_run(
        self, *, model: str, endpoint: str, fingerprint: str, manifest: dict[str, Any], name: str
    ) -> Run:
        """Begin a live run, or continue the one with this fingerprint and endpoint.

        Each start's manifest goes into the event chain; the row holds the newest.

        Raises:
            UsageError: the name belongs to another run.
        """
        with self.store.write() as conn:
            found = conn.execute(
                "SELECT id, json_extract(manifest, '$.rejected_parameters') FROM judge_run"
                " WHERE kind = 'live' AND fingerprint = ? AND endpoint = ?",
                (fingerprint, endpoint),
            ).fetchone()
            run_id = str(found[0]) if found else str(uuid.uuid4())
            known = json.loads(found[1] or "{}") if found else {}
            manifest = {**manifest, "rejected_parameters": known}
            if found is None:
                chosen = _free_name(conn, name, model, fingerprint)
                conn.execute(
                    "INSERT INTO judge_run (id, created_at, name, kind, requested_model,"
                    " endpoint, fingerprint, manifest, state)"
                    " VALUES (?, ?, ?, 'live', ?, ?, ?, '{}', 'running')",
                    (run_id, now(), chosen, model, endpoint, fingerprint),
                )
            elif name and not _is_named(conn, run_id, name):
                raise UsageError(
                    f"run name {name!r}: this judge's run has another name already; leave the"
                    " name out to continue it, or change a setting to start a new run"
                )
            conn.execute(
                "UPDATE judge_run SET manifest = ?, state = 'running', finished_at = NULL"
                " WHERE id = ?",
                (canonical_json(manifest), run_id),
            )
            self.store.log(conn, "judge_run", run_id, manifest)
        return self.run(run_id)

    def note_rejected(self, run_id: str, rejected: Mapping[str, str]) -> None:
        """Note in a run's manifest which parameters its endpoint does not take."""
        with self.store.write() as conn:
            conn.execute(
                "UPDATE judge_run SET manifest = json_set(manifest, '$.rejected_parameters',"
                " json(?)) WHERE id = ?",
                (canonical_json(dict(rejected)), run_id),
            )
            self.store.log(conn, "judge_parameters", run_id, {"rejected": dict(rejected)})

    def finish_run(self, run_id: str, state: str) -> None:
        """Note how a run ended, and which models and fingerprints served it."""
        with self.store.write() as conn:
            served = {
                "served_models": _distinct(conn, run_id, "served_model"),
                "served_fingerprints": _distinct(conn, run_id, "system_fingerprint"),
            }
            conn.execute(
                "UPDATE judge_run SET state = ?, finished_at = ?,"
                " manifest = json_patch(manifest, ?) WHERE id = ?",
                (state, now(), canonical_json(served), run_id),
            )
            self.store.log(conn, "judge_run_finished", run_id, {"state": state, **served})

    def import_run(self, conn: sqlite3.Connection, name: str) -> str:
        """The imported run of a judge named in a file, made if needed, in the caller's write."""
        row = conn.execute(
            "SELECT id FROM judge_run WHERE kind = 'imported' AND requested_model = ?", (name,)
        ).fetchone()
        if row:
            return str(row[0])
        taken = conn.execute("SELECT 1 FROM judge_run WHERE name = ?", (name,)).fetchone()
        run_id = str(uuid.uuid4())
        conn.execute(
            "INSERT INTO judge_run (id, created_at, finished_at, name, kind, requested_model,"
            " endpoint, fingerprint, manifest, state)"
            " VALUES (?, ?, ?, ?, 'imported', ?, '', '', '{}', 'done')",
            (run_id, now(), now(), f"{name} (imported)" if taken else name, name),
        )
        self.store.log(conn, "judge_run", run_id, {"imported": name})
        return run_id

    def runs(self) -> list[Run]:
        """Every run, oldest first."""
        rows = self.store.conn.execute(f"{_RUN_SQL} ORDER BY created_at, rowid").fetchall()
        return [_run(row) for row in rows]

    def find(self, name: str) -> Run:
        """The run with this name, or with an id that begins so.

        Raises:
            UsageError: there is none, or the beginning fits several.
        """
        known = self.runs()
        named = [run for run in known if run.name == name]
        found = named or [run for run in known if name and run.id.startswith(name)]
        if len(found) != 1:
            what = "fits several runs" if found else "no such judge run"
            names = ", ".join(run.name for run in known) or "none yet"
            raise UsageError(f"run {name!r}: {what}; expected one of: {names}")
        return found[0]

    def run(self, run_id: str) -> Run:
        """One run.

        Raises:
            StoreError: there is none with this id.
        """
        row = self.store.conn.execute(f"{_RUN_SQL} WHERE id = ?", (run_id,)).fetchone()
        if row is None:
            raise StoreError(f"judge run {run_id}: not in this study")
        return _run(row)

    # Plan

    def register(self, run_id: str, requests: Iterable[Request]) -> None:
        """Write requests into the plan of a run; those known already stay as they are.

        A request that an earlier run has had answered needs no call: its verdict counts
        for this run from here on.
        """
        with self.store.write() as conn:
            at = now()
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
                        canonical_json(list(request.offered)),
                    ),
                )
                unit = (run_id, request.pair, request.turn, request.dimension, request.replicate)
                conn.execute(
                    "INSERT OR IGNORE INTO judge_item (run, pair, turn, dimension, replicate,"
                    " order_shown, request, subject) VALUES (?, ?, ?, ?, ?, ?, ?, 'pair')",
                    (*unit, request.order, request.key),
                )
                _derive(conn, unit)

    def size(self, run_id: str, pairs: Sequence[str]) -> int:
        """How many different requests a run's plan has for these pairs."""
        keys: set[str] = set()
        for piece in _pieces(pairs):
            rows = self.store.conn.execute(
                "SELECT DISTINCT request FROM judge_item WHERE run = ? AND pair IN"
                f" ({_marks(piece)})",
                (run_id, *piece),
            )
            keys.update(row[0] for row in rows)
        return len(keys)

    def pending(
        self, run_id: str, pairs: Sequence[str], *, retry_failed: bool = False
    ) -> Iterator[list[Pending]]:
        """What is still to be asked about these pairs, in plan order, a piece at a time.

        A committed reply is never asked again, unless `retry_failed` and it was not usable,
        or it was cut off and a kill came before its one retry.
        """
        for piece in _pieces(pairs):
            rows = self.store.conn.execute(
                "SELECT r.key, r.body, coalesce(v.status = 'truncated', 0)"
                " FROM judge_item i JOIN judge_request r ON r.key = i.request"
                " LEFT JOIN verdict v ON v.request = r.key"
                f" WHERE i.run = ? AND i.pair IN ({_marks(piece)})"
                f" AND {_open(retry_failed)}"
                " GROUP BY r.key ORDER BY min(i.id)",
                (run_id, *piece),
            ).fetchall()
            yield [Pending(key, body, bool(cut)) for key, body, cut in rows]

    def waiting(self, run_id: str, pairs: Sequence[str], *, retry_failed: bool = False) -> int:
        """How many requests :meth:`pending` yields, without reading them."""
        keys: set[str] = set()
        for piece in _pieces(pairs):
            rows = self.store.conn.execute(
                "SELECT DISTINCT i.request FROM judge_item i"
                " LEFT JOIN verdict v ON v.request = i.request"
                f" WHERE i.run = ? AND i.pair IN ({_marks(piece)}) AND {_open(retry_failed)}",
                (run_id, *piece),
            )
            keys.update(row[0] for row in rows)
        return len(keys)

    def answered(self, keys: Sequence[str], *, retry_failed: bool = False) -> set[str]:
        """Which of these requests need no call, whoever asked them."""
        found: set[str] = set()
        for piece in _pieces(keys, 500):
            rows = self.store.conn.execute(
                f"SELECT v.request FROM verdict v WHERE v.request IN ({_marks(piece)})"
                f" AND NOT {_open(retry_failed)}",
                tuple(piece),
            )
            found.update(row[0] for row in rows)
        return found

    def skip_waiting(self, run_id: str, pairs: Sequence[str]) -> None:
        """Give every request that was never asked the status `skipped_budget`."""
        parsed = Parsed(Status.SKIPPED_BUDGET, detail="a cap of this run")
        for piece in _pieces(pairs):
            with self.store.write() as conn:
                keys = conn.execute(
                    "SELECT DISTINCT i.request FROM judge_item i LEFT JOIN verdict v"
                    f" ON v.request = i.request WHERE i.run = ? AND i.pair IN ({_marks(piece)})"
                    " AND v.status IS NULL",
                    (run_id, *piece),
                ).fetchall()
                for (key,) in keys:
                    _put_verdict(conn, key, None, parsed)
                    for unit in _units(conn, key):
                        _derive(conn, unit)

    def used(self, run_id: str) -> tuple[int, int]:
        """Tokens (in, out) of all calls of a run; where a call did not tell, its bound.

        Errors with a response, and calls that never connected, cost nothing.
        """
        row = self.store.conn.execute(
            "SELECT sum(coalesce(a.prompt_tokens, length(CAST(r.body AS BLOB)))),"
            " sum(coalesce(a.completion_tokens, 2 * coalesce("
            "json_extract(r.body, '$.max_tokens'),"
            " json_extract(r.body, '$.max_completion_tokens'), 0)))"
            " FROM judge_attempt a JOIN judge_request r ON r.key = a.request WHERE a.run = ?"
            " AND (a.status IN ('reply', 'timeout') OR a.status = 'api_error'"
            " AND a.http_status IS NULL AND a.error_class IS NOT 'ConnectError')",
            (run_id,),
        ).fetchone()
        return int(row[0] or 0), int(row[1] or 0)

    # Calls

    def record_attempt(self, run_id: str, key: str, call: Reply, *, final: bool) -> Parsed:
        """Commit one call (see :meth:`record_attempts`)."""
        return self.record_attempts(run_id, [Ended(key, call, final)])[0]

    def record_attempts(self, run_id: str, calls: Sequence[Ended]) -> list[Parsed]:
        """Commit calls, each with its verdict and every pair verdict that follows from it.

        A call without a reply never replaces a committed reply.
        """
        with self.store.write() as conn:
            return [_record(conn, run_id, call) for call in calls]

    def reparse(self) -> int:
        """Derive every verdict again from its raw reply; returns how many changed."""
        changed = 0
        with self.store.write() as conn:
            rows = conn.execute(
                "SELECT v.request, v.attempt, v.status, v.choice, a.status, a.raw, a.error_class"
                " FROM verdict v JOIN judge_attempt a ON a.id = v.attempt"
            ).fetchall()
            for key, attempt, status, choice, call, raw, error in rows:
                parsed = _parsed(conn, key, _call_status(call), raw, error)
                changed += (parsed.status, parsed.choice) != (status, choice)
                _put_verdict(conn, key, attempt, parsed)
                for unit in _units(conn, key):
                    _derive(conn, unit)
        return changed

    # Reading

    def judgments(self) -> Iterator[dict[str, Any]]:
        """Pair verdicts as rows of the tidy table (DESIGN §2), plus `reason`, `benchmark`.

        A verdict on a label-only pair counts for the pair that superseded it.
        """
        rows = self.store.conn.execute(
            "SELECT coalesce(p.superseded_by, p.id) AS unit_id, q.question_id, q.category,"
            " p.model_a, p.model_b, pv.turn, pv.dimension, r.name AS source_id,"
            " pv.replicate AS occurrence, pv.outcome AS value, pv.status, pv.orders,"
            " 'unknown' AS \"order\","
            " pv.reason, q.benchmark"
            " FROM pair_verdict pv JOIN judge_run r ON r.id = pv.run"
            " JOIN pair p ON p.id = pv.pair JOIN question q ON q.id = p.question"
            " ORDER BY r.created_at, r.id, q.benchmark, q.question_id, p.model_a, p.model_b,"
            " pv.pair, pv.turn, pv.dimension, pv.replicate"
        )
        names = [column[0] for column in rows.description]
        for row in rows:
            yield {**_CONSTANT, **dict(zip(names, row, strict=True))}

    def counts(self, run_id: str, pairs: Collection[str] | None = None) -> dict[str, int]:
        """Requests of a run by the status of their verdict; `pending` has none yet."""
        wanted = None if pairs is None else set(pairs)
        seen: dict[str, str] = {}
        for pair, key, status in self.store.conn.execute(
            "SELECT i.pair, i.request, coalesce(v.status, 'pending') FROM judge_item i"
            " LEFT JOIN verdict v ON v.request = i.request WHERE i.run = ?",
            (run_id,),
        ):
            if wanted is None or pair in wanted:
                seen[key] = status
        return _tally(seen.values())

    def pair_counts(self, run_id: str, pairs: Collection[str] | None = None) -> dict[str, int]:
        """Pair verdicts of a run by what they are: an outcome, or outcome and reason."""
        wanted = None if pairs is None else set(pairs)
        return _tally(
            ":".join(part for part in (outcome or status, reason) if part)
            for pair, status, outcome, reason in self.store.conn.execute(
                "SELECT pair, status, outcome, reason FROM pair_verdict WHERE run = ?", (run_id,)
            )
            if wanted is None or pair in wanted
        )

    def transcript(self, pair_id: str) -> list[dict[str, Any]]:
        """Every call made for a pair: what was asked, the raw reply, what was read in it."""
        rows = self.store.conn.execute(
            'SELECT r.name AS run, i.turn, i.dimension, i.order_shown AS "order",'
            " i.replicate, q.key AS request, json_extract(q.body, '$.messages') AS messages,"
            " a.started_at, a.latency_ms, a.status AS call, a.http_status, a.raw,"
            " a.served_model, a.error_class, a.error_text,"
            " v.status, v.choice, v.detail FROM judge_item i"
            " JOIN judge_run r ON r.id = i.run JOIN judge_request q ON q.key = i.request"
            " JOIN judge_attempt a ON a.request = q.key"
            " LEFT JOIN verdict v ON v.attempt = a.id"
            " WHERE i.pair = ? ORDER BY r.created_at, i.id, a.id",
            (pair_id,),
        )
        names = [column[0] for column in rows.description]
        found = [dict(zip(names, row, strict=True)) for row in rows]
        for entry in found:
            entry["messages"] = json.loads(entry["messages"])
            entry["raw"] = None if entry["raw"] is None else json.loads(entry["raw"])
        return found


_CONSTANT: dict[str, Any] = {
    "subject": "pair",
    "source_kind": "judge",
    "rater_group": "",
    "layer": "vote",
    "purpose": "estimation",
    "inclusion_probability": None,
    "strength": None,
    "protocol": "",
}
_RUN_SQL = (
    "SELECT id, name, kind, state, requested_model, endpoint, fingerprint, created_at,"
    " finished_at, manifest FROM judge_run"
)
_Unit = tuple[str, str, int, str, int]
"""Run, pair, turn, dimension, replicate: what one pair verdict is about."""


def _open(retry_failed: bool) -> str:
    """SQL: this verdict `v` does not stand. There was no reply, or a cut one and no second."""
    if retry_failed:
        return "(v.status IS NULL OR v.status <> 'ok')"
    return (
        "(v.status IS NULL OR v.status IN ('api_error', 'timeout', 'skipped_budget')"
        " OR (v.status = 'truncated' AND 1 = (SELECT count(*) FROM judge_attempt a"
        " WHERE a.request = v.request AND a.status = 'reply')))"
    )


def add_pair_verdict(conn: sqlite3.Connection, unit: _Unit, verdict: PairVerdict) -> None:
    """Write or replace one pair verdict inside the caller's transaction."""
    conn.execute(
        "INSERT INTO pair_verdict"
        " (run, pair, turn, dimension, replicate, status, outcome, reason, orders)"
        " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)"
        " ON CONFLICT (run, pair, turn, dimension, replicate) DO UPDATE SET"
        " status = excluded.status, outcome = excluded.outcome, reason = excluded.reason,"
        " orders = excluded.orders",
        (*unit, verdict.status, verdict.outcome, verdict.reason, verdict.orders),
    )


def _record(conn: sqlite3.Connection, run_id: str, ended: Ended) -> Parsed:
    call, key = ended.call, ended.key
    attempt = _insert_attempt(conn, run_id, key, call)
    parsed = _parsed(conn, key, call.status, call.raw, call.error_class)
    if call.status in NO_REPLY and (not ended.final or _has_reply(conn, key)):
        return parsed
    _put_verdict(conn, key, attempt, parsed)
    for unit in _units(conn, key):
        _derive(conn, unit)
    return parsed


def _derive(conn: sqlite3.Connection, unit: _Unit) -> None:
    """The pair verdict of a unit, once both of its orders have a verdict."""
    rows = conn.execute(
        "SELECT i.order_shown, v.status, v.choice FROM judge_item i"
        " JOIN verdict v ON v.request = i.request WHERE i.run = ? AND i.pair = ?"
        " AND i.turn = ? AND i.dimension = ? AND i.replicate = ? AND i.subject = 'pair'",
        unit,
    ).fetchall()
    verdicts = {
        order: Verdict.of(Status(status), Choice(choice) if choice else None, Order(order))
        for order, status, choice in rows
    }
    if len(verdicts) == 2:
        add_pair_verdict(conn, unit, combine(verdicts["ab"], verdicts["ba"]))


def _units(conn: sqlite3.Connection, key: str) -> list[_Unit]:
    """Everything, in any run, that a request's answer is for."""
    return conn.execute(
        "SELECT DISTINCT run, pair, turn, dimension, replicate FROM judge_item"
        " WHERE request = ? AND subject = 'pair'",
        (key,),
    ).fetchall()


def _insert_attempt(conn: sqlite3.Connection, run_id: str, key: str, call: Reply) -> int:
    inserted = conn.execute(
        "INSERT INTO judge_attempt (run, request, started_at, finished_at, status, http_status,"
        " raw, served_model, system_fingerprint, prompt_tokens, completion_tokens, latency_ms,"
        " error_class, error_text) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
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
        ),
    )
    return int(inserted.lastrowid or 0)


def _text(value: str | None) -> str | None:
    """An endpoint's own words; half of a surrogate pair, which SQLite refuses, becomes U+FFFD."""
    if value is None:
        return None
    return value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def _put_verdict(conn: sqlite3.Connection, key: str, attempt: int | None, parsed: Parsed) -> None:
    conn.execute(
        "INSERT INTO verdict (request, attempt, status, choice, detail, parser)"
        " VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT (request) DO UPDATE SET"
        " attempt = excluded.attempt, status = excluded.status, choice = excluded.choice,"
        " detail = excluded.detail, parser = excluded.parser",
        (key, attempt, parsed.status, parsed.choice, parsed.detail, PARSER_VERSION),
    )


def _parsed(
    conn: sqlite3.Connection, key: str, call: Status, raw: str | None, error: str | None
) -> Parsed:
    """What a call says: its reply's text, or its own failure."""
    if call is not Status.OK:
        return Parsed(call, detail=error or "")
    offered, form = conn.execute(
        "SELECT offered, json_extract(body, '$.response_format.type') FROM judge_request"
        " WHERE key = ?",
        (key,),
    ).fetchone()
    as_json = form == "json_schema"
    return parse_reply(json.loads(raw or "null"), json.loads(offered), as_json=as_json)


def _call_status(stored: str) -> Status:
    return Status.OK if stored == "reply" else Status(stored)


def _has_reply(conn: sqlite3.Connection, key: str) -> bool:
    row = conn.execute("SELECT status FROM verdict WHERE request = ?", (key,)).fetchone()
    return row is not None and row[0] not in NO_REPLY


def _free_name(conn: sqlite3.Connection, name: str, model: str, fingerprint: str) -> str:
    """The name asked for; without one the model's, told apart if it is taken."""
    wanted = name or model
    taken = {row[0] for row in conn.execute("SELECT name FROM judge_run")}
    if wanted not in taken:
        return wanted
    if name:
        raise UsageError(
            f"run name {name!r}: another judge run has it (other settings or endpoint);"
            " choose another name"
        )
    short = f"{model} {fingerprint[:8]}"
    return short if short not in taken else f"{short} {len(taken) + 1}"


def _is_named(conn: sqlite3.Connection, run_id: str, name: str) -> bool:
    return bool(
        conn.execute("SELECT 1 FROM judge_run WHERE id = ? AND name = ?", (run_id, name)).fetchone()
    )


def _distinct(conn: sqlite3.Connection, run_id: str, column: str) -> list[str]:
    rows = conn.execute(
        f"SELECT DISTINCT {column} FROM judge_attempt WHERE run = ? AND {column} IS NOT NULL"
        " ORDER BY 1",
        (run_id,),
    )
    return [row[0] for row in rows]


def _run(row: tuple[Any, ...]) -> Run:
    fields = dict(zip(Run.__slots__, row, strict=True))
    return Run(**{**fields, "manifest": json.loads(fields["manifest"])})


def _pieces(ids: Sequence[str], size: int = 50) -> Iterator[Sequence[str]]:
    for start in range(0, len(ids), size):
        yield ids[start : start + size]


def _marks(values: Sequence[str]) -> str:
    return ", ".join("?" * len(values))


def _tally(values: Iterable[str]) -> dict[str, int]:
    counted: dict[str, int] = {}
    for value in values:
        counted[value] = counted.get(value, 0) + 1
    return dict(sorted(counted.items()))
