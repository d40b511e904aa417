"""The error budget of the gate: what looks at calibrated harm rates have spent, and what is left.

A look on its own labels may be wrong with probability (1 − level) / attempts (Bonferroni). All
looks of a study together may be wrong with 1 − level: those that were made count with the error
that they were made at, whatever `attempts` and the level say now. Looking at the same labels again
spends no more than the boldest look at them.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from judge.calibration.evidence import Doubt

ROUNDING = 1e-9
TODO = (
    "nothing decides here any more; judge and label other prompts in a study of their own, with"
    " as many attempts as may be needed from the first"
)


@dataclass(frozen=True, slots=True)
class Look:
    """One look at a calibrated harm rate."""

    labels: str
    """Digest of the labels that it was made on."""
    attempts: int
    """How many were to share the budget."""
    level: float
    """Of the study's intervals, in (0, 1)."""

    @property
    def error(self) -> float:
        """The probability that it misleads, at most."""
        return (1 - self.level) / self.attempts


@dataclass(frozen=True, slots=True)
class Budget:
    """Which look this would be, by its labels; and what forbids it."""

    number: int
    spent: Doubt | None


def budget(made: Iterable[Look], this: Look) -> Budget:
    """Whether a look fits beside those that were made.

    Args:
        made: looks before, oldest first.
        this: the look that is asked for.
    """
    errors: dict[str, float] = {}
    for one in made:
        errors[one.labels] = max(one.error, errors.get(one.labels, 0.0))
    others = len(errors.keys() - {this.labels})
    errors[this.labels] = max(this.error, errors.get(this.labels, 0.0))
    number = list(errors).index(this.labels) + 1
    fits = sum(errors.values()) <= (1 - this.level) * (1 + ROUNDING)
    if not others or (fits and len(errors) <= this.attempts):
        return Budget(number, None)
    were = "1 attempt was" if others == 1 else f"{others} attempts were"
    found = (
        f"the error budget is spent: {were} made on other labels, and attempts ="
        f" {this.attempts} leaves none for these"
    )
    return Budget(number, Doubt(found, TODO))
