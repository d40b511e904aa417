"""One call to a chat-completions endpoint: the only module that imports openai.

Import it late (it costs most of a second). A call never raises for what an endpoint
can do; it returns a :class:`Reply` that says what to do next. No retries here: the one
retry layer is the runner's.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping
from types import TracebackType
from typing import Any

import httpx2
import openai

from annotate.records import Status
from annotate.store import now

from .replies import TEXT_LIMIT, Next, Reply, Timing, read

CONNECT_SECONDS = 10.0


class Client:
    """One shared connection pool to one endpoint; use as an async context manager."""

    def __init__(
        self, base_url: str, api_key: str, *, timeout_seconds: float, concurrency: int
    ) -> None:
        self._secret = api_key if len(api_key) >= 8 else ""
        self._timeout = timeout_seconds
        # The pool is never smaller than the number of workers: a request does not wait
        # for a connection while its timeout runs.
        limits = httpx2.Limits(max_connections=concurrency, max_keepalive_connections=concurrency)
        timeout = httpx2.Timeout(timeout_seconds, connect=min(CONNECT_SECONDS, timeout_seconds))
        self._openai = openai.AsyncOpenAI(
            base_url=base_url,
            api_key=api_key,
            max_retries=0,
            timeout=timeout,
            http_client=openai.DefaultAioHttpClient(limits=limits, timeout=timeout),
        )

    async def __aenter__(self) -> Client:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self._openai.close()

    async def ask(self, body: Mapping[str, Any]) -> Reply:
        """Send one request and say what came of it."""
        clock = _Clock()
        try:
            # The SDK's timeout is per read; a server that drips must end as well.
            async with asyncio.timeout(self._timeout):
                response = await self._openai.post(
                    "/chat/completions", body=dict(body), cast_to=httpx2.Response
                )
        except (TimeoutError, openai.APITimeoutError) as error:
            return self._failed(clock, error, Status.TIMEOUT)
        except openai.APIStatusError as error:
            return self._refused(clock, error)
        except openai.OpenAIError as error:
            return self._failed(clock, error, Status.API_ERROR)
        text = self._clean(response.text)
        return read(response.status_code, response.headers, text, clock.stop())

    def _refused(self, clock: _Clock, error: openai.APIStatusError) -> Reply:
        """A 4xx or 5xx, in the SDK's words."""
        response = error.response
        return read(
            error.status_code,
            response.headers,
            self._clean(response.text),
            clock.stop(),
            error_class=type(error).__name__,
            error_text=self._clean(str(error)),
        )

    def _failed(self, clock: _Clock, error: BaseException, status: Status) -> Reply:
        """No HTTP response."""
        cause = error.__cause__ or error
        text = str(cause) or str(error) or type(cause).__name__
        unsent = "Connect" in type(cause).__name__
        return Reply(
            Next.RETRY,
            status,
            *clock.stop(),
            error_class="ConnectError" if unsent else type(error).__name__,
            unsent=unsent,
            error_text=self._clean(text)[:TEXT_LIMIT],
            # A server that took the connection and is slow is not a dead endpoint.
            connected=status is Status.TIMEOUT and not unsent,
        )

    def _clean(self, text: str) -> str:
        """The text without the key, should an endpoint echo it."""
        return text.replace(self._secret, "[key removed]") if self._secret else text


class _Clock:
    """Start time and duration of one call."""

    def __init__(self) -> None:
        self._at = now()
        self._start = time.monotonic()

    def stop(self) -> Timing:
        return Timing(self._at, now(), round((time.monotonic() - self._start) * 1000))
