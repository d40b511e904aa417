"""Everything a run will ask, known in full before the first call.

The same pairs, prompts and settings give the same requests, byte for byte, in the same
order: pair (plan order), turn, dimension, order.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Any

from annotate import library
from annotate.library import StoredPair
from annotate.records import Order, canonical_json, digest, empty_turns
from annotate.store import Store

from .prompt import Prompt, answer_schema, missing_turns, render

ORDERS = (Order.AB, Order.BA)
ORDER_PLAN = "both"
CHUNK = 50
"""Pairs held in memory at once."""


@dataclass(frozen=True, slots=True)
class PlanSpec:
    """What, apart from the pairs, a request depends on.

    `endpoint` names the endpoint (no credentials); `sampling` is merged into each body.
    """

    endpoint: str
    model: str
    prompts: tuple[Prompt, ...]
    sampling: Mapping[str, Any] = field(default_factory=dict)
    explain: bool = False
    as_json: bool = False
    replicate: int = 1


@dataclass(frozen=True, slots=True)
class Request:
    """One question to the endpoint and what its answer is for."""

    key: str
    pair: str
    turn: int
    dimension: str
    order: Order
    replicate: int
    endpoint: str
    body: str
    offered: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Preflight:
    """All that is wrong with a plan (`errors` stop it, `warnings` do not), and its size."""

    pairs: int
    errors: tuple[str, ...]
    warnings: tuple[str, ...]
    data_digest: str
    """SHA-256 over pairs, questions and answers in plan order."""


def pair_ids(store: Store, limit: int | None = None) -> list[str]:
    """The first `limit` pairs (all without it) in plan order."""
    return [pair.id for pair in library.pairs(store, limit=limit)]


def chunks(store: Store, ids: Sequence[str]) -> Iterator[list[StoredPair]]:
    """The pairs in the order of `ids`, read in pieces.

    No cursor stays open between pieces: an old read snapshot would make the next write
    fail as soon as another process has written.
    """
    rest = iter(ids)
    while piece := list(islice(rest, CHUNK)):
        found = {pair.id: pair for pair in library.pairs(store, ids=piece)}
        yield [found[pair_id] for pair_id in piece if pair_id in found]


def preflight(pairs: Iterable[StoredPair]) -> Preflight:
    """Check every pair; a missing turn is an error, an empty answer a warning."""
    errors: list[str] = []
    warnings: list[str] = []
    seen: list[list[str | None]] = []
    for pair in pairs:
        errors += _errors(pair)
        warnings += _warnings(pair)
        turns = pair.question.turns or ()
        asked = digest([[[m.role, m.content] for m in turn] for turn in turns])
        seen.append([pair.id, asked, pair.a.hash, pair.b.hash])
    return Preflight(len(seen), tuple(errors), tuple(warnings), digest(seen))


def requests(pair: StoredPair, spec: PlanSpec) -> Iterator[Request]:
    """What to ask about one pair: every turn, dimension and order.

    Raises:
        ValueError: a turn is missing (preflight lists these).
    """
    for turn in range(1, len(pair.question.turns or ()) + 1):
        for prompt in spec.prompts:
            for order in ORDERS:
                yield _request(pair, turn, prompt, order, spec)


def plan(store: Store, ids: Sequence[str], spec: PlanSpec) -> Iterator[list[Request]]:
    """All requests in plan order, a chunk of pairs at a time."""
    for pairs in chunks(store, ids):
        yield [request for pair in pairs for request in requests(pair, spec)]


def request_key(body: str, endpoint: str, replicate: int) -> str:
    """SHA-256 of the complete request body, the endpoint and the replicate."""
    return digest([body, endpoint, replicate])


def _request(pair: StoredPair, turn: int, prompt: Prompt, order: Order, spec: PlanSpec) -> Request:
    first, second = (pair.a, pair.b) if order is Order.AB else (pair.b, pair.a)
    asked = {"explain": spec.explain, "as_json": spec.as_json}
    messages = render(pair.question, first, second, turn, prompt, **asked)
    form: dict[str, Any] = {}
    if spec.as_json:
        form = {"response_format": answer_schema(prompt.offered, explain=spec.explain)}
    body = canonical_json({"model": spec.model, "messages": messages, **form, **spec.sampling})
    return Request(
        key=request_key(body, spec.endpoint, spec.replicate),
        pair=pair.id,
        turn=turn,
        dimension=prompt.dimension,
        order=order,
        replicate=spec.replicate,
        endpoint=spec.endpoint,
        body=body,
        offered=prompt.offered,
    )


def _errors(pair: StoredPair) -> Iterator[str]:
    where = _where(pair)
    if not pair.question.turns:
        yield f"{where}: the question has no text; import its question file"
        return
    for number, turn in enumerate(pair.question.turns, start=1):
        if not turn:
            yield f"{where}, turn {number}: the question's turn is missing"
    for answer in (pair.a, pair.b):
        for number in missing_turns(pair.question, answer):
            yield (
                f"{where}, turn {number}: {answer.model} has no answer; import the complete"
                " answer file or exclude the pair"
            )


def _warnings(pair: StoredPair) -> Iterator[str]:
    expected = len(pair.question.turns or ())
    for answer in (pair.a, pair.b):
        missing = missing_turns(pair.question, answer)
        for number in empty_turns(answer):
            if number not in missing and number <= expected:
                yield f"{_where(pair)}, turn {number}: {answer.model} answered with nothing"
        if len(answer.turns or ()) > expected:
            yield (
                f"{_where(pair)}: {answer.model} has {len(answer.turns or ())} turns, the question"
                f" {expected}; the rest is not judged"
            )


def _where(pair: StoredPair) -> str:
    key = pair.question.key
    return f"{key.benchmark} question {key.question_id} ({pair.a.model} / {pair.b.model})"


def body_of(text: str) -> dict[str, Any]:
    """A request's body as the client takes it."""
    value: dict[str, Any] = json.loads(text)
    return value
