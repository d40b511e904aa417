"""Intervals of 95 % hold the truth about as often as they say, in simulated studies.

The short form of benchmarks/coverage.py: seeded, so it says the same at every run.
"""

from __future__ import annotations

from collections import Counter

import numpy as np

from judge.stats.bradley_terry import bradley_terry
from judge.stats.estimate import Estimate
from judge.stats.joint import estimates
from tests.judge.stats.worlds import Measured, population, studies

STUDIES = 300
QUESTIONS = 80
RESAMPLES = 300
CORRELATION = 0.2
ALLOWED = (0.90, 0.985)
"""92.5–97 % give or take two standard errors of a share of 300."""


def intervals(study: Measured, seed: int) -> dict[str, Estimate]:
    found = estimates(study.figures, QUESTIONS, level=0.95, resamples=RESAMPLES, seed=seed)
    for one in bradley_terry(study.wins, "votes", resamples=RESAMPLES, seed=seed):
        found[one.model] = one.strength
    return found


def test_intervals_hold_the_truth_as_often_as_they_say() -> None:
    rng = np.random.default_rng(5)
    everything = population(20_000, CORRELATION, rng)
    truth = {name: one.value() for name, one in everything.figures.items()}
    for one in bradley_terry(everything.wins, "truth", resamples=1):
        truth[one.model] = one.strength.value
    hits: Counter[str] = Counter()
    for seed, study in enumerate(studies(STUDIES, QUESTIONS, CORRELATION, rng)):
        for name, one_study in intervals(study, seed).items():
            low, high, true = one_study.low, one_study.high, truth[name]
            assert low is not None
            assert high is not None
            assert true is not None
            hits[name] += low <= true <= high
    assert hits.keys() == truth.keys()
    shares = {name: hits[name] / STUDIES for name in truth}
    assert all(ALLOWED[0] <= share <= ALLOWED[1] for share in shares.values()), shares
