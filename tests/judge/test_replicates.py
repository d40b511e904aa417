"""A judge against itself."""

from __future__ import annotations

from math import isclose, sqrt
from statistics import pstdev

import pytest
from hypothesis import given
from hypothesis import strategies as st

from judge.stats.replicates import Stability, grade_stability, stability

outcomes = st.lists(st.lists(st.sampled_from(["a", "b", "tie"]), min_size=1, max_size=5))


@pytest.mark.parametrize(
    ("units", "expected"),
    [
        ([], Stability(0, 0, 0, 0, 0, 0)),
        ([["a"]], Stability(1, 0, 1, 0, 0, 0)),
        ([["a", "a", "a"]], Stability(3, 1, 0, 3, 0, 1)),
        ([["a", "b", "tie"]], Stability(3, 1, 0, 3, 3, 0)),
        # {a, a, b}: 2 of 3 pairs differ; {b, b}: 0 of 1.
        ([["a", "a", "b"], ["b", "b"], ["a"]], Stability(3, 2, 1, 4, 2, 1)),
    ],
)
def test_flips_are_counted_between_replicates_of_one_unit(
    units: list[list[str]], expected: Stability
) -> None:
    assert stability(units) == expected


def test_nothing_to_compare_is_no_rate() -> None:
    assert stability([["a"]]).flip_rate is None
    assert stability([["a", "b"]]).flip_rate == 1.0


@given(outcomes)
def test_the_order_of_replicates_does_not_matter(units: list[list[str]]) -> None:
    turned = [list(reversed(values)) for values in reversed(units)]
    assert stability(units) == stability(turned)


def test_the_spread_of_grades_is_pooled_within_units() -> None:
    # Unit 1: mean 7, squares 1 + 1; unit 2: mean 3, squares 0; freedom 1 + 2.
    found = grade_stability([[6, 8], [3, 3, 3], [9]])
    assert found.spread is not None
    assert isclose(found.spread, sqrt(2 / 3))
    assert (found.units, found.alone, found.flips, found.comparisons) == (2, 1, 1, 4)
    assert grade_stability([[6]]).spread is None


@given(st.lists(st.floats(1, 10), min_size=2, max_size=8))
def test_one_unit_has_the_sample_standard_deviation(grades: list[float]) -> None:
    found = grade_stability([grades]).spread
    n = len(grades)
    assert found is not None
    assert isclose(found, pstdev(grades) * sqrt(n / (n - 1)), abs_tol=1e-6)
