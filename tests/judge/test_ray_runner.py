"""The judge on a real Ray of this machine; each test names what it holds.

Ray takes seconds to start an actor, so there are few runs here: what the actors share with
the ordinary runner is tested there, and what one of them does alone in test_ray_worker.
"""

from __future__ import annotations

import asyncio
import json
import pickle
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from annotate.errors import ServiceError, UsageError
from annotate.store import Store
from judge.bulk import ray_cluster, ray_runner
from judge.bulk.ray_runner import Spread, run_ray
from judge.bulk.ray_worker import Block, Worker
from judge.cli import main
from judge.database.store import VerdictStore
from judge.engine.prices import Price
from judge.engine.progress import Silent
from judge.engine.runner import run
from judge.engine.settings import JudgeSettings
from tests.annotate.support import make_study as make_folder
from tests.judge.fake_endpoint import FakeEndpoint, Scripted, always, completion, error
from tests.judge.study import make_study, settings

KEY = "sk-only-in-the-environment-of-workers"
OK = completion("[[A]]")


@pytest.fixture(scope="module")
def local_ray() -> Iterator[None]:
    """One Ray for all tests: a run that finds it leaves it as it is."""
    patch = pytest.MonkeyPatch()
    patch.setenv("EVENHAND_TEST_KEY", KEY)
    patch.setattr(ray_cluster, "MEMORY", 100 * 2**20)
    with ray_cluster.cluster(cpus=2) as nodes:
        assert nodes == 1
        yield
    patch.undo()


@pytest.fixture
def study(tmp_path: Path) -> Iterator[Store]:
    store = make_study(tmp_path, 6)
    yield store
    store.close()


@pytest.fixture
def handed(local_ray: None, monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """The rows of every Dataset, as Ray shows them."""
    import ray.data

    found: list[Any] = []
    from_items = ray.data.from_items

    def spy(items: list[Any], **options: Any) -> Any:
        dataset = from_items(items, **options)
        found.append(dataset.take_all())
        return dataset

    monkeypatch.setattr(ray.data, "from_items", spy)
    return found


class Counts(Silent):
    """Keeps what was shown last."""

    last: tuple[int, dict[str, int]]

    def update(self, done: int, failed: Mapping[str, int], _usd: float | None = None) -> None:
        self.last = (done, dict(failed))


def mixed(body: dict[str, Any], number: int) -> Scripted:
    """Every kind of end: verdicts, no verdict, failures that a retry mends, or nothing does."""
    text = json.dumps(body["messages"])
    if "Question 2" in text:
        return completion("hm")
    if "Question 3" in text:
        return error(500) if number == 1 else completion("[[B]]")
    if "Question 4" in text:
        return error(500)
    if "Question 5" in text:
        return completion("[[A]]", finish="length")
    return completion("[[A]]" if text.index("alder on") < text.index("birch on") else "[[B]]")


def told(store: Store) -> list[tuple[Any, ...]]:
    """What a study says of every request, whoever asked."""
    return store.conn.execute(
        "SELECT i.pair, i.order_shown, v.status, v.choice, v.detail, p.status, p.outcome,"
        " p.reason, (SELECT group_concat(a.status || coalesce(a.http_status, '') ||"
        " coalesce(a.error_text, '') || coalesce(a.raw, '')) FROM judge_attempt a"
        " WHERE a.request = i.request)"
        " FROM judge_item i JOIN verdict v ON v.request = i.request"
        " LEFT JOIN pair_verdict p ON p.run = i.run AND p.pair = i.pair ORDER BY i.id"
    ).fetchall()


def test_the_same_as_the_ordinary_runner_and_what_was_answered_is_not_asked_again(
    tmp_path: Path, study: Store, local_ray: None
) -> None:
    (tmp_path / "other").mkdir()
    other = make_study(tmp_path / "other", 6)
    with FakeEndpoint(mixed) as endpoint:
        chosen = settings(endpoint.base_url, attempts=3, price=Price(1.0, 2.0))
        shown = Counts(), Counts()
        here = run(other, chosen, shown[0])
        hits = dict(endpoint.hits)
        endpoint.hits.clear()
        there = run_ray(study, chosen, shown[1], actors=2)
        assert shown[0].last == shown[1].last
        assert endpoint.hits == hits
        assert sorted(hits.values()) == [1] * 10 + [2, 2, 3, 3]
        assert told(study) == told(other)
        endpoint.script = always(OK)
        rest = run_ray(study, chosen, actors=2)
        assert (rest.calls, rest.cached) == (2, 10), "only what got no reply"
        none = run_ray(study, chosen, actors=2)
        assert (none.calls, none.cached, none.state) == (0, 12, "done")
    other.close()
    names = ("planned", "cached", "calls", "state", "statuses", "judgments", "warnings")
    for name in (*names, "prompt_tokens", "completion_tokens", "tokens_unknown"):
        assert getattr(there, name) == getattr(here, name), name
    assert there.usd == pytest.approx(here.usd)
    assert there.statuses == {"ok": 6, "unparseable": 2, "api_error": 2, "truncated": 2}
    assert VerdictStore(study).runs()[0].state == "done"


def test_the_key_reaches_the_endpoint_and_nothing_else(
    tmp_path: Path, study: Store, handed: list[Any]
) -> None:
    with FakeEndpoint(always(OK)) as endpoint:
        chosen = settings(endpoint.base_url)
        run_ray(study, chosen)
        assert endpoint.keys == {f"Bearer {KEY}"}
    (rows,) = handed
    assert {name for row in rows for name in row} == {"key", "body", "doubled", "offered"}
    assert len(rows) == 12
    assert KEY.encode() not in pickle.dumps((rows, chosen))
    ours = list(Path(tempfile.gettempdir()).glob("ev-ray-*"))
    files = [f for folder in (*ours, tmp_path) for f in folder.rglob("*") if f.is_file()]
    assert len(files) > 10
    assert not [f for f in files if KEY.encode() in f.read_bytes()]


def test_a_refused_key_stops_with_the_ordinary_words(
    tmp_path: Path, study: Store, local_ray: None
) -> None:
    with FakeEndpoint(always(error(401))) as endpoint:
        with pytest.raises(ServiceError) as caught:
            run_ray(study, settings(endpoint.base_url))
        assert endpoint.total == 1, "one call finds it out"
        (tmp_path / "other").mkdir()
        other = make_study(tmp_path / "other", 6)
        with pytest.raises(ServiceError) as expected:
            run(other, settings(endpoint.base_url))
        other.close()
    assert str(caught.value) == str(expected.value)
    assert "EVENHAND_TEST_KEY" in str(caught.value)
    run_row = VerdictStore(study).runs()[0]
    assert run_row.state == "failed"
    assert VerdictStore(study).counts(run_row.id) == {"pending": 12}


class Interrupts(Silent):
    """Interrupts as soon as something is committed."""

    def update(self, *_counts: object) -> None:
        raise KeyboardInterrupt


def test_what_came_back_before_an_interrupt_stands_and_learnt_parameters_too(
    tmp_path: Path, local_ray: None
) -> None:
    store = make_study(tmp_path, 20)

    def picky(body: dict[str, Any], _number: int) -> Scripted:
        if "seed" in body:
            return error(400, "unsupported_parameter", "Unsupported parameter: 'seed'")
        return completion("[[A]]", delay=0.05)

    with FakeEndpoint(picky) as endpoint:
        first = run_ray(store, settings(endpoint.base_url), Interrupts())
        assert first.state == "stopped"
        (run_row,) = VerdictStore(store).runs()
        assert run_row.manifest["rejected_parameters"] == {"seed": "dropped"}
        kept = first.statuses["ok"]
        assert kept == ray_runner.LEAST_BLOCK
        endpoint.requests.clear()
        rest = run_ray(store, settings(endpoint.base_url))
        assert (rest.cached, rest.calls) == (kept, 40 - kept)
        assert not [body for body in endpoint.requests if "seed" in body]
    store.close()
    assert rest.statuses == {"ok": 40}
    assert rest.warnings == ("the endpoint rejects parameter seed: dropped",)


@pytest.mark.parametrize("willing", [6, 0])
def test_what_a_worker_left_is_handed_out_again_while_that_helps(
    study: Store, local_ray: None, monkeypatch: pytest.MonkeyPatch, willing: int
) -> None:
    """A worker that reaches nothing hands back the rest unasked; others may do better."""

    def some(requests: list[dict[str, Any]], chosen: JudgeSettings, *_: object) -> Iterator[Block]:
        yield asyncio.run(asked(Worker(chosen, {}, 1), requests[:willing]))

    async def asked(worker: Worker, requests: list[dict[str, Any]]) -> Block:
        block = await worker.ask(requests)
        await worker.caller.__aexit__(None, None, None)
        return block

    monkeypatch.setattr(ray_runner, "blocks", some)
    with FakeEndpoint(always(OK)) as endpoint:
        summary = run_ray(study, settings(endpoint.base_url))
        assert endpoint.total == 2 * willing
    left = "12 requests were left by workers that could reach nothing; run the same command again"
    assert summary.state == ("done" if willing else "stopped")
    assert [w.startswith(left) for w in summary.warnings] == ([] if willing else [True])


def test_the_command_runs_on_ray(tmp_path: Path, handed: list[Any]) -> None:
    make_folder(tmp_path / "study").close()
    with FakeEndpoint(always(OK)) as endpoint:
        words = ["judge", str(tmp_path / "study"), "--ray", "--ray-actors", "1"]
        words += ["--base-url", endpoint.base_url, "--model", "m", "--limit", "1"]
        done = CliRunner().invoke(main, words)
        assert [len(rows) for rows in handed] == [endpoint.total]
    assert done.exit_code == 0, done.output
    assert "calls made in" in done.output


@pytest.mark.parametrize(
    ("changes", "actors", "expected"),
    [
        ({"cap_tokens": 1000}, None, "caps do not hold across a cluster"),
        ({"concurrency": 2}, 3, "3 actors: expected 1 to 2"),
        ({}, 0, "0 actors: expected 1 to 2"),
    ],
)
def test_what_a_cluster_cannot_do_is_refused(
    study: Store, changes: dict[str, Any], actors: int | None, expected: str
) -> None:
    with pytest.raises(UsageError, match=expected):
        run_ray(study, settings("http://127.0.0.1:9/v1", **changes), actors=actors)
    assert not VerdictStore(study).runs()


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["--ray-actors", "2"], "belong to --ray"),
        (["--ray-address", "auto"], "belong to --ray"),
        (["--ray", "--local", "--ray-address", "auto"], "this machine only"),
    ],
)
def test_options_that_do_not_go_together(tmp_path: Path, words: list[str], expected: str) -> None:
    make_folder(tmp_path / "study").close()
    done = CliRunner().invoke(main, ["judge", str(tmp_path / "study"), *words])
    assert done.exit_code == 2
    assert expected in done.output


def test_without_the_package_the_message_says_how_to_install_it(
    study: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ray_cluster, "find_spec", lambda _name: None)
    with pytest.raises(UsageError, match=r'pip install "evenhand\[ray\]"'):
        run_ray(study, settings("http://127.0.0.1:9/v1"))


@pytest.mark.parametrize("address", ["127.0.0.1:9", "ray://127.0.0.1:9"])
def test_no_cluster_at_the_address_is_one_line(address: str) -> None:
    code = (
        "import sys\n"
        "from judge.bulk.ray_cluster import cluster\n"
        "from annotate.errors import ServiceError\n"
        "try:\n"
        "    with cluster(sys.argv[1]): pass\n"
        "except ServiceError as error: print(error)\n"
    )
    words = [sys.executable, "-c", code, address]
    found = subprocess.run(words, capture_output=True, text=True, timeout=60)
    assert found.stdout.startswith(f"Ray: no cluster at {address} ([Errno"), found.stderr
    assert found.stdout.count("\n") == 1


def test_an_ordinary_run_does_not_import_ray() -> None:
    code = (
        "import sys, judge.cli, judge.commands.judge_command, judge.engine.runner;"
        "print('ray' in sys.modules)"
    )
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout == "False\n"


@pytest.mark.parametrize(
    ("requests", "concurrency", "actors", "expected"),
    [
        (1, 8, 4, Spread(1, 1, 2)),
        (6, 8, 4, Spread(4, 4, 2)),
        (100, 8, 2, Spread(2, 13, 2)),
        (10_000, 128, 1, Spread(1, 313, 8)),
        (10_000, 1024, 4, Spread(4, 157, 8)),
        (10_000, 3, 3, Spread(3, 1250, 2)),
    ],
)
def test_every_actor_holds_what_it_needs_and_not_more(
    requests: int, concurrency: int, actors: int, expected: Spread
) -> None:
    """(actors, blocks, blocks at once): no actor is idle, and little is lost at a kill."""
    assert Spread.of(requests, concurrency, actors) == expected
