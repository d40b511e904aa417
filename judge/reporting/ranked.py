"""The models as people and the judge rank them on the same units: rates, strengths, Elo."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial

import numpy as np

from judge.reporting.scope import Scope
from judge.reporting.sides import Sides, judge_words, people_words, sides, why_unjudged
from judge.stats.bradley_terry import bradley_terry
from judge.stats.coefficients import FloatArray
from judge.stats.elo import EloRow, EloSettings, elo
from judge.stats.estimate import Estimate
from judge.stats.joint import Figure, IntArray, difference, estimates, share
from judge.stats.rank_correlation import RankCorrelation, rank_correlation
from judge.stats.rows import UNNAMED, positions, question_index
from judge.stats.wins import Wins

ELO = EloSettings(shuffles=100)
"""How Elo is computed; its `shuffles` are most of its time, and the table says how many."""

STRENGTH_RESAMPLES = 2_000
"""At most so many for strengths, each of which is fitted anew; their method says how many."""

PEOPLE, JUDGE = "people", "judge"
TIES_HALF, DECISIVE, STRICT = "ties half", "decisive", "strict"
EVERY_TIE = "every verdict on it is a tie"
NO_VERDICT = "no usable verdict"
WIN_RATE = "win rate, ties as halves"
STRENGTH = "Bradley–Terry strength"
_Key = tuple[str, str, str]


@dataclass(frozen=True, slots=True)
class ModelSide:
    """One model by one side."""

    ties_half: Estimate
    """(wins + ties / 2) / n: on pair verdicts FastChat's adjusted win rate."""
    decisive: Estimate
    """Wins / (wins + losses)."""
    strict: Estimate
    """Wins / n."""
    strength: Estimate
    """Bradley–Terry log strength, mean 0 over the ranked models; None is unranked, and why."""
    elo: EloRow | None
    """Middle and spread over orders of the verdicts; None without a verdict."""


@dataclass(frozen=True, slots=True)
class Model:
    """One model by both sides on the same units."""

    model: str
    people: ModelSide
    judge: ModelSide
    difference: Estimate
    """The judge's rate minus the people's, ties half."""


@dataclass(frozen=True, slots=True)
class Correlations:
    """How far both sides order the models alike, by one measure."""

    measure: str
    kendall: RankCorrelation
    spearman: RankCorrelation


@dataclass(frozen=True, slots=True)
class JudgeRate:
    """One model's win rate on all pair verdicts of the judge, voted on or not; ties half."""

    model: str
    rate: Estimate


@dataclass(frozen=True, slots=True)
class Rankings:
    """All models of one scope, best by people first."""

    key: str
    judge: str
    people: str
    population: str
    unjudged: str
    """Why no verdict stands beside a vote; "" where some do."""
    rows: int
    """Votes compared; each has the judge's verdict beside it, or none has."""
    excluded: Mapping[str, int]
    """Votes not among them, by reason."""
    models: tuple[Model, ...]
    correlations: tuple[Correlations, ...]
    """By win rate with ties as halves, then by strength."""
    all_verdicts: tuple[JudgeRate, ...]
    """FastChat's table: not matched with votes."""


def ranked(scope: Scope) -> Rankings:
    """Rates from the report's resamples; strengths and Elo of either side by themselves."""
    rows = sides(scope).named()
    names = sorted({*rows.frame["model_a"], *rows.frame["model_b"]})
    rates = scope.estimates(_rate_figures(scope, rows, names))
    by_people = _strengths(scope, rows.wins(rows.people), scope.population)
    by_judge = _strengths(scope, rows.wins(rows.judge), judge_words(scope))
    ratings = {
        PEOPLE: _elo(scope, rows, rows.people),
        JUDGE: _elo(scope, rows, rows.judge),
    }
    models = []
    for name in names:
        made = {
            side: ModelSide(
                rates[side, TIES_HALF, name],
                rates[side, DECISIVE, name],
                rates[side, STRICT, name],
                strengths[name],
                ratings[side].get(name),
            )
            for side, strengths in ((PEOPLE, by_people), (JUDGE, by_judge))
        }
        gap = rates["both", "difference", name]
        models.append(Model(name, made[PEOPLE], made[JUDGE], gap))
    return Rankings(
        scope.key,
        scope.judge,
        people_words(scope),
        scope.population,
        why_unjudged(scope),
        len(rows.people),
        rows.excluded,
        tuple(sorted(models, key=_best_first)),
        _correlations(models, scope.settings.seed),
        _all_verdicts(scope),
    )


def _rate_figures(scope: Scope, rows: Sides, names: list[str]) -> dict[_Key, Figure]:
    """Three rates per model and side, and the difference of the first."""
    a, b = (rows.frame[column].to_numpy() for column in ("model_a", "model_b"))
    populations = {PEOPLE: scope.population, JUDGE: judge_words(scope)}
    figures: dict[_Key, Figure] = {}
    for name in names:
        at = np.flatnonzero((a == name) != (b == name))
        turned = a[at] != name
        own = {}
        for side, score in ((PEOPLE, rows.people), (JUDGE, rows.judge)):
            own[side] = np.where(turned, 1 - score[at], score[at])
            rates = _rates(own[side], rows.question[at], populations[side])
            figures |= {(side, kind, name): made for kind, made in rates.items()}
        both = ~np.isnan(own[JUDGE])
        figures["both", "difference", name] = difference(
            "win_rate_difference",
            own[JUDGE][both],
            own[PEOPLE][both],
            np.ones(int(both.sum())),
            rows.question[at][both],
            f"{populations[JUDGE]}, minus {populations[PEOPLE]}",
            NO_VERDICT,
        )
    return figures


def _rates(score: FloatArray, question: IntArray, population: str) -> dict[str, Figure]:
    """One model's rates from its scores: 1 won, ½ tied, 0 lost, nan left out."""
    known = ~np.isnan(score)
    score, question = score[known], question[known]
    won, ties = (score == 1).astype(np.float64), int((score == 0.5).sum())
    named = score != 0.5
    make = partial(share, population=population)
    ones, every = np.ones(len(score)), NO_VERDICT
    return {
        TIES_HALF: make(TIES_HALF, score, ones, question, undefined=every),
        DECISIVE: make(
            DECISIVE,
            won[named],
            ones[named],
            question[named],
            undefined=EVERY_TIE if len(score) else every,
            excluded={"tie": ties} if ties else {},
        ),
        STRICT: make(STRICT, won, ones, question, undefined=every),
    }


def _strengths(scope: Scope, wins: Wins, population: str) -> dict[str, Estimate]:
    if not wins.models:
        return {}
    settings = scope.settings
    found = bradley_terry(
        wins,
        population,
        level=settings.level,
        resamples=min(settings.resamples, STRENGTH_RESAMPLES),
        seed=settings.seed,
    )
    return {one.model: one.strength for one in found}


def _elo(scope: Scope, rows: Sides, score: FloatArray) -> dict[str, EloRow]:
    _, a, b = rows.columns
    return {one.model: one for one in elo(a, b, score, settings=ELO, seed=scope.settings.seed)}


def _correlations(models: list[Model], seed: int) -> tuple[Correlations, ...]:
    people = [(one.model, one.people) for one in models]
    judge = [(one.model, one.judge) for one in models]
    made = []
    for measure in (WIN_RATE, STRENGTH):
        first, second = (
            {
                name: (side.strength if measure == STRENGTH else side.ties_half).value
                for name, side in each
            }
            for each in (people, judge)
        )
        spearman, kendall = rank_correlation(first, second, seed=seed)
        made.append(Correlations(measure, kendall, spearman))
    return tuple(made)


def _all_verdicts(scope: Scope) -> tuple[JudgeRate, ...]:
    """Rates on every usable pair verdict, each once, of models with a name."""
    verdicts = scope.verdicts
    named = ~(
        verdicts["model_a"].str.startswith(UNNAMED) | verdicts["model_b"].str.startswith(UNNAMED)
    )
    usable = verdicts[named & (verdicts["code"] >= 0)]
    questions = question_index(usable["cluster"])
    place = positions(usable["cluster"], questions)
    a, b = (usable[column].to_numpy() for column in ("model_a", "model_b"))
    score = 1 - usable["code"].to_numpy(dtype=np.float64) / 2
    population = f"all pair verdicts of judge {scope.judge}; dimension {scope.dimension}"
    figures = {}
    for name in sorted({*a, *b}):
        at = np.flatnonzero((a == name) != (b == name))
        own = np.where(a[at] == name, score[at], 1 - score[at])
        ones = np.ones(len(at))
        figures[name] = share(TIES_HALF, own, ones, place[at], population, NO_VERDICT)
    settings = scope.settings
    made = estimates(
        figures,
        len(questions),
        level=settings.level,
        resamples=settings.resamples,
        seed=settings.seed,
    )
    return tuple(JudgeRate(name, one) for name, one in made.items())


def _best_first(one: Model) -> tuple[bool, float, str]:
    value = one.people.ties_half.value
    return value is None, -(value or 0.0), one.model
