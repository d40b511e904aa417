"""Harm scores of a study as values: by source, with over-refusal, helpfulness and collapse.

`judge.reporting.score_paper` sets them as a document. Nothing here is calibrated: a judge's rate is
what the judge says, and so is what it says of a change between models.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import pandas as pd

from annotate.errors import NothingComputable, UsageError
from annotate.harm import UNSAFE_FROM, Severity
from annotate.records import (
    HARMLESSNESS,
    HELPFULNESS,
    OVERALL,
    Outcome,
    PromptSet,
    SourceKind,
)
from judge.reporting.scope import Settings, population_words
from judge.stats.agreement import pair_judgments, select_verdicts, select_votes
from judge.stats.answer_labels import RAW, AnswerPlace, HarmSource, harm_sources
from judge.stats.bounded import Bounded, Resampling
from judge.stats.collapse import Collapse, Said, collapses
from judge.stats.contrast import Contrast, contrasts
from judge.stats.drawn import Drawn
from judge.stats.escalation import Escalation, escalations
from judge.stats.estimate import Estimate
from judge.stats.grades import GradeChanges, GradeTable, grade_changes, grade_tables
from judge.stats.harm_changes import HarmChanges, harm_changes
from judge.stats.harm_scores import HarmScore, harm_scores
from judge.stats.harm_wins import AgainstReference, against_reference
from judge.stats.refusals import OverRefusal, over_refusal
from judge.stats.win_rates import Comparison


@dataclass(frozen=True, slots=True)
class SourceScores:
    """Everything one source's harm labels come to."""

    source: str
    judge: bool
    """A judge's: raw and uncalibrated."""
    dialogues: bool
    words: str
    answers: int
    left_out: Mapping[str, int]
    drawn: Drawn
    scores: tuple[HarmScore, ...]
    refusals: tuple[OverRefusal, ...]
    contrasts: tuple[Contrast, ...]
    escalations: tuple[Escalation, ...]
    changes: tuple[HarmChanges, ...]
    """From the reference to the others, where one is named."""


@dataclass(frozen=True, slots=True)
class Preference:
    """Pairwise wins against the reference by one source on one dimension."""

    source: str
    judge: bool
    dimension: str
    words: str
    rows: tuple[AgainstReference, ...]


@dataclass(frozen=True, slots=True)
class TradeOffModel:
    """One model between two aims."""

    model: str
    harmlessness: Estimate
    """0–100, on harmful prompts, or else on those that there are."""
    helpfulness: Estimate
    """Mean grade, 1–10."""
    refusal: Bounded
    """Benign prompts declined in full."""


@dataclass(frozen=True, slots=True)
class TradeOffValues:
    """Harmlessness by one source against helpfulness by one judge's grades."""

    source: str
    judge: bool
    dialogues: bool
    words: str
    prompts: PromptSet
    grader: str
    dimension: str
    models: tuple[TradeOffModel, ...]
    versions: tuple[tuple[str, ...], ...]
    """Models to be connected, oldest first."""


@dataclass(frozen=True, slots=True)
class ScoreReport:
    """All of `evenhand score`."""

    title: str
    level: float
    resamples: int
    seed: int
    reference: str
    """The model that others are compared with; "" for none."""
    unsafe_from: Severity
    sources: tuple[SourceScores, ...]
    preferences: tuple[Preference, ...]
    grades: tuple[GradeTable, ...]
    """On prompts that ask for nothing harmful."""
    grade_changes: tuple[GradeChanges, ...]
    trade_offs: tuple[TradeOffValues, ...]
    collapse: tuple[Collapse, ...]


@dataclass(frozen=True, slots=True)
class ScoreMaterial:
    """What a study gives to its scores."""

    title: str
    table: pd.DataFrame
    """The tidy table."""
    places: Mapping[str, AnswerPlace]
    said: Sequence[Said]
    versions: tuple[tuple[str, ...], ...] = ()
    """Answer sets of one name, oldest first."""
    plans: Sequence[Mapping[str, float]] = ()
    """What each draw of answers drew: answer id → chance."""


WHAT_TO_DO = (
    "no harm label and no grade of any answer: label answers for harm with"
    " `evenhand judge STUDY --mode harm`, grade them with `evenhand judge STUDY --mode grade`,"
    " or import grades"
)
HELPFUL = (HELPFULNESS, OVERALL)
"""Dimensions of grades that tell of helpfulness."""


def score_report(
    made_from: ScoreMaterial,
    settings: Settings,
    *,
    reference: str = "",
    unsafe_from: Severity = UNSAFE_FROM,
    versions: Sequence[Sequence[str]] = (),
) -> ScoreReport:
    """Every score that a study's labels and grades allow.

    Args:
        made_from: of the study.
        settings: level, resamples and seed.
        reference: the model that others are compared with: changes, pairwise wins, collapse.
        unsafe_from: from which severity on an answer is unsafe.
        versions: models that are versions of one, oldest first, beside those of one name.

    Raises:
        UsageError: a model is not in the study.
        DataError: the table is not what it should be.
        NothingComputable: there is neither a harm label nor a grade.
    """
    models = sorted({place.model for place in made_from.places.values()})
    _must_know(models, [reference] if reference else [], "--reference")
    _must_know(models, [name for chain in versions for name in chain], "--versions")
    how = Resampling(settings.level, settings.resamples, settings.seed)
    found = harm_sources(made_from.table, made_from.places, made_from.plans)
    graded = _helpful_grades(made_from)
    grades = grade_tables(graded, {}, level=how.level, resamples=how.resamples, seed=how.seed)
    if not any(one.answers for one in found) and not grades:
        raise NothingComputable(WHAT_TO_DO)
    sources = tuple(_scores(one, how, unsafe_from, reference) for one in found if one.answers)
    chains = (*made_from.versions, *map(tuple, versions))
    return ScoreReport(
        title=made_from.title,
        level=settings.level,
        resamples=settings.resamples,
        seed=settings.seed,
        reference=reference,
        unsafe_from=unsafe_from,
        sources=sources,
        preferences=tuple(_preferences(made_from.table, reference, how)),
        grades=grades,
        grade_changes=grade_changes(grades, graded, reference),
        trade_offs=tuple(
            _trade_off(source, table, chains)
            for source in sources
            for table in grades
            if source.scores and table.dimension in HELPFUL
        ),
        collapse=collapses(made_from.said, reference, how),
    )


def _must_know(models: Sequence[str], named: Sequence[str], option: str) -> None:
    for name in named:
        if name not in models:
            raise UsageError(
                f"{option} {name}: no such model with answers; expected one of"
                f" {', '.join(models) or 'none: there are no answers'}"
            )


def _scores(source: HarmSource, how: Resampling, cut: Severity, reference: str) -> SourceScores:
    answers, words = source.answers, source.words
    scores = harm_scores(answers, words, how, cut=cut)
    refusals = over_refusal(answers, words, how)
    return SourceScores(
        source=source.name,
        judge=source.judge,
        dialogues=source.dialogues,
        words=words,
        answers=len(answers),
        left_out=source.left_out,
        drawn=source.drawn,
        scores=scores,
        refusals=refusals,
        contrasts=contrasts(answers, words, how, cut=cut),
        escalations=escalations(answers, words, how, cut=cut),
        changes=harm_changes(answers, scores, refusals, reference, cut),
    )


def _helpful_grades(made_from: ScoreMaterial) -> pd.DataFrame:
    """Rows about answers to prompts that ask for nothing harmful, models told apart by version.

    On a harmful prompt a high grade for help would be a fault.
    """
    places = made_from.places
    wanted = [unit for unit, place in places.items() if place.prompts is not PromptSet.HARMFUL]
    rows = made_from.table[made_from.table["unit_id"].isin(wanted)]
    return rows.assign(model_a=[places[unit].model for unit in rows["unit_id"]])


def _preferences(table: pd.DataFrame, reference: str, how: Resampling) -> list[Preference]:
    """Votes of people, then each judge's verdicts, on harmlessness and then on helpfulness."""
    if not reference:
        return []
    judgments = pair_judgments(table)
    found = []
    for dimension in (HARMLESSNESS, HELPFULNESS):
        here = judgments[judgments["dimension"] == dimension]
        for simulated in (False, True):
            votes = select_votes(here, dimension, groups=None, simulated=simulated)
            if len(votes.rows):
                words = population_words(votes, "all", simulated=simulated)
                name = "simulated raters" if simulated else "people"
                found.append((name, False, dimension, words, votes.rows.assign(failure="")))
        judges = sorted(set(here.loc[here["source_kind"] == SourceKind.JUDGE, "source_id"]))
        for judge in judges:
            words = f"verdicts of judge {judge} ({RAW})"
            rows = select_verdicts(here, dimension, judge)
            found.append((judge, True, dimension, words, rows[rows["turn"] > 0]))
    made = [
        Preference(
            name, judge, dimension, words, against_reference(_compared(rows), reference, words, how)
        )
        for name, judge, dimension, words, rows in found
    ]
    return [one for one in made if one.rows]


def _compared(rows: pd.DataFrame) -> list[Comparison]:
    columns = (rows[name] for name in ("model_a", "model_b", "value", "failure", "cluster"))
    return [
        Comparison(str(a), str(b), None if failure else Outcome(value), failure, str(question))
        for a, b, value, failure, question in zip(*columns, strict=True)
    ]


def _trade_off(
    source: SourceScores,
    table: GradeTable,
    versions: tuple[tuple[str, ...], ...],
) -> TradeOffValues:
    prompts = source.scores[0].prompts
    helpful = {row.model: row.mean for row in table.rows}
    refused = {row.model: row.full for row in source.refusals}
    models = tuple(
        TradeOffModel(one.model, one.harmlessness, helpful[one.model], refused[one.model])
        for one in source.scores
        if one.prompts is prompts and one.model in helpful
    )
    names = {one.model for one in models}
    chains = (tuple(name for name in chain if name in names) for chain in versions)
    return TradeOffValues(
        source.source,
        source.judge,
        source.dialogues,
        source.words,
        prompts,
        table.judge,
        table.dimension,
        models,
        tuple(dict.fromkeys(chain for chain in chains if len(chain) > 1)),
    )
