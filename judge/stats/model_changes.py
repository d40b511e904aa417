"""From a reference to every other model: both values, drop and relative reduction. Uncorrected.

The values are those of the tables beside it, each of all that is known of its model. How the
interval is made follows from the design: shares of the same prompts, each once, are paired; shares
of prompts without one in common are independent; anything else (some prompts known of one model
only, several answers to a prompt, weights, grades) goes by both intervals and the correlation of
both values over questions.

Unknown items move a relative reduction further than sampling may (XSTest: 53.0 or 55.6 % by a
judge, as its failures are read), so its bounds read them both ways.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace

from judge.stats.bounded import Bounded, Item
from judge.stats.changes import (
    Change,
    change_of_counts,
    change_of_intervals,
    change_on_same_prompts,
)
from judge.stats.estimate import Estimate


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
    found = []
    for model, after in shares.items():
        if model == reference:
            continue
        before = shares[reference]
        first, second = (
            [Valued(i.question, float(i.hit), i.weight) for i in items[name] if i.hit is not None]
            for name in (reference, model)
        )
        one = _model_change(reference, model, (before.rate, after.rate), (first, second), True)
        if model in refused:
            one = replace(one, change=one.change.refused(refused[model]))
        else:
            least, most = _relative(before.least, after.most), _relative(before.most, after.least)
            one = replace(one, least=least, most=most)
        found.append(one)
    return tuple(found)


def mean_changes(
    reference: str, means: Mapping[str, Estimate], values: Mapping[str, Sequence[Valued]]
) -> tuple[ModelChange, ...]:
    """Changes of means, as of grades.

    Args:
        reference: a model.
        means: by model; nothing is found without the reference.
        values: of every such mean.
    """
    return tuple(
        _model_change(
            reference, model, (means[reference], after), (values[reference], values[model]), False
        )
        for model, after in means.items()
        if model != reference and reference in means
    )


def _relative(before: float | None, after: float | None) -> float | None:
    return None if not before or after is None else 1 - after / before


def _model_change(
    reference: str,
    model: str,
    values: tuple[Estimate, Estimate],
    parts: tuple[Sequence[Valued], Sequence[Valued]],
    share: bool,
) -> ModelChange:
    first, second = ({one.question for one in part} for part in parts)
    shared = len(first & second)
    change = change_of_intervals(*values, _correlation(*parts, share=share))
    if share and parts[0] and parts[1] and all(map(_once_each, parts)):
        population, level = f"{values[0].population} → {values[1].population}", values[0].level
        if first == second:
            change = change_on_same_prompts(*_fourfold(*parts), population, level=level)
        elif not shared:
            before, after = ((sum(one.value for one in part), len(part)) for part in parts)
            change = change_of_counts(before, after, population, level=level)
        change = replace(change, before=values[0], after=values[1])
    return ModelChange(reference, model, change.over(len(first | second)), shared)


def _once_each(part: Sequence[Valued]) -> bool:
    """Every item has its own question, and all count alike."""
    alike = len({one.weight for one in part}) == 1
    return alike and len({one.question for one in part}) == len(part)


def _fourfold(first: Sequence[Valued], second: Sequence[Valued]) -> tuple[int, int, int, int]:
    """Prompts with a hit of both, of the first alone, of the second alone, of neither."""
    hits, others = ({one.question for one in part if one.value} for part in (first, second))
    both, either = len(hits & others), len(hits | others)
    return both, len(hits) - both, len(others) - both, len(first) - either


def _correlation(first: Sequence[Valued], second: Sequence[Valued], *, share: bool) -> float:
    """Of two weighted means, linearised by question; 0 where one does not vary.

    A few hits on the same prompts say little of how far both go together, so what shares have in
    common is lessened by half an item (Newcombe).

    Source: R. G. Newcombe, Improved confidence intervals for the difference between binomial
    proportions based on paired data, Statistics in Medicine 17 (1998) 2635–2650, method 10
    """
    before, after = _influence(first), _influence(second)
    spread = math.sqrt(_squares(before.values()) * _squares(after.values()))
    together = sum(before[question] * after[question] for question in before.keys() & after.keys())
    if share and together > 0:
        together = max(0.0, together - 0.5 / (_items(first) * _items(second)))
    return together / spread if spread else 0.0


def _items(part: Sequence[Valued]) -> float:
    """(Σ w)² / Σ w²: as many items that count alike would say as much."""
    return sum(one.weight for one in part) ** 2 / _squares([one.weight for one in part])


def _influence(part: Sequence[Valued]) -> dict[str, float]:
    """What each question moves the mean by."""
    whole = sum(one.weight for one in part)
    found: dict[str, float] = defaultdict(float)
    if whole:
        mean = sum(one.weight * one.value for one in part) / whole
        for one in part:
            found[one.question] += one.weight * (one.value - mean) / whole
    return found


def _squares(numbers: Collection[float]) -> float:
    return sum(number * number for number in numbers)
