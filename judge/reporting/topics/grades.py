"""Judges' grades of single answers: means by model and turn, MT-Bench-101's scores."""

from __future__ import annotations

from collections.abc import Iterator

from judge.reporting import cells
from judge.reporting.document import Column, Facts, Section, Table
from judge.reporting.layout import counted, tallied
from judge.reporting.scope import slug
from judge.stats.grades import GradeTable, TaskGrades
from judge.stats.mtbench101 import ability_scores
from judge.stats.replicates import Stability

DEFINITIONS = {
    "mean grade": "mean of the judge's grades (1 worst, 10 best) over all graded turns; failed "
    "grades are left out and counted",
    "flip rate": "of two replicates of one question to the judge, how often they differ; "
    "chance is not corrected for",
    "MT-Bench-101": "a dialogue scores the minimum over its scored turns, a task the mean over its "
    "dialogues, the benchmark the unweighted mean over the 13 tasks; by mean over turns is a "
    "variant and not comparable with published scores",
}


def section(table: GradeTable) -> Section:
    """Facts, mean grades, and the benchmark's scores where they apply."""
    key = f"{slug(table.dimension)}-{slug(table.judge)}"
    return Section(
        f"grades-{key}",
        f"Judge {table.judge}: grades on {table.dimension}",
        (Facts(tuple(_facts(table))), *_tables(table, key)),
    )


def stability_words(found: Stability) -> str:
    """How far a judge agrees with itself, in one line."""
    if found.flip_rate is None:
        return "replicates: no question has two usable ones"
    words = (
        f"asked {found.replicates} times: {found.flips} of {found.comparisons} pairs of replicates"
        f" differ (flip rate {100 * found.flip_rate:.1f} %), {found.unanimous} of"
        f" {counted(found.units, 'unit')} never changed"
    )
    if found.spread is not None:
        words += f"; spread within a unit {found.spread:.2f} grade points (standard deviation)"
    return f"{words}; {found.alone} with fewer than two usable ones left out"


def _facts(table: GradeTable) -> Iterator[str]:
    yield f"intervals resample {counted(table.questions, 'question')}"
    failed = {row.model: row.mean.excluded for row in table.rows if row.mean.excluded}
    yield from (f"{model}: failed grades: {tallied(why)}" for model, why in failed.items())
    if table.stability is not None:
        yield stability_words(table.stability)
    for row in table.mtbench101:
        if row.overall.value is None:
            yield f"{row.model}: no MT-Bench-101 score: {row.overall.reason}"


def _tables(table: GradeTable, key: str) -> Iterator[Table]:
    turns = sorted({turn for row in table.rows for turn, _estimate in row.turns})
    names = ["dialogue" if turn == 0 else f"turn {turn}" for turn in turns]
    rows = []
    for row in table.rows:
        by_turn = dict(row.turns)
        alone = [
            cells.grade_alone(by_turn[turn]) if turn in by_turn else cells.words(cells.MISSING)
            for turn in turns
        ]
        rows.append(
            (cells.words(row.model), cells.count(row.mean.n), cells.grade(row.mean), *alone)
        )
    columns = (Column("model", words=True), *map(Column, ("n", "mean", *names)))
    yield Table(f"grades-{key}", "Mean grade, 1 to 10", columns, tuple(rows))
    if table.mtbench101:
        yield _tasks(table.mtbench101, key)


def _tasks(scores: tuple[TaskGrades, ...], key: str) -> Table:
    lines = [
        ("all 13 tasks", [row.overall for row in scores]),
        ("by mean over turns", [row.variant for row in scores]),
    ]
    areas = [ability_scores(dict(row.tasks)) for row in scores]
    lines += [(name, [found[name] for found in areas]) for name in areas[0]]
    by_code = [dict(row.tasks) for row in scores]
    lines += [(code, [found[code] for found in by_code]) for code, _estimate in scores[0].tasks]
    return Table(
        f"mtbench101-{key}",
        "MT-Bench-101 scores",
        (Column("tasks", words=True), *(Column(row.model) for row in scores)),
        tuple((cells.words(name), *map(cells.grade_alone, found)) for name, found in lines),
    )
