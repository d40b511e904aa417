"""The judge's rate corrected by its sensitivity and specificity, known from another set.

Only for labels from another set. Sensitivity and specificity must be those of the set to be
scored, and a judge's are not the same on every model: then no interval here holds. With labels
of the very set, post-stratification needs no such assumption.

Source: W. J. Rogan and B. Gladen, American Journal of Epidemiology 107 (1978) 71–76,
https://doi.org/10.1093/oxfordjournals.aje.a112510; the interval and the allocation: C. Lee et
al., How to Correctly Report LLM-as-a-Judge Evaluations (2025), https://arxiv.org/abs/2511.21140
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from judge.calibration.poststratified import LEVEL
from judge.stats.distributions import normal_quantile
from judge.stats.estimate import Estimate

NAME = "rogan_gladen"
SAME_SET = (
    "refused: the labels are of the set to be scored; expected labels from another set;"
    " use the post-stratified score, which does not rest on the judge erring alike elsewhere"
)


@dataclass(frozen=True, slots=True)
class JudgeErrors:
    """What labels of another set say of the judge.

    Raises:
        ValueError: a count is out of range, or a class has no label.
    """

    hits: int
    """Harmful by people and by the judge."""
    harmful: int
    """Harmful by people."""
    passes: int
    """Safe by people and by the judge."""
    safe: int
    """Safe by people."""

    def __post_init__(self) -> None:
        for name, count, n in (
            ("harmful", self.hits, self.harmful),
            ("safe", self.passes, self.safe),
        ):
            if n < 1 or not 0 <= count <= n:
                raise ValueError(
                    f"{count} of {n} {name} items judged right: expected a count out of one or more"
                )

    @property
    def sensitivity(self) -> float:
        """Share of harmful items that the judge calls harmful."""
        return self.hits / self.harmful

    @property
    def specificity(self) -> float:
        """Share of safe items that the judge calls safe."""
        return self.passes / self.safe


def rogan_gladen(
    judged_harmful: int,
    items: int,
    errors: JudgeErrors,
    *,
    labels_of: str,
    scored: str,
    level: float = LEVEL,
) -> Estimate:
    """(p + specificity − 1) / (sensitivity + specificity − 1), with Lee et al.'s interval.

    Refused (no value, and the reason) with labels of the scored set itself, and where
    sensitivity + specificity ≤ 1: such a judge says nothing, or the reverse. A point outside
    0…1 is no rate: the value stays undefined and only the interval, whose ends are adjusted
    and held in 0…1, is given; where not even the interval reaches 0…1, nothing is.

    Args:
        judged_harmful: how many of `items` the judge calls harmful.
        items: of the set to be scored, ≥ 1.
        errors: labels of another set.
        labels_of: the set of these labels.
        scored: the set to be scored.
        level: in (0, 1).

    Raises:
        ValueError: `judged_harmful` is not among 0…`items`.
    """
    if not 0 <= judged_harmful <= items or items < 1:
        raise ValueError(f"{judged_harmful} of {items}: expected a count out of one or more")
    labels = errors.harmful + errors.safe
    population = f"{scored}, by labels of {labels_of}"
    informed = errors.sensitivity + errors.specificity - 1
    reason = ""
    if labels_of == scored:
        reason = SAME_SET
    elif informed <= 0:
        reason = (
            f"refused: sensitivity {errors.sensitivity:.3f} + specificity"
            f" {errors.specificity:.3f} ≤ 1; expected more than 1; this judge cannot be corrected"
        )
    if reason:
        return Estimate(NAME, None, population, labels, labels, reason, level=level)
    value = (judged_harmful / items + errors.specificity - 1) / informed
    inside = 0 <= value <= 1
    low, high = _lee(judged_harmful, items, errors, level)
    if low > 1 or high < 0:
        reason = (
            f"refused: the corrected rate is {low:.3f} to {high:.3f}; expected 0 to 1; the judge"
            " cannot err here as it did on the labels' set: label items of this set"
        )
        return Estimate(NAME, None, population, labels, labels, reason, level=level)
    return Estimate(
        NAME,
        value if inside else None,
        population,
        labels,
        labels,
        "" if inside else f"the corrected rate, {value:.3f}, is outside 0 to 1: interval only",
        max(0.0, low),
        min(1.0, high),
        level=level,
        method="Lee et al. 2025, if the judge errs on both sets alike",
    )


def _lee(judged_harmful: int, items: int, errors: JudgeErrors, level: float) -> tuple[float, float]:
    """Plus-four counts, delta method, and the shift that makes the interval asymmetric."""
    z = normal_quantile((1 + level) / 2)
    n = items + z * z
    p = (judged_harmful + z * z / 2) / n
    m0, m1 = errors.safe + 2, errors.harmful + 2
    q0, q1 = (errors.passes + 1) / m0, (errors.hits + 1) / m1
    informed = q0 + q1 - 1
    if informed <= 0:
        return 0.0, 1.0
    rate = (p + q0 - 1) / informed
    of_safe, of_harmful = q0 * (1 - q0) / m0, q1 * (1 - q1) / m1
    shift = 2 * z * z * (rate * of_harmful - (1 - rate) * of_safe)
    spread = p * (1 - p) / n + (1 - rate) ** 2 * of_safe + rate**2 * of_harmful
    reach = z * math.sqrt(spread) / informed
    return rate + shift - reach, rate + shift + reach


def allocation(total: int, judged: float, pilot: JudgeErrors) -> tuple[int, int]:
    """How many of `total` labels to spend on safe items and on harmful ones, after a pilot.

    n_harmful = total / (1 + (1/p − 1) √κ), κ = (1 − specificity) / (1 − sensitivity) with one
    hit and one miss added to each; both get at least what the pilot had.

    Args:
        total: labels to spend.
        judged: p, the judge's harm rate on the set to be scored, in (0, 1).
        pilot: first labels of both classes.

    Raises:
        ValueError: the rate is not inside (0, 1), or the pilot is larger than `total`.
    """
    if not 0 < judged < 1 or pilot.safe + pilot.harmful > total:
        raise ValueError(
            f"{total} labels at a rate of {judged}: expected a rate between 0 and 1 and no"
            f" fewer labels than the pilot's {pilot.safe + pilot.harmful}"
        )
    missed = (pilot.safe - pilot.passes + 1) / (pilot.safe + 2)
    overlooked = (pilot.harmful - pilot.hits + 1) / (pilot.harmful + 2)
    ideal = total / (1 + (1 / judged - 1) * math.sqrt(missed / overlooked))
    harmful = min(max(round(ideal), pilot.harmful), total - pilot.safe)
    return total - harmful, harmful
