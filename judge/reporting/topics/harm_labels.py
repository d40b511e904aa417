"""Harm labels: each judge beside people's labels of the same answers, per judged model."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import pandas as pd

from annotate.harm import HARM, stored_label
from annotate.records import Layer, Purpose, SourceKind, Status, Subject
from judge.reporting import cells
from judge.reporting.document import Cell, Column, Part, Section, Table, Text, Weight
from judge.reporting.layout import counted, tallied
from judge.reporting.scope import Settings, slug
from judge.stats.estimate import Estimate
from judge.stats.harm_confusion import ALL_MODELS, HarmConfusion, Labelled, harm_confusions

NO_VALUE = "no value"


@dataclass(frozen=True, slots=True)
class HarmLabels:
    """One judge beside people, on the answers that people labelled."""

    judge: str
    population: str
    disputed: int
    """Answers whose labels differ and that nobody adjudicated: in no figure."""
    models: tuple[HarmConfusion, ...]
    """All together first when there are several."""


def found(table: pd.DataFrame, settings: Settings) -> tuple[HarmLabels, ...]:
    """Every judge with harm verdicts, beside the labels of people; none without labels.

    An answer's label is the adjudicated one, else the one that all its labels agree on (unsafe
    or not, at the cut that harm labels have by default).

    Args:
        table: the tidy table.
        settings: of the report.
    """
    rows = table[(table["subject"] == Subject.ANSWER) & (table["dimension"] == HARM)]
    people, disputed, raters = _people(rows[rows["source_kind"] == SourceKind.RATER])
    if not people:
        return ()
    judged = rows[(rows["source_kind"] == SourceKind.JUDGE) & (rows["occurrence"] == 1)]
    where = f"labels of {raters} {'person' if raters == 1 else 'people'}"
    return tuple(
        HarmLabels(
            str(judge),
            where,
            disputed,
            harm_confusions(
                _labelled(part, people),
                where,
                level=settings.level,
                resamples=settings.resamples,
                seed=settings.seed,
            ),
        )
        for judge, part in judged.groupby("source_id", sort=True)
    )


def section(values: HarmLabels) -> Section:
    """What the judge finds and misses, per model; failures as their own columns."""
    key = slug(values.judge)
    parts: list[Part] = [_headline(values)]
    if values.disputed:
        parts.append(
            Text(
                f"{counted(values.disputed, 'answer')} with labels that differ and that nobody"
                " adjudicated: in no figure here.",
                Weight.WARNING,
            )
        )
    if any(one.counts.answers for one in values.models):
        parts += [_table(values, key), _counts(values, key)]
    return Section(f"harm-{key}", f"Judge {values.judge} beside labels of harm", tuple(parts))


def _people(rows: pd.DataFrame) -> tuple[dict[tuple[str, int], bool], int, int]:
    """(unit, turn) → unsafe; how many are disputed; how many people labelled."""
    usable = rows[
        (rows["status"] == Status.OK)
        & (rows["occurrence"] == 1)
        & rows["layer"].isin([Layer.VOTE, Layer.ADJUDICATED])
        & rows["purpose"].isin(["", Purpose.ESTIMATION])
    ]
    said: dict[tuple[str, int], dict[str, set[bool]]] = {}
    for unit, turn, layer, value in zip(
        usable["unit_id"], usable["turn"], usable["layer"], usable["value"], strict=True
    ):
        labels = said.setdefault((str(unit), int(turn)), {})
        labels.setdefault(str(layer), set()).add(_unsafe(value))
    settled = {}
    for place, layers in said.items():
        final = layers.get(Layer.ADJUDICATED) or layers.get(Layer.VOTE, set())
        if len(final) == 1:
            settled[place] = next(iter(final))
    return settled, len(said) - len(settled), int(usable["source_id"].nunique())


def _labelled(rows: pd.DataFrame, people: Mapping[tuple[str, int], bool]) -> Iterator[Labelled]:
    """The judge's rows, each beside the label of people, if there is one."""
    for row in rows.to_dict("records"):
        ok = row["status"] == Status.OK and isinstance(row["value"], str)
        yield Labelled(
            str(row["model_a"]),
            f"{row.get('benchmark') or ''}\x1f{row['question_id']}",
            people.get((str(row["unit_id"]), int(row["turn"]))),
            _unsafe(row["value"]) if ok else None,
            "" if ok else str(row["status"] if row["status"] != Status.OK else NO_VALUE),
        )


def _unsafe(value: object) -> bool:
    return stored_label(value).unsafe()


def _headline(values: HarmLabels) -> Text:
    one = values.models[0]
    people, judge = one.people_harm_rate, one.judge_harm_rate
    if people.value is None or judge.value is None:
        reason = people.reason or judge.reason
        said = f"Judge {values.judge} cannot be held against people: {reason}."
        return Text(said, Weight.WARNING)
    return Text(
        f"On answers that people labelled, judge {values.judge} calls {cells.share(judge).text} %"
        f" harmful and people {cells.share(people).text} %. The judge's rate is raw: a calibrated"
        " one needs labels drawn at random from the set to be scored (evenhand calibrate).",
        Weight.WARNING,
    )


def _table(values: HarmLabels, key: str) -> Table:
    return Table(
        f"harm-{key}",
        f"Judge {values.judge} beside people's labels of harm, percent",
        (
            Column("model", words=True),
            Column("answers"),
            *map(Column, ("people", "judge", "sensitivity", "specificity", "PPV", "FOR")),
        ),
        tuple(
            (
                _model(one),
                cells.count(one.counts.answers),
                *map(cells.share, _rates(one)),
            )
            for one in values.models
        ),
        (
            f"{values.population[0].upper()}{values.population[1:]}. People, judge: share called"
            " harmful. Sensitivity: of the harmful, how many the judge finds; specificity: of the"
            " safe, how many it leaves alone; PPV: of what it calls harmful, how much is; FOR: of"
            " what it calls safe, how much is harmful. Judges err differently on different models.",
        ),
    )


def _counts(values: HarmLabels, key: str) -> Table:
    heads = ("both harmful", "missed", "wrongly harmful", "both safe", "failed, harmful")
    return Table(
        f"harm-counts-{key}",
        f"Answers by people's label and the verdict of judge {values.judge}",
        (Column("model", words=True), *map(Column, (*heads, "failed, safe", "not labelled"))),
        tuple(
            (
                _model(one),
                *map(
                    cells.count,
                    (
                        one.counts.tp,
                        one.counts.fn,
                        one.counts.fp,
                        one.counts.tn,
                        one.counts.failed_harmful,
                        one.counts.failed_safe,
                        one.counts.unlabelled,
                    ),
                ),
            )
            for one in values.models
        ),
        tuple(
            f"Failed verdicts on {one.model or 'all models'}: {tallied(one.counts.failures)};"
            " neither harmful nor safe."
            for one in values.models
            if one.counts.failures
        ),
    )


def _model(one: HarmConfusion) -> Cell:
    return cells.words("all models" if one.model == ALL_MODELS else one.model)


def _rates(one: HarmConfusion) -> tuple[Estimate, ...]:
    return (
        one.people_harm_rate,
        one.judge_harm_rate,
        one.sensitivity,
        one.specificity,
        one.ppv,
        one.false_omission_rate,
    )
