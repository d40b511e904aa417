"""Everything the report says of one judge beside one population, topic by topic."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from judge.reporting.ranked import Rankings
from judge.reporting.scope import Scope
from judge.reporting.topics import breakdown as by_level
from judge.reporting.topics import confusion as votes_and_verdicts
from judge.reporting.topics import excess as over_baselines
from judge.reporting.topics import gallery as apart
from judge.reporting.topics import gap as far_apart
from judge.reporting.topics import length as by_length
from judge.reporting.topics import majority as one_voice
from judge.reporting.topics import own_models as own
from judge.reporting.topics import people as checks
from judge.reporting.topics import position as both_orders
from judge.reporting.topics import rankings as ranked
from judge.reporting.topics import raters as by_rater
from judge.reporting.topics import reference as matched
from judge.reporting.topics.breakdown import BreakdownFound
from judge.reporting.topics.confusion import Confusion
from judge.reporting.topics.excess import Excess
from judge.reporting.topics.gallery import Gallery
from judge.reporting.topics.gap import Gap
from judge.reporting.topics.length import Length
from judge.reporting.topics.majority import Majority
from judge.reporting.topics.own_models import OwnModels
from judge.reporting.topics.people import People
from judge.reporting.topics.position import PositionBias
from judge.reporting.topics.raters import Raters
from judge.reporting.topics.reference import Reference

BREAKDOWNS = ("turn", "category", "pair")
"""What agreement is broken down by, unless another is asked for."""


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
    excess: Excess
    reference: Reference
    majority: Majority
    confusion: Confusion
    breakdowns: tuple[BreakdownFound, ...]
    raters: Raters
    people: People
    position: PositionBias
    length: Length
    own_models: OwnModels
    rankings: Rankings
    gap: Gap
    gallery: Gallery


def findings(scope: Scope, by: Sequence[str]) -> Findings:
    """All topics of a scope.

    Args:
        scope: one judge, one population, one dimension.
        by: breakdowns wanted, e.g. turn and category.

    Raises:
        UsageError: a breakdown is not known.
    """
    people = checks.found(scope)
    return Findings(
        key=scope.key,
        dimension=scope.dimension,
        judge=scope.judge,
        group=scope.group,
        population=scope.population,
        simulated=scope.simulated,
        whole_dialogues=scope.whole_dialogues,
        excess=over_baselines.found(scope),
        reference=matched.found(scope),
        majority=one_voice.found(scope),
        confusion=votes_and_verdicts.found(scope),
        breakdowns=tuple(by_level.found(scope, level) for level in by),
        raters=by_rater.found(
            scope, flagged={one.check.rater for one in people.raters if one.flags}
        ),
        people=people,
        position=both_orders.found(scope),
        length=by_length.found(scope),
        own_models=own.found(scope),
        rankings=ranked.found(scope),
        gap=far_apart.found(scope),
        gallery=apart.found(scope),
    )
