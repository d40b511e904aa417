"""One run of 500 calls, killed ten times: what was paid for, and what it came to."""

from __future__ import annotations

import json
import random
import signal
import time
from pathlib import Path

from annotate.store import Store
from judge.database.store import VerdictStore
from judge.engine.runner import run
from tests.judge.fake_endpoint import Body, FakeEndpoint, Scripted, completion
from tests.judge.study import make_study, settings
from tests.judge.test_restart import CONCURRENCY, committed, start, stored, wait_for_hits

CALLS = 500
KILLS = 10
SEED = 2024
LATENCIES = (0.005, 0.01, 0.02)
REPLIES = ("[[A]]", "[[B]]", "[[C]]", "[[D]]", "no verdict")


def verdict(body: Body, number: int) -> Scripted:
    """Depends on the request alone: asked twice, it would say the same."""
    text = json.dumps(body["messages"]).encode()
    return completion(REPLIES[sum(text) % len(REPLIES)], delay=LATENCIES[number % 3])


def test_ten_kills_in_one_run_of_500_calls(tmp_path: Path) -> None:
    """FastChat #2225: duplicates on re-run. kill -9 at ten random points of one run.

    The server counts at most 500 calls and those in flight at each kill, no committed reply
    is asked again, and nothing is judged twice.
    """
    store = make_study(tmp_path, CALLS // 2)
    chance = random.Random(SEED)
    points = sorted(chance.sample(range(1, CALLS - 2 * CONCURRENCY), KILLS))
    in_flight: list[int] = []
    hits_when_committed: dict[str, int] = {}
    with FakeEndpoint(verdict) as endpoint:
        for point in points:
            process = start(store, endpoint)
            wait_for_hits(endpoint, max(point, endpoint.total + 1))
            time.sleep(chance.uniform(0, max(LATENCIES)))
            process.kill()
            process.communicate()
            assert process.returncode == -signal.SIGKILL
            hits = settled(endpoint)
            known = committed(store)
            assert len(known) < CALLS
            in_flight.append(sum(hits.values()) - attempts(store) - sum(in_flight))
            for body in known - hits_when_committed.keys():
                hits_when_committed[body] = hits[body]
        summary = run(store, settings(endpoint.base_url, concurrency=CONCURRENCY))
        hits = settled(endpoint)
        assert all(hits[body] == then for body, then in hits_when_committed.items())
        assert len(hits) == CALLS
        assert max(in_flight) <= CONCURRENCY
        assert sum(in_flight) > 0, "no kill met a call in flight: the test says nothing"
        assert CALLS <= endpoint.total <= CALLS + sum(in_flight)
        (tmp_path / "undisturbed").mkdir()
        other = make_study(tmp_path / "undisturbed", CALLS // 2)
        run(other, settings(endpoint.base_url, concurrency=CONCURRENCY))
    assert (summary.state, summary.planned) == ("done", CALLS)
    assert summary.calls == CALLS - len(hits_when_committed)
    assert len(VerdictStore(store).runs()) == 1
    assert attempts(store) == once(store, "judge_attempt", "request") == CALLS
    assert once(store, "verdict", "request, attempt") == CALLS
    assert once(store, "judge_item", "pair, turn, dimension, order_shown, replicate") == CALLS
    assert pair_verdicts(store) == pair_verdicts(other)
    assert len(pair_verdicts(store)) == CALLS // 2
    assert len({reason for _pair, _outcome, reason in pair_verdicts(store)}) > 2
    other.close()
    store.close()


def settled(endpoint: FakeEndpoint) -> dict[str, int]:
    """Hits by stored body, once what a dead client had sent has arrived and been answered."""
    deadline = time.monotonic() + 10
    before = -1
    while before != endpoint.total or sum(endpoint.answered.values()) != endpoint.total:
        assert time.monotonic() < deadline
        before = endpoint.total
        time.sleep(0.03)
    return {stored(body): count for body, count in endpoint.hits.items()}


def attempts(store: Store) -> int:
    return int(store.conn.execute("SELECT count(*) FROM judge_attempt").fetchone()[0])


def once(store: Store, table: str, key: str) -> int:
    """How many rows there are under different keys."""
    rows = store.conn.execute(f"SELECT count(*) FROM (SELECT DISTINCT {key} FROM {table})")
    return int(rows.fetchone()[0])


def pair_verdicts(store: Store) -> list[tuple[str, str | None, str]]:
    return store.conn.execute(
        "SELECT pair, outcome, reason FROM pair_verdict ORDER BY pair, turn, dimension, replicate"
    ).fetchall()
