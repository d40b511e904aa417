"""One call to a chat-completions endpoint: the only module that imports openai.

Import it late (it costs most of a second). A call never raises for what an endpoint
can do; it returns a :class:`Reply` that says what to do next. No retries here: the one
retry layer is the runner's.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import math
import re
import time
from collections.abc import Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from types import TracebackType
from typing import Any

import httpx2
import openai

from annotate.records import Status
from annotate.store import now

from .plan import Next, Reply

CONNECT_SECONDS = 10.0
FATAL_STATUSES = {401, 403, 404}
"""Wrong key, no access, wrong URL or model: the next call would fail in the same way."""
TRANSIENT_STATUSES = {408, 409, 425, 429}
FILTER_CODES = {
    "content_filter",
    "content_policy_violation",
    "ResponsibleAIPolicyViolation",
    "data_inspection_failed",
    "moderation_blocked",
    "flagged_input",
}
QUOTA_CODES = {"insufficient_quota", "billing_hard_limit_reached"}
_PART = re.compile(r"(\d+(?:\.\d+)?)(ms|h|m|s)")
_UNITS = {"h": 3600.0, "m": 60.0, "s": 1.0, "ms": 0.001}
TEXT_LIMIT = 500
"""Characters of an error message that are kept."""


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
            return self._failed(clock, error, Status.TIMEOUT, Next.RETRY)
        except openai.APIStatusError as error:
            return self._refused(clock, error)
        except openai.OpenAIError as error:
            return self._failed(clock, error, Status.API_ERROR, Next.RETRY)
        return self._answered(clock, response)

    def _answered(self, clock: _Clock, response: httpx2.Response) -> Reply:
        """A 2xx: a reply if it is a JSON object without an error in it."""
        text = self._clean(response.text)
        raw = _loads(text)
        if not isinstance(raw, dict) or raw.get("error") or "choices" not in raw:
            found = "a body that is no chat completion"
            filtered = bool(_error_names(raw) & FILTER_CODES)
            return Reply(
                Next.KEEP if filtered else Next.RETRY,
                Status.FILTERED if filtered else Status.API_ERROR,
                *clock.stop(),
                http_status=response.status_code,
                raw=_dumps(text if raw is None else raw),
                error_class="MalformedReply",
                error_text=f"{found}: {text[:TEXT_LIMIT]}",
            )
        usage = raw.get("usage")
        usage = usage if isinstance(usage, dict) else {}
        return Reply(
            Next.KEEP,
            Status.OK,
            *clock.stop(),
            http_status=response.status_code,
            raw=_dumps(raw),
            served_model=_string(raw.get("model")),
            system_fingerprint=_string(raw.get("system_fingerprint")),
            prompt_tokens=_count(usage.get("prompt_tokens")),
            completion_tokens=_count(usage.get("completion_tokens")),
            limit_reset=_limit_reset(response.headers),
        )

    def _refused(self, clock: _Clock, error: openai.APIStatusError) -> Reply:
        """A 4xx or 5xx."""
        code = error.status_code
        text = self._clean(error.response.text)
        names = _error_names(_loads(text))
        following, status = Next.GIVE_UP, Status.API_ERROR
        if names & FILTER_CODES:
            following, status = Next.KEEP, Status.FILTERED
        elif names & QUOTA_CODES or code in FATAL_STATUSES:
            following = Next.STOP
        elif code in TRANSIENT_STATUSES or code >= 500:
            following = Next.RETRY
        raw = _loads(text)
        return Reply(
            following,
            status,
            *clock.stop(),
            http_status=code,
            raw=_dumps(text if raw is None else raw),
            retry_after=_retry_after(error.response.headers),
            limit_reset=_limit_reset(error.response.headers),
            error_class=next(iter(sorted(names & (QUOTA_CODES | FILTER_CODES))), None)
            or type(error).__name__,
            error_text=self._clean(str(error))[:TEXT_LIMIT],
        )

    def _failed(
        self, clock: _Clock, error: BaseException, status: Status, following: Next
    ) -> Reply:
        """No HTTP response."""
        cause = error.__cause__ or error
        text = str(cause) or str(error) or type(cause).__name__
        unsent = "Connect" in type(cause).__name__
        return Reply(
            following,
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

    def stop(self) -> tuple[str, str, int]:
        """(started, finished, milliseconds)."""
        return self._at, now(), round((time.monotonic() - self._start) * 1000)


def _loads(text: str) -> object:
    """The JSON value of a body, or None when it is none."""
    try:
        return json.loads(text, parse_constant=lambda _name: None)
    except (ValueError, RecursionError):
        return None


def _dumps(value: object) -> str:
    """JSON that SQLite can hold, whatever characters and numbers an endpoint sent."""
    try:
        return json.dumps(value, ensure_ascii=True, allow_nan=False)
    except ValueError:
        return json.dumps(str(value), ensure_ascii=True)


def _error_names(raw: object) -> set[str]:
    """Every `code` and `type` that an error body gives, at the places in use."""
    body = raw.get("error", raw) if isinstance(raw, dict) else None
    if not isinstance(body, dict):
        return set()
    inner, extra = body.get("innererror"), body.get("metadata")
    places = [body, inner if isinstance(inner, dict) else {}]
    found = {str(p[name]) for p in places for name in ("code", "type") if p.get(name)}
    # A moderating proxy answers 403 and quotes what it did not like.
    return found | ({"flagged_input"} & set(extra if isinstance(extra, dict) else ()))


def _retry_after(headers: httpx2.Headers) -> float | None:
    """Seconds to wait as asked by `Retry-After` (seconds or a date), if at all."""
    value = headers.get("retry-after", "")
    with contextlib.suppress(ValueError):
        seconds = float(value)
        return max(0.0, seconds) if math.isfinite(seconds) else None
    with contextlib.suppress(ValueError, TypeError):
        moment = parsedate_to_datetime(value)
        return max(0.0, (moment.astimezone(UTC) - datetime.now(UTC)).total_seconds())
    return None


def _limit_reset(headers: httpx2.Headers) -> float | None:
    """Seconds until the limits of which nothing remains start again, if there are any."""
    waits = [
        _seconds(headers.get(f"x-ratelimit-reset-{kind}", ""))
        for kind in ("requests", "tokens")
        if headers.get(f"x-ratelimit-remaining-{kind}", "").strip() == "0"
    ]
    return max((wait for wait in waits if wait is not None), default=None)


def _seconds(text: str) -> float | None:
    """A duration such as `6m0s`, `20ms`, `1.5s` or `2` (seconds)."""
    if re.fullmatch(r"\d+(\.\d+)?", text):
        return float(text)
    if not re.fullmatch(rf"({_PART.pattern})+", text):
        return None
    return sum(float(number) * _UNITS[unit] for number, unit in _PART.findall(text))


def _string(value: object) -> str | None:
    return value if isinstance(value, str) else None


def _count(value: object) -> int | None:
    if not isinstance(value, int) or isinstance(value, bool):
        return None
    return value if 0 <= value < 2**53 else None
