"""Label lines: who preferred which model, with or without the conversations.

Two shapes share their fields: label-only lines, and the full columns of
`lmsys/mt_bench_human_judgments` (`conversation_a`, `conversation_b`). Our own optional
fields: `source_kind`, `rater_group`, `layer`, `dimension`, `shown_left`, `comment`, `benchmark`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Literal

from pydantic import BaseModel, Field

from ..records import (
    GROUP_LENGTH,
    OVERALL,
    Answer,
    Label,
    Layer,
    Message,
    Order,
    Outcome,
    Question,
    QuestionKey,
    SourceKind,
    Turn,
    turn_digests,
)
from .base import Found, Problem, Read, Where, json_lines, validated
from .fastchat import DIMENSION, MAX_TURN, Id, Judge, judge_name

# Without `source_kind`, only names that clearly say what they are are taken: guessing a
# model into a person would put a machine's votes into the human reference.
PEOPLE = re.compile(r"^(expert|author|rater|annotator|human|worker|crowd|sim)_?\d+$")
MODELS = re.compile(r"(_pair|_single)$")

WINNERS: dict[str, tuple[Outcome, str]] = {
    "model_a": (Outcome.A, ""),
    "model_b": (Outcome.B, ""),
    "tie": (Outcome.TIE, ""),
    "tie (inconsistent)": (Outcome.TIE, "inconsistent"),
    "tie (bothbad)": (Outcome.BOTH_BAD, ""),
    "both_bad": (Outcome.BOTH_BAD, ""),
}


class ChatMessage(BaseModel):
    """One message of a conversation column."""

    role: str
    content: str


class LabelLine(BaseModel):
    """One label; model_a and model_b may stand in either order."""

    question_id: Id
    model_a: str = Field(min_length=1, max_length=500)
    model_b: str = Field(min_length=1, max_length=500)
    winner: str
    judge: Judge
    turn: int = Field(ge=0, le=MAX_TURN)
    benchmark: str | None = None
    source_kind: SourceKind | None = None
    rater_group: str | None = Field(default=None, min_length=1, max_length=GROUP_LENGTH)
    layer: Layer = Layer.VOTE
    dimension: str = Field(default=OVERALL, pattern=DIMENSION)
    shown_left: Literal["model_a", "model_b"] | None = None
    comment: str = ""
    category: str = ""
    conversation_a: list[ChatMessage] | None = None
    conversation_b: list[ChatMessage] | None = None


def read_labels(path: Path, name: str, benchmark: str) -> Iterator[Read]:
    """Labels, preceded by question and answers where the line carries conversations."""
    for item in json_lines(path, name):
        if isinstance(item, Problem):
            yield item
            continue
        where, value = item
        line = validated(LabelLine, where, value)
        if isinstance(line, list):
            yield from line
        elif isinstance(line, LabelLine):
            yield from _records(where, line, benchmark)


def _records(where: Where, line: LabelLine, benchmark: str) -> Iterator[Read]:
    key = QuestionKey(line.benchmark or benchmark, line.question_id)
    if line.winner not in WINNERS:
        expected = ", ".join(WINNERS)
        yield Problem(where, "winner", f"found {line.winner!r}, expected one of: {expected}")
        return
    judge = judge_name(line.judge)
    kind = line.source_kind or _kind(line.judge)
    if kind is None:
        yield Problem(
            where,
            "judge",
            f"cannot tell whether {judge!r} is a person or a model;"
            ' add "source_kind": "rater" or "judge"',
        )
        return
    texts, asked = None, tuple[str, ...]()
    if line.conversation_a is not None and line.conversation_b is not None:
        conversations = _conversations(where, line, key)
        yield from conversations
        if any(isinstance(item, Problem) for item in conversations):
            return
        first, second = map(split_conversation, (line.conversation_a, line.conversation_b))
        texts = turn_digests(first[1]), turn_digests(second[1])
        asked = turn_digests(first[0])
    value, reason = WINNERS[line.winner]
    yield Found(
        where,
        Label(
            key=key,
            model_a=line.model_a,
            model_b=line.model_b,
            turn=line.turn,
            dimension=line.dimension,
            source_kind=kind,
            source_id=judge,
            value=value,
            rater_group=line.rater_group or "",
            layer=line.layer,
            order={"model_a": Order.AB, "model_b": Order.BA, None: Order.UNKNOWN}[line.shown_left],
            reason=reason,
            comment=line.comment,
            texts=texts,
            asked=asked,
        ),
    )


def _kind(judge: str | list[str]) -> SourceKind | None:
    if isinstance(judge, list) or MODELS.search(judge):
        return SourceKind.JUDGE
    return SourceKind.RATER if PEOPLE.match(judge) else None


def _conversations(where: Where, line: LabelLine, key: QuestionKey) -> list[Read]:
    """Question and answers out of two full conversations."""
    split_a = split_conversation(line.conversation_a or [])
    split_b = split_conversation(line.conversation_b or [])
    if split_a[0] != split_b[0]:
        return [Problem(where, "conversation_b", "asks other questions than conversation_a")]
    if not split_a[0]:
        return [Problem(where, "conversation_a", "has no user message")]
    return [
        Found(where, Question(key, line.category, split_a[0])),
        Found(where, Answer(key, line.model_a, split_a[1])),
        Found(where, Answer(key, line.model_b, split_b[1])),
    ]


def split_conversation(
    messages: list[ChatMessage],
) -> tuple[tuple[Turn, ...], tuple[Turn, ...]]:
    """(question turns, answer turns) of a conversation, each as long as the other.

    A turn begins with what comes before the assistant speaks (system and user messages)
    and holds everything up to the next user or system message (tool results included).
    """
    asked: list[list[Message]] = []
    answered: list[list[Message]] = []
    for message in messages:
        mine = Message(message.role, message.content)
        if message.role in ("user", "system"):
            if not asked or answered[-1]:
                asked.append([])
                answered.append([])
            asked[-1].append(mine)
        elif asked:
            answered[-1].append(mine)
        else:
            asked.append([])
            answered.append([mine])
    return tuple(map(tuple, asked)), tuple(map(tuple, answered))
