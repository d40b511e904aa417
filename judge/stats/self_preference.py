"""Does a judge favour its own model? An association, and named so.

Over the *other* models the judge's win rates are regressed on the people's; the residual is what
the judge gives its own model beyond what that line expects. Above 0: more than people do, allowing
for how this judge spreads the others; 0: as expected; below 0: less. In units of win rate, so
+.10 is ten points.

It is no proof of favouritism: one model is looked at, it may differ from the others in more than
who made it (often it is the best, so the line is followed beyond the models that made it, and the
result says so), and a win rate is relative: what it gains, the others lose.

Source: Zheng et al. (2023), https://arxiv.org/abs/2306.05685, section 3.3 (self-enhancement bias,
shown there as win rates by judge and by people); A. Panickssery et al., LLM Evaluators Recognize
and Favor Their Own Generations (2024), https://arxiv.org/abs/2404.13076.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from judge.stats.coefficients import FloatArray, ratio
from judge.stats.estimate import Estimate
from judge.stats.intervals import percentile_interval, resampled_totals
from judge.stats.wins import Wins

NAME = "self_preference_residual"
LEAST_OTHERS = 3
"""Two points lie on a line whatever they are."""


@dataclass(frozen=True, slots=True)
class SelfPreference:
    """The judge's own model against what the other models let expect; rates are ties half."""

    own: str
    residual: Estimate
    """Judge's rate − expected rate; `n` counts the judge's verdicts on its own model."""
    others: tuple[str, ...]
    """The models that make the line: its sample size is their number."""
    judge_rate: float | None
    people_rate: float | None
    expected: float | None
    """The line at the people's rate."""
    extrapolated: bool
    """The people's rate of the own model lies outside the others'."""


def self_preference(
    judge: Wins,
    people: Wins,
    own: str,
    population: str,
    *,
    level: float = 0.95,
    resamples: int = 10_000,
    seed: int = 0,
) -> SelfPreference:
    """The residual of one model: :func:`self_preferences` with a single name."""
    (only,) = self_preferences(
        judge, people, (own,), population, level=level, resamples=resamples, seed=seed
    )
    return only


def self_preferences(
    judge: Wins,
    people: Wins,
    models: Sequence[str],
    population: str,
    *,
    level: float = 0.95,
    resamples: int = 10_000,
    seed: int = 0,
) -> tuple[SelfPreference, ...]:
    """The residual of each model in turn, taken as the judge's own, the others as its line.

    With percentile intervals over resampled questions, models held fixed; all models share
    their resamples. Undefined where the judge has no model of its own among those compared by
    both, with fewer than three others, and where people rate all the others alike.

    Args:
        judge: the judge's verdicts, ideally on the units that people voted on.
        people: the people's votes, counted with the same questions as the judge's.
        models: the judge's own model by name, "" where it has none; or all, to see how large
            residuals are that have nothing to do with the judge's own.
        population: whose judgments about what, in words.
        level: confidence level, in (0, 1).
        resamples: how many, ≥ 1.
        seed: same seed and verdicts, same interval.

    Raises:
        ValueError: the two are not counted with the same questions.
    """
    if judge.questions != people.questions:
        raise ValueError("judge and people: expected counts with the same questions; pass both")
    rated = [side.rates(side.table.sum(0)) for side in (judge, people)]
    usable = [
        name
        for name in judge.models
        if name in people.models
        and not any(
            np.isnan(rates[side.models.index(name)])
            for side, rates in zip((judge, people), rated, strict=True)
        )
    ]
    picked = [[side.models.index(name) for name in usable] for side in (judge, people)]
    y, x = (rates[at] for rates, at in zip(rated, picked, strict=True))
    y_drawn = x_drawn = np.empty((0, len(usable)))
    if len(usable) > LEAST_OTHERS:
        y_drawn, x_drawn = _drawn_rates(judge, people, picked, resamples, seed)
    found = []
    for own in models:
        others = tuple(name for name in usable if name != own)
        n, clusters = _counted(judge, own)
        order = [usable.index(name) for name in ((own, *others) if own in usable else others)]
        reason = _undefined(own, usable)
        expected = np.nan if reason else _line(x[None, order], y[None, order])[0]
        if np.isnan(expected):
            reason = reason or "undefined: people rate all the other models alike"
            made = Estimate(NAME, None, population, n, clusters, reason, level=level)
            found.append(SelfPreference(own, made, others, None, None, None, False))
            continue
        drawn = y_drawn[:, order[0]] - _line(x_drawn[:, order], y_drawn[:, order])
        interval = percentile_interval(drawn, clusters=clusters, level=level)
        residual = Estimate(
            name=NAME,
            value=float(y[order[0]] - expected),
            population=population,
            n=n,
            clusters=clusters,
            reason=interval.reason,
            low=interval.low,
            high=interval.high,
            level=level,
            method=f"residual from a line over {len(others)} other models, {interval.method}",
        )
        own_rate, rest = float(x[order[0]]), x[order[1:]]
        outside = not rest.min() <= own_rate <= rest.max()
        found.append(
            SelfPreference(
                own,
                residual,
                others,
                float(y[order[0]]),
                own_rate,
                float(expected),
                bool(outside),
            )
        )
    return tuple(found)


def _undefined(own: str, usable: Sequence[str]) -> str:
    """Why a model has no line through the others; empty where it may have one."""
    others = sum(name != own for name in usable)
    if not own:
        return "undefined: the judge has no model of its own here"
    if own not in usable:
        return f"undefined: {own} is not compared by both the judge and people"
    if others < LEAST_OTHERS:
        return f"undefined: {others} other models, {LEAST_OTHERS} needed for a line"
    return ""


def _drawn_rates(
    judge: Wins, people: Wins, picked: Sequence[Sequence[int]], resamples: int, seed: int
) -> tuple[FloatArray, FloatArray]:
    """Both sides' rates of the picked models in the same resamples, each (resamples, models)."""
    stacked = [side.table.reshape(len(side.questions), -1) for side in (judge, people)]
    totals = resampled_totals(np.hstack(stacked), resamples=resamples, seed=seed)
    split = stacked[0].shape[1]
    of_judge = judge.rates(totals[:, :split].reshape(resamples, -1, 2))
    of_people = people.rates(totals[:, split:].reshape(resamples, -1, 2))
    return of_judge[:, picked[0]], of_people[:, picked[1]]


def _line(x: FloatArray, y: FloatArray) -> FloatArray:
    """ȳ + (x₀ − x̄) Σ (x − x̄)(y − ȳ) / Σ (x − x̄)²: expected y of the first by the others.

    Shape (resamples, models) → (resamples,); nan where the others' x do not vary.
    """
    others_x, others_y = x[:, 1:], y[:, 1:]
    mean_x, mean_y = others_x.mean(1), others_y.mean(1)
    apart = others_x - mean_x[:, None]
    spread = (apart**2).sum(1)
    # Rates that are equal may differ in the sixteenth digit.
    spread[spread < 1e-20] = 0
    slope = ratio((apart * (others_y - mean_y[:, None])).sum(1), spread)
    expected: FloatArray = mean_y + (x[:, 0] - mean_x) * slope
    return expected


def _counted(judge: Wins, own: str) -> tuple[int, int]:
    """The judge's verdicts on its own model, and questions with one."""
    if own not in judge.models:
        return 0, 0
    part = judge.table[:, (judge.pairs == judge.models.index(own)).any(-1)]
    return round(float(part.sum())), int((part.sum((-2, -1)) > 0).sum())
