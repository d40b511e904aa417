"""Generated answers in the study's file: requests turn by turn, replies, whole dialogues."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

from annotate import library
from annotate.records import (
    Answer,
    Question,
    Status,
    asked_turns,
    assistant_turns,
    canonical_json,
    has_golden_context,
    whole_text,
)
from annotate.store import now
from judge.ask.generation import STARVED, Spoken, messages, open_turns, spoken, temperature_of
from judge.database.ledger import NO_REPLY, Ended, insert_attempt
from judge.database.runs import RunStore
from judge.database.store import Pending, used_tokens
from judge.engine.item import Ending
from judge.engine.plan import request_key

_FAILED = "(g.status IS NULL OR g.status NOT IN ('ok', 'truncated'))"
_OPEN = (
    "(g.status IS NULL OR g.status IN ('api_error', 'timeout', 'skipped_budget')"
    f" OR (g.detail = '{STARVED}' AND 1 = (SELECT count(*) FROM judge_attempt a"
    " WHERE a.request = g.request AND a.status = 'reply')))"
)


@dataclass(frozen=True, slots=True)
class AnswerSpec:
    """What, apart from the questions, a request depends on.

    `temperature` None takes MT-Bench's, by category; `sampling` holds the rest of the body.
    """

    endpoint: str
    model: str
    temperature: float | None = None
    sampling: Mapping[str, Any] = field(default_factory=dict)
    system: str = ""

    def body(self, question: Question, replies: Mapping[int, str], turn: int) -> str:
        """The request that asks for one turn."""
        return canonical_json(
            {
                "model": self.model,
                "messages": messages(question, replies, turn, self.system),
                "temperature": temperature_of(question.category, self.temperature),
                **self.sampling,
            }
        )


@dataclass(frozen=True, slots=True)
class AnswerWork:
    """The answering of questions: a turn can be asked once the one before it is answered."""

    runs: RunStore
    run_id: str
    questions: Mapping[str, Question]
    """By the ids of their rows, in plan order."""
    spec: AnswerSpec
    retry_failed: bool = False
    chained: ClassVar[bool] = True

    def register(self) -> None:
        """Write everything that can be asked by now; what is known stays as it is."""
        with self.runs.store.write() as conn:
            for question_id, question in self.questions.items():
                self._advance(conn, question_id, question)

    def progress(self, _open_now: int) -> tuple[int, int]:
        """(turns to answer in all, turns that need no call).

        Turns that wait for the one before are neither open nor answered.
        """
        planned = sum(len(asked_turns(q)) for q in self.questions.values())
        done = self._conn.execute(
            "SELECT count(*) FROM generation_item i JOIN generation g ON g.request = i.request"
            " WHERE i.run = ? AND i.question IN (SELECT value FROM json_each(?))"
            f" AND NOT {self._open}",
            (self.run_id, self._ids),
        ).fetchone()
        return planned, int(done[0])

    def open_keys(self) -> list[str]:
        """What can be asked now, in plan order."""
        rows = self._conn.execute(
            "SELECT DISTINCT i.request FROM generation_item i"
            " LEFT JOIN generation g ON g.request = i.request"
            f" WHERE i.run = ? AND i.question IN (SELECT value FROM json_each(?)) AND {self._open}"
            " ORDER BY i.id",
            (self.run_id, self._ids),
        )
        return [row[0] for row in rows]

    def pending(self, keys: Sequence[str]) -> Iterator[list[Pending]]:
        """These requests with their bodies."""
        for key in keys:
            row = self._conn.execute(
                "SELECT r.body, g.detail FROM judge_request r"
                " LEFT JOIN generation g ON g.request = r.key WHERE r.key = ?",
                (key,),
            ).fetchone()
            yield [Pending(key, row[0], row[1] == STARVED)]

    def record(self, calls: Sequence[Ended]) -> Sequence[Ending]:
        """Commit calls with the texts they brought."""
        with self.runs.store.write() as conn:
            return [self._record(conn, ended) for ended in calls]

    def again(self, ending: Ending) -> bool:
        """Only a reply without any text is asked for once more."""
        return isinstance(ending, Spoken) and ending.detail == STARVED

    def follow(self, key: str, ending: Ending) -> Pending | None:
        """The next turn of the dialogue that this answer belongs to."""
        if not isinstance(ending, Spoken) or ending.text is None:
            return None
        with self.runs.store.write() as conn:
            rows = conn.execute(
                "SELECT question FROM generation_item WHERE run = ? AND request = ?",
                (self.run_id, key),
            ).fetchall()
            asked = [
                item
                for (question_id,) in rows
                if (question := self.questions.get(question_id)) is not None
                and not has_golden_context(question)
                for item in self._advance(conn, question_id, question)
            ]
        # Questions in the same words share their requests: one call serves them all.
        return asked[0] if asked else None

    def skip(self) -> None:
        """Note that everything never asked was skipped for a cap."""
        skipped = Spoken(Status.SKIPPED_BUDGET, detail="a cap of this run")
        for key in self.open_keys():
            with self.runs.store.write() as conn:
                known = conn.execute(
                    "SELECT status FROM generation WHERE request = ?", (key,)
                ).fetchone()
                if known is None:
                    put_generation(conn, key, None, skipped)

    def used(self) -> tuple[int, int]:
        """Tokens (in, out) of all calls of the run so far."""
        return used_tokens(self._conn, self.run_id)

    def replies(self, question_id: str) -> dict[int, str]:
        """The texts of a question by turn, as far as they are there."""
        return self._replies(self._conn, question_id)

    def answers(self, label: str) -> list[Answer]:
        """Every question of the run that is answered in all its turns."""
        found: list[Answer] = []
        for question_id, question in self.questions.items():
            replies = self._replies(self._conn, question_id)
            if set(asked_turns(question)) <= set(replies):
                texts = [replies.get(n) for n in range(1, len(question.turns or ()) + 1)]
                found.append(Answer(question.key, label, assistant_turns(texts)))
        return found

    def statuses(self) -> dict[str, int]:
        """How many requests ended how; `pending` were not asked or not answered yet."""
        rows = self._conn.execute(
            "SELECT coalesce(g.status, 'pending'), count(DISTINCT i.request) FROM generation_item i"
            " LEFT JOIN generation g ON g.request = i.request"
            " WHERE i.run = ? AND i.question IN (SELECT value FROM json_each(?)) GROUP BY 1",
            (self.run_id, self._ids),
        )
        return dict(sorted(rows.fetchall()))

    @property
    def _conn(self) -> sqlite3.Connection:
        return self.runs.store.conn

    @property
    def _ids(self) -> str:
        return json.dumps(list(self.questions))

    @property
    def _open(self) -> str:
        return _FAILED if self.retry_failed else _OPEN

    def _replies(self, conn: sqlite3.Connection, question_id: str) -> dict[int, str]:
        """The texts of a question by turn, as far as each follows from those before it.

        A request holds the replies it was asked after: one that was asked after others (by
        another process, or on a copy of the study) belongs to another dialogue.
        """
        rows = conn.execute(
            "SELECT i.turn, g.text, json_extract(r.body, '$.messages') FROM generation_item i"
            " JOIN generation g ON g.request = i.request JOIN judge_request r ON r.key = i.request"
            " WHERE i.run = ? AND i.question = ? AND g.text IS NOT NULL ORDER BY i.turn",
            (self.run_id, question_id),
        )
        found: dict[int, str] = {}
        for turn, text, asked in rows.fetchall():
            expected = messages(self.questions[question_id], found, turn)
            if json.loads(asked)[-len(expected) :] == expected:
                found[turn] = text
        return found

    def _advance(
        self, conn: sqlite3.Connection, question_id: str, question: Question
    ) -> list[Pending]:
        """Write what can be asked next into the plan; returns what has no answer that stands."""
        replies = self._replies(conn, question_id)
        found: list[Pending] = []
        for turn in open_turns(question, replies):
            body = self.spec.body(question, replies, turn)
            key = request_key(body, self.spec.endpoint, 1)
            conn.execute(
                "INSERT OR IGNORE INTO judge_request (key, created_at, endpoint, replicate, body,"
                " offered) VALUES (?, ?, ?, 1, ?, '{\"text\":1}')",
                (key, now(), self.spec.endpoint, body),
            )
            conn.execute(
                "INSERT INTO generation_item (run, question, turn, request) VALUES (?, ?, ?, ?)"
                " ON CONFLICT (run, question, turn) DO UPDATE SET request = excluded.request"
                " WHERE request <> excluded.request",
                (self.run_id, question_id, turn, key),
            )
            row = conn.execute(
                "SELECT 1 FROM judge_request r LEFT JOIN generation g ON g.request = r.key"
                f" WHERE r.key = ? AND {self._open}",
                (key,),
            ).fetchone()
            if row is not None:
                found.append(Pending(key, body))
        return found

    def _record(self, conn: sqlite3.Connection, ended: Ended) -> Spoken:
        call = ended.call
        attempt = insert_attempt(conn, self.run_id, ended.key, call)
        said = said_by(call.status, call.raw, call.error_class)
        if said.status not in NO_REPLY or (ended.final and not has_text(conn, ended.key)):
            put_generation(conn, ended.key, attempt, said)
        # What was cut off is an answer: to the run it is no failure.
        return replace(said, status=Status.OK) if said.text is not None else said


def questions_of(
    runs: RunStore, limit: int | None = None, benchmark: str = ""
) -> dict[str, Question]:
    """The first `limit` questions with text in the study's random order, by row id."""
    found = library.questions(runs.store, benchmark=benchmark or None)
    return dict(list(found.items())[:limit])


def said_by(call: Status, raw: str | None, error: str | None) -> Spoken:
    """What a call says: its reply's text, or its own failure."""
    if call is not Status.OK:
        return Spoken(call, detail=error or "")
    return spoken(json.loads(raw or "null"))


def has_text(conn: sqlite3.Connection, key: str) -> bool:
    """Whether a request has brought a text that stands."""
    return bool(
        conn.execute(
            "SELECT 1 FROM generation WHERE request = ? AND text IS NOT NULL", (key,)
        ).fetchone()
    )


def put_generation(conn: sqlite3.Connection, key: str, attempt: int | None, said: Spoken) -> None:
    """Write or replace what a request has brought."""
    text = None if said.text is None else whole_text(said.text)
    conn.execute(
        "INSERT INTO generation (request, attempt, status, text, detail) VALUES (?, ?, ?, ?, ?)"
        " ON CONFLICT (request) DO UPDATE SET attempt = excluded.attempt,"
        " status = excluded.status, text = excluded.text, detail = excluded.detail",
        (key, attempt, said.status, text, said.detail),
    )
