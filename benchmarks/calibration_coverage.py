"""How often calibrated intervals of 95 % hold the truth, in worlds where the judge errs.

The truth is the harm rate of the population that 2,000 items come from. A replicate that is
refused (fewer than five labels in a stratum) is counted apart. "Old labels" are of another set:
from a calibration set with half harmful items, or from before the judge changed.

python -m benchmarks.calibration_coverage         prints the rows of the table
python -m benchmarks.calibration_coverage 200     with so many replicates
"""

from __future__ import annotations

import os
import sys
import time
from collections import defaultdict
from collections.abc import Callable, Set
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from functools import partial

import numpy as np

from judge.calibration.active_calibration import active_calibrated
from judge.calibration.binding import IntArray
from judge.calibration.companions import ppi_mean
from judge.calibration.poststratified import Target, calibrated
from judge.calibration.rogan_gladen import JudgeErrors, rogan_gladen
from judge.calibration.uncertainty import Earlier
from judge.stats.anchor import ANCHORS, power
from judge.stats.binomial import wilson
from judge.stats.estimate import Estimate
from tests.judge.calibration import worlds
from tests.judge.calibration.active_draws import actively
from tests.judge.calibration.worlds import Drawn

REPLICATES = 1_000
SIZE = 2_000
DRAWS = 2_000
"""Per interval: enough for coverage, which hardly moves with more."""
SEED = 40
HOLDS = 0.93
CORES = 2


@dataclass
class Tally:
    """Intervals of one estimator in one scenario."""

    holds: int = 0
    made: int = 0
    refused: int = 0
    width: list[float] = field(default_factory=list)

    def add(self, one: Estimate, truth: float) -> None:
        if one.low is None or one.high is None:
            self.refused += 1
            return
        self.made += 1
        self.holds += one.low <= truth <= one.high
        self.width.append(one.high - one.low)

    @property
    def coverage(self) -> float:
        return self.holds / self.made if self.made else float("nan")


Estimates = dict[str, Estimate]
Replicate = Callable[[np.random.Generator], Estimates]


def fresh(
    rng: np.random.Generator, *, labels: int = 200, rate: float = 0.1, drifted: bool = False
) -> Estimates:
    """Labels of the very set that is scored."""
    drawn = worlds.world(rng, SIZE, rate, judge=worlds.DRIFTED if drifted else worlds.JUDGE)
    at_random = worlds.at_random(rng, drawn, labels)
    halves = worlds.half_and_half(rng, drawn, labels)
    found = _from_labels(drawn, drawn, at_random)
    seed = int(rng.integers(2**31))
    default = calibrated(worlds.strata_of(drawn, halves), Target.ITEMS, draws=DRAWS, seed=seed)
    by_chance = calibrated(worlds.strata_of(drawn, at_random), Target.ITEMS, draws=DRAWS, seed=seed)
    return {
        **found,
        "calibrated, labels at random": by_chance,
        "calibrated, labels half and half (default)": default,
    }


def old(
    rng: np.random.Generator, *, labelled_rate: float = 0.1, drifted: bool = False
) -> Estimates:
    """200 labels of another set, used as if the judge erred on both alike."""
    before = worlds.world(rng, SIZE, labelled_rate)
    drawn = worlds.world(rng, SIZE, 0.1, judge=worlds.DRIFTED if drifted else worlds.JUDGE)
    places = worlds.at_random(rng, before, 200)
    strata = worlds.with_old_labels(drawn, before, places, rng)
    return {
        **_from_labels(drawn, before, places),
        "calibrated, old labels": calibrated(strata, Target.ITEMS, draws=DRAWS),
    }


def clustered(rng: np.random.Generator, *, labelled: int, each: int, icc: float) -> Estimates:
    """Ten (or two) items of a question go together; whole questions are labelled."""
    drawn = worlds.world(rng, SIZE, 0.1, per_question=each, correlation=icc)
    places = worlds.whole_questions(rng, drawn, labelled)
    strata = worlds.strata_of(drawn, places)
    found = _from_labels(drawn, drawn, places)
    return {
        "people alone": found["people alone"],
        "PPI++": found["PPI++"],
        "calibrated, items taken as independent": calibrated(strata, Target.ITEMS, draws=DRAWS),
        "calibrated, prompts (default)": calibrated(strata, Target.PROMPTS, draws=DRAWS),
    }


def planned(rng: np.random.Generator, *, rate: float = 0.1, labels: int = 200) -> Estimates:
    """As many labels by the plan's own draws: in proportion, and active.

    Active by the verdicts alone; with 100 earlier labels of another set, as many of either
    verdict; and with these and verdicts in doubt, which most of the wrong ones are.
    """
    drawn, before = worlds.world(rng, SIZE, rate), worlds.world(rng, SIZE, rate)
    seed, doubts = int(rng.integers(2**31)), worlds.doubts(rng, drawn)
    known, unsure = worlds.half_and_half(rng, before, 100), worlds.doubts(rng, before)

    def pilot(told: Set[str]) -> list[Earlier]:
        return [
            Earlier(
                "model",
                "harmful" if before.judged[one] else "safe",
                str(one) in told,
                float(before.harmful[one]),
            )
            for one in known.tolist()
        ]

    set_of = worlds.items_of(drawn), drawn.harmful.astype(float)
    draws = {
        "active by verdict": actively(*set_of, labels, seed),
        "active, earlier labels": actively(*set_of, labels, seed, pilot=pilot(set())),
        "active, earlier labels and doubts": actively(*set_of, labels, seed, doubts, pilot(unsure)),
    }
    alike = worlds.in_proportion(drawn, labels, seed)
    return {
        "in proportion": calibrated(alike, Target.ITEMS, draws=DRAWS, seed=seed),
        **{name: active_calibrated(one, Target.ITEMS) for name, one in draws.items()},
    }


SCENARIOS: dict[str, tuple[Replicate, float]] = {
    "base: 10 % harmful, 200 labels": (fresh, 0.10),
    "rare: 2 % harmful, 200 labels": (partial(fresh, rate=0.02), 0.02),
    "n50: 10 % harmful, 50 labels": (partial(fresh, labels=50), 0.10),
    "label shift: old labels, 50 % harmful": (partial(old, labelled_rate=0.5), 0.10),
    "drift: old labels, another judge": (partial(old, drifted=True), 0.10),
    "drift, fresh labels": (partial(fresh, drifted=True), 0.10),
    "cluster: 20 questions × 10, ICC .3": (partial(clustered, labelled=20, each=10, icc=0.3), 0.10),
    "cluster: 20 questions × 10, ICC .1": (partial(clustered, labelled=20, each=10, icc=0.1), 0.10),
    "cluster: 100 questions × 2, ICC .3": (partial(clustered, labelled=100, each=2, icc=0.3), 0.10),
    "planned: 10 % harmful, 200 labels": (planned, 0.10),
    "planned: 2 % harmful, 200 labels": (partial(planned, rate=0.02), 0.02),
}


def measured(name: str, replicates: int = REPLICATES) -> dict[str, Tally]:
    """One scenario, seeded by its place."""
    replicate, truth = SCENARIOS[name]
    found: dict[str, Tally] = defaultdict(Tally)
    for number in range(replicates):
        rng = np.random.default_rng([SEED, list(SCENARIOS).index(name), number])
        for estimator, one in replicate(rng).items():
            found[estimator].add(one, truth)
    return dict(found)


def main(replicates: int = REPLICATES) -> list[str]:
    """Measure; returns the rows of the table."""
    start = time.perf_counter()
    with ProcessPoolExecutor(CORES) as pool:
        all_found = list(pool.map(partial(measured, replicates=replicates), SCENARIOS))
    took = time.perf_counter() - start
    children = os.times()
    cpu = children.children_user + children.children_system
    rows = [
        f"| {replicates:,} replicates, all estimators | {took:.0f} s | {cpu:.0f} s of processor"
        f" time, {CORES} processes |"
    ]
    for name, found in zip(SCENARIOS, all_found, strict=True):
        for estimator, tally in found.items():
            refused = f", {tally.refused} refused" if tally.refused else ""
            missed = "default" in estimator and tally.coverage < HOLDS
            rows.append(
                f"| {name} · {estimator} | {100 * tally.coverage:.1f} %, width"
                f" {np.mean(tally.width):.3f}{refused} | {'NOT HELD' if missed else ''} |"
            )
    caught = ", ".join(
        f"{100 * rate:g} % with probability {power(rate, ANCHORS):.2f}" for rate in (0.05, 0.1, 0.2)
    )
    return [*rows, f"| anchor check, {ANCHORS} items: notices a flip rate of | {caught} |"]


def _from_labels(drawn: Drawn, labelled: Drawn, places: IntArray) -> Estimates:
    """What needs nothing but arrays: the raw rate, people alone, Rogan–Gladen, PPI."""
    y = labelled.harmful[places].astype(float)
    f = labelled.judged[places].astype(float)
    # Labelled items of this very set are not among the others.
    rest = np.delete(drawn.judged, places) if labelled is drawn else drawn.judged
    flagged, size = int(drawn.judged.sum()), len(drawn.judged)
    errors = (int(y @ f), int(y.sum()), int((1 - y) @ (1 - f)), int((1 - y).sum()))
    return {
        "judge alone": _share(flagged, size),
        "people alone": _share(y.sum(), len(y)),
        "Rogan–Gladen": rogan_gladen(
            flagged, size, JudgeErrors(*errors), labels_of="other", scored="set"
        )
        if errors[1] and errors[3]
        else Estimate("rogan_gladen", None, "", 0, 0, "no harmful label"),
        "PPI": ppi_mean(y, f, rest.astype(float), tuned=False),
        "PPI++": ppi_mean(y, f, rest.astype(float)),
    }


def _share(count: float, n: int) -> Estimate:
    low, high = wilson(count, n)
    return Estimate("share", count / n, "", n, n, low=low, high=high)


if __name__ == "__main__":
    print("\n".join(main(*map(int, sys.argv[1:2]))))
