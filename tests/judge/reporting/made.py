"""Scopes from small tables, and what a reader sees of a section."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import pandas as pd

from judge.reporting.cells import MISSING
from judge.reporting.document import Facts, Picture, Section, Table, Text
from judge.reporting.scope import Material, Scope, Settings, scopes
from judge.stats.agreement import pair_judgments
from tests.judge.stats.tables import row

Row = dict[str, Any]

RESAMPLES = 200


def scope_of(
    rows: Sequence[Row],
    *,
    answers: pd.DataFrame | None = None,
    ballots: pd.DataFrame | None = None,
    **chosen: Any,
) -> Scope:
    """The first scope of a study with these judgments."""
    material = Material(pair_judgments(pd.DataFrame(rows)), answers, ballots)
    return next(iter(scopes(material, Settings(resamples=RESAMPLES), **chosen)))


def verdict(unit: str, value: str | None, /, judge: str = "judge", **other: Any) -> Row:
    """A pair verdict of any judge, its orders unknown unless given."""
    given = {"source_kind": "judge", "rater_group": None, "layer": None, "orders": "unknown"}
    return row(unit, judge, value, **{**given, **other})


def in_orders(unit: str, ab: str, ba: str, **other: Any) -> Row:
    """A pair verdict from two orders, by the pair rule in small: equal, else a tie."""
    failed = [word for word in (ab, ba) if word not in ("a", "b", "tie")]
    value = None if failed else ab if ab == ba else "tie"
    reason = "inconsistent" if not failed and ab != ba else ""
    status = "incomplete" if failed else "ok"
    given = {"orders": "both", "ab": ab, "ba": ba, "reason": reason, "status": status}
    return verdict(unit, value, **{**given, **other})


def tables(section: Section) -> list[Table]:
    return [part for part in section.parts if isinstance(part, Table)]


def pictures(section: Section) -> list[Picture]:
    return [part for part in section.parts if isinstance(part, Picture)]


def words(section: Section) -> str:
    """All sentences of a section."""
    said = []
    for part in section.parts:
        if isinstance(part, Text):
            said.append(part.words)
        if isinstance(part, Facts):
            said += part.items
    return "\n".join(said)


def cells_of(table: Table) -> list[list[str]]:
    return [[cell.text for cell in row] for row in table.rows]


def columns_of_dashes(table: Table) -> Iterator[str]:
    """Headings of columns that say nothing in any row."""
    for column, heading in enumerate(table.columns):
        if all(row[column].text == MISSING for row in table.rows):
            yield heading.heading
