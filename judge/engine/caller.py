"""Calls to a run's endpoints, at the run's pace."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable, Mapping
from types import TracebackType
from typing import Any

from annotate.records import Status
from judge.engine.budget import Usage, bound, guess
from judge.engine.call_settings import CallSettings
from judge.engine.endpoints import Endpoints
from judge.engine.pace import Pace
from judge.engine.replies import Reply

HEAD_START = 0.2
"""Seconds for which the first call goes alone: what is wrong with all is found by one."""
RETRY_AFTER_CAP = 60.0
OVERLOADED = {429, 503, 529}
"""Answers that ask for fewer calls at once."""
BACKOFF_CAP = 30.0


class Caller:
    """Sends bodies to the endpoints of a run; use as an async context manager.

    It is one of `parts` beside each other, and takes that part of what the settings allow.
    `note` is told what a person should read.
    """

    def __init__(
        self, settings: CallSettings, note: Callable[[str], None], *, parts: int = 1
    ) -> None:
        self._settings, self._note = settings, note
        self.concurrency = max(1, settings.concurrency // parts)
        rpm, tpm = settings.rpm, settings.tpm
        self._pace = Pace(self.concurrency, rpm and rpm / parts, tpm and tpm / parts)
        self._endpoints = Endpoints(
            settings.all_endpoints,
            timeout_seconds=settings.timeout_seconds,
            concurrency=self.concurrency,
            proxy=settings.proxy,
            ca_file=settings.ca_file,
            note=note,
        )

    async def __aenter__(self) -> Caller:
        await self._endpoints.__aenter__()
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self._endpoints.__aexit__(kind, error, trace)

    async def send(
        self, sent: Mapping[str, Any], stop: asyncio.Event
    ) -> tuple[Reply, Usage] | None:
        """One call as soon as the pace allows, and what it used; None when the run stops."""
        ticket = await self._pace.enter(guess(sent).total, stop)
        if ticket is None:
            return None
        reply = await self._endpoints.ask(sent)
        used = usage(bound(sent), reply)
        overloaded = reply.http_status in OVERLOADED or reply.status is Status.TIMEOUT
        asked = reply.limit_reset if reply.retry_after is None else reply.retry_after
        hold = None if asked is None else min(asked, RETRY_AFTER_CAP)
        cut = self._pace.leave(ticket, used=used.total, overloaded=overloaded, hold=hold)
        if cut and self._pace.overloads == 1:
            self._note(f"{self._settings.endpoint_name} is overloaded: asking more slowly")
        return reply, used

    def delay(self, failures: int, reply: Reply) -> float:
        """Seconds before the next attempt: what the endpoint asked for (capped), or backoff."""
        if reply.retry_after is not None:
            return min(reply.retry_after, RETRY_AFTER_CAP)
        backoff = min(self._settings.backoff_seconds * 2.0 ** (failures - 1), BACKOFF_CAP)
        return backoff * random.uniform(0.5, 1.0)


def usage(most: Usage, reply: Reply) -> Usage:
    """What a call used: as told; its bound if it was sent and nothing came back."""
    if reply.free:
        return Usage()
    return Usage(
        most.prompt if reply.prompt_tokens is None else reply.prompt_tokens,
        most.reply if reply.completion_tokens is None else reply.completion_tokens,
    )
