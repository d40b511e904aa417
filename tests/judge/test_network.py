"""Proxies and certificates, against a real proxy and a real TLS server on loopback."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from annotate.errors import UsageError
from annotate.records import Status
from judge.engine import client
from judge.engine.client import Client
from judge.engine.network import proxy_for
from judge.engine.replies import Next, Reply
from tests.judge.fake_endpoint import FakeEndpoint, say
from tests.judge.fake_network import Authority, FakeProxy, HangUp, make_authority
from tests.judge.study import settings

NAMES = ("http_proxy", "https_proxy", "all_proxy", "no_proxy")
ELSEWHERE = "http://judge.invalid:8000/v1"
"""A host that is not on loopback; only our own proxy finds it."""
NOBODY = "http://127.0.0.1:9"


@pytest.fixture(autouse=True)
def _no_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in (*NAMES, *(name.upper() for name in NAMES), "SSL_CERT_FILE", "SSL_CERT_DIR"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def endpoint() -> Iterator[FakeEndpoint]:
    with FakeEndpoint(say("[[A]]")) as served:
        yield served


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    return make_authority(tmp_path_factory.mktemp("authority"))


def ask(url: str, *, proxy: str = "", ca_file: str = "") -> Reply:
    async def once() -> Reply:
        made = Client(
            url, "sk-0123456789", timeout_seconds=5, concurrency=1, proxy=proxy, ca_file=ca_file
        )
        async with made as opened:
            return await opened.ask({"model": "m", "messages": []})

    return asyncio.run(once())


def test_a_proxy_that_is_set_takes_every_call_even_to_this_machine(endpoint: FakeEndpoint) -> None:
    with FakeProxy() as proxy:
        assert ask(endpoint.base_url, proxy=proxy.url).status is Status.OK
    assert proxy.hits == {("POST", f"127.0.0.1:{endpoint.port}"): 1}
    assert endpoint.total == 1


def test_https_goes_through_a_tunnel_that_cannot_be_read(authority: Authority) -> None:
    with FakeEndpoint(say("[[A]]"), tls=authority.server) as endpoint, FakeProxy() as proxy:
        reply = ask(endpoint.base_url, proxy=proxy.url, ca_file=str(authority.ca_file))
    assert reply.status is Status.OK, reply.error_text
    assert proxy.hits == {("CONNECT", f"127.0.0.1:{endpoint.port}"): 1}


@pytest.mark.parametrize("scheme", ["http", "https"])
def test_the_environments_proxy_is_used_and_is_told_its_password(
    scheme: str, authority: Authority, monkeypatch: pytest.MonkeyPatch
) -> None:
    tls = authority.server if scheme == "https" else None
    with FakeEndpoint(say("[[A]]"), tls=tls) as endpoint:
        with FakeProxy({"judge.invalid": endpoint.port}) as proxy:
            url = proxy.url.replace("//", "//me:hunter%322@")
            monkeypatch.setenv(f"{scheme}_proxy", url)
            asked = ELSEWHERE.replace("http:", f"{scheme}:")
            assert ask(asked, ca_file=str(authority.ca_file)).status is Status.OK
        method = "CONNECT" if tls else "POST"
        assert proxy.hits == {(method, "judge.invalid:8000"): 1}
        assert proxy.authorizations == {"Basic bWU6aHVudGVyMjI="}
        assert "proxy-authorization" not in endpoint.headers


def test_a_set_proxy_wins_over_every_word_of_the_environment(
    endpoint: FakeEndpoint, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in NAMES[:3]:
        monkeypatch.setenv(name, NOBODY)
    monkeypatch.setenv("no_proxy", "*")
    with FakeProxy({"judge.invalid": endpoint.port}) as proxy:
        assert ask(ELSEWHERE, proxy=proxy.url).status is Status.OK
    assert proxy.total == 1


@pytest.mark.parametrize(
    ("url", "environment", "found"),
    [
        ("http://judge.invalid/v1", {}, None),
        ("http://judge.invalid/v1", {"http_proxy": "http://p:1"}, "http://p:1"),
        ("http://judge.invalid/v1", {"HTTP_PROXY": "p:1"}, "http://p:1"),
        ("http://judge.invalid/v1", {"https_proxy": "http://p:1"}, None),
        ("https://judge.invalid/v1", {"https_proxy": "http://p:1"}, "http://p:1"),
        ("https://judge.invalid/v1", {"all_proxy": "https://p:1"}, "https://p:1"),
        ("http://judge.invalid/v1", {"http_proxy": "http://p:1", "no_proxy": ".invalid"}, None),
        ("http://judge.invalid/v1", {"http_proxy": "http://p:1", "no_proxy": "x"}, "http://p:1"),
        ("http://127.0.0.1:8000/v1", {"http_proxy": "http://p:1"}, None),
        ("http://127.8.0.1/v1", {"all_proxy": "http://p:1"}, None),
        ("http://[::1]:8000/v1", {"http_proxy": "http://p:1"}, None),
        ("http://localhost:8000/v1", {"http_proxy": "http://p:1"}, None),
        ("http://10.0.0.1/v1", {"http_proxy": "http://p:1"}, "http://p:1"),
    ],
)
def test_which_proxy_the_environment_means(
    url: str, environment: dict[str, str], found: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    assert proxy_for(url) == found
    assert proxy_for(url, "http://mine:2") == "http://mine:2"


def test_the_environment_is_asked_by_nobody_else(
    endpoint: FakeEndpoint, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The libraries below would send calls to this machine through it."""
    monkeypatch.setenv("http_proxy", NOBODY)
    monkeypatch.setenv("all_proxy", NOBODY)
    assert ask(endpoint.base_url).status is Status.OK


def test_a_proxy_of_another_kind_is_refused_before_anything_is_sent(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("all_proxy", "socks5://me:hunter22@127.0.0.1:9")
    with pytest.raises(UsageError, match=r"no http\(s\)://host:port.*no_proxy") as caught:
        ask(ELSEWHERE)
    assert "hunter22" not in str(caught.value)


@pytest.mark.parametrize("value", ["http://[", "http://p:hunter22", "socks5://p", "http:// p"])
def test_an_environment_that_names_no_usable_proxy_is_told_without_its_value(
    value: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("http_proxy", value)
    with pytest.raises(UsageError, match="environment's proxy for http://judge") as caught:
        proxy_for(ELSEWHERE)
    assert "hunter22" not in str(caught.value)


def test_a_dead_proxy_is_named_without_its_password(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("http_proxy", NOBODY.replace("//", "//me:hunter22@"))
    reply = ask(ELSEWHERE)
    assert (reply.status, reply.unsent) == (Status.API_ERROR, True)
    assert f"proxy {NOBODY}: Cannot connect" in str(reply.error_text)
    assert "hunter22" not in str(reply)


def test_a_proxy_that_wants_a_password_stops_http_and_is_named_for_https() -> None:
    with FakeProxy(status=407) as proxy:
        plain = ask(ELSEWHERE, proxy=proxy.url)
        tunnel = ask("https://judge.invalid/v1", proxy=proxy.url)
    assert (plain.next, plain.http_status, plain.unsent) == (Next.STOP, 407, False)
    assert (tunnel.next, tunnel.unsent) == (Next.RETRY, True)
    assert f"proxy {proxy.url}: 407" in str(tunnel.error_text)


def test_an_unknown_authority_is_an_api_error_that_says_what_to_do(authority: Authority) -> None:
    with FakeEndpoint(say("[[A]]"), tls=authority.server) as endpoint:
        reply = ask(endpoint.base_url)
        assert endpoint.total == 0
        trusted = ask(endpoint.base_url, ca_file=str(authority.ca_file))
    assert (reply.status, reply.unsent) == (Status.API_ERROR, True)
    assert reply.error_class == "CertificateError"
    assert "certificate verification failed: unable to get local issuer" in str(reply.error_text)
    assert "--ca-file" in str(reply.error_text)
    assert trusted.status is Status.OK, trusted.error_text


def test_the_environments_authorities_count_beside_ours(
    authority: Authority, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SSL_CERT_FILE", str(authority.ca_file))
    with FakeEndpoint(say("[[A]]"), tls=authority.server) as endpoint:
        assert ask(endpoint.base_url).status is Status.OK


def test_an_authority_of_our_own_does_not_excuse_another_name(authority: Authority) -> None:
    with FakeEndpoint(say("[[A]]"), tls=authority.server) as endpoint:
        url = endpoint.base_url.replace("127.0.0.1", "localhost")
        reply = ask(url, ca_file=str(authority.ca_file))
    assert "not valid for 'localhost'" in str(reply.error_text)


def test_a_call_that_was_sent_and_lost_is_not_called_unsent() -> None:
    """The SDK calls it a timeout while connecting, so that a paid call counted as free."""
    with HangUp(reads=True) as server:
        reply = ask(f"http://127.0.0.1:{server.port}/v1")
    assert (reply.next, reply.status, reply.unsent) == (Next.RETRY, Status.API_ERROR, False)
    assert reply.error_class == "APIConnectionError"


def test_a_refused_connection_is_no_timeout() -> None:
    reply = ask(f"{NOBODY}/v1")
    assert (reply.status, reply.unsent, reply.connected) == (Status.API_ERROR, True, False)
    assert reply.error_class == "ConnectError"


def test_silence_while_connecting_is_an_unsent_timeout(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(client, "CONNECT_SECONDS", 0.2)
    with ExitStack() as stack:
        # A backlog that is full lets nobody in: what a firewall that drops packets does.
        full = stack.enter_context(socket.socket())
        full.bind(("127.0.0.1", 0))
        full.listen(0)
        for _ in range(4):
            waiting = stack.enter_context(socket.socket())
            waiting.setblocking(False)
            waiting.connect_ex(full.getsockname())
        reply = ask(f"http://127.0.0.1:{full.getsockname()[1]}/v1")
    assert (reply.status, reply.unsent, reply.connected) == (Status.TIMEOUT, True, False)


@pytest.mark.parametrize(
    ("change", "found"),
    [
        ({"proxy": "127.0.0.1:3128"}, "proxy does not begin with http"),
        ({"proxy": "u:hunter22@h:3"}, "proxy has credentials in it; expected them"),
        ({"proxy": "socks5://h?pw=hunter22"}, "proxy is 'socks5://h…'; expected"),
        ({"proxy": "socks5://127.0.0.1:1"}, r"proxy is 'socks5://.*expected http"),
        ({"proxy": "http://"}, "proxy is 'http://'; expected"),
        ({"proxy": "http://me:hunter22@127.0.0.1"}, "proxy has credentials in it; expected them"),
        ({"ca_file": "missing.pem"}, r"ca_file is 'missing.pem' \(No such file.*expected"),
        ({"ca_file": __file__}, r"ca_file is .*\(no certificate in it\); expected"),
    ],
)
def test_a_proxy_or_file_that_cannot_be_used_is_refused_before_anything_runs(
    change: dict[str, str], found: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(UsageError, match=f"judge setting {found}") as caught:
        settings("http://127.0.0.1:1/v1", **change)
    assert "hunter22" not in str(caught.value)
