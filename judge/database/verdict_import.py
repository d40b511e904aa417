"""Verdicts and grades that came in a file, with no call of ours behind them.

One imported run per judge named in the file. Importing twice adds nothing; a second,
different value for the same place is reported and the first one stands. Where a file has
both orders of a pair verdict, each is kept beside it; else its orders are unknown.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence

from annotate.importer import Bound, BoundGrade, BoundLabel, VerdictSink
from annotate.library import Added
from annotate.readers import Problem
from annotate.records import Game, Label, Outcome, Status
from annotate.store import Store
from judge.ask.modes import Mode
from judge.ask.verdicts import PairVerdict, Verdict, combine
from judge.database.ledger import add_answer_verdict, add_pair_verdict
from judge.database.store import VerdictStore

REPLICATE = 1


def verdict_sink(store: Store) -> VerdictSink:
    """What `annotate.importer` hands judges' labels and grades to: one answer each, in order."""

    def sink(bound: Sequence[Bound]) -> list[Added | Problem]:
        verdicts, runs = VerdictStore(store), dict[tuple[str, Mode], str]()
        done: list[Added | Problem] = []
        with store.write() as conn:
            for one in bound:
                run_id = _run(conn, verdicts, one, runs)
                if isinstance(one, BoundGrade):
                    done.append(_add_grade(conn, run_id, one))
                else:
                    done.append(_add_label(conn, run_id, one))
            imported = sum(1 for what in done if what is Added.NEW)
            if imported:
                body = {"imported": imported}
                store.log(conn, "verdicts_imported", ",".join(sorted(runs.values())), body)
        return done

    return sink


def _run(
    conn: sqlite3.Connection, verdicts: VerdictStore, one: Bound, runs: dict[tuple[str, Mode], str]
) -> str:
    """The imported run of a judge; its grades are a run of their own, which has one mode."""
    if isinstance(one, BoundGrade):
        key = (one.grade.source_id, Mode.GRADE)
    else:
        key = (one.label.source_id, Mode.PAIRWISE)
    if key not in runs:
        runs[key] = verdicts.import_run(conn, *key)
    return runs[key]


def _add_label(conn: sqlite3.Connection, run_id: str, bound: BoundLabel) -> Added | Problem:
    label = bound.label
    new = _pair_verdict(label)
    # The pair may have got its text, and with it another id, since the last import.
    old = conn.execute(
        "SELECT pair, status, outcome, reason, orders FROM pair_verdict WHERE run = ?1"
        " AND pair IN (SELECT o.id FROM pair p JOIN pair o ON o.question = p.question"
        " AND o.model_a = p.model_a AND o.model_b = p.model_b"
        " WHERE p.id = ?2 AND ?2 IN (o.id, o.superseded_by))"
        " AND turn = ?3 AND dimension = ?4 AND replicate = ?5",
        (run_id, bound.pair_id, label.turn, label.dimension, REPLICATE),
    ).fetchone()
    if old is None:
        unit = (run_id, bound.pair_id, label.turn, label.dimension, REPLICATE)
        add_pair_verdict(conn, unit, new)
        _add_orders(conn, unit, label)
        return Added.NEW
    pair, *stored, orders = old
    if stored == [new.status, new.outcome, new.reason]:
        if orders == new.orders:
            # An import by an earlier version kept the pair verdict only.
            _add_orders(conn, (run_id, pair, label.turn, label.dimension, REPLICATE), label)
        return Added.MERGED
    return Problem(
        bound.where,
        "winner",
        f"{label.source_id} on question {label.key.question_id} ({label.model_a} /"
        f" {label.model_b}), turn {label.turn}, {label.dimension}:"
        f" {new.outcome or new.reason} differs from the stored {stored[1] or stored[2]},"
        " which stands",
    )


def _add_orders(
    conn: sqlite3.Connection, unit: tuple[str, str, int, str, int], label: Label
) -> None:
    for order, game in zip(("ab", "ba"), label.games or (), strict=False):
        verdict = _verdict(game)
        conn.execute(
            "INSERT OR IGNORE INTO imported_order"
            " (run, pair, turn, dimension, replicate, order_shown, status, outcome)"
            " VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
            (*unit, order, verdict.status, verdict.outcome),
        )


def _pair_verdict(label: Label) -> PairVerdict:
    """A file's label as a pair verdict; a failure keeps its name as the reason."""
    if label.games is not None:
        return combine(*(_verdict(game) for game in label.games))
    if label.status is Status.OK:
        return PairVerdict(Status.OK, label.value, label.reason, "unknown")
    return PairVerdict(Status.INCOMPLETE, None, label.reason or label.status.value, "unknown")


def _verdict(game: Game) -> Verdict:
    return Verdict(Status.OK, game) if isinstance(game, Outcome) else Verdict(game)


def _add_grade(conn: sqlite3.Connection, run_id: str, bound: BoundGrade) -> Added | Problem:
    grade = bound.grade
    unit = (run_id, bound.answer_id, grade.turn, grade.dimension, REPLICATE)
    old = conn.execute(
        "SELECT status, grade FROM answer_verdict WHERE run = ? AND answer = ? AND turn = ?"
        " AND dimension = ? AND replicate = ?",
        unit,
    ).fetchone()
    if old is None:
        add_answer_verdict(conn, unit, grade.status, grade.grade, None, grade.reason)
        return Added.NEW
    if old == (grade.status, grade.grade):
        return Added.MERGED
    return Problem(
        bound.where,
        "score",
        f"{grade.source_id} on {grade.model}'s answer to question {grade.key.question_id},"
        f" turn {grade.turn}, {grade.dimension}: {_shown(grade.status, grade.grade)} differs"
        f" from the stored {_shown(*old)}, which stands",
    )


def _shown(status: str, grade: float | None) -> str:
    return status if grade is None else f"{grade:g}"
