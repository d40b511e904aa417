"""Agreement by turn, category, pair of models or rater, with bands that hold together."""

from __future__ import annotations

from collections.abc import Mapping

from judge.reporting import cells
from judge.reporting.document import Cell, Column, Part, Picture, Section, Table, Text, Weight
from judge.reporting.pictures import Forest, ForestRow
from judge.reporting.topics.levels import (
    Breakdown,
    BreakdownFound,
    Level,
    Prevalence,
    breakdown,
    found,
)
from judge.reporting.wordings import capital, defined, people, reasons
from judge.stats.agreement import S1, SETUPS
from judge.stats.bands import INDICATIVE_BELOW, Band
from judge.stats.design_effect import DesignEffect
from judge.stats.rows import NO_ROW

__all__ = ["Breakdown", "BreakdownFound", "breakdown", "found", "section"]

SHOWN = 30
"""Levels in the tables and the picture; the JSON has all."""

TITLES: Mapping[Breakdown, str] = {
    Breakdown.TURN: "turn",
    Breakdown.CATEGORY: "category",
    Breakdown.PAIR: "pair of models",
    Breakdown.RATER: "rater",
}


def section(values: BreakdownFound) -> Section:
    """Design effect in words, the table of levels, and the bands as a picture."""
    identity, title = f"by-{values.key}", TITLES[Breakdown(values.by)]
    heading = f"Agreement by {title}"
    if not defined(one.agreement for one in values.overall):
        why = reasons(one.agreement for one in values.overall[:1])
        text = Text(f"Judge {values.judge} by {title}: {why}.", Weight.WARNING)
        return Section(identity, heading, (text,))
    shown = _shown(values)
    parts: tuple[Part, ...] = (
        _effects(values),
        _table(values, shown),
        _prevalences(values, shown),
    )
    forest = _forest(values, shown)
    if forest.rows:
        picture = Picture(
            identity,
            f"Agreement of judge {values.judge} by {title}, with intervals and simultaneous bands",
            "A forest plot, one line per level and setup; thin lines are bands that hold for all"
            " levels of a setup together.",
            forest,
        )
        parts += (picture,)
    return Section(identity, heading, parts)


def _shown(values: BreakdownFound) -> tuple[Level, ...]:
    """In their order; of too many those with most votes."""
    most = sorted(values.levels, key=lambda one: -one.votes)[:SHOWN]
    return tuple(one for one in values.levels if one in most)


def _effects(values: BreakdownFound) -> Text:
    said = []
    for one in values.overall:
        effect = one.design_effect
        if effect.value is None or effect.width is None:
            said.append(f"{one.setup}: no design effect, {effect.reason or one.agreement.reason}")
        else:
            said.append(
                f"{one.setup}: design effect {effect.value:.2f}, so intervals are"
                f" {effect.width:.2f} times as wide as if the {effect.n:,} votes on"
                f" {effect.clusters:,} questions were independent"
            )
    return Text("; ".join(said) + ".")


def _table(values: BreakdownFound, shown: tuple[Level, ...]) -> Table:
    title = TITLES[Breakdown(values.by)]
    columns = [Column(title, words=True), Column("votes")]
    for setup in SETUPS:
        columns += [Column(f"{setup} {word}") for word in ("agree", "percent", "band")]
    dropped = [one.label for one in shown if not _known(one)]
    return Table(
        f"by-{values.key}",
        f"Agreement of judge {values.judge} with {people(values.simulated)} by {title}",
        tuple(columns),
        tuple(_row(one) for one in shown if _known(one)),
        tuple(_remarks(values, shown, dropped)),
    )


def _known(one: Level) -> bool:
    return defined(part.band.estimate for part in one.setups)


def _prevalences(values: BreakdownFound, shown: tuple[Level, ...]) -> Table:
    title, who = TITLES[Breakdown(values.by)], people(values.simulated)
    named = (
        "A is the first model of the pair"
        if values.by == Breakdown.PAIR
        else "A is the model whose name comes first in the alphabet"
    )
    return Table(
        f"prevalence-{values.key}",
        f"Outcomes of {who} and of judge {values.judge}, and what clustering costs, by {title}",
        (
            Column(title, words=True),
            Column(f"{who}: A / tie / B, percent"),
            Column("judge: A / tie / B, percent"),
            *(Column(f"{setup} {word}") for setup in SETUPS for word in ("questions", "width ×")),
        ),
        tuple(
            (
                cells.words(one.label),
                _prevalence_cell(one.people),
                _prevalence_cell(one.judge),
                *(cell for part in one.setups for cell in _effect_cells(part.design_effect)),
            )
            for one in shown
            if _known(one)
        ),
        (
            f"{capital(values.population)}."
            f" Outcomes are on the rows of S1; {named}. Width ×: how many times"
            " as wide the interval is as if votes were independent, the root of the design effect.",
        ),
    )


def _remarks(values: BreakdownFound, shown: tuple[Level, ...], dropped: list[str]) -> list[str]:
    remarks = [
        f"{capital(values.population)}."
        " Percent: with the interval of the level alone. Band: holds for all"
        " levels of a setup together.",
    ]
    if any(one.indicative for one in shown):
        remarks.append(f"†: indicative only, fewer than {INDICATIVE_BELOW} questions in a setup.")
    if dropped:
        remarks.append(f"No figure for {', '.join(dropped)}: {NO_ROW[S1]}.")
    if len(values.levels) > len(shown):
        remarks.append(
            f"The {len(shown)} levels with most votes of {len(values.levels):,}; all are in"
            " report.json."
        )
    return remarks


def _row(one: Level) -> tuple[Cell, ...]:
    row = [cells.words(one.label + (" †" if one.indicative else "")), cells.count(one.votes)]
    for part in one.setups:
        figure = part.band.estimate
        row += [cells.ratio(figure), cells.share(figure), _band_cell(part.band)]
    return tuple(row)


def _effect_cells(effect: DesignEffect) -> tuple[Cell, Cell]:
    width = cells.MISSING if effect.width is None else f"{effect.width:.2f}"
    return cells.count(effect.clusters), Cell(width, None, effect.reason)


def _band_cell(band: Band) -> Cell:
    if band.low is None or band.high is None:
        return Cell(cells.MISSING, None, band.reason)
    return cells.words(f"[{100 * band.low:.1f}, {100 * band.high:.1f}]")


def _prevalence_cell(counts: Prevalence) -> Cell:
    n = sum(counts)
    return cells.words(" / ".join(f"{100 * part / n:.0f}" for part in counts) if n else "")


def _forest(values: BreakdownFound, shown: tuple[Level, ...]) -> Forest:
    rows: list[ForestRow] = []
    for index, one in enumerate(values.overall):
        levels = [
            ForestRow(level.label, part.band.estimate, band=_ends(part.band))
            for level in shown
            for part in (level.setups[index],)
            if part.band.estimate.value is not None
        ]
        if levels:
            rows += [
                ForestRow(one.setup, one.agreement, heading=True),
                ForestRow("all", one.agreement),
                *levels,
            ]
    return Forest(
        f"agreement with {people(values.simulated)}, percent",
        tuple(rows),
        name=f"judge {values.judge}",
    )


def _ends(band: Band) -> tuple[float, float] | None:
    return None if band.low is None or band.high is None else (band.low, band.high)
