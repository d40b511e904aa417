"""What stands behind a judgment: its texts, its calls, and people's votes on the same unit."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from annotate import library, seats
from annotate.ballots import STANDING
from annotate.errors import DataError
from annotate.library import StoredAnswer, StoredPair
from annotate.records import Layer, Subject
from annotate.store import Store
from judge.database.places import Place


@dataclass(frozen=True, slots=True)
class Attempt:
    """One HTTP call as logged; `raw` is the body that came, as JSON text."""

    id: int
    status: str
    started_at: str
    latency_ms: int
    http_status: int | None
    raw: str | None
    served_model: str | None
    prompt_tokens: int | None
    completion_tokens: int | None
    error_class: str | None
    error_text: str | None


@dataclass(frozen=True, slots=True)
class Call:
    """What was asked in one order ("" for an answer), all attempts, and what was read.

    `read_from` is the id of the attempt that the verdict rests on.
    """

    order: str
    messages: tuple[Mapping[str, str], ...]
    attempts: tuple[Attempt, ...]
    read_from: int | None
    status: str
    choice: str | None
    grade: float | None
    harm: Mapping[str, Any] | None
    detail: str


@dataclass(frozen=True, slots=True)
class ShownVote:
    """One person's standing vote on a place; `order` is which answer stood left.

    An `occurrence` above 1 is a hidden repeat, which counts in no majority.
    """

    rater: str
    group: str
    layer: Layer
    outcome: str | None
    grade: float | None
    harm: Mapping[str, Any] | None
    order: str
    comment: str
    at: str
    occurrence: int = 1


def unit_of(store: Store, place: Place) -> StoredPair | StoredAnswer | None:
    """The texts that were judged; None when only labels are known."""
    if place.subject is Subject.ANSWER:
        return next(library.answers(store, [place.text_unit]), None)
    try:
        return library.pair(store, place.text_unit)
    except DataError:
        return None


def calls(store: Store, run_id: str, place: Place) -> list[Call]:
    """The calls of a judgment, the order `ab` first; none of an imported one."""
    rows = store.conn.execute(
        "SELECT coalesce(i.order_shown, ''), i.request, json_extract(q.body, '$.messages'),"
        " v.attempt, coalesce(v.status, ''), v.choice, v.grade, v.harm, coalesce(v.detail, '')"
        " FROM judge_item i JOIN judge_request q ON q.key = i.request"
        f" LEFT JOIN verdict v ON v.request = i.request WHERE i.run = ? AND i.{place.subject} = ?"
        f" AND i.subject = '{place.subject}' AND i.turn = ? AND i.dimension = ?"
        " AND i.replicate = ? ORDER BY 1",
        (run_id, place.unit, place.turn, place.dimension, place.replicate),
    ).fetchall()
    return [
        Call(
            order=row[0],
            messages=tuple(json.loads(row[2])),
            attempts=tuple(_attempts(store.conn, row[1])),
            read_from=row[3],
            status=row[4],
            choice=row[5],
            grade=row[6],
            harm=_json(row[7]),
            detail=row[8],
        )
        for row in rows
    ]


def votes(store: Store, place: Place) -> list[ShownVote]:
    """Standing votes on the same unit, turn and dimension, oldest first."""
    names = seats.names(store)
    among = _SAME_PAIR if place.subject is Subject.PAIR else "SELECT ?1"
    rows = store.conn.execute(
        "SELECT v.rater, r.rater_group, v.layer, v.outcome, v.grade, v.harm, v.order_shown,"
        " coalesce(c.comment, ''), v.created_at, v.occurrence"
        f" FROM {STANDING} JOIN rater r ON r.id = v.rater"
        " LEFT JOIN vote_comment c ON c.vote = v.id"
        f" WHERE v.{place.subject} IN ({among}) AND v.turn = ?2 AND v.dimension = ?3"
        " AND r.kind <> 'preview' ORDER BY w.rowid",  # two may share a millisecond
        (place.text_unit, place.turn, place.dimension),
    )
    return [
        ShownVote(
            names[row[0]], row[1], Layer(row[2]), row[3], row[4], _json(row[5]), row[6], row[7],
            row[8], row[9],
        )
        for row in rows
    ]  # fmt: skip


def _attempts(conn: sqlite3.Connection, request: str) -> Iterator[Attempt]:
    rows = conn.execute(
        "SELECT id, status, started_at, latency_ms, http_status, raw, served_model, prompt_tokens,"
        " completion_tokens, error_class, error_text FROM judge_attempt WHERE request = ?"
        " ORDER BY id",
        (request,),
    )
    return (Attempt(*row) for row in rows)


def _json(text: str | None) -> Any:
    return None if text is None else json.loads(text)


_SAME_PAIR = (
    "SELECT o.id FROM pair p JOIN pair o ON o.question = p.question AND o.model_a = p.model_a"
    " AND o.model_b = p.model_b WHERE p.id = ?1 AND ?1 IN (o.id, o.superseded_by)"
)
"""SQL: the pairs whose votes count for pair ?1: itself, and the label-only pair it replaced."""
