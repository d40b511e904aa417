"""Our distributions are scipy's own, whatever module they come from."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from judge.stats import distributions as ours


@pytest.mark.parametrize("freedom", [1, 2.5, 9, 79, 10_000])
@pytest.mark.parametrize("probability", [1e-6, 0.025, 0.5, 0.9, 0.975])
def test_student(probability: float, freedom: float) -> None:
    value = ours.t_quantile(probability, freedom)
    assert value == pytest.approx(stats.t.ppf(probability, freedom), rel=1e-9, abs=1e-12)
    assert ours.t_below(value, freedom) == pytest.approx(probability, rel=1e-9)


@pytest.mark.parametrize("value", [-3.0, 0.0, 1.96, 8.0])
def test_normal(value: float) -> None:
    assert ours.normal_above(value) == pytest.approx(stats.norm.sf(value), rel=1e-12)


@pytest.mark.parametrize(("a", "b"), [(0.5, 0.5), (1, 1), (3, 40), (0.1, 200)])
@pytest.mark.parametrize("probability", [0.025, 0.5, 0.975])
def test_beta(probability: float, a: float, b: float) -> None:
    expected = stats.beta.ppf(probability, a, b)
    assert ours.beta_quantile(probability, a, b) == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize(("count", "n"), [(0, 1), (3, 10), (50, 100), (480, 1000)])
def test_binomial(count: int, n: int) -> None:
    expected = stats.binom.cdf(count, n, 0.5)
    assert ours.binomial_at_most(count, n, 0.5) == pytest.approx(expected, rel=1e-10)


def test_benjamini_yekutieli() -> None:
    found = np.random.default_rng(3).uniform(size=26) ** 3
    expected = stats.false_discovery_control(found, method="by")
    assert ours.benjamini_yekutieli(list(found)) == pytest.approx(expected, rel=1e-12)
    assert ours.benjamini_yekutieli([0.04]) == pytest.approx([0.04])
