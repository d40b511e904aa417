"""Votes and verdicts on the same units, a row per vote: what rankings and length biases rest on.

People's rows are votes: a random rater of the population decides. The judge's verdict on a unit
stands beside each vote on it, so that both sides weigh every unit and every two models alike and
a difference between them is no difference of what was compared.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import pandas as pd

from judge.reporting.scope import Scope
from judge.stats.agreement import NOT_JUDGED, S1
from judge.stats.coefficients import FloatArray
from judge.stats.joint import IntArray
from judge.stats.rows import UNNAMED, positions
from judge.stats.wins import Wins, count_wins

NAMELESS = "a model without a name"
NO_JUDGED = "no vote has a usable verdict of this judge"


@dataclass(frozen=True, slots=True)
class Sides:
    """Scores of the first model, 1 preferred, ½ tie, 0 not; every array is of shape (rows,)."""

    frame: pd.DataFrame
    """Columns unit_id, turn, model_a, model_b, cluster; index 0, 1, …"""
    people: FloatArray
    judge: FloatArray
    """All nan where no vote has a usable verdict: then the rows are all votes."""
    question: IntArray
    """Index into the scope's questions."""
    questions: tuple[str, ...]
    excluded: Mapping[str, int]
    """Votes in no row, by reason."""
    matched: bool
    """Whether there is a verdict to stand beside votes."""

    def named(self) -> Sides:
        """Without models known only by the hash of their answers: those are no models to rank."""
        nameless = (
            self.frame["model_a"].str.startswith(UNNAMED)
            | self.frame["model_b"].str.startswith(UNNAMED)
        ).to_numpy(dtype=bool)
        left = int(nameless.sum())
        return Sides(
            self.frame[~nameless].reset_index(drop=True),
            self.people[~nameless],
            self.judge[~nameless],
            self.question[~nameless],
            self.questions,
            {**self.excluded, NAMELESS: left} if left else self.excluded,
            self.matched,
        )

    def wins(self, score: FloatArray) -> Wins:
        """One side's scores as counts per question, on the questions of the scope."""
        return count_wins(*self.columns, score, questions=self.questions)

    @property
    def columns(self) -> tuple[list[str], list[str], list[str]]:
        """Question, model_a and model_b of every row."""
        frame = self.frame
        return list(frame["cluster"]), list(frame["model_a"]), list(frame["model_b"])


def sides(scope: Scope) -> Sides:
    """Every vote with a usable verdict; without any, every vote, the judge's scores unknown."""
    rows = scope.rows[S1]
    questions = tuple(scope.questions)
    if len(rows.vote):
        judge = _score(rows.verdict)
        return Sides(
            rows.frame, _score(rows.vote), judge, rows.question, questions, rows.excluded, True
        )
    votes = scope.votes.rows
    frame = votes[["unit_id", "turn", "source_id", "model_a", "model_b", "cluster"]]
    people = _score(votes["code"].to_numpy(dtype=np.int64))
    nobody = np.full(len(votes), np.nan)
    at = positions(votes["cluster"], scope.questions)
    return Sides(frame.reset_index(drop=True), people, nobody, at, questions, {}, False)


def why_unjudged(scope: Scope) -> str:
    """What became of the judge's verdicts on the units with votes, by reason; "" if some count."""
    excluded = scope.rows[S1].excluded
    if len(scope.rows[S1].vote):
        return ""
    counted = ", ".join(f"{n} {why}" for why, n in excluded.items() if why != NOT_JUDGED)
    return f"{NO_JUDGED} ({counted})" if counted else NO_JUDGED


def judge_words(scope: Scope) -> str:
    """The judge's side as a population, in words."""
    return f"verdicts of judge {scope.judge}, each beside every vote on its unit"


def _score(code: IntArray) -> FloatArray:
    """0, 1, 2 (a, tie, b) as 1, ½, 0 of a."""
    score: FloatArray = 1 - code / 2
    return score


def people_words(scope: Scope) -> str:
    """Who voted, as a sentence calls them; votes of programs are never people's."""
    return "simulated raters" if scope.simulated else "people"
