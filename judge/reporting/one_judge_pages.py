"""A judge's win rates and position figures as text for a terminal, as Markdown and as JSON."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from judge.reporting.layout import (
    aligned,
    counted,
    escaped,
    markdown_table,
    percent,
    tallied,
    widths_of,
    wrapped,
)
from judge.reporting.plain import plain
from judge.stats.both_orders import PositionLine
from judge.stats.estimate import Estimate
from judge.stats.one_judge import JudgeFigures, ModelRates

DEFINITIONS = {
    "n": "of win rates: pair verdicts with an outcome, each counted for both of its models; "
    "of position: pairs that were asked in both orders",
    "adjusted": "(wins + ties / 2) / n, as in FastChat's show_result; inconsistent and both_bad "
    "verdicts are ties, failed ones are left out",
    "decisive": "wins / (wins + losses)",
    "strict": "wins / n: a tie is no win",
    "consistent": "both orders of a pair come to the same outcome; with first, second and error "
    "it adds up to 100 %",
    "first, second": "inconsistent in favour of the answer shown first, or shown second; half: "
    "how many of these call a tie in one order",
    "error": "an order was asked and gave no verdict",
}

WINS = ("model", "n", "wins", "losses", "ties", "left out", "adjusted", "decisive", "strict")
POSITION = ("questions", "n", "consistent", "first", "second", "half", "error")


@dataclass(frozen=True, slots=True)
class _Table:
    """One table; the first column holds words, the others numbers."""

    title: str
    headings: tuple[str, ...]
    rows: list[tuple[str, ...]]


def text_lines(figures: JudgeFigures) -> Iterator[str]:
    """For a terminal: what is known in words, then aligned tables."""
    yield f"  {_title(figures)}"
    for fact in _facts(figures):
        yield from wrapped(fact, first="    ", rest="      ")
    for table in _tables(figures):
        widths = widths_of(table.headings, table.rows)
        yield ""
        yield f"    {table.title}"
        yield from (
            f"    {aligned(cells, widths, words=1)}" for cells in (table.headings, *table.rows)
        )


def markdown_lines(figures: JudgeFigures) -> Iterator[str]:
    """The same for a page."""
    yield from (f"### {escaped(_title(figures))}", "")
    yield from (f"- {escaped(fact)}" for fact in _facts(figures))
    for table in _tables(figures):
        yield from ("", f"{table.title}:", "")
        yield from markdown_table(table.headings, table.rows, words=1)


def to_json(figures: JudgeFigures) -> dict[str, Any]:
    """Every figure in full."""
    found: dict[str, Any] = plain(figures)
    return found


def _title(figures: JudgeFigures) -> str:
    turns = "all turns" if figures.turn is None else "whole dialogues"
    return f"Judge {figures.judge}: win rates and position, {turns}"


def _facts(figures: JudgeFigures) -> Iterator[str]:
    one = figures.inconsistent
    words = f"undefined: {one.reason}"
    if one.value is not None:
        words = f"{one.numerator} of {one.n}, {_figure(one)} %"
    left_out = f"; left out: {tallied(one.excluded)}" if one.excluded else ""
    yield f"inconsistent pair verdicts: {words}{left_out}"
    yield from figures.notes
    over_all = figures.position[0].consistent
    if over_all.value is None:
        yield f"no position figures: {over_all.reason}"
    elif over_all.excluded:
        yield f"pairs in no position figure: {tallied(over_all.excluded)}"
    estimates = [row.adjusted for row in figures.wins[0].rows]
    reasons = {e.reason: None for e in estimates if e.value is not None and e.reason}
    yield from (f"[–] {reason}" for reason in reasons)
    yield f"intervals resample {counted(figures.questions, 'question')}"


def _tables(figures: JudgeFigures) -> Iterator[_Table]:
    over_all, *against = figures.wins
    yield _Table("Win rates over all pairs, percent", WINS, [_wins(r) for r in over_all.rows])
    # With two models the one against the other is the table above.
    if len(against) > 2:
        yield _against(figures)
    if figures.position[0].consistent.value is not None:
        rows = [_position(line) for line in figures.position]
        yield _Table("Position: what both orders of a pair say together, percent", POSITION, rows)


def _wins(row: ModelRates) -> tuple[str, ...]:
    counts = (row.adjusted.n, row.wins, row.losses, row.ties, sum(row.adjusted.excluded.values()))
    rates = (_figure(row.adjusted), _value(row.decisive), _value(row.strict))
    return (row.model, *map(str, counts), *rates)


def _against(figures: JudgeFigures) -> _Table:
    """Adjusted rates, models numbered in the order of the table over all pairs."""
    over_all, *against = figures.wins
    models = [row.model for row in over_all.rows]
    rates = {(row.model, table.baseline): row.adjusted for table in against for row in table.rows}
    headings = ("against", *(str(number) for number in range(1, len(models) + 1)))
    rows = [
        (
            f"{number} {model}",
            *(_value(rates[model, o]) if (model, o) in rates else "" for o in models),
        )
        for number, model in enumerate(models, start=1)
    ]
    return _Table("Adjusted win rate of each model against each other one, percent", headings, rows)


def _position(line: PositionLine) -> tuple[str, ...]:
    shares = (_figure(line.consistent), _figure(line.first), _figure(line.second))
    half = str(line.ties_in_one_order)
    return (line.category or "all", str(line.consistent.n), *shares, half, _value(line.error))


def _value(estimate: Estimate) -> str:
    return "–" if estimate.value is None else percent(estimate.value)


def _figure(estimate: Estimate) -> str:
    if estimate.value is None:
        return "–"
    if estimate.low is None or estimate.high is None:
        return f"{percent(estimate.value)} [–]"
    return f"{percent(estimate.value)} [{percent(estimate.low)}, {percent(estimate.high)}]"
