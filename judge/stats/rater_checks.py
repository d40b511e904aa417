"""How each rater voted: side, speed, straight-lining, ties. What is flagged is a reason to look.

- *Side*: sides are drawn at random, so whatever the answers, a rater without a habit picks the
  left one half of the time. All votes on a pair share its sides, so a pair counts once, as most
  of its decisive votes say. Exact binomial test of ½.
- *Speed*: the median log active time against the other raters' medians, as a robust z:
  (own − their median) / (1.4826 × their median absolute deviation).
- *Straight-lining*: see `judge.stats.straight_lining`.
- *Ties*: the share of votes without a winner beside the other raters' share; no flag, since raters
  see different pairs.

Tests of side and of runs are corrected over raters by Holm's method, each family by itself, so
that among raters without any habit a flag of that kind appears in at most 5 % of studies. Nothing
is removed from any figure because of a flag.

Sources: S. Holm, A Simple Sequentially Rejective Multiple Test Procedure, Scandinavian Journal of
Statistics 6 (1979) 65–70; B. Iglewicz and D. Hoaglin, How to Detect and Handle Outliers (1993),
whose limit for robust z is 3.5.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from annotate.records import Choice, Order
from judge.stats.binomial import clopper_pearson, sign_p
from judge.stats.coefficients import FloatArray
from judge.stats.estimate import Estimate
from judge.stats.fisher import holm
from judge.stats.straight_lining import Run, longest_run

FLAG_P = 0.05
"""Holm-adjusted p below this is flagged."""
FLAG_Z = 3.5
"""Robust z beyond this, in either direction, is flagged."""
LEAST_TIMED = 5
"""Votes with a time that a rater needs for a speed, and raters that z needs."""
LEAST_ONE_BUTTON = 10
"""Votes after which one button throughout is flagged."""

ORDER_UNKNOWN = "order unknown"
NOT_DECISIVE = "no decisive vote, or as many left as right"
NO_DECISIVE = "no pair with a decisive vote and a known order"
NO_TIME = f"fewer than {LEAST_TIMED} votes with a time"
FEW_RATERS = f"fewer than {LEAST_TIMED} raters with a speed"
SAME_SPEED = "the other raters' medians do not vary"
EXACT = "exact (Clopper–Pearson)"


@dataclass(frozen=True, slots=True)
class Ballots:
    """Votes in columns of one shape (votes,): first votes only, no repeats."""

    rater: Sequence[str]
    pair: Sequence[str]
    """What shares one order for one rater."""
    choice: Sequence[str]
    """The side or button as pressed: left, right, tie, both_bad."""
    order: Sequence[str]
    """Which canonical answer stood left: ab, ba, or unknown (then the side is unknown too)."""
    active_ms: Sequence[float] | FloatArray
    """Active milliseconds; nan, 0 or less is unknown."""
    sequence: Sequence[float]
    """Any number that grows with time, within a rater."""


@dataclass(frozen=True, slots=True)
class RaterCheck:
    """One rater. p-values are adjusted over raters; None where there is nothing to test."""

    rater: str
    votes: int
    left: Estimate
    """Share of pairs for which the left answer was preferred. ½: no habit; 1: always left."""
    left_p: float | None
    a_left: tuple[int, int]
    """Pairs with canonical A on the left, and pairs with a known order."""
    seconds: float | None
    """Median active time per vote."""
    speed_z: float | None
    """Below 0 is faster than the others."""
    speed_reason: str
    """Why there is no z."""
    run: Run | None
    """None without a vote whose button is known; its p is adjusted."""
    ties: Estimate
    """Share of votes without a winner (tie, both_bad)."""
    ties_others: float | None
    """The same over all other raters' votes."""

    @property
    def flags(self) -> tuple[str, ...]:
        """What calls for a look, in words."""
        found = []
        if self.left_p is not None and self.left_p < FLAG_P:
            found.append(
                "prefers the left" if (self.left.value or 0) > 0.5 else "prefers the right"
            )
        if self.speed_z is not None and abs(self.speed_z) > FLAG_Z:
            found.append(
                "much faster than others" if self.speed_z < 0 else "much slower than others"
            )
        if self.run is not None:
            if self.run.p is not None and self.run.p < FLAG_P:
                found.append("long runs of one button")
            if self.run.length == self.votes >= LEAST_ONE_BUTTON:
                found.append("one button throughout")
        return tuple(found)


def rater_checks(
    ballots: Ballots, population: str, *, level: float = 0.95, seed: int = 0
) -> tuple[RaterCheck, ...]:
    """Every rater's record, by name. The order of rows changes nothing.

    Args:
        ballots: the votes; `sequence` alone says in which order they were cast.
        population: whose votes, in words.
        level: of the exact intervals, in (0, 1).
        seed: of the shuffles behind the runs' p.
    """
    columns = (ballots.choice, ballots.pair, ballots.order, ballots.active_ms, ballots.sequence)
    grouped: dict[str, list[_Vote]] = defaultdict(list)
    for rater, choice, pair, order, ms, sequence in zip(ballots.rater, *columns, strict=True):
        grouped[rater].append(_Vote(float(sequence), pair, Choice(choice), Order(order), float(ms)))
    votes = {rater: sorted(grouped[rater], key=_in_time) for rater in sorted(grouped)}
    speeds = {rater: _speed(mine) for rater, mine in votes.items()}
    tied = {rater: sum(_tie(vote) for vote in mine) for rater, mine in votes.items()}
    everyone, all_tied = len(ballots.rater), sum(tied.values())
    rows = []
    for rater, mine in votes.items():
        left, left_p, a_left = _side(mine, population, level)
        z, why = _robust_z(rater, speeds)
        speed = speeds[rater]
        rest = everyone - len(mine)
        rows.append(
            RaterCheck(
                rater=rater,
                votes=len(mine),
                left=left,
                left_p=left_p,
                a_left=a_left,
                seconds=None if speed is None else float(np.exp(speed)) / 1000,
                speed_z=z,
                speed_reason=why,
                run=_run(mine, seed),
                ties=_share("tie_share", tied[rater], len(mine), population, level, "", {}),
                ties_others=(all_tied - tied[rater]) / rest if rest else None,
            )
        )
    return _adjusted(rows)


@dataclass(frozen=True, slots=True)
class _Vote:
    sequence: float
    pair: str
    choice: Choice
    order: Order
    ms: float


def _in_time(vote: _Vote) -> tuple[float, str, str]:
    # Votes of one moment (several dimensions of a screen) get an order that rows cannot change.
    return vote.sequence, vote.pair, vote.choice


def _tie(vote: _Vote) -> bool:
    return vote.choice not in (Choice.LEFT, Choice.RIGHT)


def _side(
    votes: Sequence[_Vote], population: str, level: float
) -> tuple[Estimate, float | None, tuple[int, int]]:
    """The share of pairs that went left, its unadjusted p, and how often A stood left."""
    leans: dict[str, int] = defaultdict(int)
    a_left: dict[str, bool] = {}
    unknown = set()
    for vote in votes:
        if vote.order is Order.UNKNOWN:
            unknown.add(vote.pair)
            continue
        a_left[vote.pair] = vote.order is Order.AB
        leans[vote.pair] += (vote.choice is Choice.LEFT) - (vote.choice is Choice.RIGHT)
    left, right = (sum(lean * sign > 0 for lean in leans.values()) for sign in (1, -1))
    out = {ORDER_UNKNOWN: len(unknown), NOT_DECISIVE: len(leans) - left - right}
    excluded = {reason: n for reason, n in out.items() if n}
    n = left + right
    share = _share("left_share", left, n, population, level, NO_DECISIVE, excluded)
    return share, sign_p(left, n) if n else None, (sum(a_left.values()), len(a_left))


def _share(
    name: str,
    count: int,
    n: int,
    population: str,
    level: float,
    undefined: str,
    excluded: Mapping[str, int],
) -> Estimate:
    low, high = clopper_pearson(count, n, level) if n else (None, None)
    return Estimate(
        name=name,
        value=count / n if n else None,
        population=population,
        n=n,
        clusters=n,
        reason="" if n else undefined,
        low=low,
        high=high,
        level=level,
        method=EXACT if n else "",
        excluded=excluded,
        numerator=count,
        denominator=n,
    )


def _speed(votes: Sequence[_Vote]) -> float | None:
    """Median log milliseconds; None with too few timed votes."""
    times = [vote.ms for vote in votes if vote.ms > 0]
    return float(np.median(np.log(times))) if len(times) >= LEAST_TIMED else None


def _robust_z(rater: str, speeds: Mapping[str, float | None]) -> tuple[float | None, str]:
    own = speeds[rater]
    if own is None:
        return None, NO_TIME
    others = np.array([x for name, x in speeds.items() if name != rater and x is not None])
    if len(others) + 1 < LEAST_TIMED:
        return None, FEW_RATERS
    middle = float(np.median(others))
    deviation = 1.4826 * float(np.median(np.abs(others - middle)))
    # A scale of rounding errors would make outliers of everybody.
    if deviation < 1e-9:
        return None, SAME_SPEED
    return (own - middle) / deviation, ""


def _run(votes: Sequence[_Vote], seed: int) -> Run | None:
    known = [vote for vote in votes if vote.order is not Order.UNKNOWN]
    if not known:
        return None
    return longest_run([vote.choice for vote in known], [vote.pair for vote in known], seed=seed)


def _adjusted(rows: Sequence[RaterCheck]) -> tuple[RaterCheck, ...]:
    """The same with Holm's p, each family over the raters that it tests."""
    side = [row.left_p for row in rows if row.left_p is not None]
    runs = [row.run.p for row in rows if row.run is not None and row.run.p is not None]
    sides, lines = iter(holm(side)), iter(holm(runs))
    found = []
    for row in rows:
        if row.left_p is not None:
            row = replace(row, left_p=next(sides))
        if row.run is not None and row.run.p is not None:
            row = replace(row, run=replace(row.run, p=next(lines)))
        found.append(row)
    return tuple(found)
