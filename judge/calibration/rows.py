"""Rows of the tidy table as items of a set: their ids, their questions, the set's name."""

from __future__ import annotations

from collections.abc import Iterable

import pandas as pd

from annotate.records import digest

APART = "\x1f"
"""Between a benchmark and its question: a character that no name has."""


def unit_turn(rows: pd.DataFrame) -> pd.Series[str]:
    """The id of each row's unit at its turn."""
    return rows["unit_id"].astype(str) + ":" + rows["turn"].astype(str)


def question_of(rows: pd.DataFrame) -> pd.Series[str]:
    """The question of each row, with its benchmark."""
    benchmark = rows["benchmark"].fillna("") if "benchmark" in rows else ""
    return benchmark + APART + rows["question_id"].astype(str)


def question_words(question: str) -> str:
    """One of :func:`question_of` as people read it: benchmark/question."""
    return question.replace(APART, "/").lstrip("/")


def set_name(ids: Iterable[str]) -> str:
    """A name that changes whenever an item joins or leaves the set."""
    return digest(sorted(ids))[:16]


def tally(words: Iterable[object]) -> dict[str, int]:
    """How often each word stands there, in order of words."""
    counts: dict[str, int] = {}
    for word in map(str, words):
        counts[word] = counts.get(word, 0) + 1
    return dict(sorted(counts.items()))
