"""The joint bootstrap: shares and differences by hand, one set of resamples for all."""

from __future__ import annotations

import numpy as np
import pytest

from judge.stats import joint
from judge.stats.intervals import percentile_interval, resampled_totals
from judge.stats.joint import Figure, difference, drawn, estimates, quotient, share

TOP = np.array([1.0, 0, 1, 1, 0, 1])
ONES = np.ones(6)
QUESTION = np.array([0, 0, 2, 2, 2, 4])


def test_a_share_adds_up_by_question() -> None:
    made = share("hits", TOP, ONES, QUESTION, "people", "nothing", {"late": 2})
    assert made.questions.tolist() == [0, 2, 4]
    assert made.counts.tolist() == [[1, 2], [2, 3], [1, 1]]
    (found,) = estimates({1: made}, 5, level=0.9, resamples=100, seed=1).values()
    assert (found.value, found.numerator, found.denominator) == (4 / 6, 4, 6)
    assert (found.n, found.clusters, found.level) == (6, 3, 0.9)
    assert found.excluded == {"late": 2}


def test_weights_that_are_no_counts_have_no_numerator() -> None:
    made = share("mean", TOP / 2 * 1.5, ONES, QUESTION, "people", "nothing", n=17)
    assert (made.numerator, made.denominator, made.n) == (3, 6, 17)
    made = share("mean", TOP * 0.3, ONES, QUESTION, "people", "nothing")
    assert (made.numerator, made.denominator) == (None, None)
    assert made.value() == pytest.approx(0.2)


def test_one_judge_share_the_resamples_of_the_agreement_report() -> None:
    # Same seed and questions: the weights of `resampled_totals`, whatever subset contributes.
    made = share("hits", TOP, ONES, QUESTION, "people", "nothing")
    counts = np.zeros((5, 2))
    counts[made.questions] = made.counts
    totals = resampled_totals(counts, resamples=300, seed=9)
    (draws,) = drawn({1: made}, 5, resamples=300, seed=9).values()
    np.testing.assert_array_equal(draws, quotient(totals))
    (found,) = estimates({1: made}, 5, level=0.95, resamples=300, seed=9).values()
    expected = percentile_interval(draws, clusters=3)
    assert (found.low, found.high) == (expected.low, expected.high)


def test_figures_on_many_questions_and_on_few_have_the_draws_they_have_alone() -> None:
    # Two of 40 questions are few, so that their weights are picked out; 30 are many.
    rng = np.random.default_rng(5)
    figures = {}
    for name, questions in (("few", 2), ("none", 0), ("many", 30), ("all", 40)):
        place = np.repeat(np.arange(questions), 3) + (40 - questions) // 2
        hits = (rng.random(len(place)) < 0.6).astype(float)
        figures[name] = share(name, hits, np.ones(len(hits)), place, "people", "nothing")
    draws = drawn(figures, 40, resamples=200, seed=4)
    for name, figure in figures.items():
        counts = np.zeros((40, 2))
        counts[figure.questions] = figure.counts
        totals = resampled_totals(counts, resamples=200, seed=4)
        np.testing.assert_array_equal(draws[name], quotient(totals), err_msg=name)


def test_a_difference_is_that_of_the_shares_in_every_resample() -> None:
    other = np.array([1.0, 1, 0, 1, 0, 0])
    figures: dict[str, Figure] = {
        "first": share("x", TOP, ONES, QUESTION, "people", "nothing"),
        "second": share("x", other, ONES, QUESTION, "people", "nothing"),
        "gap": difference("x", TOP, other, ONES, QUESTION, "people", "nothing"),
    }
    draws = drawn(figures, 5, resamples=200, seed=3)
    np.testing.assert_allclose(draws["gap"], draws["first"] - draws["second"], atol=1e-15)


def test_wide_counts_are_resampled_in_pieces_with_the_same_result(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    made = share("hits", TOP, ONES, QUESTION, "people", "nothing")
    whole = drawn({1: made}, 5, resamples=50, seed=2)[1]
    monkeypatch.setattr(joint, "CHUNK_CELLS", 6)
    np.testing.assert_array_equal(drawn({1: made}, 5, resamples=50, seed=2)[1], whole)


def test_judgments_that_are_the_same_row_by_row_differ_by_exactly_nothing() -> None:
    same = difference("gap", TOP, TOP, ONES, QUESTION, "people", "nothing")
    (found,) = estimates({1: same}, 5, level=0.95, resamples=100, seed=1).values()
    assert (found.value, found.low, found.high) == (0, 0, 0)
    assert "the same on every row" in found.method


def test_nothing_counted_is_undefined_with_the_reason() -> None:
    empty = np.empty(0)
    none = share("hits", empty, empty, np.empty(0, dtype=np.int64), "people", "nobody voted")
    for clusters in (0, 5):
        (found,) = estimates({1: none}, clusters, level=0.95, resamples=100, seed=1).values()
        assert (found.value, found.low, found.reason) == (None, None, "nobody voted")
