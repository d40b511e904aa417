"""What an endpoint's answer says, read from its status, headers and body.

The same reading serves a call just made and a batch file of answers made elsewhere.

Pure: no database, endpoint or command line.
"""

from __future__ import annotations

import contextlib
import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from enum import StrEnum
from typing import Any, Final, NamedTuple

from annotate.records import Status
from judge.engine.bodies import Secrets, dumps, loads, visible

FATAL_STATUSES = {401, 402, 403, 404, 405, 407, 410}
"""Wrong key (407: for the proxy), no credit, no access, wrong URL or model: so would the next
call. A redirect is of this kind too: nothing goes where nobody told us to send it."""
TRANSIENT_STATUSES = {408, 409, 425, 429}
FILTER_CODES = {
    "content_filter",
    "content_policy_violation",
    "ResponsibleAIPolicyViolation",
    "data_inspection_failed",
    "moderation_blocked",
    "flagged_input",
}
UNSENT_CLASSES = ("ConnectError", "CertificateError")
"""Error classes of calls that made no connection (:attr:`Reply.unsent`)."""
QUOTA_CODES = {"insufficient_quota", "billing_hard_limit_reached"}
_PART = re.compile(r"(\d+(?:\.\d+)?)(ms|h|m|s)")
_UNITS = {"h": 3600.0, "m": 60.0, "s": 1.0, "ms": 0.001}
TEXT_LIMIT = 500
"""Characters of an error message that are kept."""
NO_SECRETS: Final = Secrets()


class Next(StrEnum):
    """What the runner should do after a call."""

    KEEP = "keep"
    """The endpoint has answered; the reply (or its filter's verdict) stands."""
    RETRY = "retry"
    """It may work in a moment: rate limit, server error, timeout, lost connection."""
    GIVE_UP = "give_up"
    """This request was rejected and would be again; others may work."""
    STOP = "stop"
    """Every further call would fail: no credit, wrong key, wrong model."""
    ELSEWHERE = "elsewhere"
    """So it is at this endpoint; others that serve the model may answer."""


@dataclass(frozen=True, slots=True)
class Reply:
    """What one call brought; `raw` is the body as JSON text, never a header.

    `status` is `ok` when a reply came (whatever it says), else `filtered`, `api_error`
    or `timeout`. Tokens are None when the endpoint did not say.
    """

    next: Next
    status: Status
    started_at: str
    finished_at: str
    latency_ms: int
    http_status: int | None = None
    raw: str | None = None
    served_model: str | None = None
    system_fingerprint: str | None = None
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    retry_after: float | None = None
    """Seconds that the endpoint asked to wait."""
    limit_reset: float | None = None
    """Seconds until a rate limit that is used up by now allows the next call."""
    error_class: str | None = None
    error_text: str | None = None
    connected: bool = True
    """False when no HTTP response came at all."""
    unsent: bool = False
    """No connection was made, so that nothing can have been asked."""
    endpoint: str | None = None
    """Which one answered, or could not be reached: its URL without credentials and query."""

    @property
    def free(self) -> bool:
        """Whether the call cost nothing: refused, or never sent."""
        return self.unsent or (self.http_status or 0) >= 400


class Timing(NamedTuple):
    """When a call began and ended (UTC, ISO 8601 with Z), and how long it took."""

    started_at: str
    finished_at: str
    latency_ms: int


def read(
    http_status: int,
    headers: Mapping[str, str],
    text: str,
    timing: Timing,
    *,
    error_class: str = "HTTPError",
    error_text: str = "",
    secrets: Secrets = NO_SECRETS,
) -> Reply:
    """The reply in an HTTP answer: header names in lower case, the body as it came.

    `error_class` and `error_text` are the caller's words for an answer outside 2xx; by
    default the body speaks for itself. Nothing of `secrets` is in what is returned.
    """
    raw, good = _body(text, secrets), 200 <= http_status < 300
    if good and is_completion(raw):
        return _answered(http_status, headers, raw, timing)
    said = said_by(error_text or text, secrets)
    if good:
        return _malformed(http_status, raw, said, timing)
    names = _error_names(raw)
    following, status = _refusal(http_status, names)
    return Reply(
        following,
        status,
        *timing,
        http_status=http_status,
        raw=dumps(raw),
        retry_after=_retry_after(headers),
        limit_reset=_limit_reset(headers),
        error_class=min(names & (QUOTA_CODES | FILTER_CODES), default=error_class),
        error_text=said,
    )


def said_by(text: str, secrets: Secrets = NO_SECRETS) -> str:
    """The beginning of a text from outside, harmless to store and to show."""
    return visible(secrets.clean(text)[:TEXT_LIMIT])[:TEXT_LIMIT]


def is_completion(body: object) -> bool:
    """Whether a body is a chat completion, whatever it says."""
    return isinstance(body, dict) and not body.get("error") and "choices" in body


def advice(http_status: int | None, key_env: str) -> str:
    """What to do about an endpoint that refuses everything (:attr:`Next.STOP`)."""
    if http_status is not None and 300 <= http_status < 400:
        return "correct the URL"
    return {
        401: f"set a valid key in {key_env}",
        403: "check that this key may use this model",
        404: "check the URL and the model name",
        405: "check the URL: what stands there takes no calls",
        407: "correct the proxy's user and password",
        410: "choose another model or URL: this one is gone for good",
    }.get(http_status or 0, "add credit or raise the limit")


def _body(text: str, secrets: Secrets) -> Any:
    """What a body is as JSON; its text if it is none."""
    try:
        return secrets.fit(loads(text))
    except ValueError:
        return secrets.clean(text)


def _malformed(http_status: int, raw: Any, said: str, timing: Timing) -> Reply:
    """A 2xx without a reply in it; some filters speak so."""
    filtered = bool(_error_names(raw) & FILTER_CODES)
    return Reply(
        Next.KEEP if filtered else Next.RETRY,
        Status.FILTERED if filtered else Status.API_ERROR,
        *timing,
        http_status=http_status,
        raw=dumps(raw),
        error_class="MalformedReply",
        error_text=f"a body that is no chat completion: {said}",
    )


def _answered(
    http_status: int, headers: Mapping[str, str], raw: dict[str, Any], timing: Timing
) -> Reply:
    """A 2xx with a chat completion."""
    usage = raw.get("usage")
    usage = usage if isinstance(usage, dict) else {}
    return Reply(
        Next.KEEP,
        Status.OK,
        *timing,
        http_status=http_status,
        raw=dumps(raw),
        served_model=_string(raw.get("model")),
        system_fingerprint=_string(raw.get("system_fingerprint")),
        prompt_tokens=_count(usage.get("prompt_tokens")),
        completion_tokens=_count(usage.get("completion_tokens")),
        limit_reset=_limit_reset(headers),
    )


def _refusal(http_status: int, names: set[str]) -> tuple[Next, Status]:
    """What follows from an answer outside 2xx, by its status and the codes in its body."""
    if names & FILTER_CODES:
        return Next.KEEP, Status.FILTERED
    redirected = 300 <= http_status < 400
    if names & QUOTA_CODES or http_status in FATAL_STATUSES or redirected:
        return Next.STOP, Status.API_ERROR
    if http_status in TRANSIENT_STATUSES or http_status >= 500:
        return Next.RETRY, Status.API_ERROR
    return Next.GIVE_UP, Status.API_ERROR


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


def _retry_after(headers: Mapping[str, str]) -> float | None:
    """Seconds to wait as asked by `Retry-After` (seconds or a date), if at all."""
    value = headers.get("retry-after", "")
    with contextlib.suppress(ValueError):
        seconds = float(value)
        return max(0.0, seconds) if math.isfinite(seconds) else None
    # Outside the years 1 to 9999, and for much that is no date at all.
    with contextlib.suppress(ValueError, TypeError, OverflowError, IndexError):
        moment = parsedate_to_datetime(value)
        # A date without a zone is in UTC (RFC 5322), and not where this machine stands.
        moment = moment.replace(tzinfo=moment.tzinfo or UTC)
        return max(0.0, (moment - datetime.now(UTC)).total_seconds())
    return None


def _limit_reset(headers: Mapping[str, str]) -> float | None:
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
    return said_by(value) if isinstance(value, str) else None


def _count(value: object) -> int | None:
    if not isinstance(value, int) or isinstance(value, bool):
        return None
    return value if 0 <= value < 2**53 else None
