"""Models named inside the texts: found before serving, not after the vote.

A reply that says who wrote it breaks blindness whatever the page does. Such texts are
listed; the study keeps them (and says so) or excludes their pairs.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from .records import turns_from_json
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


# Parts of names that say what a model is for, and are words of every text.
GENERIC = {
    "alpha", "assistant", "base", "beta", "chat", "code", "coder", "distill", "instruct", "large",
    "lite", "math", "medium", "micro", "mini", "model", "nano", "open", "plus", "preview", "pro",
    "sft", "small", "text", "tiny", "turbo", "ultra", "vision",
}  # fmt: skip
MAKERS = ("Anthropic", "ChatGPT", "DeepMind", "OpenAI")


def patterns(names: Iterable[str]) -> re.Pattern[str] | None:
    """Matches any of the names, a family word in one ("claude" of "claude-v1"), or a maker.

    Numbers, parts under three letters and generic parts ("chat", "instruct") are no family.
    """
    words: set[str] = set()
    for name in names:
        words.add(name)
        parts = re.split(r"[^A-Za-z]+", name)
        words |= {part for part in parts if len(part) >= 3 and part.lower() not in GENERIC}
    if not words:
        return None
    longest_first = sorted({*words, *MAKERS}, key=lambda w: (-len(w), w))
    inner = "|".join(re.escape(word) for word in longest_first)
    return re.compile(rf"(?<![\w])(?:{inner})(?![\w])", re.IGNORECASE)


def scan(store: Store) -> Iterator[Mention]:
    """Every mention in every pair that has text (excluded ones too)."""
    names = [row[0] for row in store.conn.execute("SELECT DISTINCT name FROM model")]
    pattern = patterns(names)
    if pattern is None:
        return
    with store.snapshot() as conn:
        asked = _found(pattern, conn.execute("SELECT id, turns FROM question"))
        answered = _found(pattern, conn.execute("SELECT id, turns FROM answer"))
        if not asked and not answered:
            return
        rows = conn.execute(
            "SELECT p.id, q.id, q.question_id, p.answer_a, p.model_a, p.answer_b, p.model_b"
            " FROM pair p JOIN question q ON q.id = p.question WHERE p.answer_a IS NOT NULL"
        ).fetchall()
    for pair, question, number, answer_a, model_a, answer_b, model_b in rows:
        for where, words in (
            ("question", asked.get(question, ())),
            (f"answer of {model_a}", answered.get(answer_a, ())),
            (f"answer of {model_b}", answered.get(answer_b, ())),
        ):
            for word in words:
                yield Mention(pair, number, where, word)


def _found(
    pattern: re.Pattern[str], rows: Iterable[tuple[str, str | None]]
) -> dict[str, tuple[str, ...]]:
    """Row id → the words found in its texts, for rows where any was."""
    found = {}
    for row_id, turns in rows:
        if turns:
            messages = (m.content for turn in turns_from_json(json.loads(turns)) for m in turn)
            words = {match.group(0) for match in pattern.finditer("\n".join(messages))}
            if words:
                found[row_id] = tuple(sorted(words))
    return found


def leaking_answers(store: Store) -> set[str]:
    """The rows of answers that name a model, themselves or by their question."""
    pattern = patterns(row[0] for row in store.conn.execute("SELECT DISTINCT name FROM model"))
    if pattern is None:
        return set()
    with store.snapshot() as conn:
        asked = _found(pattern, conn.execute("SELECT id, turns FROM question"))
        answered = _found(pattern, conn.execute("SELECT id, turns FROM answer"))
        rows = conn.execute("SELECT id, question FROM answer").fetchall()
    return {answer for answer, question in rows if answer in answered or question in asked}


def apply_policy(store: Store, settings: AssignmentSection) -> int:
    """Exclude pairs and answers whose texts name a model, or take them back; returns how many
    pairs are out.
    """
    exclude = settings.identity_leaks == "exclude"
    pairs = {mention.pair for mention in scan(store)} if exclude else set[str]()
    answers = leaking_answers(store) if exclude else set[str]()
    sql = (
        "SELECT id FROM pair WHERE excluded = ?",
        "SELECT answer FROM answer_excluded WHERE reason = ?",
    )
    marked, held_back = ({r[0] for r in store.conn.execute(one, (EXCLUDED,))} for one in sql)
    if (pairs, answers) == (marked, held_back):
        return len(pairs)
    with store.write() as conn:
        conn.executemany(
            "UPDATE pair SET excluded = NULL WHERE id = ?", [(pair,) for pair in marked - pairs]
        )
        conn.executemany(
            "UPDATE pair SET excluded = ? WHERE id = ? AND excluded IS NULL",
            [(EXCLUDED, pair) for pair in pairs - marked],
        )
        conn.executemany(
            "DELETE FROM answer_excluded WHERE answer = ?", [(a,) for a in held_back - answers]
        )
        conn.executemany(
            "INSERT OR IGNORE INTO answer_excluded (answer, reason) VALUES (?, ?)",
            [(answer, EXCLUDED) for answer in answers - held_back],
        )
        body = {"excluded": sorted(pairs), "answers": sorted(answers)}
        store.log(conn, "identity_policy", settings.identity_leaks, body)
    return len(pairs)
