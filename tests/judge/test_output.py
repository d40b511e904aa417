"""Verdicts as JSON under a schema: probed once, one mode per run, validated, kept raw."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from annotate.errors import ServiceError, UsageError
from annotate.records import Choice, Status
from annotate.store import Store
from judge.ask.parse import parse
from judge.database.store import VerdictStore
from judge.engine.forecast import forecast
from judge.engine.prices import Price
from judge.engine.runner import run
from tests.judge.fake_endpoint import Body, FakeEndpoint, Scripted, completion, error, say
from tests.judge.study import make_study, settings

ALL = ("A", "B", "C", "D")


@pytest.fixture
def study(tmp_path: Path) -> Iterator[Store]:
    store = make_study(tmp_path, 2)
    yield store
    store.close()


def capable(body: Body, _number: int) -> Scripted:
    """JSON where asked for, tags where not."""
    return completion('{"verdict": "A"}' if "response_format" in body else "[[B]]")


def incapable(body: Body, _number: int) -> Scripted:
    """What a local server without schemas answers."""
    if "response_format" in body:
        return error(400, None, "response_format type json_schema is not supported")
    return completion("[[B]]")


def test_a_capable_endpoint_is_probed_once_and_asked_for_json(study: Store) -> None:
    with FakeEndpoint(capable) as endpoint:
        summary = run(study, settings(endpoint.base_url, output="auto", explain=True))
        assert endpoint.total == 1 + 4
        schema = endpoint.requests[-1]["response_format"]["json_schema"]["schema"]
        assert list(schema["properties"]) == ["explanation", "verdict"]
        assert "JSON object" in json.dumps(endpoint.requests[-1]["messages"])
        again = run(study, settings(endpoint.base_url, output="auto", explain=True))
        assert endpoint.total == 5, "what was found out is remembered"
    assert (summary.statuses, again.calls) == ({"ok": 4}, 0)
    choices = study.conn.execute("SELECT DISTINCT choice FROM verdict").fetchall()
    assert choices == [("left",)]
    manifest = VerdictStore(study).runs()[0].manifest
    assert manifest["output_mode"] == "json schema with explanation"
    assert manifest["output_probe"] == {"found": "json", "problem": ""}


def test_local_servers_without_schemas_get_tagged_text(study: Store) -> None:
    """Langfuse #17394: JSON schema unsupported by local servers."""
    with FakeEndpoint(incapable) as endpoint:
        summary = run(study, settings(endpoint.base_url, output="auto"))
        assert endpoint.total == 1 + 4
        assert forecast(study, settings(endpoint.base_url, output="auto")).calls == 0
    assert summary.statuses == {"ok": 4}
    run_ = VerdictStore(study).runs()[0]
    assert run_.manifest["output_mode"] == "tag"
    assert run_.manifest["output_probe"]["problem"] == "response_format is rejected"


@pytest.mark.parametrize("text", ["[[A]]", "Sure! Here you are", '{"verdict": "Z"}', ""])
def test_an_endpoint_that_ignores_the_schema_counts_as_incapable(study: Store, text: str) -> None:
    with FakeEndpoint(say(text)) as endpoint:
        with pytest.raises(ServiceError, match="does not keep to a JSON schema"):
            run(study, settings(endpoint.base_url, output="json"))
        assert endpoint.total == 1


def test_a_probe_that_gets_no_answer_stops_the_run(study: Store) -> None:
    with FakeEndpoint(lambda _body, _number: error(401)) as endpoint:
        with pytest.raises(ServiceError, match="first call failed with HTTP 401"):
            run(study, settings(endpoint.base_url, output="auto"))
        assert endpoint.total == 1


@pytest.mark.parametrize("output", ["auto", "json"])
def test_the_probe_keeps_to_the_caps(study: Store, output: str) -> None:
    price = Price(input=1000.0, output=1000.0)
    with FakeEndpoint(capable) as endpoint:
        for cap in ({"cap_tokens": 60}, {"cap_usd": 0.06, "price": price}):
            with pytest.raises(UsageError, match=r"may use \d+ tokens.*use --output tag"):
                run(study, settings(endpoint.base_url, output=output, **cap))
        assert endpoint.total == 0
        run(study, settings(endpoint.base_url, output=output, cap_tokens=400))
        assert endpoint.total > 0


def test_retries_of_the_probe_count_where_they_may_be_billed(study: Store) -> None:
    with FakeEndpoint(lambda _body, _number: Scripted(body=b"<html>")) as endpoint:
        with pytest.raises(UsageError, match="than the cap allows"):
            run(study, settings(endpoint.base_url, output="auto", cap_tokens=400))
        assert 1 <= endpoint.total <= 3
    with FakeEndpoint(lambda _body, _number: error(503)) as endpoint:
        with pytest.raises(ServiceError, match="first call failed with HTTP 503"):
            run(study, settings(endpoint.base_url, output="auto", cap_tokens=400))
        assert endpoint.total == 4


@pytest.mark.parametrize(("status", "found"), [(402, "add credit"), (405, "check the URL")])
def test_a_refused_probe_says_what_to_do(study: Store, status: int, found: str) -> None:
    with FakeEndpoint(lambda _body, _number: error(status)) as endpoint:
        with pytest.raises(ServiceError, match=f"HTTP {status} .*{found}"):
            run(study, settings(endpoint.base_url, output="auto"))
        assert endpoint.total == 1


def test_the_mode_tells_judges_apart(study: Store) -> None:
    with FakeEndpoint(capable) as endpoint:
        run(study, settings(endpoint.base_url))
        run(study, settings(endpoint.base_url, output="json"))
    prints = {run_.fingerprint for run_ in VerdictStore(study).runs()}
    assert len(prints) == 2


def test_an_invalid_reply_in_mid_run_is_no_verdict_and_is_kept_raw(study: Store) -> None:
    def drifts(body: Body, _number: int) -> Scripted:
        if endpoint.total == 1:
            return completion('{"verdict": "A"}')
        return completion("[[A]] or so")

    with FakeEndpoint(drifts) as endpoint:
        summary = run(study, settings(endpoint.base_url, output="json"))
    assert summary.statuses == {"unparseable": 4}
    raw = study.conn.execute("SELECT raw FROM judge_attempt").fetchone()[0]
    assert "[[A]] or so" in raw
    assert VerdictStore(study).reparse() == 0, "read again in the same mode"


@pytest.mark.parametrize(
    ("text", "status", "choice"),
    [
        ('{"verdict": "A"}', Status.OK, Choice.LEFT),
        (' {"explanation": "B is [[B]]", "verdict": "D"}\n', Status.OK, Choice.BOTH_BAD),
        ('{"verdict": "E"}', Status.UNPARSEABLE, None),
        ('{"verdict": 1}', Status.UNPARSEABLE, None),
        ('{"verdict": ["A"]}', Status.UNPARSEABLE, None),
        ('{"verdict": "A", "verdict": "B"}', Status.AMBIGUOUS, None),
        ('{"x": {"verdict": "A"}}', Status.UNPARSEABLE, None),
        ('{"verdict": "A"} {"verdict": "B"}', Status.UNPARSEABLE, None),
        ('["A"]', Status.UNPARSEABLE, None),
        ("[[A]]", Status.UNPARSEABLE, None),
        ("[" * 100_000, Status.UNPARSEABLE, None),
        ("", Status.UNPARSEABLE, None),
    ],
)
def test_what_is_read_in_json(text: str, status: Status, choice: Choice | None) -> None:
    parsed = parse(text, ALL, as_json=True)
    assert (parsed.status, parsed.choice) == (status, choice)


@given(st.text() | st.dictionaries(st.sampled_from(["verdict", "x"]), st.text()).map(json.dumps))
def test_the_parser_never_raises_nor_returns_what_was_not_offered(text: str) -> None:
    parsed = parse(text, ("A", "B"), as_json=True)
    assert parsed.choice in (None, Choice.LEFT, Choice.RIGHT)


def test_an_unknown_output_is_refused() -> None:
    with pytest.raises(UsageError, match="judge setting output"):
        settings("http://127.0.0.1:1/v1", output="xml")
