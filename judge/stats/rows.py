"""The rows that judge–human statistics rest on: each vote beside the verdict on its unit."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np
import pandas as pd

from judge.stats import coefficients as formulas
from judge.stats.agreement import EITHER_TIE, NOT_JUDGED, S2, Votes, tally
from judge.stats.coefficients import FloatArray
from judge.stats.joint import BoolArray, Figure, IntArray, Statistic

TIE = 1
"""The code of a tie; 0 is a, 2 is b: see `judge.stats.agreement.CATEGORIES`."""

UNNAMED = "unnamed:"
"""Prefix of models known only by the hash of their answers."""

ONLY_ONE = "only one category occurs, so chance agreement is already 1"
NO_ROW = {
    "S1": "no vote has a usable verdict of this judge",
    "S2": "no vote and verdict both name a winner",
}


@dataclass(frozen=True, slots=True)
class Rows:
    """Votes with a usable verdict, in one setup; every array is of shape (rows,)."""

    frame: pd.DataFrame
    """Columns unit_id, turn, source_id, model_a, model_b, cluster; index 0, 1, …"""
    vote: IntArray
    """0 a, 1 tie, 2 b."""
    verdict: IntArray
    question: IntArray
    """Index into the list of questions."""
    setup: str
    excluded: Mapping[str, int]
    """Votes that are in no row, by reason."""

    @property
    def agree(self) -> FloatArray:
        """1 where vote and verdict are the same, else 0."""
        agree: FloatArray = (self.vote == self.verdict).astype(np.float64)
        return agree

    @property
    def cell(self) -> IntArray:
        """3 × vote + verdict."""
        return 3 * self.vote + self.verdict

    def take(self, chosen: BoolArray, reason: str) -> Rows:
        """The chosen rows; the others are excluded for the reason given."""
        left = int((~chosen).sum())
        return Rows(
            self.frame[chosen].reset_index(drop=True),
            self.vote[chosen],
            self.verdict[chosen],
            self.question[chosen],
            self.setup,
            {**self.excluded, reason: left} if left else self.excluded,
        )


def judged_rows(votes: Votes, verdicts: pd.DataFrame, setup: str, questions: pd.Index[str]) -> Rows:
    """One row per vote on a judged unit; in S2 only where both name a winner.

    Args:
        votes: from `judge.stats.agreement.select_votes`.
        verdicts: from `judge.stats.agreement.select_verdicts`.
        setup: S1 or S2.
        questions: every `cluster`, from :func:`question_index`.
    """
    found = verdicts[["unit_id", "turn", "code", "failure"]].rename(columns={"code": "verdict"})
    kept = ["unit_id", "turn", "source_id", "model_a", "model_b", "cluster"]
    rows = votes.rows[[*kept, "code"]].merge(
        found, how="left", on=["unit_id", "turn"], validate="many_to_one"
    )
    judged = rows["verdict"].ge(0).to_numpy(dtype=bool)
    excluded = tally(rows.loc[~judged, "failure"].fillna(NOT_JUDGED))
    rows = rows[judged].reset_index(drop=True)
    made = Rows(
        rows[kept],
        rows["code"].to_numpy(dtype=np.int64),
        rows["verdict"].to_numpy(dtype=np.int64),
        positions(rows["cluster"], questions),
        setup,
        excluded,
    )
    if setup == S2:
        return made.take((made.vote != TIE) & (made.verdict != TIE), EITHER_TIE)
    return made


def question_index(clusters: Iterable[str]) -> pd.Index[str]:
    """Every question once, 9 before 10: the order of the agreement report's resamples."""
    return pd.Index(sorted(set(clusters), key=_natural), dtype=object)


def positions(clusters: pd.Series[str], questions: pd.Index[str]) -> IntArray:
    """Where each row's question stands in the list of all.

    Raises:
        ValueError: a question is not in the list.
    """
    found = questions.get_indexer(pd.Index(clusters)).astype(np.int64)
    if (found < 0).any():
        unknown = clusters.to_numpy()[found < 0][0]
        raise ValueError(f"question {unknown!r}: not in the list of {len(questions)} questions")
    return found


def model_pairs(
    frame: pd.DataFrame,
) -> tuple[IntArray, BoolArray, list[tuple[str, str]]]:
    """Which two models each row compares, whichever of them is called a.

    Models known only by a hash are one nameless model: else every question would be a pair
    of its own, and knowing the pair would be knowing the answers.

    Returns:
        The index of each row's pair; whether its a is the pair's second name, so that codes
        must be mirrored to compare rows; and the pairs, names in alphabetical order.
    """
    first, second = (
        frame[name].where(~frame[name].str.startswith(UNNAMED), UNNAMED)
        for name in ("model_a", "model_b")
    )
    turned = (first > second).to_numpy(dtype=bool)
    keys = pd.MultiIndex.from_arrays(
        [first.where(~turned, second), second.where(~turned, first)], names=["first", "second"]
    )
    codes, pairs = keys.factorize(sort=True)
    return codes.astype(np.int64), turned, [(str(a), str(b)) for a, b in pairs]


def mirrored(codes: IntArray, turned: BoolArray) -> IntArray:
    """Codes with a and b exchanged where asked for."""
    result: IntArray = np.where(turned, 2 - codes, codes)
    return result


FORMULAS: Mapping[str, Statistic] = {
    "agreement": formulas.percent_agreement,
    "kappa_symmetrised": formulas.cohen_kappa_symmetrised,
    "alpha": formulas.alpha_of_confusion,
    "ac1": formulas.ac1_of_confusion,
}
"""Statistics of a confusion, shape (..., k, k) → (...)."""


def confusion_figures(rows: Rows, population: str) -> dict[str, Figure]:
    """Agreement, symmetrised kappa, alpha and AC1 of rows, by name."""
    questions, place = np.unique(rows.question, return_inverse=True)
    tally = np.bincount(9 * place + rows.cell, minlength=9 * len(questions))
    counts = tally.reshape(-1, 9).astype(np.float64)
    n = len(rows.vote)
    agree = int(rows.agree.sum())
    return {
        name: Figure(
            name,
            questions.astype(np.int64),
            counts,
            of_cells(formula, rows.setup),
            population,
            n=n,
            undefined=ONLY_ONE if n else NO_ROW[rows.setup],
            excluded=rows.excluded,
            numerator=agree if name == "agreement" else None,
            denominator=n if name == "agreement" else None,
        )
        for name, formula in FORMULAS.items()
    }


def of_cells(formula: Statistic, setup: str) -> Statistic:
    """A confusion's statistic as one of nine totals, vote × verdict; S2 without the ties."""
    kept = slice(None, None, 2) if setup == S2 else slice(None)

    def statistic(totals: FloatArray) -> FloatArray:
        return formula(totals.reshape(*totals.shape[:-1], 3, 3)[..., kept, kept])

    return statistic


def _natural(cluster: str) -> tuple[str, int, str]:
    benchmark, _, question = cluster.rpartition("\x1f")
    return benchmark, int(question) if question.isdecimal() else -1, question
