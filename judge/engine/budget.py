"""What calls may use, and caps that hold: nothing is sent that could exceed them.

The tokens of a text are known only to the model, so they are bounded: a byte-level
tokeniser never makes more tokens than bytes. A call reserves its bound before it is sent;
what it really used replaces that when the reply says so.

Pure: no database, endpoint or command line.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from judge.engine.adapt import budget
from judge.engine.prices import Price

LEAST_BYTES, USUAL_BYTES, MOST_BYTES = 2, 4, 6
"""Bytes per token: scripts that tokenise badly, the usual, plain English at its best."""
PER_MESSAGE = 16
"""Tokens that a chat template adds to a message, at most."""


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens in and out."""

    prompt: int = 0
    reply: int = 0

    def __add__(self, other: Usage) -> Usage:
        return Usage(self.prompt + other.prompt, self.reply + other.reply)

    def __sub__(self, other: Usage) -> Usage:
        return Usage(self.prompt - other.prompt, self.reply - other.reply)

    @property
    def total(self) -> int:
        """All of them."""
        return self.prompt + self.reply


@dataclass(frozen=True, slots=True)
class Caps:
    """What a run may use over all its starts; None is no cap. Dollars need a price."""

    usd: float | None = None
    tokens: int | None = None
    price: Price | None = None

    def allow(self, usage: Usage) -> bool:
        """Whether so much stays within the caps."""
        if self.tokens is not None and usage.total > self.tokens:
            return False
        return self.usd is None or (self.cost(usage) or 0.0) <= self.usd

    def cost(self, usage: Usage) -> float | None:
        """Dollars, None when the price is unknown."""
        return None if self.price is None else self.price.of(usage.prompt, usage.reply)

    def __bool__(self) -> bool:
        return self.usd is not None or self.tokens is not None


class Purse:
    """What has been used and what calls in flight may still use."""

    def __init__(self, caps: Caps, spent: Usage) -> None:
        self.caps, self.spent, self.reserved = caps, spent, Usage()

    def reserve(self, most: Usage) -> bool:
        """Set aside what a call could use; False if that could exceed a cap."""
        wanted = self.reserved + most
        if self.caps and not self.caps.allow(self.spent + wanted):
            return False
        self.reserved = wanted
        return True

    def settle(self, most: Usage, used: Usage) -> None:
        """Replace what was set aside by what was used."""
        self.reserved -= most
        self.spent += used


def bound(sent: Mapping[str, Any]) -> Usage:
    """The most tokens that a call can use; `reply` counts 0 if the body sets no limit."""
    size, messages = text_bytes(sent)
    return Usage(size + PER_MESSAGE * (messages + 1), budget(sent) or 0)


def likely(sent: Mapping[str, Any]) -> tuple[Usage, Usage]:
    """The range in which a call's tokens will lie."""
    size, messages = text_bytes(sent)
    most = bound(sent)
    return (
        Usage(size // MOST_BYTES, min(1, most.reply)),
        Usage(size // LEAST_BYTES + PER_MESSAGE * (messages + 1), most.reply),
    )


def guess(sent: Mapping[str, Any]) -> Usage:
    """A call's tokens as rate limits count them before it is made."""
    return Usage(text_bytes(sent)[0] // USUAL_BYTES, budget(sent) or 0)


def text_bytes(sent: Mapping[str, Any]) -> tuple[int, int]:
    """UTF-8 bytes of all messages, and how many messages there are."""
    messages = sent.get("messages", [])
    return sum(len(m["content"].encode("utf-8", "replace")) for m in messages), len(messages)
