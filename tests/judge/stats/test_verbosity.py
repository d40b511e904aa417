"""Shares of longer answers: by hand, joint resamples, laws."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from judge.stats.intervals import cluster_weights
from judge.stats.verbosity import (
    NO_LENGTH,
    NO_ROWS,
    NO_ROWS_HERE,
    NO_VALUE,
    ONE_LENGTH,
    TIE,
    Preferences,
    longer_curve,
    longer_curves,
    longer_difference,
    longer_share,
)

NAN = float("nan")
Row = tuple[str, float, float, float]
"""Question, score of a, length of a, length of b."""
ROWS: list[Row] = [
    ("1", 1.0, 200, 100),  # longer, 2 times
    ("1", 0.0, 100, 110),  # longer, 1.1 times
    ("2", 0.0, 140, 100),  # shorter, 1.4 times
    ("2", 1.0, 500, 0),  # longer, of an empty answer
    ("3", 0.5, 240, 100),  # tie, 2.4 times
    ("3", 1.0, 100, 100),
    ("3", 1.0, NAN, 100),
    ("3", NAN, 200, 100),
]
lengths = st.sampled_from([0.0, 100.0, 120.0, 180.0, 400.0, NAN])
some_rows = st.lists(
    st.tuples(st.sampled_from("123"), st.sampled_from([0.0, 0.5, 1.0, NAN]), lengths, lengths),
    max_size=20,
)


def preferences(rows: list[Row], model_a: str = "p", model_b: str = "q") -> Preferences:
    question, score, a, b = ([row[at] for row in rows] for at in range(4))
    names = [str(x) for x in question]
    return Preferences(
        names,
        [model_a] * len(rows),
        [model_b] * len(rows),
        np.array(score, dtype=np.float64),
        np.array(a, dtype=np.float64),
        np.array(b, dtype=np.float64),
    )


def test_share_by_hand() -> None:
    made = longer_share({"judge": preferences(ROWS)}, resamples=500)["judge"]
    assert (made.numerator, made.denominator, made.clusters) == (3, 4, 2)
    assert made.excluded == {NO_VALUE: 1, NO_LENGTH: 1, ONE_LENGTH: 1, TIE: 1}
    assert made.population == "judge"


def test_curve_by_hand() -> None:
    points = longer_curve(preferences(ROWS), "judge", resamples=50)
    assert [(x.least, x.most) for x in points][::4] == [(1.0, 1.25), (3.0, np.inf)]
    assert [x.longer.value for x in points] == [1.0, 0.0, None, 0.75, 1.0]
    assert [x.longer.n for x in points] == [1, 1, 0, 2, 1]
    assert points[2].longer.reason == NO_ROWS_HERE
    assert points[0].longer.excluded == {NO_VALUE: 1, NO_LENGTH: 1, ONE_LENGTH: 1}


def test_sources_share_their_resamples_and_unite_their_questions() -> None:
    rng = np.random.default_rng(4)
    rows: list[Row] = [
        (str(q), float(rng.integers(2)), float(rng.integers(1, 9)), 4.5)
        for q in range(12)
        for _ in range(5)
    ]
    some = [row for row in rows if row[0] in "01234567"]
    found = longer_share({"judge": preferences(rows), "people": preferences(some)}, resamples=300)
    weights = np.vstack(list(cluster_weights(12, resamples=300, seed=0)))
    order = sorted({row[0] for row in rows})
    for name, part in (("judge", rows), ("people", some)):
        drawn = []
        for weight in weights:
            times = dict(zip(order, weight.astype(int), strict=True))
            copies = [row for row in part for _ in range(times[row[0]])]
            drawn.append(np.mean([(s == 1) == (a > b) for _, s, a, b in copies]))
        assert (found[name].low, found[name].high) == pytest.approx(
            tuple(np.quantile(drawn, [0.025, 0.975])), abs=1e-12
        )


@pytest.mark.parametrize("rows", [[], [("1", 0.5, 1.0, 2.0)], [("1", 1.0, 2.0, 2.0)]])
def test_nothing_decisive(rows: list[Row]) -> None:
    made = longer_share({"judge": preferences(rows)}, resamples=9)["judge"]
    assert (made.value, made.reason, made.n) == (None, NO_ROWS, 0)


def test_no_curve_without_verdicts() -> None:
    assert longer_curve(preferences([]), "judge") == ()


@settings(deadline=None)
@given(some_rows)
def test_naming_and_order_change_nothing_and_losses_for_wins_mirror(rows: list[Row]) -> None:
    plain = longer_share({"x": preferences(rows)}, resamples=30)["x"]
    turned: list[Row] = [
        (q, 1 - s, b, a) if n % 2 else (q, s, a, b) for n, (q, s, a, b) in enumerate(rows)
    ]
    assert longer_share({"x": preferences(turned[::-1])}, resamples=30)["x"] == plain
    curve = longer_curve(preferences(rows), "x", resamples=30)
    assert longer_curve(preferences(turned[::-1], "q", "p"), "x", resamples=30) == curve
    mirrored = replace(preferences(rows), score=1 - np.asarray(preferences(rows).score))
    other = longer_share({"x": mirrored}, resamples=30)["x"]
    assert other.n == plain.n
    if plain.value is not None:
        assert other.value == pytest.approx(1 - plain.value)


def test_the_difference_is_that_of_the_shares_in_every_resample() -> None:
    rng = np.random.default_rng(4)
    sides: list[list[Row]] = [
        [
            (str(q), float(rng.integers(2)), float(rng.integers(1, 9)), float(rng.integers(9, 12)))
            for q in range(12)
            for _ in range(4)
        ]
        for _ in range(2)
    ]
    first, second = map(preferences, sides)
    made = longer_difference(first, second, "x", resamples=100, seed=2)
    shares = longer_share({"first": first, "second": second}, resamples=100, seed=2)
    assert made.value == pytest.approx((shares["first"].value or 0) - (shares["second"].value or 0))
    drawn = []
    clusters = sorted({row[0] for row in sides[0]})
    for weight in np.vstack(list(cluster_weights(12, resamples=100, seed=2))):
        times = dict(zip(clusters, weight, strict=True))
        both = []
        for side in sides:
            # The second answer is always the longer one.
            hits = sum(times[q] * (score == 0) for q, score, _, _ in side)
            both.append(hits / sum(times[q] for q, *_ in side))
        drawn.append(both[0] - both[1])
    low, high = np.quantile(drawn, [0.025, 0.975])
    assert made.low == pytest.approx(low)
    assert made.high == pytest.approx(high)


def test_a_difference_needs_both_shares() -> None:
    ties = preferences([("1", 0.5, 200, 100)])
    for first, second in ((preferences(ROWS), ties), (ties, preferences(ROWS))):
        assert longer_difference(first, second, "x", resamples=9).reason == NO_ROWS


def test_curves_of_several_sources_are_each_curve_alone() -> None:
    sources = {"judge": preferences(ROWS), "people": preferences(ROWS[:5])}
    together = longer_curves(sources, resamples=50)
    assert together["judge"] == longer_curve(sources["judge"], "judge", resamples=50)
    values = [point.longer.value for point in together["people"]]
    alone = longer_curve(sources["people"], "people", resamples=50)
    assert values == [point.longer.value for point in alone]
