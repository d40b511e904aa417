"""Labels planned: how many, of what, and what they would be worth; drawn and put into the queue."""

from __future__ import annotations

import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from annotate.errors import UsageError
from annotate.harm import HARM
from annotate.planned import PlannedItem, enqueue
from annotate.records import Purpose
from annotate.study import Study
from judge.calibration.columns import Items, Kind, StratumKey
from judge.calibration.from_table import Scored
from judge.calibration.planning import Allocation, Forecast, draw, forecast, half_widths
from judge.calibration.rows import question_words
from judge.commands.calibration_basis import (
    GRADE,
    HARM_SCORE,
    WIN_RATE,
    Asked,
    score_name,
    scored_set,
)
from judge.database.calibrations import Calibrations, Use
from judge.database.runs import Run
from judge.database.second_looks import with_text
from judge.database.store import VerdictStore
from judge.database.table import tidy
from judge.reporting import cells
from judge.reporting.document import Cell, Column, Document, Section, Table, Text, Weight

if TYPE_CHECKING:
    import pandas as pd

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
    on = frame(study, asked, use)
    plan = forecast(on.items, labels, allocation)
    found = ""
    if drawn:
        body = {
            "seed": seed,
            "allocation": allocation.value,
            "labels": plan.labels,
        }
        found = put_into_queue(study, asked, on, use, draw(on.items, plan, seed), body)
    return Planned(
        plan,
        half_widths(on.items, SIZES, allocation),
        on.left_out,
        found,
        on.items.kind,
        unasked(study, asked),
    )


@dataclass(frozen=True, slots=True)
class Frame:
    """What may be drawn from."""

    run: Run
    table: pd.DataFrame
    scored: Scored
    items: Items
    """The set without questions whose labels are for something else."""
    others: frozenset[str]
    """Those questions."""

    @property
    def left_out(self) -> int:
        """Items on those questions."""
        return len(self.scored.items.ids) - len(self.items.ids)


def frame(study: Study, asked: Asked, use: Use) -> Frame:
    """The set to draw from, for a use.

    Raises:
        UsageError: an unknown run or model, or no item is left.
    """
    run = VerdictStore(study.store).find(asked.run)
    table = tidy(study.store)
    scored = scored_set(table, run, asked, None)
    used = Calibrations(study.store).questions_used(*(one for one in Use if one is not use))
    others = frozenset(used & set(scored.items.questions))
    items = scored.items.without(others)
    if not items.ids:
        raise UsageError(f"run {run.name}: every question has labels for another use already")
    return Frame(run, table, scored, items, others)


def put_into_queue(
    study: Study,
    asked: Asked,
    on: Frame,
    use: Use,
    chosen: Sequence[tuple[str, float]],
    more: Mapping[str, Any],
) -> str:
    """Write a draw down, with its use, and put it into the raters' queue; returns its id."""
    _can_be_shown(study, asked, on, [one for one, _p in chosen])
    kept, found = Calibrations(study.store), str(uuid.uuid4())
    body = {"score": score_name(asked), "set": on.items.name, **more}
    body["left_out"] = sorted(on.others)
    body["items"] = [[one, probability] for one, probability in chosen]
    kept.add_plan(found, on.run.id, use, body)
    places = dict(zip(on.items.ids, on.items.questions, strict=True))
    kept.note_use([(one, places[one]) for one, _p in chosen], use, found)
    enqueue(study.store, [_queued(asked, *one) for one in chosen], found, _judged_on(asked))
    return found


def _can_be_shown(study: Study, asked: Asked, on: Frame, chosen: Sequence[str]) -> None:
    """Refuse a draw of items that raters cannot be shown."""
    units = {one: _queued(asked, one, 1.0)[0] for one in chosen}
    shown = with_text(study.store, units.values())
    blank = [one for one in chosen if units[one] not in shown]
    if blank:
        question = dict(zip(on.items.ids, on.items.questions, strict=True))[blank[0]]
        raise UsageError(
            f"{len(blank)} of {len(chosen)} drawn items have no text in this study, e.g. question"
            f" {question_words(question)}; raters cannot be shown them: import the"
            " answers, or calibrate from imported labels"
        )


def unasked(study: Study, asked: Asked) -> bool:
    """Whether the study's protocol does not ask raters for such labels of answers."""
    return asked.score != WIN_RATE and _judged_on(asked) not in (
        study.settings.protocol.answer_forms
    )


def plan_document(planned: Planned, title: str) -> Document:
    """Width against labels, and the labels by stratum."""
    plan = planned.plan
    graded = planned.kind is Kind.GRADES

    rows = sorted({*planned.widths, (plan.labels, plan.half_width)})
    lead = [
        Text(
            f"{plan.labels} labels promise the score of"
            f" {sum(one.size for one in plan.strata):,} items within about"
            f" ± {half_words(planned.kind, plan.half_width)}"
            f" {'grades' if graded else 'points'}, if the labels'"
            f" {'spread is' if graded else 'means are'} as assumed.",
            Weight.KEY,
        )
    ]
    if planned.id:
        lead.append(Text(f"Drawn as plan {planned.id[:8]}{drawn_words(planned.unasked)}"))
    lead += left_out_words(planned.left_out)
    if planned.unasked:
        lead.append(unasked_words(planned.kind))
    widths = Table(
        "width-by-labels",
        "What more labels would buy",
        (Column("labels"), Column(f"half width, {'grades' if graded else 'points'}")),
        tuple((cells.count(n), cells.words(half_words(planned.kind, half))) for n, half in rows),
    )
    section = Section("plan", "Labels", (widths, _strata(plan)))
    return Document(title, tuple(lead), "95 % intervals", (section,))


def _strata(plan: Forecast) -> Table:
    marked = any(one.prompt_set for one in plan.strata)
    return Table(
        "labels-by-stratum",
        "Labels by model and verdict",
        (*stratum_columns(marked), *map(Column, ("items", "labels", "assumed mean"))),
        tuple(
            (
                *stratum_cells(one.key, marked),
                cells.count(one.size),
                cells.count(one.labels),
                cells.words(cells.coefficient_words(one.expected)),
            )
            for one in plan.strata
        ),
    )


def stratum_columns(marked: bool) -> list[Column]:
    """Model and verdict, and the prompt set where prompts are `marked` with one."""
    names = ["model", "verdict", *(["prompts"] if marked else [])]
    return [Column(name, words=True) for name in names]


def stratum_cells(stratum: StratumKey, marked: bool) -> list[Cell]:
    """What stands below :func:`stratum_columns`."""
    model, verdict, prompts = stratum
    shown = [model, verdict, *([prompts or cells.MISSING] if marked else [])]
    return [cells.words(one) for one in shown]


def drawn_words(unasked: bool) -> str:
    """Where a drawn sample is."""
    return "." if unasked else "; the items are in the raters' queue."


def half_words(kind: Kind, half: float) -> str:
    """Half a width in grades, or in points."""
    return f"{half:.2f}" if kind is Kind.GRADES else f"{100 * half:.1f}"


def left_out_words(left_out: int) -> list[Text]:
    """What is said of items that may not be drawn."""
    if not left_out:
        return []
    return [
        Text(
            f"{left_out} items are left out, of the draw and of the score: the labels on their"
            " questions have another use (tune, calibrate or test), and a question serves one.",
            Weight.WARNING,
        )
    ]


def unasked_words(kind: Kind) -> Text:
    """That no rater will see what was planned."""
    return Text(
        f"Raters are not asked for these: study.toml has no fitting [protocol.{_form(kind)}]; add"
        " it, or import labels of these items.",
        Weight.WARNING,
    )


def _form(kind: Kind) -> str:
    """The table of study.toml that has raters give such labels."""
    return "grades" if kind is Kind.GRADES else "harm_labels"


def _judged_on(asked: Asked) -> str:
    """The dimension on which answers of a draw are judged."""
    return asked.dimension if asked.score == GRADE else HARM


def _queued(asked: Asked, item: str, probability: float) -> PlannedItem:
    """An answer whole, or an answer to be graded or a pair at its turn."""
    if asked.score == HARM_SCORE:
        return item, 0, Purpose.ESTIMATION, probability
    unit, _, turn = item.rpartition(":")
    return unit, int(turn), Purpose.ESTIMATION, probability
