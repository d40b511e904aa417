"""How far people agree with each other, and judges with people: one population's tables."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby

from judge.reporting import cells
from judge.reporting.document import Cell, Column, Facts, Part, Section, Table, Text, Weight
from judge.reporting.layout import counted, percent, tallied
from judge.reporting.scope import slug
from judge.reporting.values import Block, Line
from judge.stats.views import comparison_words, turn_words

COLUMNS = (
    Column("turn, setup", words=True),
    Column("agree"),
    Column("percent"),
    Column("kappa*"),
    Column("alpha"),
    Column("AC1"),
)

DEFINITIONS = {
    "S1": "all rows in three categories, A better, tie, B better; both_bad merged with tie",
    "S2": "only rows on which both sides name a winner; coverage is their share of S1's rows",
    "human–human": "all pairs of votes by different raters on one unit (pair of answers × turn); "
    "not the same units as the judge's rows: see the human reference for matched rows",
    "judge–human": "one row per vote, beside the judge's verdict on the same unit; "
    "failed or missing verdicts are left out and counted",
    "agree": "rows on which both judgments are the same, of all rows; takes no account of chance",
    "kappa*": "Cohen's kappa, symmetrised over which model is called A: 1 always the same, "
    "0 as chance would have it, below 0 less; on S2 it is 2p − 1",
    "alpha": "Krippendorff's alpha, nominal: 1, 0, below 0 as for kappa*; chance from pooled votes",
    "AC1": "Gwet's AC1: as alpha, but its chance does not grow when one outcome prevails",
}


def section(block: Block, dimension: str, *, among: str = "") -> Section:
    """A population's counts, then a table for each comparison.

    Args:
        block: from `judge.reporting.summary`.
        dimension: the block is on.
        among: part of the ids, where a population is shown twice.
    """
    key = "-".join(filter(None, [slug(dimension), among, slug(block.group)]))
    if block.simulated:
        key += "-simulated"
    parts: list[Part] = [Facts(tuple(_facts(block)))]
    if block.simulated:
        parts.insert(0, Text(SIMULATED, Weight.WARNING))
    for number, (compared, group) in enumerate(
        groupby(block.lines, key=lambda line: (line.comparison, line.judge))
    ):
        lines = list(group)
        named = comparison_words(*compared, simulated=block.simulated)
        if all(line.agreement.value is None for line in lines):
            first = lines[0].agreement
            left_out = f" ({tallied(first.excluded)})" if first.excluded else ""
            parts.append(Text(f"{named}: undefined: {first.reason}{left_out}"))
            continue
        name = f"agreement-{key}-{slug(lines[0].judge) if lines[0].judge else 'people'}"
        if number > 1 and any(isinstance(p, Table) and p.id == name for p in parts):
            name += f"-{number}"  # Two judges may differ in characters that a slug drops.
        parts.append(
            Table(
                name,
                f"Agreement, {named}",
                COLUMNS,
                tuple(map(_row, lines)),
                tuple(_remarks(lines)),
            )
        )
    heading = block.population[0].upper() + block.population[1:]
    return Section(f"agreement-{key}", heading, tuple(parts))


SIMULATED = "A program made these votes: never quote them as people's."


def _row(line: Line) -> tuple[Cell, ...]:
    turn = {None: "all", 0: "whole"}.get(line.turn, str(line.turn))
    return (
        cells.words(f"{turn}, {line.setup}"),
        cells.ratio(line.agreement),
        cells.share(line.agreement),
        cells.coefficient(line.kappa_symmetrised),
        cells.coefficient(line.alpha),
        cells.coefficient(line.ac1),
    )


def _remarks(lines: list[Line]) -> Iterator[str]:
    shares = [
        f"{turn_words(line.turn)} {percent(line.coverage.value)} %"
        for line in lines
        if line.coverage is not None and line.coverage.value is not None
    ]
    if shares:
        yield f"S2 keeps of S1's rows: {', '.join(shares)}."
    first = lines[0].agreement  # of S1 on the most turns
    if first.excluded:
        yield f"Votes in no row, {turn_words(lines[0].turn)}: {tallied(first.excluded)}."


def _facts(block: Block) -> list[str]:
    c = block.counts
    facts = [
        f"{counted(c.questions, 'question')}, {counted(c.pairs, 'pair')},"
        f" {counted(c.units, 'unit')} (pair × turn), {c.units_with_two_votes} of them with two"
        " or more votes",
        f"{counted(c.raters, 'rater')}, {counted(c.votes, 'vote')}:"
        f" {counted(c.ties, 'tie')}, {c.both_bad} both bad",
    ]
    if c.excluded:
        facts.append(f"votes not used: {tallied(c.excluded)}")
    return facts + list(block.notes)
