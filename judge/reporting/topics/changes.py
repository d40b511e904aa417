"""From the reference to the other models: both values, drop, relative reduction, words to quote."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from judge.reporting import cells
from judge.reporting.document import Column, Part, Section, Table, Text, Weight
from judge.reporting.scope import slug
from judge.reporting.wordings import indicative
from judge.stats.changes import relative_words
from judge.stats.grades import GradeChanges
from judge.stats.harm_changes import HarmChanges, Measure
from judge.stats.harm_scores import PROMPT_WORDS
from judge.stats.model_changes import ModelChange

DEFINITIONS = {
    "drop": "the reference's value − the model's, in percentage points or grades; below 0 a rise",
    "relative reduction": "1 − the model's value / the reference's: 100 % all gone, 0 no change,"
    " below 0 an increase; not defined where the reference's is 0, and never quoted without both"
    " values",
}
NO_ZERO = (
    "Grades begin at 1, so a 4 is not half as good as an 8: the relative figure is here to compare"
    " with papers that quote it (the seed recipe), and for nothing else."
)
HOW = (
    "Changes between models: log risk ratios of independent sets; where models share prompts,"
    " intervals by question joined with their correlation (MOVER)."
)
"""For the head of the report."""
METHODS = (
    "Changes from {reference} are given as both values, the drop and the relative reduction,"
    " 1 − after / before. Where models share prompts, each share has Wilson's interval on its"
    " effective number of items (p (1 − p) over the variance between questions), each mean"
    " Student's t between questions, and both are joined (MOVER; Donner and Zou 2012) with their"
    " correlation over questions, of which half an item is taken off for shares (Newcombe 1998)."
    " The relative reduction of independent sets is the log risk ratio's (Katz et al. 1978) where"
    " both hold five hits and five others."
)
"""For a paper."""
BOUNDS = Column("bounds %")
COLUMNS = (
    Column("model", words=True),
    *map(Column, ("before %", "after %", "drop, points", "relative reduction %")),
    BOUNDS,
    Column("shared prompts"),
)
GRADE_COLUMNS = (Column("model", words=True), *map(Column, (
    "before", "after", "drop, grades", "seed recipe: relative %", "shared prompts",
)))  # fmt: skip
SHOWN = 6
"""Models named in a headline."""


def headline(found: Sequence[HarmChanges], source: str) -> Text | None:
    """How harm on the first set of prompts changes; None where nothing can be compared."""
    harm = next((one for one in found if one.measure is Measure.HARM), None)
    said = list(map(_quoted, _compared(harm.rows))) if harm else []
    if harm is None or not said:
        return None
    more = f"; and {len(said) - SHOWN} more" if len(said) > SHOWN else ""
    return Text(f"{_what(harm, source)}: {'; '.join(said[:SHOWN])}{more}.", Weight.KEY)


def section(
    found: Sequence[HarmChanges], reference: str, models: Sequence[str], source: str, key: str
) -> Section:
    """One source's tables, or why there is none."""
    parts: tuple[Part, ...] = tuple(_table(one, source, key) for one in found)
    return Section(
        f"changes-{key}",
        f"Changes by {source}",
        parts or (Text(_none(reference, models, source)),),
    )


def grade_parts(
    found: Sequence[GradeChanges], reference: str, models: Sequence[str], source: str
) -> tuple[Part, ...]:
    """Mean grades of one judge on one dimension against the reference's, or why there is none."""
    tables = tuple(_grade_table(one, source) for one in found)
    return tables or (Text(_none(reference, models, source)),)


def _none(reference: str, models: Sequence[str], source: str) -> str:
    if reference not in models:
        return f"No change from {reference}: it has no label or grade by {source}."
    if len(models) < 2:
        return f"No change from {reference}: no other model has a label or grade by {source}."
    return (
        f"No change from {reference} by {source}: on no set of prompts of both is any answer known"
        " to be unsafe, or a benign prompt refused in full."
    )


def _table(found: HarmChanges, source: str, key: str) -> Table:
    """One set of prompts, or over-refusal, by one source."""
    refusal = found.measure is Measure.FULL_REFUSALS
    name = "refusals" if refusal else found.prompts.value or "incidental"
    bounded = any(row.least != row.most for row in found.rows)
    return Table(
        f"changes-{name}-{key}",
        _what(found, source),
        COLUMNS if bounded else tuple(one for one in COLUMNS if one is not BOUNDS),
        tuple(
            (
                cells.words(row.model),
                cells.share_alone(row.change.before),
                cells.share_alone(row.change.after),
                cells.reduction(row.change.drop),
                cells.reduction(row.change.relative),
                *((cells.between(row.least, row.most),) if bounded else ()),
                cells.count(row.shared),
            )
            for row in found.rows
        ),
        tuple(_notes(found, source)),
    )


def _grade_table(found: GradeChanges, source: str) -> Table:
    return Table(
        f"changes-grades-{slug(found.dimension)}-by-{slug(found.judge)}",
        f"Change of the mean grade on {found.dimension} from {found.rows[0].reference}, by"
        f" {source}",
        GRADE_COLUMNS,
        tuple(
            (
                cells.words(row.model),
                cells.grade_alone(row.change.before),
                cells.grade_alone(row.change.after),
                cells.grade_drop(row.change.drop),
                cells.reduction(row.change.relative),
                cells.count(row.shared),
            )
            for row in found.rows
        ),
        (NO_ZERO, *_methods(found.rows)),
    )


def _what(found: HarmChanges, source: str) -> str:
    refusal = found.measure is Measure.FULL_REFUSALS
    what = "full refusals of benign prompts" if refusal else "harm"
    where = "" if refusal else f", on {PROMPT_WORDS[found.prompts]}"
    return f"Change of {what} from {found.rows[0].reference} as labelled by {source}{where}"


def _compared(rows: Sequence[ModelChange]) -> list[ModelChange]:
    return [row for row in rows if row.change.drop.value is not None]


def _notes(found: HarmChanges, source: str) -> Iterator[str]:
    quotes = [
        _quoted(row) for row in _compared(found.rows) if row.change.relative.value is not None
    ]
    if quotes:
        yield f"To quote: {_what(found, source)}: {'; '.join(quotes)}."
    yield from _methods(found.rows)
    if any(row.least != row.most for row in found.rows):
        yield "The bounds read unknown dialogues against the model and for it."


def _methods(rows: Sequence[ModelChange]) -> Iterator[str]:
    """Which interval is whose, where they are not all alike; and that few questions say little."""
    by: dict[str, list[str]] = {}
    for row in rows:
        figures = (row.change.drop, row.change.relative)
        how = "; drop ".join(dict.fromkeys(one.method for one in reversed(figures) if one.method))
        if how:
            by.setdefault(how, []).append(row.model)
    for how, models in by.items():
        whose = "" if len(by) == 1 else f" of {', '.join(models)}"
        yield f"Intervals{whose}: {how}."
    yield from indicative(max((row.change.drop.clusters for row in rows), default=0))


def _quoted(row: ModelChange) -> str:
    """Both values, the relative reduction, its interval, and bounds where they differ from it."""
    relative = row.change.relative
    said = f"{row.model} {row.change.words()}"
    if relative.low is not None and relative.high is not None:
        low, high = relative_words(relative.low), relative_words(relative.high)
        said += f", {100 * relative.level:g} % interval {low} to {high}"
    if row.least != row.most and row.least is not None and row.most is not None:
        low, high = relative_words(row.least), relative_words(row.most)
        said += f", {low} to {high} as unknown dialogues are read"
    return said
