"""The right rate from the wrong items, and verdicts kept only where the judge is sure."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from judge.calibration.columns import FAILED, Kind
from judge.calibration.selective import risk_upper, selective
from judge.calibration.wrong_items import wrong_items
from judge.stats.binomial import clopper_pearson
from tests.judge.calibration.tables import harm, strata

JUDGES = {
    "a coin": ((50, harm(10, 10)), (50, harm(10, 10)), True),
    "good": ((50, harm(19, 1)), (50, harm(1, 19)), False),
    "wrong one way only": ((50, harm(6, 14)), (50, harm(0, 20)), False),
}


@pytest.mark.parametrize("case", JUDGES.values(), ids=JUDGES)
def test_right_rate_wrong_items(case: Any) -> None:
    harmful, safe, warns = case
    made = wrong_items(strata({("m", "harmful"): harmful, ("m", "safe"): safe}))[0]
    assert made.warns is warns
    false_alarms, missed = (sum(1 - y for y in harmful[1]) / 40, sum(safe[1]) / 40)
    assert (made.false_alarms, made.missed) == pytest.approx((false_alarms, missed))
    assert made.net == pytest.approx(false_alarms - missed)


@pytest.mark.parametrize(
    ("harmful", "words"),
    [
        (harm(11, 9), "m: right rate, wrong items: the judge's rate is off by"),
        (harm(16, 4), "m: wrong items behind the rate: it is off by −15.0 points"),
    ],
)
def test_a_rate_that_is_off_is_not_called_right(harmful: Any, words: str) -> None:
    cells = {("m", "harmful"): (50, harmful), ("m", "safe"): (50, harm(10, 10))}
    (made,) = wrong_items(strata(cells))
    assert made.warns
    assert words in made.words()


def test_failures_are_no_wrong_verdicts_and_models_stand_alone() -> None:
    cells = {
        ("a", "harmful"): (50, harm(10, 10)),
        ("a", "safe"): (50, harm(10, 10)),
        ("a", FAILED): (30, harm(30, 0)),
        ("b", "safe"): (50, harm(0, 20)),
        ("c", "safe"): (50, []),
    }
    found = {one.model: one for one in wrong_items(strata(cells))}
    assert sorted(found) == ["a", "b"]
    assert found["a"].wrong == pytest.approx(0.5)
    assert "50 % of its verdicts are wrong" in found["a"].words()
    with pytest.raises(ValueError, match="expected harm"):
        wrong_items(strata({("a", "win"): (5, [1.0])}, Kind.PAIRS))


def test_the_bound_is_one_side_of_clopper_and_pearsons() -> None:
    assert risk_upper(12, 200, 0.1) == pytest.approx(clopper_pearson(12, 200, 0.8)[1])
    assert risk_upper(0, 10, 0.1) == pytest.approx(1 - 0.1**0.1)
    assert (risk_upper(3, 3), risk_upper(0, 0)) == (1, 1)
    with pytest.raises(ValueError, match="expected a count"):
        risk_upper(4, 3)


def graded(sure: list[tuple[float, int, int]]) -> dict[str, Any]:
    """(confidence, units, wrong among them)."""
    confidence = [c for c, n, _ in sure for _ in range(n)]
    wrong = [i < k for _, n, k in sure for i in range(n)]
    return {
        "confidence": np.array(confidence),
        "wrong": np.array(wrong),
        "questions": [str(i) for i in range(len(wrong))],
    }


def test_the_least_sure_threshold_before_the_first_that_fails() -> None:
    # .9: 1 of 100, .8: 6 of 200, .7: 56 of 300 fails; .6 would do, and is never tested.
    data = graded([(0.9, 100, 1), (0.8, 100, 5), (0.7, 100, 50), (0.6, 3000, 0)])
    made = selective(**data, promise=0.1, thresholds=[0.6, 0.7, 0.8, 0.9])
    assert made.chosen is not None
    assert (made.chosen.confidence, made.chosen.kept, made.chosen.wrong) == (0.8, 200, 6)
    assert made.chosen.coverage == pytest.approx(200 / 3300)
    assert [one.confidence for one in made.tested] == [0.9, 0.8, 0.7]
    assert made.chosen.upper == risk_upper(6, 200)


def test_abstain_everywhere_where_not_even_the_strictest_holds() -> None:
    made = selective(**graded([(0.9, 20, 0)]), promise=0.05)
    assert made.chosen is None
    assert made.tested[0].upper > 0.05


def test_units_of_a_question_count_once() -> None:
    data = graded([(0.9, 40, 0)])
    data["questions"] = [str(i // 10) for i in range(40)]
    made = selective(**data, promise=0.5, thresholds=[0.9])
    assert made.tested[0].kept == 4
    assert made.warnings == ("40 units of 4 questions: one per question was used",)


def test_people_below_the_promise_are_warned_of() -> None:
    made = selective(**graded([(0.9, 100, 0)]), promise=0.1, reference=0.3)
    assert "people contradict each other on 30.0 %" in made.warnings[0]
    assert not selective(**graded([(0.9, 100, 0)]), promise=0.1, reference=0.05).warnings


def test_the_promise_is_broken_no_more_often_than_promised() -> None:
    # Risk falls with confidence; at .5 it is .14, at .75 .105, above .8 below .1.
    rng = np.random.default_rng(5)
    broken = 0
    for seed in range(300):
        sure = rng.random(400)
        wrong = rng.random(400) < 0.28 * (1 - sure)
        made = selective(sure, wrong, [str(i) for i in range(400)], 0.05, seed=seed)
        if made.chosen is not None:
            # mean risk above the threshold: .28 (1 − c) / 2
            broken += 0.14 * (1 - made.chosen.confidence) > 0.05
    assert broken / 300 <= 0.1


@pytest.mark.parametrize("promise", [0.0, 1.0, 5.0])
def test_wrong_settings(promise: float) -> None:
    with pytest.raises(ValueError, match="expected a risk between 0 and 1"):
        selective(**graded([(0.9, 10, 0)]), promise=promise)
    with pytest.raises(ValueError, match="expected as many of each"):
        selective(np.ones(2), np.ones(1, dtype=bool), ["a", "b"], 0.1)
