"""What judges' grades of answers come to: means by model and turn, and MT-Bench-101's score.

Pure: one tidy table in, frozen values out. A failed grade is no number: it is left out of
means and counted, and leaves a dialogue of MT-Bench-101 without a score.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import pandas as pd

from annotate.harm import HARM
from annotate.records import SourceKind, Status, Subject
from judge.ask.prompt import MTBENCH101
from judge.stats.estimate import Estimate
from judge.stats.model_changes import ModelChange, Valued, mean_changes
from judge.stats.mtbench101 import TASKS, Dialogue, Grade, How, overall, task_scores
from judge.stats.ratios import Ratio, estimated
from judge.stats.replicates import Stability, grade_stability

Questions = Mapping[tuple[str, str], int]
"""(benchmark, question id) → turns of the question."""


@dataclass(frozen=True, slots=True)
class ModelGrades:
    """One model's mean grade (1–10): over all graded turns, and of each turn (0: dialogues)."""

    model: str
    mean: Estimate
    turns: tuple[tuple[int, Estimate], ...]


@dataclass(frozen=True, slots=True)
class TaskGrades:
    """One model's MT-Bench-101 scores: the benchmark's, and the variant by mean over turns."""

    model: str
    overall: Estimate
    variant: Estimate
    tasks: tuple[tuple[str, Estimate], ...]


@dataclass(frozen=True, slots=True)
class GradeTable:
    """One judge's grades on one dimension, best model first."""

    judge: str
    dimension: str
    questions: int
    rows: tuple[ModelGrades, ...]
    stability: Stability | None = None
    """Where answers were graded several times; the means are of the first time."""
    mtbench101: tuple[TaskGrades, ...] = field(default=())


@dataclass(frozen=True, slots=True)
class GradeChanges:
    """From the reference's mean grade to those of the others, by one judge on one dimension."""

    judge: str
    dimension: str
    rows: tuple[ModelChange, ...]


@dataclass(frozen=True, slots=True)
class _Row:
    question: tuple[str, str]
    category: str
    model: str
    unit: str
    turn: int
    occurrence: int
    grade: Grade


def grade_tables(
    table: pd.DataFrame, questions: Questions, *, level: float, resamples: int, seed: int
) -> tuple[GradeTable, ...]:
    """Every judge's grades in a tidy table, by judge and dimension.

    Args:
        table: DESIGN §2's columns; rows about pairs and harm labels are left alone.
        questions: how many turns each question has, so that a turn never graded is noticed.
        level: confidence level, in (0, 1).
        resamples: bootstrap resamples of questions.
        seed: same seed, same intervals.
    """
    return tuple(
        _table(judge, dimension, rows, questions, level, resamples, seed)
        for (judge, dimension), rows in sorted(_by_judge(table).items())
    )


def grade_values(table: pd.DataFrame) -> dict[tuple[str, str], dict[str, list[Valued]]]:
    """What the means of :func:`grade_tables` are of: (judge, dimension) → model → grades."""
    found: dict[tuple[str, str], dict[str, list[Valued]]] = {}
    for key, rows in _by_judge(table).items():
        models: dict[str, list[Valued]] = {row.model: [] for row in rows}
        for row in rows:
            if row.occurrence == 1 and row.turn > 0 and not isinstance(row.grade, str):
                models[row.model].append(Valued(_name(row.question), row.grade))
        found[key] = models
    return found


def grade_changes(
    tables: Sequence[GradeTable], table: pd.DataFrame, reference: str
) -> tuple[GradeChanges, ...]:
    """Every judge's mean grades against the reference's; of judges that did not grade it none.

    Args:
        tables: as of :func:`grade_tables`.
        table: what they were made from.
        reference: a model.
    """
    values = grade_values(table)
    found = []
    for one in tables:
        means = {row.model: row.mean for row in one.rows}
        rows = mean_changes(reference, means, values[one.judge, one.dimension])
        if rows:
            found.append(GradeChanges(one.judge, one.dimension, rows))
    return tuple(found)


def _by_judge(table: pd.DataFrame) -> dict[tuple[str, str], list[_Row]]:
    found: dict[tuple[str, str], list[_Row]] = defaultdict(list)
    for row in _graded(table).to_dict("records"):
        found[str(row["source_id"]), str(row["dimension"])].append(_row(row))
    return found


def _name(question: tuple[str, str]) -> str:
    return f"{question[0]}\x1f{question[1]}"


def _graded(table: pd.DataFrame) -> pd.DataFrame:
    wanted = (
        (table["subject"] == Subject.ANSWER)
        & (table["source_kind"] == SourceKind.JUDGE)
        & (table["dimension"] != HARM)
    )
    return table[wanted]


def _row(row: Mapping[Any, Any]) -> _Row:
    value, status = row["value"], str(row["status"])
    return _Row(
        question=(str(row.get("benchmark", "")), str(row["question_id"])),
        category=str(row.get("category", "")),
        model=str(row["model_a"]),
        unit=str(row["unit_id"]),
        turn=int(row["turn"]),
        occurrence=int(row["occurrence"]),
        grade=float(value) if status == Status.OK else status,
    )


def _table(
    judge: str,
    dimension: str,
    rows: list[_Row],
    questions: Questions,
    level: float,
    resamples: int,
    seed: int,
) -> GradeTable:
    first = [row for row in rows if row.occurrence == 1]
    where = f"grades of judge {judge}; dimension {dimension}"
    ratios = dict(_ratios(first))
    names = {q: _name(q) for q in sorted({row.question for row in first})}
    estimates = estimated(
        ratios, list(names.values()), where, level=level, resamples=resamples, seed=seed
    )
    models = sorted({row.model for row in first})
    made = [
        ModelGrades(
            model,
            estimates[model, None],
            tuple((t, e) for (m, t), e in estimates.items() if m == model and t is not None),
        )
        for model in models
    ]
    made.sort(key=lambda row: (-(row.mean.value or 0.0), row.model))
    return GradeTable(
        judge=judge,
        dimension=dimension,
        questions=len(names),
        rows=tuple(made),
        stability=_stability(rows),
        mtbench101=tuple(_tasks(first, questions)) if dimension == MTBENCH101 else (),
    )


def _ratios(rows: list[_Row]) -> Iterator[tuple[tuple[str, int | None], Ratio]]:
    """Per model, of all turns (dialogues apart) and of each: Σ grades over how many."""
    groups: dict[tuple[str, int | None], list[_Row]] = defaultdict(list)
    for row in rows:
        groups[row.model, row.turn].append(row)
        if row.turn > 0:
            groups[row.model, None].append(row)
    for model in {row.model for row in rows}:
        groups.setdefault((model, None), [])
    for key, group in sorted(groups.items(), key=lambda g: (g[0][0], g[0][1] or 0)):
        top: dict[str, float] = defaultdict(float)
        bottom: Counter[str] = Counter()
        failed: Counter[str] = Counter()
        for row in group:
            if isinstance(row.grade, str):
                failed[row.grade] += 1
            else:
                question = _name(row.question)
                top[question] += row.grade
                bottom[question] += 1
        reason = "no grade" if not failed else "every grade failed"
        yield key, Ratio("mean grade", top, bottom, reason, dict(sorted(failed.items())), False)


def _stability(rows: list[_Row]) -> Stability | None:
    units: dict[tuple[str, int], list[float]] = defaultdict(list)
    for row in rows:
        if not isinstance(row.grade, str):
            units[row.unit, row.turn].append(row.grade)
    return grade_stability(units.values()) if any(row.occurrence > 1 for row in rows) else None


def _tasks(rows: list[_Row], questions: Questions) -> Iterator[TaskGrades]:
    by_model: dict[str, dict[tuple[str, str], dict[int, Grade]]] = defaultdict(dict)
    tasks = {row.question: row.category for row in rows if row.category in TASKS}
    for row in rows:
        if row.question in tasks and row.turn > 0:
            by_model[row.model].setdefault(row.question, {})[row.turn] = row.grade
    for model, graded in sorted(by_model.items()):
        dialogues = [
            Dialogue(
                " ".join(question), tasks[question], questions.get(question, max(grades)), grades
            )
            for question, grades in sorted(graded.items())
        ]
        scores = {how: task_scores(dialogues, how) for how in How}
        yield TaskGrades(
            model,
            overall(scores[How.MIN]),
            overall(scores[How.MEAN]),
            tuple(scores[How.MIN].items()),
        )
