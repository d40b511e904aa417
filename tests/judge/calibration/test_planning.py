"""Planned labels: least per stratum, allocation, and a draw that its seed alone decides."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from judge.calibration.columns import Items, Kind, StratumKey
from judge.calibration.planning import Allocation, PlannedStratum, draw, forecast, half_widths


def items(*groups: tuple[str, str, int]) -> Items:
    rows = [
        (f"{model}-{verdict}-{n}", model, verdict)
        for model, verdict, size in groups
        for n in range(size)
    ]
    ids, models, verdicts = (list(column) for column in zip(*rows, strict=True))
    return Items(Kind.HARM, "set", ids, models, ids, verdicts)


SET = items(("a", "harmful", 60), ("a", "safe", 300), ("b", "safe", 400), ("b", "failed", 11))


def name(one: PlannedStratum) -> str:
    return f"{one.model} · {one.verdict}"


def labels(wanted: int, allocation: Allocation = Allocation.PROPORTIONAL) -> dict[str, int]:
    return {name(one): one.labels for one in forecast(SET, wanted, allocation).strata}


@pytest.mark.parametrize("allocation", [one for one in Allocation if one != "active"])
def test_every_stratum_gets_its_least_and_none_more_than_it_has(allocation: Allocation) -> None:
    for wanted in (1, 45, 200, 771, 5_000):
        found = labels(wanted, allocation)
        assert found["b · failed"] == 11
        assert all(found[name] >= 5 for name in found)
        assert found["a · harmful"] <= 60
        assert sum(found.values()) == min(771, max(wanted, 40))


def test_an_active_allocation_has_no_strata() -> None:
    with pytest.raises(ValueError, match="forecast_active"):
        forecast(SET, 100, Allocation.ACTIVE)


def test_allocations_differ_as_their_names_say() -> None:
    assert labels(200)["b · safe"] > labels(200, Allocation.EQUAL)["b · safe"]
    equal = labels(131, Allocation.EQUAL)
    assert {equal[n] for n in ("a · harmful", "a · safe", "b · safe")} == {40}
    assert labels(200, Allocation.NEYMAN)["a · harmful"] > labels(200)["a · harmful"]


def test_more_labels_are_narrower_and_all_of_them_exact() -> None:
    widths = [half for _labels, half in half_widths(SET, [50, 100, 200, 400, 771])]
    assert widths == sorted(widths, reverse=True)
    assert widths[-1] == pytest.approx(0)


def test_the_forecast_width_is_the_spread_of_the_estimate() -> None:
    """A simulation: draws from a set whose means are the expected ones."""
    rng = np.random.default_rng(0)
    truth = {
        one: float(rng.random() < {"harmful": 0.5, "safe": 0.05, "failed": 0.5}[verdict])
        for one, verdict in zip(SET.ids, SET.verdicts, strict=True)
    }
    place = dict(zip(SET.ids, SET.strata(), strict=True))
    groups: dict[StratumKey, list[float]] = {}
    for one, key in place.items():
        groups.setdefault(key, []).append(truth[one])
    real = {key: float(np.mean(values)) for key, values in groups.items()}
    plan = forecast(SET, 150, expected=real)
    weight = {s.key: s.size / len(SET.ids) for s in plan.strata}
    found: list[float] = []
    for seed in range(600):
        sums: dict[StratumKey, list[float]] = {}
        for one, _p in draw(SET, plan, seed):
            sums.setdefault(place[one], []).append(truth[one])
        found.append(float(sum(weight[key] * np.mean(values) for key, values in sums.items())))
    assert np.mean(found) == pytest.approx(np.mean(list(truth.values())), abs=0.003)
    assert 1.96 * np.std(found) == pytest.approx(plan.half_width, rel=0.12)


def test_a_draw_is_decided_by_its_seed_and_not_by_the_order_of_rows() -> None:
    plan = forecast(SET, 100)
    rows = list(zip(SET.ids, SET.models, SET.verdicts, strict=True))
    turned = [list(column) for column in zip(*reversed(rows), strict=True)]
    other = Items(Kind.HARM, "set", turned[0], turned[1], turned[0], turned[2])
    assert draw(SET, plan, 3) == draw(other, plan, 3)
    assert draw(SET, plan, 3) != draw(SET, plan, 4)
    drawn = draw(SET, plan, 3)
    assert len({one for one, _p in drawn}) == len(drawn) == 100
    counts = Counter(dict(zip(SET.ids, SET.verdicts, strict=True))[one] for one, _p in drawn)
    assert counts["failed"] == 11
    assert {p for one, p in drawn if "failed" in one} == {1.0}


def test_each_item_of_a_stratum_is_drawn_as_often_as_its_probability_says() -> None:
    plan = forecast(SET, 100)
    counts = Counter(one for seed in range(2_000) for one, _p in draw(SET, plan, seed))
    (safe,) = (s for s in plan.strata if name(s) == "a · safe")
    share = np.array([counts[f"a-safe-{n}"] for n in range(300)]) / 2_000
    assert share.mean() == pytest.approx(safe.labels / 300)
    assert abs(share - safe.labels / 300).max() < 0.05
