"""One actor's side of a run, without Ray: what it asks, keeps and tells."""

from __future__ import annotations

import asyncio
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from annotate.records import Status
from judge.bulk.ray_worker import Block, Worker
from judge.database.store import Ended
from judge.engine.alarm import DEAD_AFTER
from judge.engine.replies import Next, Reply
from tests.judge.fake_endpoint import FakeEndpoint, always, completion, error, per_body
from tests.judge.fake_network import make_authority
from tests.judge.study import settings

OK = completion("[[A]]")
OFFERED = json.dumps(["A", "B"])


def requests(count: int) -> list[dict[str, Any]]:
    return [
        {
            "key": f"key {n}",
            "body": json.dumps({"messages": [{"role": "user", "content": f"Question {n}"}]}),
            "doubled": False,
            "offered": OFFERED,
        }
        for n in range(1, count + 1)
    ]


def ask(worker: Worker, *blocks: list[dict[str, Any]]) -> list[Block]:
    """All blocks at once, as Ray does."""

    async def all_of_them() -> list[Block]:
        try:
            return list(await asyncio.gather(*(worker.ask(block) for block in blocks)))
        finally:
            await worker.caller.__aexit__(None, None, None)

    return asyncio.run(all_of_them())


def test_blocks_at_once_share_the_concurrency_of_their_actor() -> None:
    with FakeEndpoint(always(replace(OK, delay=0.05))) as endpoint:
        worker = Worker(settings(endpoint.base_url, concurrency=6), {}, parts=2)
        every = requests(16)
        first, second = ask(worker, every[:8], every[8:])
        assert endpoint.most_at_once == 3
        assert endpoint.total == 16
    assert [*first.ended, *second.ended] == [request["key"] for request in every]
    assert {call.final for call in first.calls} == {True}


def test_limits_are_shared_between_the_parts() -> None:
    """60 a minute allow bursts of 6; of three parts each may send 2 at once."""

    async def half_a_second(worker: Worker) -> None:
        asking = asyncio.create_task(worker.ask(requests(6)))
        await asyncio.sleep(0.5)
        worker.stop.set()
        await asking
        await worker.caller.__aexit__(None, None, None)

    with FakeEndpoint(always(OK)) as endpoint:
        chosen = settings(endpoint.base_url, concurrency=6, rpm=60)
        asyncio.run(half_a_second(Worker(chosen, {}, parts=3)))
        assert endpoint.total == 2


def test_only_the_last_of_the_calls_is_final() -> None:
    """A kill between two of them must leave the request open."""
    with FakeEndpoint(per_body(error(500), error(500), OK)) as endpoint:
        (block,) = ask(Worker(settings(endpoint.base_url), {}, 1), requests(1))
    assert [(call.call.http_status, call.final) for call in block.calls] == [
        (500, False),
        (500, False),
        (200, True),
    ]


def test_a_refusal_leaves_the_rest_unasked() -> None:
    with FakeEndpoint(always(error(401))) as endpoint:
        first, second = ask(Worker(settings(endpoint.base_url), {}, 1), requests(8), requests(8))
        assert endpoint.total == 1
    assert [call.call.next for call in (*first.calls, *second.calls)] == [Next.STOP]
    assert first.ended == second.ended == []


def test_a_worker_that_reaches_nothing_stops() -> None:
    with FakeEndpoint(always(OK)) as endpoint:
        gone = endpoint.base_url
    (block,) = ask(Worker(settings(gone, attempts=3), {}, 1), requests(50))
    assert DEAD_AFTER <= len(block.calls) <= DEAD_AFTER + 1
    assert len(block.ended) <= 2


def test_a_bug_at_one_request_loses_no_call() -> None:
    every = requests(3)
    every[1]["offered"] = "no JSON"
    with FakeEndpoint(always(OK)) as endpoint:
        (block,) = ask(Worker(settings(endpoint.base_url), {}, 1), every)
    assert "JSONDecodeError" in block.crash
    assert block.ended == ["key 1", "key 3"]
    assert [call.key for call in block.calls] == ["key 1", "key 2", "key 3"]


def test_a_certificate_that_is_not_on_the_node_is_named(tmp_path: Path) -> None:
    file = make_authority(tmp_path).ca_file
    chosen = settings("https://127.0.0.1:9/v1", ca_file=str(file))
    file.unlink()
    worker = Worker(chosen, {}, 1)
    block = asyncio.run(worker.ask(requests(1)))
    assert str(file) in block.error
    assert not block.calls


def test_a_block_survives_the_way_through_the_store() -> None:
    reply = Reply(Next.RETRY, Status.API_ERROR, "a", "b", 3, 500, '"\\ud800"', retry_after=1.5)
    cut = replace(reply, error_text="half of a pair: \ud800", next=Next.GIVE_UP)
    calls = [Ended("k", reply, False), Ended("k", cut, True)]
    block = Block("w", calls, ["k"], {"seed": "dropped"}, ["note"], "", "")
    text = block.to_json()
    assert text.isascii()
    found = Block.from_json(text)
    assert found == block
    assert isinstance(found.calls[0].call.next, Next)
    assert isinstance(found.calls[0].call.status, Status)


@pytest.mark.parametrize("known", [{}, {"seed": "dropped"}])
def test_a_worker_starts_with_what_is_known_and_tells_what_it_learnt(known: dict[str, str]) -> None:
    every = requests(4)
    for request in every:
        request["body"] = json.dumps({**json.loads(request["body"]), "seed": 0})

    def picky(body: dict[str, Any], _number: int) -> Any:
        rejected = error(400, "unsupported_parameter", "Unsupported parameter: 'seed'")
        return rejected if "seed" in body else OK

    with FakeEndpoint(picky) as endpoint:
        (block,) = ask(Worker(settings(endpoint.base_url), known, 1), every)
        assert endpoint.total == (4 if known else 5)
    assert block.rejected == {"seed": "dropped"}
    assert len(block.ended) == 4
