"""Everything a run will ask, known in full before the first call.

The same units, prompts and settings give the same requests, byte for byte, in the same
order: unit (plan order), turn, prompt, replicate, order.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from annotate.records import Order, Subject, asked_turns, canonical_json, digest
from judge.ask.conversation import DIALOGUE, Case
from judge.ask.modes import Offered
from judge.ask.prompt import JudgePrompt
from judge.ask.schemas import response_format
from judge.engine.units import Unit

ORDERS = (Order.AB, Order.BA)
ORDER_PLAN = "both"
Turns = Literal["each", "last", "dialogue"]


@dataclass(frozen=True, slots=True)
class PlanSpec:
    """What, apart from the units, a request depends on.

    `endpoint` names the endpoint (no credentials); `sampling` is merged into each body.
    `replicates` asks everything so many times; a seed, if there is one, differs each time.
    """

    endpoint: str
    model: str
    prompts: tuple[JudgePrompt, ...]
    sampling: Mapping[str, Any] = field(default_factory=dict)
    explain: bool = False
    as_json: bool = False
    replicates: int = 1
    turns: Turns = "each"


@dataclass(frozen=True, slots=True)
class Request:
    """One question to the endpoint and what its answer is for (`order`: None for answers)."""

    key: str
    unit: str
    subject: Subject
    turn: int
    dimension: str
    order: Order | None
    replicate: int
    endpoint: str
    body: str
    offered: Offered


def plan(pieces: Iterable[list[Unit]], spec: PlanSpec) -> Iterator[list[Request]]:
    """All requests in plan order, a piece of units at a time."""
    for units in pieces:
        yield [request for unit in units for request in requests(unit, spec)]


def requests(unit: Unit, spec: PlanSpec) -> Iterator[Request]:
    """What to ask about one unit: every turn, prompt, replicate and order.

    Raises:
        ValueError: a turn is missing (preflight lists these).
    """
    for turn in turns_of(unit, spec.turns):
        for prompt in spec.prompts:
            for replicate in range(1, spec.replicates + 1):
                for order in ORDERS if unit.second is not None else (None,):
                    yield _request(unit, turn, prompt, replicate, order, spec)


def turns_of(unit: Unit, turns: Turns) -> list[int]:
    """Which turns of a unit are judged; 0 is the dialogue."""
    if turns == "dialogue":
        return [DIALOGUE]
    asked = asked_turns(unit.question)
    return asked[-1:] if turns == "last" else asked


def request_key(body: str, endpoint: str, replicate: int) -> str:
    """SHA-256 of the complete request body, the endpoint and the replicate."""
    return digest([body, endpoint, replicate])


def _request(
    unit: Unit, turn: int, prompt: JudgePrompt, replicate: int, order: Order | None, spec: PlanSpec
) -> Request:
    case = case_of(unit, turn, order)
    offered = prompt.offered(case)
    form: dict[str, Any] = {}
    if spec.as_json:
        form = {"response_format": response_format(offered, explain=spec.explain)}
    messages = prompt.messages(case, explain=spec.explain, as_json=spec.as_json)
    sampling = _sampling(spec.sampling, replicate)
    body = canonical_json({"model": spec.model, "messages": messages, **form, **sampling})
    return Request(
        key=request_key(body, spec.endpoint, replicate),
        unit=unit.id,
        subject=unit.subject,
        turn=turn,
        dimension=prompt.dimension,
        order=order,
        replicate=replicate,
        endpoint=spec.endpoint,
        body=body,
        offered=offered,
    )


def case_of(unit: Unit, turn: int, order: Order | None) -> Case:
    """What one call shows: `ba` puts the canonical second answer first."""
    first, second = unit.first, unit.second
    if second is not None and order is Order.BA:
        first, second = second, first
    return Case(unit.question, first, second, turn, unit.reference)


def _sampling(sampling: Mapping[str, Any], replicate: int) -> dict[str, Any]:
    """The sampling of one replicate: with the same seed it would be the same reply."""
    seed = sampling.get("seed")
    if replicate == 1 or not isinstance(seed, int):
        return dict(sampling)
    return {**sampling, "seed": seed + replicate - 1}


def body_of(text: str) -> dict[str, Any]:
    """A request's body as the client takes it."""
    value: dict[str, Any] = json.loads(text)
    return value
