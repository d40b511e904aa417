"""Judgments of a run, a page at a time: all of them, or those that need a second look.

A place is one judgment of a run: a pair or an answer, a turn, a dimension, a replicate.
Paging happens in SQL, so that a page of a large run costs what a page costs.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from annotate.records import Layer, Subject
from annotate.store import Store
from annotate.versions import PAIR_MODELS, pair_names, shown_name
from judge.ask.modes import Mode
from judge.ask.verdicts import INCONSISTENT
from judge.database.runs import Run, RunStore


class Which(StrEnum):
    """Which judgments of a run are shown."""

    ALL = "all"
    AGAINST = "against"
    """A verdict that held in both orders is not the outcome that most votes gave."""
    INCONSISTENT = "inconsistent"
    """The two orders disagree."""
    FAILED = "failed"
    """No verdict: at least one call brought nothing usable."""


@dataclass(frozen=True, slots=True)
class Place:
    """One judgment; `status` is "" while its calls are open.

    `unit` is the id under which the judgment is stored, `text_unit` that of the pair or answer
    that has the texts today. `models` has two names, or one for an answer.
    """

    subject: Subject
    unit: str
    text_unit: str
    turn: int
    dimension: str
    replicate: int
    question_id: str
    category: str
    models: tuple[str, ...]
    status: str
    outcome: str | None
    reason: str
    grade: float | None
    harm: Mapping[str, Any] | None


@dataclass(frozen=True, slots=True)
class Page:
    """`places` from `offset` on, of `total` that fit."""

    total: int
    offset: int
    places: tuple[Place, ...]


def judged_runs(store: Store) -> list[tuple[Run, int]]:
    """Every run that judges, oldest first, with how many judgments it has."""
    runs = RunStore(store)
    numbers = dict(
        store.conn.execute(
            "SELECT run, count(*) FROM pair_verdict GROUP BY run"
            " UNION ALL SELECT run, count(*) FROM answer_verdict GROUP BY run"
        ).fetchall()
    )
    modes = set(Mode)
    return [(run, numbers.get(run.id, 0)) for run in runs.runs() if run.mode in modes]


def page(
    store: Store, run: Run, which: Which, offset: int, limit: int, question_id: str = ""
) -> Page:
    """Some judgments of a run in the order of its plan; all questions, or only one."""
    subject = Mode(run.mode).subject
    source = _source(subject, imported=run.kind == "imported")
    condition = _condition(subject, which)
    values = {"run": run.id, "question": question_id, "simulated": int(not _has_people(store))}
    with store.snapshot() as conn:
        total = conn.execute(f"SELECT count(*) {source} AND {condition}", values).fetchone()[0]
        rows = conn.execute(
            f"SELECT {_columns(subject)} {source} AND {condition}"
            " ORDER BY 1 LIMIT :limit OFFSET :offset",
            {**values, "limit": limit, "offset": offset},
        ).fetchall()
    return Page(int(total), offset, tuple(_place(subject, row) for row in rows))


def _columns(subject: Subject) -> str:
    """The columns of a place, in the order of :func:`_place`."""
    if subject is Subject.PAIR:
        return (
            "s.at, s.unit, coalesce(p.superseded_by, p.id), s.turn, s.dimension, s.replicate,"
            f" q.question_id, q.category, {pair_names(shown_name)},"
            " coalesce(j.status, ''), j.outcome, coalesce(j.reason, ''), NULL, NULL"
        )
    return (
        "s.at, s.unit, s.unit, s.turn, s.dimension, s.replicate, q.question_id, q.category,"
        f" {shown_name('m')}, NULL, coalesce(j.status, ''), NULL, coalesce(j.reason, ''),"
        " j.grade, j.harm"
    )


def _source(subject: Subject, *, imported: bool) -> str:
    """SQL: the places `s` of a run with their judgment `j` and question `q`.

    A live run's places are in its plan; an imported run has judgments only.
    """
    if imported:
        places = (
            f"SELECT rowid AS at, {subject} AS unit, turn, dimension, replicate"
            f" FROM {subject}_verdict WHERE run = :run"
        )
    else:
        # A pair's two orders are one place.
        once = "AND order_shown = 'ab'" if subject is Subject.PAIR else ""
        places = (
            f"SELECT id AS at, {subject} AS unit, turn, dimension, replicate FROM judge_item"
            f" WHERE run = :run AND subject = '{subject}' {once}"
        )
    judged = (
        f"LEFT JOIN {subject}_verdict j ON j.run = :run AND j.{subject} = s.unit"
        " AND j.turn = s.turn AND j.dimension = s.dimension AND j.replicate = s.replicate"
    )
    unit = (
        f"JOIN pair p ON p.id = s.unit {PAIR_MODELS} JOIN question q ON q.id = p.question"
        if subject is Subject.PAIR
        else "JOIN answer a ON a.id = s.unit JOIN model m ON m.id = a.model"
        " JOIN question q ON q.id = a.question"
    )
    wanted = "(:question = '' OR q.question_id = :question)"
    return f"FROM ({places}) s {judged} {unit} WHERE {wanted}"


def _condition(subject: Subject, which: Which) -> str:
    if which is Which.FAILED:
        return "j.status <> 'ok'"
    if which is Which.INCONSISTENT:
        return f"j.reason = '{INCONSISTENT}'"
    if which is Which.AGAINST:
        return _AGAINST if subject is Subject.PAIR else "0"
    return "1"


def _has_people(store: Store) -> bool:
    """Whether any standing vote is a person's and not a simulated one."""
    row = store.conn.execute(
        f"SELECT 1 FROM vote WHERE layer <> '{Layer.SIMULATED}' AND status = 'ok' LIMIT 1"
    ).fetchone()
    return row is not None


def _place(subject: Subject, row: tuple[Any, ...]) -> Place:
    return Place(
        subject=subject,
        unit=row[1],
        text_unit=row[2],
        turn=row[3],
        dimension=row[4],
        replicate=row[5],
        question_id=row[6],
        category=row[7],
        models=tuple(name for name in row[8:10] if name is not None),
        status=row[10],
        outcome=row[11],
        reason=row[12],
        grade=row[13],
        harm=_json(row[14]),
    )


def _json(text: str | None) -> Any:
    return None if text is None else json.loads(text)


# Tie and both-bad are one here, as in S1; where people are evenly split, nobody is against them.
_AGAINST = """
j.status = 'ok' AND j.reason <> 'inconsistent' AND (
  SELECT CASE WHEN count(*) = 0 THEN 0
    WHEN sum(n = best) > 1 THEN 0
    ELSE max(iif(n = best, said, '')) <> iif(j.outcome = 'both_bad', 'tie', j.outcome) END
  FROM (
    SELECT said, n, max(n) OVER () AS best FROM (
      SELECT iif(v.outcome = 'both_bad', 'tie', v.outcome) AS said, count(*) AS n
      FROM current_vote v JOIN rater r ON r.id = v.rater JOIN pair vp ON vp.id = v.pair
      WHERE vp.question = p.question AND vp.model_a = p.model_a AND vp.model_b = p.model_b
        AND coalesce(vp.superseded_by, vp.id) = coalesce(p.superseded_by, p.id)
        AND v.turn = s.turn AND v.dimension = s.dimension
        AND v.occurrence = 1 AND r.kind <> 'preview' AND (v.layer = 'simulated') = :simulated
      GROUP BY 1))
)
"""
