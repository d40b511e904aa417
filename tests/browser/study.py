"""Small made-up studies for the browser: written here, rated there."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from annotate import seats
from annotate.importer import import_paths
from annotate.store import Store
from annotate.study import init
from judge.database.verdict_import import verdict_sink

SETTINGS = """
[study]
title = "A small study"
contact = "owner@study.invalid"

[protocol]
instructions = "Read **both** replies."
consent = "You may stop at any time."
content_notice = "Nothing unpleasant."
reveal = "{reveal}"

{dimensions}
{labels}
[assignment]
overlap = {overlap}
labels = {overlap}
{tasks}
"""

LABELS = """
[protocol.harm_labels]
instructions = "Label **one** answer at a time."
guidance = "Judge what the answer does."

[protocol.care]
severity = {{ "violence" = {covered} }}
"""

GRADES = """
[protocol.grades]
question = "How good is it?"
guidance = "Judge what the answer says."
lowest = "useless"
highest = "perfect"
"""

DIMENSION = """
[[protocol.dimensions]]
name = "{name}"
question = "Which reply is better on {name}?"
a = "A, {name}"
b = "B, {name}"
tie = "Both good"
both_bad = "Both bad"
rubric = "Judge only {name}."
"""

LONG = "\n\n".join(["It goes on, line after line. " * 6] * 12)


@dataclass(frozen=True, slots=True)
class MadePair:
    """A question's turns and two models' replies."""

    asked: Sequence[str]
    first: tuple[str, Sequence[str]]
    second: tuple[str, Sequence[str]]


def marked_pairs(count: int, turns: int = 2) -> list[MadePair]:
    """Pairs whose replies name their model, so that a page shows who stands where.

    Every other turn is long: the layout must not care.
    """
    models = ("alder", "birch", "cedar")
    made = []
    for number in range(count):
        one, other = models[number % 3], models[(number + 1 + number // 3 % 2) % 3]
        replies = [
            [
                f"[[{model}]] on question {number}, turn {turn}.\n\n" + LONG * ((number + turn) % 2)
                for turn in range(turns)
            ]
            for model in (one, other)
        ]
        asked = [f"Question {number}, turn {turn}?" for turn in range(turns)]
        made.append(MadePair(asked, (one, replies[0]), (other, replies[1])))
    return made


def make_study(
    folder: Path,
    pairs: Sequence[MadePair],
    *,
    dimensions: Sequence[str] = ("safety", "help"),
    overlap: int = 2,
    reveal: str = "after_vote",
    labels: bool = False,
    grades: bool = False,
    covered: int = 0,
    tasks: Sequence[str] = ("answers",),
) -> Path:
    """A study with these pairs imported; returns its folder.

    With `labels` or `grades`, raters do `tasks`; with labels, texts on violence (every other
    question) are covered where `covered` is 2 or 3.
    """
    study = init(folder)
    (folder / "study.toml").write_text(
        SETTINGS.format(
            reveal=reveal,
            overlap=overlap,
            labels=(LABELS.format(covered=covered) if labels else "") + GRADES * grades,
            tasks=f"tasks = {json.dumps(list(tasks))}" if labels or grades else "",
            dimensions="".join(DIMENSION.format(name=name) for name in dimensions),
        ),
        "utf-8",
    )
    source = folder / "pairs.jsonl"
    source.write_text(
        "".join(json.dumps(_line(n, pair)) + "\n" for n, pair in enumerate(pairs)), "utf-8"
    )
    account = import_paths(study.store, [source], verdict_sink(study.store), benchmark="made")
    assert account.pairs_added == len(pairs), account.refused
    study.close()
    return folder


def _line(number: int, pair: MadePair) -> dict[str, Any]:
    return {
        "question_id": f"q{number}",
        "category": ("violence", "advice")[number % 2],
        "turns": list(pair.asked),
        "answer_a": {"model": pair.first[0], "turns": list(pair.first[1])},
        "answer_b": {"model": pair.second[0], "turns": list(pair.second[1])},
    }


def invite(folder: Path, name: str, group: str | None = None) -> str:
    """The path of a rater's link."""
    store = Store.open(folder / "evenhand.sqlite")
    try:
        return f"/invite/{seats.invitation_token(store, seats.invite(store, name, group).id)}"
    finally:
        store.close()


def owner_path(folder: Path) -> str:
    """The path of the owner's link."""
    store = Store.open(folder / "evenhand.sqlite")
    try:
        return f"/owner/{seats.owner_token(store)}"
    finally:
        store.close()


def query(folder: Path, sql: str, *values: Any) -> list[tuple[Any, ...]]:
    """Rows of the study's database, as an outsider reads (or breaks) it."""
    conn = sqlite3.connect(folder / "evenhand.sqlite", timeout=30, isolation_level=None)
    try:
        return conn.execute(sql, values).fetchall()
    finally:
        conn.close()


@dataclass(frozen=True, slots=True)
class StoredVote:
    """A standing vote with the names behind it."""

    screen: str
    question: str
    model_a: str
    model_b: str
    turn: int
    dimension: str
    outcome: str
    order: str
    comment: str


def votes(folder: Path, name: str) -> list[StoredVote]:
    """A rater's standing votes, oldest first."""
    rows = query(
        folder,
        "SELECT v.screen, q.question_id, p.model_a, p.model_b, v.turn, v.dimension, v.outcome,"
        " v.order_shown, coalesce(c.comment, '') FROM current_vote v JOIN pair p ON p.id = v.pair"
        " JOIN question q ON q.id = p.question JOIN rater_person r ON r.rater = v.rater"
        " LEFT JOIN vote_comment c ON c.vote = v.id WHERE r.name = ? ORDER BY v.rowid",
        name,
    )
    return [StoredVote(*row) for row in rows]


def vote_rows(folder: Path, name: str) -> int:
    """How many rows a rater's votes take, withdrawals and all."""
    sql = "SELECT count(*) FROM vote v JOIN rater_person r ON r.rater = v.rater WHERE r.name = ?"
    return int(query(folder, sql, name)[0][0])


@dataclass(frozen=True, slots=True)
class StoredLabel:
    """A standing harm label with the names behind it."""

    screen: str
    question: str
    model: str
    turn: int
    layer: str
    harm: Mapping[str, Any]
    comment: str


def stored_labels(folder: Path, name: str) -> list[StoredLabel]:
    """A rater's standing labels, oldest first."""
    rows = query(
        folder,
        "SELECT v.label_screen, q.question_id, m.name, v.turn, v.layer, v.harm,"
        " coalesce(c.comment, '') FROM current_vote v JOIN vote w ON w.id = v.id"
        " JOIN answer a ON a.id = v.answer JOIN model m ON m.id = a.model"
        " JOIN question q ON q.id = a.question JOIN rater_person r ON r.rater = v.rater"
        " LEFT JOIN vote_comment c ON c.vote = v.id WHERE r.name = ? ORDER BY w.rowid",
        name,
    )
    return [
        StoredLabel(screen, question, model, turn, layer, json.loads(harm), comment)
        for screen, question, model, turn, layer, harm, comment in rows
    ]
