"""Relative reductions and drops of raw values, never without the values they are between."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from statsmodels.stats.proportion import confint_proportions_2indep, proportion_confint

from judge.stats.changes import (
    HYPOTHETICAL,
    MOVER,
    NOTHING,
    Change,
    change_of_counts,
    change_of_intervals,
    published_change,
    share_words,
)
from judge.stats.estimate import Estimate
from tests.judge.stats.holding import held


@pytest.mark.parametrize(("before", "after"), [((71, 100), (42, 100)), ((30, 200), (12, 150))])
def test_the_log_risk_ratio_is_that_of_statsmodels(before: Any, after: Any) -> None:
    made = change_of_counts(before, after, "x").relative
    low, high = confint_proportions_2indep(
        *after, *before, compare="ratio", method="log", correction=False
    )
    assert (made.low, made.high) == pytest.approx((1 - high, 1 - low), abs=1e-12)


@pytest.mark.parametrize(("before", "after"), [((71, 100), (42, 100)), ((3, 20), (0, 15))])
def test_the_drop_is_newcombes_as_in_statsmodels(before: Any, after: Any) -> None:
    made = change_of_counts(before, after, "x").drop
    low, high = confint_proportions_2indep(*before, *after, compare="diff", method="newcomb")
    assert (made.low, made.high) == pytest.approx((low, high), abs=1e-9)


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
    "more": (
        change_of_counts((1, 10), (2, 10), "x"),
        True,
        "−100.0 % relative (10 % → 20 %)",
    ),
    "refused": (
        change_of_counts((2, 10), (1, 10), "x").refused("not compared: apart"),
        True,
        "relative reduction not compared: apart (20 % → 10 %)",
    ),
}


@pytest.mark.parametrize("case", WORDS.values(), ids=WORDS)
def test_never_bare(case: tuple[Change, bool, str]) -> None:
    made, percent, words = case
    assert made.words(percent=percent) == words


def test_a_refused_change_keeps_both_values_and_no_figure_between_them() -> None:
    made = change_of_counts((2, 10), (1, 10), "x").refused("not compared: apart")
    assert (made.before.value, made.after.value) == (0.2, 0.1)
    for one in (made.relative, made.drop):
        assert (one.value, one.low, one.high, one.method) == (None, None, None, "")
        assert one.reason == "not compared: apart"


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


def test_from_all_to_none_the_interval_holds_the_drop() -> None:
    made = change_of_counts((50, 50), (0, 50), "x").drop
    assert (made.value, made.high) == (1, 1)
    assert made.low is not None
    assert 0.85 < made.low < 0.95


def test_both_intervals_with_their_correlation_as_in_a_published_example() -> None:
    # As above: Newcombe's square-and-add, −.0621 [−.1186, −.0046], whose phi is corrected for
    # continuity by half of all; and MOVER, [.7592, .9866], whose is not.
    first, second = (
        between(count / 161, *map(float, proportion_confint(count, 161, method="wilson")))
        for count in (75, 65)
    )
    # 75 of 161 patients after therapy, 65 before it; here the first value is the greater one.
    drop, made = (
        change_of_intervals(first, second, above / math.sqrt(65 * 96 * 75 * 86))
        for above in (59 * 80 - 6 * 16 - 161 / 2, 59 * 80 - 6 * 16)
    )
    assert (drop.drop.low, drop.drop.high) == pytest.approx((0.0046, 0.1186), abs=5e-5)
    assert (made.relative.low, made.relative.high) == pytest.approx(
        (1 - 0.9866, 1 - 0.7592), abs=5e-5
    )
    apart = change_of_intervals(first, second).drop
    assert wide(apart) > 1.5 * wide(made.drop)


ALIKE = [((50, 50), (50, 50)), ((0, 7), (0, 7)), ((1, 1), (1, 1)), ((3, 3), (0, 4))]


@pytest.mark.parametrize("counts", ALIKE)
def test_shares_at_their_ends_still_have_a_width(counts: Any) -> None:
    made = change_of_counts(counts[0], counts[1], "x")
    figures = [made.drop] if counts[0][0] == 0 else [made.drop, made.relative]
    for one in figures:
        assert one.value is not None
        assert held(one, one.value)
        assert wide(one) > 0.05
    if counts[0] == counts[1]:
        assert made.drop.low == -(made.drop.high or 0)


@pytest.mark.parametrize("counts", [((4, 20), (9, 20)), ((18, 20), (16, 20)), ((9, 20), (17, 20))])
def test_with_few_in_a_cell_the_log_risk_ratio_is_not_taken(counts: Any) -> None:
    made = change_of_counts(counts[0], counts[1], "x")
    assert made.relative.method == made.drop.method == MOVER


CLOSE = [(10, 0.95, 0.9), (20, 0.95, 0.9), (40, 1.0, 0.9), (50, 0.3, 0.1), (200, 0.05, 0.02)]


@pytest.mark.parametrize("world", CLOSE)
def test_independent_sets_hold(world: tuple[int, float, float]) -> None:
    n, first, second = world
    rng, hits, asked = np.random.default_rng(3), [0, 0], 0
    for before, after in zip(
        rng.binomial(n, first, 400).tolist(), rng.binomial(n, second, 400).tolist(), strict=True
    ):
        if not before:
            continue
        asked += 1
        made = change_of_counts((before, n), (after, n), "x")
        hits[0] += made.relative.low is None or held(made.relative, 1 - second / first)
        hits[1] += held(made.drop, first - second)
    assert min(hits) >= 0.925 * asked


def test_counts_that_are_none_are_an_error() -> None:
    with pytest.raises(ValueError, match="5 of 4"):
        change_of_counts((5, 4), (1, 4), "x")


QUOTED = {
    0.71: "71 %", 0.305: "30.5 %", 0.0: "0 %", 1.0: "100 %", 0.9996: "99.96 %", 0.0002: "0.02 %",
    0.00000012: "1.2e-05 %", 0.083333: "8.3 %",
}  # fmt: skip


@pytest.mark.parametrize("share", QUOTED)
def test_a_share_reads_as_it_is_quoted(share: float) -> None:
    assert share_words(share) == QUOTED[share]


def wide(one: Estimate) -> float:
    assert one.low is not None
    assert one.high is not None
    return one.high - one.low


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
        "no interval: the first value's interval begins at 0",
    ),
    "no interval": (
        between(0.1, None, None),
        between(0.02, 0.01, 0.04),
        None,
        "no interval: x",
    ),
    "nothing before": (between(0.0, 0.0, 0.1), between(0.1, 0.0, 0.2), None, NOTHING),
    "nothing after, and the first may be 0": (
        between(0.1, 0.0, 0.3),
        between(0.0, 0.0, 0.1),
        None,
        "no interval: the first value's interval begins at 0",
    ),
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
        change = change_of_intervals(ends[0], ends[1])
        hits[0] += held(change.relative, 0.75)
        hits[1] += held(change.drop, 0.15)
    assert min(hits) >= 0.92 * 500
