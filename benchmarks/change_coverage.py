"""How often intervals of changes between two models hold the truth.

One answer to a prompt: harm of both models on the same prompts (the second harms only where the
first does) or independent; every label known, or one in twenty of each model missing. Five answers
to a prompt, with prompts that differ. Labels that a plan drew with unequal chances. Grades.

Beside ours stands what suggests itself for one answer a prompt: the log ratio with its delta
method, and Student's t of the differences. A ratio has no interval where the second model never
harms; how often that is stands beside how often those that there are hold.

python -m benchmarks.change_coverage          prints the table
python -m benchmarks.change_coverage 500      with so many replicates a world
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

import numpy as np

from judge.stats.bounded import Bounded, Item
from judge.stats.coefficients import FloatArray
from judge.stats.distributions import t_quantile
from judge.stats.estimate import Estimate
from judge.stats.model_changes import Valued, mean_changes, share_changes

REPLICATES = 2_000
"""A coverage of 95 % then has a standard error of 0.5."""
RATES = ((0.3, 0.1), (0.3, 0.03), (0.1, 0.05), (0.05, 0.02), (0.5, 0.4), (0.98, 0.9), (1.0, 0.9))
PROMPTS = (20, 40, 80, 200)
MISSING = 0.05
CORRELATION = 0.4
"""Of answers to one prompt, where it has five."""
SEED = 8
Rng = np.random.Generator
Drawn = tuple[list[Item], list[Item]]


@dataclass
class Held:
    """Intervals that hold, of those that there are, and how many there are not."""

    holds: int = 0
    missing: int = 0
    asked: int = 0

    def add(self, one: tuple[float, float] | None, truth: float) -> None:
        """One replicate's."""
        self.asked += 1
        if one is None:
            self.missing += 1
        else:
            self.holds += one[0] <= truth <= one[1]

    def __str__(self) -> str:
        there = self.asked - self.missing
        none = f" ({100 * self.missing / self.asked:.0f} % none)" if self.missing else ""
        return f"{100 * self.holds / there:.1f}{none}" if there else "none"


@dataclass
class World:
    """Two models, and what is drawn of them."""

    name: str
    rates: tuple[float, float]
    draw: Callable[[Rng], Drawn]
    naive: bool = False
    """Whether what suggests itself applies: each prompt once, all known."""
    found: dict[str, Held] = field(default_factory=dict)

    def add(self, name: str, one: tuple[float, float] | None) -> None:
        """One replicate's interval of the relative reduction or the drop."""
        first, second = self.rates
        truth = 1 - second / first if name in ("relative", "log ratio") else first - second
        self.found.setdefault(name, Held()).add(one, truth)


def main() -> None:
    """Print a row a world, and the lowest."""
    replicates = int(sys.argv[1]) if len(sys.argv) > 1 else REPLICATES
    rng = np.random.default_rng(SEED)
    print("| harm of two models | relative | drop | log ratio | t |")
    print("|---|---|---|---|---|")
    lowest: dict[str, float] = {}
    for world in worlds():
        for _ in range(replicates):
            first, second = world.draw(rng)
            if any(one.hit for one in first):
                _count(world, first, second)
        names = ("relative", "drop", "log ratio", "t")
        cells = [str(world.found[name]) if name in world.found else "" for name in names]
        print(f"| {world.name} | {' | '.join(cells)} |", flush=True)
        for name, held in world.found.items():
            there = held.asked - held.missing
            lowest[name] = min(lowest.get(name, 100.0), 100 * held.holds / max(there, 1))
    print("lowest: " + ", ".join(f"{name} {value:.1f}" for name, value in lowest.items()))
    for n in (2, 3, 5, 20, 80):
        print(f"| mean grades, {n} questions | | {graded(rng, n, replicates)} | | |")


def worlds() -> Iterator[World]:
    """Everything but grades."""
    for n in PROMPTS:
        for rates in RATES:
            for nested in (True, False):
                where = "on the same prompts" if nested else "independent"
                name = f"{n} prompts, {rates[0]} → {rates[1]}, {where}"
                yield World(name, rates, single(n, rates, nested=nested), naive=True)
            name = f"{n} prompts, {rates[0]} → {rates[1]}, on the same prompts, some missing"
            yield World(name, rates, single(n, rates, nested=True, missing=MISSING))
    for n in (10, 20, 50, 100):
        for rates in ((0.6, 0.2), (0.2, 0.05)):
            for together in (True, False):
                where = "alike in both" if together else "apart"
                name = f"{n} prompts of 5 answers, {rates[0]} → {rates[1]}, {where}"
                yield World(name, rates, clustered(n, rates, together=together))
    for n in (50, 100):
        yield World(f"{2 * n} labels of a plan, .078 → .039", (0.078, 0.039), planned(n))


def single(
    n: int, rates: tuple[float, float], *, nested: bool, missing: float = 0.0
) -> Callable[[Rng], Drawn]:
    """One answer to a prompt."""

    def draw(rng: Rng) -> Drawn:
        hard = rng.random(n)
        harms = hard < rates[0], (hard if nested else rng.random(n)) < rates[1]
        known = rng.random((2, n)) >= missing
        first, second = (
            [
                Item(str(place), bool(hit) if seen else None)
                for place, (hit, seen) in enumerate(zip(harm, seen_of, strict=True))
            ]
            for harm, seen_of in zip(harms, known, strict=True)
        )
        return first, second

    return draw


def clustered(n: int, rates: tuple[float, float], *, together: bool) -> Callable[[Rng], Drawn]:
    """Five answers to a prompt; prompts differ, alike in both models or apart."""
    from scipy.stats import beta

    spread = 1 / CORRELATION - 1

    def draw(rng: Rng) -> Drawn:
        hard = rng.random(n)
        of_each = (hard, hard if together else rng.random(n))
        first, second = (
            [
                Item(str(place), bool(rng.random() < one))
                for place, one in enumerate(
                    beta.ppf(where, rate * spread, (1 - rate) * spread).tolist()
                )
                for _ in range(5)
            ]
            for rate, where in zip(rates, of_each, strict=True)
        )
        return first, second

    return draw


def planned(n: int) -> Callable[[Rng], Drawn]:
    """A tenth is judged harmful, and half of the labels are of it: rates .6 and .02, .3 and .01."""

    def draw(rng: Rng) -> Drawn:
        models = []
        for harmful, safe in ((0.6, 0.02), (0.3, 0.01)):
            places = rng.permutation(500)[: 2 * n]
            hits = np.concatenate([rng.random(n) < harmful, rng.random(n) < safe])
            weights = [1.0] * n + [9.0] * n
            models.append(
                [
                    Item(str(place), bool(hit), weight=weight)
                    for place, hit, weight in zip(places.tolist(), hits, weights, strict=True)
                ]
            )
        return models[0], models[1]

    return draw


def _count(world: World, first: list[Item], second: list[Item]) -> None:
    rows = {"first": first, "second": second}
    shares = {name: _known(name, items) for name, items in rows.items()}
    (row,) = share_changes("first", shares, rows, {})
    world.add("relative", _ends(row.change.relative))
    world.add("drop", _ends(row.change.drop))
    if world.naive:
        ratio, drop = naive(*(np.array([float(bool(one.hit)) for one in r]) for r in rows.values()))
        world.add("log ratio", ratio)
        world.add("t", drop)


def _known(name: str, items: list[Item]) -> Bounded:
    """Only the value: the change makes its own intervals."""
    known = [one for one in items if one.hit is not None]
    whole = sum(one.weight for one in known)
    value = sum(one.weight for one in known if one.hit) / whole
    rate = Estimate("rate", value, name, len(known), len(known))
    return Bounded(rate, len(items), 0, len(items) - len(known), None, None, None)


def naive(
    before: FloatArray, after: FloatArray
) -> tuple[tuple[float, float] | None, tuple[float, float]]:
    """The log ratio's delta method, and t of the differences."""
    n, r0, r1 = len(before), float(before.mean()), float(after.mean())
    t = t_quantile(0.975, n - 1)
    ratio = None
    if r0 and r1:
        reach = t * float((after / r1 - before / r0).std(ddof=1)) / math.sqrt(n)
        ratio = (1 - r1 / r0 * math.exp(reach), 1 - r1 / r0 * math.exp(-reach))
    reach = t * float((before - after).std(ddof=1)) / math.sqrt(n)
    return ratio, (r0 - r1 - reach, r0 - r1 + reach)


def graded(rng: Rng, n: int, replicates: int) -> Held:
    """Grades of two models that differ by 1, on questions that are hard for both."""
    held = Held()
    for _ in range(replicates):
        hard = rng.normal(6, 1, n)
        values = {
            name: [
                Valued(str(place), float(one))
                for place, one in enumerate(hard + rng.normal(up, 1, n))
            ]
            for name, up in (("first", 0.0), ("second", -1.0))
        }
        means = {
            name: Estimate("mean", float(np.mean([one.value for one in rows])), name, n, n)
            for name, rows in values.items()
        }
        (row,) = mean_changes("first", means, values)
        held.add(_ends(row.change.drop), 1.0)
    return held


def _ends(one: Estimate) -> tuple[float, float] | None:
    return None if one.low is None or one.high is None else (one.low, one.high)


if __name__ == "__main__":
    main()
