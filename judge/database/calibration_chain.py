"""Whether calibrations, label plans, the ledger and the gate's attempts are as they were written.

Each is an event in the study's hash chain; here the rows are held against their events. Editing a
row then takes editing the chain, which `annotate.verify` recomputes.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator
from typing import Any

from annotate.errors import DataError
from annotate.records import canonical_json, digest
from judge.calibration.artefact import is_signed, is_whole, parsed
from judge.database.calibrations import Use, used_digest

TABLES = {"calibration": "calibrations", "label_plan": "label plans", "gate_attempt": "attempts"}


def counted(conn: sqlite3.Connection) -> dict[str, int]:
    """Rows that :func:`breaks` looks at, by what they are called."""
    if not _tables(conn):
        return {}
    return {
        words: int(conn.execute(f"SELECT count(*) FROM {name}").fetchone()[0])
        for name, words in TABLES.items()
    }


def breaks(conn: sqlite3.Connection, key: bytes | None = None) -> list[str]:
    """Every row that is not what its event recorded, in words; none: nothing was touched.

    Args:
        conn: of the study.
        key: with one, an artefact's HMAC must be of this key, where it has one.
    """
    if not _tables(conn):
        return []
    return [
        *_calibrations(conn, key),
        *_plans(conn),
        *_ledger(conn),
        *_attempts(conn),
    ]


def _tables(conn: sqlite3.Connection) -> bool:
    """A study that no judge was ever near has none of them."""
    sql = "SELECT 1 FROM sqlite_master WHERE name = 'calibration'"
    return conn.execute(sql).fetchone() is not None


def _calibrations(conn: sqlite3.Connection, key: bytes | None) -> Iterator[str]:
    logged = dict(_events(conn, "calibration"))
    seen = {""}
    rows = conn.execute("SELECT hash, created_at, run, status, body FROM calibration"
                        " ORDER BY rowid")  # fmt: skip
    for name, at, run, status, body in rows:
        where = f"calibration {name[:12]}"
        try:
            found = parsed(body, where)
        except DataError as error:
            yield str(error)
            seen.add(name)
            continue
        if not is_whole(found) or found["hash"] != name:
            yield f"{where}: its content was changed: it does not come to its hash"
        elif (found.get("created_at"), found.get("status")) != (at, status):
            yield f"{where}: its date or status was changed"
        if key and "hmac" in found and not is_signed(found, key):
            yield f"{where}: not signed with this key (EVENHAND_ARTEFACT_KEY)"
        # Not "the one just before": two commands may have begun after the same one.
        if found.get("previous") not in seen:
            yield f"{where}: follows a calibration that is gone"
        if name not in logged:
            yield f"{where}: stands in the table but not in the event log"
        elif logged[name].get("run") != run:
            yield f"{where}: its run was changed"
        seen.add(name)
    gone = logged.keys() - seen
    yield from (f"calibration {one[:12]}: was logged but is gone" for one in sorted(gone))


def _plans(conn: sqlite3.Connection) -> Iterator[str]:
    logged = dict(_events(conn, "label_plan"))
    for name, run, use, body in conn.execute("SELECT id, run, purpose, body FROM label_plan"):
        where = f"label plan {name[:8]}"
        said = logged.pop(name, None)
        if said is None:
            yield f"{where}: stands in the table but not in the event log"
        elif (said.get("run"), said.get("use"), said.get("digest")) != (
            run,
            use,
            digest(json.loads(body)),
        ):
            yield f"{where}: changed since it was drawn"
    yield from (f"label plan {one[:8]}: was logged but is gone" for one in logged)


def _ledger(conn: sqlite3.Connection) -> Iterator[str]:
    """The last event of a source and use says what all its entries come to."""
    logged = {(source, body.get("use")): body.get("digest") for source, body in
              _events(conn, "label_use")}  # fmt: skip
    for source, use in conn.execute("SELECT DISTINCT source, purpose FROM label_use"):
        if (source, use) not in logged:
            yield f"ledger of {source[:12]} ({use}): entries that are not in the event log"
    for (source, use), said in logged.items():
        if use not in set(Use) or used_digest(conn, source, Use(use)) != said:
            yield f"ledger of {source[:12]} ({use}): entries changed since they were made"


def _attempts(conn: sqlite3.Connection) -> Iterator[str]:
    logged = [
        (subject, body.get("exit"), body.get("words"), canonical_json(body.get("thresholds")))
        for subject, body in _events(conn, "gate")
    ]
    for number, calibration, code, words, thresholds in conn.execute(
        "SELECT id, calibration, exit, words, thresholds FROM gate_attempt ORDER BY id"
    ):
        row = (calibration or "none", code, words, canonical_json(json.loads(thresholds)))
        if row in logged:
            logged.remove(row)
        else:
            yield f"attempt {number} at the gate: changed, or not in the event log"
    yield from (f"attempt at the gate ({one[2]}): was logged but is gone" for one in logged)


def _events(conn: sqlite3.Connection, kind: str) -> list[tuple[str, dict[str, Any]]]:
    """(subject, body), oldest first; a body that was removed or is no object holds nothing."""
    rows = conn.execute(
        "SELECT e.subject, b.body FROM event e LEFT JOIN event_body b ON b.hash = e.hash"
        " WHERE e.kind = ? ORDER BY e.created_at, e.rowid",
        (kind,),
    )
    found = []
    for subject, body in rows:
        said = json.loads(body) if body else {}
        found.append((str(subject), said if isinstance(said, dict) else {}))
    return found
