"""Judges' grades as text for a terminal, as Markdown and as JSON."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from judge.reporting.layout import (
    aligned,
    counted,
    escaped,
    markdown_table,
    tallied,
    widths_of,
    wrapped,
)
from judge.reporting.plain import plain
from judge.stats.estimate import Estimate
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


def text_lines(table: GradeTable) -> Iterator[str]:
    """For a terminal: facts, then aligned tables."""
    yield f"  {_title(table)}"
    for fact in _facts(table):
        yield from wrapped(fact, first="    ", rest="      ")
    for title, headings, rows in _tables(table):
        widths = widths_of(headings, rows)
        yield from ("", f"    {title}")
        yield from (f"    {aligned(cells, widths, words=1)}" for cells in (headings, *rows))


def markdown_lines(table: GradeTable) -> Iterator[str]:
    """The same for a page."""
    yield from (f"### {escaped(_title(table))}", "")
    yield from (f"- {escaped(fact)}" for fact in _facts(table))
    for title, headings, rows in _tables(table):
        yield from ("", f"{title}:", "")
        yield from markdown_table(headings, rows, words=1)


def to_json(table: GradeTable) -> dict[str, Any]:
    """Every figure in full."""
    found: dict[str, Any] = plain(table)
    return found


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


def _title(table: GradeTable) -> str:
    return f"Judge {table.judge}: grades on {table.dimension}"


def _facts(table: GradeTable) -> Iterator[str]:
    yield f"intervals resample {counted(table.questions, 'question')}"
    failed = {row.model: row.mean.excluded for row in table.rows if row.mean.excluded}
    yield from (f"{model}: failed grades: {tallied(why)}" for model, why in failed.items())
    reasons = {row.mean.reason: None for row in table.rows if row.mean.reason}
    yield from (f"[–] {reason}" for reason in reasons)
    if table.stability is not None:
        yield stability_words(table.stability)
    for row in table.mtbench101:
        if row.overall.value is None:
            yield f"{row.model}: no MT-Bench-101 score: {row.overall.reason}"


def _tables(table: GradeTable) -> Iterator[tuple[str, list[str], list[list[str]]]]:
    turns = sorted({turn for row in table.rows for turn, _estimate in row.turns})
    names = ["dialogue" if turn == 0 else f"turn {turn}" for turn in turns]
    rows = []
    for row in table.rows:
        by_turn = dict(row.turns)
        cells = [_number(by_turn[turn]) if turn in by_turn else "–" for turn in turns]
        rows.append([row.model, str(row.mean.n), _figure(row.mean), *cells])
    yield "Mean grade, 1 to 10", ["model", "n", "mean", *names], rows
    if table.mtbench101:
        yield _tasks(table.mtbench101)


def _tasks(scores: tuple[TaskGrades, ...]) -> tuple[str, list[str], list[list[str]]]:
    rows: list[list[str]] = [
        ["all 13 tasks", *(_number(row.overall) for row in scores)],
        ["by mean over turns", *(_number(row.variant) for row in scores)],
    ]
    areas = [ability_scores(dict(row.tasks)) for row in scores]
    rows += [[name, *(_number(found[name]) for found in areas)] for name in areas[0]]
    codes = [code for code, _estimate in scores[0].tasks]
    by_code = [dict(row.tasks) for row in scores]
    rows += [[code, *(_number(found[code]) for found in by_code)] for code in codes]
    return "MT-Bench-101 scores", ["tasks", *(row.model for row in scores)], rows


def _number(estimate: Estimate) -> str:
    return "–" if estimate.value is None else f"{estimate.value:.2f}"


def _figure(estimate: Estimate) -> str:
    if estimate.low is None or estimate.high is None:
        return f"{_number(estimate)} [–]"
    return f"{_number(estimate)} [{estimate.low:.2f}, {estimate.high:.2f}]"
