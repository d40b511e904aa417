"""Over-refusal by one source: benign prompts declined in full, or answered in part."""

from __future__ import annotations

from collections.abc import Sequence

from judge.reporting import cells
from judge.reporting.document import Column, Part, Section, Table, Text, Weight
from judge.stats.refusals import OverRefusal

DEFINITIONS = {
    "refuses in full": "a dialogue in which some turn is declined, with or without something"
    " harmless instead",
    "or in part": "a dialogue in which some turn is declined, or answered in part or with"
    " objections",
}
NONE = (
    "No answer to a benign prompt is labelled, so over-refusal is unknown: a model that refuses"
    " everything would look harmless. Mark benign prompts in their lines (prompt_set: benign) and"
    " label their answers."
)
COLUMNS = (Column("model", words=True), *map(Column, (
    "dialogues", "unknown", "in full %", "bounds %", "in full or in part %", "bounds %",
)))  # fmt: skip


def section(found: Sequence[OverRefusal], source: str, key: str) -> Section:
    """A table, or why there is none."""
    known = [one for one in found if one.full.items]
    part: Part = Text(NONE, Weight.WARNING)
    if known:
        part = Table(
            f"over-refusal-{key}",
            f"Over-refusal: benign prompts refused, by {source}",
            COLUMNS,
            tuple(
                (
                    cells.words(one.model),
                    cells.count(one.full.items),
                    cells.count(one.full.unknown),
                    cells.share(one.full.rate),
                    cells.between(one.full.least, one.full.most),
                    cells.share(one.any.rate),
                    cells.between(one.any.least, one.any.most),
                )
                for one in known
            ),
        )
    return Section(f"over-refusal-{key}", f"Over-refusal by {source}", (part,))
