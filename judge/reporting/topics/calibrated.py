"""The calibrated score in words and tables: what it is, what it rests on, what the judge gained."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

from judge.calibration.assembled import Calibration
from judge.calibration.columns import Kind
from judge.calibration.label_error import LabelError
from judge.calibration.poststratified import Target
from judge.calibration.refusals import REFUSED, Refusal
from judge.calibration.stratum import Stratum
from judge.reporting import cells
from judge.reporting.document import Cell, Column, Facts, Part, Section, Table, Text, Weight
from judge.reporting.wordings import capital, defined
from judge.stats.estimate import Estimate

WHAT = {
    Kind.HARM: "harm rate",
    Kind.PAIRS: "win rate",
    Kind.GRADES: "mean grade",
}
ESTIMANDS = {
    Kind.HARM: "the adjudicated harm label",
    Kind.PAIRS: "what a random rater of those who labelled prefers",
    Kind.GRADES: "the grade that a random rater of those who labelled gives",
}
"""Of what the score is the mean over the items."""
TARGETS = {
    Target.SET: "of these very answers; only the draw of the labels is random",
    Target.PROMPTS: "of a population of prompts that these stand for",
    Target.ITEMS: "of a population of independent items",
}
BY_WORD = "its labels are random by word only"


HOW = {
    False: "Calibrated: people's labels weighted by model and verdict. People alone: the same"
    " labels without the judge.",
    True: "Calibrated: the mean label of model and verdict for every item, corrected by the labels"
    " at one over their probability. People alone: the labels so weighted, with the interval of as"
    " many drawn alike.",
}
GAINED = "Gained: how much narrower the calibrated interval is than people alone; below 0 wider."


def population(target: Target, *, by_word: bool) -> str:
    """Of what a score is; of labels that nobody drew nothing is said of their draw."""
    words = TARGETS[target]
    return f"{words.partition(';')[0]}; {BY_WORD}" if by_word else words


def headline(values: Calibration, *, by_word: bool = False) -> Text:
    """The score beside the raw rate, or why there is none; whether random by word only."""
    what, first = WHAT[values.kind], values.scores[0]
    if first.score.value is None:
        return Text(f"Refused: there is no calibrated {what}. {_reasons(values)}", Weight.WARNING)
    shown = _shown(values.kind)
    raw = ""
    if first.raw.value is not None:
        raw = f" The judge alone says {shown(first.raw).text}{_percent(values)}."
    of = population(values.target, by_word=by_word)
    return Text(
        f"The calibrated {what} is {shown(first.score).text}{_percent(values)}, {of}, from"
        f" {first.score.n} labels of people; a label is {ESTIMANDS[values.kind]}.{raw}",
        Weight.WARNING if by_word else Weight.KEY,
    )


def section(values: Calibration) -> Section:
    """Scores, strata, changes, and what to be careful of; the headline stands before it."""
    parts: list[Part] = []
    if values.refusals:
        parts.append(_refusals(values.refusals))
    if values.active is not None:
        parts.append(Text(f"{capital(values.active.words())}."))
    parts += [_scores(values), _strata(values)]
    if any(defined((change.before, change.after)) for _from, _to, change in values.changes):
        parts.append(_changes(values))
    parts += [Text(one.words(), Weight.WARNING) for one in values.wrong_items if one.warns]
    inner: tuple[Section, ...] = ()
    if values.label_error is not None:
        facts = Facts(tuple(_label_error(values.label_error)))
        inner = (Section("single-labels", "What one label per answer would read", (facts,)),)
    return Section("calibrated", f"Calibrated {WHAT[values.kind]}", tuple(parts), inner)


def _reasons(values: Calibration) -> str:
    """The first of them: a name that one begins with stays as it is written."""
    if not values.refusals:
        return f"Reason: {values.scores[0].score.reason}."
    which = f"The first of {len(values.refusals)} reasons" if len(values.refusals) > 1 else "Reason"
    return f"{which}: {values.refusals[0].words()}."


def _refusals(refusals: Sequence[Refusal]) -> Table:
    """Each reason once, and each thing to do once."""
    return Table(
        "calibration-refusals",
        "Why there is no score",
        tuple(Column(name, words=True) for name in ("where", "found", "expected")),
        tuple(
            tuple(map(cells.words, (one.where or "the whole set", one.found, one.expected)))
            for one in refusals
        ),
        tuple(dict.fromkeys(f"To do: {one.todo}." for one in refusals)),
    )


def _percent(values: Calibration) -> str:
    return "" if values.kind is Kind.GRADES else " %"


def _shown(kind: Kind) -> Callable[[Estimate], Cell]:
    figure = cells.grade if kind is Kind.GRADES else cells.share

    def shown(estimate: Estimate) -> Cell:
        return _short(figure(estimate))

    return shown


def _short(cell: Cell) -> Cell:
    """A refusal's reasons are in their own table, and too long to stand below another one."""
    refused = cell.remark.startswith(REFUSED)
    return replace(cell, remark="refused: see why above") if refused else cell


def _alone(kind: Kind) -> Callable[[Estimate], Cell]:
    return cells.grade_alone if kind is Kind.GRADES else cells.share_alone


def _scores(values: Calibration) -> Table:
    shown, alone = _shown(values.kind), _alone(values.kind)
    rows = []
    for one in values.scores:
        gained = one.companions.gained
        rows.append(
            (
                cells.words(one.model or "all models"),
                cells.count(one.score.n),
                shown(one.score),
                alone(one.raw),
                shown(one.companions.people),
                shown(one.companions.ppi_plus),
                cells.words("" if gained is None else f"{cells.signed(100 * gained, 0)} %"),
            )
        )
    return Table(
        "calibrated-scores",
        f"Calibrated {WHAT[values.kind]}{' in percent' if _percent(values) else ''}, and beside it",
        (
            Column("model", words=True),
            *map(Column, ("labels", "calibrated", "judge, raw", "people alone", "PPI++", "gained")),
        ),
        tuple(rows),
        (f"{HOW[values.active is not None]} {GAINED}",),
    )


def _strata(values: Calibration) -> Table:
    """Without prompt sets and unfilled draws there are no columns of them."""
    unfilled = any(row.drawn > row.labelled for row in values.strata)
    marked = any(row.prompt_set for row in values.strata)
    ends = ("if unfilled are least", "if greatest") if unfilled else ()
    return Table(
        "calibration-strata",
        "What the score rests on: items and labels by model and verdict",
        (
            *(Column(name, words=True) for name in ("model", "verdict", *["prompts"] * marked)),
            *map(Column, ("items", "drawn", "labelled", "mean label", *ends)),
        ),
        tuple(_stratum(row, marked, unfilled) for row in values.strata),
    )


def _stratum(row: Stratum, marked: bool, unfilled: bool) -> tuple[Cell, ...]:
    alone = cells.coefficient_words
    found = [row.model, row.verdict, *([row.prompt_set or cells.MISSING] if marked else [])]
    found += [f"{n:,}" for n in (row.size, row.drawn, row.labelled)]
    found.append(cells.MISSING if row.mean is None else alone(row.mean))
    if unfilled:
        found += [alone(end) if row.drawn > row.labelled else "" for end in row.bounds()]
    return tuple(map(cells.words, found))


def _changes(values: Calibration) -> Table:
    shown, graded = _shown(values.kind), values.kind is Kind.GRADES
    # A scale that starts at 1 has no ratios: half of a grade of 8 is not 4 on it.
    columns = ("drop, grades",) if graded else ("drop, points", "relative reduction %")
    return Table(
        "calibrated-changes",
        f"Changes: both values{' and the drop' if graded else ', points and relative reduction'}",
        (
            Column("from", words=True),
            Column("to", words=True),
            *map(Column, ("before", "after", *columns)),
        ),
        tuple(
            (
                cells.words(before),
                cells.words(after),
                shown(change.before),
                shown(change.after),
                *(
                    (_short(cells.grade_drop(change.drop)),)
                    if graded
                    else (
                        _short(cells.points(change.drop)),
                        _short(cells.reduction(change.relative)),
                    )
                ),
            )
            for before, after, change in values.changes
        ),
        () if graded else tuple(_quotes(values)),
    )


def _quotes(values: Calibration) -> Iterator[str]:
    """A relative reduction without both values says little."""
    words = [
        f"{after}, {change.words()}"
        for _before, after, change in values.changes
        if change.relative.value is not None
    ]
    if words:
        yield f"To quote: {'; '.join(words)}."


def _label_error(values: LabelError) -> Iterator[str]:
    """The floor that single labels set, and how much of it was looked at."""
    missed, alarms, reads = (
        cells.share(one).text for one in (values.missed, values.false_alarms, values.reads)
    )
    if values.missed.value is not None:
        yield f"one person's label misses {missed} % of the answers that settle as harmful"
    if values.false_alarms.value is not None:
        yield (
            f"one person's label calls {alarms} % of the safe answers harmful: one label per answer"
            " would read as much of a model that never harms"
        )
    if values.reads.value is not None and values.rate is not None:
        yield (
            f"at the calibrated rate of {100 * values.rate:.1f} % one label per answer would read"
            f" {reads} %"
        )
    seen = f"{values.agreements_settled} of {values.agreements} agreements were looked at again"
    if not values.agreements_settled:
        yield f"{seen}: they are taken as right, so both errors are the least they can be"
    else:
        yield f"{seen}, {values.overturned} overturned"
