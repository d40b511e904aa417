"""The human reference, matched: people and judge on the same units, pairs and rows.

Agreement between people is no ceiling for a judge unless both are measured on the same
rows. Here each row is a pair of votes (i, j) of different raters on one unit on which the
judge, too, has a usable verdict; in S2 the votes of i and j and the verdict all name a
winner. On such a row

- *human–human* is [i = j];
- *judge–human* puts the judge into the place of either vote in turn:
  ([judge = i] + [judge = j]) / 2.

So both have the same units, the same rows and the same weights: a unit with m votes has
m (m − 1) / 2 rows. With m_v votes for the verdict of the judge, judge–human adds
m_v (m − 1) / 2 and human–human Σ_c m_c (m_c − 1) / 2. With `Weighting.UNITS` each unit
counts once instead.

*Difference* is judge–human minus human–human, interval from one joint bootstrap of the
questions. Above 0 the judge agrees with a person more often than a second person does; 0:
as often; below 0: less often. Its interval is corrected for skew (BCa): few questions carry
most pairs of votes, and in 2,000 simulated studies of 80 questions plain percentiles held the
S2 difference in 92.3 to 92.6 %; BCa holds it in 93.0 to 93.4 % (benchmarks/coverage.py).

On MT-Bench (experts, GPT-4, both turns) the S2 gap is +.0075 weighted by pairs, +.0079 by
units, +.0081 with m rows per unit, against +.0319 unmatched. Leaving the units on which
the judge says tie in the human–human part only gives +.023: most of the unmatched gap is
that people agree less where the judge sees a tie.

The *unmatched* figures are those of L. Zheng et al. (2023), Table 5,
https://arxiv.org/abs/2306.05685: judge–human over all votes on judged units, human–human
over all pairs of votes. They are kept under the name "as in the paper".
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import StrEnum

import numpy as np
import pandas as pd

from judge.stats.agreement import (
    ALONE,
    NOT_JUDGED,
    S2,
    Votes,
    human_human_counts,
    judge_human_counts,
    tally,
)
from judge.stats.coefficients import FloatArray, ratio
from judge.stats.joint import Figure, IntArray, difference, share
from judge.stats.rows import NO_ROW, TIE, positions

GAP = "judge-human minus human-human"
JUDGE_HUMAN, HUMAN_HUMAN, DIFFERENCE = "judge-human", "human-human", "difference"
UNMATCHED = "as in the paper (not matched)"
JUDGE_TIE = "the judge says tie"
TIE_VOTE = "tie or both_bad vote"
NO_UNIT = {
    "S1": "no judged unit has two votes",
    "S2": "no unit has two votes and a verdict that name a winner",
}


class Weighting(StrEnum):
    """How much a unit counts."""

    PAIRS = "pairs"
    """By its pairs of votes, as in the paper's human–human figure."""
    UNITS = "units"
    """Every unit once."""


@dataclass(frozen=True, slots=True)
class _Units:
    """Units with two votes and a verdict; every array is of shape (units,)."""

    question: IntArray
    pairs: FloatArray
    """m (m − 1) / 2."""
    human: FloatArray
    """Pairs of votes that are the same."""
    judge: FloatArray
    """Pairs in which the judge, in the place of either vote, agrees with the other."""
    excluded: Mapping[str, int]


def matched_figures(
    votes: Votes,
    verdicts: pd.DataFrame,
    setup: str,
    questions: pd.Index[str],
    population: str,
    weighting: Weighting = Weighting.PAIRS,
) -> dict[str, Figure]:
    """Judge–human and human–human agreement on the same rows, and their difference, by name.

    Args:
        votes: from `judge.stats.agreement.select_votes`.
        verdicts: from `judge.stats.agreement.select_verdicts`.
        setup: S1 or S2.
        questions: from `judge.stats.rows.question_index`.
        population: whose votes, in words.
        weighting: by pairs of votes, or every unit once.

    The excluded are votes, by reason.
    """
    units = _units(votes, verdicts, setup, questions)
    weight = units.pairs if weighting is Weighting.PAIRS else np.ones(len(units.pairs))
    judge, human = (part * weight / units.pairs for part in (units.judge, units.human))
    place, why, excluded = units.question, NO_UNIT[setup], units.excluded
    where = f"{population}; matched, weighted by {weighting}"
    n = int(units.pairs.sum())
    shares = {
        name: share("agreement", part, weight, place, where, why, excluded, n=n)
        for name, part in ((JUDGE_HUMAN, judge), (HUMAN_HUMAN, human))
    }
    gap = difference(GAP, judge, human, weight, place, where, why, excluded, n=n)
    # Half pairs and shares of units are no counts, even where they happen to add up to one.
    halves = replace(shares[JUDGE_HUMAN], numerator=None)
    if weighting is Weighting.UNITS:
        shares = {name: replace(one, numerator=None) for name, one in shares.items()}
    return {**shares, JUDGE_HUMAN: halves, DIFFERENCE: replace(gap, identical=False, skewed=True)}


def unmatched_figures(
    votes: Votes,
    verdicts: pd.DataFrame,
    setup: str,
    questions: pd.Index[str],
    population: str,
) -> dict[str, Figure]:
    """The same three from all rows of each comparison, as in the paper; not matched."""
    judge = judge_human_counts(votes, verdicts, questions)
    human = human_human_counts(votes, questions)
    judge_part = _agreement_columns(judge.table, setup)
    human_part = _agreement_columns(human.table, setup) / 2
    where = f"{population}; {UNMATCHED}"
    place = np.arange(len(questions), dtype=np.int64)
    shares = {
        name: share(
            "agreement",
            part[:, 0],
            part[:, 1],
            place,
            where,
            why,
            excluded,
            n=int(part.sum(0)[1]),
        )
        for name, part, why, excluded in (
            (JUDGE_HUMAN, judge_part, NO_ROW[setup], judge.excluded[setup]),
            (HUMAN_HUMAN, human_part, NO_UNIT[setup], human.excluded[setup]),
        )
    }
    both = np.hstack([judge_part, human_part])
    used = both.any(1)
    gap = Figure(
        GAP,
        place[used],
        both[used],
        _difference_of_quotients,
        where,
        n=shares[JUDGE_HUMAN].n,
        undefined=f"{NO_ROW[setup]}, or {NO_UNIT[setup]}",
    )
    return {**shares, DIFFERENCE: gap}


def _units(votes: Votes, verdicts: pd.DataFrame, setup: str, questions: pd.Index[str]) -> _Units:
    found = verdicts[["unit_id", "turn", "code", "failure"]].rename(columns={"code": "verdict"})
    rows = votes.rows[["unit_id", "turn", "cluster", "code"]].merge(
        found, how="left", on=["unit_id", "turn"], validate="many_to_one"
    )
    failed = ~rows["verdict"].ge(0)
    excluded = tally(rows.loc[failed, "failure"].fillna(NOT_JUDGED))
    rows = rows[~failed]
    if setup == S2:
        for name, reason in (("verdict", JUDGE_TIE), ("code", TIE_VOTE)):
            tied = rows[name] == TIE
            excluded |= {reason: int(tied.sum())} if tied.any() else {}
            rows = rows[~tied]
    sizes = rows.groupby(["unit_id", "turn"])["code"].transform("size")
    alone = int((sizes < 2).sum())
    excluded |= {ALONE: alone} if alone else {}
    rows = rows[sizes >= 2]
    unit = rows.groupby(["unit_id", "turn"], sort=True).ngroup().to_numpy()
    first = np.unique(unit, return_index=True)[1]
    counts = np.bincount(3 * unit + rows["code"].to_numpy(), minlength=3 * len(first))
    per_unit = counts.reshape(-1, 3).astype(np.float64)
    m = per_unit.sum(1)
    verdict = rows["verdict"].to_numpy(dtype=np.int64)[first]
    chosen = per_unit[np.arange(len(first)), verdict]
    return _Units(
        positions(rows["cluster"].iloc[first], questions),
        pairs=m * (m - 1) / 2,
        human=(per_unit * (per_unit - 1)).sum(1) / 2,
        judge=chosen * (m - 1) / 2,
        excluded=excluded,
    )


def _agreement_columns(table: FloatArray, setup: str) -> FloatArray:
    """(agree, rows) of the first nine columns, shape (questions, 2).

    Pairs of votes without a tie on either side are those that remain without tie votes.
    """
    kept = slice(None, None, 2) if setup == S2 else slice(None)
    cells = table[:, :9].reshape(-1, 3, 3)[:, kept, kept]
    return np.column_stack([np.trace(cells, axis1=1, axis2=2), cells.sum((1, 2))])


def _difference_of_quotients(totals: FloatArray) -> FloatArray:
    gap: FloatArray = ratio(totals[..., 0], totals[..., 1]) - ratio(totals[..., 2], totals[..., 3])
    return gap
