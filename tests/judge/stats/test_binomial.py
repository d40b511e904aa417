"""The exact interval of a share, beside scipy's own."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binomtest

from judge.stats.binomial import clopper_pearson, exact_share, sign_p


@given(st.integers(1, 200), st.floats(0, 1), st.sampled_from([0.8, 0.95]))
def test_it_equals_scipys(n: int, part: float, level: float) -> None:
    count = round(part * n)
    theirs = binomtest(count, n).proportion_ci(level, method="exact")
    assert clopper_pearson(count, n, level) == pytest.approx((theirs.low, theirs.high), abs=1e-9)


@given(st.integers(1, 200), st.floats(0, 1))
def test_the_test_of_one_half_is_scipys(n: int, part: float) -> None:
    count = round(part * n)
    assert sign_p(count, n) == pytest.approx(binomtest(count, n).pvalue)


def test_a_share_and_nothing_to_share() -> None:
    found = exact_share("harm", 0, 80, "answers", "none", excluded={"late": 1})
    assert (found.value, found.low, found.n) == (0, 0, 80)
    # 0 of 80 still allows 4.5 % two-sided (3.7 % one-sided).
    assert found.high == pytest.approx(1 - 0.025 ** (1 / 80))
    assert exact_share("harm", 0, 0, "answers", "no answers").reason == "no answers"


@pytest.mark.parametrize(("count", "n"), [(-1, 5), (6, 5), (0, 0)])
def test_counts_that_cannot_be_are_refused(count: int, n: int) -> None:
    with pytest.raises(ValueError, match="expected a count"):
        clopper_pearson(count, n)
    with pytest.raises(ValueError, match="expected a count"):
        sign_p(count, n)
