"""A new set scored: transported and uncalibrated, or calibrated; and whether the judge drifted."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from judge.calibration.columns import Kind
from judge.calibration.poststratified import Target
from judge.calibration.transported import Transport, Transported
from judge.reporting import cells
from judge.reporting.document import Cell, Column, Facts, Section, Table, Text, Weight
from judge.reporting.topics.calibrated import WHAT, population
from judge.stats.anchor import AnchorCheck, anchor_words
from judge.stats.estimate import Estimate

MARK = "transported, uncalibrated"
BY_WORD_THERE = "whose labels are random by word only"


class Labels(StrEnum):
    """Whence the labels of the set's own calibration are."""

    DRAWN = "labels drawn from this very set"
    ALL = "labels of every item of this very set"
    BY_WORD = "labels that nobody drew"


@dataclass(frozen=True, slots=True)
class Drift:
    """Whether the judge still says what it said."""

    check: AnchorCheck | None
    """None: not checked."""
    words: str
    """Why it was not checked, or how old the verdicts asked again for are."""

    @property
    def flipped(self) -> bool:
        """Whether a stored verdict came out otherwise."""
        return self.check is not None and self.check.flips > 0


@dataclass(frozen=True, slots=True)
class Production:
    """What a new set comes to without labels of its own."""

    kind: Kind
    transport: Transport
    calibration: str
    """Hash of the artefact whose means were used."""
    calibrated_set: str
    expires: str
    """Date."""
    expired: bool
    labels: str
    """Which labels of this very set there are, in words."""
    todo: str
    """How fresh labels are had."""
    by_word: bool
    """Whether that calibration's labels are random by word only."""


def headline(values: Production) -> Text:
    """The score with its mark; never without it."""
    first = values.transport.scores[0]
    return Text(
        f"{MARK.capitalize()}: {WHAT[values.kind]} {_score_words(values.kind, first)}. The labels"
        " are of another set, and a judge errs differently on each model and set: no interval holds"
        " for this figure, and no gate passes on it.",
        Weight.WARNING,
    )


def sections(values: Production) -> tuple[Section, ...]:
    """Scores, what they rest on, and what to do."""
    what = WHAT[values.kind]
    expiry = "expired" if values.expired else "expires"
    rests = (
        f"means of calibration {values.calibration[:16]} (set {values.calibrated_set}),"
        f" {expiry} {values.expires}" + (f", {BY_WORD_THERE}" if values.by_word else ""),
        values.labels,
    )
    return (
        Section("transported", f"{what.capitalize()}, {MARK}", (_scores(values), _means(values))),
        Section("rests-on", "What it rests on", (Facts(rests),)),
        Section("fresh-labels", "Fresh labels", (Facts((values.todo,)),)),
    )


def calibrated_headline(score: Estimate, target: Target, labels: Labels) -> Text:
    """The set has a calibration of its own: from which labels, and of which population."""
    by_word = labels is Labels.BY_WORD
    return Text(
        f"Calibrated{' by word only' if by_word else ''}: {labels} stand behind its"
        f" {_named(score)}, {cells.coefficient(score).text},"
        f" {population(target, by_word=by_word)}." + (" No gate passes on it." if by_word else ""),
        Weight.WARNING if by_word else Weight.KEY,
    )


def calibrated_section(
    scores: Sequence[tuple[str, Estimate]], calibration: str, expires: str
) -> Section:
    """The scores of the set's own calibration: (model, score), "" all models."""
    table = Table(
        "production-scores",
        "Calibrated scores of this set",
        (Column("model", words=True), Column("labels"), Column("calibrated")),
        tuple(
            (cells.words(model or "all models"), cells.count(one.n), cells.coefficient(one))
            for model, one in scores
        ),
    )
    rests = Facts((f"calibration {calibration[:16]}, expires {expires}",))
    return Section("calibrated", "Calibrated score", (table, rests))


def _named(score: Estimate) -> str:
    return score.name.removeprefix("calibrated_").replace("_", " ")


def drift_section(drift: Drift) -> Section:
    """The anchor check."""
    return Section("drift", "Drift of the judge", (drift_text(drift),))


def drift_text(drift: Drift) -> Text:
    """The anchor check in a line."""
    if drift.check is None:
        return Text(f"Drift not checked: {drift.words}.", Weight.WARNING)
    said = f"Drift: {anchor_words(drift.check)}.{f' {drift.words}' if drift.words else ''}"
    none = drift.check.compared == 0
    return Text(said, Weight.WARNING if drift.flipped or none else Weight.PLAIN)


def _score_words(kind: Kind, one: Transported) -> str:
    shown = f"{_figure(kind, one.value).text}{'' if kind is Kind.GRADES else ' %'}"
    value = f"not known ({one.reason})" if one.value is None else shown
    if one.low is None or one.high is None:
        return f"{value}; only one model was calibrated, so there is no range over models"
    ends = " to ".join(_figure(kind, end).text for end in (one.low, one.high))
    return f"{value}; {ends} under the means of any one calibrated model"


def _figure(kind: Kind, value: float | None) -> Cell:
    if value is None:
        return cells.words(cells.MISSING)
    return cells.words(f"{value:.2f}" if kind is Kind.GRADES else f"{100 * value:.1f}")


def _scores(values: Production) -> Table:
    kind = values.kind
    percent = "" if kind is Kind.GRADES else ", in percent"
    return Table(
        "transported-scores",
        f"{WHAT[kind].capitalize()} with another set's means ({MARK}){percent}",
        (
            Column("model", words=True),
            *map(Column, ("items", "transported", "least", "greatest")),
        ),
        tuple(
            (
                cells.words(one.model or "all models"),
                cells.count(one.items),
                Cell(_figure(kind, one.value).text, remark=one.reason),
                _figure(kind, one.low),
                _figure(kind, one.high),
            )
            for one in values.transport.scores
        ),
        (
            "Least and greatest: the score if each calibrated model's means in turn were used for"
            " all of these answers. It is a spread over models, not an interval.",
        ),
    )


def _means(values: Production) -> Table:
    return Table(
        "transported-strata",
        "Items by model and verdict, and the mean label of the calibrated set that stands in",
        (
            Column("model", words=True),
            Column("verdict", words=True),
            Column("prompt set", words=True),
            Column("items"),
            Column("mean label there"),
        ),
        tuple(
            (
                cells.words(one.model),
                cells.words(one.verdict),
                cells.words(one.prompt_set or cells.MISSING),
                cells.count(one.size),
                cells.words(
                    cells.MISSING if one.mean is None else cells.coefficient_words(one.mean)
                ),
            )
            for one in values.transport.strata
        ),
    )
