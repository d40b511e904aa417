"""From a reference to every other model: both values, drop and relative reduction. Uncorrected.

The values are those of the tables beside it, each of all that is known of its model. Shares of
prompts that no two models have in common are independent sets. Where models share prompts, what a
prompt does to one it does to the other: each value gets an interval by question, and both are
joined with their correlation. That holds for one answer to a prompt and for several, for labels
that a plan drew with unequal chances, and where some prompts are known of one model only.

Unknown items move a relative reduction further than sampling may (XSTest: 53.0 or 55.6 % by a
judge, as its failures are read), so its bounds read them both ways.

Source: R. G. Newcombe, Improved confidence intervals for the difference between binomial
proportions based on paired data, Statistics in Medicine 17 (1998) 2635–2650 (method 10: the
correlation of shares); L. Kish, Survey Sampling (1965), section 8.2 (effective numbers)
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence, Set
from dataclasses import dataclass, replace

from judge.stats.binomial import wilson
from judge.stats.bounded import Bounded, Item
from judge.stats.changes import KATZ, Change, change_of_counts, change_of_intervals
from judge.stats.distributions import normal_quantile, t_quantile
from judge.stats.estimate import Estimate

ONE_QUESTION = "no interval: one question"
ALL_ALIKE = "no interval: the two models differ by the same on every question"


@dataclass(frozen=True, slots=True)
class Valued:
    """One known item: what it adds to its model's mean."""

    question: str
    value: float
    weight: float = 1.0


@dataclass(frozen=True, slots=True)
class ModelChange:
    """From the reference to one model."""

    reference: str
    model: str
    change: Change
    shared: int
    """Questions of which an item is known of both models."""
    least: float | None = None
    """The relative reduction if unknown items of the reference are no hit, and the model's all are.

    None where that is not defined, or nothing is said of unknown items.
    """
    most: float | None = None
    """The other way round."""


def share_changes(
    reference: str,
    shares: Mapping[str, Bounded],
    items: Mapping[str, Sequence[Item]],
    refused: Mapping[str, str],
) -> tuple[ModelChange, ...]:
    """Changes of shares: of harm, of refusals.

    Args:
        reference: a model.
        shares: by model; nothing is found without the reference.
        items: of every such share.
        refused: model → why it does not compare with the reference.
    """
    if reference not in shares:
        return ()
    before = shares[reference]
    known = {
        model: [
            Valued(one.question, float(one.hit), one.weight)
            for one in items[model]
            if one.hit is not None
        ]
        for model in shares
    }
    found = []
    for model, after in shares.items():
        if model == reference:
            continue
        change, shared = _share_change(before.rate, after.rate, known[reference], known[model])
        if model in refused:
            found.append(ModelChange(reference, model, change.refused(refused[model]), shared))
            continue
        least, most = _relative(before.least, after.most), _relative(before.most, after.least)
        found.append(ModelChange(reference, model, change, shared, least, most))
    return tuple(found)


def mean_changes(
    reference: str, means: Mapping[str, Estimate], values: Mapping[str, Sequence[Valued]]
) -> tuple[ModelChange, ...]:
    """Changes of means, as of grades; of models of which neither has a value none.

    Args:
        reference: a model.
        means: by model; nothing is found without the reference.
        values: of every such mean.
    """
    if reference not in means:
        return ()
    found = []
    for model, after in means.items():
        before = means[reference]
        if model != reference and (before.value is not None or after.value is not None):
            change, shared = _mean_change(before, after, values[reference], values[model])
            found.append(ModelChange(reference, model, change, shared))
    return tuple(found)


def _relative(before: float | None, after: float | None) -> float | None:
    return None if not before or after is None else 1 - after / before


def _share_change(
    before: Estimate, after: Estimate, first: Sequence[Valued], second: Sequence[Valued]
) -> tuple[Change, int]:
    moved, other = _Sampled.of(first), _Sampled.of(second)
    narrow = _share_interval(before, moved), _share_interval(after, other)
    made = change_of_intervals(*narrow, _correlation(moved, other, share=True))
    shared = len(_shared(moved, other))
    if not shared and moved.alone and other.alone:
        hits, others = (sum(one.value for one in part) for part in (first, second))
        counts = (hits, len(first)), (others, len(second))
        apart = change_of_counts(*counts, made.relative.population, level=before.level)
        if apart.relative.method == KATZ:
            made = replace(made, relative=apart.relative)
    return _beside(made, before, after, moved, other), shared


def _mean_change(
    before: Estimate, after: Estimate, first: Sequence[Valued], second: Sequence[Valued]
) -> tuple[Change, int]:
    moved, other = _Sampled.of(first), _Sampled.of(second)
    narrow = _mean_interval(before, moved), _mean_interval(after, other)
    made = change_of_intervals(*narrow, _correlation(moved, other, share=False))
    drop = made.drop
    if drop.low is not None and drop.high is not None and math.isclose(drop.low, drop.high):
        drop = replace(drop, low=None, high=None, method="", reason=ALL_ALIKE)
        made = replace(made, drop=drop)
    return _beside(made, before, after, moved, other), len(_shared(moved, other))


def _shared(first: _Sampled, second: _Sampled) -> Set[str]:
    """Questions of which both have an item."""
    return first.influence.keys() & second.influence.keys()


def _beside(
    made: Change, before: Estimate, after: Estimate, moved: _Sampled, other: _Sampled
) -> Change:
    """With the values as the tables have them, and every question counted once."""
    questions = len(moved.influence.keys() | other.influence.keys())
    return replace(made.of_questions(questions), before=before, after=after)


@dataclass(frozen=True, slots=True)
class _Sampled:
    """How a mean varies with the questions it is of."""

    mean: float
    influence: Mapping[str, float]
    """By how much each question moves it."""
    items: float
    """(Σ w)² / Σ w²: as many that count alike would say as much."""
    questions: float
    """The same of whole questions."""
    alone: bool
    """Every item has its own question, and all count alike."""

    @staticmethod
    def of(part: Sequence[Valued]) -> _Sampled:
        whole = sum(one.weight for one in part)
        if not whole:
            return _Sampled(0.0, {}, 0.0, 0.0, False)
        mean = sum(one.weight * one.value for one in part) / whole
        influence: dict[str, float] = defaultdict(float)
        weight: dict[str, float] = defaultdict(float)
        for one in part:
            influence[one.question] += one.weight * (one.value - mean) / whole
            weight[one.question] += one.weight
        each = [one.weight for one in part]
        return _Sampled(
            mean,
            influence,
            whole**2 / _squares(each),
            whole**2 / _squares(weight.values()),
            len(set(each)) == 1 and len(weight) == len(part),
        )

    def variance(self) -> float:
        """Of the mean, between questions; 0 with one."""
        n = len(self.influence)
        return _squares(self.influence.values()) * n / (n - 1) if n > 1 else 0.0

    def quantile(self, level: float) -> float:
        """Student's t with as many degrees of freedom as questions less one."""
        n, tail = len(self.influence), (1 + level) / 2
        return t_quantile(tail, n - 1) if n > 1 else normal_quantile(tail)


def _share_interval(rate: Estimate, part: _Sampled) -> Estimate:
    """Wilson's interval on the effective number of items.

    p (1 − p) / variance, at most the items there are; where questions do not vary, or all or none
    are hits, the effective number of questions.
    """
    p = rate.value
    if p is None or not part.influence:
        return rate
    variance = part.variance()
    n = part.questions
    if variance and 0 < p < 1:
        n = min(p * (1 - p) / variance, part.items)
    low, high = wilson(p * n, n, quantile=part.quantile(rate.level))
    return replace(rate, low=min(low, p), high=max(high, p))


def _mean_interval(mean: Estimate, part: _Sampled) -> Estimate:
    """Student's t between questions."""
    if mean.value is None or not part.influence:
        return mean
    if len(part.influence) == 1:
        return replace(mean, low=None, high=None, reason=ONE_QUESTION)
    reach = part.quantile(mean.level) * math.sqrt(part.variance())
    return replace(mean, low=mean.value - reach, high=mean.value + reach)


def _correlation(first: _Sampled, second: _Sampled, *, share: bool) -> float:
    """Of two means, by question; 0 where one does not vary.

    A few hits on the same prompts say little of how far both go together, so what shares have in
    common is lessened by half an item (Newcombe).
    """
    spread = math.sqrt(_squares(first.influence.values()) * _squares(second.influence.values()))
    if not spread:
        return 0.0
    together = sum(
        first.influence[one] * second.influence[one] for one in sorted(_shared(first, second))
    )
    if share and together > 0:
        together = max(0.0, together - 0.5 / (first.questions * second.questions))
    return max(-1.0, min(1.0, together / spread))


def _squares(numbers: Collection[float]) -> float:
    return sum(number * number for number in numbers)
