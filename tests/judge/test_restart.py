"""Killed, interrupted and broken runs: no committed reply is asked twice."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from annotate.errors import StoreUnavailable
from annotate.records import canonical_json
from annotate.store import Store
from judge.database.store import VerdictStore
from judge.engine.runner import run
from tests.judge.fake_endpoint import FakeEndpoint, always, error, say
from tests.judge.study import make_study, settings

ROOT = Path(__file__).resolve().parents[2]
CONCURRENCY = 4


def start(store: Store, endpoint: FakeEndpoint) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "tests.judge.judge_process"]
    return subprocess.Popen(
        [*command, str(store.path), endpoint.base_url, str(CONCURRENCY)],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def wait_for_hits(endpoint: FakeEndpoint, number: int) -> None:
    deadline = time.monotonic() + 30
    while endpoint.total < number:
        assert time.monotonic() < deadline, f"only {endpoint.total} hits"
        time.sleep(0.005)


def wait_for_attempts(store: Store, number: int) -> None:
    deadline = time.monotonic() + 30
    while True:
        assert time.monotonic() < deadline
        time.sleep(0.02)
        tables = store.conn.execute(
            "SELECT count(*) FROM sqlite_master WHERE name = 'judge_attempt'"
        ).fetchone()
        if tables[0] and _count(store) >= number:
            return


def _count(store: Store) -> int:
    return int(store.conn.execute("SELECT count(*) FROM judge_attempt").fetchone()[0])


def committed(store: Store) -> set[str]:
    rows = store.conn.execute(
        "SELECT r.body FROM judge_attempt a JOIN judge_request r ON r.key = a.request"
        " WHERE a.status = 'reply'"
    )
    return {row[0] for row in rows}


def stored(sent: str) -> str:
    """A body as sent, in the form in which it is stored."""
    return canonical_json(json.loads(sent))


def test_kill_9_in_mid_run_then_resume(tmp_path: Path) -> None:
    """FastChat #2225: duplicates on re-run. Only calls in flight at the kill may repeat."""
    store = make_study(tmp_path, 30)
    with FakeEndpoint(say("[[A]]", delay=0.03)) as endpoint:
        process = start(store, endpoint)
        wait_for_hits(endpoint, 20)
        process.kill()
        process.communicate()
        assert process.returncode == -signal.SIGKILL
        before, asked = committed(store), dict(endpoint.hits)
        assert 0 < len(before) < 60
        verdicts = VerdictStore(store)
        run_id = verdicts.runs()[0].id
        assert verdicts.counts(run_id)["ok"] == len(before)
        assert verdicts.counts(run_id)["pending"] == 60 - len(before)
        summary = run(store, settings(endpoint.base_url, concurrency=CONCURRENCY))
        repeated = [body for body, hits in endpoint.hits.items() if hits > asked.get(body, 0)]
        twice = sum(hits - 1 for hits in endpoint.hits.values())
    assert summary.run_id == run_id
    assert summary.statuses == {"ok": 60}
    assert summary.calls == 60 - len(before)
    assert {stored(body) for body in repeated}.isdisjoint(before)
    assert twice <= CONCURRENCY
    assert summary.judgments == {"tie:inconsistent": 30}
    store.close()


def test_interrupt_drains_the_calls_in_flight_and_says_how_to_resume(tmp_path: Path) -> None:
    store = make_study(tmp_path, 30)
    with FakeEndpoint(say("[[A]]", delay=0.05)) as endpoint:
        process = start(store, endpoint)
        wait_for_hits(endpoint, 12)
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=30)
        assert process.returncode == 0
        assert out.split()[0] == "stopped"
        assert "run the same command again to continue" in err
        assert len(committed(store)) == endpoint.total < 60
        assert VerdictStore(store).runs()[0].state == "stopped"
        rest = run(store, settings(endpoint.base_url))
        assert endpoint.total == 60
    assert rest.cached == 60 - rest.calls
    assert rest.state == "done"
    store.close()


def test_a_wait_for_a_retry_ends_when_interrupted(tmp_path: Path) -> None:
    store = make_study(tmp_path, 2)
    with FakeEndpoint(always(error(429, retry_after="50"))) as endpoint:
        process = start(store, endpoint)
        wait_for_attempts(store, 1)
        began = time.monotonic()
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=30)
        assert time.monotonic() - began < 10
    counts = VerdictStore(store).counts(VerdictStore(store).runs()[0].id)
    assert counts == {"pending": 4}
    store.close()


def test_a_reply_that_cannot_be_saved_is_not_counted(tmp_path: Path) -> None:
    """A full disk ends the run with one clear line; what was saved stays."""
    store = make_study(tmp_path, 3)
    with FakeEndpoint(say("[[A]]")) as endpoint:
        run(store, settings(endpoint.base_url, limit=1))
        store.conn.execute(
            "CREATE TRIGGER broken BEFORE INSERT ON judge_attempt"
            " BEGIN INSERT INTO no_such_table VALUES (1); END"
        )
        with pytest.raises(StoreUnavailable, match="nothing was saved"):
            run(store, settings(endpoint.base_url))
        store.conn.execute("DROP TRIGGER broken")
        summary = run(store, settings(endpoint.base_url))
    assert summary.cached == 2
    assert summary.statuses == {"ok": 6}
    store.close()
