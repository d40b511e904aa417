"""A model's answers to the study's questions: turn by turn, resumable, never mixed up."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from annotate import library
from annotate.errors import NothingComputable, ServiceError, UsageError
from annotate.records import Message, Question, QuestionKey, user_turns
from annotate.store import Store
from judge.database.runs import RunStore
from judge.engine.answer_runner import AnswerSettings, AnswerSummary, answer
from judge.engine.prices import Price
from tests.judge.fake_endpoint import (
    Body,
    FakeEndpoint,
    Scripted,
    completion,
    error,
    per_body,
    say,
)
from tests.judge.study import make_study


@pytest.fixture
def study(tmp_path: Path) -> Iterator[Store]:
    store = make_study(tmp_path, 3, turns=2)
    yield store
    store.close()


def settings(base_url: str, **changes: Any) -> AnswerSettings:
    values = {
        "api_key_env": "EVENHAND_TEST_KEY",
        "concurrency": 2,
        "timeout_seconds": 5.0,
        "backoff_seconds": 0.01,
        **changes,
    }
    return AnswerSettings(base_url, "cedar", **values)


def echo(body: Body, _number: int) -> Scripted:
    """Says how many messages came, and repeats the last one."""
    messages = body["messages"]
    return completion(f"{len(messages)}: {messages[-1]['content']}")


def texts(store: Store, model: str = "cedar") -> dict[str, list[str | None]]:
    found = {}
    for (answer_id,) in store.conn.execute("SELECT id FROM answer").fetchall():
        (stored,) = library.answers(store, [answer_id])
        if stored.answer.model == model:
            found[stored.question.key.question_id] = [
                turn[0].content if turn else None for turn in stored.answer.turns or ()
            ]
    return found


def test_every_question_is_answered_turn_by_turn(study: Store) -> None:
    with FakeEndpoint(echo) as endpoint:
        summary = answer(study, settings(endpoint.base_url))
        again = answer(study, settings(endpoint.base_url))
    assert (summary.planned, summary.calls, summary.dialogues) == (6, 6, 3)
    assert (again.calls, again.cached, again.pairs_added) == (0, 6, 0)
    assert texts(study)["2"] == ["1: Question 2, turn 1?", "3: Question 2, turn 2?"]
    assert summary.pairs_added == 6, "with alder and with birch, on three questions"
    assert study.conn.execute("SELECT count(*) FROM pair").fetchone() == (9,)
    second = next(b for b in endpoint.requests if len(b["messages"]) == 3)
    assert [m["role"] for m in second["messages"]] == ["user", "assistant", "user"]


@pytest.mark.parametrize(
    ("category", "chosen", "temperature"),
    [("writing", None, 0.7), ("math", None, 0.0), ("stem", None, 0.1), ("poetry", None, 0.7),
     ("math", 0.3, 0.3), ("writing", 0.0, 0.0)],
)  # fmt: skip
def test_temperature_by_category(
    study: Store, category: str, chosen: float | None, temperature: float
) -> None:
    with study.write() as conn:
        conn.execute("UPDATE question SET category = ?", (category,))
    with FakeEndpoint(echo) as endpoint:
        answer(study, settings(endpoint.base_url, temperature=chosen, limit=1))
        assert {body["temperature"] for body in endpoint.requests} == {temperature}
        assert {body["max_tokens"] for body in endpoint.requests} == {1024}


def test_a_system_message_is_said_before_each_turn(study: Store) -> None:
    with FakeEndpoint(echo) as endpoint:
        answer(study, settings(endpoint.base_url, system="Be brief.", limit=1))
        assert {body["messages"][0]["content"] for body in endpoint.requests} == {"Be brief."}


def test_in_golden_context_the_given_replies_are_the_context(tmp_path: Path) -> None:
    store = Store.create(tmp_path / "evenhand.sqlite", "test")
    key = QuestionKey("mtbench101", "1")
    turns = (
        (Message("user", "u1"), Message("assistant", "g1")),
        (Message("user", "u2"),),
        (Message("assistant", "g2"), Message("user", "u3")),
    )
    with store.write() as conn:
        library.add_question(conn, Question(key, "CM", turns))
    late = False

    def slow_last(body: Body, number: int) -> Scripted:
        last = body["messages"][-1]["content"]
        return echo(body, number) if late or last != "u3" else error(400, "bad_request")

    with FakeEndpoint(slow_last) as endpoint:
        first = answer(store, settings(endpoint.base_url))
        late = True
        second = answer(store, settings(endpoint.base_url))
        said = sorted([m["content"] for m in json.loads(raw)["messages"]] for raw in endpoint.hits)
    assert (first.planned, first.dialogues, second.calls) == (2, 0, 1)
    assert said == [["u1", "g1", "u2"], ["u1", "g1", "u2", "g2", "u3"]], (
        "the model's own reply is no context, however late the last turn is asked"
    )
    assert texts(store) == {"1": [None, "3: u2", "5: u3"]}
    store.close()


def test_a_failed_turn_keeps_its_dialogue_out_until_it_is_answered(study: Store) -> None:
    def flaky(body: Body, _number: int) -> Scripted:
        bad = "Question 1, turn 2" in body["messages"][-1]["content"]
        return error(400, "bad_request") if bad else completion("fine")

    with FakeEndpoint(flaky) as endpoint:
        first = answer(study, settings(endpoint.base_url))
        assert (first.dialogues, first.incomplete) == (2, 1)
        assert first.statuses == {"api_error": 1, "ok": 5}
        assert set(texts(study)) == {"2", "3"}
        endpoint.script = say("fine")
        second = answer(study, settings(endpoint.base_url))
    assert (second.calls, second.dialogues) == (1, 3), "only the failed turn is asked again"
    assert set(texts(study)) == {"1", "2", "3"}
    versions = study.conn.execute("SELECT max(version) FROM model WHERE name = 'cedar'").fetchone()
    assert versions == (1,), "the completed set is the same model version"


@pytest.mark.parametrize(
    ("scripted", "status", "text"),
    [
        (completion("cut of", finish="length"), "truncated", "cut of"),
        (completion(None, refusal="I won't."), "ok", "I won't."),
        (completion("", finish="content_filter"), "filtered", None),
        (completion("  "), "unparseable", None),
        (Scripted(body=b'{"choices": []}'), "filtered", None),
    ],
)
def test_what_counts_as_an_answer(
    study: Store, scripted: Scripted, status: str, text: str | None
) -> None:
    with FakeEndpoint(per_body(scripted)) as endpoint:
        summary = answer(study, settings(endpoint.base_url, limit=1))
    assert set(summary.statuses) == {status}
    stored = study.conn.execute("SELECT text FROM generation").fetchall()
    assert set(stored) == {(text,)}
    assert bool(texts(study)) == (text is not None)


def test_a_budget_that_went_into_reasoning_is_doubled_once(study: Store) -> None:
    def starved(body: Body, _number: int) -> Scripted:
        return completion("", finish="length") if body["max_tokens"] == 64 else completion("ok")

    with FakeEndpoint(starved) as endpoint:
        summary = answer(study, settings(endpoint.base_url, limit=1, max_tokens=64))
        assert [b["max_tokens"] for b in endpoint.requests] == [64, 128, 64, 128]
        endpoint.script = say("", finish="length")
        never = answer(study, settings(endpoint.base_url, limit=2, max_tokens=64))
        silent = answer(study, settings(endpoint.base_url, limit=2, max_tokens=64))
    assert summary.statuses == {"ok": 2}
    assert (never.calls, silent.calls) == (2, 0)


def test_another_models_name_is_not_taken(study: Store) -> None:
    with FakeEndpoint(echo) as endpoint:
        with pytest.raises(UsageError, match="model alder: the study has an answer of it"):
            answer(study, settings(endpoint.base_url, label="alder"))
        answer(study, settings(endpoint.base_url, limit=1))
        with pytest.raises(UsageError, match="give these another name with --as"):
            answer(study, settings(endpoint.base_url, temperature=0.5))
        assert len(RunStore(study).runs()) == 1, "a refused start leaves no run"
        other = answer(study, settings(endpoint.base_url, temperature=0.5, label="cedar-cold"))
        assert other.dialogues == 3
        assert answer(study, settings(endpoint.base_url)).dialogues == 3, "a longer set goes on"


def test_a_cap_stops_and_the_run_goes_on_later(study: Store) -> None:
    chosen = {"price": Price(0.0, 1.0), "max_tokens": 10}
    with FakeEndpoint(echo) as endpoint:
        first = answer(study, settings(endpoint.base_url, cap_usd=3e-5, concurrency=1, **chosen))
        assert first.state == "stopped"
        assert 0 < first.calls < 6
        second = answer(study, settings(endpoint.base_url, **chosen))
    assert first.calls + second.calls == 6
    assert second.dialogues == 3


def test_a_dead_endpoint_keeps_what_was_answered(study: Store) -> None:
    def dying(body: Body, _number: int) -> Scripted:
        text = body["messages"][-1]["content"]
        return completion("fine") if "turn 1" in text else error(401, "invalid_api_key")

    with FakeEndpoint(dying) as endpoint:
        with pytest.raises(ServiceError, match="401"):
            answer(study, settings(endpoint.base_url, concurrency=1))
        endpoint.script = say("late")
        summary: AnswerSummary = answer(study, settings(endpoint.base_url))
    assert summary.dialogues == 3
    answered = [json.loads(raw)["messages"][-1]["content"] for raw in endpoint.hits]
    first_turns = [t for t in answered if "turn 1" in t]
    assert len(first_turns) == len(set(first_turns)), "no first turn was asked twice"


def test_questions_that_cannot_be_asked(tmp_path: Path) -> None:
    store = Store.create(tmp_path / "evenhand.sqlite", "test")
    with pytest.raises(NothingComputable, match="no question with text"):
        answer(store, settings("http://127.0.0.1:9/v1"))
    tool = (Message("tool", "rain"), Message("user", "So?"))
    with store.write() as conn:
        library.add_question(conn, Question(QuestionKey("b", "1"), "", (tool,)))
        library.add_question(conn, Question(QuestionKey("c", "1"), "", user_turns(["Hi?"])))
    with pytest.raises(UsageError, match="b question 1: turn 1 has a message of role 'tool'"):
        answer(store, settings("http://127.0.0.1:9/v1"))
    with FakeEndpoint(echo) as endpoint:
        assert answer(store, settings(endpoint.base_url, benchmark="c")).dialogues == 1
    store.close()
