"""From the reference to the other models: both values, drop, relative reduction, words to quote."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from judge.reporting import cells
from judge.reporting.document import Column, Table, Text, Weight
from judge.reporting.scope import slug
from judge.reporting.scores import GradeChanges
from judge.stats.changes import Change
from judge.stats.harm_changes import HarmChanges, Measure
from judge.stats.harm_scores import PROMPT_WORDS
from judge.stats.model_changes import ModelChange

DEFINITIONS = {
    "drop": "the reference's value − the model's, in percentage points or in grades; below 0 an"
    " increase",
    "relative reduction": "1 − the model's value / the reference's: 100 % all gone, 0 no change,"
    " below 0 an increase; not defined where the reference's is 0, and never quoted without both"
    " values",
}
NO_ZERO = (
    "Grades begin at 1, so half of a grade of 8 is not 4: the relative reduction is here to compare"
    " with papers that quote it, and for nothing else."
)
BOUNDS = Column("bounds %")
COLUMNS = (
    Column("model", words=True),
    *map(Column, ("before %", "after %", "drop, points", "relative reduction %")),
    BOUNDS,
    Column("shared prompts"),
)
GRADE_COLUMNS = (Column("model", words=True), *map(Column, (
    "before", "after", "drop, grades", "relative reduction %", "shared prompts",
)))  # fmt: skip
SHOWN = 6
"""Models named in a headline."""


def headline(found: Sequence[HarmChanges], source: str) -> Text | None:
    """What harm on the first set of prompts changes by; None where nothing can be compared."""
    harm = next((one for one in found if one.measure is Measure.HARM), None)
    said = [
        f"{row.model} {_quoted(row.change)}"
        for row in (harm.rows if harm else ())
        if row.change.drop.value is not None
    ]
    if harm is None or not said:
        return None
    more = f"; and {len(said) - SHOWN} more" if len(said) > SHOWN else ""
    return Text(
        f"Reduction of harm by {source}, on {PROMPT_WORDS[harm.prompts]}, from"
        f" {harm.rows[0].reference}: {'; '.join(said[:SHOWN])}{more}.",
        Weight.KEY,
    )


def table(found: HarmChanges, source: str, key: str) -> Table:
    """One set of prompts, or over-refusal, by one source."""
    refusal = found.measure is Measure.FULL_REFUSALS
    what = "benign prompts refused in full" if refusal else f"harm on {PROMPT_WORDS[found.prompts]}"
    name = "refusals" if refusal else found.prompts.value or "incidental"
    bounded = any(row.least != row.most for row in found.rows)
    columns = COLUMNS if bounded else tuple(one for one in COLUMNS if one is not BOUNDS)
    return Table(
        f"changes-{name}-{key}",
        f"From {found.rows[0].reference} to the others: {what}; by {source}",
        columns,
        tuple(
            (
                cells.words(row.model),
                cells.share_alone(row.change.before),
                cells.share_alone(row.change.after),
                cells.points(row.change.drop),
                cells.reduction(row.change.relative),
                *((cells.between(row.least, row.most),) if bounded else ()),
                cells.count(row.shared),
            )
            for row in found.rows
        ),
        tuple(_notes(found.rows)),
    )


def grade_table(found: GradeChanges, source: str) -> Table:
    """Mean grades of one judge on one dimension."""
    rows = found.rows
    return Table(
        f"changes-grades-{slug(found.dimension)}-{slug(found.judge)}",
        f"From {rows[0].reference} to the others: mean grade on {found.dimension}; by {source}",
        GRADE_COLUMNS,
        tuple(
            (
                cells.words(row.model),
                cells.grade_alone(row.change.before),
                cells.grade_alone(row.change.after),
                cells.number(row.change.drop),
                cells.reduction(row.change.relative),
                cells.count(row.shared),
            )
            for row in rows
        ),
        (NO_ZERO, *_notes(rows, in_percent=False)),
    )


def _notes(rows: Sequence[ModelChange], *, in_percent: bool = True) -> Iterator[str]:
    quotes = [
        f"{row.model}, {row.change.words(percent=in_percent)}"
        for row in rows
        if row.change.relative.value is not None
    ]
    if quotes:
        yield f"To quote: {'; '.join(quotes)}."
    figures = [figure for row in rows for figure in (row.change.drop, row.change.relative)]
    methods = dict.fromkeys(figure.method for figure in figures if figure.method)
    if methods:
        yield f"Intervals of drop and reduction: {'; '.join(methods)}."
    if any(row.least != row.most for row in rows):
        yield (
            "The bounds read unknown dialogues against the model and for it; where they are far"
            " apart, quote them too."
        )


def _quoted(change: Change) -> str:
    relative = change.relative
    if relative.low is None or relative.high is None:
        return change.words()
    low, high = map(cells.reduction_words, (relative.low, relative.high))
    return f"{change.words()} [{low}, {high}]"
