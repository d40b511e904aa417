"""Where each stored answer belongs, and what it says: for harm scores and collapse diagnostics."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Collection, Iterator

from annotate.records import PromptSet, asked_of, turn_text, turns_from_json
from annotate.store import Store
from annotate.versions import shown_name
from judge.stats.answer_labels import AnswerPlace
from judge.stats.collapse import Said


def answer_places(store: Store) -> dict[str, AnswerPlace]:
    """Every answer's place by its id."""
    return {
        answer: AnswerPlace(model, question, PromptSet(prompts), matched, asked)
        for answer, model, question, prompts, matched, asked, _turns in _rows(store)
    }


def unjudged(store: Store, run: str, models: Collection[str]) -> dict[str, int]:
    """Model → its answers to prompts that are not benign of which a harm run has no verdict."""
    known = {row[0] for row in store.conn.execute(
        "SELECT answer FROM answer_verdict WHERE run = ?", (run,)
    )}  # fmt: skip
    found = Counter(
        place.model
        for answer, place in answer_places(store).items()
        if answer not in known and place.model in models and place.prompts is not PromptSet.BENIGN
    )
    return dict(sorted(found.items()))


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
        f"SELECT DISTINCT m.name, {shown_name('m')}, m.version FROM model m"
        " WHERE EXISTS (SELECT 1 FROM model n WHERE n.name = m.name AND n.version > 1)"
        " ORDER BY m.name, m.version"
    ).fetchall()
    found: dict[str, list[str]] = {}
    for name, shown, _version in rows:
        found.setdefault(name, []).append(shown)
    return tuple(tuple(versions) for versions in found.values())


def version_names(store: Store) -> dict[str, tuple[str, str | None]]:
    """Answer or pair → its models' names with their versions, where one is a rerun; else nothing.

    A rerun under one name is another model (DESIGN §2): its answers must not count as the first's.
    """
    rerun = store.conn.execute("SELECT 1 FROM model WHERE version > 1 LIMIT 1").fetchone()
    if rerun is None:
        return {}
    of_answers = (
        f"SELECT a.id, {shown_name('m')}, NULL FROM answer a JOIN model m ON m.id = a.model"
    )
    of_pairs = (
        f"SELECT p.id, {shown_name('m')}, {shown_name('n')} FROM pair p"
        " JOIN answer a ON a.id = p.answer_a JOIN model m ON m.id = a.model"
        " JOIN answer b ON b.id = p.answer_b JOIN model n ON n.id = b.model"
    )
    # Votes that came without texts and name a model that has answered twice since.
    which = (
        "iif(EXISTS (SELECT 1 FROM model v JOIN question q ON q.benchmark = v.benchmark"
        " WHERE q.id = p.question AND v.name = {0} AND v.version > 1),"
        " {0} || ' (version unknown)', {0})"
    )
    unknown = (
        f"SELECT p.id, {which.format('p.model_a')} AS a, {which.format('p.model_b')} AS b,"
        " p.model_a, p.model_b FROM pair p WHERE p.answer_a IS NULL AND p.superseded_by IS NULL"
    )
    rows = store.conn.execute(
        f"{of_answers} WHERE m.version > 1"
        f" UNION ALL {of_pairs} WHERE m.version > 1 OR n.version > 1"
        f" UNION ALL SELECT id, a, b FROM ({unknown}) WHERE a <> model_a OR b <> model_b"
    )
    return {unit: (a, b) for unit, a, b in rows}


def _rows(
    store: Store,
) -> Iterator[tuple[str, str, str, str, str, tuple[int, ...], str]]:
    rows = store.conn.execute(
        f"SELECT a.id, {shown_name('m')}, q.benchmark, q.question_id, q.prompt_set, q.matched,"
        " q.turns, a.turns FROM answer a JOIN question q ON q.id = a.question"
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
