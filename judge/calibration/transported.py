"""A new set scored with the label means of another: Σ W_h ȳ_h, ȳ_h old. No interval holds for it.

A judge's error depends on the model judged and on the prompts. Without labels from the new set
nothing bounds what it does there, so the score is only transported: a value, and beside it the
range that comes of using each calibrated model's means in turn for every model of the set.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from judge.calibration.columns import JOINED, SCALES, Items


@dataclass(frozen=True, slots=True)
class KnownMean:
    """What people said, on average, of one stratum of the calibrated set."""

    model: str
    verdict: str
    """One class, or several joined."""
    prompt_set: str
    size: int
    mean: float


@dataclass(frozen=True, slots=True)
class StratumUsed:
    """A stratum of the new set and the mean that stands in for its labels; None: there is none."""

    model: str
    verdict: str
    prompt_set: str
    size: int
    mean: float | None


@dataclass(frozen=True, slots=True)
class Transported:
    """The new set's score of one model ("": of all of them) with the calibrated set's means."""

    model: str
    items: int
    value: float | None
    """With the model's own means; None where the calibration does not know it or a stratum."""
    reason: str
    """Why there is no value."""
    low: float | None
    """Least score under any one calibrated model's means; None with fewer than two models.

    A verdict class that a model was not calibrated on counts as the scale's least here, and
    as its greatest in `high`.
    """
    high: float | None
    by_model: tuple[tuple[str, float, float], ...]
    """(calibrated model, low, high): the score with its means; equal where it has them all."""


@dataclass(frozen=True, slots=True)
class Transport:
    """All models of the new set, and what was used."""

    scores: tuple[Transported, ...]
    """All models together first when there are several."""
    strata: tuple[StratumUsed, ...]
    unknown: tuple[str, ...]
    """Models of the set that were not calibrated."""


def known_means(strata: Iterable[Mapping[str, Any]]) -> tuple[KnownMean, ...]:
    """The means of an artefact's strata; those without labels have none."""
    return tuple(
        KnownMean(
            one["model"],
            one["verdict"],
            one["prompt_set"],
            one["size"],
            one["total"] / (one.get("weight") or one["labelled"]),
        )
        for one in strata
        if one["labelled"]
    )


def transported(items: Items, means: Sequence[KnownMean]) -> Transport:
    """The set's scores with means of another set.

    Verdict classes of `items` are not merged. A stratum takes the mean of its model, verdict
    and prompt set; if that prompt set was not calibrated, of its model and verdict.

    Raises:
        ValueError: there are no items or no means.
    """
    if not len(items.ids) or not means:
        raise ValueError(f"{len(items.ids)} items, {len(means)} means: expected some of both")
    sets = items.prompt_sets
    prompt_sets = [sets] * len(items.ids) if isinstance(sets, str) else sets
    sizes = Counter(zip(items.models, items.verdicts, prompt_sets, strict=True))
    strata = tuple(
        StratumUsed(model, verdict, prompts, size, _mean(means, model, verdict, prompts))
        for (model, verdict, prompts), size in sorted(sizes.items())
    )
    models = sorted({one.model for one in strata})
    calibrated = sorted({one.model for one in means})
    groups = [(model, [one for one in strata if one.model == model]) for model in models]
    if len(models) > 1:
        groups.insert(0, ("", list(strata)))
    scale = SCALES[items.kind]
    return Transport(
        tuple(_score(model, rows, means, calibrated, scale) for model, rows in groups),
        strata,
        tuple(model for model in models if model not in calibrated),
    )


def _score(
    model: str,
    rows: Sequence[StratumUsed],
    means: Sequence[KnownMean],
    calibrated: Sequence[str],
    scale: tuple[float, float],
) -> Transported:
    size = sum(one.size for one in rows)
    value = sum(one.size * (one.mean or 0.0) for one in rows) / size
    reason = _missing(rows, calibrated)
    by_model = tuple((other, *_under(rows, means, other, scale)) for other in calibrated)
    several = len(by_model) > 1
    return Transported(
        model,
        size,
        None if reason else value,
        reason,
        min(low for _m, low, _h in by_model) if several else None,
        max(high for _m, _l, high in by_model) if several else None,
        by_model,
    )


def _missing(rows: Sequence[StratumUsed], calibrated: Sequence[str]) -> str:
    unknown = sorted({one.model for one in rows if one.model not in calibrated})
    if unknown:
        return f"not calibrated: {', '.join(unknown)}"
    lacking = [f"{one.model} · {one.verdict}" for one in rows if one.mean is None]
    return f"no label in the calibration: {', '.join(lacking)}" if lacking else ""


def _under(
    rows: Sequence[StratumUsed], means: Sequence[KnownMean], model: str, scale: tuple[float, float]
) -> tuple[float, float]:
    """The rows' score if all were of this calibrated model; apart where it lacks a class."""
    low = high = 0.0
    for one in rows:
        mean = _mean(means, model, one.verdict, one.prompt_set)
        low += one.size * (scale[0] if mean is None else mean)
        high += one.size * (scale[1] if mean is None else mean)
    size = sum(one.size for one in rows)
    return low / size, high / size


def _mean(means: Sequence[KnownMean], model: str, verdict: str, prompt_set: str) -> float | None:
    fitting = [m for m in means if m.model == model and verdict in m.verdict.split(JOINED)]
    exact = [m for m in fitting if m.prompt_set == prompt_set]
    chosen = exact or fitting
    size = sum(m.size for m in chosen)
    return sum(m.size * m.mean for m in chosen) / size if size else None
