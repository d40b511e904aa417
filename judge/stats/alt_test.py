"""The alternative annotator test: may the judge stand in for a person?

Each rater j in turn is left out and compared with the judge, on the units that j and at
least one other rater voted on: whoever agrees with a larger share of the *other* raters'
votes on the unit is ahead there, and both are when the shares are equal. Over j's units

- the judge's *advantage probability* ρ_j is how often the judge is ahead or level;
- the judge *wins* against j if mean(j ahead or level) − mean(judge ahead or level) < ε is
  significant: one-sided t-test, Benjamini–Yekutieli over raters at false discovery rate q.

ε is what the judge may be worse by and still be preferred for being cheaper; the authors
suggest .2 for experts, .15 for skilled raters, .1 for crowds. The larger it is, the easier
the test, so it is printed beside the result.

*Winning rate* ω: the share of raters that the judge wins against. 1: all; 0: none. The
authors let the judge stand in from ω ≥ ½ on. *Average advantage probability* ρ: the mean
of ρ_j, 1 at best; it needs no ε and serves to compare judges.

The authors' t-test takes units as independent. `by_question` uses the variance of question
sums instead, with questions − 1 degrees of freedom; it is the default, since units of one
question (its pairs and turns) are not independent.

Raters with fewer than MIN_UNITS units are left out, as the authors advise. With fewer than
three raters left ω and ρ are undefined.

Source: N. Calderon, R. Reichart and R. Dror, The Alternative Annotator Test for
LLM-as-a-Judge (2025), https://arxiv.org/abs/2501.10970; Y. Benjamini and D. Yekutieli, Annals
of Statistics 29 (2001) 1165–1188, https://doi.org/10.1214/aos/1013699998
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import pandas as pd

from judge.stats.agreement import ALONE, S1, Votes
from judge.stats.coefficients import FloatArray, ratio
from judge.stats.distributions import benjamini_yekutieli, t_below
from judge.stats.joint import BoolArray, Figure, IntArray
from judge.stats.rows import Rows, judged_rows

EPSILON = 0.2
"""For experts, as the authors suggest."""
FALSE_DISCOVERY_RATE = 0.05
MIN_UNITS = 30
MIN_RATERS = 3
PASSES_FROM = 0.5
"""Winning rate from which the authors let the judge stand in."""


@dataclass(frozen=True, slots=True)
class RaterTest:
    """The judge against one rater."""

    rater: str
    units: int
    questions: int
    judge_ahead: float
    """ρ_j: share of units on which the judge is ahead or level."""
    rater_ahead: float
    """Share of units on which the rater is ahead or level."""
    p_value: float | None
    """None if all units are of one question, which has no variance."""
    won: bool
    """Whether the judge wins against this rater, after the correction."""


@dataclass(frozen=True, slots=True)
class AltTest:
    """The test over all raters; ω and ρ are None with a reason."""

    winning_rate: float | None
    average_advantage: float | None
    reason: str
    epsilon: float
    false_discovery_rate: float
    min_units: int
    by_question: bool
    raters: tuple[RaterTest, ...]
    left_out: tuple[tuple[str, int], ...]
    """Raters with too few units, and how many they have."""

    @property
    def won(self) -> int:
        """Raters that the judge wins against."""
        return sum(one.won for one in self.raters)

    @property
    def passes(self) -> bool | None:
        """Whether ω reaches ½; None if undefined."""
        return None if self.winning_rate is None else self.winning_rate >= PASSES_FROM


@dataclass(frozen=True, slots=True)
class _Ahead:
    """Who is ahead or level on each vote's unit; arrays of shape (votes,)."""

    rater: IntArray
    names: tuple[str, ...]
    question: IntArray
    judge: FloatArray
    human: FloatArray
    excluded: int


def alt_test(
    votes: Votes,
    verdicts: pd.DataFrame,
    questions: pd.Index[str],
    *,
    epsilon: float = EPSILON,
    false_discovery_rate: float = FALSE_DISCOVERY_RATE,
    min_units: int = MIN_UNITS,
    by_question: bool = True,
) -> AltTest:
    """The judge against every rater with enough units, on all three categories (S1).

    Args:
        votes: from `judge.stats.agreement.select_votes`.
        verdicts: from `judge.stats.agreement.select_verdicts`.
        questions: from `judge.stats.rows.question_index`.
        epsilon: in [0, 1).
        false_discovery_rate: in (0, 1).
        min_units: units a rater needs, ≥ 2.
        by_question: whether units of one question belong together; False is as in the paper.

    Raises:
        ValueError: a setting is out of range.
    """
    if not 0 <= epsilon < 1 or not 0 < false_discovery_rate < 1 or min_units < 2:
        raise ValueError(
            f"epsilon {epsilon}, rate {false_discovery_rate}, min_units {min_units}: expected"
            " 0 ≤ epsilon < 1, 0 < rate < 1, min_units ≥ 2"
        )
    ahead = _ahead(judged_rows(votes, verdicts, S1, questions))
    tested, left_out = [], []
    for index, name in enumerate(ahead.names):
        own = ahead.rater == index
        if own.sum() < min_units:
            left_out.append((name, int(own.sum())))
        else:
            tested.append(_against(name, ahead, own, epsilon, by_question=by_question))
    reason = ""
    if len(tested) < MIN_RATERS:
        reason = (
            f"{len(tested)} of {len(ahead.names)} raters have {min_units} units with another"
            f" rater's vote and a verdict; the test needs {MIN_RATERS}"
        )
    elif any(one.p_value is None for one in tested):
        reason = "a rater's units are all of one question, so there is no variance"
    if not reason:
        tested = _corrected(tested, false_discovery_rate)
    return AltTest(
        None if reason else sum(one.won for one in tested) / len(tested),
        None if reason else float(np.mean([one.judge_ahead for one in tested])),
        reason,
        epsilon,
        false_discovery_rate,
        min_units,
        by_question,
        tuple(tested),
        tuple(left_out),
    )


def advantage_figure(
    votes: Votes,
    verdicts: pd.DataFrame,
    questions: pd.Index[str],
    population: str,
    *,
    min_units: int = MIN_UNITS,
) -> Figure:
    """ρ with what a joint bootstrap of the questions needs; the raters stay as they are."""
    ahead = _ahead(judged_rows(votes, verdicts, S1, questions))
    units = np.bincount(ahead.rater, minlength=len(ahead.names))
    enough = np.flatnonzero(units >= min_units)
    chosen = np.isin(ahead.rater, enough)
    rater = np.searchsorted(enough, ahead.rater[chosen])
    found, place = np.unique(ahead.question[chosen], return_inverse=True)
    size = len(enough)
    shape = (len(found), size)
    cells = place * size + rater
    tops = np.bincount(cells, ahead.judge[chosen], minlength=len(found) * size).reshape(shape)
    bottoms = np.bincount(cells, minlength=len(found) * size).reshape(shape)
    return Figure(
        "average_advantage_probability",
        found.astype(np.int64),
        np.hstack([tops, bottoms]),
        _mean_of_quotients if size >= MIN_RATERS else _undefined,
        population,
        n=int(chosen.sum()),
        undefined=f"{size} raters with {min_units} units; the test needs {MIN_RATERS}",
        excluded={ALONE: ahead.excluded} if ahead.excluded else {},
    )


def _ahead(rows: Rows) -> _Ahead:
    unit = rows.frame.groupby(["unit_id", "turn"]).ngroup().to_numpy()
    tally = np.bincount(3 * unit + rows.vote, minlength=3 * (int(unit.max(initial=-1)) + 1))
    per_unit = tally.reshape(-1, 3)
    several = per_unit.sum(1)[unit] >= 2
    # Both shares have the same denominator, the others on the unit: counts will do.
    rater_hits = per_unit[unit, rows.vote] - 1
    judge_hits = per_unit[unit, rows.verdict] - (rows.vote == rows.verdict)
    names, rater = np.unique(rows.frame["source_id"].to_numpy(), return_inverse=True)
    return _Ahead(
        rater[several].astype(np.int64),
        tuple(str(name) for name in names),
        rows.question[several],
        (judge_hits >= rater_hits)[several].astype(np.float64),
        (rater_hits >= judge_hits)[several].astype(np.float64),
        int((~several).sum()),
    )


def _against(
    name: str,
    ahead: _Ahead,
    own: BoolArray,
    epsilon: float,
    *,
    by_question: bool,
) -> RaterTest:
    judge, human, question = ahead.judge[own], ahead.human[own], ahead.question[own]
    group = question if by_question else np.arange(len(judge))
    return RaterTest(
        name,
        len(judge),
        len(np.unique(question)),
        float(judge.mean()),
        float(human.mean()),
        _below(human - judge, group, epsilon),
        won=False,
    )


def _below(values: FloatArray, group: IntArray, bound: float) -> float | None:
    """P-value of mean < bound, the variance from sums over groups; None for one group.

    With one value per group this is the one-sided t-test.
    """
    gap = float(values.mean()) - bound
    place = np.unique(group, return_inverse=True)[1]
    sums = np.bincount(place, values - values.mean())
    groups = len(sums)
    if groups < 2:
        return None
    variance = groups / (groups - 1) * float((sums**2).sum()) / len(values) ** 2
    if variance <= 1e-24:
        return 0.0 if gap < 0 else 1.0
    return t_below(gap / variance**0.5, groups - 1)


def _corrected(tested: list[RaterTest], rate: float) -> list[RaterTest]:
    found = [one.p_value for one in tested if one.p_value is not None]
    adjusted = benjamini_yekutieli(found)
    return [replace(one, won=bool(p <= rate)) for one, p in zip(tested, adjusted, strict=True)]


def _mean_of_quotients(totals: FloatArray) -> FloatArray:
    half = totals.shape[-1] // 2
    mean: FloatArray = ratio(totals[..., :half], totals[..., half:]).mean(-1)
    return mean


def _undefined(totals: FloatArray) -> FloatArray:
    return np.full(totals.shape[:-1], np.nan)
