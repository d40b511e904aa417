"""A report as a document: sections of text, facts, tables, pictures and quoted exchanges.

Topics make it (`judge.reporting.topics`), renderers print it: to a terminal, as Markdown, as
one HTML page, as LaTeX and CSV tables. What a figure is and how it reads is decided once, in
the topic; how it looks is decided once per renderer. All text is plain: escaping is the
renderer's work, and no name from a file can become markup.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import TypeAlias

from judge.reporting.pictures import Plot
from judge.stats.estimate import Estimate


class Weight(StrEnum):
    """How much a paragraph wants to be read."""

    PLAIN = "plain"
    KEY = "key"
    """What the section comes to, in a sentence."""
    WARNING = "warning"
    """What must not be overlooked before a figure is quoted."""


@dataclass(frozen=True, slots=True)
class Text:
    """One paragraph."""

    words: str
    weight: Weight = Weight.PLAIN


@dataclass(frozen=True, slots=True)
class Facts:
    """Short sentences, one under another."""

    items: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Column:
    """A heading; words stand to the left, numbers to the right."""

    heading: str
    words: bool = False


@dataclass(frozen=True, slots=True)
class Cell:
    """What is printed; a figure keeps its estimate, for CSV files and for tooltips."""

    text: str
    estimate: Estimate | None = None
    remark: str = ""
    """Why the figure or its interval is missing; renderers letter it and print it below."""


@dataclass(frozen=True, slots=True)
class Table:
    """Rows of cells under columns; `id` also names its files."""

    id: str
    caption: str
    columns: tuple[Column, ...]
    rows: tuple[tuple[Cell, ...], ...]
    remarks: tuple[str, ...] = ()
    """Printed below, before the reasons of missing figures."""

    def __post_init__(self) -> None:
        for row in self.rows:
            if len(row) != len(self.columns):
                raise ValueError(f"{self.id}: {len(row)} cells for {len(self.columns)} columns")


@dataclass(frozen=True, slots=True)
class Picture:
    """A figure of the report: data to draw, and the same in words."""

    id: str
    caption: str
    alt: str
    """What it shows, for whoever cannot see it."""
    plot: Plot


@dataclass(frozen=True, slots=True)
class Exchange:
    """Two answers to one question beside what people and the judge said of them."""

    id: str
    heading: str
    facts: tuple[str, ...]
    """Votes, verdicts in each order, what they come to."""
    turns: tuple[tuple[str, str, str], ...]
    """Per turn: what the user said, the answer of a, the answer of b; as written."""
    names: tuple[str, str]
    """Of the two models, a and b."""


Part: TypeAlias = Text | Facts | Table | Picture | Exchange


@dataclass(frozen=True, slots=True)
class Section:
    """A heading with what stands under it."""

    id: str
    """Unique in the document: letters, digits and hyphens."""
    title: str
    parts: tuple[Part, ...] = ()
    sections: tuple[Section, ...] = ()


def told_apart(sections: tuple[Section, ...]) -> tuple[Section, ...]:
    """The same with every id once: ids are made of names, and two names may make one.

    "GPT 4" and "gpt-4" do, or a group called "all"; the later one gets a number.
    """
    taken: set[tuple[type, str]] = set()  # a table and a picture may share an id

    def free(kind: type, id: str) -> str:
        found, number = id, 1
        while (kind, found) in taken:
            number += 1
            found = f"{id}-{number}"
        taken.add((kind, found))
        return found

    def named(part: Part) -> Part:
        return (
            part if isinstance(part, Text | Facts) else replace(part, id=free(type(part), part.id))
        )

    def alone(section: Section) -> Section:
        return replace(
            section,
            id=free(Section, section.id),
            parts=tuple(map(named, section.parts)),
            sections=tuple(map(alone, section.sections)),
        )

    return tuple(map(alone, sections))


@dataclass(frozen=True, slots=True)
class Document:
    """Title, what the reader must know first, and the sections."""

    title: str
    lead: tuple[Text, ...]
    settings: str
    """Level, resampling and seed, in one line."""
    sections: tuple[Section, ...]
    one_page: bool = False
    """Whether its page is printed small, without contents, so that it fits one sheet."""

    def __post_init__(self) -> None:
        """Two tables of one id would be one file, and one number, to every renderer."""
        for kind in (Table, Picture, Exchange):
            ids = [part.id for part in self.parts() if isinstance(part, kind)]
            if len(set(ids)) < len(ids):
                twice = next(one for one in ids if ids.count(one) > 1)
                raise ValueError(f"{kind.__name__.lower()} {twice}: twice in one document")

    def parts(self) -> Iterator[Part]:
        """Everything in the order in which it is read."""

        def inside(section: Section) -> Iterator[Part]:
            yield from section.parts
            for one in section.sections:
                yield from inside(one)

        for section in self.sections:
            yield from inside(section)

    def tables(self) -> Iterator[Table]:
        """All tables, in order."""
        return (part for part in self.parts() if isinstance(part, Table))

    def pictures(self) -> Iterator[Picture]:
        """All pictures, in order."""
        return (part for part in self.parts() if isinstance(part, Picture))
