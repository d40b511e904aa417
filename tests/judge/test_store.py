"""The judge's tables: derived verdicts, append-only log, tidy rows."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from annotate.errors import StoreNewer
from annotate.records import (
    Status,
    Subject,
)
from annotate.store import Store
from judge.ask.prompt import load
from judge.database.runs import Run
from judge.database.store import VerdictStore
from judge.engine import plan
from judge.engine.plan import PlanSpec, Request
from judge.engine.replies import Next, Reply
from judge.engine.units import chunks, unit_ids
from tests.judge.study import make_study

AT = "2026-01-01T00:00:00.000Z"


def said(text: str) -> Reply:
    raw = json.dumps({"choices": [{"message": {"content": text}}]})
    return Reply(Next.KEEP, Status.OK, AT, AT, 7, http_status=200, raw=raw)


NO_REPLY = Reply(Next.RETRY, Status.TIMEOUT, AT, AT, 7, error_class="APITimeoutError")


@pytest.fixture
def study(tmp_path: Path) -> Iterator[Store]:
    store = make_study(tmp_path)
    yield store
    store.close()


def planned(store: Store, fingerprint: str = "f" * 64) -> tuple[VerdictStore, Run, list[Request]]:
    """A run whose plan is registered: one pair, one turn, two orders."""
    verdicts = VerdictStore(store)
    run = verdicts.start_run(
        model="m", endpoint="http://e", fingerprint=fingerprint, manifest={}, name=""
    )
    spec = PlanSpec("http://e", "m", (load("overall"),))
    pieces = chunks(store, Subject.PAIR, unit_ids(store, Subject.PAIR))
    requests = [r for piece in plan.plan(pieces, spec) for r in piece]
    verdicts.register(run.id, requests)
    return verdicts, run, requests


def pair_verdicts(store: Store) -> list[tuple[str, str | None, str]]:
    return store.conn.execute("SELECT status, outcome, reason FROM pair_verdict").fetchall()


def test_a_pair_verdict_needs_both_orders(study: Store) -> None:
    verdicts, run, (ab, ba) = planned(study)
    verdicts.record_attempt(run.id, ab.key, said("[[A]]"), final=True)
    assert pair_verdicts(study) == []
    verdicts.record_attempt(run.id, ba.key, said("[[B]]"), final=True)
    assert pair_verdicts(study) == [("ok", "a", "")]


def test_an_attempt_to_be_repeated_leaves_the_request_unanswered(study: Store) -> None:
    verdicts, run, (ab, _ba) = planned(study)
    verdicts.record_attempt(run.id, ab.key, NO_REPLY, final=False)
    assert verdicts.counts(run.id) == {"pending": 2}
    verdicts.record_attempt(run.id, ab.key, NO_REPLY, final=True)
    assert verdicts.counts(run.id) == {"pending": 1, "timeout": 1}


@pytest.mark.parametrize("later", ["[[B]]", "no tag"])
def test_a_usable_verdict_stands_whatever_comes_later(study: Store, later: str) -> None:
    verdicts, run, (ab, ba) = planned(study)
    for request in (ab, ba):
        verdicts.record_attempt(run.id, request.key, said("[[C]]"), final=True)
    verdicts.record_attempt(run.id, ab.key, said(later), final=True)
    assert pair_verdicts(study) == [("ok", "tie", "")]
    assert study.conn.execute("SELECT count(*) FROM judge_attempt").fetchone() == (3,)


def test_a_later_run_takes_over_verdicts_when_it_registers(study: Store) -> None:
    verdicts, run, (ab, ba) = planned(study)
    for request in (ab, ba):
        verdicts.record_attempt(run.id, request.key, said("[[C]]"), final=True)
    _, later, _ = planned(study, "e" * 64)
    assert later.id != run.id
    assert verdicts.counts(later.id) == {"ok": 2}
    assert verdicts.judgment_counts(later.id) == {"tie": 1}
    assert verdicts.open_keys(later.id, [ab.unit]) == []


def test_verdicts_are_derived_again_from_raw_replies(study: Store) -> None:
    verdicts, run, (ab, ba) = planned(study)
    verdicts.record_attempt(run.id, ab.key, said("[[A]]"), final=True)
    verdicts.record_attempt(run.id, ba.key, NO_REPLY, final=True)
    assert verdicts.reparse() == 0
    with study.write() as conn:
        conn.execute("UPDATE verdict SET choice = 'right', parser = 'old' WHERE status = 'ok'")
        conn.execute("DELETE FROM pair_verdict")
    assert verdicts.reparse() == 1
    stored = study.conn.execute("SELECT choice FROM verdict WHERE status = 'ok'").fetchall()
    assert stored == [("left",)]
    assert pair_verdicts(study) == [("incomplete", None, "timeout")]


def test_a_reply_is_saved_as_fast_in_a_large_plan(tmp_path: Path) -> None:
    """A plan of 100,000 requests once was read whole for every request and every reply."""
    steps = {}
    for size in (10, 300):
        (tmp_path / str(size)).mkdir()
        store = make_study(tmp_path / str(size), size)
        verdicts, run, requests = planned(store)
        counted = [0]

        def count(counted: list[int] = counted) -> int:
            counted[0] += 1
            return 0

        store.conn.set_progress_handler(count, 10)
        verdicts.register(run.id, [replace(requests[0], key="0" * 64)])
        for request in requests[:6]:
            verdicts.record_attempt(run.id, request.key, said("[[A]]"), final=True)
        store.conn.set_progress_handler(None, 0)
        steps[size] = counted[0]
        store.close()
    assert steps[300] < 1.5 * steps[10]


@pytest.mark.parametrize(
    "statement", ["UPDATE judge_attempt SET raw = '1'", "DELETE FROM judge_attempt"]
)
def test_the_log_of_calls_is_append_only(study: Store, statement: str) -> None:
    verdicts, run, (ab, _ba) = planned(study)
    verdicts.record_attempt(run.id, ab.key, said("[[A]]"), final=True)
    with pytest.raises(sqlite3.IntegrityError, match="append-only"):
        study.conn.execute(statement)


@pytest.mark.parametrize(
    "values",
    [
        "'ok', NULL, ''",
        "'incomplete', 'tie', 'timeout'",
        "'incomplete', NULL, ''",
        "'ok', 'left', ''",
    ],
)
def test_the_schema_refuses_a_failure_with_a_value(study: Store, values: str) -> None:
    _verdicts, run, (ab, _ba) = planned(study)
    with pytest.raises(sqlite3.IntegrityError, match="CHECK"):
        study.conn.execute(
            f"INSERT INTO pair_verdict VALUES (?, ?, 1, 'overall', 1, {values}, 'both')",
            (run.id, ab.unit),
        )


def test_a_newer_judge_schema_is_refused(study: Store) -> None:
    VerdictStore(study)
    study.conn.execute(
        "INSERT INTO _sqlite_migrations (migration_set, name, applied_at)"
        " VALUES ('evenhand.judge', 'm999_future', ?)",
        (AT,),
    )
    with pytest.raises(StoreNewer, match="m999_future"):
        VerdictStore(study)


def test_tidy_rows(study: Store) -> None:
    verdicts, run, (ab, ba) = planned(study)
    verdicts.record_attempt(run.id, ab.key, said("[[A]]"), final=True)
    verdicts.record_attempt(run.id, ba.key, said("[[A]]"), final=True)
    assert list(verdicts.judgments()) == [
        {
            "unit_id": ab.unit,
            "subject": "pair",
            "question_id": "1",
            "category": "writing",
            "model_a": "alder",
            "model_b": "birch",
            "turn": 1,
            "dimension": "overall",
            "source_kind": "judge",
            "source_id": "m",
            "rater_group": "",
            "layer": "vote",
            "occurrence": 1,
            "purpose": "estimation",
            "inclusion_probability": None,
            "value": "tie",
            "strength": None,
            "status": "ok",
            "order": "unknown",
            "orders": "both",
            "protocol": "",
            "reason": "inconsistent",
            "benchmark": "bench",
        }
    ]


def test_transcript_shows_what_was_asked_and_answered(study: Store) -> None:
    verdicts, run, (ab, _ba) = planned(study)
    verdicts.record_attempt(run.id, ab.key, NO_REPLY, final=False)
    verdicts.record_attempt(run.id, ab.key, said("[[B]]"), final=True)
    failed, answered = verdicts.transcript(ab.unit)
    assert (failed["call"], failed["raw"], failed["status"]) == ("timeout", None, None)
    assert (answered["status"], answered["choice"], answered["order"]) == ("ok", "right", "ab")
    assert answered["raw"]["choices"][0]["message"]["content"] == "[[B]]"
    assert "alder on 1.1" in answered["messages"][1]["content"]
