"""Each rater, one rater less, and other raters: by hand, by explicit deletion, by simulation."""

from __future__ import annotations

from statistics import NormalDist

import numpy as np
import pytest

from judge.stats.coefficients import FloatArray, ratio
from judge.stats.joint import IntArray
from judge.stats.raters import (
    estimate_with_raters,
    leave_one_rater_out,
    rater_figures,
    row_components,
)
from judge.stats.two_way import components, two_way_estimate
from tests.judge.stats.tables import WHO, made, study, units


def share_of_first(totals: FloatArray) -> FloatArray:
    return ratio(totals[..., 0], totals.sum(-1))


def jackknife(kind: IntArray, group: IntArray) -> float:
    """The variance, deleting rows for real."""
    values = [(kind[group != g] == 0).mean() for g in np.unique(group)]
    n = len(values)
    return (n - 1) / n * float(((values - np.mean(values)) ** 2).sum())


def test_each_rater_by_hand() -> None:
    # q0 "aab", judge a; q1 "ab", judge b; q2 "t", judge t
    study_ = made(units("aab/a", "ab/b", "t/t"))
    found = rater_figures(study_.votes, study_.rows(), study_.questions, WHO)
    shares = {key: (one.numerator, one.denominator) for key, one in found.items()}
    assert shares == {
        ("r0", "judge"): (2, 3),
        ("r1", "judge"): (2, 2),
        ("r2", "judge"): (0, 1),
        ("r0", "others"): (1, 3),
        ("r1", "others"): (1, 3),
        ("r2", "others"): (0, 2),
    }
    assert found["r0", "others"].excluded == {"only vote of its unit": 1}


def test_in_s2_only_votes_that_name_a_winner_are_compared() -> None:
    study_ = made(units("aatb/a", "ta/b"))
    found = rater_figures(study_.votes, study_.rows("S2"), study_.questions, WHO)
    assert (found["r0", "others"].numerator, found["r0", "others"].denominator) == (1, 2)
    assert found["r2", "others"].value() is None
    assert found["r2", "others"].undefined == "no other rater voted on the same units"
    assert found["r2", "judge"].undefined == "no vote and verdict both name a winner"
    assert (found["r1", "judge"].numerator, found["r1", "judge"].denominator) == (1, 2)


def test_without_each_rater_in_turn() -> None:
    # Rows that agree: r0 2 of 4, r1 3 of 3, r2 0 of 1; in all 5 of 8
    found = leave_one_rater_out(made(units("aab/a", "ab/b", "a/t", "tt/t")).rows())
    assert found.value == pytest.approx(5 / 8)
    assert found.low == pytest.approx(2 / 5)
    assert found.high == pytest.approx(3 / 4)
    assert (found.without_low, found.without_high) == ("r1", "r0")
    assert (found.raters, found.reason) == (3, "")


def test_one_rater_has_no_range_and_says_so() -> None:
    found = leave_one_rater_out(made(units("a/a", "b/a")).rows())
    assert (found.value, found.low, found.high) == (0.5, None, None)
    assert found.reason == "no range: fewer than two raters"
    one_sided = leave_one_rater_out(made(units("aa/a", "aa/a", "ab/a")).rows(), "alpha")
    assert one_sided.value is not None
    assert one_sided.reason == "no range: undefined without rater r1"


def test_the_variances_equal_those_of_rows_really_deleted() -> None:
    rng = np.random.default_rng(8)
    question, rater = rng.integers(0, 9, 120), rng.integers(0, 6, 120)
    kind = rng.integers(0, 2, 120)
    found = components(question, rater, kind, 2, share_of_first)
    assert found.question == pytest.approx(jackknife(kind, question))
    assert found.rater == pytest.approx(jackknife(kind, rater))
    assert found.cell == pytest.approx(jackknife(kind, 6 * question + rater))
    assert found.vote == pytest.approx(jackknife(kind, np.arange(120)))
    assert found.both is not None
    assert found.question is not None
    assert found.rater is not None
    assert found.both >= max(found.question, found.rater)


def test_votes_that_are_copies_of_each_other_have_a_design_effect_of_their_number() -> None:
    rng = np.random.default_rng(1)
    once = rng.integers(0, 2, 200)
    kind, question = np.repeat(once, 5), np.repeat(np.arange(200), 5)
    found = components(question, np.tile(np.arange(5), 200), kind, 2, share_of_first)
    assert found.design_effect == pytest.approx(5, rel=0.01)
    single = components(np.arange(200), np.zeros(200, dtype=int), once, 2, share_of_first)
    assert single.design_effect == pytest.approx(1)
    same = components(question, question, np.zeros(1000, dtype=int), 2, share_of_first)
    assert same.design_effect is None


def test_with_few_raters_the_words_replace_the_interval() -> None:
    rows = made(study(1, questions=30, raters=5)).rows()
    found = estimate_with_raters(rows, WHO)
    assert (found.low, found.high) == (None, None)
    assert found.reason.startswith("conditional on these 5 raters")
    many = made(study(1, questions=30, raters=12)).rows()
    found = estimate_with_raters(many, WHO)
    assert found.reason == ""
    assert found.low is not None
    assert found.high is not None
    assert found.value is not None
    assert 0 <= found.low < found.value < found.high <= 1
    assert "11 degrees of freedom" in found.method
    assert row_components(many).raters == 12


def test_nothing_to_vary_gives_a_reason() -> None:
    always = made(units(*["a" * 12 + "/a"] * 5)).rows()
    found = estimate_with_raters(always, WHO)
    assert (found.value, found.low) == (1, None)
    assert found.reason == "no interval: the value is the same whatever is left out"
    kappa = estimate_with_raters(always, WHO, "alpha")
    assert (kappa.value, kappa.reason) == (
        None,
        "only one category occurs, so chance agreement is already 1",
    )
    one = made(units("a" * 6 + "b" * 6 + "/a")).rows()
    assert estimate_with_raters(one, WHO).reason == "no interval: fewer than two questions"


@pytest.mark.parametrize(("of_questions", "of_raters"), [(0.5, 0.5), (0.0, 0.5), (0.5, 0.0)])
def test_intervals_for_other_raters_cover(of_questions: float, of_raters: float) -> None:
    # 60 questions with 6 votes by some of 15 raters; both vary on a probit scale. Seeded:
    # 200 replicates have a standard error of 1.5 points at 95 %.
    rng = np.random.default_rng(3)
    truth = NormalDist().cdf(0.4 / (1 + of_questions**2 + of_raters**2) ** 0.5)
    covered = by_question = 0
    for _ in range(200):
        question = np.repeat(np.arange(60), 6)
        rater = np.concatenate([rng.choice(15, 6, replace=False) for _ in range(60)])
        leaning = rng.normal(0, of_questions, 60)[question] + rng.normal(0, of_raters, 15)[rater]
        # The vote is right when a standard normal draw falls under its leaning.
        kind = (rng.normal(size=360) > 0.4 + leaning).astype(np.int64)
        parts = components(question, rater, kind, 2, share_of_first)
        value = float((kind == 0).mean())
        found = two_way_estimate("x", value, parts, WHO, 360, level=0.95)
        assert found.low is not None
        assert found.high is not None
        assert parts.question is not None
        covered += found.low <= truth <= found.high
        by_question += abs(value - truth) <= 2 * parts.question**0.5
    assert covered >= 0.91 * 200
    if of_raters:
        assert by_question < 0.85 * 200, "resampling questions alone must be seen to fail here"
