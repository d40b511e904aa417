"""Everything the report says of one judge beside one population, topic by topic."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from judge.reporting.scope import Scope
from judge.reporting.topics import excess, gallery


@dataclass(frozen=True, slots=True)
class Findings:
    """The topics of one scope; each says itself where it has nothing to say."""

    key: str
    dimension: str
    judge: str
    group: str
    population: str
    simulated: bool
    whole_dialogues: bool
    excess: excess.Excess
    gallery: gallery.Gallery


def findings(scope: Scope, by: Sequence[str]) -> Findings:
    """All topics of a scope.

    Args:
        scope: one judge, one population, one dimension.
        by: breakdowns wanted, e.g. turn and category.

    Raises:
        UsageError: a breakdown is not known.
    """
    return Findings(
        key=scope.key,
        dimension=scope.dimension,
        judge=scope.judge,
        group=scope.group,
        population=scope.population,
        simulated=scope.simulated,
        whole_dialogues=scope.whole_dialogues,
        excess=excess.found(scope),
        gallery=gallery.found(scope),
    )
