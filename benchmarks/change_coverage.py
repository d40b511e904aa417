"""How often intervals of changes between two models hold: harm of both on the same prompts.

Beside ours stands what suggests itself: Student's t of the differences, and the log ratio with its
delta method. Worlds in which the second model harms only where the first does, or on prompts of
its own; every label known, or one in twenty of each model missing.

python -m benchmarks.change_coverage          prints the table
python -m benchmarks.change_coverage 1000     with so many replicates a world
"""

from __future__ import annotations

import math
import sys
from itertools import product

import numpy as np

from judge.stats.bounded import Item, Resampling, bounded
from judge.stats.coefficients import FloatArray
from judge.stats.distributions import t_quantile
from judge.stats.estimate import Estimate
from judge.stats.joint import BoolArray
from judge.stats.model_changes import share_changes

REPLICATES = 4_000
"""A coverage of 95 % then has a standard error of 0.34."""
RATES = ((0.3, 0.1), (0.3, 0.03), (0.1, 0.05), (0.05, 0.02), (0.5, 0.4))
PROMPTS = (40, 80, 200)
MISSING = 0.05
SEED = 8
NAMES = ("relative", "drop", "log ratio", "t")


def main() -> None:
    """Print a row a world."""
    replicates = int(sys.argv[1]) if len(sys.argv) > 1 else REPLICATES
    rng = np.random.default_rng(SEED)
    print("| prompts, rates, harm of both | relative | drop | log ratio | t | some missing |")
    print("|---|---|---|---|---|---|")
    lowest = dict.fromkeys(("relative", "drop", "relative, missing", "drop, missing"), 100.0)
    for n, (first, second), nested in product(PROMPTS, RATES, (False, True)):
        found = covered(rng, n, (first, second), nested=nested, replicates=replicates)
        cells = [f"{found[name]:.1f}" for name in NAMES]
        missing = [f"{found[f'{name}, missing']:.1f}" for name in NAMES[:2]]
        where = "on the same prompts" if nested else "independent"
        print(f"| {n}, {first} → {second}, {where} | {' | '.join(cells)} | {', '.join(missing)} |")
        lowest = {name: min(value, found[name]) for name, value in lowest.items()}
    print("lowest: " + ", ".join(f"{name} {value:.1f}" for name, value in lowest.items()))


def covered(
    rng: np.random.Generator, n: int, rates: tuple[float, float], *, nested: bool, replicates: int
) -> dict[str, float]:
    """Percent of intervals that hold, of replicates in which the first model harms at all."""
    first, second = rates
    truth = {"relative": 1 - second / first, "drop": first - second}
    hits: dict[str, list[bool]] = {}
    for _ in range(replicates):
        hard = rng.random(n)
        before = hard < first
        after = (hard if nested else rng.random(n)) < second
        seen = rng.random((2, n)) >= MISSING
        if not (before & seen[0]).any():
            continue
        whole = np.ones((2, n), bool)
        for suffix, known in (("", whole), (", missing", seen)):
            for name, one in zip(NAMES[:2], ours(before, after, known), strict=True):
                hits.setdefault(name + suffix, []).append(holds(one, truth[name]))
        others = naive(before.astype(float), after.astype(float))
        for name, (low, high), target in zip(
            NAMES[2:], others, (truth["relative"], truth["drop"]), strict=True
        ):
            hits.setdefault(name, []).append(low <= target <= high)
    return {name: 100 * float(np.mean(found)) for name, found in hits.items()}


def ours(before: BoolArray, after: BoolArray, known: BoolArray) -> tuple[Estimate, Estimate]:
    """Relative reduction and drop as `evenhand score` has them."""
    items = {
        name: [
            Item(str(place), bool(hit) if seen else None)
            for place, (hit, seen) in enumerate(zip(hits, seen_of, strict=True))
        ]
        for name, hits, seen_of in (("before", before, known[0]), ("after", after, known[1]))
    }
    how = Resampling()
    shares = {name: bounded("rate", rows, name, "none", how) for name, rows in items.items()}
    (row,) = share_changes("before", shares, items, {})
    return row.change.relative, row.change.drop


def naive(before: FloatArray, after: FloatArray) -> tuple[tuple[float, float], ...]:
    """The log ratio's delta method, and t of the differences; no interval never holds."""
    n, (r0, r1) = len(before), (before.mean(), after.mean())
    t = t_quantile(0.975, n - 1)
    ratio = (math.nan, math.nan)
    if r0 and r1:
        reach = t * float((after / r1 - before / r0).std(ddof=1)) / math.sqrt(n)
        ratio = (1 - r1 / r0 * math.exp(reach), 1 - r1 / r0 * math.exp(-reach))
    reach = t * float((before - after).std(ddof=1)) / math.sqrt(n)
    return ratio, (r0 - r1 - reach, r0 - r1 + reach)


def holds(one: Estimate, truth: float) -> bool:
    """No interval never holds."""
    return one.low is not None and one.high is not None and one.low <= truth <= one.high


if __name__ == "__main__":
    main()
