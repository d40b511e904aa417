"""One of the judge's calls as HTML: what was read, the reply as it came, what was sent."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from annotate.records import Choice, Order, Status, outcome
from judge.console.html import count, duration, muted, text
from judge.console.words import Words, label, spelt
from judge.database.places import Place
from judge.database.transcripts import Attempt, Call

TAGS = {Choice.LEFT: "A", Choice.RIGHT: "B", Choice.TIE: "C", Choice.BOTH_BAD: "D"}


def call_card(words: Words, place: Place, call: Call) -> str:
    """One order: what was read, the reply as it came, how it came, what was sent."""
    read = next((a for a in call.attempts if a.id == call.read_from), None)
    last = read or (call.attempts[-1] if call.attempts else None)
    parts = [f"<h4>{_order_title(place, call)}</h4>", _read(words, place, call)]
    if last is None:
        parts.append(muted("Not asked yet."))
    else:
        parts += [_reply(last), muted(" · ".join(_facts(last)))]
    others = [a for a in call.attempts if a is not last]
    if others:
        tried = "".join(f"<li>{text(' · '.join(_facts(a)))}{_reply(a)}</li>" for a in others)
        parts.append(_fold(f"{count(len(others), 'other attempt')}", f"<ol>{tried}</ol>"))
    sent = "".join(
        f'<span class="t-role">{text(m.get("role", ""))}</span>{_exact(m.get("content", ""))}'
        for m in call.messages
    )
    parts.append(_fold("Prompt as sent", sent))
    if last is not None and last.raw is not None:
        parts.append(_fold("Whole reply as received", _exact(last.raw)))
    return f'<article class="t-card">{"".join(parts)}</article>'


def _order_title(place: Place, call: Call) -> str:
    if not call.order:
        return "The judge"
    first, second = place.models if call.order == Order.AB else place.models[::-1]
    return f"{text(first)} first <small>A is {text(first)}, B is {text(second)}</small>"


def _read(words: Words, place: Place, call: Call) -> str:
    """What the parser made of the reply."""
    if call.status == "":
        return ""
    if call.status != Status.OK:
        why = f" ({text(call.detail)})" if call.detail else ""
        return f'<p class="t-read t-bad">{text(spelt(call.status))}{why}</p>'
    if call.choice is None:
        return f'<p class="t-read">{text(label(call.grade, call.harm))}</p>'
    choice = Choice(call.choice)
    said = words.outcome(outcome(choice, Order(call.order)), place)
    return f'<p class="t-read"><span class="t-tag">{TAGS[choice]}</span>{text(said)}</p>'


def _reply(attempt: Attempt) -> str:
    """The reply's own text, as it came; an error's text where there is none."""
    message = _message(attempt.raw)
    if message.get("content"):
        return _exact(message["content"])
    if message.get("refusal"):
        return f'<span class="t-role">refusal</span>{_exact(message["refusal"])}'
    return _exact(attempt.error_text) if attempt.error_text else muted("(no text)")


def _message(raw: str | None) -> dict[str, Any]:
    """The first choice's message of a chat completion, if the body is one."""
    body = None if raw is None else json.loads(raw)
    choices = body.get("choices") if isinstance(body, dict) else None
    first = choices[0] if isinstance(choices, list) and choices else None
    message = first.get("message") if isinstance(first, dict) else None
    return message if isinstance(message, dict) else {}


def _facts(attempt: Attempt) -> Iterator[str]:
    if attempt.status != "reply":
        yield spelt(attempt.status)
    if attempt.error_class:
        yield attempt.error_class
    if attempt.http_status is not None and attempt.http_status != 200:
        yield f"HTTP {attempt.http_status}"
    if attempt.served_model:
        yield attempt.served_model
    milliseconds = attempt.latency_ms
    yield f"{milliseconds:,} ms" if milliseconds < 10_000 else duration(milliseconds / 1000)
    if attempt.prompt_tokens is not None and attempt.completion_tokens is not None:
        yield f"{attempt.prompt_tokens:,} tokens in, {attempt.completion_tokens:,} out"
    yield attempt.started_at.replace("T", " ")[:19] + " UTC"


def _fold(title: str, body: str) -> str:
    return f"<details class=t-fold><summary>{text(title)}</summary>{body}</details>"


def _exact(words: str) -> str:
    """Text character by character, in a box of its own that the keyboard can scroll."""
    return f'<pre class="t-raw" dir="auto" tabindex="0">{text(words)}</pre>'
