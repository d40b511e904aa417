"""From a judge's reply to a choice: total, strict, and never a guess.

A verdict is a tag such as `[[A]]`. The last line that bears a tag decides:

- one tag, offered → `ok`
- one tag, not offered (`[[E]]`, `[[90]]`) → `unparseable`: nothing is clamped or guessed
- two different tags → `ambiguous`
- no tag anywhere, or no text → `unparseable`

What the endpoint says about the reply comes before its text: a filter's finish reason, or
a reply with an empty list of choices → `filtered`, a refusal field → `refused`, `length` →
`truncated` even when a tag stands in the text, because what was cut off might have taken
the verdict back.

In JSON mode (one per run) the text must be one object whose `verdict` was offered.

Pure: no database, endpoint or command line.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass

from annotate.records import Choice, Status

PARSER_VERSION = "tag-2 json-1"
"""Changes whenever the same reply could give another verdict."""

CHOICES: Mapping[str, Choice] = {
    "A": Choice.LEFT,
    "B": Choice.RIGHT,
    "C": Choice.TIE,
    "D": Choice.BOTH_BAD,
}
"""What each tag means: A is the answer shown first, B the second, C a tie, D both bad."""

FILTER_REASONS = {"content_filter", "safety", "prohibited_content", "blocklist", "sensitive"}
"""Finish reasons of a content filter, in the words of the services in use."""

_TAG = re.compile(r"\[\[[ \t]*([A-Za-z0-9_.+-]{1,20})[ \t]*\]\]")
_LINE = re.compile(r"[\r\n]+")


@dataclass(frozen=True, slots=True)
class Parsed:
    """What a reply says; `choice` is set exactly when the status is `ok`."""

    status: Status
    choice: Choice | None = None
    detail: str = ""


def parse(
    text: str | None,
    offered: Collection[str],
    finish_reason: str | None = None,
    refusal: str | None = None,
    *,
    as_json: bool = False,
) -> Parsed:
    """Read one reply; never raises, never returns a label that was not offered.

    `offered` holds tags without brackets, e.g. `("A", "B", "C", "D")`.
    """
    if finish_reason is not None and finish_reason.lower() in FILTER_REASONS:
        return Parsed(Status.FILTERED, detail=f"finish_reason {finish_reason}")
    if refusal:
        return Parsed(Status.REFUSED, detail=_short(refusal))
    if finish_reason == "length":
        return Parsed(Status.TRUNCATED, detail="finish_reason length")
    if not text or not text.strip():
        return Parsed(Status.UNPARSEABLE, detail="empty reply")
    if as_json:
        return _from_json(text, offered)
    tags = _last_tags(text)
    if not tags:
        return Parsed(Status.UNPARSEABLE, detail="no verdict tag")
    if len(set(tags)) > 1:
        return Parsed(Status.AMBIGUOUS, detail=f"tags on one line: {', '.join(tags[:4])}")
    tag = tags[0]
    if tag not in offered or tag not in CHOICES:
        return Parsed(Status.UNPARSEABLE, detail=f"tag {tag} was not offered")
    return Parsed(Status.OK, CHOICES[tag])


def parse_reply(raw: object, offered: Collection[str], *, as_json: bool = False) -> Parsed:
    """Read a whole chat completion as the endpoint sent it (any JSON value)."""
    choices = raw.get("choices") if isinstance(raw, dict) else None
    if choices == []:
        return Parsed(Status.FILTERED, detail="empty choices")
    first = choices[0] if isinstance(choices, list) and choices else None
    if not isinstance(first, dict):
        return Parsed(Status.UNPARSEABLE, detail="no choices in the reply")
    message = first.get("message")
    fields = message if isinstance(message, dict) else {}
    return parse(
        _text(fields.get("content")),
        offered,
        _text(first.get("finish_reason")),
        _text(fields.get("refusal")),
        as_json=as_json,
    )


def _from_json(text: str, offered: Collection[str]) -> Parsed:
    """The verdict of a reply in JSON: one object, one offered verdict, nothing around it."""
    verdicts: list[object] = []

    def note(fields: list[tuple[str, object]]) -> dict[str, object]:
        verdicts.extend(value for name, value in fields if name == "verdict")
        return dict(fields)

    try:
        value = json.loads(text, object_pairs_hook=note)
    except (ValueError, RecursionError):
        return Parsed(Status.UNPARSEABLE, detail="no JSON")
    if not isinstance(value, dict) or "verdict" not in value:
        return Parsed(Status.UNPARSEABLE, detail="no JSON object with a verdict")
    if len(verdicts) > 1:
        return Parsed(Status.AMBIGUOUS, detail=f"{len(verdicts)} verdicts in one reply")
    tag = value["verdict"]
    if not isinstance(tag, str) or tag not in offered or tag not in CHOICES:
        return Parsed(Status.UNPARSEABLE, detail=_short(f"verdict {tag!r} was not offered"))
    return Parsed(Status.OK, CHOICES[tag])


def _last_tags(text: str) -> list[str]:
    """The tags of the last line that has any, in upper case."""
    for line in reversed(_LINE.split(text)):
        tags = [tag.upper() for tag in _TAG.findall(line)]
        if tags:
            return tags
    return []


def _text(value: object) -> str | None:
    return value if isinstance(value, str) else None


def _short(text: str, limit: int = 200) -> str:
    one_line = " ".join(text.split())
    return one_line if len(one_line) <= limit else one_line[: limit - 1] + "…"
