"""Our own pair format: one JSON object per line with a question and two answers.

    {"question_id": "q1", "category": "writing", "turns": ["…", "…"],
     "answer_a": {"model": "alder-2b", "turns": ["…", "…"]},
     "answer_b": {"model": "birch-7b", "turns": ["…", "…"]}}

`turns` of the question may instead be `messages` per turn: a list of lists of
{"role", "content"}, which keeps system and tool messages. `benchmark`, `prompt_set` and `matched`
are optional.
Documented for users in docs/formats.md.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from pydantic import BaseModel, ConfigDict, Field, model_validator

from ..records import (
    Answer,
    Message,
    PromptSet,
    Question,
    QuestionKey,
    Turn,
    assistant_turns,
    user_turns,
)
from .base import Found, Problem, Read, Where, json_lines, validated
from .fastchat import Id, Matched
from .labels import ChatMessage


class AnswerPart(BaseModel):
    """One model's side of a pair."""

    model_config = ConfigDict(extra="forbid")
    model: str = Field(min_length=1, max_length=500)
    turns: list[str | None] | None = None
    messages: list[list[ChatMessage]] | None = None

    @model_validator(mode="after")
    def _one_form(self) -> AnswerPart:
        if (self.turns is None) == (self.messages is None):
            raise ValueError("expected either turns or messages; found both or neither")
        return self

    def as_turns(self) -> tuple[Turn, ...]:
        """The replies as turns."""
        if self.turns is not None:
            return assistant_turns(self.turns)
        return message_turns(self.messages or [])


class PairLine(BaseModel):
    """One pair."""

    model_config = ConfigDict(extra="forbid")
    question_id: Id
    benchmark: str | None = None
    category: str = ""
    prompt_set: PromptSet = PromptSet.UNMARKED
    matched: Matched = ""
    turns: list[str] | None = Field(default=None, min_length=1)
    messages: list[list[ChatMessage]] | None = Field(default=None, min_length=1)
    answer_a: AnswerPart
    answer_b: AnswerPart

    @model_validator(mode="after")
    def _one_form(self) -> PairLine:
        if (self.turns is None) == (self.messages is None):
            raise ValueError("expected either turns or messages; found both or neither")
        return self


def read_pairs(path: Path, name: str, benchmark: str) -> Iterator[Read]:
    """Question and both answers of every line."""
    for item in json_lines(path, name):
        if isinstance(item, Problem):
            yield item
            continue
        where, value = item
        line = validated(PairLine, where, value)
        if isinstance(line, list):
            yield from line
        elif isinstance(line, PairLine):
            yield from _records(where, line, benchmark)


def _records(where: Where, line: PairLine, benchmark: str) -> Iterator[Read]:
    key = QuestionKey(line.benchmark or benchmark, line.question_id)
    asked = user_turns(line.turns) if line.turns is not None else message_turns(line.messages or [])
    for field, part in (("answer_a", line.answer_a), ("answer_b", line.answer_b)):
        if len(part.as_turns()) > len(asked):
            yield Problem(
                where, field, f"has {len(part.as_turns())} turns, the question {len(asked)}"
            )
            return
    yield Found(where, Question(key, line.category, asked, line.prompt_set, line.matched))
    for part in (line.answer_a, line.answer_b):
        yield Found(where, Answer(key, part.model, part.as_turns()))


def message_turns(messages: list[list[ChatMessage]]) -> tuple[Turn, ...]:
    """Messages grouped by turn, as records."""
    return tuple(tuple(Message(m.role, m.content) for m in turn) for turn in messages)
