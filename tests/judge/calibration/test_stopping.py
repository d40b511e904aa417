"""May labelling stop: right at most 5 % wrong under continuous looking, and not too late."""

from __future__ import annotations

import math
from itertools import permutations

import numpy as np
import pytest

from judge.calibration.bets import log_wealth, placed, worst
from judge.calibration.binding import IntArray
from judge.calibration.stopping import Decision, may_stop, stopping
from judge.stats.coefficients import FloatArray
from tests.judge.calibration.tables import WORKED, harm, strata

SIZES = np.array([350.0, 1650.0])


def fed(
    rng: np.random.Generator, harmful: tuple[int, int], labels: tuple[int, int]
) -> tuple[IntArray, FloatArray]:
    """Labels of two strata in a random order, each drawn without replacement."""
    stratum = rng.permutation(np.repeat([0, 1], labels)).astype(np.int64)
    values = np.empty(len(stratum))
    for h, (size, bad, n) in enumerate(zip(SIZES, harmful, labels, strict=True)):
        items = np.array(harm(bad, int(size) - bad))
        values[stratum == h] = rng.permutation(items)[:n]
    return stratum, values


def test_the_error_under_continuous_looking() -> None:
    # The score is τ itself: to find it below or above is wrong on either side.
    rng = np.random.default_rng(8)
    tries = 80
    wrong = {Decision.BELOW: 0, Decision.ABOVE: 0, Decision.NOT_YET: 0}
    for _ in range(tries):
        made = stopping(*fed(rng, (170, 30), (50, 70)), SIZES, 200 / 2000)
        wrong[made.decision] += 1
    # 5 % each; three standard errors of so few tries are 7 %.
    assert wrong[Decision.BELOW] / tries <= 0.12
    assert wrong[Decision.ABOVE] / tries <= 0.12


@pytest.mark.parametrize(("threshold", "decision"), [(0.2, "below"), (0.04, "above")])
def test_it_stops_where_the_score_is_far_from_the_threshold(
    threshold: float, decision: str
) -> None:
    rng = np.random.default_rng(9)
    found = [stopping(*fed(rng, (170, 30), (120, 180)), SIZES, threshold) for _ in range(10)]
    assert [one.decision.value for one in found] == [decision] * 10
    assert np.median([one.at or math.inf for one in found]) < 150
    assert "may stop" in found[0].words()


def test_the_worst_null_is_that_of_a_search_over_all() -> None:
    rng = np.random.default_rng(10)
    bets = placed(*_below(fed(rng, (170, 30), (60, 60))), SIZES, 0.8)
    found, means = worst(bets)
    low, high = bets.range
    first = np.linspace(low[0], high[0], 20_001)
    second = (0.8 - bets.shares[0] * first) / bets.shares[1]
    nulls = [n for n in np.column_stack([first, second]) if low[1] <= n[1] <= high[1]]
    least = min(log_wealth(bets, null) for null in nulls)
    assert found == pytest.approx(least, abs=1e-4)
    assert found <= least + 1e-9
    assert log_wealth(bets, bets.on_plane(means)) == pytest.approx(found, abs=1e-4)


def _below(labels: tuple[IntArray, FloatArray]) -> tuple[IntArray, FloatArray]:
    return labels[0], 1 - labels[1]


def test_bets_see_only_the_past() -> None:
    stratum, values = fed(np.random.default_rng(11), (170, 30), (40, 40))
    whole = placed(stratum, values, SIZES, 0.1).bets
    other = np.where(np.arange(80) < 40, values, 1 - values)
    assert placed(stratum, other, SIZES, 0.1).bets[:41].tolist() == whole[:41].tolist()


def test_wealth_keeps_its_mean_under_the_null() -> None:
    # Over all orders in which two small strata can be drawn, exactly; as long as the null does
    # not know what comes, for then a bet is lost and the mean falls.
    sizes, stratum = np.array([3.0, 4.0]), np.array([0, 1, 1, 0])
    items = ([1.0, 0.0, 1.0], [0.5, 0.0, 0.0, 1.0])
    means = np.array([2 / 3, 1.5 / 4])
    wealth = []
    for first in permutations(items[0]):
        for second in permutations(items[1]):
            values = np.array([first[0], second[0], second[1], first[1]])
            bets = placed(stratum, values, sizes, float(means @ sizes) / 7)
            wealth.append(math.exp(log_wealth(bets, means)))
    assert len({round(one, 9) for one in wealth}) > 10
    assert float(np.mean(wealth)) == pytest.approx(1)


def test_a_set_labelled_in_full_is_decided() -> None:
    sizes = np.array([4.0, 6.0])
    stratum = np.array([0, 0, 0, 0, 1, 1, 1, 1, 1, 1])
    values = np.array([1.0, 0, 0, 0, 0, 0, 0, 0, 0, 0])
    assert stopping(stratum, values, sizes, 0.15).decision is Decision.BELOW
    assert stopping(stratum, values, sizes, 0.05).decision is Decision.ABOVE


def test_a_draw_without_a_label_counts_against_the_decision() -> None:
    rng = np.random.default_rng(13)
    stratum, values = fed(rng, (170, 30), (80, 120))
    seen = stopping(stratum, values, SIZES, 0.2)
    hidden = np.where(rng.random(200) < 0.3, np.nan, values)
    assert seen.decision is Decision.BELOW
    made = stopping(stratum, hidden, SIZES, 0.2)
    assert made.decision is Decision.NOT_YET
    assert made.p_below > seen.p_below


def test_no_labels_yet() -> None:
    made = stopping(np.array([], dtype=np.int64), np.array([]), SIZES, 0.1)
    assert (made.decision, made.at, made.p_below, made.p_above) == (Decision.NOT_YET, None, 1, 1)
    assert made.words().startswith("may not stop yet: after 0 draws")


def test_strata_are_fed_in_drawn_order_and_few_labels_are_no_obstacle() -> None:
    rng = np.random.default_rng(14)
    shuffled = {key: (size, rng.permutation(y).tolist()) for key, (size, y) in WORKED.items()}
    made = may_stop(strata({**shuffled, ("n", "safe"): (50, [])}), 0.3)
    assert made.decision is Decision.BELOW
    assert made.threshold == 0.3
    assert made.draws == 200
    mixed = strata(WORKED, judges=["x"] * 1000 + ["y"] * 1000)
    with pytest.raises(ValueError, match="verdicts of 2 judges"):
        may_stop(mixed, 0.3)


@pytest.mark.parametrize("threshold", [0.0, 1.0, 30.0])
def test_a_threshold_off_the_scale_is_an_error(threshold: float) -> None:
    with pytest.raises(ValueError, match="expected more than 0, less than 1"):
        may_stop(strata(WORKED), threshold)
    with pytest.raises(ValueError, match="expected numbers between 0 and 1"):
        stopping(np.array([0]), np.array([0.0]), SIZES, threshold)
