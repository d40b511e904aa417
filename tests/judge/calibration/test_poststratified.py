"""The calibrated score by hand, at its edges, and in each of its three targets."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from judge.calibration.columns import FAILED, Kind
from judge.calibration.linearised import influence, question_variance
from judge.calibration.poststratified import Target, calibrated, point, variance
from judge.calibration.strata import Strata
from judge.stats.distributions import beta_quantile
from tests.judge.calibration.tables import WORKED, harm, strata
from tests.judge.calibration.worlds import allowed

TWO = {
    ("a", "harmful"): (40, harm(6, 4)),
    ("a", "safe"): (60, harm(2, 28)),
}


def test_the_point_and_its_variance_by_hand() -> None:
    found = strata(TWO)
    # .4 · .6 + .6 · 2/30 = .28
    assert point(found) == pytest.approx(0.28)
    # .16 (1 − 10/40) · (.24 · 10/9)/10 + .36 (1 − 30/60) · (56/900 · 30/29)/30
    expected = 0.16 * 0.75 * 0.24 / 9 + 0.36 * 0.5 * (56 / 900) / 29
    assert variance(found) == pytest.approx(expected)


def test_one_stratum_of_a_population_is_jeffreys_interval() -> None:
    found = strata({("a", "safe"): (10_000, harm(3, 97))})
    made = calibrated(found, Target.SET, draws=200_000)
    assert made.low == pytest.approx(beta_quantile(0.025, 3.5, 97.5), abs=0.0005)
    assert made.high == pytest.approx(beta_quantile(0.975, 3.5, 97.5), abs=0.0005)


def test_several_models_share_the_prior() -> None:
    many = strata({(m, "safe"): (1_000, harm(0, 20)) for m in "abcdefgh"})
    made = calibrated(many)
    assert "Beta(1/16, 1/16)" in made.method
    # Jeffreys in each of eight strata would centre on 8 · .5/21/8 = .024.
    assert made.high is not None
    assert made.high < 0.024


@pytest.mark.parametrize("target", Target)
def test_no_harm_seen_is_from_zero_to_above_zero(target: Target) -> None:
    found = strata({("a", "harmful"): (30, harm(0, 15)), ("a", "safe"): (70, harm(0, 30))})
    made = calibrated(found, target)
    assert (made.value, made.low) == (0, 0)
    assert made.high is not None
    assert 0 < made.high < 0.1


@pytest.mark.parametrize("target", Target)
def test_nothing_but_harm_seen_is_its_mirror_image(target: Target) -> None:
    made = calibrated(strata({("a", "harmful"): (300, harm(45, 0))}), target)
    assert (made.value, made.high) == (1, 1)
    assert made.low is not None
    assert 0.9 < made.low < 1


def test_a_stratum_in_full_is_a_constant_of_the_set_and_none_of_a_population() -> None:
    cells = {("a", "harmful"): (40, harm(30, 10)), ("a", "safe"): (960, harm(0, 60))}
    of_set, of_items = (calibrated(strata(cells), t) for t in (Target.SET, Target.ITEMS))
    assert of_set.low is not None
    assert of_set.low == pytest.approx(0.03, abs=1e-3)
    assert of_items.low is not None
    assert of_items.low < 0.025


def test_a_population_is_not_known_from_its_items_however_many_are_labelled() -> None:
    made = calibrated(strata({("a", "safe"): (50, harm(5, 45))}), Target.ITEMS)
    assert made.low == pytest.approx(beta_quantile(0.025, 5.5, 45.5), abs=0.003)


def test_the_shares_of_a_population_are_drawn_too() -> None:
    # The judge is always right: all that is unknown is how often it says harmful.
    cells = {("a", "harmful"): (350, harm(350, 0)), ("a", "safe"): (1650, harm(0, 1650))}
    made = calibrated(strata(cells), Target.ITEMS, draws=100_000)
    assert made.low == pytest.approx(beta_quantile(0.025, 350.5, 1650.5), abs=0.001)
    assert made.high == pytest.approx(beta_quantile(0.975, 350.5, 1650.5), abs=0.001)


def test_a_set_in_full_has_no_uncertainty() -> None:
    made = calibrated(strata({("a", "safe"): (8, harm(1, 7))}))
    assert (made.low, made.value, made.high) == (0.125, 0.125, 0.125)


def test_the_same_seed_gives_the_same_ends_and_says_their_error() -> None:
    one, again, other = (calibrated(strata(WORKED), seed=s) for s in (1, 1, 2))
    assert one == again
    assert one.low != other.low
    assert one.low == pytest.approx(other.low, abs=0.002)
    assert "(Monte Carlo)" in one.method


@pytest.mark.parametrize("level", [0, 1, 95])
def test_the_level_is_a_share(level: float) -> None:
    with pytest.raises(ValueError, match="expected a number between 0 and 1"):
        calibrated(strata(WORKED), level=level)


KINDS = {
    Kind.PAIRS: (
        {
            ("a", "win"): (100, [1.0] * 14 + [0.5] * 6 + [0.0] * 10),
            ("a", "lose"): (50, [0.5] * 5 + [0.0] * 10),
        },
        17 / 30 * 2 / 3 + 2.5 / 15 / 3,
    ),
    Kind.GRADES: (
        {
            ("a", "high"): (100, [8.0] * 14 + [9.5] * 6 + [10.0] * 10),
            ("a", "low"): (50, [2.0] * 15),
        },
        (112 + 57 + 100) / 30 * 2 / 3 + 2 / 3,
    ),
}


@pytest.mark.parametrize("target", Target)
@pytest.mark.parametrize("kind", KINDS)
def test_win_rates_and_grades_are_scores_likewise(kind: Kind, target: Target) -> None:
    cells, expected = KINDS[kind]
    found = strata(cells, kind)
    made = calibrated(found, target)
    assert made.value == pytest.approx(expected)
    assert made.low is not None
    assert made.high is not None
    assert found.scale[0] < made.low < expected < made.high < found.scale[1]


def test_influences_sum_to_nothing_and_their_variance_is_that_of_independent_items() -> None:
    found = strata(WORKED)
    assert influence(found, point(found)).sum() == pytest.approx(0, abs=1e-12)
    # Each item its own question: the same as the delta method, but for Q/(Q − 1).
    expected = variance(found, Target.ITEMS) * 2000 / 1999
    assert question_variance(found, point(found)) == pytest.approx(expected)


def test_items_of_a_question_that_repeat_each_other_widen_the_interval() -> None:
    sizes = {key: size for key, (size, _) in WORKED.items()}
    tens = [f"{v}{i // 10}" for (_, v), size in sizes.items() for i in range(size)]
    alone, together = strata(WORKED), strata(WORKED, questions=tens)
    ends = [calibrated(one, Target.PROMPTS) for one in (alone, together)]
    widths = [one.high - one.low for one in ends if one.low is not None and one.high is not None]
    assert widths[1] > 1.5 * widths[0]
    assert ends[1].clusters == 4 + 17


def test_one_question_says_nothing_of_a_population_of_prompts() -> None:
    found = allowed(strata({("a", "safe"): (50, harm(1, 49))}, questions=["q"] * 50))
    made = calibrated(found, Target.PROMPTS)
    assert made.low is not None
    assert made.high is not None
    assert made.high - made.low > 0.5


def _reference_draws(found: Strata, draws: int) -> Any:
    """A second, naive implementation: one draw after another with numpy's own Dirichlet."""
    rng = np.random.default_rng(11)
    prior = 0.5 / len(found.models)
    scores = np.zeros(draws)
    for row, share in zip(found.rows, found.shares, strict=True):
        y = found.label_value[found.label_stratum == list(found.rows).index(row)]
        support = np.unique(np.concatenate([y, found.scale]))
        weights = [(y == v).sum() + prior * (v in found.scale) for v in support]
        scores += share * (rng.dirichlet(weights, size=draws) @ support)
    return scores


@pytest.mark.parametrize("kind", KINDS)
def test_a_naive_implementation_agrees(kind: Kind) -> None:
    found = strata(KINDS[kind][0], kind)
    low, high = np.quantile(_reference_draws(found, 100_000), [0.025, 0.975])
    made = calibrated(found, draws=100_000)
    span = found.scale[1] - found.scale[0]
    assert made.low == pytest.approx(low, abs=0.003 * span)
    assert made.high == pytest.approx(high, abs=0.003 * span)


def test_refused_strata_have_no_score_whatever_the_target() -> None:
    bad = strata({("a", "harmful"): (40, harm(3, 3)), ("a", "safe"): (60, [])})
    for target in Target:
        assert calibrated(bad, target).value is None
    assert replace(bad, refusals=()).refusals == ()


def test_all_known_harm_in_strata_labelled_in_full_is_the_least_there_can_be() -> None:
    # Two failed verdicts, both labelled, one harmful; nothing harmful among the others' labels.
    cells = {("m", FAILED): (2, harm(1, 1)), ("m", "safe"): (98, harm(0, 40))}
    made = calibrated(strata(cells))
    assert made.value == made.low == pytest.approx(0.01)
    assert made.high is not None
    assert made.high > 0.03
    cells = {("m", FAILED): (2, harm(1, 1)), ("m", "harmful"): (98, harm(40, 0))}
    made = calibrated(strata(cells))
    assert made.value == made.high == pytest.approx(0.99)


stratum_labels = st.tuples(st.integers(0, 8), st.integers(0, 8), st.integers(0, 30)).filter(
    lambda one: one[0] + one[1] > 0
)


@settings(max_examples=60)
@given(
    st.lists(st.lists(stratum_labels, min_size=1, max_size=3), min_size=1, max_size=5),
    st.sampled_from(Target),
    st.integers(1, 60),
)
def test_the_interval_holds_the_score(
    models: list[list[tuple[int, int, int]]], target: Target, questions: int
) -> None:
    cells = {
        (f"m{number}", verdict): (bad + good + more, harm(bad, good))
        for number, parts in enumerate(models)
        for verdict, (bad, good, more) in zip(("harmful", "safe", FAILED), parts, strict=False)
    }
    items = sum(size for size, _ in cells.values())
    made = strata(cells, questions=[f"q{i % questions}" for i in range(items)])
    found = calibrated(replace(made, refusals=()), target, draws=500)
    assert found.value is not None
    assert found.low is not None
    assert found.high is not None
    assert 0 <= found.low <= found.value <= found.high <= 1
