"""Parts of a document as the page's template takes them: numbered, lettered, text made safe.

Nothing here is markup: the template escapes every string but the stylesheet.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Mapping
from dataclasses import dataclass

from judge.reporting import characters
from judge.reporting.characters import as_written
from judge.reporting.document import (
    Cell,
    Exchange,
    Facts,
    Part,
    Picture,
    Section,
    Table,
    Text,
    Weight,
)
from judge.reporting.references import Numbers, details, letters

LONG = 900
"""Characters from which on a text is folded away until asked for."""
LONG_LINES = 14
"""Lines from which on it is, too."""
PERCENT = re.compile(r"(?<=[\d\]]) %")
"""A number, or its interval, before its unit: no line ends between them."""
WEIGHT_WORDS = {Weight.KEY: "Key result", Weight.WARNING: "Before you quote this"}


@dataclass(frozen=True, slots=True)
class TextView:
    """A paragraph; the label says in words what colour says beside it."""

    words: str
    weight: str
    label: str
    kind: str = "text"


@dataclass(frozen=True, slots=True)
class FactsView:
    """Short sentences."""

    items: tuple[str, ...]
    kind: str = "facts"


@dataclass(frozen=True, slots=True)
class CellView:
    """A figure apart from its interval, so that a narrow page can set them one under another."""

    text: str
    interval: str
    title: str
    letter: str
    words: bool
    heads_row: bool


@dataclass(frozen=True, slots=True)
class RowView:
    """Cells, and whether a group of rows begins here."""

    cells: tuple[CellView, ...]
    starts_group: bool


@dataclass(frozen=True, slots=True)
class TableView:
    """A table with what stands above and below it."""

    id: str
    number: int
    caption: str
    heads: tuple[tuple[str, bool], ...]
    """Heading, and whether the column holds words."""
    rows: tuple[RowView, ...]
    remarks: tuple[str, ...]
    letters: tuple[tuple[str, str], ...]
    """Letter and remark."""
    kind: str = "table"


@dataclass(frozen=True, slots=True)
class PictureView:
    """A drawing as a data: address; "" where it was not drawn."""

    id: str
    number: int
    caption: str
    alt: str
    source: str
    kind: str = "picture"


@dataclass(frozen=True, slots=True)
class QuoteView:
    """One text as written."""

    text: str
    size: str
    long: bool


@dataclass(frozen=True, slots=True)
class TurnView:
    """What the user said and both answers."""

    user: QuoteView
    answers: tuple[QuoteView, QuoteView]
    long: bool
    """One of the answers is; they fold together, since they are read side by side."""


@dataclass(frozen=True, slots=True)
class ExchangeView:
    """Two answers side by side."""

    id: str
    heading: str
    facts: tuple[str, ...]
    names: tuple[str, str]
    turns: tuple[TurnView, ...]
    kind: str = "exchange"


PartView = TextView | FactsView | TableView | PictureView | ExchangeView


@dataclass(frozen=True, slots=True)
class SectionView:
    """A heading with what stands under it."""

    id: str
    title: str
    parts: tuple[PartView, ...]
    sections: tuple[SectionView, ...]


def one_line(text: str) -> str:
    """As any one line of the page."""
    return PERCENT.sub("\u00a0%", characters.one_line(text))


def section_view(section: Section, number: Numbers, pictures: Mapping[str, str]) -> SectionView:
    """A section for the template, with all that is inside."""
    return SectionView(
        section.id,
        one_line(section.title),
        tuple(_part_view(part, number, pictures) for part in section.parts),
        tuple(section_view(one, number, pictures) for one in section.sections),
    )


def text_view(text: Text) -> TextView:
    """A paragraph for the template."""
    return TextView(one_line(text.words), text.weight.value, WEIGHT_WORDS.get(text.weight, ""))


def _part_view(part: Part, number: Numbers, pictures: Mapping[str, str]) -> PartView:
    match part:
        case Text():
            return text_view(part)
        case Facts():
            return FactsView(tuple(map(one_line, part.items)))
        case Table():
            return _table_view(part, number.tables[part.id])
        case Picture():
            return _picture_view(part, number.pictures[part.id], pictures.get(part.id, ""))
        case Exchange():
            return _exchange_view(part)


def _table_view(table: Table, number: int) -> TableView:
    lettered = letters(table)
    names_rows = bool(table.columns) and table.columns[0].words
    grouped = names_rows and any(not row[0].text for row in table.rows)
    rows = tuple(
        RowView(
            tuple(
                _cell_view(cell, column.words, names_rows and i == 0, lettered)
                for i, (cell, column) in enumerate(zip(row, table.columns, strict=True))
            ),
            grouped and bool(row[0].text),
        )
        for row in table.rows
    )
    return TableView(
        table.id,
        number,
        one_line(table.caption),
        tuple((one_line(column.heading), column.words) for column in table.columns),
        rows,
        tuple(map(one_line, table.remarks)),
        tuple((letter, one_line(remark)) for remark, letter in lettered.items()),
    )


def _cell_view(cell: Cell, words: bool, first: bool, lettered: Mapping[str, str]) -> CellView:
    text = one_line(cell.text)
    interval = ""
    if cell.estimate is not None and cell.estimate.low is not None:
        text, bracket, rest = text.partition(" [")
        interval = bracket.strip() + rest
    return CellView(
        text,
        interval,
        characters.one_line(details(cell)),
        lettered.get(cell.remark, ""),
        words,
        first and bool(text),
    )


def _picture_view(picture: Picture, number: int, svg: str) -> PictureView:
    """As an image of its own: ids, styles and links of one drawing cannot reach another."""
    packed = base64.b64encode(svg.encode("utf-8", "replace")).decode("ascii")
    source = f"data:image/svg+xml;base64,{packed}" if svg else ""
    return PictureView(
        picture.id, number, one_line(picture.caption), characters.one_line(picture.alt), source
    )


def _exchange_view(exchange: Exchange) -> ExchangeView:
    turns = []
    for user, a, b in exchange.turns:
        answers = (_quote(a), _quote(b))
        turns.append(TurnView(_quote(user), answers, any(answer.long for answer in answers)))
    a_name, b_name = map(one_line, exchange.names)
    return ExchangeView(
        exchange.id,
        one_line(exchange.heading),
        tuple(map(one_line, exchange.facts)),
        (a_name, b_name),
        tuple(turns),
    )


def _quote(text: str) -> QuoteView:
    shown = as_written(text)
    long = len(shown) > LONG or shown.count("\n") >= LONG_LINES
    return QuoteView(shown, f"{len(text):,}", long)
