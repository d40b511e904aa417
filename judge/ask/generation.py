"""What a model is asked to answer: messages, sampling by category, and its reply's text.

Pure: no database, endpoint or command line.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from annotate.records import Question, Status, asked_turns, has_golden_context
from judge.ask.parse import FILTER_REASONS
from judge.ask.prompt import Chat

MT_BENCH_TEMPERATURES: Mapping[str, float] = {
    "writing": 0.7,
    "roleplay": 0.7,
    "extraction": 0.0,
    "math": 0.0,
    "coding": 0.0,
    "reasoning": 0.0,
    "stem": 0.1,
    "humanities": 0.1,
}
"""Temperatures by category as in MT-Bench's own generation (Zheng et al. 2023)."""
OTHER_TEMPERATURE = 0.7
ROLES = ("system", "user", "assistant")
STARVED = "cut off before any text: the budget went elsewhere, e.g. into reasoning"


@dataclass(frozen=True, slots=True)
class Spoken:
    """What a reply says; `text` is set exactly when the status is `ok` or `truncated`.

    A reply that was cut off at its budget is an answer all the same: it is what the model
    said, and leaving it out would favour models that never end.
    """

    status: Status
    text: str | None = None
    detail: str = ""


def temperature_of(category: str, chosen: float | None) -> float:
    """The temperature chosen for all, or else the category's."""
    if chosen is not None:
        return chosen
    return MT_BENCH_TEMPERATURES.get(category, OTHER_TEMPERATURE)


def open_turns(question: Question, replies: Mapping[int, str]) -> list[int]:
    """The turns that can be asked now: the next one, or in golden context all that are open."""
    waiting = [n for n in asked_turns(question) if n not in replies]
    return waiting if has_golden_context(question) else waiting[:1]


def messages(question: Question, replies: Mapping[int, str], turn: int, system: str = "") -> Chat:
    """The conversation that asks for one turn's answer; `replies` are those before it, by turn.

    In golden context the given replies are the context, and the model's own are not.

    Raises:
        ValueError: a message has a role that a chat completion does not take alone.
    """
    own = {} if has_golden_context(question) else replies
    chat: Chat = [{"role": "system", "content": system}] if system else []
    for number, asked in enumerate((question.turns or ())[:turn], start=1):
        for message in asked:
            if message.role not in ROLES:
                raise ValueError(f"role {message.role!r}; expected {', '.join(ROLES)}")
            chat.append({"role": message.role, "content": message.content})
        if number < turn and number in own:
            chat.append({"role": "assistant", "content": own[number]})
    return chat


def problem(question: Question) -> str:
    """Why a question cannot be put to a model, "" if it can."""
    if not asked_turns(question):
        return "no turn asks for an answer"
    for number, turn in enumerate(question.turns or (), start=1):
        if not turn:
            return f"turn {number} is missing"
        odd = sorted({m.role for m in turn} - set(ROLES))
        if odd:
            return f"turn {number} has a message of role {odd[0]!r}; expected {', '.join(ROLES)}"
    return ""


def spoken(raw: object) -> Spoken:
    """The text of a whole chat completion as the endpoint sent it (any JSON value)."""
    choices = raw.get("choices") if isinstance(raw, dict) else None
    if choices == []:
        return Spoken(Status.FILTERED, detail="empty choices")
    first = _first(choices)
    if first is None:
        return Spoken(Status.UNPARSEABLE, detail="no choices in the reply")
    finish = first.get("finish_reason")
    message = first.get("message")
    fields = message if isinstance(message, dict) else {}
    if isinstance(finish, str) and finish.lower() in FILTER_REASONS:
        return Spoken(Status.FILTERED, detail=f"finish_reason {finish}")
    text = fields.get("content")
    if not isinstance(text, str) or not text.strip():
        # A refusal in a field of its own is the model's answer.
        text = fields.get("refusal")
    if not isinstance(text, str) or not text.strip():
        detail = STARVED if finish == "length" else "empty reply"
        return Spoken(Status.UNPARSEABLE, detail=detail)
    if finish == "length":
        return Spoken(Status.TRUNCATED, text, "finish_reason length")
    return Spoken(Status.OK, text)


def _first(choices: object) -> Mapping[str, object] | None:
    if isinstance(choices, Sequence) and not isinstance(choices, str) and choices:
        first = choices[0]
        return first if isinstance(first, dict) else None
    return None
