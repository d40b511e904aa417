"""How often intervals of 95 % hold the truth: simulated studies of 80 questions.

Votes and verdicts come from worlds with question effects (tests/judge/stats/worlds.py), one
per intraclass correlation. The truth of each figure is its value on 200,000 questions of the
same world. A study without an interval counts as one that misses.

python -m benchmarks.coverage             prints the rows of the table
python -m benchmarks.coverage 500         with so many studies per world
"""

from __future__ import annotations

import sys
from dataclasses import dataclass

import numpy as np

from judge.stats.bradley_terry import bradley_terry
from judge.stats.estimate import Estimate
from judge.stats.joint import estimates
from tests.judge.stats.worlds import Measured, population, studies

STUDIES = 5_000
"""Per world: a coverage of 93.5 % then has a standard error of 0.35."""
QUESTIONS = 80
RESAMPLES = 1_000
"""Per study; the ends of an interval hardly move with more, and coverage does not."""
CORRELATIONS = (0.0, 0.1, 0.3)
POPULATION = 200_000
BATCH = 100
"""Studies counted at one time."""
WANTED = (0.925, 0.97)
SEED = 20


@dataclass
class Covered:
    """Intervals counted by where they lie."""

    holds: int = 0
    above: int = 0
    """Both ends above the truth."""
    studies: int = 0

    def add(self, one: Estimate, truth: float) -> None:
        """One study's interval; none at all is one that does not hold."""
        self.studies += 1
        if one.low is not None and one.high is not None:
            self.holds += one.low <= truth <= one.high
            self.above += truth < one.low

    def words(self) -> str:
        """Coverage, then the share above and the share below, in percent."""
        shares = self.holds, self.above, self.studies - self.holds - self.above
        held, above, below = (100 * share / self.studies for share in shares)
        return f"{held:.1f} ({above:.1f} + {below:.1f})"


def main(number: int = STUDIES) -> list[str]:
    """Measure; returns the rows of the table."""
    worlds = [_covered(icc, number) for icc in CORRELATIONS]
    correlations = ", ".join(map(str, CORRELATIONS))
    rows = [
        f"| coverage of 95 % intervals in {number:,} studies of {QUESTIONS} questions |"
        f" % (above + below the truth) at correlations {correlations} | |"
    ]
    for name in worlds[0]:
        shares = [world[name].holds / number for world in worlds]
        held = all(WANTED[0] <= share <= WANTED[1] for share in shares)
        wanted = f"{100 * WANTED[0]:.1f}–{100 * WANTED[1]:.0f} %{'' if held else ': NOT HELD'}"
        words = ", ".join(world[name].words() for world in worlds)
        rows.append(f"| {name} | {words} | wanted {wanted} |")
    return rows


def _covered(icc: float, number: int) -> dict[str, Covered]:
    rng = np.random.default_rng([SEED, round(100 * icc)])
    truth = _truth(population(POPULATION, icc, rng))
    found = {name: Covered() for name in truth}
    for start in range(0, number, BATCH):
        for place, study in enumerate(studies(min(BATCH, number - start), QUESTIONS, icc, rng)):
            for name, one in _intervals(study, start + place).items():
                found[name].add(one, truth[name])
    return found


def _truth(everything: Measured) -> dict[str, float]:
    found = {name: one.value() for name, one in everything.figures.items()}
    for one in bradley_terry(everything.wins, "truth", resamples=1):
        found[f"strength of {one.model}"] = one.strength.value
    return {name: value for name, value in found.items() if value is not None}


def _intervals(study: Measured, seed: int) -> dict[str, Estimate]:
    made = estimates(study.figures, study.questions, level=0.95, resamples=RESAMPLES, seed=seed)
    for one in bradley_terry(study.wins, "study", resamples=RESAMPLES, seed=seed):
        made[f"strength of {one.model}"] = one.strength
    return made


if __name__ == "__main__":
    print("\n".join(main(*map(int, sys.argv[1:2]))))
