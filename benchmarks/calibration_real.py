"""Calibrated scores of XSTest and MT-Bench from a few of their labels, over 1,000 draws.

The finite set is the target, and all its labels are known: coverage is counted exactly.

python -m benchmarks.calibration_real         prints the rows of the table
python -m benchmarks.calibration_real 200     with so many draws
"""

from __future__ import annotations

import sys
from collections.abc import Iterator

import numpy as np

from judge.calibration.active_calibration import active_calibrated
from judge.calibration.companions import companions
from judge.calibration.poststratified import calibrated
from judge.calibration.ratios import calibrated_change
from judge.calibration.wrong_items import wrong_items
from judge.stats.estimate import Estimate
from tests.judge.calibration.active_draws import actively
from tests.judge.calibration.real import ABSENT, PRESENT, mt_bench, spread, voted, xstest

SEEDS = 1_000
DRAWS = 4_000
WANTED = 0.936
OLD, NEW = "mistralinstruct", "mistralguard"


def main(seeds: int = SEEDS) -> list[str]:
    """Measure; returns the rows of the table."""
    if not PRESENT:
        return [f"| real data | {ABSENT} | |"]
    rows = []
    for name, proportional in (("equal", False), ("proportional", True)):
        rows += [*_xstest(name, proportional, seeds), *_mt_bench(name, proportional, seeds)]
    return [*rows, *_active(seeds)]


def _active(seeds: int) -> Iterator[str]:
    """As many labels by active plans; verdicts alone say how unsure an item is."""
    voted_on = voted(mt_bench("claude-v1", "gpt-3.5-turbo"))
    for name, data, labels in (
        ("XSTest, 200 labels", xstest(), 200),
        ("MT-Bench, 60 of 128 units", voted_on, 60),
    ):
        made, poor = [], 0
        for seed in range(seeds):
            try:
                found = actively(data.items, data.people, labels, seed)
            except ValueError:  # a draw that the plan does not make
                poor += 1
                continue
            made.append(active_calibrated(found, seed=seed))
        spread_ = np.std([one.value for one in made if one.value is not None])
        note = f"standard deviation {spread_:.4f}; {poor} draws had too few of a class, not made"
        yield _row(f"{name}, active", made, float(data.people.mean()), note)


def _xstest(name: str, proportional: bool, seeds: int) -> Iterator[str]:
    data = xstest()
    truth = float(data.people.mean())
    counts = spread(data, 200, proportional=proportional)
    made = [
        calibrated(data.labelled(np.random.default_rng(seed), counts), draws=DRAWS, seed=seed)
        for seed in range(seeds)
    ]
    raw = sum(one.high is not None and one.high >= 0.305 for one in made)
    sd = np.std([one.value for one in made if one.value is not None])
    note = f"standard deviation {sd:.4f}; the raw 30.5 % is in {raw}"
    yield _row(f"XSTest, 200 labels, {name}", made, truth, note)
    pair = data.of(OLD, NEW)
    both = {
        key: n
        for model in (OLD, NEW)
        for key, n in spread(pair.of(model), 100, proportional=proportional).items()
    }
    rates = [float(pair.of(model).people.mean()) for model in (OLD, NEW)]
    changes, warned = [], 0
    for seed in range(seeds):
        found = pair.labelled(np.random.default_rng(seed), both)
        changes.append(calibrated_change(found, OLD, NEW, draws=DRAWS, seed=seed))
        warned += any(one.warns and one.model == OLD for one in wrong_items(found))
    relative = [change.relative for change in changes]
    note = f"right rate, wrong items: warned of {OLD} in {warned}"
    title = f"XSTest, relative reduction, 100 labels a model, {name}"
    yield _row(title, relative, 1 - rates[1] / rates[0], note)


def _mt_bench(name: str, proportional: bool, seeds: int) -> Iterator[str]:
    data = voted(mt_bench("claude-v1", "gpt-3.5-turbo"))
    counts = spread(data, 60, proportional=proportional)
    made, gained, informed = [], [], []
    for seed in range(seeds):
        found = data.labelled(np.random.default_rng(seed), counts)
        made.append(calibrated(found, draws=DRAWS, seed=seed))
        beside = companions(made[-1], found)
        gained.append(beside.gained or 0.0)
        informed.append(beside.informed or 0.0)
    sd = np.std([one.value for one in made if one.value is not None])
    note = (
        f"standard deviation {sd:.4f}; gain over people alone:"
        f" {100 * np.mean(informed):.1f} % of the standard error,"
        f" {100 * np.mean(gained):.1f} % of the width"
    )
    yield _row(f"MT-Bench, 60 of 128 units, {name}", made, float(data.people.mean()), note)


def _row(name: str, made: list[Estimate], truth: float, note: str) -> str:
    ends = [(one.low, one.high) for one in made if one.low is not None and one.high is not None]
    coverage = sum(low <= truth <= high for low, high in ends) / len(made)
    width = np.mean([high - low for low, high in ends])
    held = "" if coverage >= WANTED else ": NOT HELD"
    return (
        f"| {name}: coverage of {truth:.3f} in {len(made):,} draws | {100 * coverage:.1f} %,"
        f" width {width:.3f} (wanted {100 * WANTED:.1f} %{held}) | {note} |"
    )


if __name__ == "__main__":
    print("\n".join(main(*map(int, sys.argv[1:2]))))
