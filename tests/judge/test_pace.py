"""Requests and tokens per minute, and how many calls go at once."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from annotate.store import Store
from judge.engine.pace import Bucket, Pace
from judge.engine.replies import Timing, read
from judge.engine.runner import run
from tests.judge.fake_endpoint import (
    Body,
    FakeEndpoint,
    Scripted,
    always,
    completion,
    error,
)
from tests.judge.study import make_study, settings

OK = completion("[[A]]")


@pytest.fixture
def study(tmp_path: Path) -> Iterator[Store]:
    store = make_study(tmp_path, 20)
    yield store
    store.close()


class Clock:
    """Time that passes when told to."""

    def __init__(self) -> None:
        self.at = 1000.0

    def __call__(self) -> float:
        return self.at


@given(st.integers(1, 3000), st.lists(st.floats(0.1, 50), min_size=1, max_size=60))
def test_no_minute_exceeds_the_rate(rate: int, costs: list[float]) -> None:
    clock = Clock()
    bucket = Bucket(rate, clock)
    gone: list[tuple[float, float]] = []
    for cost in (min(c, rate) for c in costs):
        clock.at += bucket.wait(cost) + 1e-6
        bucket.take(cost)
        gone.append((clock.at, cost))
    # A single cost above the burst leaves a debt of its own size.
    largest = max(cost for _at, cost in gone)
    for start, _cost in gone:
        window = sum(cost for at, cost in gone if start <= at < start + 59.99)
        assert window <= rate + largest


def test_tokens_taken_too_much_are_given_back() -> None:
    clock = Clock()
    bucket = Bucket(600, clock)
    bucket.take(60)
    assert bucket.wait(60) > 0
    bucket.take(-60)
    assert bucket.wait(60) == 0


def test_the_rate_of_requests_is_kept(study: Store) -> None:
    """600 a minute: 60 at once, then 9 a second."""
    with FakeEndpoint(always(OK)) as endpoint:
        began = time.monotonic()
        summary = run(study, settings(endpoint.base_url, rpm=120, limit=11))
        seconds = time.monotonic() - began
    assert summary.statuses == {"ok": 22}
    assert seconds > (22 - 12) / 1.8 * 0.9


def test_tokens_are_corrected_by_what_was_used() -> None:
    pace, stop = Pace(4, tpm=600), asyncio.Event()

    async def play() -> None:
        first = await pace.enter(60, stop)
        assert first is not None
        pace.leave(first, used=5, overloaded=False, hold=None)
        await asyncio.wait_for(pace.enter(50, stop), 1)

    asyncio.run(play())


def test_tokens_per_minute_are_kept(study: Store) -> None:
    with FakeEndpoint(always(OK)) as endpoint:
        slow = settings(endpoint.base_url, tpm=6_000, limit=4, concurrency=1)
        summary = run(study, slow)
    assert summary.statuses == {"ok": 8}
    assert summary.seconds > (8 * 105 - 600) / 90 * 0.9


def test_retry_after_holds_everyone(study: Store) -> None:
    times: list[float] = []

    def once(_body: Body, _number: int) -> Scripted:
        times.append(time.monotonic())
        return error(429, retry_after="0.6") if len(times) == 3 else OK

    with FakeEndpoint(once) as endpoint:
        summary = run(study, settings(endpoint.base_url, concurrency=4))
    assert summary.statuses == {"ok": 40}
    late = [at for at in times if times[2] + 0.15 < at < times[2] + 0.55]
    assert late == []


@pytest.mark.parametrize(
    ("headers", "held"),
    [
        ({"x_ratelimit_remaining_requests": "0", "x_ratelimit_reset_requests": "600ms"}, True),
        ({"x_ratelimit_remaining_tokens": "0", "x_ratelimit_reset_tokens": "0m0.6s"}, True),
        ({"x_ratelimit_remaining_tokens": "9", "x_ratelimit_reset_tokens": "6m0s"}, False),
        ({"x_ratelimit_remaining_tokens": "0", "x_ratelimit_reset_tokens": "soon"}, False),
    ],
)
def test_a_limit_that_is_used_up_is_waited_for(
    study: Store, headers: dict[str, str], held: bool
) -> None:
    names = {name.replace("_", "-"): value for name, value in headers.items()}

    def first(_body: Body, _number: int) -> Scripted:
        return Scripted(body=OK.body, headers=names if endpoint.total == 1 else {})

    with FakeEndpoint(first) as endpoint:
        summary = run(study, settings(endpoint.base_url, limit=2))
        assert endpoint.total == 4, "a limit that is used up is no failure"
    reset = read(200, names, OK.body.decode(), Timing("", "", 0)).limit_reset
    assert (reset is not None) is held
    # A lower bound only: a busy machine may take longer for other reasons.
    assert summary.seconds >= (reset or 0.0)


def test_the_number_at_once_is_halved_once_per_round_and_grows_slowly() -> None:
    clock = Clock()
    pace = Pace(16, clock=clock)
    stop = asyncio.Event()

    async def play() -> None:
        tickets = [await pace.enter(1, stop) for _ in range(16)]
        clock.at += 1
        for ticket in tickets:
            assert ticket is not None
            pace.leave(ticket, used=1, overloaded=True, hold=None)
        assert pace.limit == 8
        for _ in range(9):
            ticket = await pace.enter(1, stop)
            assert ticket is not None
            pace.leave(ticket, used=1, overloaded=False, hold=None)
        assert 9 <= pace.limit < 9.2
        for _ in range(400):
            ticket = await pace.enter(1, stop)
            assert ticket is not None
            pace.leave(ticket, used=1, overloaded=False, hold=None)
        assert pace.limit == 16

    asyncio.run(play())
