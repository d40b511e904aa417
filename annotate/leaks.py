"""Models named inside the texts: found before serving, not after the vote.

A reply that says who wrote it breaks blindness whatever the page does. Such texts are
listed; the study keeps them (and says so) or excludes their pairs.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from . import library
from .records import Turn
from .store import Store
from .study import AssignmentSection

EXCLUDED = "identity"


@dataclass(frozen=True, slots=True)
class Mention:
    """A model's name, or the family part of it, inside a text of a pair."""

    pair: str
    question_id: str
    where: str
    word: str


def patterns(names: Iterable[str]) -> re.Pattern[str] | None:
    """Matches any of the names, or a family word in one ("claude" of "claude-v1").

    Numbers and short parts of a name ("v1", "13b") are no family: they match everywhere.
    """
    words: set[str] = set()
    for name in names:
        words.add(name)
        words |= {part for part in re.split(r"[^A-Za-z]+", name) if len(part) >= 4}
    if not words:
        return None
    longest_first = sorted(words, key=lambda w: (-len(w), w))
    inner = "|".join(re.escape(word) for word in longest_first)
    return re.compile(rf"(?<![\w])(?:{inner})(?![\w])", re.IGNORECASE)


def scan(store: Store) -> Iterator[Mention]:
    """Every mention in every pair that has text (excluded ones too)."""
    names = [row[0] for row in store.conn.execute("SELECT DISTINCT name FROM model")]
    pattern = patterns(names)
    if pattern is None:
        return
    found: dict[str, tuple[str, ...]] = {}
    for pair in library.pairs(store, excluded=True):
        parts = (
            ("question", pair.question.turns),
            (f"answer of {pair.a.model}", pair.a.turns),
            (f"answer of {pair.b.model}", pair.b.turns),
        )
        for where, turns in parts:
            key = f"{pair.question.id}|{where}|{hash(turns)}"
            if key not in found:
                found[key] = _words(pattern, turns or ())
            for word in found[key]:
                yield Mention(pair.id, pair.question.key.question_id, where, word)


def _words(pattern: re.Pattern[str], turns: tuple[Turn, ...]) -> tuple[str, ...]:
    text = "\n".join(message.content for turn in turns for message in turn)
    return tuple(sorted({match.group(0) for match in pattern.finditer(text)}))


def apply_policy(store: Store, settings: AssignmentSection) -> int:
    """Exclude pairs whose texts name a model, or take them back; returns how many are out."""
    out = (
        {mention.pair for mention in scan(store)}
        if settings.identity_leaks == "exclude"
        else set[str]()
    )
    marked = {
        row[0] for row in store.conn.execute("SELECT id FROM pair WHERE excluded = ?", (EXCLUDED,))
    }
    if out == marked:
        return len(out)
    with store.write() as conn:
        conn.executemany(
            "UPDATE pair SET excluded = NULL WHERE id = ?", [(pair,) for pair in marked - out]
        )
        conn.executemany(
            "UPDATE pair SET excluded = ? WHERE id = ? AND excluded IS NULL",
            [(EXCLUDED, pair) for pair in out - marked],
        )
        store.log(conn, "identity_policy", settings.identity_leaks, {"excluded": sorted(out)})
    return len(out)
