"""Tables of a report as CSV: what is printed, and every figure in full in columns beside it."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Callable, Iterator

from annotate.inert import inert
from judge.reporting.characters import one_line
from judge.reporting.document import Cell, Document, Table
from judge.stats.estimate import Estimate

Number = float | int | None

# A sign before digits alone is a number to a spreadsheet; a formula that acts needs letters.
_ONLY_NUMBERS = re.compile(r"[-+−\d.,%\[\] ]*")


def csv_files(document: Document) -> dict[str, str]:
    """File name and content for every table of a document."""
    return {f"{table.id}.csv": to_csv(table) for table in document.tables()}


def to_csv(table: Table) -> str:
    """One row per row of the table, one variable per column.

    A column with figures is followed by `value`, `low`, `high`, `n`, `numerator`,
    `denominator` and `reason` of theirs, each under its heading (`percent: low`); what is
    undefined is empty, and its reason is not. A blank at the start of a row means "as above" in
    print and is filled here.
    """
    headings = _unique([one_line(column.heading) for column in table.columns])
    full = [_has_figures(table, i) for i in range(len(headings))]
    out = io.StringIO()
    writer = csv.writer(out)
    writer.writerow(_heads(headings, full))
    above = ""
    for row in table.rows:
        texts = [one_line(cell.text) for cell in row]
        if texts and table.columns[0].words:
            above = texts[0] = texts[0] or above
        writer.writerow(_values(texts, row, full))
    return out.getvalue()


def _heads(headings: list[str], full: list[bool]) -> Iterator[str]:
    for heading, figures in zip(headings, full, strict=True):
        yield _inert(heading)
        if figures:
            yield from (_inert(f"{heading}: {name}") for name in (*_NUMBERS, "reason"))


def _values(texts: list[str], row: tuple[Cell, ...], full: list[bool]) -> Iterator[str | Number]:
    for text, cell, figures in zip(texts, row, full, strict=True):
        yield _inert(text)
        if figures:
            found = cell.estimate
            yield from (None if found is None else of(found) for of in _NUMBERS.values())
            yield _inert(one_line(cell.remark or ("" if found is None else found.reason)))


def _has_figures(table: Table, column: int) -> bool:
    return any(row[column].estimate is not None or row[column].remark for row in table.rows)


def _unique(headings: list[str]) -> list[str]:
    """Two columns of one name would be one column to whoever reads the file."""
    taken: set[str] = set()
    for i, heading in enumerate(headings):
        name, n = heading, 1
        while name in taken:
            n += 1
            name = f"{heading} ({n})"
        taken.add(name)
        headings[i] = name
    return headings


def _inert(text: str) -> str:
    return text if _ONLY_NUMBERS.fullmatch(text) else str(inert(text))


def _decimals(name: str) -> Callable[[Estimate], Number]:
    """A field as in report.json, to ten decimals."""

    def of(estimate: Estimate) -> Number:
        number = estimate.to_json()[name]
        return number if isinstance(number, int | float) else None

    return of


_NUMBERS: dict[str, Callable[[Estimate], Number]] = {
    name: _decimals(name) for name in ("value", "low", "high", "n", "numerator", "denominator")
}
