"""What an endpoint sent, made fit to keep and to show: JSON that any reader takes, no secret in
it, nothing that acts on a terminal.

Pure: no database, endpoint or command line.
"""

from __future__ import annotations

import json
import math
import re
from base64 import b64encode
from collections.abc import Iterable
from typing import Any

DEPTH = 100
"""Levels of a value that are kept. SQLite reads 1,000, Python's own reader and writer fewer,
depending on who calls them; a chat completion has six."""
TOO_DEEP = "[nested too deep]"
REMOVED = "[key removed]"
DIGITS = 640
"""The longest whole number that every Python can turn into text and back."""
SECRET_LENGTH = 4
"""Keys and passwords shorter than this are left alone: they are syllables of replies."""
LONG_SECRET = 8
"""Shorter ones are removed only where they stand alone, so that no word loses its middle."""
PLACEHOLDERS = {"none", "null", "empty", "dummy", "fake", "test", "local", "ollama", "vllm"}
"""Keys of endpoints that want none; they are words of replies (`categories=none`)."""

_ACTING = re.compile(
    "[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff\ufeff]"
)
_ALONE = (
    r"(?:(?<![A-Za-z0-9])|(?<=%[0-9A-Fa-f]{2})|(?<=\\[nrtbf]))",
    r"(?![A-Za-z0-9])",
)


def loads(text: str) -> Any:
    """The JSON value of a text, with numbers that JSON can say again.

    Endpoints send NaN and Infinity (here None), `1e999` and whole numbers of any length
    (here their text): none of them is a reason to lose the reply around it.

    Raises:
        ValueError: it is no JSON, or nested deeper than can be read.
    """
    try:
        return json.loads(
            text.removeprefix("\ufeff"),
            parse_constant=lambda _name: None,
            parse_float=_real,
            parse_int=_whole,
        )
    except RecursionError as error:
        raise ValueError("nested too deep to be read") from error


def dumps(value: object) -> str:
    """A value of :func:`fit` as JSON in ASCII, which SQLite holds whatever the characters."""
    return json.dumps(value, ensure_ascii=True, allow_nan=False)


def visible(text: str) -> str:
    """The text with all that could act on a terminal or a line written out, as `\\x1b`."""
    return _ACTING.sub(lambda found: found[0].encode("unicode_escape").decode("ascii"), text)


class Secrets:
    """Keys and passwords that are to be kept nowhere."""

    def __init__(self, secrets: Iterable[str] = ()) -> None:
        known = {s for s in secrets if len(s) >= SECRET_LENGTH and s.lower() not in PLACEHOLDERS}
        known |= {_base64(secret) for secret in known}
        longest_first = sorted(known, key=lambda secret: (-len(secret), secret))
        self._plain = _any_of(_apart(secret, re.escape(secret)) for secret in longest_first)
        self._escaped = _any_of(_apart(s, "".join(map(_anyhow, s))) for s in longest_first)

    def clean(self, text: str) -> str:
        """The text without them: as they are, escaped as in JSON, percent-encoded, in base64."""
        escapes = "\\" in text or "%" in text
        found = self._escaped if escapes else self._plain
        return text if found is None else found.sub(REMOVED, text)

    def fit(self, value: Any, depth: int = DEPTH) -> Any:
        """A value of :func:`loads` without secrets in any string or name.

        What lies deeper than `depth` levels becomes a word that says so.
        """
        if isinstance(value, str):
            return self.clean(value)
        if not isinstance(value, dict | list):
            return value
        if depth == 0:
            return TOO_DEEP
        if isinstance(value, list):
            return [self.fit(part, depth - 1) for part in value]
        return {self.clean(name): self.fit(part, depth - 1) for name, part in value.items()}


def _real(text: str) -> float | str:
    value = float(text)
    return value if math.isfinite(value) else text


def _whole(text: str) -> int | str:
    return int(text) if len(text) <= DIGITS else text


def _base64(secret: str) -> str:
    """Without its padding, which an echo may have lost."""
    return b64encode(secret.encode("utf-8", "surrogatepass")).decode("ascii").rstrip("=")


def _apart(secret: str, pattern: str) -> str:
    return pattern if len(secret) >= LONG_SECRET else pattern.join(_ALONE)


def _any_of(patterns: Iterable[str]) -> re.Pattern[str] | None:
    joined = "|".join(f"(?:{pattern})" for pattern in patterns)
    return re.compile(joined) if joined else None


def _anyhow(character: str) -> str:
    """A pattern for one character of a secret in every writing that an error may quote it in."""
    # Several backslashes: JSON in a string of JSON; limited, or a long run would cost its square.
    units = character.encode("utf-16-be", "surrogatepass")
    escaped = "".join(
        rf"\\{{1,8}}u(?i:{units[at : at + 2].hex()})" for at in range(0, len(units), 2)
    )
    percent = "".join(f"%(?i:{byte:02x})" for byte in character.encode("utf-8", "surrogatepass"))
    return rf"(?:\\{{0,8}}{re.escape(character)}|{escaped}|{percent})"
