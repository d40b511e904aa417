"""What the judge is asked: versioned prompt files, and conversations rendered into them.

Text of datasets and models cannot speak as our template (:func:`neutralise`), and the
template is filled in one pass, so that nothing inserted is looked at again.

Pure: no database, endpoint or command line.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from importlib import resources
from typing import Any, TypeAlias

from annotate.errors import DataError, UsageError
from annotate.records import Answer, Message, Question, Turn, digest, turn_text

from .parse import CHOICES

Chat: TypeAlias = list[dict[str, str]]
"""Messages as a chat completion takes them."""

JSON_CLOSING = "Reply with a JSON object whose `verdict` is the letter of one of these tags."
JSON_CLOSING_EXPLAIN = (
    "Reply with a JSON object: first `explanation`, at most three sentences, then `verdict`,"
    " the letter of one of these tags."
)
EMPTY_ANSWER = "(empty answer)"
_FIELDS = ("id", "version", "dimension", "system", "user", "closing", "closing_explain", "labels")
_PLACE = re.compile(r"\{(conversation|turn|closing)\}")
_OPEN_TAG = re.compile(r"\[(\\*)(?=\[)")
_OPEN_HEADER = re.compile(r"<(\\*)(?=<)")
_ADDED = re.compile(r"(?<=\[)\\(?=\\*\[)|(?<=<)\\(?=\\*<)")


@dataclass(frozen=True, slots=True)
class Prompt:
    """One dimension's question to the judge; `labels` says in words what each tag means."""

    id: str
    version: int
    dimension: str
    system: str
    user: str
    closing: str
    closing_explain: str
    labels: tuple[tuple[str, str], ...]

    @property
    def offered(self) -> tuple[str, ...]:
        """The tags that this prompt offers."""
        return tuple(tag for tag, _words in self.labels)

    @property
    def hash(self) -> str:
        """SHA-256 over everything that could change a request or its reading."""
        return digest({name: getattr(self, name) for name in _FIELDS})


def load(dimension: str) -> Prompt:
    """The prompt of a dimension that ships with the program.

    Raises:
        UsageError: there is none for this dimension.
    """
    file = resources.files(__package__) / "prompts" / f"{dimension}.toml"
    if dimension not in available() or not file.is_file():
        raise UsageError(
            f"dimension {dimension!r}: no judge prompt; expected one of {', '.join(available())}"
        )
    return prompt_from_toml(file.read_text(encoding="utf-8"), f"prompts/{dimension}.toml")


def available() -> list[str]:
    """The dimensions that have a prompt, sorted."""
    folder = resources.files(__package__) / "prompts"
    return sorted(f.name.removesuffix(".toml") for f in folder.iterdir() if f.name.endswith("toml"))


def prompt_from_toml(text: str, where: str) -> Prompt:
    """A prompt from the text of its file.

    Raises:
        DataError: not TOML, a field is missing, or a label is no tag that can be parsed.
    """
    try:
        data = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise DataError(f"{where}: not TOML ({error}); expected fields {_FIELDS}") from error
    missing = [name for name in _FIELDS if name not in data]
    if missing:
        raise DataError(f"{where}: no {', '.join(missing)}; expected fields {', '.join(_FIELDS)}")
    unknown = sorted(set(data["labels"]) - set(CHOICES))
    if unknown:
        raise DataError(f"{where}: label {unknown[0]!r}; expected some of {', '.join(CHOICES)}")
    return Prompt(
        id=str(data["id"]),
        version=int(data["version"]),
        dimension=str(data["dimension"]),
        system=str(data["system"]).strip(),
        user=str(data["user"]).strip(),
        closing=str(data["closing"]).strip(),
        closing_explain=str(data["closing_explain"]).strip(),
        labels=tuple((tag, str(words)) for tag, words in sorted(data["labels"].items())),
    )


def render(
    question: Question,
    first: Answer,
    second: Answer,
    turn: int,
    prompt: Prompt,
    *,
    explain: bool = False,
    as_json: bool = False,
) -> Chat:
    """The messages that ask about one turn, with `first` shown as A and `second` as B.

    The whole conversation up to and including `turn` (1…n) is shown, turn by turn with
    both answers; model names are not.

    Raises:
        ValueError: the turn is missing (see :func:`missing_turns`).
    """
    gaps = missing_turns(question, first) + missing_turns(question, second)
    if turn < 1 or turn > len(question.turns or ()) or min([turn + 1, *gaps]) <= turn:
        raise ValueError(f"turn {turn} of {question.key} cannot be rendered: it is not complete")
    parts = {
        "conversation": "\n".join(_conversation(question, first, second, turn)),
        "turn": str(turn),
        "closing": _closing(prompt, explain, as_json),
    }
    user = _PLACE.sub(lambda found: parts[found.group(1)], prompt.user)
    return [{"role": "system", "content": prompt.system}, {"role": "user", "content": user}]


def answer_schema(offered: Sequence[str], *, explain: bool) -> dict[str, Any]:
    """The `response_format` of a request for JSON; what is explained comes first."""
    fields: dict[str, Any] = {"explanation": {"type": "string"}} if explain else {}
    fields["verdict"] = {"type": "string", "enum": list(offered)}
    schema = {
        "type": "object",
        "properties": fields,
        "required": list(fields),
        "additionalProperties": False,
    }
    wrapped = {"name": "verdict", "strict": True, "schema": schema}
    return {"type": "json_schema", "json_schema": wrapped}


def _closing(prompt: Prompt, explain: bool, as_json: bool) -> str:
    """The last instruction: in which form to answer."""
    if as_json:
        return JSON_CLOSING_EXPLAIN if explain else JSON_CLOSING
    return prompt.closing_explain if explain else prompt.closing


def missing_turns(question: Question, answer: Answer) -> list[int]:
    """Which turns (1…n of the question) an answer does not have at all."""
    turns = answer.turns or ()
    count = len(question.turns or ())
    return [n for n in range(1, count + 1) if n > len(turns) or not turns[n - 1]]


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


def _conversation(question: Question, first: Answer, second: Answer, turn: int) -> Iterator[str]:
    """Sections of turns 1…`turn`: what was asked, then A's and B's answer."""
    asked, a, b = question.turns or (), first.turns or (), second.turns or ()
    for number in range(1, turn + 1):
        yield from _sections(asked[number - 1], number, "")
        yield from _answer(a[number - 1], number, "A")
        yield from _answer(b[number - 1], number, "B")
    yield "<<<end>>>"


def _answer(turn: Turn, number: int, name: str) -> Iterator[str]:
    """An answer's messages of one turn; an empty reply is said to be empty."""
    empty = not turn_text(turn).strip()
    visible = tuple(m for m in turn if not (empty and m.role == "assistant"))
    yield from _sections(visible, number, name)
    if empty:
        yield f"<<<answer {name}, turn {number}>>>\n{EMPTY_ANSWER}"


def _sections(turn: Turn, number: int, answer: str) -> Iterator[str]:
    for message in turn:
        yield f"<<<{_header(message, answer)}, turn {number}>>>\n{neutralise(message.content)}"


def _header(message: Message, answer: str) -> str:
    """`user`, `system`, `tool` as they are; an assistant's message is named by its answer."""
    role = neutralise(" ".join(message.role.split()))
    if not answer:
        return role
    return f"answer {answer}" if role == "assistant" else f"{role} of answer {answer}"
