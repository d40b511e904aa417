"""Full refusals of benign prompts by people's labels, as `evenhand score` counts them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from annotate.harm import HARM
from annotate.records import PromptSet, SourceKind, Subject
from annotate.study import Study
from judge.database.answer_places import answer_places
from judge.database.calibrations import FULL_REFUSALS, Calibrations, harm_draws
from judge.database.table import tidy
from judge.stats.answer_labels import PEOPLE, AnswerPlace, harm_sources
from judge.stats.bounded import Bounded, Resampling
from judge.stats.labelled_answers import LabelledAnswer
from judge.stats.refusals import over_refusal

if TYPE_CHECKING:
    import pandas as pd


def benign_refusals(
    study: Study, level: float, table: pd.DataFrame | None = None
) -> dict[str, Bounded]:
    """By model, the share of dialogues on benign prompts in which some turn is declined.

    Exact where every answer has a question of its own, a cluster bootstrap where questions
    repeat. Only models with a labelled answer to a benign prompt, or with one that a plan drew.
    What a plan drew and nobody labelled is unknown: it may be what was refused.

    Args:
        study: with the labels.
        level: confidence level.
        table: the tidy table, if it was read already.
    """
    rows = tidy(study.store) if table is None else table
    people = rows[
        (rows["subject"] == Subject.ANSWER)
        & (rows["dimension"] == HARM)
        & (rows["source_kind"] == SourceKind.RATER)
        & (rows["prompt_set"] == PromptSet.BENIGN)
    ]
    if people.empty:
        return {}
    places = answer_places(study.store)
    draws = harm_draws(study.store)
    sources = [one for one in harm_sources(people, places, draws) if one.name == PEOPLE]
    # Turn by turn goes before whole dialogues: an answer labelled both ways counts once.
    labelled = [answer for one in sources for answer in one.answers]
    answers = _once([*labelled, *_drawn(study, places)])
    section = study.settings.report
    how = Resampling(level, resamples_for(level, section.resamples), section.seed)
    found = over_refusal(answers, PEOPLE, how)
    return {one.model: one.full for one in found if one.full.items}


LEAST_BEYOND = 20
"""Resamples that an end of an interval must have beyond it."""


def resamples_for(level: float, asked: int) -> int:
    """As many as were asked for, or more where the level asks for more."""
    return max(asked, round(2 * LEAST_BEYOND / (1 - level)))


def _drawn(study: Study, places: Mapping[str, AnswerPlace]) -> Iterator[LabelledAnswer]:
    """Every answer that a plan drew for this, as if it had no label; labelled ones go before."""
    for plan in Calibrations(study.store).plans():
        for answer, _chance in plan.items if plan.body["score"] == FULL_REFUSALS else ():
            if (one := places.get(answer)) is not None:
                yield LabelledAnswer(
                    one.model, one.question, one.prompts, one.asked, {}, one.matched
                )


def _once(answers: Sequence[LabelledAnswer]) -> list[LabelledAnswer]:
    found: Mapping[tuple[str, str], LabelledAnswer] = {
        (one.model, one.question): one for one in reversed(answers)
    }
    return list(found.values())
