"""A plan's own active draw, every item of it labelled as people would."""

from __future__ import annotations

from collections.abc import Sequence, Set

from judge.calibration.active_plan import ActiveForecast, draw_active, forecast_active
from judge.calibration.binding import IntArray
from judge.calibration.columns import Chances, Items, Labels
from judge.calibration.strata import Strata, stratify
from judge.calibration.uncertainty import Earlier, cells
from judge.stats.coefficients import FloatArray


def actively(
    items: Items,
    people: FloatArray,
    labels: int,
    seed: int,
    unsure: Set[str] = frozenset(),
    pilot: Sequence[Earlier] = (),
) -> Strata:
    """Planned, drawn and labelled; `people` says each item's label, nan for none."""
    told, place = cells(items, unsure, pilot)
    return labelled(items, place, forecast_active(items, told, labels), seed, people)


def labelled(
    items: Items, place: IntArray, plan: ActiveForecast, seed: int, people: FloatArray
) -> Strata:
    """A plan drawn and labelled."""
    at = {one: number for number, one in enumerate(items.ids)}
    ids, probabilities = zip(*draw_active(items, place, plan, seed), strict=True)
    said = people[[at[one] for one in ids]]
    known = chances(plan)
    return stratify(items, Labels(items.name, ids, said, probabilities=probabilities, active=known))


def chances(plan: ActiveForecast) -> Chances:
    """What calibrate is told of a plan."""
    return Chances(plan.labels, plan.floor, plan.least_by_stratum())
