"""Relative reductions and drops, never without the values they are between."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from scipy import stats
from statsmodels.stats.proportion import confint_proportions_2indep

from judge.calibration.assembled import assemble
from judge.calibration.columns import Kind
from judge.calibration.contrasts import difference
from judge.calibration.poststratified import Target
from judge.calibration.ratios import (
    HYPOTHETICAL,
    NOTHING,
    Change,
    calibrated_change,
    change_of_counts,
    change_of_intervals,
    change_on_same_prompts,
    published_change,
)
from judge.stats.estimate import Estimate
from tests.judge.calibration.tables import harm, strata


def held(one: Estimate, truth: float) -> bool:
    assert one.low is not None
    assert one.high is not None
    return one.low <= truth <= one.high


@pytest.mark.parametrize(("before", "after"), [((71, 100), (42, 100)), ((30, 200), (12, 150))])
def test_the_log_risk_ratio_is_that_of_statsmodels(before: Any, after: Any) -> None:
    made = change_of_counts(before, after, "x").relative
    low, high = confint_proportions_2indep(
        *after, *before, compare="ratio", method="log", correction=False
    )
    assert (made.low, made.high) == pytest.approx((1 - high, 1 - low), abs=1e-12)


def test_an_unpublished_n_makes_every_interval_hypothetical() -> None:
    made = change_of_counts((71, 100), (42, 100), "x", published=False)
    for one in (made.before, made.after, made.relative, made.drop):
        assert one.method.startswith(HYPOTHETICAL)
    assert made.words() == "40.8 % relative (71 % → 42 %)"
    assert held(made.drop, 0.29)


WORDS = {
    "published": (published_change(6.05, 5.46, "x"), False, "9.8 % relative (6.05 → 5.46)"),
    "nothing before": (
        change_of_counts((0, 10), (1, 10), "x"),
        True,
        f"relative reduction {NOTHING} (0 % → 10 %)",
    ),
    "more": (change_of_counts((1, 10), (2, 10), "x"), True, "-100.0 % relative (10 % → 20 %)"),
}


@pytest.mark.parametrize("case", WORDS.values(), ids=WORDS)
def test_never_bare(case: tuple[Change, bool, str]) -> None:
    made, percent, words = case
    assert made.words(percent=percent) == words


def test_nothing_before_is_undefined_and_the_drop_is_not() -> None:
    made = change_of_counts((0, 50), (5, 50), "x")
    assert (made.relative.value, made.relative.low, made.relative.reason) == (None, None, NOTHING)
    assert made.drop.value == pytest.approx(-0.1)
    assert held(made.drop, -0.1)


def test_nothing_after_has_a_finite_lower_end() -> None:
    made = change_of_counts((20, 50), (0, 50), "x").relative
    assert (made.value, made.high) == (1, 1)
    assert made.low is not None
    assert 0.8 < made.low < 1


def test_same_prompts_are_paired() -> None:
    rng = np.random.default_rng(1)
    hard = rng.random(300)
    before, after = ((hard > cut).astype(float) for cut in (0.5, 0.6))
    paired = change_on_same_prompts(before, after, "x")
    independent = change_of_counts((int(before.sum()), 300), (int(after.sum()), 300), "x")
    assert paired.relative.value == independent.relative.value
    widths = [
        one.high - one.low
        for one in (paired.drop, independent.drop)
        if one.low is not None and one.high is not None
    ]
    assert widths[0] < 0.5 * widths[1]
    # r₁ (1 − relative) from u = after / r₁ − before / r₀
    r0, r1 = before.mean(), after.mean()
    spread = np.std(after / r1 - before / r0, ddof=1) / math.sqrt(300)
    assert paired.relative.low == pytest.approx(1 - r1 / r0 * math.exp(1.96793 * spread), abs=1e-5)
    # drop: the standard error of a mean of 0s and 1s, by hand
    lost = (before - after).mean()
    reach = 1.968 * math.sqrt(lost * (1 - lost) / 299)
    assert paired.drop.low == pytest.approx(lost - reach, abs=2e-4)


EDGES = {
    "nothing after": ([1.0, 0.0, 1.0], [0.0, 0.0, 0.0], "its logarithm infinite"),
    "one prompt": ([1.0], [0.5], "one prompt"),
    "nothing before": ([0.0, 0.0], [1.0, 0.0], NOTHING),
}


@pytest.mark.parametrize("case", EDGES.values(), ids=EDGES)
def test_same_prompts_at_the_edges(case: tuple[list[float], list[float], str]) -> None:
    before, after, reason = case
    made = change_on_same_prompts(np.array(before), np.array(after), "x").relative
    assert made.low is None
    assert reason in made.reason


def test_columns_that_are_no_pair_are_an_error() -> None:
    with pytest.raises(ValueError, match="the same prompts twice"):
        change_on_same_prompts(np.ones(2), np.ones(3), "x")
    with pytest.raises(ValueError, match="5 of 4"):
        change_of_counts((5, 4), (1, 4), "x")


TWO = {
    ("old", "harmful"): (60, harm(20, 10)),
    ("old", "safe"): (40, harm(4, 16)),
    ("new", "harmful"): (20, harm(0, 20)),
    ("new", "safe"): (80, harm(0, 40)),
}


def test_a_calibrated_change_is_finite_where_its_logarithm_is_not() -> None:
    found = strata(TWO)
    made = calibrated_change(found, "old", "new")
    # .6 · 2/3 + .4 · .2 = .48 → 0
    assert made.before.value == pytest.approx(0.48)
    assert made.relative.value == 1
    assert made.relative.low is not None
    assert 0.8 < made.relative.low < 1
    assert made.relative.high == 1
    assert held(made.drop, 0.45)
    back = calibrated_change(found, "new", "old")
    assert (back.relative.value, back.relative.reason) == (None, NOTHING)


def test_a_refused_score_leaves_no_change() -> None:
    cells = {**TWO, ("new", "safe"): (80, [])}
    found = strata(cells)
    made = calibrated_change(found, "old", "new")
    assert made.relative.value is None
    assert "no label" in made.relative.reason
    assert made.drop.value is None
    contrast = difference(found, "old", "new")
    assert contrast.value is None
    assert "no label" in contrast.reason


@pytest.mark.parametrize("target", Target)
def test_a_change_is_between_the_scores_that_stand_beside_it(target: Target) -> None:
    prompts = [f"q{i % 100}" for size, _ in TWO.values() for i in range(size)]
    found = strata(TWO, questions=prompts)
    made = assemble(found, target, baseline="old", seed=3)
    ((before, after, change),) = made.changes
    scores = {one.model: one.score for one in made.scores}
    assert (before, after) == ("old", "new")
    assert (change.before, change.after) == (scores["old"], scores["new"])
    assert change.drop == difference(found, "old", "new", target, seed=3)


def test_a_relative_reduction_over_questions_drops_what_both_models_share() -> None:
    # As in the test of differences below; apart, a question is harm for one model only.
    cells = {(m, "safe"): (100, harm(20, 30)) for m in "ab"}
    together, apart = (
        calibrated_change(strata(cells, questions=list(names)), "a", "b", Target.PROMPTS).relative
        for names in ([f"q{i % 100}" for i in range(200)], [f"q{i}" for i in range(200)])
    )
    assert together.value == apart.value == 0
    assert "log ratio, linearised by question" in apart.method
    assert held(apart, 0.3)
    # log 1 ± t √(V_a + V_b): V = Σ (y − .4)² / (n r)² · Q/(Q − 1), each question of one model.
    each = 50 * 0.4 * 0.6 / (50 * 0.4) ** 2 * 200 / 199
    reach = stats.t.ppf(0.975, 99) * math.sqrt(2 * each)
    assert (apart.low, apart.high) == pytest.approx((1 - math.exp(reach), 1 - math.exp(-reach)))
    # Nothing varies between questions: draws of each on its own, wider than nothing.
    assert held(together, 0.1)


@pytest.mark.parametrize("target", Target)
def test_differences_between_models(target: Target) -> None:
    sizes = {key: size for key, (size, _) in TWO.items()}
    prompts = [f"q{i % 100}" for size in sizes.values() for i in range(size)]
    found = strata(TWO, questions=prompts)
    made = difference(found, "old", "new", target)
    assert made.value == pytest.approx(0.48)
    assert held(made, 0.48)
    back = difference(found, "new", "old", target)
    assert back.value == pytest.approx(-0.48)
    with pytest.raises(ValueError, match="expected two models"):
        difference(found, "old", "old", target)


def test_what_two_models_share_cancels_over_questions() -> None:
    # Both models do the same on every prompt, and both labels are drawn on the same prompts.
    cells = {(m, "safe"): (100, harm(20, 30)) for m in "ab"}
    prompts = [f"q{i}" for _ in "ab" for i in range(100)]
    found = strata(cells, questions=prompts)
    made = difference(found, "a", "b", Target.PROMPTS)
    assert (made.value, made.low, made.high) == (0, 0, 0)
    apart = strata(cells, questions=[f"q{i}" for i in range(200)])
    other = difference(apart, "a", "b", Target.PROMPTS)
    assert other.high is not None
    assert other.high > 0.1


def test_one_question_has_no_contrast_over_questions() -> None:
    cells = {(m, "safe"): (100, harm(20, 30)) for m in "ab"}
    made = difference(strata(cells, questions=["q"] * 200), "a", "b", Target.PROMPTS)
    assert (made.value, made.low) == (0, None)
    assert "fewer than two questions" in made.reason


@pytest.mark.parametrize(
    ("merged", "raw"), [("inconsistent+tie", (60 + 40 / 2) / 100), ("lose+tie", None)]
)
def test_merged_verdicts_that_say_the_same_have_a_raw_rate(merged: str, raw: float | None) -> None:
    cells = {("m", "win"): (60, [1.0] * 20), ("m", merged): (40, [0.5] * 20)}
    found = assemble(strata(cells, Kind.PAIRS)).scores[0].raw
    assert found.value == (raw if raw is None else pytest.approx(raw))
    assert found.reason


def between(value: float, low: float | None, high: float | None) -> Estimate:
    reason = "" if low is not None else "no interval: x"
    return Estimate("x", value, "x", 100, 100, reason, low, high)


def test_from_even_intervals_the_ratio_is_fiellers_and_the_drop_pythagoras() -> None:
    before, after, reach_b, reach_a = 0.4, 0.1, 0.12, 0.05
    made = change_of_intervals(
        between(before, before - reach_b, before + reach_b),
        between(after, after - reach_a, after + reach_a),
    )
    # Fieller: the ratios R at which (after − R before)² = reach_a² + R² reach_b².
    roots = np.roots([before**2 - reach_b**2, -2 * before * after, after**2 - reach_a**2])
    assert (made.relative.low, made.relative.high) == pytest.approx(
        (1 - roots.max(), 1 - roots.min())
    )
    assert made.relative.value == pytest.approx(0.75)
    assert (made.drop.low, made.drop.high) == pytest.approx((0.3 - 0.13, 0.3 + 0.13))


def test_uneven_intervals_count_by_the_end_that_matters() -> None:
    made = change_of_intervals(between(0.3, 0.27, 0.7), between(0.1, 0.06, 0.11))
    # The least drop has a small first value and a great second one.
    assert made.drop.low == pytest.approx(0.2 - math.hypot(0.03, 0.01))
    assert made.drop.high == pytest.approx(0.2 + math.hypot(0.4, 0.04))
    # The ends are the ratios R at which (after − R before)² is the sum of what is recovered from
    # after's end and, R² times, from before's.
    low, high = 1 - (made.relative.high or 0), 1 - (made.relative.low or 0)
    assert (0.1 - 0.3 * low) ** 2 == pytest.approx(0.04**2 + low**2 * 0.4**2)
    assert (0.1 - 0.3 * high) ** 2 == pytest.approx(0.01**2 + high**2 * 0.03**2)
    assert low < 1 / 3 < high


OPEN = {
    "nothing left": (between(0.3, 0.2, 0.4), between(0.0, 0.0, 0.02), 1.0, ""),
    "the first may be 0": (
        between(0.01, 0.0, 0.04),
        between(0.02, 0.01, 0.04),
        None,
        "no interval: the first value may be 0",
    ),
    "no interval": (
        between(0.1, None, None),
        between(0.02, 0.01, 0.04),
        None,
        "no interval: one of the two values has none",
    ),
    "nothing before": (between(0.0, 0.0, 0.1), between(0.1, 0.0, 0.2), None, NOTHING),
}


@pytest.mark.parametrize("case", OPEN.values(), ids=OPEN)
def test_intervals_that_end_at_nothing(case: Any) -> None:
    before, after, high, reason = case
    made = change_of_intervals(before, after)
    assert made.relative.high == (None if high is None else pytest.approx(high))
    assert made.relative.reason == reason


def test_from_intervals_of_simulated_counts_both_hold() -> None:
    rng, hits = np.random.default_rng(0), [0, 0]
    for _ in range(500):
        ends = []
        for rate in (0.2, 0.05):
            count = int(rng.binomial(200, rate))
            made = change_of_counts((count, 200), (count, 200), "x").before
            ends.append(made)
        change = change_of_intervals(*ends)
        hits[0] += held(change.relative, 0.75)
        hits[1] += held(change.drop, 0.15)
    assert min(hits) >= 0.92 * 500


@pytest.mark.parametrize("together", [True, False])
def test_relative_reductions_over_questions_hold(*, together: bool) -> None:
    """.4 → .15 on 200 prompts, harm of both models on the same ones or not; a third labelled."""
    rng, hits = np.random.default_rng(2), 0
    for _ in range(200):
        first = rng.random(200)
        hard = {"a": first, "b": first if together else rng.random(200)}
        cells: dict[tuple[str, str], tuple[int, list[float]]] = {}
        prompts: list[str] = []
        for model, rate in (("a", 0.4), ("b", 0.15)):
            harmful = hard[model] < rate
            said = np.where(rng.random(200) < 0.85, harmful, ~harmful)
            for verdict, judged in (("harmful", said), ("safe", ~said)):
                here = rng.permutation(np.flatnonzero(judged))
                prompts += [f"q{one}" for one in here]
                drawn = harmful[here[: max(5, len(here) // 3)]]
                cells[model, verdict] = (len(here), drawn.astype(float).tolist())
        found = strata(cells, questions=prompts)
        made = calibrated_change(found, "a", "b", Target.PROMPTS, draws=500)
        hits += held(made.relative, 1 - 0.15 / 0.4)
    assert hits >= 0.92 * 200
