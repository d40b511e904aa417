"""Scopes and their sections for the tests of the report's topics."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pandas as pd

from judge.reporting.document import Facts, Part, Section, Table, Text
from judge.reporting.plain import plain
from judge.reporting.scope import Material, Scope, Settings, scopes
from judge.stats.agreement import pair_judgments
from tests.judge.stats.tables import row

QUICK = Settings(resamples=200)


def scope_of(rows: list[dict[str, Any]], judge: str = "judge") -> Scope:
    """The one scope of a table; without any verdict, one of a judge that said nothing."""
    if not any(one["source_kind"] == "judge" for one in rows):
        rows = [*rows, row("elsewhere", judge, None, status="api_error")]
    (found,) = scopes(Material(pair_judgments(pd.DataFrame(rows))), QUICK)
    return found


def parts_of(section: Section) -> Iterator[Part]:
    """Everything under a heading and its subheadings."""
    yield from section.parts
    for one in section.sections:
        yield from parts_of(one)


def texts_of(section: Section) -> str:
    """All sentences of a section outside its tables."""
    words: list[str] = []
    for part in parts_of(section):
        if isinstance(part, Text):
            words.append(part.words)
        elif isinstance(part, Facts):
            words += part.items
    return "\n".join(words)


def tables_of(section: Section) -> list[Table]:
    """Its tables, in order."""
    return [part for part in parts_of(section) if isinstance(part, Table)]


def words_of(section: Section) -> str:
    """Everything that can be read: titles, sentences, tables and pictures."""
    return json.dumps(plain(section), ensure_ascii=False)
