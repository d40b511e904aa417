"""An answer is read from status, headers and body alone, as a batch file has them."""

from __future__ import annotations

import json
import sqlite3

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from annotate.records import Status
from judge.ask.parse import parse_reply
from judge.engine.bodies import DEPTH, Secrets, loads
from judge.engine.replies import TEXT_LIMIT, Next, Timing, advice, read

TIMING = Timing("2026-01-01T00:00:00Z", "2026-01-01T00:00:02Z", 2000)
OK = '{"model": "m-1", "choices": [], "usage": {"prompt_tokens": 3, "completion_tokens": 0}}'


def test_an_answer_needs_no_headers() -> None:
    reply = read(200, {}, OK, TIMING)
    assert (reply.next, reply.status, reply.served_model) == (Next.KEEP, Status.OK, "m-1")
    assert (reply.prompt_tokens, reply.completion_tokens) == (3, 0)
    assert (reply.started_at, reply.finished_at, reply.latency_ms) == TIMING
    assert (reply.retry_after, reply.limit_reset, reply.endpoint) == (None, None, None)


def test_limits_are_read_from_plain_headers() -> None:
    headers = {
        "retry-after": "7",
        "x-ratelimit-remaining-tokens": "0",
        "x-ratelimit-reset-tokens": "1m2s",
    }
    reply = read(429, headers, "{}", TIMING)
    assert (reply.next, reply.retry_after, reply.limit_reset) == (Next.RETRY, 7.0, 62.0)


@pytest.mark.parametrize(
    ("body", "name"),
    [
        ("x" * 2 * TEXT_LIMIT, "HTTPError"),
        ('{"error": {"code": "insufficient_quota"}}', "insufficient_quota"),
    ],
)
def test_a_refusal_speaks_for_itself_when_nobody_has_words_for_it(body: str, name: str) -> None:
    reply = read(400, {}, body, TIMING)
    assert (reply.status, reply.error_class) == (Status.API_ERROR, name)
    assert reply.error_text == body[:TEXT_LIMIT]


SQLITE = sqlite3.connect(":memory:")
NUMBERS = st.sampled_from(["NaN", "-Infinity", "1e999", "-1e999", "9" * 5_000, "1", "0.5", "-0"])
WORDS = st.text(alphabet=st.characters(exclude_categories=()), max_size=8)
NAMES = st.sampled_from(["choices", "error", "usage", "model", "code", "type", "innererror"])


def nested(depth: int) -> str:
    choice = '{"message": {"content": "[[A]]"}, "finish_reason": "stop"}'
    return f'{{"choices": [{choice}], "x": {"[" * depth}{"]" * depth}}}'


def json_text(leaves: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    """JSON as text, so that numbers and depths that Python cannot write are in it."""
    return st.recursive(
        leaves,
        lambda inner: (
            st.lists(inner, max_size=3).map(lambda parts: f"[{','.join(parts)}]")
            | st.dictionaries(NAMES | WORDS, inner, max_size=3).map(
                lambda rows: f"{{{','.join(f'{json.dumps(n)}: {v}' for n, v in rows.items())}}}"
            )
        ),
        max_leaves=8,
    )


BODIES = (
    json_text(NUMBERS | WORDS.map(json.dumps) | st.sampled_from(["null", "true", "{}"]))
    | st.integers(0, 1_200).map(nested)
    | st.text()
    | st.binary().map(lambda data: data.decode("utf-8", "surrogateescape"))
)
DATES = st.builds(
    "{}, {} {} {} {}:59:59 {}".format,
    st.sampled_from(["Fri", "Xyz", ""]),
    st.integers(-1, 40),
    st.sampled_from(["Dec", "Jan", "Foo"]),
    st.sampled_from([0, 1, 99, 1000, 2099, 9999, 10_000]),
    st.integers(-1, 99),
    st.sampled_from(["GMT", "-2300", "+2300", "-0000", "+99999999999", ""]),
)
HEADERS = st.fixed_dictionaries(
    {},
    optional={
        "retry-after": DATES | NUMBERS | st.text(),
        "x-ratelimit-remaining-requests": st.sampled_from(["0", " 0", "1"]) | st.text(),
        "x-ratelimit-reset-requests": NUMBERS | st.sampled_from(["9" * 400 + "s", "6m0s"]),
    },
)


@given(st.integers(0, 1_000), HEADERS, BODIES)
@example(429, {"retry-after": "Fri, 31 Dec 9999 23:59:59 -2300"}, "{}")
@example(200, {}, nested(100_000))
def test_any_answer_is_a_reply_that_can_be_kept(
    status: int, headers: dict[str, str], body: str
) -> None:
    reply = read(status, headers, body, TIMING, secrets=Secrets(["sk-abc/def"]))
    assert SQLITE.execute("SELECT json_valid(?)", (reply.raw,)).fetchone() == (1,)
    parse_reply(json.loads(str(reply.raw)), ("A", "B"))
    for seconds in (reply.retry_after, reply.limit_reset):
        assert seconds is None or seconds >= 0
    for text in (reply.error_text, reply.error_class, reply.served_model):
        assert text is None or len(text.encode()) <= 4 * TEXT_LIMIT + 100


@pytest.mark.parametrize("status", [200, 400])
def test_no_depth_is_fatal(status: int) -> None:
    """Python reads a little deeper than it writes, and SQLite has a limit of its own."""
    for depth in range(100, 1_100):
        reply = read(status, {}, nested(depth), TIMING)
        assert SQLITE.execute("SELECT json_valid(?)", (reply.raw,)).fetchone() == (1,)


@pytest.mark.parametrize(
    ("body", "kept"),
    [
        ("\ufeff" + nested(1), [[]]),
        (nested(600), None),
        (nested(1).replace("[]", "9" * 5_000), "9" * 5_000),
        (nested(1).replace("[]", "-1e999"), "-1e999"),
        (nested(1).replace("[]", "NaN"), None),
        (nested(1).replace("[]", "9" * 600), int("9" * 600)),
    ],
)
def test_a_reply_among_numbers_and_depths_that_nobody_needs_is_read(
    body: str, kept: object
) -> None:
    reply = read(200, {}, body, TIMING)
    value = json.loads(str(reply.raw))
    assert parse_reply(value, ("A", "B")).status is Status.OK
    assert kept is None or value["x"] == (kept if kept != [[]] else [])


def test_what_is_kept_is_not_deeper_than_any_reader_goes() -> None:
    value = json.loads(str(read(200, {}, nested(600), TIMING).raw))["x"]
    depth = 0
    while isinstance(value, list):
        value, depth = value[0], depth + 1
    assert (depth, value) == (DEPTH - 1, "[nested too deep]")


@pytest.mark.parametrize(
    ("secret", "text", "clean"),
    [
        ("none", "categories=none", "categories=none"),
        ("abc", "abc", "abc"),
        ("ab1c", "key ab1c, cab1c", "key [key removed], cab1c"),
        ("ab1c", "%22ab1c%22 \\nab1c\\n", "%22[key removed]%22 \\n[key removed]\\n"),
        ("sk-12345", "xsk-12345x", "x[key removed]x"),
        ("sk-12345", "\\" * 100_000, "\\" * 100_000),
        ("pä#s-word", "p%C3%A4%23s-word p\\u00e4#s-word", "[key removed] [key removed]"),
        ("p😀s-word", "p\\ud83d\\ude00s-word", "[key removed]"),
    ],
)
def test_what_counts_as_a_secret(secret: str, text: str, clean: str) -> None:
    assert Secrets([secret]).clean(text) == clean


@given(st.text(min_size=8, max_size=40), st.text(max_size=40), st.text(max_size=40))
def test_a_secret_stays_in_no_string_and_no_name(secret: str, before: str, after: str) -> None:
    value = {"a": [before + secret + after], before + secret + after: {"b": secret}}
    kept = Secrets([secret]).fit(loads(json.dumps(value)))
    assert secret not in json.dumps(kept, ensure_ascii=False).replace("[key removed]", "")


@pytest.mark.parametrize(
    ("status", "found"),
    [
        (402, "add credit"),
        (405, "URL"),
        (410, "model"),
        (307, "URL"),
        (401, "KEY"),
        (429, "credit"),
    ],
)
def test_what_to_do_about_a_refusal_fits_it(status: int, found: str) -> None:
    assert found in advice(status, "KEY")
