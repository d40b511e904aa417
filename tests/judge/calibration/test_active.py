"""Labels chosen by their use: unbiased whatever the predictions, within their probabilities."""

from __future__ import annotations

import math

import numpy as np
import pytest

from judge.calibration.active import active_score, cross_fitted, draw_probabilities
from judge.calibration.linearised import logit_t
from tests.judge.calibration import worlds

NAN = math.nan


def test_the_score_and_its_variance_by_hand() -> None:
    f = np.array([0.5, 0.5, 0.0, 0.0])
    y = np.array([1.0, NAN, 1.0, NAN])
    chances = np.array([0.5, 0.5, 0.25, 0.25])
    made = active_score(f, y, chances, "x", scale=(0.0, 2.0))
    # (.5 + 1 + .5 + 4 + 0) / 4 = 1.5
    assert made.value == pytest.approx(1.5)
    # (.5 · 1 + .75 · 16) / 16 = .78125; df = 2 · 12.5² / (.5² + 12²)
    expected = logit_t(1.5, 0.78125, 2 * 12.5**2 / (0.5**2 + 12**2), 0.95, (0.0, 2.0))
    assert (made.low, made.high) == pytest.approx(expected)
    assert "2 df" in made.method


def test_probabilities_sum_to_the_labels_within_their_bounds() -> None:
    uncertainty = np.array([0.0] * 500 + [0.1] * 400 + [5.0] * 100)
    chances = draw_probabilities(uncertainty, 200)
    assert chances.sum() == pytest.approx(200)
    assert chances.min() == pytest.approx(0.1 * 200 / 1000)
    assert chances.max() == 1
    assert draw_probabilities(np.zeros(10), 5) == pytest.approx(np.full(10, 0.5))
    few = draw_probabilities(np.array([0.5, 0.1]), 40, sizes=np.array([300.0, 100.0]))
    assert few @ [300, 100] == pytest.approx(40)
    assert few[0] == pytest.approx(5 * few[1])
    held = draw_probabilities(np.ones(2), 5, sizes=np.full(2, 10.0), floors=np.array([0.4, 0.0]))
    assert held == pytest.approx([0.4, 0.1])
    with pytest.raises(ValueError, match="expected 1 to 3"):
        draw_probabilities(np.ones(3), 4)


def test_a_label_never_predicts_itself_or_its_question() -> None:
    labels = np.array([1.0, NAN, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0])
    clusters = np.array([0, 0, 1, 2, 3, 4, 5, 6])
    zeros = np.zeros(8, dtype=np.int64)
    for seed in range(5):
        found = cross_fitted(zeros, labels, np.ones(8), clusters, seed=seed)
        assert found[0] == found[1] == 0
        assert found[2:].max() > 0


def test_predictions_are_means_of_the_class_and_of_all_where_it_has_none() -> None:
    classes = np.array([0] * 20 + [1] * 20 + [2])
    labels = np.array([1.0] * 20 + [0.0] * 20 + [NAN])
    found = cross_fitted(classes, labels, np.full(41, 0.5), np.arange(41))
    assert found[:20].tolist() == [1.0] * 20
    assert found[20:40].tolist() == [0.0] * 20
    assert 0.2 < found[40] < 0.8


REFUSED = {
    "a probability too small": ([0.5, NAN], [1.0, 0.05], "a tenth of an even draw's"),
    "no labels": ([NAN, NAN], [0.5, 0.5], "no labels"),
}


@pytest.mark.parametrize("case", REFUSED.values(), ids=REFUSED)
def test_refused_as_values(case: tuple[list[float], list[float], str]) -> None:
    labels, chances, words = case
    made = active_score(np.zeros(2), np.array(labels), np.array(chances), "x")
    assert (made.value, made.low) == (None, None)
    assert words in made.reason


def test_where_nothing_surprises_what_may_have_gone_unseen_is_the_interval() -> None:
    # All K others go undrawn with probability ½^K ≥ .05 up to K = 4, and one is not labelled.
    same = active_score(np.zeros(4), np.array([0.0, 0, 0, NAN]), np.full(4, 0.5), "x")
    assert (same.value, same.low, same.high) == (0, 0, 0.25)
    # Of 100 unlabelled with probability .1 at most 28: .9^28 = .052, .9^29 = .047. They can only
    # be more than predicted, and the ten that could be less are all labelled.
    chances = np.array([0.1] * 100 + [0.9] * 10)
    labels = np.array([NAN] * 100 + [1.0] * 10)
    predicted = np.array([0.0] * 100 + [1.0] * 10)
    made = active_score(predicted, labels, chances, "x")
    assert made.value == pytest.approx(10 / 110)
    assert made.low == made.value
    assert made.high == pytest.approx(38 / 110)
    assert "every label of a class is as predicted, at most 0 %" in made.method
    everything = active_score(predicted, np.nan_to_num(labels), np.ones(110), "x")
    assert everything.low == everything.high == everything.value == pytest.approx(10 / 110)


def test_a_class_without_surprise_beside_one_with_widens_the_interval() -> None:
    labels = np.array([NAN] * 100 + [1.0, 0.0, NAN, NAN])
    predicted = np.array([0.0] * 100 + [0.5] * 4)
    chances = np.array([0.1] * 100 + [0.5] * 4)
    classes = np.array([0] * 100 + [1] * 4)
    alone = active_score(predicted, labels, chances, "x")
    made = active_score(predicted, labels, chances, "x", classes=classes)
    assert made.value == alone.value
    assert made.low == pytest.approx(alone.low)
    assert made.method.split(";")[0] == alone.method
    reach = math.hypot((alone.high or 0) - (alone.value or 0), 28 / 104)
    assert made.high == pytest.approx((alone.value or 0) + reach)


def test_what_may_have_gone_unseen_holds_where_all_labels_are_as_predicted() -> None:
    """Thirty harmful items that the judge calls safe, so seldom drawn that often none is."""
    rng, missed, held = np.random.default_rng(5), 0, 0
    truth = np.array([1.0] * 30 + [0.0] * 970)
    chances = np.array([0.05] * 500 + [0.2] * 500)
    for _ in range(2_000):
        labels = np.where(rng.random(1_000) < chances, truth, NAN)
        made = active_score(np.zeros(1_000), labels, chances, "x")
        if made.value == 0:
            missed += 1
            held += made.high is not None and made.high >= 0.03
    assert missed > 300
    assert held == missed


def test_off_the_scale_there_is_no_interval_and_wrong_arrays_are_told() -> None:
    off = active_score(np.zeros(4), np.array([1.0, 1, 1, NAN]), np.full(4, 0.5), "x")
    assert off.value == 1.5
    assert "not inside the scale" in off.reason
    beside = active_score(
        np.zeros(5), np.array([1.0, 1, 1, 0, NAN]), np.full(5, 0.5), "x",
        classes=np.array([0, 0, 0, 1, 1]),
    )  # fmt: skip
    assert (beside.value, beside.low, beside.reason) == (1.2, None, off.reason)
    with pytest.raises(ValueError, match="1 or less"):
        active_score(np.zeros(1), np.ones(1), np.array([1.5]), "x")
    with pytest.raises(ValueError, match="as many of each"):
        active_score(np.zeros(2), np.ones(1), np.ones(1), "x")
    with pytest.raises(ValueError, match="expected each item's question"):
        active_score(np.zeros(1), np.ones(1), np.ones(1), "x", target="prompts")


def test_where_nothing_can_be_hidden_nothing_is_said_of_it() -> None:
    """Every item labelled as predicted."""
    made = active_score(np.array([1.0, 0.0]), np.array([1.0, 0.0]), np.full(2, 0.5), "x")
    assert (made.value, made.low, made.high) == (0.5, 0.5, 0.5)
    assert made.method == "active inference, set"


def test_draws_without_a_label_are_like_those_with_one() -> None:
    """Half answered: as if every probability were half as large."""
    labels = np.array([1.0, NAN, 0.0, NAN])
    half, f = np.full(4, 0.5), np.full(4, 0.25)
    made = active_score(f, labels, half, "x", answered=half, scale=(0, 3))
    same = active_score(f, labels, half / 2, "x", scale=(0, 3))
    assert (made.value, made.low, made.high) == (same.value, same.low, same.high)
    refused = active_score(f, labels, half, "x", floor=0.6)
    assert "expected 0.6" in refused.reason


def test_of_a_population_of_prompts_questions_vary() -> None:
    f = np.array([0.5, 0.5, 0.0, 0.0])
    y = np.array([1.0, NAN, 1.0, 0.0])
    made = active_score(
        f, y, np.full(4, 0.5), "x", clusters=np.array([0, 0, 1, 1]), target="prompts", scale=(0, 2)
    )
    # Terms 1.5, .5, 2, 0, mean 1: the questions' sums are both 0, so nothing varies.
    assert (made.value, made.low) == (1.0, None)
    assert "nothing varies" in made.reason
    moved = active_score(
        f, y, np.full(4, 0.5), "x", clusters=np.array([0, 1, 0, 1]), target="prompts", scale=(0, 2)
    )
    # Sums ± 1.5: V = 2 (1.5² + 1.5²) / 16, and two questions leave one degree of freedom.
    expected = logit_t(1.0, 2 * 4.5 / 16, 1, 0.95, (0.0, 2.0))
    assert (moved.low, moved.high) == pytest.approx(expected)


def test_unbiased_and_covering_in_simulation() -> None:
    rng = np.random.default_rng(3)
    drawn = worlds.world(rng, 2_000, 0.1)
    guess = np.where(drawn.judged, 0.5, 0.02)
    chances = draw_probabilities(np.sqrt(guess * (1 - guess)), 150)
    values, holds = [], 0
    for seed in range(400):
        labels = np.where(rng.random(2_000) < chances, drawn.harmful, NAN)
        classes = drawn.judged.astype(np.int64)
        predicted = cross_fitted(classes, labels, chances, drawn.question, seed=seed)
        made = active_score(predicted, labels, chances, "x")
        assert made.value is not None
        values.append(made.value)
        holds += (
            made.low is not None
            and made.high is not None
            and (made.low <= drawn.truth <= made.high)
        )
    error = float(np.std(values)) / math.sqrt(len(values))
    assert abs(float(np.mean(values)) - drawn.truth) < 3 * error
    assert error < 0.001
    assert holds / 400 >= 0.91
