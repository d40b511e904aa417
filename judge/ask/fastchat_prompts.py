"""Prompts of the user's own in FastChat's `judge_prompts.jsonl` form.

A file holds templates for single and several turns, with and without a reference; which
one a case gets is told by their placeholders. The form knows two turns and no JSON.

Pure: no database, endpoint or command line.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from annotate.errors import DataError
from annotate.records import OVERALL, Turn, digest, turn_text
from judge.ask.conversation import DIALOGUE, Case, has_reference, neutralise
from judge.ask.modes import GRADES, Mode, Offered
from judge.ask.prompt import Chat

_PLACE = re.compile(r"\{([a-z]+(?:_[a-z0-9]+)*)\}")
_KNOWN = re.compile(r"question(_[12])?|answer(_[ab])?(_[12])?|ref_answer_[12]")
_TYPES = {"pairwise": Mode.PAIRWISE, "single": Mode.GRADE}
_FORMS = {"[[A]]": ("A", "B", "C"), "[[rating]]": GRADES}
_FIELDS = ("name", "type", "system_prompt", "prompt_template", "output_format")


@dataclass(frozen=True)
class Template:
    """One line of the file."""

    name: str
    mode: Mode
    system: str
    user: str

    @cached_property
    def places(self) -> frozenset[str]:
        """Every placeholder."""
        return frozenset(_PLACE.findall(self.user))

    @property
    def turns(self) -> int:
        """How many turns it shows."""
        return 2 if any(place.endswith("_2") for place in self.places) else 1

    @property
    def wants_reference(self) -> bool:
        """Whether a reference goes in."""
        return any(place.startswith("ref_answer") for place in self.places)


@dataclass(frozen=True)
class FastChatPrompt:
    """The templates of one kind in a file, asked on one dimension."""

    id: str
    templates: tuple[Template, ...]
    mode: Mode
    dimension: str = OVERALL
    version: int = 1

    @property
    def hash(self) -> str:
        """SHA-256 over every template's text."""
        texts = [[t.name, t.system, t.user] for t in self.templates]
        return digest([self.id, self.mode, self.dimension, texts])

    def offered(self, _case: Case) -> Offered:
        """`[[A]]`, `[[B]]`, `[[C]]`, or a grade from 1 to 10."""
        return ("A", "B", "C") if self.mode is Mode.PAIRWISE else GRADES

    def problem(self, case: Case) -> str:
        """Why no template fits this case."""
        if case.turn == DIALOGUE or case.turn > 2:
            return f"{self.id}: FastChat's form knows turns 1 and 2, not turn {case.turn}"
        if self._template(case) is None:
            kind = "with a reference" if has_reference(case) else "without a reference"
            return f"{self.id}: no {self.mode} template for turn {case.turn} {kind}"
        return ""

    def messages(self, case: Case, *, explain: bool = False, as_json: bool = False) -> Chat:
        """The template's messages; it has its own words for the form of the reply.

        Raises:
            ValueError: a turn is missing, no template fits, or JSON was asked for.
        """
        del explain
        template = self._template(case)
        if template is None or as_json or not case.complete:
            raise ValueError(f"{self.id} cannot ask about turn {case.turn} of {case.question.key}")
        parts = dict(_parts(case))
        user = _PLACE.sub(lambda m: parts.get(m.group(1), m.group(0)), template.user)
        return [{"role": "system", "content": template.system}, {"role": "user", "content": user}]

    def _template(self, case: Case) -> Template | None:
        """The first that shows as many turns and takes a reference where there is one."""
        wanted = (case.turn, has_reference(case))
        fitting = (t for t in self.templates if (t.turns, t.wants_reference) == wanted)
        return next(fitting, None)


def prompts_from_fastchat(text: str, where: str) -> dict[Mode, FastChatPrompt]:
    """The prompts of a `judge_prompts.jsonl`, by what they ask about.

    Raises:
        DataError: names the line, what was found and what was expected.
    """
    found: dict[Mode, list[Template]] = {}
    for number, line in enumerate(text.splitlines(), start=1):
        if line.strip():
            template = _template(line, f"{where}:{number}")
            found.setdefault(template.mode, []).append(template)
    if not found:
        raise DataError(f"{where}: no prompt in it; expected one JSON object per line")
    return {
        mode: FastChatPrompt(f"fastchat-{mode}", tuple(templates), mode)
        for mode, templates in found.items()
    }


def _template(line: str, where: str) -> Template:
    try:
        fields = json.loads(line)
    except ValueError as error:
        raise DataError(f"{where}: not JSON ({error}); expected one prompt per line") from error
    if not isinstance(fields, Mapping):
        raise DataError(f"{where}: found a JSON {type(fields).__name__}; expected an object")
    missing = [name for name in _FIELDS if not isinstance(fields.get(name), str)]
    if missing:
        raise DataError(f"{where}: no {', '.join(missing)}; expected {', '.join(_FIELDS)}")
    if fields["type"] not in _TYPES or fields["output_format"] not in _FORMS:
        raise DataError(
            f"{where}: type {fields['type']!r} with output_format {fields['output_format']!r};"
            " expected pairwise with [[A]] or single with [[rating]]"
        )
    template = Template(
        fields["name"], _TYPES[fields["type"]], fields["system_prompt"], fields["prompt_template"]
    )
    if _FORMS[fields["output_format"]] is GRADES and template.mode is not Mode.GRADE:
        raise DataError(f"{where}: a pairwise prompt with [[rating]]; expected [[A]]")
    odd = sorted(place for place in template.places if not _KNOWN.fullmatch(place))
    if odd:
        raise DataError(f"{where}: placeholder {{{odd[0]}}} is none of FastChat's")
    missing = sorted(_needed(template) - template.places)
    if missing:
        raise DataError(
            f"{where}: no {{{missing[0]}}}; the answers and questions must be shown, or every"
            " case gets the same request"
        )
    return template


def _needed(template: Template) -> set[str]:
    """What a template must show: the answers in question, and what was asked last."""
    answers = ("answer_a", "answer_b") if template.mode is Mode.PAIRWISE else ("answer",)
    suffix = "_2" if template.turns == 2 else ""
    last = {name + suffix for name in (*answers, "question")}
    # With one turn a place may bear its number or not.
    return {name for name in last if f"{name}_1" not in template.places}


def _parts(case: Case) -> Iterator[tuple[str, str]]:
    """Every placeholder's text, delimiters in it made inert."""
    asked = case.question.turns or ()
    answers = [("answer", case.first)]
    if case.second is not None:
        answers = [("answer_a", case.first), ("answer_b", case.second)]
    for number in range(1, case.turn + 1):
        yield from _both("question", number, _asked(asked, number))
        for name, answer in answers:
            yield from _both(name, number, neutralise(turn_text((answer.turns or ())[number - 1])))
        if case.reference is not None and number <= len(case.reference.turns):
            yield f"ref_answer_{number}", neutralise(case.reference.turns[number - 1])


def _both(name: str, number: int, text: str) -> Iterator[tuple[str, str]]:
    """Under its own name (the form's single-turn templates) and with its turn."""
    if number == 1:
        yield name, text
    yield f"{name}_{number}", text


def _asked(turns: Sequence[Turn], number: int) -> str:
    return neutralise("\n".join(message.content for message in turns[number - 1]))
