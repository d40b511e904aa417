"""Batch files out and in: nothing paid twice, nothing lost, both dialects."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from annotate.errors import DataError, UsageError
from annotate.store import Store
from judge.bulk.batch_export import export_batch
from judge.bulk.batch_ingest import NOT_RUN, ingest_batch
from judge.database.store import VerdictStore
from judge.database.table import tidy
from judge.engine.preflight import PreflightError
from judge.engine.runner import run
from tests.judge.fake_endpoint import FakeEndpoint, say
from tests.judge.study import make_study, settings

URL = "http://batch.invalid/v1"
Line = dict[str, Any]


@pytest.fixture
def study(tmp_path: Path) -> Iterator[Store]:
    store = make_study(tmp_path, 4)
    yield store
    store.close()


def lines_of(path: Path) -> list[Line]:
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()]


def exported(store: Store, folder: Path, **changes: Any) -> list[Line]:
    found = export_batch(store, settings(URL, **changes), folder / "batch")
    return [line for path, _count in found.files for line in lines_of(path)]


def body(text: str, **fields: Any) -> Line:
    return {
        "id": "chatcmpl-1",
        "object": "chat.completion",
        "created": 1_751_000_000,
        "model": "served-1",
        "choices": [
            {"index": 0, "message": {"role": "assistant", "content": text}, "finish_reason": "stop"}
        ],
        "usage": {"prompt_tokens": 20, "completion_tokens": 4, "total_tokens": 24},
        **fields,
    }


def ok(request: Line, text: str = "[[C]]", **fields: Any) -> Line:
    response = {"status_code": 200, "request_id": "r", "body": body(text, **fields)}
    answer = {"custom_id": request["custom_id"], "response": response}
    return {"id": "batch_req_1", **answer, "error": None}


def write(path: Path, lines: list[Line]) -> Path:
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), "utf-8")
    return path


def test_a_whole_round(study: Store, tmp_path: Path) -> None:
    requests = exported(study, tmp_path)
    assert len(requests) == 8
    assert {(r["method"], r["url"]) for r in requests} == {("POST", "/v1/chat/completions")}
    assert requests[0]["body"]["model"] == "fake-model"
    answers = write(tmp_path / "out.jsonl", [ok(r) for r in reversed(requests)])
    found = ingest_batch(study, [answers])
    assert (found.lines, found.replies, found.failures, found.problems) == (8, 8, 0, [])
    assert tidy(study)["value"].tolist() == ["tie"] * 4
    stored = VerdictStore(study).runs()[0]
    assert (stored.state, stored.manifest["served_models"]) == ("done", ["served-1"])
    with FakeEndpoint(say("[[A]]")) as endpoint:
        assert run(study, settings(endpoint.base_url, endpoint=URL)).calls == 0


def test_the_bodies_are_those_of_a_live_run(study: Store, tmp_path: Path) -> None:
    requests = exported(study, tmp_path, explain=True, replicates=2)
    with FakeEndpoint(say("[[A]]")) as endpoint:
        run(study, settings(endpoint.base_url, explain=True, replicates=2))
        asked = [json.loads(raw) for raw in endpoint.hits]
    key = json.dumps
    assert sorted(map(key, asked)) == sorted(key(r["body"]) for r in requests)


def test_reading_twice_changes_nothing(study: Store, tmp_path: Path) -> None:
    answers = write(tmp_path / "out.jsonl", [ok(r) for r in exported(study, tmp_path)])
    ingest_batch(study, [answers])
    again = ingest_batch(study, [answers])
    assert (again.replies, again.known) == (0, 8)
    assert study.conn.execute("SELECT count(*) FROM judge_attempt").fetchone() == (8,)


def failed(request: Line, dialect: str) -> Line:
    """The same rate limit in the words of each service."""
    error = {"message": "slow down", "type": "rate_limit", "code": "rate_limit_exceeded"}
    hosted = {"status_code": 429, "request_id": "r", "body": {"error": error}}
    vllm = {"status_code": 429, "request_id": "r", "body": None}
    return {
        "custom_id": request["custom_id"],
        "response": {"hosted": hosted, "vllm": vllm, "expired": None}[dialect],
        "error": {
            "hosted": None,
            "vllm": {"object": "error", **error},
            "expired": {"code": "batch_expired", "message": "too late"},
        }[dialect],
    }


@pytest.mark.parametrize("dialect", ["hosted", "vllm", "expired"])
def test_only_what_has_no_answer_is_written_again(
    study: Store, tmp_path: Path, dialect: str
) -> None:
    requests = exported(study, tmp_path)
    output = write(tmp_path / "out.jsonl", [ok(r) for r in requests[:5]])
    errors = write(tmp_path / "err.jsonl", [failed(r, dialect) for r in requests[5:7]])
    found = ingest_batch(study, [output, errors])
    assert (found.replies, found.failures) == (5, 2)
    counts = VerdictStore(study).counts(VerdictStore(study).runs()[0].id)
    assert counts == {"ok": 5, "api_error": 2, "pending": 1}
    missing = {r["custom_id"] for r in requests[5:7]}
    again = exported(study, tmp_path)
    assert {r["custom_id"] for r in again} == missing, "one is still out with the first file"
    classes = study.conn.execute(
        "SELECT DISTINCT error_class FROM judge_attempt WHERE status = 'api_error'"
    ).fetchall()
    assert classes == [("batch_expired" if dialect == "expired" else "BatchError",)]


def test_what_is_out_is_not_written_twice_unless_asked(study: Store, tmp_path: Path) -> None:
    assert len(exported(study, tmp_path)) == 8
    second = export_batch(study, settings(URL), tmp_path / "b")
    assert (second.files, second.outstanding, second.planned) == ((), 8, 8)
    third = export_batch(study, settings(URL), tmp_path / "b", again=True)
    assert [count for _path, count in third.files] == [8]


def test_files_keep_to_the_limits(study: Store, tmp_path: Path) -> None:
    by_count = export_batch(study, settings(URL), tmp_path / "a", file_requests=3)
    assert [count for _path, count in by_count.files] == [3, 3, 2]
    by_size = export_batch(study, settings(URL), tmp_path / "b", again=True, file_bytes=4_000)
    assert sum(count for _path, count in by_size.files) == 8
    assert len(by_size.files) > 1
    assert all(path.stat().st_size <= 4_000 for path, _count in by_size.files)
    assert not list(tmp_path.rglob("*.part"))


@pytest.mark.parametrize(
    ("reply", "status"),
    [
        (body("no tag"), "unparseable"),
        (body("", choices=[]), "filtered"),
        (
            body("", choices=[{"message": {"content": "x"}, "finish_reason": "content_filter"}]),
            "filtered",
        ),
        ({"error": {"code": "content_filter"}}, "filtered"),
        ("not an object", "api_error"),
    ],
)
def test_failures_are_told_apart_as_in_a_live_run(
    study: Store, tmp_path: Path, reply: Any, status: str
) -> None:
    requests = exported(study, tmp_path, limit=1)
    code = 400 if isinstance(reply, dict) and "error" in reply else 200
    answers = [
        {"custom_id": r["custom_id"], "response": {"status_code": code, "body": reply}}
        for r in requests
    ]
    ingest_batch(study, [write(tmp_path / "out.jsonl", answers)])
    assert VerdictStore(study).counts(VerdictStore(study).runs()[0].id) == {status: 2}


def test_a_cut_reply_is_written_again_with_a_doubled_budget(study: Store, tmp_path: Path) -> None:
    requests = exported(study, tmp_path, limit=1)
    cut = [{"message": {"content": "Well"}, "finish_reason": "length"}]
    ingest_batch(study, [write(tmp_path / "1.jsonl", [ok(r, choices=cut) for r in requests])])
    second = exported(study, tmp_path, limit=1)
    assert [r["body"]["max_tokens"] for r in second] == [64, 64]
    other = [{"message": {"content": "Still"}, "finish_reason": "length"}]
    ingest_batch(study, [write(tmp_path / "2.jsonl", [ok(r, choices=other) for r in second])])
    assert exported(study, tmp_path, limit=1) == [], "asked twice, no third time"


def test_a_rejected_parameter_is_left_out_of_the_next_file(study: Store, tmp_path: Path) -> None:
    requests = exported(study, tmp_path, limit=1)
    error = {"message": "Unsupported parameter: 'seed'", "param": "seed", "code": "unsupported"}
    refused = [
        {
            "custom_id": r["custom_id"],
            "response": {"status_code": 400, "body": {"error": error}},
        }
        for r in requests
    ]
    found = ingest_batch(study, [write(tmp_path / "err.jsonl", refused)])
    assert found.rejected == {"seed": "dropped"}
    second = exported(study, tmp_path, limit=1)
    assert len(second) == 2
    assert all("seed" not in r["body"] for r in second)
    assert VerdictStore(study).runs()[0].manifest["rejected_parameters"] == {"seed": "dropped"}


def test_lines_that_are_no_answers_are_listed(study: Store, tmp_path: Path) -> None:
    (request, *_rest) = exported(study, tmp_path)
    path = tmp_path / "out.jsonl"
    good = json.dumps(ok(request))
    stranger = json.dumps(ok({"custom_id": "9001|acme|t1"}))
    path.write_text(f"{{\n\n[]\n{stranger}\n{good}\n" + '{"custom_id": 3}\n', "utf-8")
    found = ingest_batch(study, [path])
    assert (found.lines, found.replies) == (5, 1)
    assert [p.where.line for p in found.problems] == [1, 3, 6, 4]
    assert "no request of this study" in str(found.problems[-1])


def test_a_request_without_any_word_stays_open(study: Store, tmp_path: Path) -> None:
    requests = exported(study, tmp_path, limit=1)
    silent = [{"custom_id": r["custom_id"], "response": None, "error": None} for r in requests]
    ingest_batch(study, [write(tmp_path / "out.jsonl", silent)])
    found = study.conn.execute("SELECT DISTINCT error_class FROM judge_attempt").fetchall()
    assert found == [(NOT_RUN,)]
    assert len(exported(study, tmp_path, limit=1)) == 2


def test_what_cannot_be_exported(study: Store, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="--output tag or json"):
        export_batch(study, settings(URL, output="auto"), tmp_path / "b")
    with study.write() as conn:
        conn.execute("UPDATE question SET turns = '[[]]'")
    with pytest.raises(PreflightError):
        export_batch(study, settings(URL), tmp_path / "b")
    assert not (tmp_path / "b").exists()
    with pytest.raises(UsageError, match=r"gone\.jsonl: cannot be read"):
        ingest_batch(study, [tmp_path / "gone.jsonl"])


def tell(key: str, response: str) -> bytes:
    """A line as bytes: much that a service may write is nothing that Python would."""
    return f'{{"custom_id": "{key}", "response": {response}}}\n'.encode("utf-8", "surrogatepass")


def given(text: str) -> str:
    """A response with this body."""
    return f'{{"status_code": 200, "body": {text}}}'


GOOD = json.dumps(body("[[B]]"))


@pytest.mark.parametrize(
    ("response", "status"),
    [
        (f'{{"body": {GOOD}}}', "ok"),
        (f'{{"status_code": null, "body": {GOOD}}}', "ok"),
        (f'{{"status_code": "200", "body": {GOOD}}}', "ok"),
        (given(GOOD.replace("20,", "9" * 5_000 + ",", 1)), "ok"),
        (given(GOOD.replace("20,", "1e999,", 1)), "ok"),
        (given(GOOD.replace("20,", "NaN,", 1)), "ok"),
        (given(GOOD.replace("1751000000", "1e308")), "ok"),
        (given(json.dumps("\ufeff" + GOOD)), "ok"),
        ('{"status_code": 200, "body": {"choices": %s}}' % ("[" * 600 + "]" * 600), "unparseable"),
        ('{"status_code": 500, "body": {"x": NaN}}', "api_error"),
        ('{"body": {"x": NaN}}', "api_error"),
        ('{"body": {"error": {"code": "x"}, "choices": []}}', "api_error"),
        ('null, "error": {"code": ["\\ud800"], "message": {"a": "\\ud800\\u001b"}}', "api_error"),
        (f'{{"status_code": {10**30}, "body": {GOOD}}}', None),
        (f'{{"status_code": {"9" * 5_000}, "body": {GOOD}}}', None),
        (f'{{"status_code": true, "body": {GOOD}}}', None),
        (f'{{"status_code": false, "body": {GOOD}}}', None),
        (f'{{"status_code": -1, "body": {GOOD}}}', None),
        (f'{{"status_code": 1e999, "body": {GOOD}}}', None),
        (f'{{"status_code": [200], "body": {GOOD}}}', None),
        ('{"status_code": 200, "body": %s}' % ("[" * 9_999 + "]" * 9_999), None),
    ],
)
def test_a_strange_line_is_read_as_far_as_it_can_be_and_costs_no_other(
    study: Store, tmp_path: Path, response: str, status: str | None
) -> None:
    first, *others = exported(study, tmp_path)
    path = tmp_path / "out.jsonl"
    rest = "".join(json.dumps(ok(other)) + "\n" for other in others).encode()
    path.write_bytes(tell(first["custom_id"], response) + rest)
    found = ingest_batch(study, [path])
    assert found.lines == 8
    assert [problem.where.line for problem in found.problems] == ([1] if status is None else [])
    row = study.conn.execute(
        "SELECT status FROM verdict WHERE request = ?", (first["custom_id"],)
    ).fetchone()
    assert (row and row[0]) == status
    assert study.conn.execute(
        "SELECT count(*) FROM judge_attempt WHERE NOT json_valid(raw)"
        " OR error_text GLOB '*' || char(27) || '*'"
    ).fetchone() == (0,)
    assert ingest_batch(study, [path]).known == 8 - (status is None), "as are all lines later"


@pytest.mark.parametrize("key", ["\\ud800", "\\u0000", "x" * 100_000, "\ud800"])
def test_an_id_that_no_database_takes_costs_no_other_line(
    study: Store, tmp_path: Path, key: str
) -> None:
    requests = exported(study, tmp_path)
    path = tmp_path / "out.jsonl"
    rest = "".join(json.dumps(ok(request)) + "\n" for request in requests).encode()
    path.write_bytes(tell(key, '{"status_code": 200, "body": {}}') + rest)
    found = ingest_batch(study, [path])
    assert (found.replies, [p.where.line for p in found.problems]) == (8, [1])
    assert str(found.problems[0]).isprintable()


def test_the_file_of_requests_is_not_taken_for_answers(study: Store, tmp_path: Path) -> None:
    """Every request of it was recorded as not run, and counted as out no longer."""
    requests = exported(study, tmp_path)
    asked = write(tmp_path / "requests.jsonl", requests)
    with pytest.raises(DataError, match=r"none of 8 lines .*requests.jsonl:1: a request, not an"):
        ingest_batch(study, [asked])
    assert study.conn.execute("SELECT count(*) FROM judge_attempt").fetchone() == (0,)
    assert exported(study, tmp_path) == [], "all are still out"
    answers = write(tmp_path / "out.jsonl", [ok(request) for request in requests])
    found = ingest_batch(study, [asked, answers])
    assert (found.replies, len(found.problems)) == (8, 8)
    with pytest.raises(DataError, match=r"none of 1 lines .*no custom_id"):
        ingest_batch(study, [write(tmp_path / "other.jsonl", [{"question_id": 1}])])


def test_another_reply_to_what_is_judged_is_logged_and_changes_nothing(
    study: Store, tmp_path: Path
) -> None:
    first, second, *_rest = exported(study, tmp_path)
    cut = [{"message": {"content": "[[B]]"}, "finish_reason": "length"}]
    lines = [ok(first, "[[A]]"), ok(first, "[[B]]"), ok(first, choices=cut), ok(second, "no tag")]
    path = write(tmp_path / "out.jsonl", [*lines, ok(second, "[[B]]")])
    found = ingest_batch(study, [path])
    assert (found.replies, found.late, found.known) == (3, 2, 0)
    assert [(p.where.line, p.warning) for p in found.problems] == [(2, True), (3, True)]
    assert str(found.problems[0]).endswith("answered already; the first reply stands")
    choices = dict(study.conn.execute("SELECT request, choice FROM verdict"))
    assert choices == {first["custom_id"]: "left", second["custom_id"]: "right"}
    assert study.conn.execute("SELECT count(*) FROM judge_attempt").fetchone() == (5,)
    again = ingest_batch(study, [path])
    assert (again.late, again.known, again.problems) == (0, 5, [])


@pytest.mark.parametrize("content", ["", "\n\n"])
def test_an_empty_file_is_no_success(study: Store, tmp_path: Path, content: str) -> None:
    """A download that came to nothing must not look like a batch that was read."""
    path = tmp_path / "out.jsonl"
    path.write_text(content)
    with pytest.raises(DataError, match="no line"):
        ingest_batch(study, [path])


def test_a_request_is_one_line_to_every_reader(study: Store, tmp_path: Path) -> None:
    with study.write() as conn:
        conn.execute("UPDATE question SET turns = replace(turns, 'Question', 'Q\u2028\x85uestion')")
    ((path, count),) = export_batch(study, settings(URL), tmp_path / "b").files
    assert len(path.read_text("utf-8").splitlines()) == count == 8
