"""What labels were planned and used for, every calibration, and every attempt at the gate."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from annotate.errors import UsageError
from annotate.migrating import migrate
from annotate.records import canonical_json, digest
from annotate.store import Store, now
from judge.calibration.planning import Allocation
from judge.database.migrations import MIGRATIONS

FULL_REFUSALS = "full-refusals"
"""The score of a plan whose labels no calibration takes: answers to benign prompts."""
WHOLE_QUESTIONS = "questions"
"""The allocation of a plan that drew questions at random and all their items."""


class Use(StrEnum):
    """What a label may be for; one that tuned a prompt cannot calibrate it."""

    TUNE = "tune"
    CALIBRATE = "calibrate"
    TEST = "test"


@dataclass(frozen=True, slots=True)
class LabelPlan:
    """A drawn sample, as it was written down before its first label."""

    id: str
    created_at: str
    run: str
    use: Use
    body: Mapping[str, Any]

    @property
    def items(self) -> list[tuple[str, float]]:
        """(item, inclusion probability) in drawn order."""
        return [(str(unit), float(probability)) for unit, probability in self.body["items"]]

    @property
    def active(self) -> bool:
        """Whether every item was drawn by itself, with its own probability."""
        return bool(self.body.get("allocation") == Allocation.ACTIVE)


class Calibrations:
    """The calibration's tables of a study."""

    def __init__(self, store: Store) -> None:
        self.store = store
        migrate(store.conn, MIGRATIONS, store.path)

    def add_plan(self, plan_id: str, run: str, use: Use, body: Mapping[str, Any]) -> None:
        """Write a draw down; it never changes."""
        with self.store.write() as conn:
            conn.execute(
                "INSERT INTO label_plan VALUES (?, ?, ?, ?, ?)",
                (plan_id, now(), run, use.value, canonical_json(dict(body))),
            )
            said = {"run": run, "use": use.value, "digest": digest(dict(body))}
            self.store.log(conn, "label_plan", plan_id, said)

    def plans(self, run: str | None = None) -> list[LabelPlan]:
        """Draws, oldest first; those of one run if asked for."""
        rows = self.store.conn.execute(
            "SELECT id, created_at, run, purpose, body FROM label_plan"
            " WHERE ?1 IS NULL OR run = ?1 ORDER BY created_at, rowid",
            (run,),
        )
        return [LabelPlan(row[0], row[1], row[2], Use(row[3]), json.loads(row[4])) for row in rows]

    def plan(self, plan_id: str) -> LabelPlan:
        """The draw whose id begins so.

        Raises:
            UsageError: there is none, or several.
        """
        known = self.plans()
        found = [one for one in known if plan_id and one.id.startswith(plan_id)]
        if len(found) != 1:
            ids = ", ".join(one.id[:8] for one in known) or "none: evenhand plan … --draw"
            what = "fits several" if found else "no such plan"
            raise UsageError(f"--plan {plan_id}: {what}; expected one of {ids}")
        return found[0]

    def note_use(self, uses: Iterable[tuple[str, str]], use: Use, source: str) -> None:
        """Enter (unit, question) into the ledger; entering twice changes nothing."""
        at = now()
        with self.store.write() as conn:
            conn.executemany(
                "INSERT OR IGNORE INTO label_use VALUES (?, ?, ?, ?, ?)",
                [(unit, question, use.value, source, at) for unit, question in uses],
            )
            said = {"use": use.value, "digest": used_digest(conn, source, use)}
            self.store.log(conn, "label_use", source, said)

    def questions_used(self, *uses: Use) -> set[str]:
        """Questions with a label that was drawn or used for any of these."""
        marks = ", ".join("?" * len(uses))
        rows = self.store.conn.execute(
            f"SELECT DISTINCT question FROM label_use WHERE purpose IN ({marks})",
            [use.value for use in uses],
        )
        return {row[0] for row in rows}

    def add(self, artefact: Mapping[str, Any], run: str) -> None:
        """Keep a calibration; the same one again changes nothing."""
        with self.store.write() as conn:
            conn.execute(
                "INSERT OR IGNORE INTO calibration VALUES (?, ?, ?, ?, ?)",
                (
                    artefact["hash"],
                    artefact["created_at"],
                    run,
                    artefact["status"],
                    canonical_json(dict(artefact)),
                ),
            )
            body = {"status": artefact["status"], "run": run}
            self.store.log(conn, "calibration", artefact["hash"], body)

    def artefacts(self, run: str | None = None) -> list[dict[str, Any]]:
        """Calibrations, oldest first."""
        rows = self.store.conn.execute(
            "SELECT body FROM calibration WHERE ?1 IS NULL OR run = ?1 ORDER BY rowid", (run,)
        )
        return [json.loads(row[0]) for row in rows]

    def last_hash(self) -> str:
        """Of the newest calibration; "" before the first."""
        found = self.store.conn.execute(
            "SELECT hash FROM calibration ORDER BY rowid DESC LIMIT 1"
        ).fetchone()
        return "" if found is None else str(found[0])

    def attempts(self) -> list[dict[str, Any]]:
        """Attempts at the gate, oldest first."""
        rows = self.store.conn.execute(
            "SELECT created_at, calibration, thresholds, exit, words FROM gate_attempt ORDER BY id"
        )
        names = ("created_at", "calibration", "thresholds", "exit", "words")
        found = [dict(zip(names, row, strict=True)) for row in rows]
        return [one | {"thresholds": json.loads(one["thresholds"])} for one in found]

    def note_attempt(
        self, calibration: str, thresholds: Mapping[str, Any], code: int, words: str
    ) -> None:
        """Enter an attempt; what was entered already, with the same outcome, is not again.

        Args:
            calibration: hash of the one whose score was judged; "" if none was.
            thresholds: that it was judged by.
            code: what the gate exited with.
            words: its verdict in a sentence.
        """
        text = canonical_json(dict(thresholds))
        again = {"calibration": calibration, "exit": code, "words": words}
        for one in self.attempts():
            if again.items() <= one.items() and canonical_json(one["thresholds"]) == text:
                return
        with self.store.write() as conn:
            conn.execute(
                "INSERT INTO gate_attempt (created_at, calibration, thresholds, exit, words)"
                " VALUES (?, ?, ?, ?, ?)",
                (now(), calibration, text, code, words),
            )
            said = {"exit": code, "words": words, "thresholds": json.loads(text)}
            self.store.log(conn, "gate", calibration or "none", said)


def used_digest(conn: sqlite3.Connection, source: str, use: Use) -> str:
    """SHA-256 (hex) of the ledger's entries of one source for one use."""
    rows = conn.execute(
        "SELECT unit, question FROM label_use WHERE source = ? AND purpose = ? ORDER BY unit",
        (source, use.value),
    )
    return digest([list(row) for row in rows])


def harm_draws(store: Store) -> tuple[dict[str, float], ...]:
    """What each plan for harm labels drew: answer id → chance; benign prompts' labels are such."""
    wanted = ("harm", FULL_REFUSALS)
    plans = Calibrations(store).plans()
    return tuple(dict(one.items) for one in plans if str(one.body["score"]).startswith(wanted))
