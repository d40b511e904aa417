"""The calibrated score: p̂ = Σ W_h ȳ_h, people's labels weighted by how often the judge says so.

Unbiased whatever the judge is worth: a useless judge only makes it no narrower than people
alone. The interval depends on what is meant by the score:

- the finite set (default): these very answers; only the draw of the labels is random;
- a population of prompts that the questions stand for: items of a question move together;
- a population of independent items: one answer to a question.
"""

from __future__ import annotations

import math
from enum import StrEnum

import numpy as np

from judge.calibration.columns import Kind
from judge.calibration.linearised import logit_t, one_label_per_question, question_variance
from judge.calibration.posterior import DRAWS, ends, holding, score_draws
from judge.calibration.refusals import REFUSED, refusal_words
from judge.calibration.strata import Strata
from judge.stats.estimate import Estimate

LEVEL = 0.95
NAMES = {
    Kind.HARM: "calibrated_harm_rate",
    Kind.PAIRS: "calibrated_win_rate",
    Kind.GRADES: "calibrated_mean_grade",
}


class Target(StrEnum):
    """What the score is of."""

    SET = "set"
    """The very items of the set."""
    PROMPTS = "prompts"
    """The population of prompts that the questions were drawn from."""
    ITEMS = "items"
    """A population of independent items."""


def calibrated(
    strata: Strata,
    target: Target = Target.SET,
    *,
    level: float = LEVEL,
    draws: int = DRAWS,
    seed: int = 0,
) -> Estimate:
    """The score with its interval; without a value, and with the reasons, where refused.

    On the kind's own scale: a harm rate and a win rate from 0 to 1 (a tie counts ½), a mean
    grade from 1 to 10. The interval holds the score: no harmful label anywhere gives 0 with
    lower end 0 and an upper end above it (mirrored at the scale's other end). With the finite
    set labelled in full both ends are the score. Draws are seeded; the Monte-Carlo error of the
    ends is in `method`.

    Raises:
        ValueError: the level is not inside (0, 1), or the draw was active.
    """
    if not 0 < level < 1:
        raise ValueError(f"level {level}: expected a number between 0 and 1, e.g. 0.95")
    value = None if strata.alike().refusals else point(strata)
    low = high = None
    method = ""
    if value is not None:
        low, high, method = _interval(strata, value, target, level, draws, seed)
    unfilled = sum(row.drawn - row.labelled for row in strata.rows)
    return Estimate(
        name=NAMES[strata.kind],
        value=value,
        reason=f"{REFUSED}{refusal_words(strata.refusals)}" if strata.refusals else "",
        population=f"{strata.name}: {', '.join(strata.models)}",
        n=int(strata.counts.sum()),
        clusters=len(np.unique(strata.label_question)),
        low=low,
        high=high,
        level=level,
        method=method,
        excluded={"drawn, not labelled": unfilled} if unfilled else {},
    )


def point(strata: Strata) -> float:
    """Σ W_h ȳ_h; every stratum has a label."""
    return float(strata.shares @ strata.alike().means)


def variance(strata: Strata, target: Target = Target.SET) -> float:
    """The score's variance by large-sample formulas; intervals come from elsewhere.

    Set: Σ W_h² (1 − n_h/N_h) s_h²/n_h, s_h² with n_h − 1 (a stratum with one label, not in
    full, has none: nan). Items: the delta method at the maximum-likelihood values,
    Σ W_h² σ̂_h²/n_h + Σ W_h (ȳ_h − p̂)²/N, σ̂_h² with n_h. Prompts: over questions, linearised.
    """
    if target is Target.PROMPTS:
        return question_variance(strata, point(strata))
    squares = np.array([row.squares for row in strata.rows])
    counts, sizes, shares = strata.counts, strata.sizes, strata.shares
    if target is Target.ITEMS:
        between = shares @ (strata.means - point(strata)) ** 2 / sizes.sum()
        return float((shares**2 * squares / counts**2).sum() + between)
    full = counts == sizes
    with np.errstate(invalid="ignore"):
        each = shares**2 * (1 - counts / sizes) * squares / (counts - 1) / counts
    return float(np.where(full, 0.0, each).sum())


def _interval(
    strata: Strata, value: float, target: Target, level: float, draws: int, seed: int
) -> tuple[float, float, str]:
    scale_low, scale_high = strata.scale
    if target is Target.PROMPTS and scale_low < value < scale_high:
        spread = variance(strata, target)
        freedom = len(np.unique(strata.label_question)) - 1
        if freedom > 0 and math.isfinite(spread) and spread > 0:
            low, high = logit_t(value, spread, freedom, level, strata.scale)
            return (
                low,
                high,
                f"population of prompts: linearised by question, logit t, {freedom} df",
            )
    if target is Target.PROMPTS:
        strata, kind = one_label_per_question(strata), "population of prompts, a label a question"
    else:
        kind = "finite set" if target is Target.SET else "population of independent items"
    drawn = score_draws(strata, finite=target is Target.SET, draws=draws, seed=seed)
    low, high, error = ends(drawn, level)
    low, high = holding(low, high, value)
    prior = f"1/{2 * len(strata.models)}"
    family = f"Beta({prior}, {prior}) per stratum"
    if strata.kind is Kind.GRADES:
        family = f"Bayesian bootstrap per stratum, {prior} of a label at each end of the scale"
    return (
        low,
        high,
        (f"{kind}: {family}, {draws:,} draws, ends ± {error:.1g} (Monte Carlo)"),
    )
