"""Parameters that an endpoint rejects, and replies that were cut off."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from annotate.store import Store
from judge.database.store import VerdictStore
from judge.engine.adapt import Parameters, blamed
from judge.engine.runner import run
from tests.judge.fake_endpoint import Body, FakeEndpoint, Script, Scripted, completion, error
from tests.judge.study import make_study, settings

OK = completion("[[A]]")
CUT = completion("", finish="length")
SENT = {"model": "m", "messages": [], "temperature": 0, "max_tokens": 32, "seed": 0}


@pytest.fixture
def study(tmp_path: Path) -> Iterator[Store]:
    store = make_study(tmp_path, 20)
    yield store
    store.close()


def rejection(message: str, **fields: Any) -> Scripted:
    body = {"error": {"message": message, "type": "invalid_request_error", **fields}}
    return Scripted(400, json.dumps(body).encode())


def reasoning(body: Body, _number: int) -> Scripted:
    """What OpenAI's reasoning models answer, one complaint at a time."""
    if "max_tokens" in body:
        return rejection(
            "Unsupported parameter: 'max_tokens' is not supported with this model. Use"
            " 'max_completion_tokens' instead.",
            param="max_tokens",
            code="unsupported_parameter",
        )
    if "temperature" in body:
        return rejection(
            "Unsupported value: 'temperature' does not support 0 with this model.",
            param="temperature",
            code="unsupported_value",
        )
    return OK


@pytest.fixture
def first_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """However slow the machine is, the first call comes back before others leave."""
    monkeypatch.setattr("judge.engine.session.HEAD_START", 60.0)


@pytest.mark.usefixtures("first_alone")
def test_rejected_parameters_are_adapted_once_per_run_and_logged(study: Store) -> None:
    """Deepeval #1820: reasoning models reject temperature and max_tokens."""
    with FakeEndpoint(reasoning) as endpoint:
        summary = run(study, settings(endpoint.base_url, concurrency=8))
        assert endpoint.total == 40 + 2, "two calls find it out, for all"
        accepted = endpoint.requests[-1]
        assert accepted["max_completion_tokens"] == 32
        assert not {"temperature", "max_tokens"} & set(accepted)
    assert summary.statuses == {"ok": 40}
    manifest = VerdictStore(study).runs()[0].manifest
    fates = {"max_tokens": "renamed max_completion_tokens", "temperature": "dropped"}
    assert manifest["rejected_parameters"] == fates
    assert manifest["sampling"]["temperature"] == 0.0, "what was asked for is kept"
    assert [w for w in summary.warnings if "parameter" in w] == [
        "the endpoint rejects parameter max_tokens: renamed max_completion_tokens",
        "the endpoint rejects parameter temperature: dropped",
    ]


@pytest.mark.usefixtures("first_alone")
def test_a_continued_run_remembers_what_was_rejected(study: Store) -> None:
    with FakeEndpoint(reasoning) as endpoint:
        run(study, settings(endpoint.base_url, limit=1))
        assert endpoint.total == 2 + 2
        again = run(study, settings(endpoint.base_url))
        assert endpoint.total == 40 + 2
    assert again.calls == 38
    assert len(again.warnings) == 2


def test_many_calls_in_flight_learn_it_once(study: Store) -> None:
    def slow(body: Body, number: int) -> Scripted:
        found = reasoning(body, number)
        return Scripted(found.status, found.body, found.headers, delay=0.4)

    with FakeEndpoint(slow) as endpoint:
        summary = run(study, settings(endpoint.base_url, concurrency=8))
    assert summary.statuses == {"ok": 40}
    kinds = study.conn.execute(
        "SELECT count(*) FROM event WHERE kind = 'judge_parameters'"
    ).fetchone()
    assert kinds == (2,)


def test_attempts_are_not_used_up_by_adapting(study: Store) -> None:
    with FakeEndpoint(reasoning) as endpoint:
        summary = run(study, settings(endpoint.base_url, attempts=1))
    assert summary.statuses == {"ok": 40}


def test_both_names_of_the_limit_rejected_means_none_is_sent(study: Store) -> None:
    def neither(body: Body, _number: int) -> Scripted:
        names = sorted({"max_tokens", "max_completion_tokens"} & set(body))
        return rejection(f"Unknown parameter: {names[0]}") if names else OK

    with FakeEndpoint(neither) as endpoint:
        summary = run(study, settings(endpoint.base_url))
    assert summary.statuses == {"ok": 40}


@pytest.mark.parametrize(
    ("body", "name"),
    [
        ({"error": {"message": "Unrecognized request argument supplied: seed"}}, "seed"),
        ({"detail": [{"type": "extra_forbidden", "loc": ["body", "seed"]}]}, "seed"),
        ({"error": {"message": "no", "code": "unsupported_value", "param": "seed"}}, "seed"),
        ({"error": "temperature is not supported"}, "temperature"),
        ({"error": {"message": "max_tokens is too large", "param": "max_tokens"}}, None),
        ({"error": {"message": "Unsupported", "param": "messages"}}, None),
        ({"error": {"message": "'top_p' is not supported"}}, None),
        ({"error": {"message": "x" * 500 + "not supported: seed"}}, None),
        ("seed", None),
        (["seed"], None),
        (None, None),
    ],
)
def test_which_parameter_a_refusal_blames(body: object, name: str | None) -> None:
    assert blamed(SENT, 400, json.dumps(body)) == name


@given(
    st.recursive(
        st.none() | st.text() | st.integers(),
        lambda v: (
            st.lists(v) | st.dictionaries(st.sampled_from(["error", "message", "code", "param"]), v)
        ),
    )
)
def test_any_body_of_a_refusal_is_survived(body: object) -> None:
    found = blamed(SENT, 400, json.dumps(body))
    assert found in {None, "temperature", "max_tokens", "seed"}


def test_a_renamed_limit_is_doubled_too() -> None:
    parameters = Parameters({"max_tokens": "renamed max_completion_tokens"})
    assert parameters.apply(SENT, doubled=True)["max_completion_tokens"] == 64


def starved(body: Body, _number: int) -> Scripted:
    """Reasoning eats the budget."""
    return OK if body["max_tokens"] >= 64 else CUT


def test_a_cut_reply_is_asked_again_once_with_a_doubled_budget(study: Store) -> None:
    """Litellm #39817, honcho #1174: reasoning eats the budget; an empty verdict is no 0."""
    with FakeEndpoint(starved) as endpoint:
        summary = run(study, settings(endpoint.base_url, limit=1))
        assert [body["max_tokens"] for body in endpoint.requests].count(64) == 2
        again = run(study, settings(endpoint.base_url, limit=1))
    assert (summary.statuses, summary.calls, again.calls) == ({"ok": 2}, 4, 0)
    attempts = study.conn.execute("SELECT count(*) FROM judge_attempt").fetchone()
    assert attempts == (4,), "both attempts are in the log"


@pytest.mark.parametrize("text", ["", "[[A]] because"])
def test_a_reply_cut_twice_is_truncated_and_stays_so(study: Store, text: str) -> None:
    script: Script = lambda _body, _number: completion(text, finish="length")  # noqa: E731
    with FakeEndpoint(script) as endpoint:
        summary = run(study, settings(endpoint.base_url, limit=1))
        assert endpoint.total == 4
        again = run(study, settings(endpoint.base_url, limit=1))
        retried = run(study, settings(endpoint.base_url, limit=1, retry_failed=True))
    assert summary.statuses == {"truncated": 2}
    assert summary.judgments == {"incomplete:truncated": 1}
    assert (again.calls, retried.calls) == (0, 2)


def test_a_kill_between_the_two_attempts_loses_only_the_second(study: Store) -> None:
    with FakeEndpoint(starved) as endpoint:
        run(study, settings(endpoint.base_url, limit=1))
        verdicts = VerdictStore(study)
        run_id = verdicts.runs()[0].id
        with study.write() as conn:  # as if killed after the first of the two
            conn.execute(
                "UPDATE verdict SET status = 'truncated', choice = NULL, attempt ="
                " (SELECT min(id) FROM judge_attempt a WHERE a.request = verdict.request)"
            )
            conn.execute("DROP TRIGGER judge_attempt_never_deleted")
            conn.execute("DELETE FROM judge_attempt WHERE id NOT IN (SELECT attempt FROM verdict)")
        pairs = [row[0] for row in study.conn.execute("SELECT DISTINCT pair FROM judge_item")]
        waiting = [
            item for piece in verdicts.pending(verdicts.open_keys(run_id, pairs)) for item in piece
        ]
        assert [item.doubled for item in waiting] == [True, True]
        again = run(study, settings(endpoint.base_url, limit=1))
    assert (again.calls, again.statuses) == (2, {"ok": 2})


def test_a_refused_larger_budget_leaves_the_cut_reply(study: Store) -> None:
    def full(body: Body, _number: int) -> Scripted:
        return CUT if body["max_tokens"] == 32 else error(400, "exceed_context_size_error")

    with FakeEndpoint(full) as endpoint:
        summary = run(study, settings(endpoint.base_url, limit=1))
    assert summary.statuses == {"truncated": 2}
