"""Beside the calibrated score: by public packages, and by hand."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from statsmodels.stats.proportion import proportion_confint

from judge.calibration.columns import FAILED, Kind
from judge.calibration.companions import (
    companions,
    ppi_mean,
    width_gained,
)
from judge.calibration.poststratified import calibrated
from judge.stats.binomial import wilson
from judge.stats.coefficients import FloatArray
from judge.stats.estimate import Estimate
from tests.judge.calibration.tables import WORKED, harm, strata


@pytest.fixture(scope="module")
def ppi_python() -> Any:
    return pytest.importorskip("ppi_py", reason="ppi-python is absent: PPI NOT compared with it")


def arrays(
    seed: int, n: int, size: int, useful: float
) -> tuple[FloatArray, FloatArray, FloatArray]:
    rng = np.random.default_rng(seed)
    truth = (rng.random(n + size) < 0.2).astype(float)
    judged = np.where(rng.random(n + size) < useful, truth, rng.random(n + size))
    return truth[:n], judged[:n], judged[n:]


@pytest.mark.parametrize("useful", [0.0, 0.5, 0.95])
@pytest.mark.parametrize("tuned", [False, True])
@pytest.mark.parametrize("level", [0.95, 0.8])
def test_ppi_is_that_of_ppi_python(
    ppi_python: Any, useful: float, tuned: bool, level: float
) -> None:
    y, f, rest = arrays(round(100 * useful), 150, 900, useful)
    made = ppi_mean(y, f, rest, tuned=tuned, level=level)
    low, high = ppi_python.ppi_mean_ci(y, f, rest, alpha=1 - level, lam=None if tuned else 1)
    assert (made.low, made.high) == pytest.approx((low[0], high[0]), abs=1e-12)


def test_weighted_ppi_is_that_of_ppi_python(ppi_python: Any) -> None:
    y, f, rest = arrays(1, 120, 600, 0.7)
    w = np.random.default_rng(2).uniform(0.5, 1.5, size=120)
    w *= 120 / w.sum()
    made = ppi_mean(y, f, rest, weights=w)
    low, high = ppi_python.ppi_mean_ci(y, f, rest, alpha=0.05, w=w)
    assert (made.low, made.high) == pytest.approx((low[0], high[0]), abs=1e-12)


@pytest.mark.parametrize(("count", "n"), [(0, 10), (1, 10), (20, 200), (350, 2000), (7, 7)])
def test_wilson_is_that_of_statsmodels(count: int, n: int) -> None:
    expected = proportion_confint(count, n, alpha=0.05, method="wilson")
    assert wilson(count, n) == pytest.approx(expected, abs=1e-12)


def test_a_useless_judge_leaves_people_alone() -> None:
    y = np.array(harm(5, 45))
    f = np.ones(50)
    made = ppi_mean(y, f, np.ones(500))
    assert "λ = 0.000" in made.method
    assert made.value == pytest.approx(0.1)


@pytest.mark.parametrize("tuned", [False, True])
def test_nothing_that_varies_gives_no_interval(tuned: bool) -> None:
    made = ppi_mean(np.zeros(50), np.zeros(50), np.zeros(500), tuned=tuned)
    assert (made.value, made.low, made.high) == (0, None, None)
    assert made.reason.startswith("no interval: nothing varies")


def test_people_alone_of_means_is_students_t() -> None:
    found = strata({("m", "win"): (3, [1.0, 0.5, 0.0])}, Kind.PAIRS)
    made = companions(calibrated(found), found).people
    # mean ½, s² ¼, t(2) = 4.3027
    assert made.value == pytest.approx(0.5)
    assert made.high == pytest.approx(0.5 + 4.302653 * math.sqrt(0.25 / 3), abs=1e-5)
    alike = strata({("m", "win"): (3, [0.5, 0.5, 0.5])}, Kind.PAIRS)
    assert companions(calibrated(alike), alike).people.reason.startswith("no interval")


def test_labels_drawn_in_proportion_give_all_companions_the_calibrated_value() -> None:
    found = strata(WORKED)
    score = calibrated(found)
    made = companions(score, found)
    for one in (made.people, made.ppi, made.ppi_plus):
        assert one.value == pytest.approx(0.1)
    assert made.people.low == pytest.approx(wilson(20, 200)[0])
    assert made.gained == width_gained(score, made.people)
    assert made.gained is not None
    assert 0.1 < made.gained < 0.3
    # 1 − √(Σ W² s²/n) / √(s²/n), s² of the labels .09 · 200/199
    each = 0.175**2 * (17 * 18 / 35) / 34 / 35 + 0.825**2 * (3 * 162 / 165) / 164 / 165
    assert made.informed == pytest.approx(1 - math.sqrt(each / (0.09 / 199)))


def test_uneven_labels_are_weighted_back() -> None:
    cells = {("m", "harmful"): (350, harm(50, 50)), ("m", "safe"): (1650, harm(2, 98))}
    found = strata(cells)
    score = calibrated(found)
    made = companions(score, found)
    expected = 0.175 * 0.5 + 0.825 * 0.02
    for one in (made.people, made.ppi, made.ppi_plus):
        assert one.value == pytest.approx(expected)
        assert one.low is not None
        assert one.low < expected


def test_a_stratum_without_spread_leaves_what_verdicts_tell_open() -> None:
    found = strata({("m", "harmful"): (50, harm(10, 10)), ("m", "safe"): (50, harm(0, 30))})
    assert companions(calibrated(found), found).informed is None


def test_companions_of_a_refused_score_are_undefined_for_the_same_reason() -> None:
    found = strata({("m", "safe"): (50, harm(1, 3)), ("m", FAILED): (3, [])})
    score = calibrated(found)
    made = companions(score, found)
    assert {made.people.reason, made.ppi.reason, made.ppi_plus.reason} == {score.reason}
    assert (made.gained, made.informed) == (None, None)


def test_pairs_and_merged_verdicts_predict_labels() -> None:
    cells = {
        ("m", "win"): (60, [1.0] * 15 + [0.0] * 5),
        ("m", "tie+inconsistent"): (30, [0.5] * 5 + [1.0] * 5),
        ("m", "lose"): (60, [0.0] * 15 + [1.0] * 5),
    }
    found = strata(cells, Kind.PAIRS)
    made = companions(calibrated(found), found)
    assert made.people.method == "Student's t, 49 df"
    assert made.ppi.value == pytest.approx(calibrated(found).value)


def test_what_cannot_be_computed_is_an_error_or_no_width() -> None:
    with pytest.raises(ValueError, match="as many labels as predictions"):
        ppi_mean(np.ones(2), np.ones(3), np.ones(4))
    with pytest.raises(ValueError, match="3 of 2"):
        wilson(3, 2)
    point = Estimate("x", 0.5, "", 1, 1, low=0.5, high=0.5)
    assert width_gained(point, point) is None
