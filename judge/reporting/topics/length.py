"""Verbosity: are longer answers preferred, and by the judge more than by people?"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from judge.reporting import cells
from judge.reporting.document import Cell, Column, Part, Picture, Section, Table, Text, Weight
from judge.reporting.layout import tallied
from judge.reporting.pictures import Curve, CurveDot, CurvePlot
from judge.reporting.scope import Scope
from judge.reporting.sides import Sides, judge_words, people_words, sides, why_unjudged
from judge.reporting.wordings import capital
from judge.stats.coefficients import FloatArray
from judge.stats.estimate import Estimate
from judge.stats.length_effect import length_effect
from judge.stats.rows import UNNAMED
from judge.stats.verbosity import Preferences, longer_curves, longer_difference, longer_share

NO_TEXTS = "the answers' texts are not known, so neither are their lengths"


@dataclass(frozen=True, slots=True)
class CurveStep:
    """Preference for the longer answer where it is so many times as long."""

    least: float
    most: float | None
    """Exclusive; None for the last, which is open."""
    longer: Estimate


@dataclass(frozen=True, slots=True)
class LengthSide:
    """People or the judge."""

    source: str
    longer: Estimate
    """Of the verdicts that name a winner, the share that name the longer answer."""
    effect: Estimate
    """Log odds per doubling of length, between the same two models."""
    curve: tuple[CurveStep, ...]


@dataclass(frozen=True, slots=True)
class Length:
    """Both sides on the same units of one scope."""

    key: str
    judge: str
    people: str
    """What a sentence calls those who voted."""
    population: str
    missing: str
    """Why there is nothing to say; "" where there is."""
    unjudged: str
    """Why the judge's side is empty; "" where it is not."""
    model_terms: bool
    """False where no model has a name: the effect then has no term per pair of models."""
    sides: tuple[LengthSide, ...]
    """People, then the judge; empty where nothing is known of texts."""
    difference: Estimate | None
    """The judge's share for the longer answer minus the people's."""


def found(scope: Scope) -> Length:
    """Shares, effects and curves of both sides, or why there are none."""
    rows = sides(scope)
    lengths = _lengths(scope, rows)
    unjudged = why_unjudged(scope)
    named = not bool(rows.frame["model_a"].str.startswith(UNNAMED).all())
    if lengths is None:
        who = people_words(scope)
        return Length(
            scope.key, scope.judge, who, scope.population, NO_TEXTS, unjudged, named, (), None
        )
    return _compared(scope, rows, lengths, unjudged, named)


def headline(values: Length) -> Text:
    """How often either side names the longer answer, in one sentence."""
    if values.missing:
        return Text(f"Whether length matters is not known: {values.missing}.")
    people, judge = values.sides
    if people.longer.value is None and judge.longer.value is None:
        return Text(f"Whether length matters is undefined: {people.longer.reason}.")
    apart = "choices between answers of different length"
    if judge.longer.value is None:
        reason = values.unjudged or judge.longer.reason
        said = (
            f"How often judge {values.judge} names the longer answer is undefined: {reason}."
            f" In {_percent(people.longer)} of their {apart} {values.people} do."
        )
    elif people.longer.value is None:
        said = (
            f"Judge {values.judge} names the longer answer in {_percent(judge.longer)} of its"
            f" {apart}; how often {values.people} do is undefined: {people.longer.reason}."
        )
    else:
        said = (
            f"Judge {values.judge} names the longer answer in {_percent(judge.longer)} of its"
            f" {apart}; {values.people} do in {_percent(people.longer)}."
        )
    return _beside(values, said, judge.effect)


def _beside(values: Length, said: str, effect: Estimate) -> Text:
    """The difference of both sides, and whether the models explain it."""
    gap = values.difference
    if gap is None or gap.value is None:
        return Text(said)
    said += f" The difference is {cells.points(gap).text} points"
    if gap.low is None:
        return Text(f"{said} ({gap.reason}).")
    if gap.low <= 0:
        return Text(f"{said}.", Weight.KEY)
    said += f": the judge leans to longer answers more than {values.people} do on the same units"
    if effect.low is not None and effect.low <= 0:
        # Better models may write longer: what is left between the same two is what counts.
        return Text(
            f"{said}. Between the same two models, though, its length effect is not above 0 for"
            " sure: the lean may be one to models that write longer.",
            Weight.KEY,
        )
    return Text(f"{said}.", Weight.WARNING)


def section(values: Length) -> Section:
    """The headline, both sides in a table, the effect in words, the curves."""
    parts: list[Part] = [headline(values)]
    shown = [one for one in values.sides if _has_value(one)]
    if shown:
        parts.append(_table(values, shown))
    parts += [Text(_effect_words(values, one)) for one in shown]
    curves = tuple(curve for curve in map(_curve, shown) if curve.dots)
    if curves:
        parts.append(
            Picture(
                f"length-curve-{values.key}",
                "How often the longer answer is preferred, against how much longer it is",
                _alt(curves),
                CurvePlot(curves),
            )
        )
    return Section(f"length-{values.key}", "Length of the answers", tuple(parts))


def _compared(
    scope: Scope,
    rows: Sides,
    lengths: tuple[FloatArray, FloatArray],
    unjudged: str,
    named: bool,
) -> Length:
    level, resamples, seed = scope.settings.level, scope.settings.resamples, scope.settings.seed
    people, judge = (
        Preferences(*rows.columns, score, *lengths) for score in (rows.people, rows.judge)
    )
    sources = {scope.population: people, judge_words(scope): judge}
    longer = longer_share(sources, level=level, resamples=resamples, seed=seed)
    curves = longer_curves(sources, level=level, resamples=resamples, seed=seed)
    made = []
    names = people_words(scope), f"judge {scope.judge}"
    for name, (population, source) in zip(names, sources.items(), strict=True):
        effect = length_effect(source, population, pairs=named, level=level)
        steps = tuple(
            CurveStep(at.least, at.most if math.isfinite(at.most) else None, at.longer)
            for at in curves[population]
        )
        made.append(LengthSide(name, longer[population], effect, steps))
    gap = longer_difference(
        judge,
        people,
        f"{judge_words(scope)}, minus {scope.population}",
        level=level,
        resamples=resamples,
        seed=seed,
    )
    return Length(
        key=scope.key,
        judge=scope.judge,
        people=names[0],
        population=scope.population,
        missing="",
        unjudged=unjudged,
        model_terms=named,
        sides=tuple(made),
        difference=gap,
    )


def _lengths(scope: Scope, rows: Sides) -> tuple[FloatArray, FloatArray] | None:
    """Characters of both answers per row, nan unknown; None where not one pair is known."""
    answers = scope.material.answers
    if answers is None:
        return None
    known = answers[["unit_id", "turn", "length_a", "length_b"]]
    merged = rows.frame[["unit_id", "turn"]].merge(
        known, how="left", on=["unit_id", "turn"], validate="many_to_one"
    )
    a, b = (merged[name].to_numpy(dtype=np.float64) for name in ("length_a", "length_b"))
    return None if np.isnan(a + b).all() else (a, b)


def _table(values: Length, shown: list[LengthSide]) -> Table:
    columns, rows = cells.known(
        (
            Column("who", words=True),
            Column("longer preferred"),
            Column("percent"),
            Column("effect per doubling"),
            Column("verdicts in it"),
        ),
        [_row(one) for one in shown],
    )
    left_out = {reason: n for one in shown[:1] for reason, n in one.longer.excluded.items()}
    terms = (
        "with a term per pair of models and standard errors by question"
        if values.model_terms
        else "without terms for models, since none has a name, and standard errors by question"
    )
    remarks = [
        f"{capital(values.population)}."
        " The judge's verdict on a unit stands beside each vote on it."
        " Longer: of the verdicts that name a winner between answers of different length, the"
        " share that name the longer one; 50 is no relation.",
        f"Effect: log odds of being preferred per doubling of length, from a logistic regression"
        f" {terms}; 0 is none.",
    ]
    if left_out:
        remarks.append(f"Not in the share of {shown[0].source}: {tallied(left_out)}.")
    return Table(
        f"length-shares-{values.key}",
        f"Preference for longer answers, judge {values.judge} beside {values.people}",
        columns,
        rows,
        tuple(remarks),
    )


def _row(one: LengthSide) -> tuple[Cell, ...]:
    return (
        cells.words(one.source),
        cells.ratio(one.longer),
        cells.share(one.longer),
        cells.number(one.effect),
        cells.count(one.effect.n) if one.effect.value is not None else cells.words(cells.MISSING),
    )


def _effect_words(values: Length, one: LengthSide) -> str:
    effect = one.effect
    if effect.value is None:
        reason = effect.reason.removeprefix("undefined: ")
        return f"There is no length effect of {one.source}: {reason}."
    between = "Between the same two models" if values.model_terms else "Models apart"
    said = (
        f"{between}, an answer twice as long has {math.exp(effect.value):.2f} times the odds of"
        f" being preferred by {one.source}"
    )
    if effect.low is None or effect.high is None:
        return f"{said} ({effect.reason})."
    ends = f"[{math.exp(effect.low):.2f}, {math.exp(effect.high):.2f}]"
    sure = "" if effect.low > 0 or effect.high < 0 else "; 1, no effect, is inside"
    return f"{said} {ends}{sure}."


def _curve(one: LengthSide) -> Curve:
    dots = (
        CurveDot(at.least, math.inf if at.most is None else at.most, at.longer)
        for at in one.curve
        if at.longer.value is not None
    )
    return Curve(one.source, tuple(dots))


def _alt(curves: tuple[Curve, ...]) -> str:
    ends = [
        f"{curve.name}: "
        + ", ".join(
            f"{100 * (dot.longer.value or 0):.0f} % {_apart_words(dot)}"
            for dot in (*curve.dots[:1], *curve.dots[1:][-1:])
        )
        for curve in curves
    ]
    return f"A curve per source; one half is no preference. {'; '.join(ends)}."


def _apart_words(dot: CurveDot) -> str:
    if math.isinf(dot.most):
        return f"from {dot.least:g} times as long"
    return f"where the longer answer is {dot.least:g} to {dot.most:g} times as long"


def _has_value(one: LengthSide) -> bool:
    return one.longer.value is not None or one.effect.value is not None


def _percent(longer: Estimate) -> str:
    return f"{cells.share(longer).text} %"
