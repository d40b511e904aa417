"""What a renderer refers to: numbers of tables and figures, letters of remarks, notes below."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from string import ascii_lowercase

from judge.reporting.document import Cell, Document, Exchange, Table


@dataclass(frozen=True, slots=True)
class Numbers:
    """Which table and which figure it is, by id; both count from 1 through the document."""

    tables: Mapping[str, int]
    pictures: Mapping[str, int]


def numbers(document: Document) -> Numbers:
    """The numbers that every renderer prints, so that two of them speak of the same table."""
    return Numbers(
        {table.id: i for i, table in enumerate(document.tables(), start=1)},
        {picture.id: i for i, picture in enumerate(document.pictures(), start=1)},
    )


def exchanges(document: Document) -> Iterator[Exchange]:
    """All quoted exchanges, in order."""
    return (part for part in document.parts() if isinstance(part, Exchange))


def letters(table: Table) -> dict[str, str]:
    """Every remark of a cell with its letter, in the order in which they are met."""
    met = dict.fromkeys(cell.remark for row in table.rows for cell in row if cell.remark)
    return {remark: _letter(i) for i, remark in enumerate(met)}


def details(cell: Cell) -> str:
    """What stands behind a figure, in one line: rows, questions, how its interval was made."""
    if cell.estimate is None:
        return ""
    found = cell.estimate
    words = [
        f"n = {found.n:,}",
        f"{found.clusters:,} question{'' if found.clusters == 1 else 's'}",
    ]
    if found.low is not None and found.method:
        words.append(f"{100 * found.level:g} % interval: {found.method}")
    words += [f"{n:,} left out: {reason}" for reason, n in sorted(found.excluded.items())]
    return "; ".join(words)


def _letter(index: int) -> str:
    """From a to z, then aa to zz, and so on."""
    return ascii_lowercase[index % 26] * (index // 26 + 1)
