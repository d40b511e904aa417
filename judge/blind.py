"""Is the rating page blind? Proved on a live server, with canaries in every secret's place.

A copy of the study is served for real. In the copy every model, judge, verdict, rater and
comment carries a canary name; a rater then walks through the app over HTTP, and everything
that comes back (pages, config, payloads, headers, cookies, addresses, errors) is searched
for canaries, their usual encodings, ids of pairs and answers, and keys that name an order
or a gold item. What stands inside question and answer text is listed apart.
"""

from __future__ import annotations

import base64
import hashlib
import json
import re
import shutil
import socket
import tempfile
import threading
import time
import urllib.parse
import uuid
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.client import HTTPConnection
from pathlib import Path
from typing import Any

from annotate import leaks, seats
from annotate.errors import ServiceError
from annotate.store import FILE_NAME, Store
from annotate.study import SETTINGS_NAME, Study, open_study

from .store import VerdictStore

PAIRS_WALKED = 3
SHOWN = 20
# Keys and values that would name the order or a check item, in payloads of our own.
TELLTALE = re.compile(
    r'"(?:order|order_shown|shown_left|gold|purpose|outcome|verdict|judge|model|model_a|model_b|'
    r'pair|pair_id|answer_a|answer_b|is_gold)"\s*:|:\s*"(?:ab|ba)"'
)


@dataclass(frozen=True, slots=True)
class Leak:
    """Something that a rater's browser received and must not."""

    channel: str
    where: str
    what: str

    def __str__(self) -> str:
        return f"LEAK in {self.channel} of {self.where}: {self.what}"


@dataclass(frozen=True, slots=True)
class BlindResult:
    """What was looked at, what leaked, and which texts name a model by themselves."""

    responses: int
    screens: int
    tokens: int
    leaks: tuple[Leak, ...]
    mentions: tuple[tuple[str, int], ...]
    policy: str

    def text(self) -> str:
        """For a terminal."""
        lines = [
            f"Searched {self.responses} responses over {self.screens} screens"
            f" for {self.tokens:,} canaries, names and ids."
        ]
        lines += [str(leak) for leak in self.leaks[:SHOWN]]
        if len(self.leaks) > SHOWN:
            lines.append(f"… and {len(self.leaks) - SHOWN} more")
        lines.append("NOT BLIND" if self.leaks else "Blind: nothing leaks outside the texts.")
        if self.mentions:
            lines.append(
                f'Apart from that, texts themselves name a model (policy "{self.policy}",'
                " study.toml [assignment] identity_leaks):"
            )
            lines += [f"  {where}: {count} pairs" for where, count in self.mentions[:SHOWN]]
            if len(self.mentions) > SHOWN:
                lines.append(f"  … and {len(self.mentions) - SHOWN} more")
        return "\n".join(lines) + "\n"


@dataclass(frozen=True, slots=True)
class Secrets:
    """What must not come back: token → what it is. One canary of each kind for planting."""

    tokens: dict[str, str]
    model: str
    verdict: str
    pair: str


@dataclass
class Planter:
    """ASGI middleware that leaks on purpose, so that the check can be seen to fail."""

    app: Any
    kind: str = ""
    secrets: Secrets | None = None

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """Pass through, or plant the chosen leak into matching responses."""
        plant = PLANTS.get(self.kind)
        if scope["type"] != "http" or plant is None or not plant.matches(scope["path"]):
            await self.app(scope, receive, send)
            return
        await self._planted(plant, scope, receive, send)

    async def _planted(self, plant: Plant, scope: Any, receive: Any, send: Any) -> None:
        start: dict[str, Any] = {}
        body = b""

        async def held(message: Any) -> None:
            nonlocal body
            if message["type"] == "http.response.start":
                start.update(message)
                return
            body += message.get("body", b"")
            if not message.get("more_body"):
                status, headers, leaking = plant.leak(self._secrets(), start, body)
                kept = [(k, v) for k, v in headers if k != b"content-length"]
                kept.append((b"content-length", str(len(leaking)).encode()))
                await send({**start, "status": status, "headers": kept})
                await send({"type": "http.response.body", "body": leaking})

        await self.app(scope, receive, held)

    def _secrets(self) -> Secrets:
        assert self.secrets is not None  # set by whoever chose a kind
        return self.secrets


Leaking = tuple[int, list[tuple[bytes, bytes]], bytes]


@dataclass(frozen=True, slots=True)
class Plant:
    """One kind of planted leak."""

    path: str
    leak: Callable[[Secrets, dict[str, Any], bytes], Leaking]

    def matches(self, path: str) -> bool:
        """Does the leak belong into the response to this path?"""
        return re.fullmatch(self.path, path) is not None


def _into_body(insert: Callable[[Secrets], str], at: str) -> Callable[..., Leaking]:
    def leak(secrets: Secrets, start: dict[str, Any], body: bytes) -> Leaking:
        text = body.decode("utf-8", "replace")
        planted = (
            text.replace(at, insert(secrets) + at, 1) if at in text else text + insert(secrets)
        )
        return start["status"], list(start["headers"]), planted.encode()

    return leak


def _into_json(insert: Callable[[Secrets], dict[str, Any]]) -> Callable[..., Leaking]:
    def leak(secrets: Secrets, start: dict[str, Any], body: bytes) -> Leaking:
        value = json.loads(body)
        if isinstance(value, dict):
            value.update(insert(secrets))
        return start["status"], list(start["headers"]), json.dumps(value).encode()

    return leak


def _into_headers(name: str, value: Callable[[Secrets], str]) -> Callable[..., Leaking]:
    def leak(secrets: Secrets, start: dict[str, Any], body: bytes) -> Leaking:
        headers = [*start["headers"], (name.encode(), value(secrets).encode())]
        return start["status"], headers, body

    return leak


def _redirect(secrets: Secrets, start: dict[str, Any], body: bytes) -> Leaking:
    headers = [(k, v) for k, v in start["headers"] if k != b"location"]
    return start["status"], [*headers, (b"location", f"../rate/?m={secrets.model}".encode())], body


def _b64(text: str) -> str:
    return base64.b64encode(text.encode()).decode()


PLANTS: dict[str, Plant] = {
    "page source": Plant("/rate/?", _into_body(lambda s: f"<!-- {s.model} -->", "</body>")),
    "element id": Plant("/rate/?", _into_body(lambda s: f'<i id="pair-{s.pair}"></i>', "</body>")),
    "component config": Plant("/rate/config", _into_json(lambda s: {"hidden": s.model})),
    "event payload": Plant("/api/screen", _into_json(lambda s: {"note": s.model})),
    "encoded in a payload": Plant("/api/vote", _into_json(lambda s: {"k": _b64(s.model)})),
    "verdict": Plant("/api/vote", _into_json(lambda s: {"hint": s.verdict})),
    "order key": Plant("/api/screen", _into_json(lambda _: {"o": "ab"})),
    "gold flag": Plant("/api/screen", _into_json(lambda _: {"gold": False})),
    "pair id": Plant("/api/raw/.*", _into_body(lambda s: s.pair, "]")),
    "URL": Plant("/invite/.*", _redirect),
    "header": Plant("/api/screen", _into_headers("x-served-model", lambda s: s.model)),
    "cookie": Plant("/api/consent", _into_headers("set-cookie", lambda s: f"m={_b64(s.model)}")),
    "error": Plant("/api/nothing", _into_json(lambda s: {"message": f"no {s.model}"})),
    "static file": Plant("/static/rate.js", _into_body(lambda s: f"// {s.model}", "(() =>")),
}


def check(study: Study) -> BlindResult:
    """Serve a copy of the study, walk through it as a rater, search what came back."""
    with _served_copy(study) as (url, secrets, _planter, copy):
        seen, leaks_found, screens = _walk(url, secrets, copy)
    return BlindResult(
        responses=seen,
        screens=screens,
        tokens=len(secrets.tokens),
        leaks=tuple(leaks_found),
        mentions=_mentions(study),
        policy=study.settings.assignment.identity_leaks,
    )


def self_test_lines(study: Study) -> Iterator[tuple[str, bool]]:
    """For each kind of planted leak: a line, and whether the check found it."""
    with _served_copy(study) as (url, secrets, planter, copy):
        for kind in PLANTS:
            planter.kind = kind
            _seen, found, _screens = _walk(url, secrets, copy)
            planter.kind = ""
            said = f"found ({found[0].channel})" if found else "MISSED"
            yield f"planted in {kind}: {said}", bool(found)


@contextmanager
def _served_copy(study: Study) -> Iterator[tuple[str, Secrets, Planter, Study]]:
    import uvicorn

    from annotate.app import create_app

    from . import console

    folder = Path(tempfile.mkdtemp(prefix="evenhand-blind-"))
    try:
        study.store.backup(folder / FILE_NAME)
        shutil.copy(study.folder / SETTINGS_NAME, folder / SETTINGS_NAME)
        copy = open_study(folder)
        secrets = _plant_canaries(copy.store)
        planter = Planter(create_app(copy, console.mount), secrets=secrets)
        listening = socket.create_server(("127.0.0.1", 0))
        server = uvicorn.Server(uvicorn.Config(planter, log_level="error", server_header=False))
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]}, daemon=True)
        thread.start()
        _wait(lambda: server.started)
        try:
            yield f"127.0.0.1:{listening.getsockname()[1]}", secrets, planter, copy
        finally:
            server.should_exit = True
            thread.join(timeout=10)
            copy.close()
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _wait(ready: Callable[[], bool], seconds: float = 30) -> None:
    deadline = time.monotonic() + seconds
    while not ready():
        if time.monotonic() > deadline:
            raise ServiceError(f"the copy's server did not start within {seconds:.0f} s; try again")
        time.sleep(0.02)


def _plant_canaries(store: Store) -> Secrets:
    """Rename every secret of the copy; returns all tokens that must not come back."""
    VerdictStore(store)
    mark = uuid.uuid4().hex[:10]
    tokens: dict[str, str] = {}

    def secret(name: str, what: str) -> str:
        tokens[name] = what
        return name

    with store.write() as conn:
        names = conn.execute(
            "SELECT name FROM model UNION SELECT model_a FROM pair UNION SELECT model_b FROM pair"
            " ORDER BY 1"
        ).fetchall()
        # Numbered in sorted order, so that canonical order stays what it was.
        canaries = [
            (name, secret(f"canary{mark}m{number:05d}", "a model's name"))
            for number, (name,) in enumerate(names)
        ]
        conn.execute("CREATE TEMP TABLE canary (name TEXT PRIMARY KEY, canary TEXT NOT NULL)")
        conn.executemany("INSERT INTO canary VALUES (?, ?)", canaries)
        conn.execute(
            "UPDATE model SET name = (SELECT canary FROM canary WHERE canary.name = model.name)"
        )
        conn.execute(
            "UPDATE pair SET model_a = (SELECT canary FROM canary WHERE name = model_a),"
            " model_b = (SELECT canary FROM canary WHERE name = model_b)"
        )
        for number, (rater,) in enumerate(conn.execute("SELECT id FROM rater").fetchall()):
            label = secret(f"canary{mark}r{number:05d}", "another rater")
            conn.execute("UPDATE rater SET label = ? WHERE id = ?", (label, rater))
        conn.execute(
            "UPDATE vote_comment SET comment = ?",
            (secret(f"canary{mark}c", "another rater's comment"),),
        )
        verdict = secret(f"canary{mark}v", "a judge's verdict")
        _plant_verdicts(conn, verdict)
        pair = ""
        for sql, what in (
            ("SELECT id FROM pair", "a pair's id"),
            ("SELECT id FROM answer", "an answer's id"),
            ("SELECT DISTINCT hash FROM answer", "an answer's hash"),
            ("SELECT id FROM model", "a model's id"),
            ("SELECT id FROM slot", "a slot's id"),
        ):
            for (value,) in conn.execute(sql).fetchall():
                tokens[value] = what
                pair = pair or value
    model = next((t for t, what in tokens.items() if what == "a model's name"), verdict)
    return Secrets(tokens, model, verdict, pair)


def _plant_verdicts(conn: Any, canary: str) -> None:
    """A judge whose name and reasons are canaries, on every pair."""
    run = str(uuid.uuid4())
    conn.execute(
        "INSERT INTO judge_run (id, created_at, name, kind, requested_model, endpoint,"
        " fingerprint, manifest, state) VALUES (?, '2000-01-01T00:00:00.000Z', ?, 'imported',"
        " ?, '', '', '{}', 'done')",
        (run, canary, canary),
    )
    conn.execute(
        "INSERT INTO pair_verdict (run, pair, turn, dimension, replicate, status, outcome,"
        " reason, orders) SELECT ?, id, 1, 'harmlessness', 1, 'ok', 'a', ?, 'unknown' FROM pair",
        (run, canary),
    )


@dataclass
class _Visitor:
    """A rater's browser without the screen: keeps cookies, remembers every response."""

    host: str
    cookies: dict[str, str] = field(default_factory=dict)
    seen: list[tuple[str, str, bytes]] = field(default_factory=list)

    def ask(self, path: str, body: object | None = None) -> tuple[int, bytes, dict[str, str]]:
        """One request; the address, headers, cookies and body go on record."""
        connection = HTTPConnection(self.host, timeout=60)
        headers = {"Cookie": "; ".join(f"{k}={v}" for k, v in self.cookies.items())}
        sent = None
        if body is not None:
            sent = json.dumps(body)
            headers["Content-Type"] = "application/json"
        connection.request("GET" if sent is None else "POST", path, sent, headers)
        response = connection.getresponse()
        content = response.read()
        connection.close()
        for name, value in response.getheaders():
            if name.lower() == "set-cookie":
                key, _, rest = value.partition("=")
                self.cookies[key] = rest.split(";")[0]
                self.seen.append(("cookie", path, _decoded(value)))
            channel = "address" if name.lower() == "location" else "header"
            self.seen.append((channel, path, f"{name}: {value}".encode()))
        kind = "error" if response.status >= 400 else _channel(path)
        self.seen.append((kind, path, content))
        return response.status, content, dict(response.getheaders())

    def json(self, path: str, body: object | None = None) -> dict[str, Any]:
        """A payload of ours."""
        value = json.loads(self.ask(path, body)[1])
        return value if isinstance(value, dict) else {}


def _channel(path: str) -> str:
    if path.startswith("/api/"):
        return "event payload"
    if path.endswith("config"):
        return "component config"
    return "page source" if path.rstrip("/").endswith("/rate") else "file"


def _decoded(cookie: str) -> bytes:
    """A cookie with its base64 parts readable beside it."""
    parts = re.split(r"[^A-Za-z0-9_+/=-]+|(?<=\w)\.(?=\w)|(?<=^\w)=|=(?=\w)", cookie)
    readable = b" ".join(_unbase64(part) for part in parts if part)
    return cookie.encode() + b" " + readable


def _unbase64(part: str) -> bytes:
    try:
        return base64.urlsafe_b64decode(part.replace("+", "-").replace("/", "_") + "===")
    except ValueError:
        return b""


def _walk(host: str, secrets: Secrets, copy: Study) -> tuple[int, list[Leak], int]:
    """(responses seen, leaks, screens rated) of one rater's visit."""
    rater = seats.invite(copy.store, f"blind-check {uuid.uuid4()}")
    visitor = _Visitor(host)
    visitor.ask(f"/invite/{seats.invitation_token(copy.store, rater.id)}")
    page = visitor.ask("/rate/")[1].decode("utf-8", "replace")
    for path in _linked(page):
        visitor.ask(path)
    for path in ("/rate/config", "/rate/gradio_api/info", "/static/rate.js", "/static/rate.css"):
        visitor.ask(path)
    screens = _rate(visitor)
    _provoke_errors(visitor)
    return len(visitor.seen), list(_search(visitor, secrets)), screens


def _linked(page: str) -> list[str]:
    """What the page loads from its own server, at most twenty files."""
    links = re.findall(r'(?:src|href)="((?:\.{0,2}/)[^"?]+)', page)
    return sorted({urllib.parse.urljoin("/rate/", link) for link in links})[:20]


def _rate(visitor: _Visitor) -> int:
    """Walk through a few pairs, with drafts, exact text, undo, skip and a heartbeat."""
    visitor.json("/api/screen")
    state = visitor.json("/api/consent", {"agreed": True})
    screens, pages = 0, set[str]()
    choices = ("left", "right", "tie", "both_bad")
    while state.get("state") == "rate" and len(pages | {state["page"]}) <= PAIRS_WALKED:
        pages.add(state["page"])
        screen = state["screen"]
        visitor.ask(f"/api/raw/{screen}")
        visitor.json("/api/draft", {"screen": screen, "comment": "half a thought"})
        vote = {
            "screen": screen,
            "choice": choices[screens % 4],
            "key": uuid.uuid4().hex,
            "page": state["page"],
            "turns": state["visible"],
        }
        state = visitor.json("/api/vote", vote)
        visitor.json("/api/vote", {**vote, "choice": "left", "key": uuid.uuid4().hex})
        screens += 1
        if screens == 2:
            visitor.json("/api/undo", {})
            state = visitor.json("/api/screen")
    if state.get("state") == "rate":
        visitor.json("/api/skip", {"screen": state["screen"], "reason": "checking"})
    visitor.json("/api/heartbeat", {})
    return screens


def _provoke_errors(visitor: _Visitor) -> None:
    for path in ("/api/nothing", "/nothing", "/api/raw/nothing", "/console/", "/console/config",
                 "/invite/nothing", "/owner/nothing", "/rate/nothing", "/docs", "/openapi.json",
                 "/rate/gradio_api/file=pyproject.toml"):  # fmt: skip
        visitor.ask(path)
    for path, body in (
        ("/api/vote", {"screen": "x", "choice": "left", "key": "k" * 16}),
        ("/api/vote", {"screen": 1, "choice": "sideways"}),
        ("/api/skip", {"screen": "x", "reason": "r"}),
        ("/api/undo", {"page": 7}),
        ("/rate/gradio_api/queue/join", {"data": [], "fn_index": 0, "session_hash": "x"}),
    ):
        visitor.ask(path, body)


def _search(visitor: _Visitor, secrets: Secrets) -> Iterator[Leak]:
    """Every token, plain and in usual encodings, in everything that was received."""
    plain = {token.encode(): what for token, what in secrets.tokens.items()}
    encoded = {
        form: f"{what}, encoded"
        for token, what in secrets.tokens.items()
        if token.startswith("canary")
        for form in _encodings(token)
    }
    wanted = re.compile(b"|".join(map(re.escape, [*plain, *encoded])), re.IGNORECASE)
    for channel, where, content in visitor.seen:
        for match in {m.group(0).lower() for m in wanted.finditer(content)}:
            what = plain.get(match) or encoded.get(match) or "a secret, in other letters"
            yield Leak(channel, where, f"{what} ({match.decode('utf-8', 'replace')[:60]})")
        if channel in ("event payload", "error"):
            yield from _telltales(channel, where, content)


def _encodings(token: str) -> set[bytes]:
    raw = token.encode()
    forms = {hashlib.new(name, raw).hexdigest().encode() for name in ("md5", "sha1", "sha256")}
    forms |= {raw.hex().encode(), raw[::-1]}
    # A token inside a longer base64 text may start at any of three offsets.
    for shift in range(3):
        padded = base64.b64encode(b"\0" * shift + raw)
        forms.add(padded[4 if shift else 0 : -4])
    return {form.lower() for form in forms if len(form) >= 12}


def _telltales(channel: str, where: str, content: bytes) -> Iterator[Leak]:
    """Keys that name an order or a check item, outside the texts."""
    try:
        value = json.loads(content)
    except ValueError:
        return
    if isinstance(value, dict):
        value.pop("rows", None)
    if where.startswith("/api/raw/"):
        return
    for match in sorted(set(TELLTALE.findall(json.dumps(value)))):
        yield Leak(channel, where, f"a key or value that tells ({match.strip()})")


def _mentions(study: Study) -> tuple[tuple[str, int], ...]:
    counted = Counter(
        f'question {m.question_id}, {m.where}: "{m.word}"' for m in leaks.scan(study.store)
    )
    return tuple(sorted(counted.items(), key=lambda item: (-item[1], item[0])))
