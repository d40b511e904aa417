"""The matched human reference: the same pairs of votes for people and for the judge."""

from __future__ import annotations

from itertools import combinations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from judge.stats.joint import estimates
from judge.stats.matched import Weighting, matched_figures, unmatched_figures
from tests.judge.stats.tables import WHO, made, row, units

texts = st.lists(st.builds("{}/{}".format, st.text("abt", max_size=4), st.sampled_from("abt")))


def test_by_hand() -> None:
    # q0 "aab", judge a: pairs aa ab ab → people 1 of 3; judge (2 + 1 + 1) / 2 = 2 of 3
    # q1 "tt", judge a: people 1 of 1, judge 0 of 1
    # q2 "a": alone; q3 "ab": not judged
    study = made(units("aab/a", "tt/a", "a/a", "ab"))
    found = matched_figures(study.votes, study.verdicts, "S1", study.questions, WHO)
    assert found["human-human"].value() == pytest.approx(2 / 4)
    assert found["judge-human"].value() == pytest.approx(2 / 4)
    assert found["difference"].value() == 0
    assert found["difference"].excluded == {"not judged": 2, "only vote of its unit": 1}
    assert (found["human-human"].numerator, found["human-human"].denominator) == (2, 4)
    assert found["judge-human"].numerator is None
    each = matched_figures(study.votes, study.verdicts, "S1", study.questions, WHO, Weighting.UNITS)
    assert each["human-human"].value() == pytest.approx((1 / 3 + 1) / 2)
    assert each["judge-human"].value() == pytest.approx((2 / 3 + 0) / 2)


def test_s2_takes_the_rows_on_which_all_three_name_a_winner() -> None:
    # q1: the judge says tie, so people's agreement there must not count either.
    study = made(units("aabt/a", "bb/t", "at/a"))
    found = matched_figures(study.votes, study.verdicts, "S2", study.questions, WHO)
    assert found["human-human"].value() == pytest.approx(1 / 3)
    assert found["judge-human"].value() == pytest.approx(2 / 3)
    assert found["judge-human"].n == 3
    assert found["difference"].excluded == {
        "the judge says tie": 2,
        "tie or both_bad vote": 2,
        "only vote of its unit": 1,
    }
    loose = unmatched_figures(study.votes, study.verdicts, "S2", study.questions, WHO)
    assert loose["human-human"].value() == pytest.approx(2 / 4)


@pytest.mark.parametrize("weighting", Weighting)
def test_the_difference_alone_is_corrected_for_skew(weighting: Weighting) -> None:
    # In benchmarks/coverage.py plain percentiles of the difference held too seldom.
    study = made(units(*["aab/a", "abb/a", "aaa/b", "ab/b"] * 8))
    found = matched_figures(study.votes, study.verdicts, "S2", study.questions, WHO, weighting)
    made_from = estimates(found, len(study.questions), level=0.95, resamples=200, seed=1)
    corrected = {name for name, one in made_from.items() if "(BCa)" in one.method}
    assert corrected == {"difference"}


@settings(max_examples=40)
@given(texts, st.sampled_from(["S1", "S2"]))
def test_it_equals_putting_the_judge_into_the_place_of_either_vote(
    words: list[str], setup: str
) -> None:
    if not words:
        return
    people = judge = 0.0
    rows = 0
    for text in words:
        votes, _, verdict = text.partition("/")
        for one, other in combinations(votes, 2):
            if setup == "S2" and "t" in (one, other, verdict):
                continue
            rows += 1
            people += one == other
            judge += ((one == verdict) + (other == verdict)) / 2
    study = made(units(*words))
    found = matched_figures(study.votes, study.verdicts, setup, study.questions, WHO)
    assert {one.n for one in found.values()} == {rows}
    used = len(study.votes.rows) - sum(found["difference"].excluded.values())
    assert used >= 0
    if rows:
        assert found["human-human"].value() == pytest.approx(people / rows)
        assert found["judge-human"].value() == pytest.approx(judge / rows)
        assert found["difference"].value() == pytest.approx((judge - people) / rows, abs=1e-12)
    else:
        assert all(one.value() is None for one in found.values())


def test_unmatched_is_all_rows_of_each_comparison() -> None:
    study = made(units("aab/a", "tt/a", "a/a", "ab"))
    found = unmatched_figures(study.votes, study.verdicts, "S1", study.questions, WHO)
    assert (found["judge-human"].numerator, found["judge-human"].denominator) == (3, 6)
    assert (found["human-human"].numerator, found["human-human"].denominator) == (2, 5)
    assert found["difference"].value() == pytest.approx(3 / 6 - 2 / 5)
    assert (found["judge-human"].n, found["human-human"].n) == (6, 5)


def test_the_intervals_are_of_one_joint_bootstrap() -> None:
    # The judge is always one of two raters who part on every other question: whatever is
    # drawn, the gap is 0 or more, and far narrower than either share's interval.
    study = made(units(*["aa/a", "ab/a"] * 20))
    figures = matched_figures(study.votes, study.verdicts, "S1", study.questions, WHO)
    found = estimates(figures, 40, level=0.95, resamples=500, seed=7)
    gap, judge, human = (found[n] for n in ("difference", "judge-human", "human-human"))
    assert gap.value == pytest.approx(0.25)
    assert gap.low is not None
    assert gap.high is not None
    assert human.low is not None
    assert human.high is not None
    assert gap.low > 0
    assert gap.high - gap.low < 0.6 * (human.high - human.low)
    assert judge.value == pytest.approx(0.75)


def test_without_a_unit_of_two_votes_the_reason_stands() -> None:
    study = made(units("a/a", "b/b"))
    for setup, reason in (
        ("S1", "no judged unit has two votes"),
        ("S2", "no unit has two votes and a verdict that name a winner"),
    ):
        found = matched_figures(study.votes, study.verdicts, setup, study.questions, WHO)
        for one in estimates(found, 2, level=0.95, resamples=100, seed=1).values():
            assert (one.value, one.reason, one.n) == (None, reason, 0)
    failed = made([row("q0", "r", "a"), row("q0", "judge", None, status="refused")])
    found = matched_figures(failed.votes, failed.verdicts, "S1", failed.questions, WHO)
    assert found["difference"].excluded == {"refused": 1}
