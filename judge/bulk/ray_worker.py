"""A Ray actor's side of a run: blocks of requests in, every call made for them out.

It has no database: the driver commits. What it keeps while it lives are its connections,
its part of the pace, and the parameters that its endpoint has rejected.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import traceback
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any

from annotate.errors import EvenhandError
from annotate.records import Status
from judge.ask.parse import parse_call
from judge.database.store import Ended, Pending
from judge.engine.adapt import Parameters
from judge.engine.alarm import Alarm
from judge.engine.call_settings import CallSettings
from judge.engine.caller import HEAD_START, Caller
from judge.engine.item import Ending, ask
from judge.engine.plan import body_of
from judge.engine.replies import Next, Reply

if TYPE_CHECKING:
    import pyarrow as pa


@dataclass(slots=True)
class Block:
    """What became of a block of requests."""

    worker: str
    calls: list[Ended] = field(default_factory=list)
    """Every call that was made, a request's calls in their order."""
    ended: list[str] = field(default_factory=list)
    """The requests that came to an end; the others were left when the worker stopped."""
    rejected: dict[str, str] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    error: str = ""
    """What a person should correct where the worker runs."""
    crash: str = ""
    """The traceback of a bug."""

    def to_json(self) -> str:
        """As Ray's store holds it."""
        return json.dumps(asdict(self))

    @classmethod
    def from_json(cls, text: str) -> Block:
        """The block of :meth:`to_json`."""
        fields = json.loads(text)
        calls = [Ended(c["key"], _reply(c["call"]), c["final"]) for c in fields.pop("calls")]
        return cls(calls=calls, **fields)


class RayWorker:
    """The callable that Ray Data runs: once per actor made, once per block called.

    `parts` of them share what the settings allow. Keys come from the environment here.
    """

    def __init__(self, settings: CallSettings, rejected: Mapping[str, str], parts: int) -> None:
        self._worker = Worker(settings, rejected, parts)

    async def __call__(self, table: pa.Table) -> pa.Table:
        """A table with a row per request becomes one with a single row."""
        import pyarrow as pa

        block = await self._worker.ask(table.to_pylist())
        return pa.table({"block": [block.to_json()]})


class Worker:
    """Asks blocks of requests, several at once; lives in one event loop."""

    def __init__(self, settings: CallSettings, rejected: Mapping[str, str], parts: int) -> None:
        self.name = uuid.uuid4().hex
        self.settings, self.parameters = settings, Parameters(rejected)
        self.alarm, self.stop, self.opened = Alarm(settings), asyncio.Event(), asyncio.Event()
        self._notes: list[str] = []
        self.caller = Caller(settings, self._notes.append, parts=parts)
        self._opening, self._open, self._begun = asyncio.Lock(), False, False

    async def ask(self, requests: Sequence[Mapping[str, Any]]) -> Block:
        """Ask these (key, body, doubled, offered) and tell all of it."""
        block = Block(self.name)
        lines = [_ItemLine(self, str(request["offered"])) for request in requests]
        try:
            await self._connect()
            asking = map(self._ask, lines, requests)
            endings = await asyncio.gather(*asking, return_exceptions=True)
            for request, ending in zip(requests, endings, strict=True):
                if isinstance(ending, BaseException):
                    # What the others' calls brought is kept all the same.
                    block.crash = block.crash or "".join(traceback.format_exception(ending))
                elif ending is not None:
                    block.ended.append(str(request["key"]))
        except EvenhandError as error:
            block.error = str(error)
        block.calls = [call for line in lines for call in line.calls]
        block.rejected = dict(self.parameters.rejected)
        block.notes, self._notes[:] = self._notes[:], []
        return block

    async def _connect(self) -> None:
        async with self._opening:
            if not self._open:
                # For as long as the actor lives: Ray tells nobody when it ends.
                await self.caller.__aenter__()
                self._open = True

    async def _ask(self, line: _ItemLine, request: Mapping[str, Any]) -> Ending | None:
        first, self._begun = not self._begun, True
        if not first:
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self.opened.wait(), HEAD_START)
        return await ask(line, Pending(request["key"], request["body"], request["doubled"]))


class _ItemLine:
    """The line of one request: keeps its calls."""

    def __init__(self, worker: Worker, offered: str) -> None:
        self.parameters, self.attempts = worker.parameters, worker.settings.attempts
        self.calls: list[Ended] = []
        self._worker, self._offered = worker, offered

    def stopped(self) -> bool:
        """Whether nothing more is to be asked."""
        return self._worker.stop.is_set()

    async def send(self, sent: Mapping[str, Any]) -> Reply | None:
        """One call, as soon as the pace allows; None when the worker stops before."""
        made = await self._worker.caller.send(sent, self._worker.stop)
        return None if made is None else made[0]

    async def learn(self, sent: Mapping[str, Any], reply: Reply) -> bool:
        """Whether the call was refused for a parameter that is left out from now on."""
        if reply.next is not Next.GIVE_UP:
            return False
        return self.parameters.learn(sent, reply.http_status, reply.raw) is not None

    async def save(self, item: Pending, reply: Reply, *, last: bool) -> Ending:
        """Keep the call for the driver."""
        self.calls.append(Ended(item.key, reply, last))
        form = body_of(item.body).get("response_format", {}).get("type")
        return parse_call(
            reply.status, reply.raw, reply.error_class, self._offered, as_json=form == "json_schema"
        )

    def again(self, ending: Ending) -> bool:
        """A verdict that was cut off is none."""
        return ending.status is Status.TRUNCATED

    def watch(self, reply: Reply, *, learnt: bool) -> None:
        """Stop this worker when every other call would fail too."""
        if self._worker.alarm.heard(reply, 0):
            self._worker.stop.set()
        if not learnt:
            self._worker.opened.set()

    async def pause(self, failures: int, reply: Reply) -> None:
        """Wait before the next attempt, but not longer than the worker goes on."""
        seconds = self._worker.caller.delay(failures, reply)
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(self._worker.stop.wait(), seconds)


def _reply(fields: dict[str, Any]) -> Reply:
    words = {"next": Next(fields["next"]), "status": Status(fields["status"])}
    return Reply(**{**fields, **words})
