"""What stands between a client and an endpoint: a counting proxy, and certificates of our own."""

from __future__ import annotations

import http.client
import shutil
import socket
import ssl
import subprocess
import threading
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import TracebackType
from urllib.parse import urlsplit

import pytest


class FakeProxy:
    """A forward proxy on loopback: absolute URLs for http, CONNECT for https.

    Counts (method, host:port). `hosts` says at which loopback port a made-up host is found;
    `status` refuses everything with that answer.
    """

    def __init__(self, hosts: Mapping[str, int] | None = None, *, status: int = 0) -> None:
        self.hosts, self.status = dict(hosts or {}), status
        self.hits: Counter[tuple[str, str]] = Counter()
        self.authorizations: set[str] = set()

    @property
    def total(self) -> int:
        return sum(self.hits.values())

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_port}"

    def __enter__(self) -> FakeProxy:
        self._server = _Server(("127.0.0.1", 0), _Handler)
        self._server.proxy = self
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.02,))
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        value: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def take(self, method: str, host: str, port: int, authorization: str) -> tuple[str, int]:
        """Count one request; returns where it really goes."""
        self.hits[method, f"{host}:{port}"] += 1
        self.authorizations.add(authorization)
        return "127.0.0.1", self.hosts.get(host, port)


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    proxy: FakeProxy


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: _Server

    def do_POST(self) -> None:
        url = urlsplit(self.path)
        body = self.rfile.read(int(self.headers["content-length"]))
        host, port = self._take(url.hostname or "", url.port or 80)
        if self.server.proxy.status:
            self._refuse()
            return
        onward = http.client.HTTPConnection(host, port, timeout=10)
        headers = {k: v for k, v in self.headers.items() if not k.lower().startswith("proxy-")}
        onward.request("POST", url.path, body, headers)
        answer = onward.getresponse()
        said = answer.read()
        onward.close()
        self.send_response(answer.status)
        self.send_header("content-length", str(len(said)))
        self.end_headers()
        self.wfile.write(said)

    def do_CONNECT(self) -> None:
        name, _colon, number = self.path.rpartition(":")
        where = self._take(name, int(number))
        self.close_connection = True
        if self.server.proxy.status:
            self._refuse()
            return
        with socket.create_connection(where, timeout=10) as onward:
            self.send_response(200)
            self.end_headers()
            back = threading.Thread(target=_relay, args=(onward, self.connection), daemon=True)
            back.start()
            _relay(self.connection, onward)
            back.join()

    def _take(self, host: str, port: int) -> tuple[str, int]:
        authorization = self.headers.get("proxy-authorization", "")
        return self.server.proxy.take(self.command, host, port, authorization)

    def _refuse(self) -> None:
        self.send_response(self.server.proxy.status)
        self.send_header("content-length", "0")
        self.end_headers()

    def log_message(self, format: str, *args: object) -> None:
        """Silent."""


def _relay(source: socket.socket, target: socket.socket) -> None:
    """Bytes one way until either side has had enough."""
    try:
        while data := source.recv(65536):
            target.sendall(data)
        target.shutdown(socket.SHUT_WR)
    except OSError:
        return


class HangUp:
    """A server that takes connections and closes them; after a request if it `reads` one.

    Spoken to in TLS it is an endpoint that cannot be connected, and it counts the attempts.
    """

    def __init__(self, *, reads: bool = False) -> None:
        self.total, self._reads = 0, reads

    @property
    def port(self) -> int:
        return int(self._socket.getsockname()[1])

    def __enter__(self) -> HangUp:
        self._socket = socket.create_server(("127.0.0.1", 0))
        self._thread = threading.Thread(target=self._serve)
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        value: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._socket.shutdown(socket.SHUT_RDWR)
        self._thread.join()
        self._socket.close()

    def _serve(self) -> None:
        while True:
            try:
                taken, _address = self._socket.accept()
            except OSError:
                return
            with taken:
                self.total += 1
                if self._reads:
                    taken.recv(65536)


@dataclass(frozen=True)
class Authority:
    """A certification authority made for a test, and a server certificate for 127.0.0.1."""

    ca_file: Path
    server: ssl.SSLContext


def make_authority(folder: Path) -> Authority:
    if shutil.which("openssl") is None:
        pytest.skip("NOT TESTED: certificates; the openssl command is missing")
    names = folder / "names.cnf"
    names.write_text("subjectAltName = IP:127.0.0.1, DNS:judge.invalid\n")
    key = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"]
    _openssl(folder, "req", "-x509", *key, "-subj", "/CN=Test CA", "-days", "2",
             "-keyout", "ca.key", "-out", "ca.pem")  # fmt: skip
    _openssl(folder, "req", *key, "-subj", "/CN=Test", "-keyout", "server.key", "-out", "s.csr")
    _openssl(folder, "x509", "-req", "-in", "s.csr", "-CA", "ca.pem", "-CAkey", "ca.key",
             "-CAcreateserial", "-days", "2", "-extfile", names.name,
             "-out", "server.pem")  # fmt: skip
    server = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    server.load_cert_chain(folder / "server.pem", folder / "server.key")
    return Authority(folder / "ca.pem", server)


def _openssl(folder: Path, *words: str) -> None:
    subprocess.run(["openssl", *words], cwd=folder, check=True, capture_output=True)
