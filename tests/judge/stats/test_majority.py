"""People as one voice: plurality, splits, and win rates as four sources see them."""

from __future__ import annotations

import pytest

from judge.stats.majority import majority_figures, plurality, win_rate_figures
from tests.judge.stats.tables import WHO, made, row, units


@pytest.mark.parametrize(
    ("votes", "code", "split"),
    [
        ("a", 0, 0),
        ("b", 2, 0),
        ("aab", 0, 0),
        ("abb", 2, 0),
        ("ttb", 1, 0),
        ("tx", 1, 0),
        ("ab", 1, 1),
        ("at", 1, 1),
        ("bt", 1, 1),
        ("abt", 1, 1),
        ("aabb", 1, 1),
        ("aattb", 1, 1),
    ],
)
def test_the_outcome_of_most_votes_and_a_split_is_a_tie(votes: str, code: int, split: int) -> None:
    (found,) = plurality(made(units(votes)).votes).rows.to_dict("records")
    assert (found["code"], found["split"], found["votes"]) == (code, split, len(votes))


def test_units_with_few_votes_can_be_left_out() -> None:
    votes = made(units("a", "ab", "aab")).votes
    assert plurality(votes, at_least=2).rows["votes"].tolist() == [2, 3]


def test_judge_beside_the_plurality_by_hand() -> None:
    # plurality a, b, tie (split), a; judge a, a, tie, tie
    study = made(units("aab/a", "bb/a", "ab/t", "a/t"))
    found = majority_figures(study.votes, study.verdicts, "S1", study.questions, WHO)
    agreement = found["agreement"]
    assert (agreement.numerator, agreement.denominator) == (2, 4)
    s2 = majority_figures(study.votes, study.verdicts, "S2", study.questions, WHO)["agreement"]
    assert (s2.numerator, s2.denominator) == (1, 2)
    several = majority_figures(study.votes, study.verdicts, "S1", study.questions, WHO, at_least=2)[
        "agreement"
    ]
    assert (several.numerator, several.denominator) == (2, 3)


def test_undefined_says_why() -> None:
    study = made(units("ab/a"))
    found = majority_figures(study.votes, study.verdicts, "S2", study.questions, WHO)
    assert {one.value() for one in found.values()} == {None}
    assert {one.undefined for one in found.values()} == {
        "on no unit do the plurality of votes and the judge both name a winner"
    }


def test_win_rates_of_four_sources_on_the_units_they_speak_of() -> None:
    # alder against birch, once called a and once b; cedar only by the judge.
    rows = [
        row("0:alder-birch", "r0", "a"),
        row("0:alder-birch", "r1", "a"),
        row("0:alder-birch", "r2", "b"),
        row("0:alder-birch", "judge", "b"),
        row("1:birch-alder", "r0", "b"),
        row("1:birch-alder", "r1", "tie"),
        row("1:birch-alder", "judge", "tie"),
        row("2:alder-birch", "judge", "a"),
        row("3:alder-birch", "r0", "b"),
        row("3:alder-birch", "judge", None, status="timeout"),
        row("4:birch-cedar", "judge", "b"),
        row("5:alder-cedar", "judge", "a"),
        row("6:birch-birch", "judge", "a"),
    ]
    study = made(rows)
    found = win_rate_figures(study.votes, study.verdicts, "birch", study.questions, WHO)
    values = {key: one.value() for key, one in found.items()}
    assert values == {
        # 0, ½ and 1 on questions 0, 1, 2; question 3 failed
        ("alder", "judge, all units"): pytest.approx(0.5),
        ("alder", "judge, units with votes"): pytest.approx(0.25),
        # 1 on question 0; a split of win and tie, so ½, on question 1
        ("alder", "plurality of votes"): pytest.approx(0.75),
        ("alder", "a random rater"): pytest.approx((2 / 3 + 3 / 4) / 2),
        ("cedar", "judge, all units"): 1.0,
        ("cedar", "judge, units with votes"): None,
        ("cedar", "plurality of votes"): None,
        ("cedar", "a random rater"): None,
    }
    assert found["alder", "plurality of votes"].n == 2
    assert found["cedar", "a random rater"].undefined == "no unit of cedar against birch"
