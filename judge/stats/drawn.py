"""With what chance did an item get its label? What a share of labelled items must be weighted by.

A plan draws where the judge's verdicts are, so its labels are no even sample of the set: each
counts for 1 / its chance. The plan knows the chance, whoever labelled and however the label came.
Where everything is labelled, nothing was left to chance.
"""

from __future__ import annotations

from collections.abc import Collection, Hashable, Mapping, Sequence
from enum import StrEnum
from typing import TypeVar

Unit = TypeVar("Unit", bound=Hashable)


class Drawn(StrEnum):
    """Whether every item had the same chance to be labelled."""

    EVENLY = "evenly"
    """It had, or no plan drew them."""
    UNEVENLY = "unevenly"
    """By a plan; every item counts with 1 / its chance."""
    UNKNOWN = "unknown"
    """Labels of several draws, or of a draw and others: no chance is known, nothing is weighted."""


def chances(
    labelled: Mapping[Unit, float | None],
    everything: Collection[Unit],
    plans: Sequence[Mapping[Unit, float]],
) -> tuple[Drawn, dict[Unit, float]]:
    """Each labelled item's chance; 1 for all where they are equal, or not known.

    Args:
        labelled: item → the chance that its label came with; None for none.
        everything: all items that might have been labelled.
        plans: what each draw of the study drew: item → chance.
    """
    even = dict.fromkeys(labelled, 1.0)
    if set(everything) <= labelled.keys():
        return Drawn.EVENLY, even
    asked = [plan for plan in plans if plan.keys() & labelled.keys()]
    if len(asked) > 1 or (asked and not labelled.keys() <= asked[0].keys()):
        return Drawn.UNKNOWN, even
    said = {one: asked[0][one] for one in labelled} if asked else dict(labelled)
    if len(set(said.values())) <= 1:
        return Drawn.EVENLY, even
    known = {one: chance for one, chance in said.items() if chance}
    return (Drawn.UNEVENLY, known) if len(known) == len(said) else (Drawn.UNKNOWN, even)


def worst(found: Collection[Drawn]) -> Drawn:
    """Of several groups: what has to be said of all."""
    return max(found, key=list(Drawn).index, default=Drawn.EVENLY)
