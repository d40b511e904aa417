"""Several endpoints that serve the same model, as one: calls are shared out by weight.

A call goes to another endpoint only when no connection was made, so that nothing can have
been asked; a call that was sent is never repeated here (the one retry layer is the
session's).
"""

from __future__ import annotations

import math
import os
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, replace
from types import TracebackType
from typing import TYPE_CHECKING, Any

from annotate.errors import UsageError
from judge.engine.network import bare, require_url
from judge.engine.replies import Next, Reply

if TYPE_CHECKING:
    from judge.engine.client import Client

LONG_WAIT = 10.0
"""Seconds: an endpoint that asks for more of them is named, or the run seems to hang."""
REST_SECONDS = 15.0
"""How long an endpoint that could not be connected is left alone, then tried by one call."""


@dataclass(frozen=True, slots=True)
class Endpoint:
    """One place that serves the judge's model; checked when made.

    `weight` is its share of the calls relative to the others'. `api_key_env` names the
    environment variable with the key, which is sent to this endpoint alone.
    """

    base_url: str
    weight: float = 1.0
    api_key_env: str = "OPENAI_API_KEY"

    def __post_init__(self) -> None:
        """Refuse what no call could use.

        Raises:
            UsageError: names the setting, its value and what was expected.
        """
        require_url("base_url", self.base_url, secret_from=f"the key in ${self.api_key_env}")
        if not (self.weight > 0 and math.isfinite(self.weight)):
            raise UsageError(f"judge setting weight is {self.weight!r}; expected more than 0")

    @property
    def name(self) -> str:
        """The URL as stored: no credentials, no query."""
        return bare(self.base_url)


class Endpoints:
    """The endpoints of one run; use as an async context manager.

    Each has a pool of `concurrency` connections of its own: a call never waits for a
    connection while its timeout runs. `note` is told what a person should read.
    """

    def __init__(
        self,
        endpoints: Sequence[Endpoint],
        *,
        timeout_seconds: float,
        concurrency: int,
        proxy: str = "",
        ca_file: str = "",
        note: Callable[[str], None] = lambda _text: None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._endpoints, self._note, self._clock = tuple(endpoints), note, clock
        self._timeout, self._concurrency = timeout_seconds, concurrency
        self._proxy, self._ca_file = proxy, ca_file
        self._members: list[_Member] = []

    async def __aenter__(self) -> Endpoints:
        from judge.engine.client import Client

        async with AsyncExitStack() as stack:
            for endpoint in self._endpoints:
                client = Client(
                    endpoint.base_url,
                    os.environ.get(endpoint.api_key_env) or "none",
                    timeout_seconds=self._timeout,
                    concurrency=self._concurrency,
                    proxy=self._proxy,
                    ca_file=self._ca_file,
                )
                await stack.enter_async_context(client)
                self._members.append(_Member(endpoint.name, endpoint.weight, client))
            self._opened = stack.pop_all()
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self._opened.aclose()

    async def ask(self, body: Mapping[str, Any]) -> Reply:
        """Send one request to the endpoint whose turn it is and say what came of it.

        `next` is ELSEWHERE when that endpoint will answer nothing and others are left.
        """
        tried: list[_Member] = []
        texts: list[str] = []
        while (member := self._choose(tried)) is not None:
            reply = await member.client.ask(body)
            if not reply.unsent:
                return self._heard(member, reply)
            self._unreachable(member, reply)
            tried.append(member)
            texts.append(f"{member.name}: {reply.error_text}")
        text = reply.error_text if len(texts) == 1 else "; ".join(texts)
        return replace(reply, endpoint=tried[-1].name, error_text=text)

    def _choose(self, tried: Sequence[_Member]) -> _Member | None:
        """Whose turn it is (smooth weighted round robin); None when nobody is left to try.

        While all rest, a call tries the one that has rested longest, so that the session
        sees that nothing answers.
        """
        at = self._clock()
        usable = [m for m in self._members if not m.closed and m not in tried]
        ready = [m for m in usable if m.rests_until is None or m.rests_until <= at]
        if not ready and not tried:
            # All were refused by now: the last refusal has stopped the run.
            usable = usable or self._members
            ready = [min(usable, key=lambda m: m.rests_until or at)]
        if not ready:
            return None
        for member in ready:
            member.credit += member.weight
        chosen = max(ready, key=lambda m: m.credit)
        chosen.credit -= sum(m.weight for m in ready)
        if chosen.rests_until is not None:
            # One call at a time finds out whether it is back.
            chosen.rests_until = at + REST_SECONDS
        return chosen

    def _heard(self, member: _Member, reply: Reply) -> Reply:
        """An endpoint took a call: it is reachable, whatever it said."""
        if member.rests_until is not None:
            member.rests_until = None
            self._note(f"{member.name} is reached again")
        self._held(member, reply)
        if reply.next is Next.STOP:
            return self._refused(member, reply)
        return replace(reply, endpoint=member.name)

    def _held(self, member: _Member, reply: Reply) -> None:
        """Say once that an endpoint makes everyone wait."""
        asked = reply.limit_reset if reply.retry_after is None else reply.retry_after
        if asked is None or asked < LONG_WAIT or member.told_to_wait:
            return
        member.told_to_wait = True
        long = f"{asked:.0f} s" if asked < 86_400 else "more than a day"
        why = "its rate limit is used up" if reply.retry_after is None else "it is overloaded"
        self._note(
            f"{member.name} asks to wait {long} ({why}): calls are held back as it asks, at most a"
            " minute at a time"
        )

    def _refused(self, member: _Member, reply: Reply) -> Reply:
        """An endpoint that refuses everything is left out; the last one stops the run."""
        first, member.closed = not member.closed, True
        others = any(not m.closed for m in self._members)
        if first and others:
            self._note(
                f"warning: {member.name}: HTTP {reply.http_status} {reply.error_class}"
                f" ({reply.error_text}); the other endpoints go on without it"
            )
        following = Next.ELSEWHERE if others else Next.STOP
        return replace(reply, endpoint=member.name, next=following)

    def _unreachable(self, member: _Member, reply: Reply) -> None:
        """Leave an endpoint alone for a while."""
        if member.rests_until is None and len(self._members) > 1:
            self._note(
                f"warning: {member.name} cannot be reached ({reply.error_text}); the other"
                f" endpoints take its calls, and it is tried every {REST_SECONDS:.0f} s"
            )
        member.rests_until = self._clock() + REST_SECONDS


@dataclass(slots=True, eq=False)
class _Member:
    """One endpoint at work; `credit` decides whose turn it is."""

    name: str
    weight: float
    client: Client
    credit: float = 0.0
    rests_until: float | None = None
    closed: bool = False
    told_to_wait: bool = False
