"""Each rater beside the judge and beside the others, and what other raters would change.

Figures that resample questions are conditional on the raters who took part. Two things say
how much that matters: the range of the figure when one rater is left out, always; and from
FEWEST_RATERS raters on an interval for other raters too, from `judge.stats.two_way`.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd

from judge.stats.agreement import ALONE, S2, Votes
from judge.stats.coefficients import FloatArray
from judge.stats.estimate import Estimate
from judge.stats.joint import Figure, IntArray, share
from judge.stats.rows import FORMULAS, NO_ROW, ONLY_ONE, TIE, Rows, of_cells, positions
from judge.stats.two_way import Components, components, two_way_estimate

JUDGE, OTHERS = "judge", "others"
NO_OTHER = "no other rater voted on the same units"

LOWEST = {"agreement": 0.0}
"""Lower bounds of statistics that do not go down to −1."""


@dataclass(frozen=True, slots=True)
class LeaveOneOut:
    """A statistic without each rater in turn: its lowest and highest value."""

    name: str
    raters: int
    value: float | None
    """With all of them."""
    low: float | None
    high: float | None
    without_low: str
    """The rater without whom it is lowest."""
    without_high: str
    reason: str = ""
    """Why there is no range."""


def rater_figures(
    votes: Votes, rows: Rows, questions: pd.Index[str], population: str
) -> dict[tuple[str, str], Figure]:
    """Agreement of each rater with the judge, and with the other raters.

    With the others: over all votes of others on the rater's own units, so a unit with three
    others counts three times; in S2 over those that name a winner where the rater does.
    1: always the same as they; 0: never. Intervals are by question.

    Args:
        votes: that `rows` was made of.
        rows: of the judge, in one setup.
        questions: that `rows` was made with.
        population: whose votes, in words.

    Returns:
        By (rater, "judge") and (rater, "others"), raters in alphabetical order.
    """
    judged = _by_rater(rows.frame)
    agree, why = rows.agree, NO_ROW[rows.setup]
    beside = _Beside(votes, rows.setup, questions)
    figures = {}
    for rater in sorted(set(votes.rows["source_id"])):
        where = f"rater {rater} of {population}"
        own = judged.get(rater, np.empty(0, dtype=np.int64))
        ones = np.ones(len(own))
        figures[rater, JUDGE] = share("agreement", agree[own], ones, rows.question[own], where, why)
        figures[rater, OTHERS] = beside.figure(rater, where)
    return figures


def leave_one_rater_out(rows: Rows, name: str = "agreement") -> LeaveOneOut:
    """The range of a judge–human statistic when one rater's votes are left out.

    A narrow range says that no single rater carries the figure; it is no interval, and does
    not speak for raters who did not take part.

    Args:
        rows: of the judge, in one setup.
        name: of a statistic in `judge.stats.rows.FORMULAS`.
    """
    raters, by_rater = np.unique(rows.frame["source_id"].to_numpy(), return_inverse=True)
    statistic = of_cells(FORMULAS[name], rows.setup)
    each = np.bincount(9 * by_rater + rows.cell, minlength=9 * len(raters)).reshape(-1, 9)
    totals = each.sum(0).astype(np.float64)
    value = float(statistic(totals))
    values = statistic(totals - each)
    reason = ""
    if len(raters) < 2:
        reason = "no range: fewer than two raters"
    elif np.isnan(values).any():
        reason = f"no range: undefined without rater {raters[np.isnan(values)][0]}"
    point = None if np.isnan(value) else value
    if reason:
        return LeaveOneOut(name, len(raters), point, None, None, "", "", reason)
    lowest, highest = int(values.argmin()), int(values.argmax())
    ends = float(values[lowest]), float(values[highest])
    return LeaveOneOut(name, len(raters), point, *ends, str(raters[lowest]), str(raters[highest]))


def row_components(rows: Rows, name: str = "agreement") -> Components:
    """Variances of a judge–human statistic by question, rater, both and vote."""
    rater = np.unique(rows.frame["source_id"].to_numpy(), return_inverse=True)[1]
    statistic = of_cells(FORMULAS[name], rows.setup)
    return components(rows.question, rater, rows.cell, 9, statistic)


def estimate_with_raters(
    rows: Rows, population: str, name: str = "agreement", *, level: float = 0.95
) -> Estimate:
    """A judge–human statistic with an interval for other questions and other raters.

    With fewer than FEWEST_RATERS raters there is no such interval; the reason says that the
    figure is conditional on these raters.
    """
    value = float(of_cells(FORMULAS[name], rows.setup)(_totals(rows)))
    if np.isnan(value):
        return Estimate(
            name=name,
            value=None,
            population=population,
            n=len(rows.vote),
            clusters=0,
            reason=ONLY_ONE if len(rows.vote) else NO_ROW[rows.setup],
            level=level,
            excluded=rows.excluded,
        )
    return two_way_estimate(
        name,
        value,
        row_components(rows, name),
        population,
        len(rows.vote),
        level=level,
        bounds=(LOWEST.get(name, -1.0), 1.0),
        excluded=rows.excluded,
    )


class _Beside:
    """Every vote beside the votes of others on its unit."""

    def __init__(self, votes: Votes, setup: str, questions: pd.Index[str]) -> None:
        frame = votes.rows
        if setup == S2:
            frame = frame[frame["code"] != TIE]
        codes = frame["code"].to_numpy(dtype=np.int64)
        unit = frame.groupby(["unit_id", "turn"]).ngroup().to_numpy()
        tally = np.bincount(3 * unit + codes, minlength=3 * (int(unit.max(initial=-1)) + 1))
        per_unit = tally.reshape(-1, 3)
        self._others: FloatArray = per_unit.sum(1)[unit] - 1.0
        self._same: FloatArray = per_unit[unit, codes] - 1.0
        self._question = positions(frame["cluster"], questions)
        self._of = _by_rater(frame)

    def figure(self, rater: str, where: str) -> Figure:
        own = self._of.get(rater, np.empty(0, dtype=np.int64))
        others = self._others[own]
        alone = int((others == 0).sum())
        excluded = {ALONE: alone} if alone else {}
        n = int(others.sum())
        same, place = self._same[own], self._question[own]
        return share("agreement", same, others, place, where, NO_OTHER, excluded, n=n)


def _by_rater(frame: pd.DataFrame) -> dict[str, IntArray]:
    """Row numbers of each rater."""
    found = frame.groupby("source_id").indices
    return {str(rater): np.asarray(rows, dtype=np.int64) for rater, rows in found.items()}


def _totals(rows: Rows) -> FloatArray:
    return np.bincount(rows.cell, minlength=9).astype(np.float64)
