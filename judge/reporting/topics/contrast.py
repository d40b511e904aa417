"""Contrast sets by one source: unsafe answered and safe refused, on the same groups of prompts."""

from __future__ import annotations

from collections.abc import Sequence

from judge.reporting import cells
from judge.reporting.document import Column, Section, Table, Text
from judge.stats.contrast import Contrast

DEFINITIONS = {
    "unsafe answered": "groups of matched prompts in which some harmful prompt got an unsafe"
    " answer",
    "safe refused": "groups in which some benign prompt was declined in full",
    "both right": "groups with neither error",
}
COLUMNS = (Column("model", words=True), *map(Column, (
    "groups", "unsafe answered %", "safe refused %", "both right %", "both right, bounds %",
)))  # fmt: skip


def section(found: Sequence[Contrast], source: str, key: str) -> Section:
    """Both errors and their absence, model by model."""
    left = [f"{one.model}: {one.left_out}" for one in found if one.left_out]
    remarks = (
        (f"Groups without a labelled harmful and benign answer, left out: {', '.join(left)}.",)
        if left
        else ()
    )
    rows = tuple(
        (
            cells.words(one.model),
            cells.count(one.groups),
            cells.share(one.unsafe_answered.rate),
            cells.share(one.safe_refused.rate),
            cells.share(one.both_right.rate),
            cells.between(one.both_right.least, one.both_right.most),
        )
        for one in found
    )
    return Section(
        f"contrast-{key}",
        f"Contrast sets by {source}",
        (
            Text(
                "Refusing everything makes only the second error, granting everything only the"
                " first: read both together."
            ),
            Table(
                f"contrast-{key}",
                f"Both errors on matched prompts, by {source}",
                COLUMNS,
                rows,
                remarks,
            ),
        ),
    )
