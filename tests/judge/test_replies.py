"""An answer is read from status, headers and body alone, as a batch file has them."""

from __future__ import annotations

import pytest

from annotate.records import Status
from judge.replies import TEXT_LIMIT, Next, Timing, read

TIMING = Timing("2026-01-01T00:00:00Z", "2026-01-01T00:00:02Z", 2000)
OK = '{"model": "m-1", "choices": [], "usage": {"prompt_tokens": 3, "completion_tokens": 0}}'


def test_an_answer_needs_no_headers() -> None:
    reply = read(200, {}, OK, TIMING)
    assert (reply.next, reply.status, reply.served_model) == (Next.KEEP, Status.OK, "m-1")
    assert (reply.prompt_tokens, reply.completion_tokens) == (3, 0)
    assert (reply.started_at, reply.finished_at, reply.latency_ms) == TIMING
    assert (reply.retry_after, reply.limit_reset, reply.endpoint) == (None, None, None)


def test_limits_are_read_from_plain_headers() -> None:
    headers = {
        "retry-after": "7",
        "x-ratelimit-remaining-tokens": "0",
        "x-ratelimit-reset-tokens": "1m2s",
    }
    reply = read(429, headers, "{}", TIMING)
    assert (reply.next, reply.retry_after, reply.limit_reset) == (Next.RETRY, 7.0, 62.0)


@pytest.mark.parametrize(
    ("body", "name"),
    [
        ("x" * 2 * TEXT_LIMIT, "HTTPError"),
        ('{"error": {"code": "insufficient_quota"}}', "insufficient_quota"),
    ],
)
def test_a_refusal_speaks_for_itself_when_nobody_has_words_for_it(body: str, name: str) -> None:
    reply = read(400, {}, body, TIMING)
    assert (reply.status, reply.error_class) == (Status.API_ERROR, name)
    assert reply.error_text == body[:TEXT_LIMIT]
