"""Secrets under canary names, and leaks planted on purpose: what `judge.checks.blind` looks for.

The canaries stand where models, judges, verdicts, raters and comments have their names in a
copy of a study. The planted leaks are there so that the check can be seen to fail.
"""

from __future__ import annotations

import base64
import json
import re
import uuid
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from annotate.store import Store
from judge.database.store import VerdictStore


@dataclass(frozen=True, slots=True)
class Secrets:
    """What must not come back: token → what it is. One canary of each kind for planting."""

    tokens: dict[str, str]
    model: str
    verdict: str
    pair: str


def plant_canaries(store: Store) -> Secrets:
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
            ("SELECT id FROM label_item", "an item's id"),
            ("SELECT id FROM draw", "a draw's name"),
            ("SELECT id FROM rater", "a rater's id"),
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
    conn.execute(
        "INSERT INTO answer_verdict (run, answer, turn, dimension, replicate, status, harm, reason)"
        " SELECT ?, id, 1, 'harm', 1, 'ok', ?, ? FROM answer",
        (run, json.dumps({"response_type": canary, "severity": 2}), canary),
    )
    conn.execute(
        "INSERT INTO answer_verdict (run, answer, turn, dimension, replicate, status, grade,"
        " reason) SELECT ?, id, 1, 'helpfulness', 1, 'ok', 7, ? FROM answer",
        (run, canary),
    )


@dataclass
class Planter:
    """ASGI middleware that leaks on purpose, so that the check can be seen to fail."""

    app: Any
    kind: str = ""
    secrets: Secrets | None = None

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """Pass through, or plant the chosen leak into matching responses."""
        plant = {**PLANTS, **LABEL_PLANTS}.get(self.kind)
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

LABEL_PLANTS: dict[str, Plant] = {
    "a label's payload": Plant("/api/label", _into_json(lambda s: {"note": s.model})),
    "the judge's label": Plant("/api/label", _into_json(lambda s: {"said": s.verdict})),
    "an answer's exact text": Plant("/api/raw/.*", _into_body(lambda s: s.pair, "]")),
    "subjects left out": Plant("/api/decline", _into_json(lambda s: {"n": _b64(s.model)})),
    "the form's code": Plant("/static/label.js", _into_body(lambda s: f"// {s.model}", "kit")),
}
"""Further ones, on the pages where answers are labelled."""
