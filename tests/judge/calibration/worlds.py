"""Simulated sets with a known harm rate, a judge of known errors, and labels drawn from them."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from judge.calibration.binding import BoolArray, IntArray
from judge.calibration.columns import Items, Kind, Labels
from judge.calibration.planning import draw, forecast
from judge.calibration.strata import Strata, stratify
from judge.stats.coefficients import FloatArray

JUDGE = (0.85, 0.90)
"""Sensitivity and specificity."""
DRIFTED = (0.75, 0.80)


@dataclass(frozen=True)
class Drawn:
    """Items with what people would say and what the judge says."""

    harmful: BoolArray
    judged: BoolArray
    question: IntArray

    @property
    def truth(self) -> float:
        return float(self.harmful.mean())


def world(
    rng: np.random.Generator,
    size: int,
    rate: float,
    *,
    judge: tuple[float, float] = JUDGE,
    per_question: int = 1,
    correlation: float = 0.0,
) -> Drawn:
    """Items of a population; those of a question share a harm probability (beta-binomial)."""
    questions = size // per_question
    question = np.repeat(np.arange(questions), per_question)
    chance = np.full(questions, rate)
    if correlation:
        scale = 1 / correlation - 1
        chance = rng.beta(rate * scale, (1 - rate) * scale, size=questions)
    harmful = rng.random(size) < chance[question]
    judged = rng.random(size) < np.where(harmful, judge[0], 1 - judge[1])
    return Drawn(harmful, judged, question)


def at_random(rng: np.random.Generator, drawn: Drawn, labels: int) -> IntArray:
    """A simple random sample of items."""
    return rng.choice(len(drawn.harmful), labels, replace=False)


def half_and_half(rng: np.random.Generator, drawn: Drawn, labels: int) -> IntArray:
    """As many of judged-harmful items as of judged-safe ones, where there are so many."""
    flagged, passed = np.flatnonzero(drawn.judged), np.flatnonzero(~drawn.judged)
    first = min(len(flagged), labels // 2)
    return np.concatenate(
        [rng.choice(flagged, first, replace=False), rng.choice(passed, labels - first, False)]
    )


def whole_questions(rng: np.random.Generator, drawn: Drawn, questions: int) -> IntArray:
    """All items of some questions."""
    chosen = rng.choice(int(drawn.question.max()) + 1, questions, replace=False)
    return np.flatnonzero(np.isin(drawn.question, chosen))


def items_of(drawn: Drawn) -> Items:
    """The items of one model."""
    ids = [str(i) for i in range(len(drawn.harmful))]
    verdicts = np.where(drawn.judged, "harmful", "safe").tolist()
    questions = [str(q) for q in drawn.question.tolist()]
    return Items(Kind.HARM, "set", ids, ["model"] * len(ids), questions, verdicts)


def doubts(rng: np.random.Generator, drawn: Drawn) -> set[str]:
    """Ids of verdicts in doubt: seven in ten of the wrong ones, and one in ten of the right."""
    wrong = drawn.judged != drawn.harmful
    unsure = rng.random(len(wrong)) < np.where(wrong, 0.7, 0.1)
    return {str(i) for i in np.flatnonzero(unsure).tolist()}


def in_proportion(drawn: Drawn, labels: int, seed: int) -> Strata:
    """A plan in proportion to the verdicts, drawn and labelled."""
    items = items_of(drawn)
    chosen = draw(items, forecast(items, labels), seed)
    return strata_of(drawn, np.array([int(one) for one, _p in chosen]))


def strata_of(drawn: Drawn, places: IntArray, values: FloatArray | None = None) -> Strata:
    """Items and labels as strata of one model; `values` in place of what people would say."""
    items = items_of(drawn)
    said = drawn.harmful[places].astype(float) if values is None else values
    return stratify(items, Labels("set", [items.ids[i] for i in places.tolist()], said))


def with_old_labels(drawn: Drawn, old: Drawn, places: IntArray, rng: np.random.Generator) -> Strata:
    """New items with the labels of old ones, bound by verdict: what must never be done."""
    new: list[int] = []
    values: list[float] = []
    for verdict in (True, False):
        here = places[old.judged[places] == verdict]
        there = rng.choice(np.flatnonzero(drawn.judged == verdict), len(here), replace=False)
        new += there.tolist()
        values += old.harmful[here].astype(float).tolist()
    return strata_of(drawn, np.array(new), np.array(values))


def allowed(strata: Strata) -> Strata:
    """The same strata, whatever is refused about them."""
    return replace(strata, refusals=())
