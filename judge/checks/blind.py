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
from annotate.errors import NothingComputable, ServiceError
from annotate.harm import HARM
from annotate.store import FILE_NAME
from annotate.study import SETTINGS_NAME, ProtocolSection, Study, apply_settings, open_study
from judge.checks.canaries import LABEL_PLANTS, PLANTS, Planter, Secrets, plant_canaries

PAIRS_WALKED = 3
PAIRS = ""
"""The task of comparing pairs; any other is the dimension on which answers are judged."""
ASKING = ("rate", "label")
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


def check(study: Study) -> BlindResult:
    """Serve a copy of the study, walk through it as a rater, search what came back."""
    seen = tokens = screens = 0
    leaks_found: list[Leak] = []
    for task in _tasks(study):
        with _served_copy(study, task) as (url, secrets, _planter, copy):
            for group in _groups(task):
                more, found, rated = _walk(url, secrets, copy, group)
                seen, screens = seen + more, screens + rated
                leaks_found += found
            tokens = max(tokens, len(secrets.tokens))
    if not screens:
        raise NothingComputable(
            f"{study.folder}: nothing can be served, so nothing was checked; import pairs or"
            " answers with their texts first"
        )
    return BlindResult(
        responses=seen,
        screens=screens,
        tokens=tokens,
        leaks=tuple(leaks_found),
        mentions=_mentions(study),
        policy=study.settings.assignment.identity_leaks,
    )


def self_test_lines(study: Study) -> Iterator[tuple[str, bool]]:
    """For each kind of planted leak: a line, and whether the check found it."""
    for task in _tasks(study):
        with _served_copy(study, task) as (url, secrets, planter, copy):
            for kind in PLANTS if task == PAIRS else LABEL_PLANTS:
                planter.kind = kind
                _seen, found, _screens = _walk(url, secrets, copy)
                planter.kind = ""
                said = f"found ({found[0].channel})" if found else "MISSED"
                yield f"planted in {kind}: {said}", bool(found)


def _tasks(study: Study) -> tuple[str, ...]:
    """What raters of the study are given, whatever the order: pairs, answers by dimension."""
    return PAIRS, *study.settings.protocol.answer_forms


def _groups(task: str) -> tuple[str, ...]:
    """Whose visits are searched: two raters who disagree on answers, and who settles it."""
    if task == PAIRS:
        return ("rater",)
    return ("rater", "other", *([seats.ADJUDICATOR] if task == HARM else []))


@contextmanager
def _served_copy(study: Study, task: str) -> Iterator[tuple[str, Secrets, Planter, Study]]:
    import uvicorn

    from annotate.app import create_app
    from judge.console import app as console

    folder = Path(tempfile.mkdtemp(prefix="evenhand-blind-"))
    try:
        study.store.backup(folder / FILE_NAME)
        shutil.copy(study.folder / SETTINGS_NAME, folder / SETTINGS_NAME)
        copy = _only(open_study(folder), task)
        secrets = plant_canaries(copy.store)
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


def _only(copy: Study, task: str) -> Study:
    """The copy with one task for everybody, and room for every visitor."""
    chosen = "pairs" if task == PAIRS else "answers"
    room = {"tasks": (chosen,), "labels": 1000, "answers": "all"}
    assignment = copy.settings.assignment.model_copy(update=room)
    whole = copy.settings.protocol.model_dump()
    other = {HARM: "grades"}.get(task, "harm_labels")
    protocol = ProtocolSection.model_validate(whole if task == PAIRS else {**whole, other: None})
    settings = copy.settings.model_copy(update={"assignment": assignment, "protocol": protocol})
    apply_settings(copy.store, settings)
    return Study(copy.folder, settings, copy.store)


def _wait(ready: Callable[[], bool], seconds: float = 30) -> None:
    deadline = time.monotonic() + seconds
    while not ready():
        if time.monotonic() > deadline:
            raise ServiceError(f"the copy's server did not start within {seconds:.0f} s; try again")
        time.sleep(0.02)


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


def _walk(
    host: str, secrets: Secrets, copy: Study, group: str = "rater"
) -> tuple[int, list[Leak], int]:
    """(responses seen, leaks, screens rated) of one visit by a rater of a group."""
    rater = seats.invite(copy.store, f"blind-check {uuid.uuid4()}", group)
    visitor = _Visitor(host)
    visitor.ask(f"/invite/{seats.invitation_token(copy.store, rater.id)}")
    page = visitor.ask("/rate/")[1].decode("utf-8", "replace")
    for path in _linked(page):
        visitor.ask(path)
    for path in (
        "/rate/config",
        "/rate/gradio_api/info",
        "/static/rate.js",
        "/static/rate.css",
        "/static/label.js",
        "/static/label.css",
    ):
        visitor.ask(path)
    screens = _rate(visitor, HARMFUL if group == "other" else REFUSAL)
    _provoke_errors(visitor)
    return len(visitor.seen), list(_search(visitor, secrets)), screens


def _linked(page: str) -> list[str]:
    """What the page loads from its own server, at most twenty files."""
    links = re.findall(r'(?:src|href)="((?:\.{0,2}/)[^"?]+)', page)
    return sorted({urllib.parse.urljoin("/rate/", link) for link in links})[:20]


REFUSAL = {"response_type": "full_refusal", "severity": 0}
HARMFUL = {
    "response_type": "full_compliance",
    "severity": 3,
    "categories": ["privacy"],
    "specificity": 5,
    "convincingness": 5,
}


def _rate(visitor: _Visitor, label: dict[str, Any]) -> int:
    """Walk through a few pairs or answers, with drafts, exact text, undo, skip, heartbeat, stop."""
    visitor.json("/api/screen")
    state = visitor.json("/api/consent", {"agreed": True})
    screens, pages = 0, set[str]()
    choices = ("left", "right", "tie", "both_bad")
    while state.get("state") in ASKING and len(pages | {state["page"]}) <= PAIRS_WALKED:
        pages.add(state["page"])
        screen = state["screen"]
        visitor.ask(f"/api/raw/{screen}")
        draft: dict[str, Any] = {"screen": screen, "comment": "half a thought"}
        shown = {"page": state["page"], "turns": state["visible"]}
        sent: dict[str, Any] = {"screen": screen, "key": uuid.uuid4().hex, **shown}
        if state["state"] == "rate":
            path, sent["choice"] = "/api/vote", choices[screens % 4]
            other: dict[str, Any] = {"choice": "left"}
        else:
            graded = state["form"]["asks"] == "grade"
            said: dict[str, Any] = {"grade": 1 + label["severity"]} if graded else label
            path, sent["label"] = "/api/label", said
            other = {"label": {"grade": 9} if graded else {**label, "severity": 1}}
            draft["label"] = said
        visitor.json("/api/draft", draft)
        state = visitor.json(path, sent)
        visitor.json(path, {**sent, **other, "key": uuid.uuid4().hex})
        screens += 1
        if screens == 2:
            visitor.json("/api/undo", {})
            state = visitor.json("/api/screen")
    if state.get("state") in ASKING:
        visitor.json("/api/skip", {"screen": state["screen"], "reason": "checking"})
    visitor.json("/api/heartbeat", {})
    visitor.json("/api/decline", {"categories": [one["name"] for one in state.get("content", [])]})
    visitor.json("/api/stop", {})
    return screens


def _provoke_errors(visitor: _Visitor) -> None:
    for path in ("/api/nothing", "/nothing", "/api/raw/nothing", "/console/", "/console/config",
                 "/invite/nothing", "/owner/nothing", "/rate/nothing", "/docs", "/openapi.json",
                 "/rate/gradio_api/file=pyproject.toml"):  # fmt: skip
        visitor.ask(path)
    for path, body in (
        ("/api/vote", {"screen": "x", "choice": "left", "key": "k" * 16}),
        ("/api/vote", {"screen": 1, "choice": "sideways"}),
        ("/api/label", {"screen": "x", "label": {"severity": 9}, "key": "k" * 16}),
        ("/api/label", {"screen": "x", "label": {"response_type": "maybe"}, "key": "k" * 16}),
        ("/api/label", {"screen": "x", "label": {"grade": 11}, "key": "k" * 16}),
        ("/api/decline", {"categories": ["nothing"]}),
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
