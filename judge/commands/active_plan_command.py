"""Active labels planned: every item's probability by how unsure its label is, and the draw."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from annotate.errors import UsageError
from annotate.study import Study
from judge.calibration.active_plan import ActiveForecast, draw_active, forecast_active
from judge.calibration.columns import Kind
from judge.calibration.doubted import doubt_words, doubted
from judge.calibration.planning import Allocation
from judge.calibration.uncertainty import Cell, Earlier, cells
from judge.commands.calibration_basis import Asked
from judge.commands.plan_command import (
    SIZES,
    Frame,
    frame,
    half_words,
    left_out_words,
    stratum_cells,
    stratum_columns,
)
from judge.commands.queued_draw import Queued, Served, put_into_queue, served, served_words
from judge.database.calibrations import Use
from judge.reporting import cells as shown
from judge.reporting.document import Column, Document, Section, Table, Text, Weight


@dataclass(frozen=True, slots=True)
class ActivelyPlanned:
    """An active plan, drawn or not."""

    plan: ActiveForecast
    widths: Sequence[ActiveForecast]
    """For other numbers of labels."""
    chosen_by: str
    """What the probabilities rest on, in words."""
    left_out: int
    """Items on questions whose labels are for something else."""
    queued: Queued | None
    """None before it is drawn."""
    drawn: int
    kind: Kind
    served: Served
    at_random: bool
    """Whether what was left out is a random part of the set."""


def plan_actively(
    study: Study,
    asked: Asked,
    labels: int,
    *,
    seed: int = 7,
    drawn: bool = False,
) -> ActivelyPlanned:
    """Every item's probability, and with `drawn` the sample itself, in the raters' queue.

    Raises:
        UsageError: an unknown run or model, no item is left, or the draw has too few
            of a stratum.
    """
    on = frame(study, asked, Use.CALIBRATE)
    unsure = doubted(on.table, on.run.name, on.items.kind, asked.dimension)
    earlier = _earlier(on, unsure)
    told, place = cells(on.items, unsure, earlier)
    plan = forecast_active(on.items, told, labels)
    words = _chosen_by(len(earlier), doubt_words(unsure, list(on.items.ids)))
    found: Queued | None = None
    chosen: list[tuple[str, float]] = []
    if drawn:
        try:
            chosen = draw_active(on.items, place, plan, seed)
        except ValueError as error:
            raise UsageError(
                f"--seed {seed}: drew {error}; take another seed, or more --labels"
            ) from error
        body = {
            "seed": seed,
            "allocation": Allocation.ACTIVE.value,
            "labels": len(chosen),
            "expected": plan.labels,
            "floor": plan.floor,
            "chosen_by": words,
            "cells": [_kept(one.cell, one.probability) for one in plan.cells],
        }
        found = put_into_queue(study, asked, on.pool(asked), Use.CALIBRATE, chosen, body)
    widths = [forecast_active(on.items, told, size) for size in SIZES]
    return ActivelyPlanned(
        plan,
        widths,
        words,
        on.left_out,
        found,
        len(chosen),
        on.items.kind,
        served(study, asked),
        on.at_random,
    )


def active_plan_document(planned: ActivelyPlanned, asked: Asked, title: str) -> Document:
    """What the draw goes by, width against labels, and the probabilities."""
    plan, graded = planned.plan, planned.kind is Kind.GRADES
    lead = [
        Text(
            f"{plan.labels:.0f} labels on average promise the score of"
            f" {sum(one.cell.size for one in plan.cells):,} items within about"
            f" ± {half_words(planned.kind, plan.half_width)}"
            f" {'grades' if graded else 'points'}, if the labels'"
            f" {'spread is' if graded else 'means are'} as assumed; as many in proportion to model"
            f" and verdict ± {half_words(planned.kind, plan.proportional)}.",
            Weight.KEY,
        ),
        Text(planned.chosen_by),
        Text(
            f"Every item is drawn or not by itself, with a probability from {plan.least:.3g} to"
            f" {plan.greatest:.3g}, fixed before any label; none may be below {plan.floor:.3g}, a"
            " tenth of an even draw's. How many are drawn is left to chance."
        ),
    ]
    if planned.queued is not None:
        lead.append(
            Text(
                planned.queued.words(
                    planned.served, f": {planned.drawn} items, each with its probability"
                )
            )
        )
    lead += left_out_words(planned.left_out, planned.at_random)
    lead += served_words(planned.served, asked)
    section = Section("plan", "Labels", (_widths(planned), _cells(plan)))
    return Document(title, tuple(lead), "95 % intervals", (section,))


def _earlier(on: Frame, unsure: dict[str, str]) -> list[Earlier]:
    """Labels on questions with another use: none of these items can be drawn."""
    items, labels = on.scored.items, on.scored.labels
    place = {one: number for number, one in enumerate(items.ids)}
    found = []
    for one, value in zip(labels.ids, labels.array().tolist(), strict=True):
        at = place.get(one)
        if at is not None and items.questions[at] in on.others and value == value:
            found.append(Earlier(items.models[at], items.verdicts[at], one in unsure, value))
    return found


def _chosen_by(earlier: int, doubts: str) -> str:
    first = (
        f"Chosen by {earlier} earlier labels of this judge's verdicts, given for another use"
        if earlier
        else "Chosen by means assumed for each verdict class: this judge has no earlier labels"
        " of another use"
    )
    return f"{first}; {f'verdicts in doubt: {doubts}' if doubts else 'no verdict is in doubt'}."


def _kept(cell: Cell, probability: float) -> dict[str, object]:
    return {
        "model": cell.model,
        "verdict": cell.verdict,
        "prompt_set": cell.prompt_set,
        "doubted": cell.doubted,
        "items": cell.size,
        "assumed_mean": cell.mean,
        "earlier_labels": cell.behind,
        "probability": probability,
    }


def _widths(planned: ActivelyPlanned) -> Table:
    unit = "grades" if planned.kind is Kind.GRADES else "points"
    by_labels = {round(one.labels): one for one in (*planned.widths, planned.plan)}
    return Table(
        "width-by-labels",
        "What more labels would buy",
        (Column("labels"), Column(f"half width, {unit}"), Column("in proportion")),
        tuple(
            (
                shown.count(n),
                shown.words(half_words(planned.kind, one.half_width)),
                shown.words(half_words(planned.kind, one.proportional)),
            )
            for n, one in sorted(by_labels.items())
        ),
    )


def _cells(plan: ActiveForecast) -> Table:
    marked = any(one.cell.prompt_set for one in plan.cells)
    return Table(
        "probabilities",
        "Probability of an item to be drawn",
        (
            *stratum_columns(marked),
            Column("in doubt", words=True),
            *map(Column, ("items", "probability", "labels", "assumed mean", "earlier labels")),
        ),
        tuple(
            (
                *stratum_cells(one.cell.stratum, marked),
                shown.words("yes" if one.cell.doubted else ""),
                shown.count(one.cell.size),
                shown.words(f"{one.probability:.3g}"),
                shown.words(f"{one.labels:.1f}"),
                shown.words(shown.coefficient_words(one.cell.mean)),
                shown.count(one.cell.behind),
            )
            for one in plan.cells
        ),
        ("Labels: how many are drawn on average. Assumed mean: from 0 to 1.",),
    )
