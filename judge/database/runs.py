"""Judge runs in the study's file: begun, continued, ended, found again."""

from __future__ import annotations

import json
import sqlite3
import uuid
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from annotate.errors import StoreError, UsageError
from annotate.migrating import migrate
from annotate.records import canonical_json
from annotate.store import Store, now
from judge.database.migrations import MIGRATIONS


@dataclass(frozen=True, slots=True)
class Run:
    """One judge run as stored; `mode` is a judge's mode, or `answer`, or `anchor`."""

    id: str
    name: str
    kind: str
    mode: str
    state: str
    requested_model: str
    endpoint: str
    fingerprint: str
    created_at: str
    finished_at: str | None
    manifest: dict[str, Any]
    plan: dict[str, Any]
    """What was registered last: its digest, units, data digest and warnings."""


class RunStore:
    """The runs of a study; opening brings the judge's tables up to date."""

    def __init__(self, store: Store) -> None:
        self.store = store
        migrate(store.conn, MIGRATIONS, store.path)

    def start_run(
        self,
        *,
        model: str,
        endpoint: str,
        fingerprint: str,
        manifest: dict[str, Any],
        name: str,
        mode: str = "pairwise",
    ) -> Run:
        """Begin a live run, or continue the one with this fingerprint and endpoint.

        Each start's manifest goes into the event chain; the row holds the newest.

        Raises:
            UsageError: the name belongs to another run.
        """
        with self.store.write() as conn:
            found = conn.execute(
                "SELECT id, manifest FROM judge_run"
                " WHERE kind = 'live' AND fingerprint = ? AND endpoint = ?",
                (fingerprint, endpoint),
            ).fetchone()
            run_id = str(found[0]) if found else str(uuid.uuid4())
            manifest = {**manifest, **_learnt(json.loads(found[1]) if found else {})}
            if found is None:
                chosen = _free_name(conn, name, model, fingerprint)
                conn.execute(
                    "INSERT INTO judge_run (id, created_at, name, kind, mode, requested_model,"
                    " endpoint, fingerprint, manifest, state)"
                    " VALUES (?, ?, ?, 'live', ?, ?, ?, ?, '{}', 'running')",
                    (run_id, now(), chosen, mode, model, endpoint, fingerprint),
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

    def note_plan(self, run_id: str, plan: Mapping[str, Any]) -> None:
        """Note what a run's plan was made of, once all of it is registered."""
        with self.store.write() as conn:
            conn.execute(
                "UPDATE judge_run SET plan = ? WHERE id = ?", (canonical_json(dict(plan)), run_id)
            )

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

    def import_run(self, conn: sqlite3.Connection, name: str, mode: str = "pairwise") -> str:
        """The imported run of a judge named in a file, made if needed, in the caller's write."""
        row = conn.execute(
            "SELECT id FROM judge_run WHERE kind = 'imported' AND requested_model = ? AND mode = ?",
            (name, mode),
        ).fetchone()
        if row:
            return str(row[0])
        taken = conn.execute("SELECT 1 FROM judge_run WHERE name = ?", (name,)).fetchone()
        run_id = str(uuid.uuid4())
        conn.execute(
            "INSERT INTO judge_run (id, created_at, finished_at, name, kind, mode, requested_model,"
            " endpoint, fingerprint, manifest, state)"
            " VALUES (?, ?, ?, ?, 'imported', ?, ?, '', '', '{}', 'done')",
            (run_id, now(), now(), f"{name} (imported)" if taken else name, mode, name),
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

    def live(self, fingerprint: str, endpoint: str) -> Run | None:
        """The live run of this fingerprint at this endpoint, if it was ever begun."""
        row = self.store.conn.execute(
            f"{_RUN_SQL} WHERE kind = 'live' AND fingerprint = ? AND endpoint = ?",
            (fingerprint, endpoint),
        ).fetchone()
        return None if row is None else _run(row)

    def run(self, run_id: str) -> Run:
        """One run.

        Raises:
            StoreError: there is none with this id.
        """
        row = self.store.conn.execute(f"{_RUN_SQL} WHERE id = ?", (run_id,)).fetchone()
        if row is None:
            raise StoreError(f"judge run {run_id}: not in this study")
        return _run(row)


_RUN_SQL = (
    "SELECT id, name, kind, mode, state, requested_model, endpoint, fingerprint, created_at,"
    " finished_at, manifest, coalesce(plan, '{}') AS plan FROM judge_run"
)
LEARNT = ("rejected_parameters", "served_models", "served_fingerprints")
"""What a manifest has learnt from calls, and a later start of the run still holds."""


def _learnt(manifest: Mapping[str, Any]) -> dict[str, Any]:
    kept = {name: manifest[name] for name in LEARNT if name in manifest}
    return {"rejected_parameters": {}, **kept}


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
    return Run(
        **{**fields, "manifest": json.loads(fields["manifest"]), "plan": json.loads(fields["plan"])}
    )
