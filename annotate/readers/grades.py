"""Judges' 1–10 grades of single answers: FastChat's *_single.jsonl, MT-Bench-101's judgments.

Trap of both formats: a failed judgment is the score −1. Here it is no number but a status,
counted and left out of every mean.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, TypeVar

from pydantic import BaseModel, Field

from ..records import OVERALL, Grade, QuestionKey, SourceKind, Status
from .base import Found, Problem, Read, Where, json_lines, validated
from .fastchat import DIMENSION, MAX_TURN, Id, Judge, failure, judge_name

MTBENCH101 = "mtbench101"
"""The dimension of MT-Bench-101's grades: each task has rules of its own."""
LOWEST, HIGHEST = 1, 10
FAILED_SCORE = -1
Line = TypeVar("Line", bound=BaseModel)


class SingleJudgmentLine(BaseModel):
    """One line of model_judgment/*_single.jsonl; `dimension` and `status` are our own."""

    question_id: Id
    model: str = Field(min_length=1, max_length=500)
    judge: Judge
    score: float = Field(strict=True)
    turn: int = Field(ge=1, le=MAX_TURN)
    judgment: Any = None
    dimension: str = Field(default=OVERALL, pattern=DIMENSION)
    status: str | None = None


class TaskGradeLine(BaseModel):
    """One line of MT-Bench-101's judgments."""

    task: str = Field(min_length=1)
    multi_id: Id
    turn_id: int = Field(ge=1, le=MAX_TURN)
    model: str = Field(min_length=1, max_length=500)
    judge: Judge
    score: float = Field(strict=True)
    judgement: Any = None


def read_single_grades(path: Path, name: str, benchmark: str) -> Iterator[Read]:
    """FastChat's grades of single answers, per turn."""
    for item in _lines(SingleJudgmentLine, path, name):
        if isinstance(item, Problem):
            yield item
            continue
        where, line = item
        key = QuestionKey(benchmark, line.question_id)
        about = (key, line.model, line.turn, line.dimension, judge_name(line.judge))
        yield _grade(where, about, line.score, failure(line.status, line.judgment))


def read_mtbench101_grades(path: Path, name: str, benchmark: str) -> Iterator[Read]:
    """MT-Bench-101's grades, per turn of the dialogue `multi_id`."""
    for item in _lines(TaskGradeLine, path, name):
        if isinstance(item, Problem):
            yield item
            continue
        where, line = item
        key = QuestionKey(benchmark, line.multi_id)
        source = f"{judge_name(line.judge)}/{MTBENCH101}"
        about = (key, line.model, line.turn_id, MTBENCH101, source)
        yield _grade(where, about, line.score, failure(None, line.judgement))


def _lines(model: type[Line], path: Path, name: str) -> Iterator[tuple[Where, Line] | Problem]:
    for item in json_lines(path, name):
        if isinstance(item, Problem):
            yield item
            continue
        where, value = item
        line = validated(model, where, value)
        if isinstance(line, model):
            yield where, line
        elif isinstance(line, list):
            yield from line


def _grade(
    where: Where, about: tuple[QuestionKey, str, int, str, str], score: float, failed: Status
) -> Read:
    key, model, turn, dimension, source = about
    value: float | None = score
    if score == FAILED_SCORE:
        value = None
    elif not LOWEST <= score <= HIGHEST:
        return Problem(
            where, "score", f"found {score:g}, expected {LOWEST} to {HIGHEST}, or -1 for a failure"
        )
    status = Status.OK if value is not None else failed
    return Found(where, Grade(key, model, turn, dimension, SourceKind.JUDGE, source, value, status))
