"""How often 95 % intervals of calibrated mean grades hold the truth: the chosen one and others.

The truth is the mean, over the very items, of the grade that a random rater gives; every label is
one rater's, whole and from 1 to 10, with noise of its own. The judge's grades err by a constant
and at random, and put the items into classes; labels are drawn in proportion, five at least.

python -m benchmarks.grade_coverage         prints the rows of docs/decisions/calibration.md
python -m benchmarks.grade_coverage 200     with so many replicates
"""

from __future__ import annotations

import math
import sys
from collections import defaultdict
from dataclasses import dataclass

import numpy as np

from judge.calibration.columns import Items, Kind, Labels, grade_class
from judge.calibration.merging import merge_small
from judge.calibration.posterior import ends, score_draws
from judge.calibration.poststratified import point
from judge.calibration.strata import Strata, stratify
from judge.stats.coefficients import FloatArray
from judge.stats.distributions import t_quantile

REPLICATES = 1_000
DRAWS = 1_500
LEVEL = 0.95
NOISE = 1.0
"""Standard deviation of one rater's grade of one item."""
SCALE: FloatArray = np.arange(1.0, 11.0)
Ends = tuple[float, float]


@dataclass(frozen=True, slots=True)
class World:
    """What is graded and how well the judge grades it."""

    name: str
    models: int
    items: int
    labels: int
    near_ten: bool = False


WORLDS = [
    World(name, models, items, labels, near_ten)
    for models, items, labels in (
        (1, 160, 40), (1, 160, 100), (1, 2_000, 40), (1, 2_000, 200), (6, 160, 100), (6, 160, 300),
    )
    for name, near_ten in (("around 6.5", False), ("near 10", True))
]  # fmt: skip


def main() -> None:
    """Print a row per world: coverage and mean width of each kind of interval."""
    replicates = int(sys.argv[1]) if len(sys.argv) > 1 else REPLICATES
    print("| grades, models × items, labels | ends of the scale (chosen) | flat | no prior | t |")
    print("|---|---|---|---|---|")
    for world in WORLDS:
        held: dict[str, list[bool]] = defaultdict(list)
        widths: dict[str, list[float]] = defaultdict(list)
        rng = np.random.default_rng(40)
        for seed in range(replicates):
            strata, truth = _drawn(world, rng)
            for kind, (low, high) in _intervals(strata, seed).items():
                held[kind].append(low <= truth <= high)
                widths[kind].append(high - low)
        cells = (f"{100 * np.mean(held[k]):.1f} %, {np.mean(widths[k]):.2f}" for k in held)
        size = f"{world.models} × {world.items:,}, {world.labels}"
        print(f"| {world.name}, {size} | {' | '.join(cells)} |", flush=True)


def _drawn(world: World, rng: np.random.Generator) -> tuple[Strata, float]:
    """Strata with labels of a proportional draw, and the mean that a random rater would give."""
    count = world.models * world.items
    if world.near_ten:
        worth = 10 - np.clip(rng.gamma(1.2, 1.2, count), 0, 9)
        said = worth + 0.3 + rng.normal(0, 0.8, count)
    else:
        worth = np.clip(rng.normal(6.5, 1.8, count), 1, 10)
        said = worth + 0.8 + rng.normal(0, 1.2, count)
    ids = [str(one) for one in range(count)]
    models = [f"m{one // world.items}" for one in range(count)]
    verdicts = [grade_class(float(grade)) for grade in np.clip(np.round(said), 1, 10)]
    items = merge_small(Items(Kind.GRADES, "set", ids, models, ids, verdicts))
    chosen: list[int] = []
    keys = np.array([f"{m} {v}" for m, v in zip(items.models, items.verdicts, strict=True)])
    for key in np.unique(keys):
        here = np.flatnonzero(keys == key)
        wanted = max(5, round(world.labels * len(here) / count))
        chosen += rng.choice(here, min(wanted, len(here)), replace=False).tolist()
    given = np.clip(np.round(worth[chosen] + rng.normal(0, NOISE, len(chosen))), 1, 10)
    labels = Labels("set", [ids[one] for one in chosen], given)
    return stratify(items, labels), float(_mean_grade(worth).mean())


def _mean_grade(worth: FloatArray) -> FloatArray:
    """What a rater gives on average: rounded to whole grades, held on the scale."""
    borders = (SCALE[:-1] + 0.5 - worth[:, None]) / (NOISE * math.sqrt(2))
    below = 0.5 * (1 + np.vectorize(math.erf)(borders))
    below = np.concatenate([np.zeros((len(worth), 1)), below, np.ones((len(worth), 1))], axis=1)
    grades: FloatArray = np.diff(below, axis=1) @ SCALE
    return grades


def _intervals(strata: Strata, seed: int) -> dict[str, Ends]:
    rng = np.random.default_rng([seed, 1])
    flat = np.full(10, 0.1 / len(strata.models))
    return {
        "ends": ends(score_draws(strata, draws=DRAWS, seed=seed), LEVEL)[:2],
        "flat": ends(_bootstrap(strata, rng, SCALE, flat), LEVEL)[:2],
        "none": ends(_bootstrap(strata, rng, SCALE[:0], flat[:0]), LEVEL)[:2],
        "t": _student(strata),
    }


def _bootstrap(
    strata: Strata, rng: np.random.Generator, prior: FloatArray, weight: FloatArray
) -> FloatArray:
    """Posterior draws of the score with another prior: so much weight at these grades."""
    total = np.zeros(DRAWS)
    for index, share in enumerate(strata.shares):
        given = strata.label_value[strata.label_stratum == index]
        support = np.concatenate([prior, given])
        weights = np.concatenate([weight, np.ones(len(given))])
        drawn = rng.standard_gamma(weights, size=(DRAWS, len(support)))
        total += share * (drawn @ support) / drawn.sum(1)
    return total


def _student(strata: Strata) -> Ends:
    """Welch's t over strata, no finite-population correction."""
    each = [
        (share**2 * row.squares / (row.labelled - 1) / row.labelled, row.labelled - 1)
        for share, row in zip(strata.shares, strata.rows, strict=True)
    ]
    spread = sum(v for v, _n in each)
    freedom = spread**2 / sum(v * v / n for v, n in each)
    reach = t_quantile((1 + LEVEL) / 2, freedom) * math.sqrt(spread)
    return point(strata) - reach, point(strata) + reach


if __name__ == "__main__":
    main()
