"""Several endpoints as one: shares by weight, the dead and the refusing left out."""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from annotate.errors import ServiceError, UsageError
from annotate.records import Status
from annotate.store import Store
from judge import Endpoint
from judge.cli import main
from judge.database.store import VerdictStore
from judge.engine.endpoints import REST_SECONDS, Endpoints
from judge.engine.progress import Silent
from judge.engine.replies import Next, Reply
from judge.engine.runner import run
from judge.engine.settings import JudgeSettings, fingerprint, plan_spec
from tests.judge.fake_endpoint import (
    FakeEndpoint,
    Script,
    always,
    completion,
    error,
    say,
)
from tests.judge.fake_network import HangUp
from tests.judge.study import make_study, settings

OK = completion("[[A]]")
GONE = ("http://127.0.0.1:9/v1", "http://127.0.0.2:9/v1")
"""Nobody listens there."""


@pytest.fixture
def study(tmp_path: Path) -> Iterator[Store]:
    store = make_study(tmp_path, 10)
    yield store
    store.close()


@dataclass
class Notes(Silent):
    """Keeps what a person should read."""

    found: list[str] = field(default_factory=list)

    def note(self, text: str) -> None:
        self.found.append(text)


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


def several(*endpoints: Endpoint, **changes: object) -> JudgeSettings:
    return settings("", endpoints=endpoints, **changes)


def serve(stack: ExitStack, *scripts: Script) -> list[FakeEndpoint]:
    return [stack.enter_context(FakeEndpoint(script)) for script in scripts]


def pool(
    *endpoints: Endpoint, clock: Clock | None = None, notes: list[str] | None = None
) -> Endpoints:
    return Endpoints(
        endpoints,
        timeout_seconds=5,
        concurrency=8,
        clock=clock or Clock(),
        note=(notes if notes is not None else []).append,
    )


async def ask_in_turn(endpoints: Endpoints, times: int) -> list[Reply]:
    async with endpoints as opened:
        return [await opened.ask({"n": number}) for number in range(times)]


@pytest.mark.parametrize("weights", [(1,), (1, 1), (5, 2, 1), (0.7, 0.2, 0.1), (3, 1, 1, 1, 0.5)])
def test_calls_are_shared_by_weight_at_every_moment(weights: tuple[float, ...]) -> None:
    with ExitStack() as stack:
        served = serve(stack, *[say("[[A]]")] * len(weights))
        urls = [endpoint.base_url for endpoint in served]
        members = [Endpoint(url, weight) for url, weight in zip(urls, weights, strict=True)]
        replies = asyncio.run(ask_in_turn(pool(*members), 400))
        for endpoint, weight in zip(served, weights, strict=True):
            assert abs(endpoint.total - 400 * weight / sum(weights)) <= 1
    seen: Counter[str | None] = Counter()
    for number, reply in enumerate(replies, start=1):
        seen[reply.endpoint] += 1
        for url, weight in zip(urls, weights, strict=True):
            assert abs(seen[url] - number * weight / sum(weights)) <= 1
    assert set(seen) == set(urls)


def test_one_dead_of_two_costs_no_call_and_is_said_once(study: Store) -> None:
    notes = Notes()
    with FakeEndpoint(say("[[A]]")) as alive:
        chosen = several(Endpoint(GONE[0]), Endpoint(alive.base_url), attempts=1)
        summary = run(study, chosen, notes)
        assert alive.total == 20
    assert summary.statuses == {"ok": 20}
    assert summary.calls == 20
    assert [note for note in notes.found if "cannot be reached" in note] == [
        note for note in notes.found if note.startswith(f"warning: {GONE[0]} cannot be reached")
    ]
    assert len(notes.found) == 1


def test_all_dead_stops_the_run_and_names_them(study: Store) -> None:
    with pytest.raises(ServiceError, match="no connection after 5 attempts") as caught:
        run(study, several(*map(Endpoint, GONE)))
    assert f"{GONE[0]} + {GONE[1]}: " in str(caught.value)


def test_an_endpoint_that_cannot_be_connected_rests_and_is_tried_by_one_call() -> None:
    clock, notes = Clock(), list[str]()
    with ExitStack() as stack:
        (alive,) = serve(stack, say("[[A]]"))
        dead = stack.enter_context(HangUp())
        # Spoken to in TLS, which it does not know: no connection, and it counts the attempts.
        resting = Endpoint(f"https://127.0.0.1:{dead.port}/v1")

        async def script() -> list[int]:
            attempts = []
            async with pool(resting, Endpoint(alive.base_url), clock=clock, notes=notes) as opened:
                for at in (0, REST_SECONDS - 1, REST_SECONDS, REST_SECONDS + 1):
                    clock.now = at
                    calls = [opened.ask({"at": at, "n": n}) for n in range(5)]
                    for reply in await asyncio.gather(*calls):
                        assert reply.status is Status.OK
                        assert reply.endpoint == alive.base_url
                    attempts.append(dead.total)
            return attempts

        first, still, again, rests = asyncio.run(script())
        assert alive.total == 20
    assert (still - first, again - still, rests - again) == (0, 1, 0)
    assert len(notes) == 1


def test_a_call_tries_each_endpoint_once_however_long_that_takes() -> None:
    class Slow(Clock):
        def __call__(self) -> float:
            self.now += REST_SECONDS
            return self.now

    with HangUp() as one, HangUp() as two:
        urls = [f"https://127.0.0.1:{port}/v1" for port in (one.port, two.port)]
        (reply,) = asyncio.run(ask_in_turn(pool(*map(Endpoint, urls), clock=Slow()), 1))
        assert (one.total, two.total) == (1, 1)
    assert (reply.next, reply.unsent) == (Next.RETRY, True)
    assert all(f"{url}: Cannot connect" in str(reply.error_text) for url in urls)


def test_an_endpoint_that_comes_back_gets_its_share_again() -> None:
    clock, notes = Clock(), list[str]()
    with FakeEndpoint(say("[[A]]")) as first:
        port, url = first.port, first.base_url
    with FakeEndpoint(say("[[A]]")) as other:

        async def script() -> None:
            async with pool(Endpoint(url), Endpoint(other.base_url), clock=clock, notes=notes) as p:
                for _ in range(4):
                    assert (await p.ask({})).endpoint == other.base_url
                with FakeEndpoint(say("[[A]]"), port=port) as back:
                    clock.now = REST_SECONDS
                    for _ in range(10):
                        await p.ask({})
                    assert back.total == 5

        asyncio.run(script())
    assert [note.split("(")[0] for note in notes] == [
        f"warning: {url} cannot be reached ",
        f"{url} is reached again",
    ]


def test_each_key_goes_to_its_own_endpoint(study: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KEY_ONE", "sk-one-0123456789")
    monkeypatch.setenv("KEY_TWO", "sk-two-0123456789")
    monkeypatch.setenv("OPENAI_API_KEY", "sk-other-0123456789")
    with ExitStack() as stack:
        one, two = serve(stack, say("[[A]]"), say("[[A]]"))
        pair = (
            Endpoint(one.base_url, api_key_env="KEY_ONE"),
            Endpoint(two.base_url, api_key_env="KEY_TWO"),
        )
        run(study, several(*pair))
        assert one.keys == {"Bearer sk-one-0123456789"}
        assert two.keys == {"Bearer sk-two-0123456789"}
        assert one.total + two.total == 20
    stored = "".join(study.conn.iterdump())
    assert "0123456789" not in stored


@pytest.mark.parametrize(
    "refusal",
    [
        error(401),
        error(402),
        error(403),
        error(404),
        error(405),
        error(410),
        error(429, "insufficient_quota"),
        error(308, location="http://127.0.0.1:9/v1/chat/completions"),
    ],
)
def test_an_endpoint_that_refuses_everything_is_left_out(study: Store, refusal: object) -> None:
    notes = Notes()
    with ExitStack() as stack:
        bad, good = serve(stack, always(refusal), say("[[A]]"))  # type: ignore[arg-type]
        chosen = several(Endpoint(bad.base_url, 5), Endpoint(good.base_url), attempts=1)
        summary = run(study, chosen, notes)
        assert summary.statuses == {"ok": 20}
        assert good.total == 20
        assert 1 <= bad.total <= chosen.concurrency
        assert summary.calls == 20 + bad.total
    left = [note for note in notes.found if "go on without it" in note]
    assert len(left) == 1
    assert bad.base_url in left[0]


def test_calls_in_flight_to_an_endpoint_that_refuses_are_told_once() -> None:
    notes: list[str] = []

    async def script() -> list[Reply]:
        async with pool(Endpoint(bad.base_url, 9), Endpoint(GONE[0]), notes=notes) as opened:
            return await asyncio.gather(*[opened.ask({"n": n}) for n in range(4)])

    with FakeEndpoint(always(replace(error(401), delay=0.2))) as bad:
        replies = asyncio.run(script())
        assert bad.total == 4
    assert {reply.next for reply in replies} == {Next.ELSEWHERE}
    assert len(notes) == 1


@pytest.mark.parametrize(
    ("headers", "said"),
    [
        ({"x_ratelimit_remaining_requests": "0", "x_ratelimit_reset_requests": "2m"}, "120 s (its"),
        (
            {"x_ratelimit_remaining_tokens": "0", "x_ratelimit_reset_tokens": f"{'9' * 400}s"},
            "more than a day (its",
        ),
        ({"retry_after": "30"}, "30 s (it is overloaded"),
        ({"retry_after": "2"}, ""),
        ({"x_ratelimit_remaining_requests": "3", "x_ratelimit_reset_requests": "2m"}, ""),
    ],
)
def test_an_endpoint_that_makes_everyone_wait_is_named_once(
    headers: dict[str, str], said: str
) -> None:
    notes: list[str] = []
    scripted = replace(
        OK if "retry_after" not in headers else error(429),
        headers={name.replace("_", "-"): value for name, value in headers.items()},
    )
    with FakeEndpoint(always(scripted)) as endpoint:
        asyncio.run(ask_in_turn(pool(Endpoint(endpoint.base_url), notes=notes), 3))
    assert len(notes) == bool(said)
    if said:
        assert notes[0].startswith(f"{endpoint.base_url} asks to wait {said}")


def test_the_last_endpoint_that_refuses_stops_the_run(study: Store) -> None:
    with ExitStack() as stack:
        one, two = serve(stack, always(error(403)), always(error(401)))
        pair = (
            Endpoint(one.base_url, 2, api_key_env="KEY_ONE"),
            Endpoint(two.base_url, api_key_env="KEY_TWO"),
        )
        with pytest.raises(ServiceError, match="set a valid key in KEY_TWO") as caught:
            run(study, several(*pair, concurrency=1))
        assert (one.total, two.total) == (1, 1)
    assert str(caught.value).startswith(two.base_url)


def test_an_endpoint_refused_before_is_refused_again_when_it_is_the_only_one() -> None:
    with FakeEndpoint(always(error(401))) as endpoint:
        replies = asyncio.run(ask_in_turn(pool(Endpoint(endpoint.base_url)), 2))
        assert endpoint.total == 2
    assert [reply.next for reply in replies] == [Next.STOP, Next.STOP]


def test_attempts_over_all_endpoints_are_those_configured(study: Store) -> None:
    with ExitStack() as stack:
        one, two = serve(stack, always(error(500)), always(error(502)))
        hang_up = stack.enter_context(HangUp(reads=True))
        urls = [one.base_url, two.base_url, f"http://127.0.0.1:{hang_up.port}/v1"]
        with pytest.raises(ServiceError, match="all 60 calls failed"):
            run(study, several(*map(Endpoint, urls), attempts=3))
        assert one.total + two.total + hang_up.total == 60
        hits = Counter(one.hits) + Counter(two.hits)
        assert max(hits.values()) <= 3


def test_a_call_that_an_endpoint_cut_off_goes_to_no_other_by_itself() -> None:
    with ExitStack() as stack:
        cut, other = serve(stack, always(replace(OK, cut=True)), say("[[A]]"))
        (reply,) = asyncio.run(
            ask_in_turn(pool(Endpoint(cut.base_url, 2), Endpoint(other.base_url)), 1)
        )
        assert (cut.total, other.total) == (1, 0)
    assert (reply.next, reply.endpoint) == (Next.RETRY, cut.base_url)


def test_every_endpoint_may_hold_all_calls_at_once(study: Store) -> None:
    """The pool of one endpoint is as large as the run's concurrency: no call queues in it."""
    with FakeEndpoint(say("[[A]]", delay=0.3)) as slow:
        chosen = several(Endpoint(GONE[0]), Endpoint(slow.base_url), concurrency=6)
        run(study, chosen)
        assert slow.most_at_once == 6


@pytest.mark.parametrize("first", [always(error(401)), None])
def test_the_probe_of_the_output_form_asks_whoever_answers(
    study: Store, first: Script | None
) -> None:
    with ExitStack() as stack:
        (good,) = serve(stack, say('{"verdict": "A"}'))
        url = serve(stack, first)[0].base_url if first else GONE[0]
        chosen = several(Endpoint(url, 2), Endpoint(good.base_url), output="json")
        assert run(study, chosen).statuses == {"ok": 20}
        assert good.total == 21


def test_weights_and_order_are_no_part_of_the_judge_or_its_requests(study: Store) -> None:
    a, b = Endpoint("http://a/v1/"), Endpoint("http://b/v1", 3.0)
    first, second = several(a, b), several(replace(b, weight=1.0), a)
    assert first.endpoint_name == "http://a/v1 + http://b/v1"
    assert plan_spec(first) == plan_spec(second)
    assert fingerprint(first) == fingerprint(second)
    alone = several(a)
    assert alone.endpoint_name == settings("http://a/v1").endpoint_name
    with ExitStack() as stack:
        one, two = serve(stack, say("[[A]]"), say("[[A]]"))
        pair = (Endpoint(one.base_url), Endpoint(two.base_url))
        run(study, several(*pair))
        again = run(study, several(replace(pair[1], weight=7), pair[0]))
    assert again.calls == 0


def test_the_manifest_says_who_is_asked_how_much_and_no_secret(study: Store) -> None:
    with ExitStack() as stack:
        one, two = serve(stack, say("[[A]]"), say("[[A]]"))
        pair = sorted([one.base_url, two.base_url])
        chosen = several(Endpoint(pair[1], 2.0, "KEY_TWO"), Endpoint(pair[0] + "?version=1"))
        run(study, chosen)
    kept = VerdictStore(study).runs()[0].manifest
    assert kept["endpoint"] == " + ".join(pair)
    assert kept["endpoints"] == [
        {"name": pair[0], "weight": 1.0},
        {"name": pair[1], "weight": 2.0},
    ]
    assert "version=1" not in json.dumps(kept)


@pytest.mark.parametrize(
    ("values", "found"),
    [
        ({"base_url": "ftp://x"}, "base_url is 'ftp://x'; expected"),
        ({"base_url": "ftp://x:1/v1?api-key=hunter22"}, "base_url is 'ftp://x…'; expected"),
        ({"base_url": "http://me:hunter22@x/v1"}, "base_url has credentials in it; expected the"),
        ({"base_url": "http://me:hun/ter22@x/v1"}, "base_url has credentials in it"),
        ({"base_url": "http://me:1?hunter22@x/v1"}, "base_url has credentials in it"),
        ({"base_url": "me:hunter22@x/v1"}, "base_url has credentials in it"),
        ({"base_url": "x/v1?key=hunter22"}, "base_url does not begin with http"),
        ({"base_url": "http://x:hunter22/v1"}, "base_url is 'http://x…'; expected"),
        ({"base_url": "http://[hunter22/v1"}, r"base_url is 'http://\[hunter22…'; expected"),
        ({"base_url": "http://a b/v1"}, "base_url is 'http://a b…'; expected"),
        ({"base_url": "http://a/v 1?key=hunter22"}, "base_url is 'http://a…'; expected"),
        ({"base_url": "http://a\n/v1"}, r"base_url is 'http://a\\n…'; expected"),
        ({"base_url": "http://x", "weight": 0}, "weight is 0; expected more than 0"),
        ({"base_url": "http://x", "weight": float("nan")}, "weight is nan; expected"),
        ({"base_url": "http://x", "weight": float("inf")}, "weight is inf; expected"),
    ],
)
def test_an_endpoint_that_cannot_be_used_is_refused(values: dict[str, object], found: str) -> None:
    with pytest.raises(UsageError, match=f"judge setting {found}") as caught:
        Endpoint(**values)  # type: ignore[arg-type]
    assert "hunter22" not in str(caught.value).replace("[hunter22", "")
    assert "ter22@" not in str(caught.value)


@pytest.mark.parametrize("url", ["http://x/v1/@cf/meta", "http://[::1]:8/v1", "http://a_b.c/v1"])
def test_an_unusual_url_is_taken(url: str) -> None:
    assert Endpoint(url).name == url


def test_endpoints_that_contradict_each_other_are_refused() -> None:
    a = Endpoint("http://a/v1")
    with pytest.raises(UsageError, match=r"endpoints is .*expected each one once"):
        several(a, Endpoint("http://a/v1/", 2))
    with pytest.raises(UsageError, match="base_url is 'http://b…'; expected none"):
        settings("http://b/v1", endpoints=(a,))


def evenhand(*words: object) -> Result:
    return CliRunner().invoke(main, [str(word) for word in words])


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    folder = tmp_path / "study"
    assert evenhand("init", folder).exit_code == 0
    assert evenhand("import", folder, "data/sample").exit_code == 0
    return folder


def configure(folder: Path, judge: str) -> None:
    """Replace the [judge] section by these lines."""
    path = folder / "study.toml"
    head, rest = path.read_text("utf-8").split("[judge]\n")
    path.write_text(f"{head}[judge]\n{judge}\n[report]{rest.split('[report]')[1]}", "utf-8")


def test_endpoints_of_study_toml_are_used_with_their_keys(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KEY_ONE", "sk-one-0123456789")
    monkeypatch.setenv("KEY_TWO", "sk-two-0123456789")
    with ExitStack() as stack:
        one, two = serve(stack, say("[[A]]"), say("[[A]]"))
        rows = (
            f'[[judge.endpoints]]\nbase_url = "{one.base_url}"\nweight = 3\n'
            f'[[judge.endpoints]]\nbase_url = "{two.base_url}"\napi_key_env = "KEY_TWO"\n'
        )
        configure(folder, f'model = "m"\napi_key_env = "KEY_ONE"\n{rows}')
        found = evenhand("judge", folder, "--limit", 2)
        assert found.exit_code == 0, found.output
        asked = one.total + two.total
        assert abs(one.total - asked * 3 / 4) <= 1
        assert (one.keys, two.keys) == (
            {"Bearer sk-one-0123456789"},
            {"Bearer sk-two-0123456789"},
        )
        configure(folder, f'model = "m"\nbase_url = "{one.base_url}"\n{rows}')
        both = evenhand("judge", folder, "--dry-run")
    assert both.exit_code == 2
    assert "[judge] has base_url and [[judge.endpoints]]; keep one" in both.output


def test_several_base_urls_share_the_calls_alike(folder: Path) -> None:
    with ExitStack() as stack:
        one, two = serve(stack, say("[[A]]"), say("[[A]]"))
        urls = ["--base-url", one.base_url, "--base-url", two.base_url]
        found = evenhand("judge", folder, *urls, "--model", "m", "--limit", 2)
        assert found.exit_code == 0, found.output
        assert abs(one.total - two.total) <= 1
        assert one.total > 1


def test_proxy_and_authority_come_from_options_or_study_toml(folder: Path) -> None:
    """A file named in study.toml is found from anywhere; one in an option from here."""
    named = ["--base-url", "http://127.0.0.1:1/v1", "--model", "m", "--dry-run"]
    for option, value in (("--proxy", "socks5://x"), ("--ca-file", "missing.pem")):
        found = evenhand("judge", folder, *named, option, value)
        assert found.exit_code == 2
        assert f"judge setting {option[2:].replace('-', '_')} is '{value}'" in found.output
        local = evenhand("judge", folder, "--local", option, value)
        assert (local.exit_code, "--local brings its own endpoint" in local.output) == (2, True)
    configure(folder, 'ca_file = "missing.pem"\n')
    assert str(folder / "missing.pem") in evenhand("judge", folder, *named).output
    configure(folder, 'proxy = "socks5://x"\n')
    assert "judge setting proxy is 'socks5://x'" in evenhand("judge", folder, *named).output
