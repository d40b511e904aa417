"""A judge alone: the win rates it gives, and what both orders of its pairs say together."""

from __future__ import annotations

from collections.abc import Iterator

from judge.reporting import cells
from judge.reporting.document import Cell, Column, Facts, Section, Table
from judge.reporting.layout import counted, tallied
from judge.reporting.scope import slug
from judge.stats.both_orders import PositionLine
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

WINS = (Column("model", words=True), *map(Column, (
    "n", "wins", "losses", "ties", "left out", "adjusted", "decisive", "strict",
)))  # fmt: skip
POSITION = (Column("questions", words=True), *map(Column, (
    "n", "consistent", "first", "second", "half", "error",
)))  # fmt: skip


def section(figures: JudgeFigures, dimension: str, *, orders: bool = True) -> Section:
    """Facts, win rates over all pairs and against each model, and position.

    Args:
        figures: of one judge.
        dimension: they are on.
        orders: whether to say what both orders of a pair say together.
    """
    dialogues = figures.turn is not None
    key = f"{slug(dimension)}-{slug(figures.judge)}{'-dialogues' if dialogues else ''}"
    turns = "whole dialogues" if dialogues else "all turns"
    return Section(
        f"judge-alone-{key}",
        f"Judge {figures.judge}: win rates{' and position' if orders else ''}, {turns}",
        (Facts(tuple(_facts(figures, orders))), *_tables(figures, key, orders)),
    )


def _facts(figures: JudgeFigures, orders: bool) -> Iterator[str]:
    if orders:
        yield from _orders(figures)
    yield f"intervals resample {counted(figures.questions, 'question')}"


def _orders(figures: JudgeFigures) -> Iterator[str]:
    one = figures.inconsistent
    words = f"undefined: {one.reason}"
    if one.value is not None:
        words = f"{one.numerator} of {one.n}, {cells.share(one).text} %"
    left_out = f"; left out: {tallied(one.excluded)}" if one.excluded else ""
    yield f"inconsistent pair verdicts: {words}{left_out}"
    yield from figures.notes
    over_all = figures.position[0].consistent
    if over_all.value is None:
        yield f"no position figures: {over_all.reason}"
    elif over_all.excluded:
        yield f"pairs in no position figure: {tallied(over_all.excluded)}"


def _tables(figures: JudgeFigures, key: str, orders: bool) -> Iterator[Table]:
    over_all, *against = figures.wins
    rows = tuple(map(_wins, over_all.rows))
    yield Table(f"win-rates-alone-{key}", "Win rates over all pairs, percent", WINS, rows)
    # With two models the one against the other is the table above.
    if len(against) > 2:
        yield _against(figures, key)
    if orders and figures.position[0].consistent.value is not None:
        yield Table(
            f"position-{key}",
            "Position: what both orders of a pair say together, percent",
            POSITION,
            tuple(map(_position, figures.position)),
        )


def _wins(row: ModelRates) -> tuple[Cell, ...]:
    counts = (row.adjusted.n, row.wins, row.losses, row.ties, sum(row.adjusted.excluded.values()))
    return (
        cells.words(row.model),
        *map(cells.count, counts),
        cells.share(row.adjusted),
        cells.share_alone(row.decisive),
        cells.share_alone(row.strict),
    )


def _against(figures: JudgeFigures, key: str) -> Table:
    """Adjusted rates, models numbered in the order of the table over all pairs."""
    over_all, *against = figures.wins
    models = [row.model for row in over_all.rows]
    rates = {(row.model, table.baseline): row.adjusted for table in against for row in table.rows}
    return Table(
        f"win-rates-against-{key}",
        "Adjusted win rate of each model against each other one, percent",
        (Column("against", words=True), *(Column(str(n)) for n, _ in enumerate(models, start=1))),
        tuple(
            (
                cells.words(f"{number} {model}"),
                *(
                    cells.share_alone(rates[model, other])
                    if (model, other) in rates
                    else cells.words("")
                    for other in models
                ),
            )
            for number, model in enumerate(models, start=1)
        ),
    )


def _position(line: PositionLine) -> tuple[Cell, ...]:
    return (
        cells.words(line.category or "all"),
        cells.count(line.consistent.n),
        cells.share(line.consistent),
        cells.share(line.first),
        cells.share(line.second),
        cells.count(line.ties_in_one_order),
        cells.share_alone(line.error),
    )
