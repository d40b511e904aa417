"""Agreement against win-rate gap: the judge is put to the test where two models are close."""

from __future__ import annotations

from dataclasses import dataclass

from judge.reporting import cells
from judge.reporting.document import Column, Facts, Part, Picture, Section, Table, Text, Weight
from judge.reporting.layout import counted
from judge.reporting.pictures import GapDot, GapPlot
from judge.reporting.scope import Scope
from judge.reporting.sides import people_words, sides, why_unjudged
from judge.reporting.wordings import capital
from judge.stats.estimate import Estimate
from judge.stats.gap import GapPoint, gap_points

MOST_ROWS = 30
"""Pairs of models in the table, the closest; all of them are in the values and the picture."""


@dataclass(frozen=True, slots=True)
class ModelPair:
    """Two models, head to head."""

    model_a: str
    model_b: str
    difference: Estimate
    """(wins of a − wins of b) / votes, by people."""
    decisive: Estimate
    """The same of the votes without a tie; its size is the gap."""
    s1: Estimate
    """Agreement of judge and people, tie a category."""
    s2: Estimate
    """The same where both name a winner."""
    gap: float | None
    """|decisive difference|, in [0, 1]."""
    blind: float | None
    """(1 + gap) / 2: always naming the model that wins more."""


@dataclass(frozen=True, slots=True)
class Gap:
    """Every pair of models of one scope, closest first."""

    key: str
    judge: str
    people: str
    population: str
    unjudged: str
    """Why no verdict stands beside a vote; "" where some do."""
    pairs: tuple[ModelPair, ...]


def found(scope: Scope) -> Gap:
    """A row per vote with a usable verdict; models without a name make no pair."""
    rows = sides(scope).named()
    settings = scope.settings
    points = gap_points(
        *rows.columns,
        rows.people,
        rows.judge,
        scope.population,
        level=settings.level,
        resamples=settings.resamples,
        seed=settings.seed,
    )
    return Gap(
        scope.key,
        scope.judge,
        people_words(scope),
        scope.population,
        why_unjudged(scope),
        tuple(map(_pair, points)),
    )


def headline(values: Gap) -> Text:
    """Agreement on the closest and on the farthest pair, and how many lie above the blind line."""
    if values.unjudged:
        return Text(f"No agreement by pair of models: {values.unjudged}.")
    known = _known(values)
    if not known:
        why = values.pairs[0].s2.reason if values.pairs else "no two models with names are compared"
        return Text(f"No agreement by pair of models: {why}.")
    near, far = known[0], known[-1]
    if len(known) == 1:
        return Text(
            f"One pair of models, {_names(near)}: {_agreement_words(near)}. With one pair nothing"
            " can be said of agreement and how far models are apart."
        )
    above = sum(_above(one) for one in known)
    return Text(
        f"Where models are closest ({_names(near)}), {_agreement_words(near)}; where they are"
        f" farthest apart ({_names(far)}), {_agreement_words(far)}. Of {len(known)} pairs of models"
        f" {above} lie{'s' * (above == 1)} above what naming the better model each time reaches,"
        " by the whole interval.",
        Weight.KEY,
    )


def section(values: Gap) -> Section:
    """The headline, a row per pair of models, the paper's figure."""
    known = _known(values)
    parts: list[Part] = [headline(values)]
    without = len(values.pairs) - len(known)
    if known:
        parts.append(_table(values, known))
        if without:
            parts.append(
                Facts(
                    (
                        f"{counted(without, 'pair')} of models without a vote and verdict that"
                        " both name a winner: not shown.",
                    )
                )
            )
        parts.append(_picture(values, known))
    return Section(f"gap-{values.key}", "Agreement and how far models are apart", tuple(parts))


def _pair(point: GapPoint) -> ModelPair:
    return ModelPair(
        point.model_a,
        point.model_b,
        point.difference,
        point.decisive,
        point.s1,
        point.s2,
        point.gap,
        point.blind,
    )


def _known(values: Gap) -> list[ModelPair]:
    return [one for one in values.pairs if one.gap is not None and one.s2.value is not None]


def _names(one: ModelPair) -> str:
    return f"{one.model_a} and {one.model_b}"


def _agreement_words(one: ModelPair) -> str:
    blind = 100 * (one.blind or 0.0)
    return (
        f"judge and votes agree on {cells.share(one.s2).text} % (S2); naming the better model each"
        f" time would reach about {blind:.1f} %"
    )


def _above(one: ModelPair) -> bool:
    return one.blind is not None and one.s2.low is not None and one.s2.low > one.blind


def _table(values: Gap, known: list[ModelPair]) -> Table:
    shown = known[:MOST_ROWS]
    rows = tuple(
        (
            cells.words(f"{one.model_a} – {one.model_b}"),
            cells.count(one.s1.n),
            cells.points(one.decisive),
            cells.share(one.s1),
            cells.ratio(one.s2),
            cells.share(one.s2),
            cells.words(f"{100 * (one.blind or 0.0):.1f}"),
        )
        for one in shown
    )
    remarks = [
        f"{capital(values.population)}."
        " Win-rate difference: wins of the first minus wins of the second, of"
        " the votes without a tie. Blind: (1 + its size) / 2, always naming the model that wins"
        " more, a guide for S2.",
    ]
    if len(known) > len(shown):
        remarks.append(f"The {len(shown)} closest of {len(known)} pairs; all are in report.json.")
    return Table(
        f"gap-table-{values.key}",
        f"Agreement of judge {values.judge} with {values.people} by pair of models, closest first",
        (
            Column("models", words=True),
            Column("votes"),
            Column("win-rate difference, points"),
            Column("S1, %"),
            Column("agree, S2"),
            Column("S2, %"),
            Column("blind, %"),
        ),
        rows,
        tuple(remarks),
    )


def _picture(values: Gap, known: list[ModelPair]) -> Picture:
    dots = tuple(
        GapDot(f"{one.model_a} – {one.model_b}", one.gap, one.s2)
        for one in known
        if one.gap is not None
    )
    return Picture(
        f"gap-plot-{values.key}",
        f"Agreement of judge {values.judge} with {values.people} against how far models are apart",
        f"A dot per pair of models, {len(dots)} in all: across, the difference of win rates by"
        f" {values.people}; up, agreement where both name a winner. The blind line runs from one"
        " half to 1: what lies on it can be had by naming the better model each time.",
        GapPlot(dots),
    )
