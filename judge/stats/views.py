"""Views: one comparison on some turns in one setup, as a count matrix and its statistics."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import TypeAlias

import numpy as np
import pandas as pd

from judge.stats import coefficients as formulas
from judge.stats.agreement import (
    CATEGORIES,
    HUMAN_COLUMNS,
    S1,
    S2,
    SETUPS,
    Counts,
    Votes,
    human_human_counts,
    judge_human_counts,
)
from judge.stats.coefficients import FloatArray
from judge.stats.rows import question_index

HUMAN_HUMAN = "human-human"
JUDGE_HUMAN = "judge-human"

Statistic: TypeAlias = Callable[[FloatArray], FloatArray]
"""Column totals of a view, shape (..., columns), to values of shape (...); nan is undefined."""


@dataclass(frozen=True, slots=True)
class View:
    """One comparison on some turns in one setup; every figure is a function of `counts`."""

    comparison: str
    judge: str
    """Source id; empty for human–human."""
    turn: int | None
    """None is all turns ≥ 1 together; 0 is the whole dialogue."""
    setup: str
    counts: FloatArray
    """Shape (clusters, columns), from `judge_human_counts` or `human_human_counts`."""
    excluded: Mapping[str, int]
    statistics: Mapping[str, Statistic]

    def confusion(self) -> tuple[tuple[int, ...], ...]:
        """Counts by categories, shape (3, 3); human–human: ordered pairs, each pair twice."""
        table = np.zeros((3, 3), dtype=int)
        found = _confusion(self.counts.sum(0), S1).astype(int)
        kept = slice(None) if self.setup == S1 else slice(None, None, 2)
        table[kept, kept] = found[kept, kept]
        return tuple(tuple(row) for row in table.tolist())

    def rows(self) -> int:
        """Votes with a verdict, or pairs of votes."""
        return self._halved(int(_confusion(self.counts.sum(0), self.setup).sum()))

    def clusters(self) -> int:
        """Questions with at least one row."""
        return int((_confusion(self.counts, self.setup).sum((-2, -1)) > 0).sum())

    def share(self, name: str) -> tuple[int, int] | None:
        """Numerator and denominator of a statistic that is a share of rows."""
        totals = self.counts.sum(0)
        if name == "agreement":
            return self._halved(int(np.trace(_confusion(totals, self.setup)))), self.rows()
        if name == "coverage":
            return self.rows(), self._halved(int(_confusion(totals, S1).sum()))
        return None

    def why_undefined(self, name: str) -> str:
        """The reason for a statistic whose value is undefined here."""
        if name == "coverage" or self.rows() == 0:
            return self._why_empty(S1 if name == "coverage" else self.setup)
        if name == "kappa" and self.comparison == HUMAN_HUMAN:
            return "two raters have no first and second; see kappa_symmetrised"
        table = np.array(self.confusion())
        used = [
            word for word, n in zip(CATEGORIES, table.sum(0) + table.sum(1), strict=True) if n > 0
        ]
        return f"only one category occurs, “{', '.join(used)}”, so chance agreement is already 1"

    def words(self) -> str:
        """Comparison, turns and setup in words."""
        named = comparison_words(self.comparison, self.judge)
        return f"{named}; {turn_words(self.turn)}; {self.setup}"

    def _why_empty(self, setup: str) -> str:
        if self.comparison == HUMAN_HUMAN:
            several = _confusion(self.counts.sum(0), S1).sum() > 0
            if setup == S2 and several:
                return "no unit has two votes that name a winner"
            return "no unit has two votes"
        judged = self.counts.sum() > 0
        if setup == S2 and judged:
            return "no vote and verdict both name a winner"
        return "no vote has a usable verdict of this judge"

    def _halved(self, n: int) -> int:
        """Human–human confusions hold each pair in both orders."""
        return n // 2 if self.comparison == HUMAN_HUMAN else n


def of_block(votes: Votes, verdicts: Mapping[str, pd.DataFrame]) -> list[View]:
    """All views of one population on one dimension, on one common list of questions.

    Turns ≥ 1 together first when there are several, then each, then the whole dialogue
    (turn 0), which is never pooled with turns. `verdicts` is by judge.
    """
    votes = replace(votes, rows=votes.rows[["unit_id", "turn", "cluster", "code"]])
    clusters = question_index(votes.rows["cluster"])
    turns = _turns(votes)
    views = []
    for turn in turns:
        counts = human_human_counts(_on_turn(votes, turn), clusters)
        views += [_view(HUMAN_HUMAN, "", turn, setup, counts) for setup in SETUPS]
    for judge, rows in verdicts.items():
        for turn in turns:
            counts = judge_human_counts(_on_turn(votes, turn), rows, clusters)
            views += [_view(JUDGE_HUMAN, judge, turn, setup, counts) for setup in SETUPS]
    return views


def comparison_words(comparison: str, judge: str, *, simulated: bool = False) -> str:
    """`human–human` or `judge … – human`; simulated votes are never called human."""
    who = "simulated" if simulated else "human"
    return f"{who}–{who}" if comparison == HUMAN_HUMAN else f"judge {judge} – {who}"


def turn_words(turn: int | None) -> str:
    """Which turns, in words."""
    if turn is None:
        return "all turns"
    return f"turn {turn}" if turn else "whole dialogue"


def _turns(votes: Votes) -> list[int | None]:
    found = sorted(set(votes.rows["turn"]))
    turns: list[int | None] = [turn for turn in found if turn > 0]
    return ([None] if len(turns) > 1 else []) + turns + [turn for turn in found if turn <= 0]


def _on_turn(votes: Votes, turn: int | None) -> Votes:
    at = votes.rows["turn"]
    mine = at > 0 if turn is None else at == turn
    return votes if mine.all() else replace(votes, rows=votes.rows[mine])


def _view(comparison: str, judge: str, turn: int | None, setup: str, counts: Counts) -> View:
    human = comparison == HUMAN_HUMAN
    statistics = _human_statistics(setup) if human else _judge_statistics(setup)
    if setup == S2:
        statistics["coverage"] = _coverage
    return View(comparison, judge, turn, setup, counts.table, counts.excluded[setup], statistics)


def _judge_statistics(setup: str) -> dict[str, Statistic]:
    def of(formula: Statistic, totals: FloatArray) -> FloatArray:
        return formula(_confusion(totals, setup))

    return {
        "agreement": partial(of, formulas.percent_agreement),
        "kappa_symmetrised": partial(of, formulas.cohen_kappa_symmetrised),
        "kappa": partial(of, formulas.cohen_kappa),
        "alpha": partial(of, formulas.alpha_of_confusion),
        "ac1": partial(of, formulas.ac1_of_confusion),
    }


def _human_statistics(setup: str) -> dict[str, Statistic]:
    def columns(totals: FloatArray, first: int, stop: int) -> FloatArray:
        skip = 0 if setup == S1 else HUMAN_COLUMNS
        part = totals[..., skip + first : skip + stop]
        return part[..., ::2] if setup == S2 and stop - first == 3 else part

    def alpha(totals: FloatArray) -> FloatArray:
        return formulas.alpha_nominal(columns(totals, 9, 12), columns(totals, 12, 13)[..., 0])

    def ac1(totals: FloatArray) -> FloatArray:
        # Unit-averaged, as Gwet defines it for raters that vary from unit to unit.
        share = columns(totals, 15, 18)
        observed = formulas.ratio(columns(totals, 14, 15), columns(totals, 13, 14))[..., 0]
        return formulas.gwet_ac1(observed, formulas.ratio(share, formulas.total(share)[..., None]))

    def plain_kappa(totals: FloatArray) -> FloatArray:
        # Raters of a pair have no first and second: undefined, the reason says so.
        return np.full(totals.shape[:-1], np.nan)

    statistics = _judge_statistics(setup)
    return {**statistics, "kappa": plain_kappa, "alpha": alpha, "ac1": ac1}


def _coverage(totals: FloatArray) -> FloatArray:
    """Rows of S2 as a share of those of S1."""
    kept, rows = (formulas.total(formulas.total(_confusion(totals, s))) for s in (S2, S1))
    return formulas.ratio(kept, rows)


def _confusion(totals: FloatArray, setup: str) -> FloatArray:
    """The first nine columns as (..., 3, 3), or without ties (..., 2, 2).

    They are votes × verdicts, or ordered pairs of votes: those without a tie on either side
    are also the pairs that remain when tie votes are taken out first.
    """
    table = totals[..., :9].reshape(*totals.shape[:-1], 3, 3)
    return table if setup == S1 else table[..., ::2, ::2]
