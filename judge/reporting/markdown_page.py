"""A report as Markdown, with links to its pictures."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator

from judge.reporting.characters import as_written, one_line
from judge.reporting.document import (
    Cell,
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
from judge.reporting.layout import escaped
from judge.reporting.references import Numbers, letters, numbers

_LABELS = {Weight.KEY: "Key result", Weight.WARNING: "Before you quote this"}
# What would make a list or a heading of a sentence that begins with it.
_LINE_START = re.compile(r"(\d+)[.)](?= |$)|[-+=]")


def to_markdown(document: Document, drawn: Collection[str] | None = None) -> str:
    """The whole report; pictures as links to figures/ID.svg.

    Args:
        document: the report.
        drawn: ids of the pictures that were drawn, or None for all; of the others the words
            stand in their place.
    """
    number = numbers(document)
    shown = number.pictures if drawn is None else drawn
    lines = [f"# {_words(document.title)}", "", _sentence(document.settings), ""]
    for text in document.lead:
        lines += _text(text)
    for section in document.sections:
        lines += _section(section, 2, number, shown)
    return "\n".join(lines).rstrip("\n") + "\n"


def _section(
    section: Section, depth: int, number: Numbers, drawn: Collection[str]
) -> Iterator[str]:
    yield from (f"{'#' * min(depth, 6)} {_words(section.title)}", "")
    for part in section.parts:
        yield from _part(part, number, drawn)
    for one in section.sections:
        yield from _section(one, depth + 1, number, drawn)


def _part(part: Part, number: Numbers, drawn: Collection[str]) -> Iterator[str]:
    match part:
        case Text():
            yield from _text(part)
        case Facts():
            yield from (*(f"- {_sentence(item)}" for item in part.items), "")
        case Table():
            yield from _table(part, number.tables[part.id])
        case Picture():
            yield from _picture(part, number.pictures[part.id], part.id in drawn)
        case Exchange():
            yield from _exchange(part)


def _text(text: Text) -> Iterator[str]:
    if label := _LABELS.get(text.weight):
        yield from (f"> **{label}.** {_words(text.words)}", "")
    else:
        yield from (_sentence(text.words), "")


def _table(table: Table, number: int) -> Iterator[str]:
    lettered = letters(table)
    yield from (f"**Table {number}.** {_words(table.caption)}", "")
    yield _row([_words(column.heading) for column in table.columns])
    yield _row(["---" if column.words else "---:" for column in table.columns])
    for row in table.rows:
        yield _row([_cell(cell, lettered) for cell in row])
    yield ""
    notes = [_sentence(remark) for remark in table.remarks]
    notes += [f"({letter}) {_words(remark)}" for remark, letter in lettered.items()]
    for note in notes:
        yield from (note, "")


def _row(cells: list[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _cell(cell: Cell, lettered: dict[str, str]) -> str:
    letter = lettered.get(cell.remark, "")
    return f"{_words(cell.text)}{f' ({letter})' if letter else ''}"


def _picture(picture: Picture, number: int, drawn: bool) -> Iterator[str]:
    if drawn:
        yield from (f"![{_words(picture.alt)}](figures/{picture.id}.svg)", "")
    else:
        yield from (f"*Not drawn.* {_words(picture.alt)}", "")
    yield from (f"**Figure {number}.** {_words(picture.caption)}", "")


def _exchange(exchange: Exchange) -> Iterator[str]:
    yield from (f"#### {_words(exchange.heading)}", "")
    if exchange.facts:
        yield from (*(f"- {_sentence(fact)}" for fact in exchange.facts), "")
    for i, (user, a, b) in enumerate(exchange.turns, start=1):
        turn = f", turn {i}" if len(exchange.turns) > 1 else ""
        speakers = ("User", *map(_words, exchange.names))
        for speaker, said in zip(speakers, (user, a, b), strict=True):
            yield from (f"**{speaker}**{turn}:", "", *_quoted(said), "")


def _quoted(text: str) -> Iterator[str]:
    """As written, inside a fence that is longer than any in it."""
    shown = as_written(text)
    longest = max(map(len, re.findall(r"`+", shown)), default=0)
    fence = "`" * max(3, longest + 1)
    yield from (f"{fence}text", shown, fence)


def _sentence(text: str) -> str:
    """Words at the start of a line, where some characters would make a list or a heading."""
    words = _words(text)
    if found := _LINE_START.match(words):
        return f"{found[1] or ''}\\{words[len(found[1] or '') :]}"
    return words


def _words(text: str) -> str:
    return escaped(one_line(text))
