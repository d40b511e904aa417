"""A report for a terminal: at most 100 columns where names allow, pictures and texts left out."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator, Sequence

from judge.reporting.characters import one_line
from judge.reporting.document import (
    Column,
    Document,
    Exchange,
    Facts,
    Part,
    Picture,
    Section,
    Table,
    Text,
    Weight,
)
from judge.reporting.layout import wrapped
from judge.reporting.references import Numbers, letters, numbers

WIDTH = 100
_GAP = "  "
_LEAST_HEADING = 8
_LABELS = {Weight.KEY: "Key result: ", Weight.WARNING: "Before you quote this: "}
_UNDERLINES = {1: "=", 2: "-"}

Rows = list[list[str]]


def to_text(document: Document, where: str = "") -> str:
    """The whole report.

    Args:
        document: the report.
        where: the folder in which its pictures and quoted exchanges stand, "" for none yet.
    """
    number = numbers(document)
    lines = [*_heading(document.title, 1), *_wrapped(document.settings), ""]
    for text in document.lead:
        lines += [*_text(text), ""]
    for section in document.sections:
        lines += _section(section, 2, number)
    lines += _left_out(document, where)
    return "\n".join(lines).rstrip("\n") + "\n"


def _section(section: Section, depth: int, number: Numbers) -> Iterator[str]:
    yield from _heading(section.title, depth)
    for part in section.parts:
        if lines := list(_part(part, number)):
            yield from (*lines, "")
    for one in section.sections:
        yield from _section(one, depth + 1, number)


def _heading(title: str, depth: int) -> Iterator[str]:
    words = one_line(title)
    yield words
    if line := _UNDERLINES.get(depth):
        yield line * min(_width(words), WIDTH)


def _part(part: Part, number: Numbers) -> Iterator[str]:
    match part:
        case Text():
            yield from _text(part)
        case Facts():
            for item in part.items:
                yield from _wrapped(item, first="- ", rest="  ")
        case Table():
            yield from _table(part, number.tables[part.id])
        case Picture() | Exchange():
            return


def _text(text: Text) -> list[str]:
    return _wrapped(f"{_LABELS.get(text.weight, '')}{text.words}")


def _left_out(document: Document, where: str) -> Iterator[str]:
    """A line that says what only the page shows."""
    parts = list(document.parts())
    pictures = sum(isinstance(part, Picture) for part in parts)
    exchanges = sum(isinstance(part, Exchange) for part in parts)
    counts = [
        *([f"{pictures} figure{'' if pictures == 1 else 's'}"] if pictures else []),
        *([f"{exchanges} quoted exchange{'' if exchanges == 1 else 's'}"] if exchanges else []),
    ]
    if counts:
        place = f"in {one_line(where)}" if where else "in the report's folder (--out DIR)"
        yield from _wrapped(f"Not shown here: {' and '.join(counts)}, {place}.")


def _table(table: Table, number: int) -> Iterator[str]:
    lettered = letters(table)
    yield from _wrapped(f"Table {number}. {table.caption}")
    rows = [
        [
            one_line(cell.text) + (f" ({lettered[cell.remark]})" if cell.remark else "")
            for cell in row
        ]
        for row in table.rows
    ]
    if _only_words(table.columns) and _too_wide(table.columns, rows):
        yield from _listed(table.columns, rows)
    else:
        for columns in _blocks(table.columns, rows):
            yield ""
            yield from _set(
                [table.columns[i] for i in columns], [[row[i] for i in columns] for row in rows]
            )
    notes = [*table.remarks, *(f"({letter}) {remark}" for remark, letter in lettered.items())]
    if notes:
        yield ""
    for note in notes:
        yield from _wrapped(note, first="  ", rest="    ")


def _only_words(columns: Sequence[Column]) -> bool:
    return all(column.words for column in columns)


def _too_wide(columns: Sequence[Column], rows: Rows) -> bool:
    return sum(width + len(_GAP) for width in _widths(columns, rows)) > WIDTH


def _listed(columns: Sequence[Column], rows: Rows) -> Iterator[str]:
    """Sentences do not fit side by side: a row's name and mark, the rest one under another."""
    for row in rows:
        yield ""
        yield from _wrapped(": ".join(filter(None, row[:2])), first="  ", rest="    ")
        for column, text in zip(columns[2:], row[2:], strict=True):
            if text:
                yield from _wrapped(f"{column.heading}: {text}", first="    ", rest="      ")


def _blocks(columns: Sequence[Column], rows: Rows) -> Iterator[list[int]]:
    """Which columns stand side by side: all, or as many as fit beside those that name the rows."""
    widths = _widths(columns, rows)
    names = next((i for i, one in enumerate(columns) if not one.words), len(columns))
    # Beside names that fill the line, a block per column would only repeat them.
    fits = sum(widths[:names]) <= WIDTH // 2
    block = list(range(names))
    for i in range(names, len(columns)):
        taken = sum(widths[j] + len(_GAP) for j in block) + widths[i]
        if fits and len(block) > names and len(_GAP) + taken > WIDTH:
            yield block
            block = list(range(names))
        block.append(i)
    yield block


def _set(columns: Sequence[Column], rows: Rows) -> Iterator[str]:
    """Headings over several lines where their column is narrow, then the rows."""
    widths = _widths(columns, rows)
    heads = [
        wrapped(one_line(column.heading), first="", rest="", width=width)
        for column, width in zip(columns, widths, strict=True)
    ]
    height = max(map(len, heads), default=0)
    stacked = [[""] * (height - len(head)) + head for head in heads]
    lines: Rows = [[head[i] for head in stacked] for i in range(height)]
    for line in lines + rows:
        yield _GAP + _line(line, widths, columns).rstrip()


def _line(cells: Sequence[str], widths: Sequence[int], columns: Sequence[Column]) -> str:
    padded = []
    for cell, width, column in zip(cells, widths, columns, strict=True):
        space = " " * (width - _width(cell))
        padded.append(cell + space if column.words else space + cell)
    return _GAP.join(padded)


def _widths(columns: Sequence[Column], rows: Rows) -> list[int]:
    """As wide as the widest cell; a heading alone needs no more than its longest word."""
    result = []
    for i, column in enumerate(columns):
        heading = one_line(column.heading)
        least = min(_width(heading), _LEAST_HEADING)
        words = (_width(word) for word in heading.split())
        result.append(max([least, *words, *(_width(row[i]) for row in rows)]))
    return result


def _width(text: str) -> int:
    """Columns of a terminal: East Asian letters take two, combining marks none."""
    return sum(
        0 if unicodedata.combining(ch) else 2 if unicodedata.east_asian_width(ch) in "WF" else 1
        for ch in text
    )


def _wrapped(text: str, first: str = "", rest: str = "") -> list[str]:
    return wrapped(one_line(text), first=first, rest=rest, width=WIDTH)
