"""Relative reductions and drops of calibrated scores."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

from judge.calibration.assembled import assemble
from judge.calibration.columns import Kind
from judge.calibration.contrasts import difference
from judge.calibration.poststratified import Target
from judge.calibration.ratios import calibrated_change
from judge.stats.changes import NOTHING
from tests.judge.calibration.tables import harm, strata
from tests.judge.stats.holding import held

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
