"""May labelling stop? Betting against "the rate is on the wrong side of τ", label by label.

In every stratum a test martingale bets, without replacement, that its mean is above a null
value η_h: with the null true its wealth passes 1/α with probability at most α, however often
one looks. The wealths are multiplied over strata, and labelling may stop when even the null
that is worst for us (all (η_h) with Σ W_h η_h = τ) is refuted at 1/α. Bets are inverse in η, so
that the log wealth is convex in it and the worst null is found exactly; they are fixed before
each label from the labels before it.

Labels must come in the order drawn. A draw without a label counts as the label that is worst
for the decision.

Source: J. V. Spertus, M. Sridhar, P. B. Stark, Sequential stratified inference for the mean
(2024), https://arxiv.org/abs/2409.06680; I. Waudby-Smith, P. B. Stark, A. Ramdas, RiLACS (2021),
https://arxiv.org/abs/2107.11323; I. Waudby-Smith and A. Ramdas, Estimating means of bounded
random variables by betting, JRSS B 86 (2024) 1–27, https://doi.org/10.1093/jrsssb/qkad009
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import StrEnum

import numpy as np

from judge.calibration.bets import Bets, log_wealth, placed, worst
from judge.calibration.binding import IntArray
from judge.calibration.refusals import Why
from judge.calibration.strata import Strata
from judge.stats.coefficients import FloatArray

ERROR = 0.05


class Decision(StrEnum):
    """What the labels so far allow."""

    BELOW = "below"
    """May stop: the score is below τ."""
    ABOVE = "above"
    """May stop: the score is above τ."""
    NOT_YET = "not_yet"
    """May not stop yet."""


@dataclass(frozen=True, slots=True)
class Stopping:
    """Where labelling stands."""

    decision: Decision
    at: int | None
    """The number of draws after which it might first have stopped; None: not yet."""
    draws: int
    threshold: float
    error: float
    p_below: float
    """Evidence, valid at any time, against "at or above τ": the smaller the stronger."""
    p_above: float
    """Evidence against "at or below τ"."""

    def words(self) -> str:
        """One line for the console."""
        if self.decision is Decision.NOT_YET:
            return (
                f"may not stop yet: after {self.draws} draws the score may be on either side of"
                f" {self.threshold:g} (p {self.p_below:.2g} below, {self.p_above:.2g} above)"
            )
        return (
            f"may stop: the score is {self.decision.value} {self.threshold:g}, shown after"
            f" {self.at} draws at an error of {100 * self.error:g} % under continuous looking"
        )


def may_stop(strata: Strata, threshold: float, *, error: float = ERROR) -> Stopping:
    """Whether the labels so far decide on which side of τ the finite set's score is.

    Of "below" and "above" one is wrong; the wrong one is shown with probability at most
    `error`, looking after every label. Strata with no label yet are allowed.

    Raises:
        ValueError: τ is not inside the scale, the error not inside (0, 1), or the labels are
            refused for more than being few, or of an active draw.
    """
    few = {Why.NO_LABEL, Why.TOO_FEW, Why.TOO_FEW_IN_ALL, Why.FAILED_UNLABELLED, Why.NON_RESPONSE}
    bad = [refusal for refusal in strata.alike().refusals if refusal.why not in few]
    if bad:
        raise ValueError(bad[0].words())
    low, high = strata.scale
    if not low < threshold < high:
        raise ValueError(f"threshold {threshold}: expected more than {low:g}, less than {high:g}")
    return stopping(
        strata.draw_stratum,
        (strata.draw_value - low) / (high - low),
        strata.sizes,
        (threshold - low) / (high - low),
        error=error,
        shown=threshold,
    )


def stopping(
    stratum: IntArray,
    values: FloatArray,
    sizes: FloatArray,
    threshold: float,
    *,
    error: float = ERROR,
    shown: float | None = None,
) -> Stopping:
    """As :func:`may_stop`, of plain arrays.

    Args:
        stratum: of each draw, as an index, in drawn order; shape (draws,).
        values: in 0…1, nan without a label; shape (draws,).
        sizes: N_h; shape (strata,).
        threshold: τ in (0, 1).
        error: in (0, 1).
        shown: τ in the words' units; none: as it is.

    Raises:
        ValueError: the error or τ is not inside (0, 1).
    """
    if not 0 < error < 1 or not 0 < threshold < 1:
        raise ValueError(f"error {error}, τ {threshold}: expected numbers between 0 and 1")
    enough = math.log(1 / error)
    # Shown from above as 1 − y with τ' = 1 − τ: both sides bet on a mean above its null.
    sides = {
        Decision.BELOW: placed(stratum, 1 - np.nan_to_num(values, nan=1.0), sizes, 1 - threshold),
        Decision.ABOVE: placed(stratum, np.nan_to_num(values, nan=0.0), sizes, threshold),
    }
    firsts = {side: _first(bets, enough) for side, bets in sides.items()}
    reached = {side: first for side, first in firsts.items() if first is not None}
    decision = min(reached, key=lambda side: reached[side]) if reached else Decision.NOT_YET
    p = {side: _p(bets) for side, bets in sides.items()}
    return Stopping(
        decision,
        reached.get(decision),
        len(values),
        threshold if shown is None else shown,
        error,
        p[Decision.BELOW],
        p[Decision.ABOVE],
    )


def _first(bets: Bets, enough: float) -> int | None:
    """The first number of draws whose worst null is refuted."""
    if not len(bets.values):
        return None
    null = bets.first(1).guess
    for draws in range(1, len(bets.values) + 1):
        so_far = bets.first(draws)
        # Any one null bounds the worst from above, and costs a thousandth of finding it: the
        # worst one of some draws before is nearly the worst still.
        if log_wealth(so_far, so_far.on_plane(null)) >= enough:
            found, null = worst(so_far)
            if found >= enough:
                return draws
    return None


def _p(bets: Bets) -> float:
    return min(1.0, math.exp(-worst(bets)[0])) if len(bets.values) else 1.0
