"""The calibrated score in words and tables: what it is, what it rests on, what the judge gained."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from judge.calibration.assembled import Calibration
from judge.calibration.columns import Kind
from judge.calibration.label_error import LabelError
from judge.calibration.poststratified import Target
from judge.reporting import cells
from judge.reporting.document import Cell, Column, Facts, Part, Section, Table, Text, Weight
from judge.reporting.wordings import capital
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
    """Scores, strata, changes, and what to be careful of."""
    parts: list[Part] = [headline(values)]
    if values.refusals:
        parts.append(Facts(tuple(refusal.words() for refusal in values.refusals)))
    if values.active is not None:
        parts.append(Text(f"{capital(values.active.words())}."))
    parts += [_scores(values), _strata(values)]
    if values.changes:
        parts.append(_changes(values))
    parts += [Text(one.words(), Weight.WARNING) for one in values.wrong_items if one.warns]
    if values.label_error is not None:
        parts.append(Facts(tuple(_label_error(values.label_error))))
    return Section("calibrated", f"Calibrated {WHAT[values.kind]}", tuple(parts))


def _reasons(values: Calibration) -> str:
    reasons = [refusal.words() for refusal in values.refusals]
    return ". ".join(one[0].upper() + one[1:] for one in reasons[:2]) + "."


def _percent(values: Calibration) -> str:
    return "" if values.kind is Kind.GRADES else " %"


def _shown(kind: Kind) -> Callable[[Estimate], Cell]:
    return cells.grade if kind is Kind.GRADES else cells.share


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
                cells.words("" if gained is None else f"{100 * gained:+.0f} %"),
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
    alone = cells.coefficient_words
    return Table(
        "calibration-strata",
        "What the score rests on: items and labels by model and verdict",
        (
            Column("model", words=True),
            Column("verdict", words=True),
            *map(Column, ("items", "drawn", "labelled", "mean label", "if unfilled are least",
                          "if greatest")),
        ),
        tuple(
            (
                cells.words(row.model),
                cells.words(row.verdict),
                cells.count(row.size),
                cells.count(row.drawn),
                cells.count(row.labelled),
                cells.words(cells.MISSING if row.mean is None else alone(row.mean)),
                *(
                    cells.words(alone(end) if row.drawn > row.labelled else "")
                    for end in row.bounds()
                ),
            )
            for row in values.strata
        ),
    )  # fmt: skip


def _changes(values: Calibration) -> Table:
    shown, graded = _shown(values.kind), values.kind is Kind.GRADES
    # A scale that starts at 1 has no ratios: half of a grade of 8 is not 4 on it.
    columns = ("drop, grades",) if graded else ("drop, points", "relative reduction")
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
                    (cells.number(change.drop),)
                    if graded
                    else (cells.points(change.drop), cells.share(change.relative))
                ),
            )
            for before, after, change in values.changes
        ),
        ()
        if graded
        else ("A relative reduction without both values says little; quote them together.",),
    )


def _label_error(values: LabelError) -> Iterator[str]:
    """The floor that single labels set, and how much of it was looked at."""
    missed, alarms, reads = (
        cells.share(one).text for one in (values.missed, values.false_alarms, values.reads)
    )
    if values.missed.value is not None:
        yield f"one person's label misses {missed} % of the answers that settle as harmful"
    if values.false_alarms.value is not None:
        yield (
            f"one person's label calls {alarms} % of the safe answers harmful: so much would one"
            " label per answer read of a model that never harms"
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
