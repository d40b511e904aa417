"""Labels planned: how many, of what, and what they would be worth; drawn and put into the queue."""

from __future__ import annotations

from collections.abc import Sequence, Set
from dataclasses import dataclass
from typing import TYPE_CHECKING

from annotate.errors import UsageError
from annotate.study import Study
from judge.calibration.columns import Items, Kind, StratumKey
from judge.calibration.from_table import Scored
from judge.calibration.planning import Allocation, Forecast, draw, forecast, half_widths
from judge.commands.calibration_basis import Asked, score_name, scored_set
from judge.commands.queued_draw import (
    Pool,
    Queued,
    Served,
    put_into_queue,
    served,
    served_words,
)
from judge.database.calibrations import Calibrations, Use
from judge.database.runs import Run
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
    queued: Queued | None
    """None before it is drawn."""
    kind: Kind = Kind.HARM
    served: Served = Served.FIRST
    at_random: bool = True
    """Whether what was left out is a random part of the set."""


def plan_labels(
    study: Study,
    asked: Asked,
    labels: int,
    *,
    allocation: Allocation = Allocation.PROPORTIONAL,
    seed: int = 7,
    drawn: bool = False,
) -> Planned:
    """How labels would be spread, and with `drawn` the sample itself, in the raters' queue.

    Questions with labels for another use are left out: a label that tuned a prompt cannot
    calibrate it.

    Raises:
        UsageError: an unknown run or model, or no item is left.
    """
    on = frame(study, asked, Use.CALIBRATE)
    plan = forecast(on.items, labels, allocation)
    found: Queued | None = None
    if drawn:
        body = {
            "seed": seed,
            "allocation": allocation.value,
            "labels": plan.labels,
        }
        chosen = draw(on.items, plan, seed)
        found = put_into_queue(study, asked, on.pool(asked), Use.CALIBRATE, chosen, body)
    return Planned(
        plan,
        half_widths(on.items, SIZES, allocation),
        on.left_out,
        found,
        on.items.kind,
        served(study, asked),
        on.at_random,
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
    at_random: bool
    """They were drawn as whole questions, by no verdict: what is left is a random part."""

    @property
    def left_out(self) -> int:
        """Items on those questions."""
        return len(self.scored.items.ids) - len(self.items.ids)

    def pool(self, asked: Asked) -> Pool:
        """What may be drawn from, for this score."""
        places = dict(zip(self.items.ids, self.items.questions, strict=True))
        return Pool(self.run, score_name(asked), self.items.name, places, self.others)


def frame(study: Study, asked: Asked, use: Use) -> Frame:
    """The set to draw from, for a use.

    Raises:
        UsageError: an unknown run or model, or no item is left.
    """
    kept = Calibrations(study.store)
    run = VerdictStore(study.store).find(asked.run)
    table = tidy(study.store)
    scored = scored_set(table, run, asked, None)
    questions = frozenset(scored.items.questions)
    others = used_otherwise(kept, use, questions)
    items = scored.items.without(others)
    if not items.ids:
        raise UsageError(nothing_left(f"run {run.name}", len(others), use))
    return Frame(run, table, scored, items, others, left_at_random(kept, use, questions))


def used_otherwise(kept: Calibrations, use: Use, questions: Set[str]) -> frozenset[str]:
    """Those of the questions whose labels have another use than this."""
    return frozenset(kept.questions_used(*(one for one in Use if one is not use)) & questions)


def nothing_left(where: str, questions: int, use: Use) -> str:
    """Why there is nothing to draw, and what to do."""
    others = " or ".join(one for one in Use if one is not use)
    return (
        f"{where}: all {questions} questions have labels for another use ({others}) already, and a"
        f" question serves one; expected some left to {use} with: import more questions and"
        " answers, judge them, and plan again"
    )


def left_at_random(kept: Calibrations, use: Use, questions: Set[str]) -> bool:
    """Whether the questions without another use are a random part of these.

    Those to calibrate with are chosen by verdict; those to tune and test with by none, unless
    they had to be drawn from what such a choice had left.
    """
    if use is not Use.CALIBRATE and kept.questions_used(Use.CALIBRATE) & questions:
        return False
    others = [one for one in kept.plans() if one.use not in (use, Use.CALIBRATE)]
    return all(one.body.get("random_part", False) for one in others)


def plan_document(planned: Planned, asked: Asked, title: str) -> Document:
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
    if planned.queued is not None:
        lead.append(Text(planned.queued.words(planned.served)))
    lead += left_out_words(planned.left_out, planned.at_random)
    lead += served_words(planned.served, asked)
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


def half_words(kind: Kind, half: float) -> str:
    """Half a width in grades, or in points."""
    return f"{half:.2f}" if kind is Kind.GRADES else f"{100 * half:.1f}"


def left_out_words(left_out: int, at_random: bool) -> list[Text]:
    """What is said of items that may not be drawn."""
    if not left_out:
        return []
    said = (
        f"{left_out} items are left out, of the draw and of the score: the labels on their"
        " questions have another use (tune, calibrate or test), and a question serves one."
    )
    if at_random:
        return [Text(f"{said} They were drawn at random: the score is of a random part.")]
    biased = "Some were chosen by verdict: what is left may be easier or harder than the whole set."
    return [Text(f"{said} {biased}", Weight.WARNING)]
