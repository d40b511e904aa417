"""Levels of a breakdown, as values: turns, categories, pairs of models, raters of one scope."""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum
from typing import TypeAlias

import numpy as np
import pandas as pd

from annotate.errors import UsageError
from judge.reporting.scope import Scope
from judge.stats.agreement import S1, SETUPS, tally
from judge.stats.bands import Band, agreement_by, simultaneous_bands
from judge.stats.design_effect import DesignEffect, design_effect
from judge.stats.estimate import Estimate
from judge.stats.joint import Figure, IntArray, share
from judge.stats.rows import NO_ROW, UNNAMED, Rows, confusion_figures, mirrored, model_pairs
from judge.stats.views import turn_words

NO_CATEGORY = "no category"

Prevalence: TypeAlias = tuple[int, int, int]
"""Rows that say a, tie, b."""
NOBODY: Prevalence = (0, 0, 0)


class Breakdown(StrEnum):
    """What agreement can be broken down by."""

    TURN = "turn"
    CATEGORY = "category"
    """Of the question; an empty one reads `no category`."""
    PAIR = "pair"
    """The two models, in alphabetical order."""
    RATER = "rater"


@dataclass(frozen=True, slots=True)
class LevelSetup:
    """One level in one setup."""

    setup: str
    band: Band
    """Agreement with its own interval and the band that holds for all levels of the setup."""
    design_effect: DesignEffect


@dataclass(frozen=True, slots=True)
class Level:
    """One category, turn, pair or rater."""

    label: str
    votes: int
    setups: tuple[LevelSetup, ...]
    people: Prevalence
    """Votes with a verdict (S1) that say a, tie, b."""
    judge: Prevalence
    """Verdicts on the same rows."""

    @property
    def indicative(self) -> bool:
        """Fewer than INDICATIVE_BELOW questions."""
        return any(one.band.indicative for one in self.setups)


@dataclass(frozen=True, slots=True)
class Overall:
    """All levels together, in one setup."""

    setup: str
    agreement: Estimate
    design_effect: DesignEffect


@dataclass(frozen=True, slots=True)
class BreakdownFound:
    """One breakdown of one scope."""

    key: str
    judge: str
    population: str
    simulated: bool
    by: str
    overall: tuple[Overall, ...]
    levels: tuple[Level, ...]


def breakdown(word: str) -> Breakdown:
    """The breakdown of that name.

    Raises:
        UsageError: there is none.
    """
    try:
        return Breakdown(word)
    except ValueError:
        known = ", ".join(Breakdown)
        raise UsageError(f"--by {word!r}: no such breakdown; known: {known}") from None


def found(scope: Scope, by: str) -> BreakdownFound:
    """Agreement per level, all levels of a setup from one joint bootstrap.

    Args:
        scope: what is compared.
        by: one of Breakdown.

    Raises:
        UsageError: there is no such breakdown.
    """
    chosen = breakdown(by)
    voted = _labels(scope.votes.rows, scope, chosen)
    votes = tally(voted)
    order = sorted(votes, key=_natural)
    labels = {setup: _labels(scope.rows[setup].frame, scope, chosen) for setup in SETUPS}
    bands = {setup: _bands(scope, setup, labels[setup], order) for setup in SETUPS}
    overall = scope.estimates(
        {
            setup: confusion_figures(scope.rows[setup], scope.population)["agreement"]
            for setup in SETUPS
        }
    )

    people, judge = _prevalence(scope.rows[S1], labels[S1], chosen)

    def level(label: str) -> Level:
        return Level(
            label,
            int(votes[label]),
            tuple(
                LevelSetup(
                    setup, bands[setup][label], _effect(scope.rows[setup], labels[setup], label)
                )
                for setup in SETUPS
            ),
            people.get(label, NOBODY),
            judge.get(label, NOBODY),
        )

    return BreakdownFound(
        f"{chosen}-{scope.key}",
        scope.judge,
        scope.population,
        scope.simulated,
        chosen,
        tuple(
            Overall(
                setup,
                overall[setup],
                design_effect(scope.rows[setup].agree, scope.rows[setup].question),
            )
            for setup in SETUPS
        ),
        tuple(level(label) for label in order),
    )


def _labels(frame: pd.DataFrame, scope: Scope, by: Breakdown) -> pd.Series[str]:
    """The level of each row, never empty."""
    if by is Breakdown.TURN:
        return frame["turn"].map(turn_words)
    if by is Breakdown.RATER:
        return frame["source_id"]
    if by is Breakdown.PAIR:
        codes, _, pairs = model_pairs(frame)
        words = [" – ".join(map(_model_words, pair)) for pair in pairs]
        return pd.Series([words[code] for code in codes], index=frame.index, dtype=object)
    rows = scope.votes.rows
    named = rows.drop_duplicates("unit_id").set_index("unit_id")["category"]
    return frame["unit_id"].map(named).replace("", NO_CATEGORY)


def _model_words(name: str) -> str:
    """Models known only by a hash are one nameless model: see `model_pairs`."""
    return "unnamed" if name == UNNAMED else name


def _bands(scope: Scope, setup: str, labels: pd.Series[str], order: list[str]) -> dict[str, Band]:
    rows = scope.rows[setup]
    figures = agreement_by(rows, labels, scope.population)
    none = np.empty(0)
    nowhere = none.astype(np.int64)
    empty: dict[str, Figure] = {
        label: share(
            "agreement", none, none, nowhere, f"{scope.population}; {label}", NO_ROW[setup]
        )
        for label in order
        if label not in figures
    }
    settings = scope.settings
    return simultaneous_bands(
        {**figures, **empty},
        len(scope.questions),
        level=settings.level,
        resamples=settings.resamples,
        seed=settings.seed,
    )


def _effect(rows: Rows, labels: pd.Series[str], label: str) -> DesignEffect:
    own = labels.to_numpy(dtype=object) == label
    return design_effect(rows.agree[own], rows.question[own])


def _prevalence(
    rows: Rows, labels: pd.Series[str], by: Breakdown
) -> tuple[dict[str, Prevalence], dict[str, Prevalence]]:
    """Outcomes of people and of the judge per level; by pair, `a` is the first of the label."""
    vote, verdict = rows.vote, rows.verdict
    if by is Breakdown.PAIR:
        _, turned, _ = model_pairs(rows.frame)
        vote, verdict = mirrored(vote, turned), mirrored(verdict, turned)
    return _counted(labels, vote), _counted(labels, verdict)


def _counted(labels: pd.Series[str], codes: IntArray) -> dict[str, Prevalence]:
    place, names = pd.factorize(labels)
    counts = np.bincount(3 * place + codes, minlength=3 * len(names)).reshape(-1, 3).tolist()
    return {str(name): (a, tie, b) for name, (a, tie, b) in zip(names, counts, strict=True)}


def _natural(label: str) -> tuple[bool, list[tuple[int, str]]]:
    """Turn 2 before turn 10; what has no name last."""
    parts = re.split(r"(\d+)", label)
    return label == NO_CATEGORY, [(int(p) if p.isdecimal() else -1, p) for p in parts]
