"""Which stored pair, or answer, a judgment in a file is about: by models' names, or by texts."""

from __future__ import annotations

import json
import sqlite3
from typing import TypeAlias

from .errors import DataError
from .library import add_question, insert_pair
from .records import Answer, Pair, Question, QuestionKey, turn_digests, turns_from_json
from .versions import PAIR_MODELS, pair_names, shown_name, version_in

Texts: TypeAlias = tuple[tuple[str, ...], tuple[str, ...]]


def bind(
    conn: sqlite3.Connection,
    study_id: str,
    key: QuestionKey,
    model_a: str,
    model_b: str,
    texts: Texts | None = None,
    asked: tuple[str, ...] = (),
) -> str:
    """The id of the pair that a judgment by names is about, made without text if unknown.

    A rerun is meant by its name with its version (`annotate.versions`), or by its texts.

    Args:
        conn: within a transaction.
        study_id: for a new pair's place in the order.
        key: of the question.
        model_a: in canonical order, as :meth:`Label.canonical` brings it.
        model_b: the other.
        texts: what was compared, in the same order (`annotate.records.turn_digests`).
        asked: the question that it answers, likewise.

    Raises:
        DataError: two or more stored pairs could be meant, a model is set against itself or
            against its rerun, there is no such version, or the texts are other ones.
    """
    named = {version_in(one)[0]: (one, version_in(one)[1]) for one in (model_a, model_b)}
    if len(named) == 1:
        raise DataError(
            f"both answers are named {next(iter(named))}: which is which cannot be told"
            if model_a == model_b
            else f"{model_a} and {model_b} are two answer sets of one name; expected two models:"
            " which answer is which cannot be told from names"
        )
    first, second = sorted(named)
    question = Question(key)
    rows = conn.execute(
        "SELECT p.id, p.answer_a, x.version, y.version FROM pair p"
        " LEFT JOIN answer a ON a.id = p.answer_a LEFT JOIN model x ON x.id = a.model"
        " LEFT JOIN answer b ON b.id = p.answer_b LEFT JOIN model y ON y.id = b.model"
        " WHERE p.question = ? AND p.model_a = ? AND p.model_b = ?",
        (question.id, first, second),
    ).fetchall()
    wanted = named[first][1], named[second][1]
    with_text = [
        row[0]
        for row in rows
        if row[1] is not None
        and all(one in (None, of) for one, of in zip(wanted, row[2:], strict=True))
    ]
    if texts is not None:
        alike = [one for one in with_text if _says(conn, one, texts, asked)]
        if not alike:
            raise DataError(
                f"the texts here are not those that are stored of {model_a} and {model_b}"
                f" for question {key.question_id}; expected the answers that were judged: import"
                " them first, under names of their own or as a rerun"
            )
        with_text = alike
    if len(with_text) > 1:
        raise DataError(
            f"{first} and {second} have {len(with_text)} stored pairs for question"
            f" {key.question_id} (several answer sets of one name): cannot tell which; name the"
            f" version, as {first} (version 1)"
        )
    if with_text:
        return str(with_text[0])
    if wanted != (None, None):
        raise DataError(
            f"{named[first][0]} and {named[second][0]} have no stored pair for question"
            f" {key.question_id}: import the answers of that version first, or name version 1 where"
            " both say the same"
        )
    if rows:
        return str(rows[0][0])
    add_question(conn, question)
    pair = Pair.of(Answer(key, first), Answer(key, second))
    insert_pair(conn, study_id, question.id, pair, (None, None))
    return pair.id


def _says(conn: sqlite3.Connection, pair: str, texts: Texts, asked: tuple[str, ...]) -> bool:
    """Whether a pair's question and answers are these, as far as both go: a file may break off."""
    row = conn.execute(
        "SELECT a.turns, b.turns, q.turns FROM pair p JOIN answer a ON a.id = p.answer_a"
        " JOIN answer b ON b.id = p.answer_b JOIN question q ON q.id = p.question WHERE p.id = ?",
        (pair,),
    ).fetchone()
    stored = (turn_digests(turns_from_json(json.loads(one))) for one in row)
    return all(
        known[: len(said)] == said[: len(known)]
        for known, said in zip(stored, (*texts, asked), strict=True)
    )


def names_of(conn: sqlite3.Connection, pair: str) -> tuple[str, str]:
    """Both models of a pair, reruns with their version."""
    sql = f"SELECT {pair_names(shown_name)} FROM pair p {PAIR_MODELS} WHERE p.id = ?"
    first, second = conn.execute(sql, (pair,)).fetchone()
    return first, second


def bind_answer(conn: sqlite3.Connection, key: QuestionKey, model: str) -> str:
    """The row id of the answer that a grade or label by names is about.

    Raises:
        DataError: no answer, or two or more versions of it, could be meant.
    """
    name, version = version_in(model)
    rows = conn.execute(
        "SELECT a.id FROM answer a JOIN model m ON m.id = a.model"
        " WHERE a.question = ?1 AND m.name = ?2 AND (?3 IS NULL OR m.version = ?3)",
        (Question(key).id, name, version),
    ).fetchall()
    if len(rows) == 1:
        return str(rows[0][0])
    if rows:
        raise DataError(
            f"{model} has {len(rows)} stored answers to question {key.question_id}"
            " (several answer sets of one name): cannot tell which; name the version, as"
            f" {model} (version 1)"
        )
    raise DataError(
        f"{model} has no stored answer to question {key.question_id} of benchmark"
        f" {key.benchmark}; import its answers too"
    )
