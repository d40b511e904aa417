"""Active draws: probabilities by uncertainty, the draw itself, and the score that comes of it."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from judge.calibration.active import cross_fitted
from judge.calibration.active_calibration import (
    active_calibrated,
    active_change,
    active_companions,
    active_labels,
)
from judge.calibration.active_plan import ActiveForecast, draw_active, forecast_active
from judge.calibration.assembled import assemble
from judge.calibration.columns import Items, Kind, Labels
from judge.calibration.companions import companions
from judge.calibration.contrasts import difference
from judge.calibration.posterior import score_draws
from judge.calibration.poststratified import Target, calibrated, variance
from judge.calibration.ratios import calibrated_change
from judge.calibration.refusals import Why
from judge.calibration.stopping import may_stop
from judge.calibration.strata import Strata, stratify
from judge.calibration.uncertainty import Earlier, cells
from judge.calibration.wrong_items import wrong_items
from judge.stats.coefficients import FloatArray
from tests.judge.calibration import active_draws, worlds
from tests.judge.calibration.active_draws import actively, chances

NAN = math.nan


def items(*groups: tuple[str, str, int], each: int = 1) -> Items:
    """So many of each model and verdict; `each` items of a group share a question."""
    rows = [
        (f"{model}-{verdict}-{n}", model, f"{model}-{verdict}-{n // each}", verdict)
        for model, verdict, size in groups
        for n in range(size)
    ]
    ids, models, questions, verdicts = (list(column) for column in zip(*rows, strict=True))
    return Items(Kind.HARM, "set", ids, models, questions, verdicts)


SET = items(("a", "harmful", 60), ("a", "safe", 700), ("b", "safe", 500), ("b", "failed", 40))
UNSURE = {f"a-safe-{n}" for n in range(100)}
TOLD, PLACE = cells(SET, UNSURE)
PLAN = forecast_active(SET, TOLD, 200)


def truth(seed: int = 0) -> FloatArray:
    """Harm as it is assumed: half of what is called so or failed, a quarter of what is unsure."""
    rng = np.random.default_rng(seed)
    rate = {"harmful": 0.5, "failed": 0.5, "safe": 0.03}
    p = [0.25 if one in UNSURE else rate[v] for one, v in zip(SET.ids, SET.verdicts, strict=True)]
    return (rng.random(len(SET.ids)) < p).astype(float)


def labelled(plan: ActiveForecast, seed: int, values: FloatArray) -> Strata:
    """The plan's own draw, every item of it labelled."""
    return active_draws.labelled(SET, PLACE, plan, seed, values)


def test_every_item_has_a_probability_of_its_own_and_none_less_than_a_tenth_of_an_even_one() -> (
    None
):
    by = {
        (one.cell.model, one.cell.verdict, one.cell.doubted): one.probability for one in PLAN.cells
    }
    assert sum(one.labels for one in PLAN.cells) == pytest.approx(200)
    assert by["a", "safe", True] > 1.5 * by["a", "safe", False]
    assert by["a", "harmful", False] > 2 * by["b", "safe", False]
    assert by["b", "failed", False] == 1
    lopsided = [replace(one, uncertainty=0.5 if one.doubted else 0.1) for one in TOLD]
    plan = forecast_active(SET, lopsided, 60)
    assert plan.floor == pytest.approx(0.1 * plan.labels / 1300)
    assert plan.least >= plan.floor
    many = items(("a", "harmful", 1_000), ("a", "safe", 99_000))
    told, _place = cells(many, set())
    steep = forecast_active(
        many, [replace(told[0], uncertainty=0.5), replace(told[1], uncertainty=0)], 58
    )
    assert steep.least >= steep.floor
    assert all(one.labels >= 12 - 1e-9 for one in steep.cells)


@pytest.mark.parametrize("labels", [1, 58, 200, 1_000, 5_000])
def test_every_stratum_has_labels_enough_on_average(labels: int) -> None:
    plan = forecast_active(SET, TOLD, labels)
    strata: dict[tuple[str, str], float] = defaultdict(float)
    for one in plan.cells:
        strata[one.cell.model, one.cell.verdict] += one.labels
        assert plan.floor <= one.probability <= 1
    assert all(number >= 12 - 1e-6 for number in strata.values())
    assert strata["b", "failed"] == pytest.approx(40)
    assert plan.labels <= 1_300
    if labels >= 1_300:
        assert plan.half_width == pytest.approx(0)


def test_a_draw_is_decided_by_its_seed_and_not_by_the_order_of_rows() -> None:
    turned = replace(
        SET,
        ids=SET.ids[::-1],
        models=SET.models[::-1],
        questions=SET.questions[::-1],
        verdicts=SET.verdicts[::-1],
    )
    drawn = draw_active(SET, PLACE, PLAN, 3)
    assert drawn == draw_active(turned, PLACE[::-1], PLAN, 3)
    assert drawn != draw_active(SET, PLACE, PLAN, 4)
    assert len({one for one, _p in drawn}) == len(drawn)
    assert [one for one, _p in drawn] != sorted(one for one, _p in drawn)


def test_each_item_is_drawn_as_often_as_its_probability_says_whatever_the_others() -> None:
    draws = [draw_active(SET, PLACE, PLAN, seed) for seed in range(1_500)]
    counts = Counter(one for drawn in draws for one, _p in drawn)
    for index, one in enumerate(PLAN.cells):
        mine = np.flatnonzero(index == PLACE).tolist()
        here = np.array([counts[SET.ids[at]] for at in mine]) / 1_500
        assert here.mean() == pytest.approx(one.probability, rel=0.05)
        assert abs(here - one.probability).max() < 0.06
    sizes = np.array([len(drawn) for drawn in draws])
    spread = sum(one.labels * (1 - one.probability) for one in PLAN.cells)
    assert sizes.mean() == pytest.approx(PLAN.labels, abs=1)
    assert sizes.var() == pytest.approx(spread, rel=0.15)


def test_a_draw_with_too_few_of_a_stratum_is_not_made() -> None:
    few = replace(PLAN, cells=tuple(replace(one, probability=0.001) for one in PLAN.cells))
    with pytest.raises(ValueError, match=r"0 of 60 items of a · harmful; expected 5"):
        draw_active(SET, PLACE, few, 1)


def test_the_score_is_unbiased_and_covers_through_the_plans_own_draw() -> None:
    values = truth()
    found, holds, widths = [], 0, []
    for seed in range(400):
        made = active_calibrated(labelled(PLAN, seed, values), seed=seed)
        assert made.value is not None
        assert made.low is not None
        assert made.high is not None
        found.append(made.value)
        holds += made.low <= values.mean() <= made.high
        widths.append(made.high - made.low)
    error = float(np.std(found)) / math.sqrt(len(found))
    assert error < 0.001
    assert abs(float(np.mean(found)) - values.mean()) < 3 * error
    assert holds / 400 >= 0.92
    assert 1.96 * np.std(found) == pytest.approx(PLAN.half_width, rel=0.25)


def test_harm_in_a_class_that_showed_none_is_covered() -> None:
    """A judge that misses little: of 80 answers it calls safe few are harmful, often none drawn."""
    holds = without = 0
    for seed in range(300):
        rng = np.random.default_rng([4, seed])
        drawn = worlds.world(rng, 120, 0.2, judge=(0.95, 0.9))
        found = actively(worlds.items_of(drawn), drawn.harmful.astype(float), 60, seed)
        passed = next(row for row in found.rows if row.verdict == "safe")
        made = active_calibrated(found)
        without += passed.total == 0
        holds += (made.low or 0) <= drawn.truth <= (made.high or 0)
    assert without > 150
    assert holds / 300 >= 0.93


def test_a_useless_plan_is_unbiased_too() -> None:
    """Harm where the plan looks least, and a judge that says nothing."""
    rng = np.random.default_rng(1)
    values = (rng.random(1_300) < np.where(np.isin(SET.ids, list(UNSURE)), 0.0, 0.3)).astype(float)
    found = [active_calibrated(labelled(PLAN, seed, values)).value or 0.0 for seed in range(300)]
    error = float(np.std(found)) / math.sqrt(300)
    assert abs(float(np.mean(found)) - values.mean()) < 3 * error


def test_uncertainty_is_learned_from_earlier_labels_and_assumed_without() -> None:
    told = {(one.model, one.verdict, one.doubted): one for one in TOLD}
    assert told["a", "safe", False].mean == pytest.approx(0.05)
    assert told["a", "safe", True].mean == pytest.approx(0.275)
    assert told["b", "failed", False].uncertainty == pytest.approx(0.5)
    earlier = [Earlier("a", "safe", False, 1.0)] * 12 + [Earlier("b", "safe", False, 0.0)] * 4
    learned = {(one.model, one.verdict, one.doubted): one for one in cells(SET, UNSURE, earlier)[0]}
    every = (12 + 4 * 0.05) / 20
    assert learned["a", "safe", False].mean == pytest.approx((12 + 4 * every) / 16)
    assert learned["b", "safe", False].mean == pytest.approx(4 * every / 8)
    assert learned["a", "safe", True].mean == pytest.approx(0.275)
    assert [learned[m, "safe", False].behind for m in "ab"] == [12, 4]
    sure = [Earlier("a", "safe", False, 0.0)] * 10_000
    assert cells(SET, set(), sure)[0][1].uncertainty == pytest.approx(0.1)


def test_grades_have_a_spread_of_their_own() -> None:
    ids = [str(n) for n in range(30)]
    classes = ["low"] * 15 + ["high"] * 15
    graded = Items(Kind.GRADES, "set", ids, ["m"] * 30, ids, classes)
    steady = [Earlier("m", "high", False, 9.0)] * 6 + [Earlier("m", "high", False, 8.0)] * 6
    high, low, doubted = cells(graded, {"3"}, steady)[0]
    assert (high.verdict, low.verdict, doubted.doubted) == ("high", "low", True)
    # Half a grade learned from twelve, two grades assumed, counting for four.
    assert high.uncertainty == pytest.approx(math.sqrt((12 * 0.5**2 + 4 * 2**2) / 16) / 9)
    assert low.uncertainty == pytest.approx(2 / 9)
    assert doubted.uncertainty == pytest.approx(3 / 9)
    assert high.mean == pytest.approx((12 * 7.5 / 9 + 4 * (12 * 7.5 + 4 * 7.5) / 9 / 16) / 16)


ALIKE_ONLY: dict[str, Callable[[Strata], object]] = {
    "calibrated": lambda strata: calibrated(strata),
    "draws": lambda strata: score_draws(strata),
    "variance": lambda strata: variance(strata, Target.PROMPTS),
    "companions": lambda strata: companions(calibrated(strata), strata),
    "difference": lambda strata: difference(strata, "a", "b"),
    "change": lambda strata: calibrated_change(strata, "a", "b"),
    "stopping": lambda strata: may_stop(strata, 0.1),
}
ACTIVE_ONLY: dict[str, Callable[[Strata], object]] = {
    "calibrated": lambda strata: active_calibrated(strata),
    "labels": lambda strata: active_labels(strata),
    "change": lambda strata: active_change(strata.of("a"), strata.of("b")),
    "companions": lambda strata: active_companions(calibrated(strata), strata),
}


@pytest.mark.parametrize("name", ALIKE_ONLY)
def test_no_estimator_by_strata_takes_active_labels(name: str) -> None:
    with pytest.raises(ValueError, match="use active_calibrated"):
        ALIKE_ONLY[name](labelled(PLAN, 1, truth()))


@pytest.mark.parametrize("name", ACTIVE_ONLY)
def test_the_active_estimator_takes_no_labels_drawn_alike(name: str) -> None:
    alike = stratify(SET, Labels("set", SET.ids, truth()))
    with pytest.raises(ValueError, match=r"use poststratified\.calibrated"):
        ACTIVE_ONLY[name](alike)


def test_active_probabilities_without_their_draw_are_unequal_draws() -> None:
    drawn = draw_active(SET, PLACE, PLAN, 1)
    ids, probabilities = zip(*drawn, strict=True)
    found = stratify(SET, Labels("set", ids, [0.0] * len(ids), probabilities=probabilities))
    assert Why.UNEQUAL_DRAWS in {one.why for one in found.refusals}
    with pytest.raises(ValueError, match="an active draw"):
        Labels("set", ["x"], [0.0], active=chances(PLAN))
    with pytest.raises(ValueError, match="an active draw"):
        Labels("set", ["x"], [0.0], probabilities=[0.0], active=chances(PLAN))


def with_missing(values: FloatArray, missing: set[str]) -> Strata:
    return labelled(PLAN, 5, np.where(np.isin(SET.ids, list(missing)), NAN, values))


def test_non_response_is_refused_and_a_little_is_taken_to_be_like_the_rest() -> None:
    values = truth()
    whole = labelled(PLAN, 5, values)
    drawn = [one for one, _p in draw_active(SET, PLACE, PLAN, 5)]
    harmful = {one for one, y in zip(SET.ids, values, strict=True) if y}
    hidden = with_missing(values, harmful)
    assert {one.why for one in hidden.refusals} >= {Why.NON_RESPONSE}
    assert active_calibrated(hidden).value is None
    assert "drawn items without a label" in active_calibrated(hidden).reason
    low, high = hidden.worst_case()
    assert low == 0
    assert high == pytest.approx(sum(w * m for w, m in zip(whole.shares, whole.means, strict=True)))
    some = set([one for one in drawn if one.startswith("a-safe")][:2])
    little = with_missing(values, some)
    assert not little.refusals
    made = active_calibrated(little)
    assert made.excluded == {"drawn, not labelled": 2}
    assert made.value == pytest.approx(active_calibrated(whole).value, abs=0.01)
    assert made.low != active_calibrated(whole).low
    passed = next(row for row in little.rows if row.name == "a · safe")
    (wrong,) = (one for one in wrong_items(little) if one.model == "a")
    assert wrong.missed == pytest.approx(700 / 760 * passed.total / (passed.weight or 0))
    assert passed.weight != pytest.approx(passed.labelled)


def test_the_score_is_that_of_its_formula_item_by_item() -> None:
    drawn = draw_active(SET, PLACE, PLAN, 5)
    missing = set([one for one, _p in drawn if one.startswith("a-safe")][:3])
    strata, values = with_missing(truth(), missing), truth()
    at = {one: number for number, one in enumerate(SET.ids)}
    mass, given = np.zeros(len(strata.rows)), np.zeros(len(strata.rows))
    for one, p in drawn:
        mass[strata.item_stratum[at[one]]] += 1 / p
        given[strata.item_stratum[at[one]]] += (one not in missing) / p
    chance, labels = np.full(1_300, 0.5), np.full(1_300, NAN)
    for one, p in drawn:
        if one not in missing:
            chance[at[one]] = p * (given / mass)[strata.item_stratum[at[one]]]
            labels[at[one]] = values[at[one]]
    f = cross_fitted(strata.item_stratum, labels, chance, strata.item_question, seed=3)
    total = f.sum()
    for one, _p in drawn:
        if one not in missing:
            total += (values[at[one]] - f[at[one]]) / chance[at[one]]
    assert active_calibrated(strata, seed=3).value == pytest.approx(total / 1_300, abs=1e-12)


def test_too_few_labels_are_refused() -> None:
    ids = [one for one, _p in draw_active(SET, PLACE, PLAN, 1)][:30]
    few = stratify(
        SET, Labels("set", ids, [0.0] * 30, probabilities=[0.5] * 30, active=chances(PLAN))
    )
    assert Why.TOO_FEW_IN_ALL in {one.why for one in few.refusals}
    assert active_calibrated(few).value is None


def test_all_labels_safe_leave_what_the_least_probabilities_may_hide() -> None:
    made = active_calibrated(labelled(PLAN, 1, np.zeros(1_300)))
    assert (made.value, made.low) == (0, 0)
    most = math.floor(math.log(0.05) / math.log(1 - PLAN.least))
    assert made.high == pytest.approx(most / 1_300)


def test_the_whole_in_one_value_and_what_its_labels_are_worth() -> None:
    values = truth()
    strata = labelled(PLAN, 1, values)
    found = assemble(strata, baseline="a")
    active = found.active
    assert active is not None
    weights = 1 / np.array([p for _one, p in draw_active(SET, PLACE, PLAN, 1)])
    assert active.effective == pytest.approx(weights.sum() ** 2 / (weights**2).sum())
    assert active.effective < active.labelled == active.drawn == len(weights)
    assert active.least == pytest.approx(PLAN.least)
    assert active.greatest == 1
    assert found.estimator.startswith("active labels")
    assert [one.model for one in found.scores] == ["", "a", "b"]
    everyone = found.scores[0]
    drawn = np.array([values[SET.ids.index(one)] for one, _p in draw_active(SET, PLACE, PLAN, 1)])
    alone = float(weights @ drawn / weights.sum())
    assert everyone.companions.people.value == pytest.approx(alone)
    assert everyone.companions.people.method == "Wilson"
    assert everyone.companions.gained is not None
    (_before, _after, change), *rest = found.changes
    assert not rest
    assert change.drop.value == pytest.approx(
        (found.scores[1].score.value or 0) - (found.scores[2].score.value or 0)
    )
    assert change.relative.low is not None
    assert change.relative.high is not None
    assert change.relative.low <= 1 - values[760:].mean() / values[:760].mean()
    assert change.relative.high >= 1 - values[760:].mean() / values[:760].mean()
    row = next(row for row in found.strata if row.name == "a · safe")
    mine = [
        (values[SET.ids.index(one)], 1 / p)
        for one, p in draw_active(SET, PLACE, PLAN, 1)
        if one.startswith("a-safe")
    ]
    assert row.mean == pytest.approx(sum(y * w for y, w in mine) / sum(w for _y, w in mine))
    assert assemble(stratify(SET, Labels("set", SET.ids, values))).active is None


@pytest.mark.parametrize("target", Target)
def test_populations_are_wider_than_the_set(target: Target) -> None:
    made = active_calibrated(labelled(PLAN, 2, truth()), target)
    of_set = active_calibrated(labelled(PLAN, 2, truth()))
    assert made.value == of_set.value
    assert target.value in made.method
    assert (made.high or 0) - (made.low or 0) >= (of_set.high or 0) - (of_set.low or 0)


def test_a_population_of_prompts_is_covered_where_items_of_a_question_go_together() -> None:
    holds = {Target.PROMPTS: 0, Target.SET: 0}
    for seed in range(200):
        rng = np.random.default_rng([9, seed])
        drawn = worlds.world(rng, 1_000, 0.1, per_question=10, correlation=0.3)
        made_of = worlds.items_of(drawn)
        found = actively(made_of, drawn.harmful.astype(float), 150, seed)
        for target in holds:
            made = active_calibrated(found, target)
            holds[target] += (made.low or 0) <= 0.1 <= (made.high or 0)
    assert holds[Target.PROMPTS] / 200 >= 0.9
    assert holds[Target.SET] < holds[Target.PROMPTS]
