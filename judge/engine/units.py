"""What is judged: pairs or single answers, in the order of the plan, with their references."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Literal

from annotate import library
from annotate.errors import UsageError
from annotate.records import Answer, Question, QuestionKey, Reference, Subject
from annotate.store import Store

CHUNK = 50
"""Units held in memory at once."""
REFERENCE_CATEGORIES = frozenset({"math", "reasoning", "coding", "MR", "GR"})
"""Where a reference is shown: MT-Bench's three categories and MT-Bench-101's two tasks."""
References = Literal["auto", "required", "none"]


@dataclass(frozen=True, slots=True)
class Unit:
    """A pair or an answer with everything that a call could show; `second` is None for one."""

    id: str
    question: Question
    first: Answer
    second: Answer | None
    reference: Reference | None = None

    @property
    def subject(self) -> Subject:
        """What verdicts on it are about."""
        return Subject.ANSWER if self.second is None else Subject.PAIR

    @property
    def answers(self) -> tuple[Answer, ...]:
        """The one answer, or both in canonical order."""
        return (self.first,) if self.second is None else (self.first, self.second)


def unit_ids(
    store: Store,
    subject: Subject,
    limit: int | None = None,
    baseline: str = "",
    shard: tuple[int, int] | None = None,
) -> list[str]:
    """The first `limit` units (all without it) in plan order.

    With `baseline`, only pairs in which this model stands; with `shard` (k, n), only the
    k-th of every n of them, so that the shards' units are all units once.

    Raises:
        UsageError: no pair has a model of this name.
    """
    found = _all_ids(store, subject, limit, baseline)
    part, parts = shard or (1, 1)
    return found[part - 1 :: parts]


def _all_ids(store: Store, subject: Subject, limit: int | None, baseline: str) -> list[str]:
    if subject is Subject.ANSWER:
        return library.answer_ids(store, limit=limit)
    found = library.pair_ids(store, limit=limit, model=baseline or None)
    if baseline and not found:
        names = ", ".join(library.model_names(store)) or "none"
        raise UsageError(
            f"baseline {baseline!r}: no pair with text has this model; expected one of {names}"
        )
    return found


def chunks(
    store: Store, subject: Subject, ids: Sequence[str], references: References = "auto"
) -> Iterator[list[Unit]]:
    """The units in the order of `ids`, read in pieces.

    No cursor stays open between pieces: an old read snapshot would make the next write
    fail as soon as another process has written.
    """
    rest = iter(ids)
    while piece := list(islice(rest, CHUNK)):
        found = {unit.id: unit for unit in _read(store, subject, piece)}
        wanted = [found[unit_id] for unit_id in piece if unit_id in found]
        yield _with_references(store, wanted, references)


def _read(store: Store, subject: Subject, ids: Collection[str]) -> Iterator[Unit]:
    if subject is Subject.ANSWER:
        for answer in library.answers(store, ids):
            yield Unit(answer.id, answer.question, answer.answer, None)
    else:
        for pair in library.pairs(store, ids=ids):
            yield Unit(pair.id, pair.question, pair.a, pair.b)


def _with_references(store: Store, units: list[Unit], references: References) -> list[Unit]:
    keys = {u.question.key for u in units if u.question.category in REFERENCE_CATEGORIES}
    if references == "none" or not keys:
        return units
    known: dict[QuestionKey, Reference] = library.references(store, keys)
    return [
        Unit(u.id, u.question, u.first, u.second, known.get(u.question.key))
        if u.question.category in REFERENCE_CATEGORIES
        else u
        for u in units
    ]
