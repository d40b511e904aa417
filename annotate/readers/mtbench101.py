"""MT-Bench-101's dialogues: every turn is answered in the context of given ("golden") replies.

Turn k of a question begins with the given reply to turn k - 1. In six tasks the first turn
only sets the scene: its reply is given with it, so nothing is asked there.
Source: Bai et al. 2024, MT-Bench-101, arXiv:2402.14762.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from pydantic import BaseModel, Field

from ..records import Message, Question, QuestionKey, Reference, Turn
from .base import Found, Problem, Read, Where, json_lines, validated
from .fastchat import Id

SOURCE = "mtbench101"
TASKS = ("CM", "SI", "AR", "TS", "CC", "CR", "FR", "SC", "SA", "MR", "GR", "IC", "PI")
"""The codes of the 13 tasks; `judge.mtbench101` has their names and their order by ability."""
FIRST_TURN_NOT_SCORED = frozenset({"FR", "CR", "AR", "SA", "SC", "CM"})
REFERENCE_TASKS = frozenset({"MR", "GR"})
"""Tasks whose judge is shown the given replies as reference solutions."""


class Exchange(BaseModel):
    """One turn: what the user said and the reply that is given with it."""

    user: str = Field(min_length=1)
    bot: str


class DialogueLine(BaseModel):
    """One line of the file."""

    task: str
    id: Id
    history: list[Exchange] = Field(min_length=1)


def read_dialogues(path: Path, name: str, benchmark: str) -> Iterator[Read]:
    """Questions in golden context (category: the task's code), and references where used."""
    for item in json_lines(path, name):
        if isinstance(item, Problem):
            yield item
            continue
        where, value = item
        line = validated(DialogueLine, where, value)
        if isinstance(line, list):
            yield from line
        elif isinstance(line, DialogueLine):
            yield from _records(where, line, benchmark)


def _records(where: Where, line: DialogueLine, benchmark: str) -> Iterator[Read]:
    if line.task not in TASKS:
        yield Problem(where, "task", f"found {line.task!r}, expected one of: {', '.join(TASKS)}")
        return
    context = line.task in FIRST_TURN_NOT_SCORED
    if context and len(line.history) == 1:
        yield Problem(where, "history", f"has 1 turn, which {line.task} does not ask; expected 2")
        return
    key = QuestionKey(benchmark, line.id)
    yield Found(where, Question(key, line.task, golden_turns(line.history, context=context)))
    if line.task in REFERENCE_TASKS:
        yield Found(where, Reference(key, tuple(turn.bot for turn in line.history), SOURCE))


def golden_turns(history: Sequence[Exchange], *, context: bool) -> tuple[Turn, ...]:
    """Question turns that carry the given reply to the turn before.

    With `context`, the first turn carries its own reply and is not asked.
    """
    said = [Message("user", turn.user) for turn in history]
    given = [Message("assistant", turn.bot) for turn in history]
    begun = [(given[k - 1], said[k]) for k in range(1, len(history))]
    if context and begun:
        return ((said[0], given[0]), (said[1],), *begun[1:])
    return ((said[0],), *begun)
