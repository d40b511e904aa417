"""Where each stored answer belongs, and what it says: for harm scores and collapse diagnostics."""

from __future__ import annotations

import json
from collections.abc import Iterator

from annotate.records import PromptSet, asked_of, turn_text, turns_from_json
from annotate.store import Store
from judge.stats.answer_labels import AnswerPlace
from judge.stats.collapse import Said


def answer_places(store: Store) -> dict[str, AnswerPlace]:
    """Every answer's place by its id."""
    return {
        answer: AnswerPlace(model, question, PromptSet(prompts), matched, asked)
        for answer, model, question, prompts, matched, asked, _turns in _rows(store)
    }


def said(store: Store) -> Iterator[Said]:
    """Every turn of every answer that was to be answered, one at a time; missing is empty."""
    for _answer, model, question, _prompts, _matched, asked, text in _rows(store):
        turns = turns_from_json(json.loads(text))
        for turn in asked:
            reply = turn_text(turns[turn - 1]) if turn <= len(turns) else ""
            yield Said(model, question, turn, reply)


def model_versions(store: Store) -> tuple[tuple[str, ...], ...]:
    """Models with several answer sets, each as the names of its versions, oldest first."""
    rows = store.conn.execute(
        f"SELECT DISTINCT m.name, {_NAME}, m.version FROM model m"
        " WHERE EXISTS (SELECT 1 FROM model n WHERE n.name = m.name AND n.version > 1)"
        " ORDER BY m.name, m.version"
    ).fetchall()
    found: dict[str, list[str]] = {}
    for name, shown, _version in rows:
        found.setdefault(name, []).append(shown)
    return tuple(tuple(versions) for versions in found.values())


def version_names(store: Store) -> dict[str, tuple[str, str | None]]:
    """Answer or pair → its models' names with their versions, where any has several; else nothing.

    A rerun under one name is another model (DESIGN §2): its answers must not count as the first's.
    """
    if not model_versions(store):
        return {}
    answers = {row[0]: row[1] for row in _rows(store)}
    several = {name for chain in model_versions(store) for name in chain}
    found: dict[str, tuple[str, str | None]] = {
        answer: (name, None) for answer, name in answers.items() if name in several
    }
    pairs = "SELECT id, answer_a, answer_b FROM pair WHERE answer_a IS NOT NULL"
    for pair, a, b in store.conn.execute(pairs):
        if answers[a] in several or answers[b] in several:
            found[pair] = answers[a], answers[b]
    return found


_NAME = (
    "iif(EXISTS (SELECT 1 FROM model n WHERE n.name = m.name AND n.version > 1),"
    " m.name || ' (version ' || m.version || ')', m.name)"
)
"""SQL: a model's name, with its version where there are several of one name."""


def _rows(
    store: Store,
) -> Iterator[tuple[str, str, str, str, str, tuple[int, ...], str]]:
    rows = store.conn.execute(
        f"SELECT a.id, {_NAME}, q.benchmark, q.question_id, q.prompt_set, q.matched, q.turns,"
        " a.turns FROM answer a JOIN question q ON q.id = a.question"
        " JOIN model m ON m.id = a.model ORDER BY q.benchmark, q.question_id, m.name, m.version"
    )
    for answer, model, benchmark, question, prompts, matched, asked, given in rows:
        turns = turns_from_json(json.loads(asked)) if asked else ()
        group = f"{benchmark}\x1f{matched}" if matched else ""
        yield (
            answer,
            model,
            f"{benchmark}\x1f{question}",
            prompts,
            group,
            tuple(asked_of(turns)),
            given,
        )
