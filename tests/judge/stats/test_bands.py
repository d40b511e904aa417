"""Simultaneous bands: wider than intervals of their own, and they hold together."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from judge.stats.bands import agreement_by, simultaneous_bands
from judge.stats.joint import Figure, estimates, share
from tests.judge.stats.tables import WHO, made, study, units


def levels(
    seed: int, number: int, each: int, votes: int = 12
) -> tuple[dict[int, Figure], list[float]]:
    """Shares that differ by level and vary by question."""
    rng = np.random.default_rng(seed)
    truth = [float(x) for x in np.linspace(0.55, 0.8, number)]
    figures = {}
    for level, mean in enumerate(truth):
        chance = rng.beta(mean * 6, (1 - mean) * 6, each)
        hits = (rng.random((each, votes)) < chance[:, None]).astype(float).ravel()
        question = np.repeat(np.arange(each) + level * each, votes)
        figures[level] = share("agreement", hits, np.ones(len(hits)), question, WHO, "none")
    return figures, truth


def test_bands_are_wider_than_intervals_and_wider_with_more_levels() -> None:
    figures, _ = levels(1, 8, 40)
    many = simultaneous_bands(figures, 320, level=0.95, resamples=2000, seed=7)
    few = simultaneous_bands(
        {0: figures[0], 1: figures[1]}, 320, level=0.95, resamples=2000, seed=7
    )
    for key in (0, 1):
        band, narrow, own = many[key], few[key], many[key].estimate
        assert band.low is not None
        assert band.high is not None
        assert narrow.low is not None
        assert own.low is not None
        assert own.high is not None
        assert band.low < narrow.low < own.low
        assert band.high > own.high
        assert "8 levels" in band.method


def test_one_level_alone_has_about_the_t_interval() -> None:
    figures, _ = levels(2, 1, 30)
    band = simultaneous_bands(figures, 30, level=0.95, resamples=4000, seed=7)[0]
    per_question = figures[0].counts[:, 0] / 12
    half = 2.045 * per_question.std(ddof=1) / 30**0.5  # t.ppf(.975, 29)
    assert band.high is not None
    assert band.low is not None
    assert (band.high - band.low) / 2 == pytest.approx(half, rel=0.05)


def test_the_intervals_inside_are_those_of_the_joint_bootstrap() -> None:
    figures, _ = levels(3, 3, 10)
    bands = simultaneous_bands(figures, 30, level=0.95, resamples=300, seed=5)
    alone = estimates(figures, 30, level=0.95, resamples=300, seed=5)
    assert {key: band.estimate for key, band in bands.items()} == alone


def test_bands_hold_together_in_simulation() -> None:
    # 4 levels of 30 questions; seeded. Intervals of their own hold together far less often.
    together = alone = 0
    for seed in range(150):
        figures, truth = levels(seed, 4, 30)
        bands = simultaneous_bands(figures, 120, level=0.95, resamples=300, seed=seed)
        held, held_alone = [], []
        for key, band in bands.items():
            own = band.estimate
            assert band.low is not None
            assert band.high is not None
            assert own.low is not None
            assert own.high is not None
            held.append(band.low <= truth[key] <= band.high)
            held_alone.append(own.low <= truth[key] <= own.high)
        together += all(held)
        alone += all(held_alone)
    assert together >= 0.9 * 150
    assert alone < 0.85 * 150


def test_few_questions_are_indicative_and_levels_without_variation_have_no_band() -> None:
    ones = np.ones(40)
    figures = {
        "fine": share("agreement", ones * ([0, 1] * 20), ones, np.arange(40), WHO, "none"),
        "few": share("agreement", ones[:4] * [0, 1, 1, 0], ones[:4], np.arange(4), WHO, "none"),
        "always": share("agreement", ones, ones, np.arange(40), WHO, "none"),
        "one": share("agreement", ones[:1], ones[:1], np.zeros(1, dtype=int), WHO, "none"),
        "empty": share("agreement", ones[:0], ones[:0], np.zeros(0, dtype=int), WHO, "no votes"),
    }
    bands = simultaneous_bands(figures, 40, level=0.95, resamples=400, seed=7)
    reasons = {key: band.reason for key, band in bands.items()}
    assert reasons == {
        "fine": "",
        "few": "",
        "always": "no band: every resample gives the same value",
        "one": "no band: fewer than two questions",
        "empty": "no votes",
    }
    assert [key for key, band in bands.items() if band.indicative] == ["few", "one", "empty"]
    assert bands["few"].low == 0, "cut at the end of the scale"
    only = simultaneous_bands({1: figures["always"]}, 40, level=0.95, resamples=100, seed=7)
    assert only[1].low is None


def test_a_level_that_resamples_often_miss_has_no_band() -> None:
    # Two of 40 questions: absent from a resample with probability .95^40 = .13.
    ones = np.ones(2)
    rare = share("agreement", ones * [0, 1], ones, np.array([3, 4]), WHO, "none")
    band = simultaneous_bands({1: rare}, 40, level=0.95, resamples=400, seed=7)[1]
    assert band.reason.startswith("no band: undefined in ")


def test_levels_add_up_to_the_whole() -> None:
    rows = made(study(2)).rows()
    labels = rows.frame["model_a"] + rows.frame["model_b"]
    found = agreement_by(rows, labels, WHO)
    assert list(found) == sorted(set(labels))
    assert sum(one.n for one in found.values()) == len(rows.vote)
    assert sum(one.numerator or 0 for one in found.values()) == rows.agree.sum()
    blank = agreement_by(made(units("a/a", "b/a")).rows(), pd.Series(["x", ""]), WHO)
    assert {key: one.n for key, one in blank.items()} == {"x": 1}
