"""Nothing is paid twice: one process per run, the first usable reply stands, batches are known."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from annotate.errors import ServiceError, UsageError
from annotate.store import Store
from judge.bulk.batch_export import export_batch
from judge.bulk.batch_ingest import ingest_batch
from judge.database.store import VerdictStore
from judge.database.table import tidy
from judge.engine.answer_runner import AnswerSettings, answer
from judge.engine.prices import Price
from judge.engine.runner import run
from tests.judge.fake_endpoint import (
    Body,
    FakeEndpoint,
    Scripted,
    completion,
    per_body,
    say,
)
from tests.judge.study import make_study, settings


@pytest.fixture
def study(tmp_path: Path) -> Iterator[Store]:
    store = make_study(tmp_path, 6)
    yield store
    store.close()


@pytest.mark.parametrize("what", ["judge", "answer"])
def test_two_starts_of_one_run_at_once_are_refused(study: Store, what: str) -> None:
    """Each would ask, and pay for, what the other is asking."""
    waiting, release = threading.Event(), threading.Event()

    def slow(_body: Body, _number: int) -> Scripted:
        waiting.set()
        release.wait(20)
        return completion("[[C]]")

    with FakeEndpoint(slow) as endpoint:

        def start() -> object:
            if what == "judge":
                return run(study, settings(endpoint.base_url))
            named = AnswerSettings(endpoint.base_url, "cedar", api_key_env="EVENHAND_TEST_KEY")
            return answer(study, named)

        first = threading.Thread(target=start)
        first.start()
        assert waiting.wait(20)
        with pytest.raises(UsageError, match=r"process \d+ is asking its requests already"):
            start()
        release.set()
        first.join()
        once = endpoint.total
        start()
        assert endpoint.total == once, "free again, and nothing left to ask"
    assert all(count == 1 for count in endpoint.hits.values())


def answers(path: Path, batch: Path, reply: Scripted) -> Path:
    """A batch service's answers to every request of a file, all the same."""
    lines = [json.loads(line) for line in batch.read_text().splitlines()]
    body = json.loads(reply.body)
    made = [
        {"custom_id": r["custom_id"], "response": {"status_code": 200, "body": body}} for r in lines
    ]
    path.write_text("\n".join(map(json.dumps, made)) + "\n")
    return path


@pytest.mark.parametrize(
    "late", [completion("[[D]]"), completion("Well", finish="length"), completion("dunno")]
)
def test_a_usable_reply_is_never_replaced(study: Store, tmp_path: Path, late: Scripted) -> None:
    with FakeEndpoint(say("[[C]]")) as endpoint:
        chosen = settings(endpoint.base_url, limit=2)
        ((batch, _count),) = export_batch(study, chosen, tmp_path / "b").files
        run(study, settings(endpoint.base_url, limit=2, again=True))
    ingest_batch(study, [answers(tmp_path / "out.jsonl", batch, late)])
    assert tidy(study)["value"].tolist() == ["tie", "tie"]
    assert study.conn.execute("SELECT count(*) FROM judge_attempt").fetchone() == (8,), "all logged"


def test_what_stands_in_a_batch_file_is_left_out_of_a_live_run(
    study: Store, tmp_path: Path
) -> None:
    with FakeEndpoint(say("[[C]]")) as endpoint:
        export_batch(study, settings(endpoint.base_url, limit=2), tmp_path / "b")
        summary = run(study, settings(endpoint.base_url, limit=3))
        assert summary.calls == 2, "only the third pair"
        assert "4 requests stand in batch files that were not read back yet" in summary.warnings[0]
        despite = run(study, settings(endpoint.base_url, limit=3, again=True))
        assert (despite.calls, despite.warnings) == (4, ())


def test_a_capped_run_without_a_single_reply_fails(study: Store) -> None:
    """proving-ground #19: every call failed, zeros, exit 0."""
    broken = Scripted(body=b"<html>")
    with FakeEndpoint(per_body(broken)) as endpoint:
        capped = settings(
            endpoint.base_url, cap_tokens=3_000, attempts=1, concurrency=1, price=Price(1, 1)
        )
        with pytest.raises(ServiceError, match="calls failed"):
            run(study, capped)
    assert VerdictStore(study).runs()[0].state in ("stopped", "failed")
