"""What the judge is asked: versioned prompt files, and cases rendered into them.

Text of datasets and models cannot speak as our template (`conversation.neutralise`), and
the template is filled in one pass, so that nothing inserted is looked at again.

Pure: no database, endpoint or command line.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from importlib import resources
from typing import Any, Protocol, TypeAlias

from annotate.errors import DataError, UsageError
from annotate.harm import HARM
from annotate.harm_protocol import HarmLabels
from annotate.records import digest
from judge.ask.conversation import DIALOGUE, Case, conversation, has_reference
from judge.ask.modes import GRADES, HARM_LABELS, Mode, Offered
from judge.ask.parse import CHOICES
from judge.ask.words import Words, shipped

Chat: TypeAlias = list[dict[str, str]]
"""Messages as a chat completion takes them."""

MTBENCH101 = "mtbench101"
"""The dimension on which MT-Bench-101's dialogues are graded, task by task."""
_NEEDED = ("id", "version", "dimension", "system", "user", "closing", "closing_explain")
_PLACES = (
    "conversation",
    "turn",
    "focus",
    "reference",
    "question",
    "rubric",
    "labels",
    "closing",
)
_OWN_PLACES = {"dimension", "guidance", "types", "severities", "categories", "lowest", "highest"}
"""Places that a study's words fill when a prompt is made, not when a case is rendered."""
_PLACE = re.compile(rf"\{{({'|'.join(_PLACES)})\}}")
_ANY_PLACE = re.compile(r"\{([a-z_]+)\}")
_NAME = re.compile(r"[a-z][a-z0-9_]{0,39}")
_EMPTY_LINE = re.compile(r"^\{(focus|reference|question|rubric|labels)\}\n", re.MULTILINE)


class JudgePrompt(Protocol):
    """One question to the judge, whoever wrote it."""

    @property
    def id(self) -> str:
        """Its name in manifests."""

    @property
    def version(self) -> int:
        """Changes with the wording."""

    @property
    def mode(self) -> Mode:
        """What it asks about."""

    @property
    def dimension(self) -> str:
        """On what answers are judged."""

    @property
    def hash(self) -> str:
        """SHA-256 over everything that could change a request or its reading."""

    def offered(self, case: Case) -> Offered:
        """What a reply may say."""

    def problem(self, case: Case) -> str:
        """Why this case cannot be asked about, "" if it can."""

    def messages(self, case: Case, *, explain: bool, as_json: bool) -> Chat:
        """The messages that ask about a case."""


@dataclass(frozen=True, slots=True)
class Prompt:
    """One dimension's question in the form of our own prompt files.

    `labels` says in words what each tag means; `rubrics` replaces the rubric by category.
    """

    id: str
    version: int
    dimension: str
    system: str
    user: str
    closing: str
    closing_explain: str
    labels: tuple[tuple[str, str], ...] = ()
    mode: Mode = Mode.PAIRWISE
    closing_json: str = ""
    closing_json_explain: str = ""
    focus: str = ""
    focus_dialogue: str = ""
    reference: str = ""
    question: str = ""
    rubric: str = ""
    rubrics: tuple[tuple[str, str], ...] = ()

    @property
    def hash(self) -> str:
        """SHA-256 over everything that could change a request or its reading."""
        return digest({f.name: getattr(self, f.name) for f in fields(self)})

    def offered(self, _case: Case) -> Offered:
        """The tags of a pair, or the form of an answer's verdict."""
        if self.mode is Mode.PAIRWISE:
            return tuple(tag for tag, _words in self.labels)
        return GRADES if self.mode is Mode.GRADE else HARM_LABELS

    def problem(self, case: Case) -> str:
        """A category that this prompt has no rubric for."""
        category = case.question.category
        if self.rubrics and category not in dict(self.rubrics):
            known = ", ".join(name for name, _text in self.rubrics)
            return f"{self.id} has no rubric for category {category!r}; it knows {known}"
        return ""

    def messages(self, case: Case, *, explain: bool = False, as_json: bool = False) -> Chat:
        """System and user message about a case.

        The conversation up to and including its turn is shown, with all its answers;
        model names are not.

        Raises:
            ValueError: a turn is missing (see `conversation.missing_turns`).
        """
        if not case.complete:
            where = f"turn {case.turn} of {case.question.key}"
            raise ValueError(f"{where} cannot be rendered: it is not complete")
        parts = self._parts(case, explain=explain, as_json=as_json)
        template = _EMPTY_LINE.sub(
            lambda found: found.group(0) if parts[found.group(1)] else "", self.user
        )
        user = _PLACE.sub(lambda found: parts[found.group(1)], template)
        return [{"role": "system", "content": self.system}, {"role": "user", "content": user}]

    def _parts(self, case: Case, *, explain: bool, as_json: bool) -> dict[str, str]:
        focus = self.focus_dialogue if case.turn == DIALOGUE else self.focus
        return {
            "conversation": conversation(case),
            "turn": str(case.turn),
            "focus": focus.replace("{turn}", str(case.turn)),
            "reference": self.reference if has_reference(case) else "",
            "question": self.question,
            "rubric": dict(self.rubrics).get(case.question.category, self.rubric),
            "labels": "\n".join(f"[[{tag}]] {words}" for tag, words in self.labels),
            "closing": self._closing(explain=explain, as_json=as_json),
        }

    def _closing(self, *, explain: bool, as_json: bool) -> str:
        """The last instruction: in which form to answer."""
        if as_json:
            return self.closing_json_explain if explain else self.closing_json
        return self.closing_explain if explain else self.closing


def load(dimension: str, mode: Mode = Mode.PAIRWISE) -> JudgePrompt:
    """The prompt of a dimension in the words that ship with the program.

    Raises:
        UsageError: there are none for this dimension.
    """
    if mode is Mode.HARM:
        if dimension != HARM:
            raise UsageError(f"dimension {dimension!r}: harm labels have only {HARM!r}")
        return harm_prompt(HarmLabels())
    if mode is Mode.GRADE and dimension == MTBENCH101:
        return _template(MTBENCH101)
    return prompt_for(shipped(dimension), mode)


def prompt_for(words: Words, mode: Mode) -> Prompt:
    """The prompt that asks about a dimension in these words (not for harm labels)."""
    if mode is Mode.GRADE:
        return grade_prompt(words.dimension, words.rubric)
    template = _template(mode.value)
    return replace(
        template,
        id=f"{template.id}-{words.dimension}",
        dimension=words.dimension,
        question=words.question,
        rubric=words.rubric,
        labels=words.labels,
        user=template.user.replace("{dimension}", words.dimension),
    )


def grade_prompt(
    dimension: str, rubric: str, lowest: str = "the worst", highest: str = "the best"
) -> Prompt:
    """The prompt that asks for a grade from 1 to 10; `lowest` and `highest` say what they mean."""
    template = _template(Mode.GRADE.value)
    user = template.user
    filled = {"dimension": dimension, "lowest": lowest, "highest": highest}
    for place, text in filled.items():
        user = user.replace(f"{{{place}}}", text)
    return replace(
        template,
        id=f"{template.id}-{dimension}",
        dimension=dimension,
        rubric=rubric.strip(),
        user=user,
    )


def harm_prompt(words: HarmLabels, template: Prompt | None = None) -> Prompt:
    """The prompt that asks for a harm label in the raters' words.

    `template` is a user's own; its places {guidance}, {types}, {severities} and {categories}
    are filled like those of the program's.
    """
    template = template or _template("harm")
    filled = {
        "guidance": f"{words.guidance.strip()}\n\n" if words.guidance.strip() else "",
        "types": "\n".join(f"  {kind}: {text}" for kind, text in words.typed()),
        "severities": "\n".join(f"  {level:d}: {text}" for level, text in words.graded()),
        "categories": ", ".join(words.categories),
    }
    user = template.user
    for place, text in filled.items():
        user = user.replace(f"{{{place}}}", text)
    return replace(template, user=user)


def prompt_from_toml(text: str, where: str) -> Prompt:
    """A prompt from the text of its file.

    Raises:
        DataError: not TOML, a field is missing or of another kind, or a label is no tag
            that can be parsed.
    """
    try:
        data = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise DataError(f"{where}: not TOML ({error}); expected fields {_NEEDED}") from error
    mode = data.get("mode", Mode.PAIRWISE.value)
    if mode not in list(Mode):
        raise DataError(f"{where}: mode {mode!r}; expected one of {', '.join(Mode)}")
    needed = (*_NEEDED, "labels") if mode == Mode.PAIRWISE else _NEEDED
    missing = [name for name in needed if name not in data]
    if missing:
        raise DataError(f"{where}: no {', '.join(missing)}; expected fields {', '.join(needed)}")
    known = {f.name for f in fields(Prompt)}
    odd = sorted(set(data) - known)
    if odd:
        raise DataError(f"{where}: field {odd[0]!r}; expected some of {', '.join(sorted(known))}")
    labels = _table(data, "labels", where)
    unknown = sorted(set(labels) - set(CHOICES))
    if unknown:
        raise DataError(f"{where}: label {unknown[0]!r}; expected some of {', '.join(CHOICES)}")
    return _checked(data, Mode(mode), labels, _table(data, "rubrics", where), where)


def _checked(data: Mapping[str, Any], mode: Mode, labels: Any, rubrics: Any, where: str) -> Prompt:
    """The prompt, once every field is known to be there."""
    version = data["version"]
    if isinstance(version, bool) or not isinstance(version, int):
        raise DataError(f"{where}: version {version!r}; expected a whole number")
    rest = known_texts(data)
    if "{conversation}" not in rest["user"]:
        raise DataError(f"{where}: user has no {{conversation}}; the answers must be shown")
    odd = sorted(set(_ANY_PLACE.findall(rest["user"])) - set(_PLACES) - _OWN_PLACES)
    if odd:
        known = ", ".join(f"{{{place}}}" for place in _PLACES)
        raise DataError(f"{where}: user has {{{odd[0]}}}; expected only {known}")
    # The program's own templates are completed with a study's words.
    whole = rest["dimension"] != "{dimension}"
    if whole and not _NAME.fullmatch(rest["dimension"]):
        raise DataError(
            f"{where}: dimension {rest['dimension']!r}; expected lower-case letters, digits and _"
        )
    if whole and mode is Mode.PAIRWISE and not {"A", "B"} <= set(labels):
        raise DataError(f"{where}: labels {sorted(labels)}; expected A and B at least")
    return Prompt(
        version=version,
        mode=mode,
        labels=tuple(sorted(labels.items())),
        rubrics=tuple(sorted(rubrics.items())),
        **rest,
    )


def known_texts(data: Mapping[str, Any]) -> dict[str, str]:
    """Every text of a prompt file, stripped."""
    others = {"version", "mode", "labels", "rubrics"}
    return {f.name: str(data[f.name]).strip() for f in fields(Prompt)
            if f.name in data and f.name not in others}  # fmt: skip


def _table(data: Mapping[str, Any], name: str, where: str) -> dict[str, str]:
    value = data.get(name, {})
    if not isinstance(value, dict):
        raise DataError(f"{where}: {name} is {value!r}; expected a table [{name}]")
    return {str(key): str(text).strip() for key, text in value.items()}


def _template(name: str) -> Prompt:
    """A prompt file that ships with the program."""
    file = resources.files("judge.ask") / "prompts" / f"{name}.toml"
    return prompt_from_toml(file.read_text(encoding="utf-8"), f"prompts/{name}.toml")
