"""Made-up worlds with known truths: votes and verdicts whose questions differ.

A question has a clarity, the chance that a voter, or the judge, sees a unit's truth and does
not choose at random; Beta with mean CLARITY and the intraclass correlation given. It favours
some models more than others, by normal effects of the same correlation on the logit scale.
Both make the rows of one question alike, so that rows are no independent draws.

Many studies are counted as one large table and taken apart by question: everything that is
measured is a function of counts per question.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import combinations

import numpy as np
import pandas as pd

from judge.stats.agreement import S1, S2, Votes
from judge.stats.baselines import Baseline, baseline_figures
from judge.stats.joint import Figure
from judge.stats.matched import DIFFERENCE, matched_figures
from judge.stats.rows import confusion_figures, judged_rows, question_index
from judge.stats.wins import Wins, count_wins

STRENGTHS = {"alder": -0.6, "birch": -0.2, "cedar": 0.1, "dogwood": 0.7}
PAIRS = np.array(list(combinations(range(len(STRENGTHS)), 2)))
CLARITY = 0.6
TIES = 0.2
"""Share of units whose truth is a tie."""
NOT_JUDGED = 0.05
MOST_VOTES = 4
"""A unit has 0 to this many votes, each number equally often."""
WHO = "made-up votes"


@dataclass(frozen=True)
class Measured:
    """One study's figures by a short name, and its votes as wins; all on `questions`."""

    figures: dict[str, Figure]
    wins: Wins
    questions: int


def population(questions: int, icc: float, rng: np.random.Generator) -> Measured:
    """One large study: its figures are the world's true values, but for its size.

    Args:
        questions: how many, each with every pair of models once.
        icc: intraclass correlation of clarity and of what a question favours, in [0, 1).
        rng: advanced.
    """
    return next(studies(1, questions, icc, rng))


def studies(
    number: int, questions: int, icc: float, rng: np.random.Generator
) -> Iterator[Measured]:
    """Independent studies of the same world; arguments as of :func:`population`."""
    votes, verdicts, index = _table(number, questions, icc, rng)
    figures = _figures(votes, verdicts, index)
    wins = _wins(votes, index)
    for start in range(0, number * questions, questions):
        stop = start + questions
        yield Measured(
            {name: _part(one, start, stop) for name, one in figures.items()},
            replace(wins, questions=wins.questions[start:stop], table=wins.table[start:stop]),
            questions,
        )


def _table(
    number: int, questions: int, icc: float, rng: np.random.Generator
) -> tuple[Votes, pd.DataFrame, pd.Index[str]]:
    """Votes, verdicts and questions of all studies, in order."""
    everything = number * questions
    question = np.repeat(np.arange(everything), len(PAIRS))
    pair = np.tile(np.arange(len(PAIRS)), everything)
    clarity = _clarity(everything, icc, rng)[question]
    truth = _truth(question, pair, icc, rng)
    unit = np.repeat(np.arange(len(pair)), rng.integers(MOST_VOTES + 1, size=len(pair)))
    ids = np.array([f"{n:09}" for n in range(everything)], dtype=object)
    # The blind guess is fitted study by study, so a study's models have names of their own.
    names = np.array([f"{n:09} {m}" for n in range(number) for m in STRENGTHS], dtype=object)
    study = len(STRENGTHS) * (question[unit] // questions)
    rows = pd.DataFrame(
        {
            "unit_id": unit,
            "turn": 1,
            "source_id": "",
            "cluster": ids[question[unit]],
            "model_a": names[study + PAIRS[pair[unit], 0]],
            "model_b": names[study + PAIRS[pair[unit], 1]],
            "code": _said(truth[unit], clarity[unit], rng),
        }
    )
    judged = np.flatnonzero(rng.random(len(pair)) >= NOT_JUDGED)
    code = _said(truth[judged], clarity[judged], rng)
    verdicts = pd.DataFrame({"unit_id": judged, "turn": 1, "code": code, "failure": ""})
    return Votes(rows, {}), verdicts, question_index(ids)


def _clarity(questions: int, icc: float, rng: np.random.Generator) -> np.ndarray:
    if icc == 0:
        return np.full(questions, CLARITY)
    size = (1 - icc) / icc
    return rng.beta(CLARITY * size, (1 - CLARITY) * size, questions)


def _truth(
    question: np.ndarray, pair: np.ndarray, icc: float, rng: np.random.Generator
) -> np.ndarray:
    # Two models' effects make the variance of a logit; π²/3 is that of the logistic itself.
    spread = np.sqrt(icc / (1 - icc) * np.pi**2 / 3 / 2)
    favour = rng.normal(0, spread, (question[-1] + 1, len(STRENGTHS)))
    appeal = np.array(list(STRENGTHS.values())) + favour
    first, second = (appeal[question, PAIRS[pair, side]] for side in (0, 1))
    won = rng.random(len(pair)) < 1 / (1 + np.exp(second - first))
    return np.where(rng.random(len(pair)) < TIES, 1, np.where(won, 0, 2))


def _said(truth: np.ndarray, clarity: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    seen = rng.random(len(truth)) < clarity
    return np.where(seen, truth, rng.integers(3, size=len(truth)))


def _figures(votes: Votes, verdicts: pd.DataFrame, index: pd.Index[str]) -> dict[str, Figure]:
    made: dict[str, Figure] = {}
    for setup in (S1, S2):
        rows = judged_rows(votes, verdicts, setup, index)
        if setup == S1:
            found = confusion_figures(rows, WHO)
            made |= {name: found[name] for name in ("agreement", "kappa_symmetrised", "alpha")}
        matched = matched_figures(votes, verdicts, setup, index, WHO)
        made[f"matched gap {setup}"] = matched[DIFFERENCE]
        blind = baseline_figures(rows, None, "overall", WHO)
        made[f"excess {setup}"] = blind["excess", Baseline.CONTENT_BLIND]
    return made


def _wins(votes: Votes, index: pd.Index[str]) -> Wins:
    rows = votes.rows
    a, b = (rows[name].str.split(" ").str[1].tolist() for name in ("model_a", "model_b"))
    score = 1 - rows["code"].to_numpy() / 2
    return count_wins(rows["cluster"].tolist(), a, b, score, questions=index.tolist())


def _part(figure: Figure, start: int, stop: int) -> Figure:
    """The figure of one study's questions."""
    chosen = slice(*np.searchsorted(figure.questions, [start, stop]))
    return replace(figure, questions=figure.questions[chosen] - start, counts=figure.counts[chosen])
