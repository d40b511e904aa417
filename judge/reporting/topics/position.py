"""Position bias: does the judge's verdict depend on which answer it read first?"""

from __future__ import annotations

from dataclasses import dataclass

from judge.reporting import cells
from judge.reporting.document import (
    Column,
    Facts,
    Part,
    Picture,
    Section,
    Table,
    Text,
    Weight,
)
from judge.reporting.layout import tallied
from judge.reporting.pictures import PositionBar, PositionBars
from judge.reporting.scope import Scope
from judge.stats.binomial import sign_p
from judge.stats.both_orders import UNMARKED, PositionLine, position_figures
from judge.stats.estimate import Estimate

WARNS = 0.15
"""Share of inconsistent pair verdicts from which a report warns."""
FAILS = 0.25
"""Share from which a judge counts as failing, by the defaults of the gate."""
ONE_SIDED = 2 / 3
"""Share of the inconsistent ones for one place from which that is said first."""
SIGNIFICANT = 0.05

EVERYTHING = "all questions"


@dataclass(frozen=True, slots=True)
class Sidedness:
    """Which place the inconsistent verdicts favour."""

    first: int
    second: int
    p: float | None
    """Exact two-sided binomial test of ½, verdicts taken as independent; None without any."""

    @property
    def n(self) -> int:
        """Inconsistent pairs whose orders are known."""
        return self.first + self.second

    @property
    def lopsided(self) -> bool:
        """Whether one place takes two thirds or more."""
        return bool(self.n) and max(self.first, self.second) >= ONE_SIDED * self.n


@dataclass(frozen=True, slots=True)
class PositionBias:
    """One judge's two orders in one scope; nothing of it needs a vote."""

    key: str
    judge: str
    population: str
    lines: tuple[PositionLine, ...]
    """First all questions (category ""), then each category where there are several."""
    inconsistent: Estimate
    sidedness: Sidedness
    verdicts: int
    unknown_orders: int


def found(scope: Scope) -> PositionBias:
    """All the judge's pair verdicts on the scope's dimension, voted on or not."""
    settings = scope.settings
    what = "whole dialogues" if scope.whole_dialogues else "all turns"
    population = f"verdicts of judge {scope.judge}; dimension {scope.dimension}; {what}"
    figures = position_figures(
        scope.verdicts,
        population,
        level=settings.level,
        resamples=settings.resamples,
        seed=settings.seed,
    )
    overall = figures.lines[0]
    first, second = overall.first.numerator or 0, overall.second.numerator or 0
    p = sign_p(first, first + second) if first + second else None
    return PositionBias(
        scope.key,
        scope.judge,
        population,
        figures.lines,
        figures.inconsistent,
        Sidedness(first, second, p),
        figures.verdicts,
        figures.unknown,
    )


def headline(values: PositionBias) -> Text:
    """How often the order decides, and for which place, in a sentence or two."""
    one = values.inconsistent
    if one.value is None:
        return Text(
            f"How often the order of the answers decides for judge {values.judge} is not known:"
            f" {one.reason}."
        )
    share = f"{cells.share(one).text} % of its usable pair verdicts ({one.numerator} of {one.n})"
    said = f"Judge {values.judge} contradicts itself when the answers change places in {share}"
    weight = Weight.PLAIN
    if one.value >= FAILS:
        said += f": at {_percent(FAILS)} or more a judge fails"
        weight = Weight.WARNING
    elif one.value >= WARNS:
        said += f": this report warns from {_percent(WARNS)}, and a judge fails from"
        said += f" {_percent(FAILS)}"
        weight = Weight.WARNING
    side = _side_words(values.sidedness)
    if side and values.sidedness.lopsided and (values.sidedness.p or 0) < SIGNIFICANT:
        weight = Weight.WARNING
    return Text(f"{said}.{' ' * bool(side)}{side}", weight)


def section(values: PositionBias) -> Section:
    """The headline, what is not known of orders, shares per category, bars."""
    parts: list[Part] = [headline(values)]
    facts = tuple(_facts(values))
    if facts:
        parts.append(Facts(facts))
    lines = [line for line in values.lines if line.consistent.value is not None]
    if lines:
        parts += [_table(values, lines), _picture(values, lines)]
    return Section(f"position-{values.key}", "Position bias", tuple(parts))


def _side_words(side: Sidedness) -> str:
    if side.p is None:
        return ""
    more, n = max(side.first, side.second), side.n
    test = f"exact binomial test of one half: {cells.chance(side.p)}"
    if side.first == side.second:
        return f"Of these, as many favour the answer shown first as the one shown second, {more}."
    place = "first" if side.first > side.second else "second"
    said = (
        f"{more} of the {n} inconsistent ones with known orders favour the answer shown {place}"
        f" ({test})"
    )
    if side.lopsided and side.p >= SIGNIFICANT:
        return f"{said}, which so few may do by chance."
    return f"{said}."


def _facts(values: PositionBias) -> list[str]:
    facts = []
    if values.unknown_orders:
        facts.append(
            f"{values.unknown_orders:,} of {values.verdicts:,} verdicts came as one combined"
            " verdict without their orders: which place they favour is not known, and they are"
            " in no other figure of this section."
        )
    overall = values.lines[0].consistent
    if overall.value is None and values.unknown_orders < values.verdicts:
        facts.append(f"No shares by place: {overall.reason}.")
    left_out = {why: n for why, n in values.inconsistent.excluded.items() if why != UNMARKED}
    if left_out:
        facts.append(f"Verdicts that are not usable: {tallied(left_out)}.")
    return facts


def _table(values: PositionBias, lines: list[PositionLine]) -> Table:
    rows = tuple(
        (
            cells.words(line.category or EVERYTHING),
            cells.count(line.consistent.n),
            cells.share(line.consistent),
            cells.share(line.first),
            cells.share(line.second),
            cells.count(line.ties_in_one_order),
            cells.share(line.error),
        )
        for line in lines
    )
    return Table(
        f"position-shares-{values.key}",
        f"What both orders of a pair say together, judge {values.judge}, percent of pairs",
        (
            Column("questions", words=True),
            Column("pairs"),
            Column("consistent"),
            Column("first"),
            Column("second"),
            Column("tie in one order"),
            Column("error"),
        ),
        rows,
        (
            "Pairs asked in both orders. Consistent: the same outcome in both; first, second:"
            " inconsistent in favour of the answer shown first, or second; error: an order was"
            " asked and gave no verdict. The four add up to 100. Tie in one order: how many of"
            " first and second name a winner in one order only.",
        ),
    )


def _picture(values: PositionBias, lines: list[PositionLine]) -> Picture:
    bars = tuple(
        PositionBar(
            line.category or EVERYTHING,
            line.consistent.n,
            *(one.value or 0.0 for one in (line.consistent, line.first, line.second, line.error)),
        )
        for line in lines
    )
    overall = bars[0]
    return Picture(
        f"position-bars-{values.key}",
        f"What both orders of a pair say together, judge {values.judge}",
        f"Stacked bars. {overall.label}: {_percent(overall.consistent)} consistent,"
        f" {_percent(overall.first)} in favour of the answer shown first,"
        f" {_percent(overall.second)} of the one shown second, {_percent(overall.error)} errors.",
        PositionBars(bars),
    )


def _percent(share: float) -> str:
    return f"{100 * share:.1f} %".replace(".0 %", " %")
