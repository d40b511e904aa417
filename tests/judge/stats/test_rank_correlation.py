"""Rank correlations: scipy's values, exact p by counting, few models, ties, nothing to say."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from scipy.stats import kendalltau, spearmanr

from judge.stats.rank_correlation import rank_correlation

small = st.lists(st.tuples(st.integers(0, 4), st.integers(0, 4)), min_size=2, max_size=7)


def named(values: Sequence[float]) -> dict[str, float | None]:
    return {f"model {n}": float(value) for n, value in enumerate(values)}


@given(small)
def test_values_are_scipys_ties_included(pairs: list[tuple[int, int]]) -> None:
    x, y = ([float(pair[side]) for pair in pairs] for side in (0, 1))
    assume(len(set(x)) > 1)
    assume(len(set(y)) > 1)
    rho, tau = rank_correlation(named(x), named(y))
    assert rho.value == pytest.approx(spearmanr(x, y).statistic)
    assert tau.value == pytest.approx(kendalltau(x, y).statistic)
    assert rho.n == tau.n == len(pairs)


@pytest.mark.parametrize("models", [3, 5, 6, 8])
def test_kendalls_exact_p_is_scipys(models: int) -> None:
    rng = np.random.default_rng(models)
    x, y = rng.permutation(models).tolist(), rng.permutation(models).tolist()
    tau = rank_correlation(named(x), named(y))[1]
    assert tau.p == pytest.approx(kendalltau(x, y, method="exact").pvalue)
    assert tau.p_method.startswith("exact over")


def test_p_of_many_models_is_close_to_exact_and_seeded() -> None:
    x, y = list(range(12)), [3, 0, 1, 5, 2, 4, 9, 6, 11, 7, 10, 8]
    tau = rank_correlation(named(x), named(y))[1]
    exact = kendalltau(x, y, method="exact").pvalue
    assert tau.p == pytest.approx(exact, abs=4 * (exact / 10_000) ** 0.5)
    assert tau.p_method == "10000 random orders, two-sided"
    assert rank_correlation(named(x), named(y), seed=1)[1].p != tau.p


@pytest.mark.parametrize(("models", "least"), [(2, 1.0), (3, 2 / 6), (4, 2 / 24)])
def test_few_models_have_their_value_and_say_what_it_is_worth(models: int, least: float) -> None:
    order = list(range(models))
    for found in rank_correlation(named(order), named(order)):
        assert (found.value, found.n) == (1.0, models)
        assert found.p == pytest.approx(least)
        assert f"only {models} models" in found.caveat
        assert f"below {least:.3g}" in found.caveat
    assert all(
        not found.caveat for found in rank_correlation(named([*range(5)]), named([*range(5)]))
    )


def test_only_models_ranked_by_both_count() -> None:
    first = {"p": 3.0, "q": 2.0, "r": 1.0, "s": None}
    second = {"p": 1.0, "q": 0.5, "r": None, "s": 2.0, "t": 9.0}
    rho, _ = rank_correlation(first, second)
    assert (rho.value, rho.n, rho.left_out) == (1.0, 2, ("r", "s", "t"))


@pytest.mark.parametrize(
    ("first", "second", "words"),
    [
        ({}, {}, "0 models in both rankings, 2 needed"),
        ({"p": 1.0}, {"p": 2.0}, "1 model in both rankings, 2 needed"),
        ({"p": 1.0, "q": 1.0}, {"p": 1.0, "q": 2.0}, "the first ranking ties all models"),
        # Apart only by the order of summation: a tie.
        ({"p": 1.0, "q": 2.0}, {"p": 0.3, "q": 0.1 + 0.2}, "the second ranking ties all models"),
    ],
)
def test_undefined_with_the_reason(
    first: dict[str, float | None], second: dict[str, float | None], words: str
) -> None:
    for found in rank_correlation(first, second):
        assert (found.value, found.p, found.caveat) == (None, None, "")
        assert words in found.reason


@given(small)
def test_names_change_nothing_and_reversing_one_side_mirrors(pairs: list[tuple[int, int]]) -> None:
    x, y = ([float(pair[side]) for pair in pairs] for side in (0, 1))
    plain = rank_correlation(named(x), named(y))
    turned = rank_correlation(named(x), named([-value for value in y]))
    backwards = rank_correlation(named(x[::-1]), named(y[::-1]))
    for one, mirror, same in zip(plain, turned, backwards, strict=True):
        assert (one.value is None) == (mirror.value is None)
        if one.value is not None:
            assert mirror.value == pytest.approx(-one.value)
            assert same.value == pytest.approx(one.value)
            assert mirror.p == pytest.approx(one.p)
