"""Labels planned: how many, of what, and what they would be worth; drawn and put into the queue."""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from dataclasses import dataclass, replace

from annotate.errors import UsageError
from annotate.harm import HARM
from annotate.planned import PlannedItem, enqueue
from annotate.records import Purpose
from annotate.study import Study
from judge.calibration.columns import Items, Kind
from judge.calibration.planning import Allocation, Forecast, draw, forecast, half_widths
from judge.commands.calibration_basis import (
    GRADE,
    HARM_SCORE,
    WIN_RATE,
    Asked,
    score_name,
    scored_set,
)
from judge.database.calibrations import Calibrations, Use
from judge.database.store import VerdictStore
from judge.database.table import tidy
from judge.reporting import cells
from judge.reporting.document import Column, Document, Section, Table, Text, Weight

SIZES = (50, 100, 200, 400, 800)
"""Sample sizes whose widths are shown beside the one asked for."""


@dataclass(frozen=True, slots=True)
class Planned:
    """A plan, drawn or not."""

    plan: Forecast
    widths: Sequence[tuple[int, float]]
    left_out: int
    """Items on questions whose labels are for something else."""
    id: str
    """Of the draw; "" before it is drawn."""
    kind: Kind = Kind.HARM
    unasked: bool = False
    """The study's protocol does not ask raters for such labels of answers."""


def plan_labels(
    study: Study,
    asked: Asked,
    labels: int,
    *,
    allocation: Allocation = Allocation.PROPORTIONAL,
    use: Use = Use.CALIBRATE,
    seed: int = 7,
    drawn: bool = False,
) -> Planned:
    """How labels would be spread, and with `drawn` the sample itself, in the raters' queue.

    Questions with labels for another use are left out: a label that tuned a prompt cannot
    calibrate it.

    Raises:
        UsageError: an unknown run or model, or no item is left.
    """
    kept = Calibrations(study.store)
    run = VerdictStore(study.store).find(asked.run)
    scored = scored_set(tidy(study.store), run, asked, None)
    others = kept.questions_used(*(one for one in Use if one is not use))
    items = _without(scored.items, others) if others else scored.items
    if not items.ids:
        raise UsageError(f"run {run.name}: every question has labels for another use already")
    plan = forecast(items, labels, allocation)
    found = ""
    if drawn:
        found = str(uuid.uuid4())
        chosen = draw(items, plan, seed)
        body = {
            "score": score_name(asked),
            "set": items.name,
            "seed": seed,
            "allocation": allocation.value,
            "labels": plan.labels,
            "items": [[one, probability] for one, probability in chosen],
        }
        kept.add_plan(found, run.id, use, body)
        places = dict(zip(items.ids, items.questions, strict=True))
        kept.note_use([(one, places[one]) for one, _p in chosen], use, found)
        enqueue(study.store, [_queued(asked, *one) for one in chosen], found, _judged_on(asked))
    left_out = len(scored.items.ids) - len(items.ids)
    unasked = asked.score != WIN_RATE and _judged_on(asked) not in (
        study.settings.protocol.answer_forms
    )
    return Planned(
        plan, half_widths(items, SIZES, allocation), left_out, found, items.kind, unasked
    )


def plan_document(planned: Planned, title: str) -> Document:
    """Width against labels, and the labels by stratum."""
    plan = planned.plan
    graded = planned.kind is Kind.GRADES

    def shown(half: float) -> str:
        return f"{half:.2f}" if graded else f"{100 * half:.1f}"

    rows = sorted({*planned.widths, (plan.labels, plan.half_width)})
    lead = [
        Text(
            f"{plan.labels} labels promise the whole set's score within about"
            f" ± {shown(plan.half_width)} {'grades' if graded else 'points'}, if the labels'"
            f" {'spread is' if graded else 'means are'} as assumed.",
            Weight.KEY,
        )
    ]
    if planned.id:
        lead.append(Text(f"Drawn as plan {planned.id[:8]}; the items are in the raters' queue."))
    if planned.left_out:
        lead.append(
            Text(f"{planned.left_out} items are left out: their questions' labels tuned a prompt.")
        )
    if planned.unasked:
        table = "grades" if graded else "harm_labels"
        lead.append(
            Text(f"Raters are not asked for these: study.toml has no fitting [protocol.{table}].",
                 Weight.WARNING)
        )  # fmt: skip
    widths = Table(
        "width-by-labels",
        "What more labels would buy",
        (Column("labels"), Column(f"half width, {'grades' if graded else 'points'}")),
        tuple((cells.count(n), cells.words(shown(half))) for n, half in rows),
    )
    strata = Table(
        "labels-by-stratum",
        "Labels by model and verdict",
        (
            Column("model", words=True),
            Column("verdict", words=True),
            *map(Column, ("items", "labels", "assumed mean")),
        ),
        tuple(
            (
                cells.words(one.model),
                cells.words(one.verdict),
                cells.count(one.size),
                cells.count(one.labels),
                cells.words(cells.coefficient_words(one.expected)),
            )
            for one in plan.strata
        ),
    )
    section = Section("plan", "Labels", (widths, strata))
    return Document(title, tuple(lead), "95 % intervals", (section,))


def _without(items: Items, questions: set[str]) -> Items:
    """The items whose question is in none of these; the set keeps its name."""
    kept = [place for place, one in enumerate(items.questions) if one not in questions]

    def some(column: Sequence[str] | str) -> Sequence[str] | str:
        return column if isinstance(column, str) else [column[place] for place in kept]

    return replace(
        items,
        ids=[items.ids[place] for place in kept],
        models=[items.models[place] for place in kept],
        questions=[items.questions[place] for place in kept],
        verdicts=[items.verdicts[place] for place in kept],
        predicted=None if items.predicted is None else items.predicted[kept],
        prompt_sets=some(items.prompt_sets),
        judges=some(items.judges),
    )


def _judged_on(asked: Asked) -> str:
    """The dimension on which answers of a draw are judged."""
    return asked.dimension if asked.score == GRADE else HARM


def _queued(asked: Asked, item: str, probability: float) -> PlannedItem:
    """An answer whole, or an answer to be graded or a pair at its turn."""
    if asked.score == HARM_SCORE:
        return item, 0, Purpose.ESTIMATION, probability
    unit, _, turn = item.rpartition(":")
    return unit, int(turn), Purpose.ESTIMATION, probability
