"""Questions, answers, references and pairs in the store: what is shown and judged.

Adding is idempotent: everything has an id that is a function of its content. Each
`add_*` runs inside the caller's transaction and says what it did.
"""

from __future__ import annotations

import hashlib
import json
import sqlite3
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum

from .errors import DataError
from .records import (
    INLINE,
    Answer,
    Pair,
    Question,
    QuestionKey,
    Reference,
    Turn,
    canonical_json,
    digest,
    stable_id,
    turns_from_json,
    turns_to_json,
)
from .store import Store, now
from .versions import shown_name


class Added(StrEnum):
    """What adding a record did."""

    NEW = "imported"
    MERGED = "merged"
    """The same record was there already; nothing changed."""


@dataclass(frozen=True, slots=True)
class StoredPair:
    """A pair with its texts as they are shown; `draw_order` fixes the plan."""

    id: str
    question: Question
    a: Answer
    b: Answer
    draw_order: int


@dataclass(frozen=True, slots=True)
class StoredAnswer:
    """One answer with its question; `id` is its row's."""

    id: str
    question: Question
    answer: Answer


def add_question(conn: sqlite3.Connection, question: Question) -> Added:
    """Store a question, or fill in what was not known of it: text, category, prompt set.

    Raises:
        DataError: the same (benchmark, question_id) is stored with other turns, or marked as
            another kind of prompt.
    """
    row = conn.execute(
        "SELECT turns, category, prompt_set, matched FROM question WHERE id = ?", (question.id,)
    ).fetchone()
    turns = None if question.turns is None else canonical_json(turns_to_json(question.turns))
    if row is None:
        conn.execute(
            "INSERT INTO question"
            " (id, benchmark, question_id, category, turns, prompt_set, matched)"
            " VALUES (?, ?, ?, ?, ?, ?, ?)",
            (
                question.id,
                question.key.benchmark,
                question.key.question_id,
                question.category,
                turns,
                question.prompt_set,
                question.matched,
            ),
        )
        return Added.NEW
    if turns is not None and row[0] not in (None, turns):
        raise DataError(
            f"question {question.key.question_id} of {question.key.benchmark} is stored with other"
            " turns; give the changed set its own benchmark name"
        )
    _mark(conn, question, row[2], row[3])
    if turns is not None and row[0] is None:
        conn.execute(
            "UPDATE question SET turns = ?, category = ? WHERE id = ?",
            (turns, question.category or row[1], question.id),
        )
        return Added.NEW
    if question.category and not row[1]:
        conn.execute(
            "UPDATE question SET category = ? WHERE id = ?", (question.category, question.id)
        )
    return Added.MERGED


def _mark(conn: sqlite3.Connection, question: Question, prompt_set: str, matched: str) -> None:
    """Fill in what kind of prompt it is; scores rest on it, so it is never changed."""
    for name, stored, found in (
        ("prompt_set", prompt_set, question.prompt_set),
        ("matched", matched, question.matched),
    ):
        if stored and found and stored != found:
            raise DataError(
                f"question {question.key.question_id} of {question.key.benchmark} is stored with"
                f" {name} {stored!r}, found {str(found)!r}; give the changed set its own benchmark"
                " name"
            )
        if found and not stored:
            conn.execute(f"UPDATE question SET {name} = ? WHERE id = ?", (found, question.id))


def prompt_marks(store: Store) -> dict[tuple[str, str], tuple[str, str]]:
    """(prompt set, matched) of each marked question, by (benchmark, question_id)."""
    rows = store.conn.execute(
        "SELECT benchmark, question_id, prompt_set, matched FROM question"
        " WHERE prompt_set <> '' OR matched <> ''"
    )
    return {(row[0], row[1]): (row[2], row[3]) for row in rows}


def add_reference(conn: sqlite3.Connection, reference: Reference) -> Added:
    """Store a reference solution; the newest one of a question is the one in use.

    Raises:
        DataError: the question is unknown, or known from labels only.
    """
    question = Question(reference.key).id
    known = conn.execute(
        "SELECT 1 FROM question WHERE id = ? AND turns IS NOT NULL", (question,)
    ).fetchone()
    if known is None:
        raise DataError(f"reference for unknown question {reference.key.question_id}")
    inserted = conn.execute(
        "INSERT OR IGNORE INTO reference (id, question, source, hash, turns, created_at)"
        " VALUES (?, ?, ?, ?, ?, ?)",
        (
            reference_id(reference),
            question,
            reference.source,
            reference.hash,
            canonical_json(list(reference.turns)),
            now(),
        ),
    )
    return Added.NEW if inserted.rowcount else Added.MERGED


def reference_id(reference: Reference) -> str:
    """Id of a reference's row: its question, text and source."""
    question = Question(reference.key).id
    return stable_id("reference", question, reference.hash, reference.source)


def question(conn: sqlite3.Connection, key: QuestionKey) -> Question | None:
    """A stored question; `turns` is None when it is known from labels only."""
    row = conn.execute(
        "SELECT category, turns FROM question WHERE id = ?", (Question(key).id,)
    ).fetchone()
    if row is None:
        return None
    return Question(key, row[0], None if row[1] is None else turns_from_json(json.loads(row[1])))


def question_digest(turns: tuple[Turn, ...]) -> str:
    """SHA-256 of a question's turns, as its import recorded it."""
    return digest(turns_to_json(turns))


def add_answers(
    conn: sqlite3.Connection, benchmark: str, name: str, answers: Sequence[Answer]
) -> dict[str, Added]:
    """Store one model's answer set; returns what happened per answer id.

    The set joins the newest version of the model that contradicts none of its answers
    (so a repaired or longer file extends its version); otherwise it is a new version.
    """
    stored = _versions(conn, benchmark, name)
    hashes = {Question(a.key).id: a.hash for a in answers}
    agreeing = [v for v in stored if all(v[1].get(q, h) == h for q, h in hashes.items())]
    known: dict[str, str | None] = {}
    if agreeing:
        model_id, known = agreeing[-1]
    else:
        model_id = stable_id("model", benchmark, name, str(len(stored) + 1), _set_hash(hashes))
        conn.execute(
            "INSERT INTO model (id, benchmark, name, version, answer_set_hash, created_at)"
            " VALUES (?, ?, ?, ?, ?, ?)",
            (model_id, benchmark, name, len(stored) + 1, _set_hash(hashes), now()),
        )
    done: dict[str, Added] = {}
    for answer in answers:
        question = Question(answer.key).id
        if question in known:
            done[answer.id] = Added.MERGED
            continue
        conn.execute(
            "INSERT INTO answer (id, question, model, hash, turns) VALUES (?, ?, ?, ?, ?)",
            (
                answer_row_id(answer, model_id),
                question,
                model_id,
                answer.hash,
                canonical_json(turns_to_json(answer.turns or ())),
            ),
        )
        done[answer.id] = Added.NEW
    if Added.NEW in done.values():
        conn.execute(
            "UPDATE model SET answer_set_hash = ? WHERE id = ?",
            (_set_hash({**known, **hashes}), model_id),
        )
    return done


def begins(conn: sqlite3.Connection, answer: Answer) -> bool:
    """Whether a longer answer is stored that this one is the beginning of: none of its own."""
    rows = conn.execute(
        "SELECT a.turns FROM answer a JOIN model m ON m.id = a.model"
        " WHERE a.question = ? AND m.name = ?",
        (Question(answer.key).id, answer.model),
    )
    said = answer.turns or ()
    stored = (turns_from_json(json.loads(row[0])) for row in rows)
    return any(len(said) < len(known) and known[: len(said)] == said for known in stored)


def answer_row_id(answer: Answer, model_id: str) -> str:
    """Id of an answer's row: unlike `Answer.id` it tells two versions with one text apart."""
    return stable_id("answer", answer.id, model_id)


def _versions(
    conn: sqlite3.Connection, benchmark: str, name: str
) -> list[tuple[str, dict[str, str | None]]]:
    """(model id, {question id: answer hash}) of every version of a name, oldest first."""
    versions = conn.execute(
        "SELECT id FROM model WHERE benchmark = ? AND name = ? ORDER BY version", (benchmark, name)
    ).fetchall()
    return [
        (
            model_id,
            dict(
                conn.execute(
                    "SELECT question, hash FROM answer WHERE model = ?", (model_id,)
                ).fetchall()
            ),
        )
        for (model_id,) in versions
    ]


def _set_hash(hashes: dict[str, str | None]) -> str:
    """SHA-256 over (question id, answer hash), whatever the order of the file."""
    return digest(sorted(hashes.items()))


def build_pairs(
    conn: sqlite3.Connection,
    study_id: str,
    wanted: Callable[[Answer, Answer], bool] = lambda _one, _other: True,
) -> int:
    """Make every missing pair of two stored answers that is wanted; returns how many.

    A label-only pair of the same two names is superseded by the pair with text, so that its
    votes and verdicts follow; it waits where two versions of a model could be meant.
    """
    added = 0
    by_question: dict[str, list[tuple[str, Answer]]] = {}
    for row_id, answer in _answers(conn):
        by_question.setdefault(Question(answer.key).id, []).append((row_id, answer))
    existing = {row[0] for row in conn.execute("SELECT id FROM pair WHERE answer_a IS NOT NULL")}
    for question, answers in by_question.items():
        for index, (one_row, one) in enumerate(answers):
            for other_row, other in answers[index + 1 :]:
                if (one.model, one.hash) == (other.model, other.hash) or not wanted(one, other):
                    continue
                pair = Pair.of(one, other)
                if pair.id in existing:
                    continue
                existing.add(pair.id)
                rows = (one_row, other_row) if pair.a is one else (other_row, one_row)
                insert_pair(conn, study_id, question, pair, rows)
                added += 1
    if added:
        conn.execute(_SUPERSEDE)
    return added


_SUPERSEDE = """
UPDATE pair SET superseded_by = (
  SELECT t.id FROM pair t WHERE t.question = pair.question AND t.model_a = pair.model_a
    AND t.model_b = pair.model_b AND t.answer_a IS NOT NULL)
WHERE answer_a IS NULL AND superseded_by IS NULL AND 1 = (
  SELECT count(*) FROM pair t WHERE t.question = pair.question AND t.model_a = pair.model_a
    AND t.model_b = pair.model_b AND t.answer_a IS NOT NULL)
"""


def insert_pair(
    conn: sqlite3.Connection,
    study_id: str,
    question: str,
    pair: Pair,
    rows: tuple[str | None, str | None],
) -> None:
    """Store a pair that is not there yet; `rows` are its answers', or None of labels alone."""
    conn.execute(
        "INSERT OR IGNORE INTO pair"
        " (id, question, model_a, model_b, answer_a, answer_b, draw_order)"
        " VALUES (?, ?, ?, ?, ?, ?, ?)",
        (pair.id, question, pair.a.model, pair.b.model, *rows, draw_order(study_id, pair.id)),
    )


def draw_order(study_id: str, pair_id: str) -> int:
    """A pair's place in the study's random order: fixed, whatever is imported later."""
    return int.from_bytes(hashlib.sha256(f"{study_id}|{pair_id}".encode()).digest()[:6], "big")


def _answers(conn: sqlite3.Connection) -> Iterator[tuple[str, Answer]]:
    """(row id, answer) of every stored answer, in a fixed order."""
    for row in conn.execute(
        "SELECT a.id, q.benchmark, q.question_id, m.name, a.turns FROM answer a"
        " JOIN question q ON q.id = a.question JOIN model m ON m.id = a.model"
        " ORDER BY q.benchmark, q.question_id, m.name, m.version"
    ):
        key = QuestionKey(row[1], row[2])
        yield row[0], Answer(key, row[3], turns_from_json(json.loads(row[4])))


def pairs(
    store: Store,
    *,
    limit: int | None = None,
    ids: Iterable[str] | None = None,
) -> Iterator[StoredPair]:
    """Every pair that has text and is not excluded, in plan order (priority, then draw).

    Streams: memory does not grow with the study.
    """
    sql = _PAIR_SQL + " WHERE p.answer_a IS NOT NULL AND p.excluded IS NULL"
    parameters: list[object] = []
    if ids is not None:
        wanted = list(ids)
        sql += f" AND p.id IN ({', '.join('?' * len(wanted))})"
        parameters += wanted
    sql += " ORDER BY p.priority DESC, p.draw_order LIMIT ?"
    parameters.append(-1 if limit is None else limit)
    for row in store.conn.execute(sql, parameters):
        yield _stored_pair(row)


def pair_ids(store: Store, *, limit: int | None = None, model: str | None = None) -> list[str]:
    """The pairs of :func:`pairs` without their texts; with `model`, those in which it stands.

    A rerun is named with its version (`annotate.versions.shown_name`).
    """
    rows = store.conn.execute(
        "SELECT p.id FROM pair p JOIN answer a ON a.id = p.answer_a JOIN model x ON x.id = a.model"
        " JOIN answer b ON b.id = p.answer_b JOIN model y ON y.id = b.model"
        f" WHERE p.excluded IS NULL AND (?1 IS NULL OR ?1 IN ({shown_name('x')},"
        f" {shown_name('y')})) ORDER BY p.priority DESC, p.draw_order LIMIT ?2",
        (model, -1 if limit is None else limit),
    )
    return [row[0] for row in rows]


def answer_ids(store: Store, *, limit: int | None = None) -> list[str]:
    """Every stored answer in the study's random order: fixed, whatever is imported later."""
    rows = store.conn.execute("SELECT id FROM answer").fetchall()
    ids = sorted((row[0] for row in rows), key=lambda row: (draw_order(store.study_id, row), row))
    return ids[:limit]


def answers(store: Store, ids: Iterable[str]) -> Iterator[StoredAnswer]:
    """Answers by the ids of their rows, with their questions."""
    wanted = list(ids)
    rows = store.conn.execute(
        "SELECT a.id, q.benchmark, q.question_id, q.category, q.turns, m.name, a.turns"
        " FROM answer a JOIN question q ON q.id = a.question JOIN model m ON m.id = a.model"
        f" WHERE a.id IN ({', '.join('?' * len(wanted))})",
        wanted,
    )
    for row in rows:
        key = QuestionKey(row[1], row[2])
        asked = None if row[4] is None else turns_from_json(json.loads(row[4]))
        given = Answer(key, row[5], turns_from_json(json.loads(row[6])))
        yield StoredAnswer(row[0], Question(key, row[3], asked), given)


def questions(store: Store, *, benchmark: str | None = None) -> dict[str, Question]:
    """Every question with text by its row's id, in the study's random order."""
    rows = store.conn.execute(
        "SELECT id, benchmark, question_id, category, turns FROM question"
        " WHERE turns IS NOT NULL AND (?1 IS NULL OR benchmark = ?1)",
        (benchmark,),
    ).fetchall()
    rows.sort(key=lambda row: (draw_order(store.study_id, row[0]), row[0]))
    return {
        row[0]: Question(QuestionKey(row[1], row[2]), row[3], turns_from_json(json.loads(row[4])))
        for row in rows
    }


def categories(store: Store) -> list[str]:
    """The categories of questions with text, sorted; the empty one is none."""
    rows = store.conn.execute(
        "SELECT DISTINCT category FROM question WHERE turns IS NOT NULL AND category <> ''"
        " ORDER BY 1"
    )
    return [row[0] for row in rows]


def turn_counts(store: Store) -> dict[tuple[str, str], int]:
    """How many turns each question with text has, by (benchmark, question_id)."""
    rows = store.conn.execute(
        "SELECT benchmark, question_id, json_array_length(turns) FROM question"
        " WHERE turns IS NOT NULL"
    )
    return {(row[0], row[1]): row[2] for row in rows}


def answers_of(store: Store, model: str) -> dict[QuestionKey, set[str | None]]:
    """The hashes of every stored answer under a model's name, whatever its version."""
    found: dict[QuestionKey, set[str | None]] = {}
    for row in store.conn.execute(
        "SELECT q.benchmark, q.question_id, a.hash FROM answer a JOIN model m ON m.id = a.model"
        " JOIN question q ON q.id = a.question WHERE m.name = ?",
        (model,),
    ):
        found.setdefault(QuestionKey(row[0], row[1]), set()).add(row[2])
    return found


def model_names(store: Store) -> list[str]:
    """The names of all models with stored answers, sorted, reruns with their version."""
    names = f"SELECT DISTINCT {shown_name('m')} FROM model m ORDER BY 1"
    return [row[0] for row in store.conn.execute(names)]


def pair(store: Store, pair_id: str) -> StoredPair:
    """One pair with its texts.

    Raises:
        DataError: there is no such pair, or it is known from labels only.
    """
    row = store.conn.execute(_PAIR_SQL + " WHERE p.id = ?", (pair_id,)).fetchone()
    if row is None:
        raise DataError(f"pair {pair_id}: not in this study, or without text")
    return _stored_pair(row)


_PAIR_SQL = (
    "SELECT p.id, p.draw_order, q.benchmark, q.question_id, q.category, q.turns,"
    " p.model_a, a.turns, p.model_b, b.turns FROM pair p"
    " JOIN question q ON q.id = p.question"
    " JOIN answer a ON a.id = p.answer_a JOIN answer b ON b.id = p.answer_b"
)


def _stored_pair(row: tuple[str, ...]) -> StoredPair:
    key = QuestionKey(row[2], row[3])
    turns = None if row[5] is None else turns_from_json(json.loads(row[5]))
    return StoredPair(
        id=row[0],
        question=Question(key, row[4], turns),
        a=Answer(key, row[6], turns_from_json(json.loads(row[7]))),
        b=Answer(key, row[8], turns_from_json(json.loads(row[9]))),
        draw_order=int(row[1]),
    )


def reference(store: Store, key: QuestionKey) -> Reference | None:
    """The newest reference of a question, if any; a reference file goes before an inline one."""
    row = store.conn.execute(
        "SELECT turns, source FROM reference WHERE question = ?"
        " ORDER BY source = ?, created_at DESC, rowid DESC LIMIT 1",
        (Question(key).id, INLINE),
    ).fetchone()
    return None if row is None else Reference(key, tuple(json.loads(row[0])), row[1])


def references(store: Store, keys: Iterable[QuestionKey]) -> dict[QuestionKey, Reference]:
    """:func:`reference` of each of these questions that has one."""
    found = ((key, reference(store, key)) for key in keys)
    return {key: known for key, known in found if known is not None}


def changing_parts(store: Store) -> str:
    """SHA-256 of what can change behind ids that stay: categories and references in use."""
    categories = store.conn.execute("SELECT id, category FROM question ORDER BY id").fetchall()
    stored = store.conn.execute("SELECT id, created_at FROM reference ORDER BY id").fetchall()
    return digest([categories, stored])


def counts(store: Store) -> dict[str, int]:
    """How much of each kind the study holds."""
    queries = {
        "questions": "SELECT count(*) FROM question",
        "models": "SELECT count(*) FROM model",
        "answers": "SELECT count(*) FROM answer",
        "references": f"SELECT count(*) FROM reference WHERE source <> '{INLINE}'",
        "inline references": f"SELECT count(*) FROM reference WHERE source = '{INLINE}'",
        "pairs": "SELECT count(*) FROM pair WHERE superseded_by IS NULL",
        "pairs with text": "SELECT count(*) FROM pair WHERE answer_a IS NOT NULL",
    }
    with store.snapshot() as conn:
        return {name: int(conn.execute(sql).fetchone()[0]) for name, sql in queries.items()}
