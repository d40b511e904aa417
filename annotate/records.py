"""The words of the project as values: questions, answers, pairs, orders, outcomes.

Pure: nothing here knows of files, databases, browsers or models' endpoints.
Definitions: DESIGN §2, restated in docs/words.md.
"""

from __future__ import annotations

import hashlib
import json
import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import TypeAlias

from .versions import version_in


class Outcome(StrEnum):
    """Which answer of a pair was preferred, in canonical terms (never a screen side)."""

    A = "a"
    """The answer of the canonically first model is better."""
    B = "b"
    """The answer of the canonically second model is better."""
    TIE = "tie"
    """Both are equally good (on harmlessness: both acceptable)."""
    BOTH_BAD = "both_bad"
    """Both are unacceptable; kept apart from a tie in the store."""


class Choice(StrEnum):
    """What was picked on one screen, or by the judge in one order."""

    LEFT = "left"
    """The answer shown on the left (for the judge: first)."""
    RIGHT = "right"
    """The answer shown on the right (for the judge: second)."""
    TIE = "tie"
    """Neither is better."""
    BOTH_BAD = "both_bad"
    """Neither is acceptable."""


class Order(StrEnum):
    """Which canonical answer stood left (for the judge: first)."""

    AB = "ab"
    """Canonical A stood left."""
    BA = "ba"
    """Canonical B stood left."""
    UNKNOWN = "unknown"
    """Imported without its order; enters no figure about position."""

    @property
    def flipped(self) -> Order:
        """The same pair with the sides exchanged."""
        return {Order.AB: Order.BA, Order.BA: Order.AB}.get(self, self)


class Subject(StrEnum):
    """What a judgment is about."""

    PAIR = "pair"
    """Outcomes and strengths."""
    ANSWER = "answer"
    """Harm labels and 1–10 grades."""


class SourceKind(StrEnum):
    """Who made a judgment."""

    RATER = "rater"
    """A person (or a simulated one, told apart by the layer)."""
    JUDGE = "judge"
    """A model with a prompt and sampling settings."""


class Layer(StrEnum):
    """What standing a person's judgment has."""

    VOTE = "vote"
    """A rater's own judgment."""
    GOLD = "gold"
    """A known answer used to check raters."""
    ADJUDICATED = "adjudicated"
    """The settled label after disagreement."""
    SIMULATED = "simulated"
    """Made by a program; never to be quoted as people's."""


class Purpose(StrEnum):
    """Why a pair was put before a rater."""

    ESTIMATION = "estimation"
    """Part of a drawn sample (or of the whole set) that estimates rest on."""
    QUEUE = "queue"
    """Chosen for another reason, e.g. suspected judge errors."""
    GOLD = "gold"
    """A check item with a known answer."""
    REPEAT = "repeat"
    """A second occurrence, sides flipped, to measure consistency."""
    TRAINING = "training"
    """Practice before the study."""


class PromptSet(StrEnum):
    """What a question is there to find out about harm; it stands in the question's own line."""

    HARMFUL = "harmful"
    """Asks for harm: a safe model does not give it."""
    BORDERLINE = "borderline"
    """Could be meant either way; counted apart."""
    BENIGN = "benign"
    """Asks for nothing harmful: declining it is over-refusal."""
    UNMARKED = ""
    """Not marked, as in a benchmark of helpfulness: harm is incidental there."""


class Status(StrEnum):
    """How a judgment ended; only `ok` carries a value."""

    OK = "ok"
    UNPARSEABLE = "unparseable"
    AMBIGUOUS = "ambiguous"
    TRUNCATED = "truncated"
    REFUSED = "refused"
    FILTERED = "filtered"
    API_ERROR = "api_error"
    TIMEOUT = "timeout"
    SKIPPED_BUDGET = "skipped_budget"
    INCOMPLETE = "incomplete"
    """Of a pair verdict: at least one of the two orders failed."""
    WITHDRAWN = "withdrawn"
    """Of a vote: undone by its rater."""


HARMLESSNESS = "harmlessness"
HELPFULNESS = "helpfulness"
OVERALL = "overall"
"""What MT-Bench's raters were asked; imported votes carry it."""
GROUP_LENGTH = 40
"""Letters of a rater group, at most."""


def outcome(choice: Choice, order: Order) -> Outcome:
    """Turn what was picked on screen into a canonical outcome.

    The one place where sides become outcomes; people and judge both pass through it.

    Raises:
        ValueError: a side was picked but the order is unknown.
    """
    if choice is Choice.TIE:
        return Outcome.TIE
    if choice is Choice.BOTH_BAD:
        return Outcome.BOTH_BAD
    if order is Order.UNKNOWN:
        raise ValueError(f"cannot tell who stood {choice}: the order is unknown")
    return Outcome.A if (choice is Choice.LEFT) == (order is Order.AB) else Outcome.B


def choice_of(outcome: Outcome, order: Order) -> Choice | None:
    """What was picked on screen: the inverse of :func:`outcome`; None with an unknown order."""
    if order is Order.UNKNOWN:
        return None
    if outcome is Outcome.TIE:
        return Choice.TIE
    if outcome is Outcome.BOTH_BAD:
        return Choice.BOTH_BAD
    return Choice.LEFT if (outcome is Outcome.A) == (order is Order.AB) else Choice.RIGHT


def mirrored(value: Outcome) -> Outcome:
    """The same judgment when the two answers change names (a ↔ b)."""
    return {Outcome.A: Outcome.B, Outcome.B: Outcome.A}.get(value, value)


@dataclass(frozen=True, slots=True)
class Message:
    """One message of a conversation; `role` is system, user, assistant or tool."""

    role: str
    content: str


Turn: TypeAlias = tuple[Message, ...]
"""What happens up to (question) or in (answer) one turn; an empty tuple is a missing turn."""


def user_turns(texts: Sequence[str]) -> tuple[Turn, ...]:
    """Question turns from plain user texts."""
    return tuple((Message("user", text),) for text in texts)


def assistant_turns(texts: Sequence[str | None]) -> tuple[Turn, ...]:
    """Answer turns from plain replies; None is a missing turn, "" an empty answer."""
    return tuple(() if text is None else (Message("assistant", text),) for text in texts)


@dataclass(frozen=True, slots=True)
class QuestionKey:
    """What identifies a question: its benchmark and its id there."""

    benchmark: str
    question_id: str


@dataclass(frozen=True, slots=True)
class Question:
    """A prompt of one or more turns; `turns` is None when only labels are known."""

    key: QuestionKey
    category: str = ""
    turns: tuple[Turn, ...] | None = None
    prompt_set: PromptSet = PromptSet.UNMARKED
    matched: str = ""
    """Questions of one name belong together: a harmful prompt and its benign likeness."""

    @property
    def id(self) -> str:
        """Stable UUID of (benchmark, question_id)."""
        return stable_id("question", self.key.benchmark, self.key.question_id)


@dataclass(frozen=True, slots=True)
class Answer:
    """One model's replies to all turns; `turns` is None when only labels are known."""

    key: QuestionKey
    model: str
    turns: tuple[Turn, ...] | None = None

    @property
    def hash(self) -> str | None:
        """SHA-256 of the exact replies, or None without text."""
        return None if self.turns is None else digest(turns_to_json(self.turns))

    @property
    def id(self) -> str:
        """Stable UUID of (question, model name, answer hash)."""
        return stable_id("answer", self.key.benchmark, self.key.question_id, self.model, self.hash)


INLINE = "inline"
"""Source of a reference that stands in the question's own line: FastChat's judge never reads
those, so a reference file for the same question takes precedence."""


@dataclass(frozen=True, slots=True)
class Reference:
    """A reference solution, one text per turn (empty where a turn has none)."""

    key: QuestionKey
    turns: tuple[str, ...]
    source: str = ""

    @property
    def hash(self) -> str:
        """SHA-256 of the texts."""
        return digest(list(self.turns))


@dataclass(frozen=True, slots=True)
class Pair:
    """One question and two answers in canonical order (model name, then answer hash)."""

    key: QuestionKey
    a: Answer
    b: Answer

    @classmethod
    def of(cls, one: Answer, other: Answer) -> Pair:
        """The pair of two answers to the same question, put into canonical order.

        Raises:
            ValueError: the answers belong to different questions or are the same answer.
        """
        if one.key != other.key:
            raise ValueError(f"answers to different questions: {one.key} and {other.key}")
        if (one.model, one.hash) == (other.model, other.hash):
            raise ValueError(f"an answer of {one.model} cannot be paired with itself")
        first, second = sorted((one, other), key=lambda x: (x.model, x.hash or ""))
        return cls(one.key, first, second)

    @property
    def id(self) -> str:
        """Stable UUID of the question and (model, answer hash or null) twice."""
        return stable_id(
            "pair",
            self.key.benchmark,
            self.key.question_id,
            self.a.model,
            self.a.hash,
            self.b.model,
            self.b.hash,
        )


def turn_digests(turns: Sequence[Turn]) -> tuple[str, ...]:
    """One digest a turn: a dialogue that breaks off earlier has the first of them."""
    return tuple(digest(turns_to_json((turn,))) for turn in turns)


Game: TypeAlias = Outcome | Status
"""A judge's verdict in one order: an outcome, or the status by which it failed."""


@dataclass(frozen=True, slots=True)
class Label:
    """A judgment about a pair as it stands in a file: models by name, no text.

    `value` is in the file's own naming (a = `model_a` as written there);
    :meth:`canonical` brings it to canonical naming.
    """

    key: QuestionKey
    model_a: str
    model_b: str
    turn: int
    dimension: str
    source_kind: SourceKind
    source_id: str
    value: Outcome | None
    rater_group: str = ""
    layer: Layer = Layer.VOTE
    order: Order = Order.UNKNOWN
    status: Status = Status.OK
    reason: str = ""
    comment: str = ""
    games: tuple[Game, Game] | None = None
    """A judge's verdicts with `model_a` first and with `model_b` first, where a file has
    both; then `value` is left to the judge's own pair rule."""
    texts: tuple[tuple[str, ...], tuple[str, ...]] | None = None
    """Where the file has what was compared: :func:`turn_digests` of `model_a`'s reply, `model_b`'s.
    They say which answers are meant, whatever else has the models' names."""
    asked: tuple[str, ...] = ()
    """Of the question, beside `texts`: equal replies to another one are no such answers."""

    def canonical(self) -> Label:
        """The same label with the models in canonical order: alphabetical by their bare names, as
        pairs are stored, whatever versions are named.
        """
        if version_in(self.model_a)[0] <= version_in(self.model_b)[0]:
            return self
        turned = [mirrored(g) if isinstance(g, Outcome) else g for g in self.games or ()]
        return Label(
            key=self.key,
            model_a=self.model_b,
            model_b=self.model_a,
            turn=self.turn,
            dimension=self.dimension,
            source_kind=self.source_kind,
            source_id=self.source_id,
            value=None if self.value is None else mirrored(self.value),
            rater_group=self.rater_group,
            layer=self.layer,
            order=self.order.flipped,
            status=self.status,
            reason=self.reason,
            comment=self.comment,
            # With the names exchanged, the game with the other model first is the first one.
            games=None if self.games is None else (turned[1], turned[0]),
            texts=None if self.texts is None else (self.texts[1], self.texts[0]),
            asked=self.asked,
        )


@dataclass(frozen=True, slots=True)
class Grade:
    """A judge's 1–10 grade of one answer as it stands in a file: the model by name, no text.

    `grade` is set exactly when the status is `ok`: a failure is no number.
    """

    key: QuestionKey
    model: str
    turn: int
    dimension: str
    source_kind: SourceKind
    source_id: str
    grade: float | None
    status: Status = Status.OK
    reason: str = ""

    def __post_init__(self) -> None:
        """Refuse a value without `ok`, and `ok` without a value."""
        if (self.status is Status.OK) != (self.grade is not None):
            raise ValueError(f"grade {self.grade} with status {self.status}: only ok has one")


def whole_text(text: str) -> str:
    """The text with each half of a surrogate pair as U+FFFD: no file, page or SQLite takes one."""
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def canonical_json(value: object) -> str:
    """JSON with sorted keys and no spaces: the form that every hash is taken over."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False)


def digest(value: object) -> str:
    """SHA-256 (hex) of the canonical JSON of a value."""
    return hashlib.sha256(canonical_json(value).encode("utf-8", "surrogatepass")).hexdigest()


def stable_id(*parts: str | None) -> str:
    """A UUID (version 8) that is a function of its parts, so importing twice adds nothing."""
    raw = bytearray(bytes.fromhex(digest(list(parts)))[:16])
    raw[6] = (raw[6] & 0x0F) | 0x80
    raw[8] = (raw[8] & 0x3F) | 0x80
    return str(uuid.UUID(bytes=bytes(raw)))


def turns_to_json(turns: tuple[Turn, ...]) -> list[list[dict[str, str]]]:
    """Turns as plain lists and dicts, for storing and hashing."""
    return [[{"role": m.role, "content": m.content} for m in turn] for turn in turns]


def turns_from_json(value: Sequence[Sequence[dict[str, str]]]) -> tuple[Turn, ...]:
    """Inverse of :func:`turns_to_json`."""
    return tuple(tuple(Message(m["role"], m["content"]) for m in turn) for turn in value)


def turn_text(turn: Turn) -> str:
    """The final reply of an answer's turn ("" when missing)."""
    return next((m.content for m in reversed(turn) if m.role == "assistant"), "")


def asked_turns(question: Question) -> list[int]:
    """Which turns (1…n) of a question are to be answered, shown for voting and judged.

    A turn is asked unless its last message is an assistant's: then the reply is given with
    the question, and the turn is context only.
    """
    return asked_of(question.turns or ())


def asked_of(turns: Sequence[Turn]) -> list[int]:
    """:func:`asked_turns` of a question's bare turns."""
    return [
        number
        for number, turn in enumerate(turns, start=1)
        if not turn or turn[-1].role != "assistant"
    ]


def has_golden_context(question: Question) -> bool:
    """Whether later turns go on from replies given with the question.

    True when a turn after the first begins with an assistant's message, or a turn that is not
    asked has another after it. What a model said in earlier turns is then no part of the
    context of a later turn.
    """
    turns = question.turns or ()
    begun = any(turn and turn[0].role == "assistant" for turn in turns[1:])
    return begun or not set(range(1, len(turns))) <= set(asked_turns(question))


def empty_turns(answer: Answer, question: Question | None = None) -> list[int]:
    """Which turns (1…n) of an answer have no visible text.

    With its question, only turns that are asked count: in the others nothing is to be said.
    """
    asked = None if question is None else asked_turns(question)
    return [
        number
        for number, turn in enumerate(answer.turns or (), start=1)
        if not turn_text(turn).strip() and (asked is None or number in asked)
    ]
