"""A scripted chat-completions endpoint on loopback, in a thread of the test.

It speaks real HTTP, so that our client and the SDK under it are tested as they are:

    with FakeEndpoint(say("[[A]]")) as endpoint:
        ...
        assert endpoint.total == 4
"""

from __future__ import annotations

import json
import ssl
import threading
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any, TypeAlias

Body: TypeAlias = dict[str, Any]


@dataclass(frozen=True)
class Scripted:
    """What the endpoint does with one request."""

    status: int = 200
    body: bytes = b""
    headers: dict[str, str] = field(default_factory=dict)
    delay: float = 0.0
    cut: bool = False
    """Close the connection in the middle of the body."""
    drip: float = 0.0
    """Seconds between two bytes of the body."""


Script: TypeAlias = Callable[[Body, int], Scripted]
"""(request body, how often this very body has come so far, from 1) → what to do."""


def say(text: str | None, *, finish: str = "stop", delay: float = 0.0, **message: Any) -> Script:
    """Always this reply."""
    scripted = completion(text, finish=finish, delay=delay, **message)
    return lambda _body, _number: scripted


def completion(
    text: str | None,
    *,
    finish: str = "stop",
    delay: float = 0.0,
    usage: bool = True,
    **message: Any,
) -> Scripted:
    reply: Body = {
        "id": "fake",
        "object": "chat.completion",
        "model": "fake-served-1",
        "system_fingerprint": "fp_fake",
        "choices": [
            {
                "index": 0,
                "finish_reason": finish,
                "message": {"role": "assistant", "content": text, **message},
            }
        ],
    }
    if usage:
        reply["usage"] = {"prompt_tokens": 100, "completion_tokens": 5, "total_tokens": 105}
    return Scripted(body=json.dumps(reply).encode(), delay=delay)


def error(status: int, code: str | None = None, message: str = "no", **headers: str) -> Scripted:
    """An OpenAI-style error; header names with `_` for `-`."""
    body = {"error": {"message": message, "type": code, "code": code}}
    names = {name.replace("_", "-"): value for name, value in headers.items()}
    return Scripted(status, json.dumps(body).encode(), names)


def always(scripted: Scripted) -> Script:
    return lambda _body, _number: scripted


def per_body(*steps: Scripted) -> Script:
    """Each request body gets the steps one after another, then the last one for ever."""
    return lambda _body, number: steps[min(number, len(steps)) - 1]


class FakeEndpoint:
    """The server; counts hits per request body. `port` 0 is a free one; `tls` serves https."""

    def __init__(self, script: Script, *, port: int = 0, tls: ssl.SSLContext | None = None) -> None:
        self.script = script
        self._port, self._tls = port, tls
        self.hits: Counter[str] = Counter()
        self.requests: list[Body] = []
        self.keys: set[str] = set()
        self.headers: set[str] = set()
        self.connections: set[tuple[str, int]] = set()
        self.most_at_once = 0
        self.answered: Counter[str] = Counter()
        self._open = 0
        self._lock = threading.Lock()
        self._closing = threading.Event()

    @property
    def total(self) -> int:
        return sum(self.hits.values())

    @property
    def base_url(self) -> str:
        scheme = "https" if self._tls else "http"
        return f"{scheme}://127.0.0.1:{self.port}/v1"

    @property
    def port(self) -> int:
        return self._server.server_port

    def __enter__(self) -> FakeEndpoint:
        self._server = _Server(("127.0.0.1", self._port), _Handler)
        self._server.endpoint = self
        if self._tls:
            self._server.socket = self._tls.wrap_socket(self._server.socket, server_side=True)
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.02,))
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        value: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._closing.set()
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def take(self, raw: str, key: str) -> Scripted:
        """Count one request and decide what happens to it."""
        body = json.loads(raw)
        with self._lock:
            self.hits[raw] += 1
            self.requests.append(body)
            self.keys.add(key)
            number = self.hits[raw]
            self._open += 1
            self.most_at_once = max(self.most_at_once, self._open)
        return self.script(body, number)

    def wait(self, seconds: float) -> None:
        if seconds:
            self._closing.wait(seconds)

    def done(self, raw: str) -> None:
        with self._lock:
            self._open -= 1
            self.answered[raw] += 1


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    endpoint: FakeEndpoint

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that was killed is not an error of the endpoint."""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    # Else the body waits 40 ms for the client to acknowledge the headers.
    disable_nagle_algorithm = True
    server: _Server

    def do_POST(self) -> None:
        raw = self.rfile.read(int(self.headers["content-length"])).decode()
        endpoint = self.server.endpoint
        endpoint.connections.add(self.client_address)
        endpoint.headers.update(name.lower() for name in self.headers)
        scripted = endpoint.take(raw, self.headers.get("authorization", ""))
        endpoint.wait(scripted.delay)
        try:
            self._send(scripted)
        finally:
            endpoint.done(raw)

    def _send(self, scripted: Scripted) -> None:
        self.send_response(scripted.status)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(scripted.body)))
        for name, value in scripted.headers.items():
            self.send_header(name, value)
        self.end_headers()
        if scripted.cut:
            self.wfile.write(scripted.body[: len(scripted.body) // 2])
            self.close_connection = True
        elif scripted.drip:
            for byte in scripted.body:
                self.wfile.write(bytes([byte]))
                self.server.endpoint.wait(scripted.drip)
        else:
            self.wfile.write(scripted.body)

    def log_message(self, format: str, *args: Any) -> None:
        """Silent."""
