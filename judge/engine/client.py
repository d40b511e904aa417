"""One call to a chat-completions endpoint: the only module that imports openai.

Import it late (it costs most of a second). A call never raises for what an endpoint
can do; it returns a :class:`Reply` that says what to do next. No retries here: the one
retry layer is the runner's.
"""

from __future__ import annotations

import asyncio
import re
import ssl
import time
from base64 import b64encode
from collections.abc import Iterator, Mapping
from types import TracebackType
from typing import Any
from urllib.parse import parse_qsl, unquote, urlsplit

import aiohttp
import httpx2
import openai

from annotate.records import Status
from annotate.store import now
from judge.engine.bodies import Secrets
from judge.engine.network import bare, load_authorities, proxy_for, redirect_words
from judge.engine.replies import Next, Reply, Timing, read, said_by

CONNECT_SECONDS = 10.0
SECRET_NAMES = re.compile(r"key|token|secret|sig|pass|auth|code", re.IGNORECASE)
"""Parameters of a URL whose values are secrets."""
UNSENT = (
    aiohttp.ClientConnectorError,
    aiohttp.ConnectionTimeoutError,
    aiohttp.ClientHttpProxyError,
)
"""What aiohttp raises before a request leaves; the SDK calls most of them timeouts."""
HOW_TO_TRUST = (
    "if a certification authority of your own issued it, give its certificate with --ca-file"
)


class Client:
    """One shared connection pool to one endpoint; use as an async context manager.

    `proxy` "" means the environment's (see `network`); `ca_file` is trusted beside the
    system's certificates.

    Raises:
        UsageError: the environment's proxy or `ca_file` cannot be used.
    """

    def __init__(
        self,
        base_url: str,
        api_key: str,
        *,
        timeout_seconds: float,
        concurrency: int,
        proxy: str = "",
        ca_file: str = "",
    ) -> None:
        used = proxy_for(base_url, proxy)
        self._proxy = bare(used) if used else ""
        self._secrets = Secrets([api_key, *_in_query(base_url), *_in_proxy(used or "")])
        self._base_url, self._timeout = base_url, timeout_seconds
        # The pool is never smaller than the number of workers: a request does not wait
        # for a connection while its timeout runs.
        limits = httpx2.Limits(max_connections=concurrency, max_keepalive_connections=concurrency)
        timeout = httpx2.Timeout(timeout_seconds, connect=min(CONNECT_SECONDS, timeout_seconds))
        self._openai = openai.AsyncOpenAI(
            base_url=base_url,
            api_key=api_key,
            max_retries=0,
            timeout=timeout,
            http_client=openai.DefaultAioHttpClient(
                limits=limits,
                timeout=timeout,
                **(_through(used, base_url) if used else {}),
                verify=_trust(ca_file),
                # The environment has been asked above.
                trust_env=False,
                # Texts and the key go to the endpoint that was named, and nowhere else.
                follow_redirects=False,
            ),
        )

    async def __aenter__(self) -> Client:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self._openai.close()

    async def ask(self, body: Mapping[str, Any]) -> Reply:
        """Send one request and say what came of it."""
        clock = _Clock()
        try:
            # The SDK's timeout is per read; a server that drips must end as well.
            async with asyncio.timeout(self._timeout):
                response = await self._openai.post(
                    "/chat/completions", body=dict(body), cast_to=httpx2.Response
                )
        except openai.APIStatusError as error:
            return self._refused(clock, error)
        except (TimeoutError, openai.OpenAIError) as error:
            return self._failed(clock, error)
        return read(
            response.status_code,
            response.headers,
            response.text,
            clock.stop(),
            secrets=self._secrets,
        )

    def _refused(self, clock: _Clock, error: openai.APIStatusError) -> Reply:
        """A 3xx, 4xx or 5xx, in the SDK's words."""
        response, name, words = error.response, type(error).__name__, str(error)
        if 300 <= error.status_code < 400:
            name = "Redirect"
            words = redirect_words(self._base_url, response.headers.get("location", ""))
        return read(
            error.status_code,
            response.headers,
            response.text,
            clock.stop(),
            error_class=name,
            error_text=words,
            secrets=self._secrets,
        )

    def _failed(self, clock: _Clock, error: Exception) -> Reply:
        """No HTTP response."""
        causes = list(_causes(error))
        late = any(isinstance(cause, TimeoutError) for cause in causes)
        refusal = next((cause for cause in causes if isinstance(cause, UNSENT)), None)
        name = "TimeoutError" if late else "APIConnectionError"
        if refusal is not None:
            found = isinstance(refusal, aiohttp.ClientConnectorCertificateError)
            name = "CertificateError" if found else "ConnectError"
        return Reply(
            Next.RETRY,
            Status.TIMEOUT if late else Status.API_ERROR,
            *clock.stop(),
            error_class=name,
            unsent=refusal is not None,
            error_text=said_by(self._words(error, refusal), self._secrets),
            # A server that took the connection and is slow is not a dead endpoint.
            connected=late and refusal is None,
        )

    def _words(self, error: Exception, refusal: BaseException | None) -> str:
        """What went wrong, and what to do about it where we know."""
        if isinstance(refusal, aiohttp.ClientConnectorCertificateError):
            reason = _reason(refusal.certificate_error)
            return f"certificate verification failed: {reason}; {HOW_TO_TRUST}"
        if isinstance(refusal, (aiohttp.ClientProxyConnectionError, aiohttp.ClientHttpProxyError)):
            return f"proxy {self._proxy}: {refusal}"
        cause = error.__cause__ or error
        return str(cause) or str(error) or type(cause).__name__


def _through(proxy: str, base_url: str) -> dict[str, Any]:
    """How the HTTP client is told of a proxy and of its password.

    Not by credentials in the URL: the SDK passes them on in a way that aiohttp has
    deprecated. In a tunnel the password goes into CONNECT, else into each request.
    """
    user, password = _credentials(proxy)
    told = {"Proxy-Authorization": aiohttp.encode_basic_auth(user, password)} if user else {}
    if urlsplit(base_url).scheme == "https":
        return {"proxy": httpx2.Proxy(bare(proxy), headers=told)}
    return {"proxy": bare(proxy), "headers": told}


def _credentials(url: str) -> tuple[str, str]:
    """(user, password) in a URL, "" for what is absent."""
    parts = urlsplit(url)
    return unquote(parts.username or ""), unquote(parts.password or "")


def _in_proxy(url: str) -> list[str]:
    """What of a proxy's URL nobody may see: the password, and both as HTTP sends them."""
    user, password = _credentials(url)
    return [password, b64encode(f"{user}:{password}".encode()).decode()] if password else []


def _in_query(url: str) -> list[str]:
    """The secrets in a URL's query."""
    return [value for name, value in parse_qsl(urlsplit(url).query) if SECRET_NAMES.search(name)]


def _trust(ca_file: str) -> ssl.SSLContext:
    """The system's certificates and, beside them, those of a file."""
    context = httpx2.create_ssl_context()
    if ca_file:
        load_authorities(context, ca_file)
    return context


def _causes(error: BaseException | None) -> Iterator[BaseException]:
    """An error and what it was raised from, outermost first."""
    while error is not None:
        yield error
        error = error.__cause__


def _reason(error: Exception) -> str:
    """OpenSSL's own words for a certificate that is not trusted."""
    known = isinstance(error, ssl.SSLCertVerificationError)
    return getattr(error, "verify_message", "") or str(error) if known else str(error)


class _Clock:
    """Start time and duration of one call."""

    def __init__(self) -> None:
        self._at = now()
        self._start = time.monotonic()

    def stop(self) -> Timing:
        return Timing(self._at, now(), round((time.monotonic() - self._start) * 1000))
