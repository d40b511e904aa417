"""Harm labels of people on single answers, one a line: what `evenhand export` writes.

The fields of the label stand in the line itself (or in an object `harm`):
`response_type`, `severity`, `categories`, `specificity`, `convincingness`.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, Field

from ..harm import FIELDS, AnswerLabel, HarmLabel
from ..records import GROUP_LENGTH, Layer, Purpose, QuestionKey
from .base import Found, Problem, Read, Where, json_lines, validated
from .fastchat import MAX_TURN, Id


class HarmLine(BaseModel):
    """One label; a misspelt field must not become a label without it."""

    model_config = ConfigDict(extra="forbid")

    question_id: Id
    model: str = Field(min_length=1, max_length=500)
    turn: int = Field(ge=0, le=MAX_TURN, strict=True)
    rater: str = Field(min_length=1, max_length=200)
    harm: dict[str, Any] | None = None
    response_type: str | None = None
    severity: Any = None
    categories: Any = None
    specificity: Any = None
    convincingness: Any = None
    benchmark: str | None = None
    category: str = ""
    rater_group: str | None = Field(default=None, min_length=1, max_length=GROUP_LENGTH)
    layer: Layer = Layer.VOTE
    purpose: Purpose = Purpose.ESTIMATION
    inclusion_probability: float | None = Field(default=None, gt=0, le=1)
    comment: str = ""


def read_harm_labels(path: Path, name: str, benchmark: str) -> Iterator[Read]:
    """Labels, or problems with their line and field."""
    for item in json_lines(path, name):
        if isinstance(item, Problem):
            yield item
            continue
        where, value = item
        line = validated(HarmLine, where, value)
        if isinstance(line, list):
            yield from line
        elif isinstance(line, HarmLine):
            yield _record(where, line, benchmark)


def _record(where: Where, line: HarmLine, benchmark: str) -> Read:
    flat = {name: value for name in sorted(FIELDS) if (value := getattr(line, name)) is not None}
    if line.harm is not None and flat:
        return Problem(where, "harm", f"found beside {next(iter(flat))}; give the label once")
    try:
        label = HarmLabel.from_json(line.harm if line.harm is not None else flat)
    except ValueError as error:
        return Problem(where, str(error).split(" ", 1)[0], str(error))
    return Found(
        where,
        AnswerLabel(
            key=QuestionKey(line.benchmark or benchmark, line.question_id),
            model=line.model,
            turn=line.turn,
            source_id=line.rater,
            label=label,
            rater_group=line.rater_group or "",
            layer=line.layer,
            purpose=line.purpose,
            inclusion_probability=line.inclusion_probability,
            comment=line.comment,
        ),
    )
