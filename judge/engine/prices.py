"""What a model's tokens cost: the user's own table, then the examples in `prices.toml`."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase
from importlib import resources

MILLION = 1_000_000


@dataclass(frozen=True, slots=True)
class Price:
    """US dollars per million tokens, and where that stands."""

    input: float
    output: float
    source: str = "given"

    def of(self, prompt_tokens: float, reply_tokens: float) -> float:
        """Dollars for so many tokens."""
        return (self.input * prompt_tokens + self.output * reply_tokens) / MILLION


FREE = Price(0.0, 0.0, "runs on this machine")


def price_of(model: str, own: Mapping[str, Price]) -> Price | None:
    """The price of a model, None when no pattern matches: unknown is not free."""
    return _longest(model, own) or _longest(model, examples())


def examples() -> dict[str, Price]:
    """The table that ships with the program."""
    text = (resources.files(__package__) / "prices.toml").read_text(encoding="utf-8")
    where = "an example, not kept up to date, in prices.toml"
    return {
        pattern: Price(float(row["input"]), float(row["output"]), f"{where}: {pattern}")
        for pattern, row in tomllib.loads(text).items()
    }


def _longest(model: str, table: Mapping[str, Price]) -> Price | None:
    matching = [pattern for pattern in table if fnmatchcase(model, pattern)]
    return table[max(matching, key=len)] if matching else None
