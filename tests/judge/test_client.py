"""What the client makes of an endpoint's behaviour; it never raises for it."""

from __future__ import annotations

import asyncio
import json
import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from annotate.records import Status
from judge.engine.client import Client
from judge.engine.replies import Next, Reply
from tests.judge.fake_endpoint import (
    FakeEndpoint,
    Scripted,
    always,
    completion,
    error,
)

ROOT = Path(__file__).resolve().parents[2]
OK = completion("[[A]]")


def ask(scripted: Scripted, timeout: float = 5.0, key: str = "none", query: str = "") -> Reply:
    async def once(url: str) -> Reply:
        async with Client(url + query, key, timeout_seconds=timeout, concurrency=1) as client:
            return await client.ask({"model": "m", "messages": []})

    with FakeEndpoint(always(scripted)) as endpoint:
        reply = asyncio.run(once(endpoint.base_url))
        assert endpoint.total == 1, "the client has no retries of its own"
    return reply


@pytest.mark.parametrize(
    ("scripted", "following", "status"),
    [
        (OK, Next.KEEP, Status.OK),
        (Scripted(body=b'{"choices": []}'), Next.KEEP, Status.OK),
        (Scripted(body=b"not json"), Next.RETRY, Status.API_ERROR),
        (Scripted(body=b"[1]"), Next.RETRY, Status.API_ERROR),
        (Scripted(body=b""), Next.RETRY, Status.API_ERROR),
        (Scripted(body=b"\xff\xfe"), Next.RETRY, Status.API_ERROR),
        (Scripted(body=b'{"error": {"message": "x"}}'), Next.RETRY, Status.API_ERROR),
        (error(400), Next.GIVE_UP, Status.API_ERROR),
        (error(400, "content_filter"), Next.KEEP, Status.FILTERED),
        (error(413), Next.GIVE_UP, Status.API_ERROR),
        (error(422), Next.GIVE_UP, Status.API_ERROR),
        (error(401), Next.STOP, Status.API_ERROR),
        (error(402), Next.STOP, Status.API_ERROR),
        (error(403), Next.STOP, Status.API_ERROR),
        (error(404), Next.STOP, Status.API_ERROR),
        (error(405), Next.STOP, Status.API_ERROR),
        (error(410), Next.STOP, Status.API_ERROR),
        (error(408), Next.RETRY, Status.API_ERROR),
        (error(429, "rate_limit_exceeded"), Next.RETRY, Status.API_ERROR),
        (error(429, "insufficient_quota"), Next.STOP, Status.API_ERROR),
        (error(500), Next.RETRY, Status.API_ERROR),
        (error(529), Next.RETRY, Status.API_ERROR),
        (Scripted(502, b"<html>bad gateway</html>"), Next.RETRY, Status.API_ERROR),
        (replace(OK, cut=True), Next.RETRY, Status.API_ERROR),
    ],
)
def test_what_follows_from_a_response(scripted: Scripted, following: Next, status: Status) -> None:
    reply = ask(scripted)
    assert (reply.next, reply.status) == (following, status)
    assert (reply.error_class is None) == (status is Status.OK)
    assert reply.latency_ms >= 0


def test_a_filter_named_in_an_inner_error_is_seen() -> None:
    body = b'{"error": {"code": "x", "innererror": {"code": "ResponsibleAIPolicyViolation"}}}'
    assert ask(Scripted(400, body)).status is Status.FILTERED


def test_silence_is_a_timeout_with_the_server_alive() -> None:
    reply = ask(replace(OK, delay=3.0), timeout=0.2)
    assert (reply.next, reply.status) == (Next.RETRY, Status.TIMEOUT)
    assert reply.connected


def test_a_server_that_drips_does_not_outlast_the_timeout() -> None:
    reply = ask(replace(OK, drip=0.05), timeout=0.4)
    assert reply.status is Status.TIMEOUT
    assert reply.latency_ms < 2_000


def test_no_server_is_a_connection_error() -> None:
    async def once() -> Reply:
        async with Client(gone, "none", timeout_seconds=2, concurrency=1) as client:
            return await client.ask({})

    with FakeEndpoint(always(OK)) as endpoint:
        gone = endpoint.base_url
    reply = asyncio.run(once())
    assert (reply.next, reply.connected, reply.http_status) == (Next.RETRY, False, None)


@pytest.mark.parametrize(
    ("value", "low", "high"),
    [
        ("7", 7, 7),
        ("0.5", 0.5, 0.5),
        ("-3", 0, 0),
        ("Wed, 21 Oct 2015 07:28:00 GMT", 0, 0),
        ("Wed, 21 Oct 2099 07:28:00 GMT", 1e8, 1e10),
        ("Wed, 21 Oct 2099 07:28:00 -0000", 1e8, 1e10),
        ("Fri, 31 Dec 9999 23:59:59 -2300", 1e8, 1e12),
    ],
)
def test_retry_after_in_seconds_or_as_a_date(value: str, low: float, high: float) -> None:
    asked = ask(error(429, retry_after=value)).retry_after
    assert asked is not None
    assert low <= asked <= high


@pytest.mark.parametrize("value", ["soon", "", "nan", "inf", "0 Jan 0 0:0 +9999999"])
def test_a_retry_after_that_says_nothing_is_ignored(value: str) -> None:
    assert ask(error(429, retry_after=value)).retry_after is None


def test_reply_keeps_model_fingerprint_and_tokens() -> None:
    reply = ask(OK)
    assert (reply.served_model, reply.system_fingerprint) == ("fake-served-1", "fp_fake")
    assert (reply.prompt_tokens, reply.completion_tokens) == (100, 5)


@pytest.mark.parametrize("tokens", [b"null", b'"7"', b"-1", b"true", b"1e400", b"9" * 40])
def test_tokens_that_are_no_count_are_unknown(tokens: bytes) -> None:
    body = b'{"choices": [], "usage": {"prompt_tokens": %b}}' % tokens
    reply = ask(Scripted(body=body))
    assert reply.status is Status.OK
    assert reply.prompt_tokens is None


@pytest.mark.parametrize(
    ("status", "location", "said"),
    [
        (
            301,
            "http://127.0.0.2:9/v2/chat/completions?key=x",
            "to http://127.0.0.2:9/v2; give that",
        ),
        (303, "/other", "/other; give that URL"),
        (307, "/v1/chat/completions", "to itself, http://127.0.0.1:"),
        (308, "file:///etc/passwd", "to nowhere that can be called"),
        (302, "http://[", "to nowhere that can be called"),
        (307, "http://h\u00fc:x/", "to nowhere that can be called"),
        (300, "", "to nowhere that can be called"),
    ],
)
def test_a_redirect_is_not_followed_and_stops_the_run(
    status: int, location: str, said: str
) -> None:
    """A 307 to itself made 84 hits of 4 attempts, one to another host sent the texts there."""
    reply = ask(Scripted(status, b"", {"location": location}))
    assert (reply.next, reply.http_status, reply.error_class) == (Next.STOP, status, "Redirect")
    assert str(reply.error_text).startswith("redirects to ")
    assert said in str(reply.error_text)


@pytest.mark.parametrize("status", [200, 401])
@pytest.mark.parametrize(
    ("key", "query", "echo"),
    [
        ("sk-abc/def+ghi/jkl", "", rb"sk-abc\/def+ghi\/jkl"),
        ("sk-abc/def+ghi/jkl", "", rb"s\u006B-abc\u002fdef+ghi/jkl"),
        ("sk-abc/def+ghi/jkl", "", rb"sk-abc\\/def\\u002Bghi\\/jkl"),
        ("sk-abc/def+ghi/jkl", "", rb"%73k-abc%2fdef%2Bghi%2Fjkl"),
        ("sk-abc/def+ghi/jkl", "", b"c2stYWJjL2RlZitnaGkvamts"),
        ("k3yk3y7", "", b"bad key k3yk3y7."),
        ("none", "?api-key=QSECRETQ&version=2024-01-01", b"QSECRETQ of 2024-01-01"),
    ],
)
def test_a_key_that_is_echoed_in_any_writing_is_not_kept(
    key: str, query: str, echo: bytes, status: int
) -> None:
    message = b'"content": "%b\\n[[A]]", "%b": 1' % (echo, echo)
    error = b'{"error": {"code": "x", "message": "%b"}}' % echo
    body = b'{"choices": [{"message": {%b}}]}' % message
    reply = ask(Scripted(status, body if status == 200 else error), key=key, query=query)
    kept = f"{json.loads(str(reply.raw))} {reply.error_text}"
    assert "[key removed]" in kept
    left = re.sub(r"%([0-9a-fA-F]{2})", lambda m: chr(int(m[1], 16)), kept.replace("\\", ""))
    for secret in ("abc", "YWJj", "k3y", "QSECRETQ"):
        assert secret not in left
    if query:
        assert "2024-01-01" in kept, "what is no secret stays"


def test_what_acts_on_a_terminal_is_written_out() -> None:
    said = "\x1b]0;owned\x07\r\nline two\u202e \ud800"
    body = {"error": {"message": said}}
    reply = ask(Scripted(400, json.dumps(body).encode()))
    assert reply.error_text is not None
    assert reply.error_text.isprintable()
    assert r"\x1b]0;owned\x07" in reply.error_text
    plain = ask(Scripted(502, said.encode("utf-8", "replace")))
    assert str(plain.error_text).isprintable()
    named = ask(Scripted(body=json.dumps({"choices": [], "model": "m\x1b[31m"}).encode()))
    assert named.served_model == r"m\x1b[31m"


def test_running_the_judge_is_what_imports_openai_not_importing_it() -> None:
    code = (
        "import sys, judge.engine.runner, judge.engine.local, judge.engine.replies;"
        "import judge.database.store, judge.database.verdict_import;"
        "sys.exit(bool({'openai', 'httpx2', 'aiohttp', 'xllamacpp'} & set(sys.modules)))"
    )
    assert subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=False).returncode == 0
