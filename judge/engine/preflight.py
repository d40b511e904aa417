"""What is wrong with a plan, all of it, before the first call."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from annotate.errors import DataError
from annotate.records import canonical_json, empty_turns, turn_text
from judge.ask.conversation import DIALOGUE, missing_turns, shown_answers
from judge.ask.parse import forges
from judge.engine.plan import ORDERS, PlanSpec, case_of, turns_of
from judge.engine.units import REFERENCE_CATEGORIES, References, Unit

PROBLEMS_SHOWN = 5


class PreflightError(DataError):
    """The plan has errors; `preflight` lists them all."""

    def __init__(self, found: Preflight) -> None:
        shown = "; ".join(found.errors[:PROBLEMS_SHOWN])
        more = len(found.errors) - PROBLEMS_SHOWN
        rest = f"; and {more} more" if more > 0 else ""
        super().__init__(f"preflight: {len(found.errors)} errors, nothing was asked: {shown}{rest}")
        self.preflight = found


@dataclass(frozen=True, slots=True)
class Preflight:
    """All that is wrong with a plan (`errors` stop it, `warnings` do not), and its size."""

    units: int
    errors: tuple[str, ...]
    warnings: tuple[str, ...]
    data_digest: str
    """SHA-256 over units, questions and answers in plan order."""
    references: tuple[tuple[str, str], ...] = ()
    """(question, hash) of every reference that is shown."""


def preflight(units: Iterable[Unit], spec: PlanSpec, references: References = "auto") -> Preflight:
    """Check every unit; a missing turn or reference is an error, an empty answer a warning."""
    errors: dict[str, None] = {}
    warnings: dict[str, None] = {}
    used: dict[str, str] = {}
    data, count = hashlib.sha256(), 0
    for unit in units:
        errors |= dict.fromkeys(_errors(unit, spec, references))
        warnings |= dict.fromkeys((*_warnings(unit), *_forged(unit, spec)))
        if unit.reference is not None:
            key = unit.question.key
            used[f"{key.benchmark} {key.question_id}"] = unit.reference.hash
        asked = [[[m.role, m.content] for m in turn] for turn in unit.question.turns or ()]
        row = canonical_json([unit.id, asked, *(answer.hash for answer in unit.answers)])
        data.update(row.encode("utf-8", "surrogatepass") + b"\n")
        count += 1
    found = tuple(sorted(used.items()))
    return Preflight(count, tuple(errors), tuple(warnings), data.hexdigest(), found)


def _errors(unit: Unit, spec: PlanSpec, references: References) -> Iterator[str]:
    where = _where(unit)
    if not unit.question.turns:
        yield f"{where}: the question has no text; import its question file"
        return
    for number, turn in enumerate(unit.question.turns, start=1):
        if not turn:
            yield f"{where}, turn {number}: the question's turn is missing"
    turns = turns_of(unit, spec.turns)
    if not turns:
        yield f"{where}: no turn of the question asks for an answer"
    missing = list(_missing(unit, turns))
    yield from missing
    yield from _reference_errors(unit, turns, references)
    if not missing:
        yield from _prompt_errors(unit, turns, spec)


def _missing(unit: Unit, turns: list[int]) -> Iterator[str]:
    needed = {number for turn in turns for number in shown_answers(unit.question, turn)}
    for answer in unit.answers:
        for number in missing_turns(unit.question, answer):
            if number in needed:
                yield (
                    f"{_where(unit)}, turn {number}: {answer.model} has no answer; import the"
                    " complete answer file or exclude the pair"
                )


def _reference_errors(unit: Unit, turns: list[int], references: References) -> Iterator[str]:
    """A reference that stops before the last turn judged, or that is demanded and absent."""
    where = _where(unit)
    if references == "none" or unit.question.category not in REFERENCE_CATEGORIES:
        return
    if unit.reference is None:
        if references == "required":
            yield f"{where}: no reference; import a reference_answer file, or use --references auto"
        return
    texts = unit.reference.turns
    for number in shown_answers(unit.question, DIALOGUE):
        if number <= max(turns, default=0) and not "".join(texts[number - 1 : number]).strip():
            yield (
                f"{where}, turn {number}: the reference ({unit.reference.source}) has no text;"
                " import a complete one, or use --references none"
            )


def _prompt_errors(unit: Unit, turns: list[int], spec: PlanSpec) -> Iterator[str]:
    for prompt in spec.prompts:
        for turn in turns:
            case = case_of(unit, turn, ORDERS[0] if unit.second is not None else None)
            if problem := prompt.problem(case):
                yield f"{_where(unit)}: {problem}"


def _warnings(unit: Unit) -> Iterator[str]:
    expected = len(unit.question.turns or ())
    for answer in unit.answers:
        missing = missing_turns(unit.question, answer)
        asked = shown_answers(unit.question, DIALOGUE)
        for number in empty_turns(answer):
            if number not in missing and number in asked:
                yield f"{_where(unit)}, turn {number}: {answer.model} answered with nothing"
        if len(answer.turns or ()) > expected:
            yield (
                f"{_where(unit)}: {answer.model} has {len(answer.turns or ())} turns, the question"
                f" {expected}; the rest is not judged"
            )


def _forged(unit: Unit, spec: PlanSpec) -> Iterator[str]:
    """Answers that speak as a judge: their tags cannot act, and a person should know."""
    case = case_of(unit, DIALOGUE, ORDERS[0] if unit.second is not None else None)
    for answer in unit.answers:
        for number, turn in enumerate(answer.turns or (), start=1):
            text = turn_text(turn)
            if any(forges(text, prompt.offered(case)) for prompt in spec.prompts):
                yield (
                    f"{_where(unit)}, turn {number}: {answer.model} writes a verdict tag; the judge"
                    " sees it made inert"
                )


def _where(unit: Unit) -> str:
    key = unit.question.key
    names = " / ".join(answer.model for answer in unit.answers)
    return f"{key.benchmark} question {key.question_id} ({names})"
