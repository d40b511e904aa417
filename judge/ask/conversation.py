"""Conversations as the judge reads them: sections under headers that no text can forge.

Pure: no database, endpoint or command line.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from annotate.records import (
    Answer,
    Message,
    Question,
    Reference,
    Turn,
    asked_turns,
    has_golden_context,
    turn_text,
)

DIALOGUE = 0
"""The turn of a judgment on the whole dialogue."""
EMPTY_ANSWER = "(empty answer)"
_OPEN_TAG = re.compile(r"\[(\\*)(?=\[)")
_OPEN_HEADER = re.compile(r"<(\\*)(?=<)")
_ADDED = re.compile(r"(?<=\[)\\(?=\\*\[)|(?<=<)\\(?=\\*<)")


@dataclass(frozen=True, slots=True)
class Case:
    """What one call is about: a question, one answer or two, and the turn (0: all of them)."""

    question: Question
    first: Answer
    second: Answer | None
    turn: int
    reference: Reference | None = None

    @property
    def last(self) -> int:
        """The last turn that is shown."""
        return self.turn if self.turn != DIALOGUE else len(self.question.turns or ())

    @property
    def complete(self) -> bool:
        """Whether everything that would be shown is there."""
        if not 1 <= self.last <= len(self.question.turns or ()):
            return False
        needed = shown_answers(self.question, self.turn)
        answers = (self.first,) if self.second is None else (self.first, self.second)
        return not any(set(missing_turns(self.question, a)) & set(needed) for a in answers)


def shown_answers(question: Question, turn: int) -> list[int]:
    """The turns whose answers a judgment shows: up to `turn`, or with golden context only it."""
    asked = asked_turns(question)
    if turn == DIALOGUE:
        return asked
    if has_golden_context(question):
        return [n for n in asked if n == turn]
    return [n for n in asked if n <= turn]


def missing_turns(question: Question, answer: Answer) -> list[int]:
    """Which turns that were asked (1…n) an answer does not have at all."""
    turns = answer.turns or ()
    return [n for n in asked_turns(question) if n > len(turns) or not turns[n - 1]]


def conversation(case: Case) -> str:
    """The conversation up to the turn in question, turn by turn, with the answers in it."""
    return "\n".join([*_turns(case), "<<<end>>>"])


def has_reference(case: Case) -> bool:
    """Whether a reference solution is among what is shown."""
    return any(True for _number, _text in _references(case))


def neutralise(text: str) -> str:
    r"""Make verdict tags and section headers inside text inert, visibly and reversibly.

    A backslash goes between two opening brackets `[[` and between two `<<`; where
    backslashes stand there already, one more is added, so that :func:`restore` gives
    back the exact text: `[[A]]` → `[\[A]]`, `[\[A]]` → `[\\[A]]`, `<<<` → `<\<\<`.
    """
    text = _OPEN_TAG.sub(r"[\1\\", text)
    return _OPEN_HEADER.sub(r"<\1\\", text)


def restore(text: str) -> str:
    """Inverse of :func:`neutralise`."""
    return _ADDED.sub("", text)


def _turns(case: Case) -> Iterator[str]:
    """Sections of every turn: what was asked, the answers, the reference."""
    asked, shown = case.question.turns or (), shown_answers(case.question, case.turn)
    references = dict(_references(case))
    for number in range(1, case.last + 1):
        yield from _asked(asked[number - 1], number)
        if number in shown:
            for name, answer in _named(case):
                yield from _answer((answer.turns or ())[number - 1], number, name)
        if number in references:
            header = f"<<<reference solution, turn {number}>>>"
            yield f"{header}\n{neutralise(references[number])}"


def _references(case: Case) -> Iterator[tuple[int, str]]:
    """(turn, text) of every reference of a turn whose answers are shown."""
    texts = () if case.reference is None else case.reference.turns
    for number in shown_answers(case.question, case.turn):
        if number <= len(texts) and texts[number - 1].strip():
            yield number, texts[number - 1]


def _named(case: Case) -> list[tuple[str, Answer]]:
    """The answers under the names that they bear in headers."""
    if case.second is None:
        return [("", case.first)]
    return [(" A", case.first), (" B", case.second)]


def _answer(turn: Turn, number: int, name: str) -> Iterator[str]:
    """An answer's messages of one turn; an empty reply is said to be empty."""
    empty = not turn_text(turn).strip()
    visible = tuple(m for m in turn if not (empty and m.role == "assistant"))
    yield from _sections(visible, number, name)
    if empty:
        yield f"<<<answer{name}, turn {number}>>>\n{EMPTY_ANSWER}"


def _asked(turn: Turn, number: int) -> Iterator[str]:
    """What was said before an answer; a reply that comes first belongs to the turn before."""
    spoken = False
    for message in turn:
        given = message.role == "assistant"
        of = number - 1 if given and not spoken else number
        yield from _sections((message,), of, None)
        spoken = spoken or not given


def _sections(turn: Turn, number: int, answer: str | None) -> Iterator[str]:
    for message in turn:
        yield f"<<<{_header(message, answer)}, turn {number}>>>\n{neutralise(message.content)}"


def _header(message: Message, answer: str | None) -> str:
    """`user`, `system`, `tool` as they are; an assistant's message is named by its answer.

    An assistant's message inside a question is a reply that was given, not one to judge.
    """
    role = neutralise(" ".join(message.role.split()))
    if answer is None:
        return "given reply" if role == "assistant" else role
    return f"answer{answer}" if role == "assistant" else f"{role} of answer{answer}"
