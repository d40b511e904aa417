"""Verdicts that came in a file: labels only, their orders unknown.

One imported run per judge named in the file. Importing twice adds nothing; a second,
different value for the same place is reported and the first one stands.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable
from dataclasses import dataclass, field

from annotate.errors import DataError
from annotate.importer import BoundLabel, VerdictSink
from annotate.library import Added
from annotate.readers import Problem
from annotate.records import Label, Outcome, SourceKind, Status
from annotate.store import Store

from .ledger import add_pair_verdict
from .store import VerdictStore
from .verdicts import PairVerdict, Verdict, combine

CONFLICTS_SHOWN = 20


@dataclass(slots=True)
class ImportCounts:
    """What an import did; `conflict_places` names the first conflicts in words."""

    imported: int = 0
    merged: int = 0
    conflicts: int = 0
    runs: int = 0
    conflict_places: list[str] = field(default_factory=list)


def import_labels(store: Store, labels: Iterable[tuple[Label, str]]) -> ImportCounts:
    """Store (label, pair id) verdicts of judges, all or none.

    Labels may name their models in either order; they are brought to canonical naming.

    Raises:
        DataError: a label is not a judge's, or is `ok` without a value.
    """
    verdicts, counts, runs = VerdictStore(store), ImportCounts(), dict[str, str]()
    with store.write() as conn:
        for label, pair_id in labels:
            _check(label)
            if label.source_id not in runs:
                runs[label.source_id] = verdicts.import_run(conn, label.source_id)
            _add(conn, runs[label.source_id], label.canonical(), pair_id, counts)
        counts.runs = len(runs)
        store.log(
            conn,
            "verdicts_imported",
            ",".join(sorted(runs.values())),
            {"imported": counts.imported, "merged": counts.merged, "conflicts": counts.conflicts},
        )
    return counts


def verdict_sink(store: Store) -> VerdictSink:
    """What `annotate.importer` hands judges' labels to: one answer per label, in order."""

    def sink(labels: list[BoundLabel]) -> list[Added | Problem]:
        verdicts, runs = VerdictStore(store), dict[str, str]()
        done: list[Added | Problem] = []
        with store.write() as conn:
            for bound in labels:
                label = bound.label
                if label.source_id not in runs:
                    runs[label.source_id] = verdicts.import_run(conn, label.source_id)
                counts = ImportCounts()
                _add(conn, runs[label.source_id], label, bound.pair_id, counts)
                if counts.conflicts:
                    done.append(Problem(bound.where, "winner", counts.conflict_places[0]))
                else:
                    done.append(Added.NEW if counts.imported else Added.MERGED)
            imported = sum(1 for what in done if what is Added.NEW)
            if imported:
                body = {"imported": imported}
                store.log(conn, "verdicts_imported", ",".join(sorted(runs.values())), body)
        return done

    return sink


def _check(label: Label) -> None:
    where = f"verdict on question {label.key.question_id} of {label.key.benchmark}"
    if label.source_kind is not SourceKind.JUDGE:
        raise DataError(f"{where}: source kind {label.source_kind}; expected judge")
    if not label.source_id:
        raise DataError(f"{where}: no judge named; expected source_id")
    if label.status is Status.OK and label.value is None and label.games is None:
        raise DataError(f"{where}: status ok without a value; expected a, b, tie or both_bad")


def _add(
    conn: sqlite3.Connection, run_id: str, label: Label, pair_id: str, counts: ImportCounts
) -> None:
    unit = (run_id, pair_id, label.turn, label.dimension, 1)
    new = _pair_verdict(label)
    # The pair may have got its text, and with it another id, since the last import.
    old = conn.execute(
        "SELECT status, outcome, reason FROM pair_verdict WHERE run = ?1"
        " AND pair IN (SELECT o.id FROM pair p JOIN pair o ON o.question = p.question"
        " AND o.model_a = p.model_a AND o.model_b = p.model_b"
        " WHERE p.id = ?2 AND ?2 IN (o.id, o.superseded_by))"
        " AND turn = ?3 AND dimension = ?4 AND replicate = ?5",
        unit,
    ).fetchone()
    if old is None:
        add_pair_verdict(conn, unit, new)
        counts.imported += 1
    elif tuple(old) == (new.status, new.outcome, new.reason):
        counts.merged += 1
    else:
        counts.conflicts += 1
        if len(counts.conflict_places) < CONFLICTS_SHOWN:
            counts.conflict_places.append(
                f"{label.source_id} on question {label.key.question_id} ({label.model_a} /"
                f" {label.model_b}), turn {label.turn}, {label.dimension}:"
                f" {new.outcome or new.reason} differs from the stored {old[1] or old[2]},"
                " which stands"
            )


def _pair_verdict(label: Label) -> PairVerdict:
    """A file's label as a pair verdict; a failure keeps its name as the reason."""
    if label.games is not None:
        return combine(*(_verdict(game) for game in label.games))
    if label.status is Status.OK:
        return PairVerdict(Status.OK, label.value, label.reason, "unknown")
    return PairVerdict(Status.INCOMPLETE, None, label.reason or label.status.value, "unknown")


def _verdict(game: Outcome | None) -> Verdict:
    """One game of a file; files do not say how a game failed."""
    return Verdict(Status.API_ERROR) if game is None else Verdict(Status.OK, game)
