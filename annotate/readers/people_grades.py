"""People's 1–10 grades of single answers, one a line (JSONL) or a row (CSV).

As JSONL it is what `evenhand export` writes as grades.jsonl. Trap: a judge's grade stands in
`score` with a `judge`, a person's in `grade` with a `rater`; neither is taken for the other.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from pydantic import BaseModel, ConfigDict, Field, field_validator

from ..grade_protocol import HIGHEST, LOWEST
from ..harm import HARM, AnswerLabel
from ..records import GROUP_LENGTH, OVERALL, Layer, Purpose, QuestionKey
from .base import Found, Problem, Read, csv_lines, json_lines, validated
from .fastchat import DIMENSION, MAX_TURN, Id


class GradeLine(BaseModel):
    """One grade; a misspelt field must not become a grade without it."""

    model_config = ConfigDict(extra="forbid")

    question_id: Id
    model: str = Field(min_length=1, max_length=500)
    turn: int = Field(ge=0, le=MAX_TURN)
    rater: str = Field(min_length=1, max_length=200)
    grade: float = Field(ge=LOWEST, le=HIGHEST)
    dimension: str = Field(default=OVERALL, pattern=DIMENSION)
    benchmark: str | None = None
    category: str = ""
    rater_group: str | None = Field(default=None, min_length=1, max_length=GROUP_LENGTH)
    layer: Layer = Layer.VOTE
    purpose: Purpose = Purpose.ESTIMATION
    inclusion_probability: float | None = Field(default=None, gt=0, le=1)
    comment: str = ""

    @field_validator("turn", "grade", mode="before")
    @classmethod
    def _no_truth(cls, value: object) -> object:
        if isinstance(value, bool):
            raise ValueError(f"found {value}, expected a number")
        return value

    @field_validator("dimension")
    @classmethod
    def _graded(cls, value: str) -> str:
        if value == HARM:
            raise ValueError(f"found {value!r}: harm has labels, not grades")
        return value


def read_people_grades(path: Path, name: str, benchmark: str) -> Iterator[Read]:
    """Grades, or problems with their line and field."""
    lines = csv_lines if path.suffix.lower() == ".csv" else json_lines
    for item in lines(path, name):
        if isinstance(item, Problem):
            yield item
            continue
        where, value = item
        line = validated(GradeLine, where, value)
        if isinstance(line, list):
            yield from line
        elif isinstance(line, GradeLine):
            yield Found(where, _record(line, benchmark))


def _record(line: GradeLine, benchmark: str) -> AnswerLabel:
    return AnswerLabel(
        key=QuestionKey(line.benchmark or benchmark, line.question_id),
        model=line.model,
        turn=line.turn,
        source_id=line.rater,
        label=line.grade,
        rater_group=line.rater_group or "",
        layer=line.layer,
        purpose=line.purpose,
        inclusion_probability=line.inclusion_probability,
        comment=line.comment,
        dimension=line.dimension,
    )
