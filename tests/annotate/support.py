"""Small made-up studies for the tests of the people's side; real files, real databases."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fastapi import FastAPI
from fastapi.testclient import TestClient

from annotate import api, ballots, labels, leases, library, seats, tasks
from annotate.harm import HarmCategory, HarmLabel, ResponseType, Severity
from annotate.importer import Account, Bound, import_paths
from annotate.label_leases import LabelScreen
from annotate.labels import Said
from annotate.leases import Screen
from annotate.library import Added
from annotate.live import LiveSettings
from annotate.readers import Problem
from annotate.records import (
    Answer,
    Choice,
    Order,
    Question,
    QuestionKey,
    assistant_turns,
    digest,
    user_turns,
)
from annotate.room import RatingRoom
from annotate.seats import Rater
from annotate.store import Store
from annotate.study import SETTINGS_NAME, Study, init, open_study

BENCH = "bench"
CONSENT = "You may stop at any time."


def settings_text(
    *,
    overlap: float | str = 2,
    lease_minutes: float | str = 30,
    skips: float | str = 2,
    dimensions: Sequence[str] = ("harmlessness",),
    consent: str = CONSENT,
    instructions: str = "Read both.",
    reveal: str = "after_vote",
    labels: str = "",
    grades: str = "",
    care: str = "",
    more: str = "",
) -> str:
    """A whole study.toml; `labels`, `grades` and `care` are bodies of their tables, "-" an
    empty one.

    `more` goes into `[assignment]`.
    """
    head = (
        '[study]\ntitle = "Test study"\n'
        f'[protocol]\ninstructions = "{instructions}"\nconsent = "{consent}"\n'
        f'reveal = "{reveal}"\n'
    )
    asked = "".join(
        f'[[protocol.dimensions]]\nname = "{name}"\nquestion = "Which is better on {name}?"\n'
        for name in dimensions
    )
    for name, body in (("harm_labels", labels), ("grades", grades), ("care", care)):
        if body:
            asked += f"[protocol.{name}]\n{body.removeprefix('-')}\n"
    return (
        head
        + asked
        + (
            f"[assignment]\noverlap = {overlap}\nlease_minutes = {lease_minutes}\n"
            f"skips_before_owner = {skips}\n{more}\n"
        )
    )


def write_settings(folder: Path, **changes: Any) -> None:
    """Replace a study's settings file."""
    (folder / SETTINGS_NAME).write_text(settings_text(**changes), "utf-8")


def make_study(
    folder: Path,
    questions: int = 2,
    *,
    models: Sequence[str] = ("alder", "birch"),
    turns: int = 1,
    **settings: Any,
) -> Study:
    """A study with every pair of the models on questions 1…n, slots made."""
    init(folder, "Test study").close()
    write_settings(folder, **settings)
    study = open_study(folder)
    fill(study.store, questions, models=models, turns=turns)
    tasks.prepare(study.store, study.settings)
    return study


def marker(model: str, number: int, turn: int) -> str:
    """What a model said: a text that tells the test who spoke and a rater nothing."""
    return "said" + digest([model, number, turn])[:16]


def fill(
    store: Store,
    questions: int,
    *,
    models: Sequence[str] = ("alder", "birch"),
    turns: int = 1,
) -> None:
    """Questions 1…n, answers of every model, every pair."""
    numbers, asked = range(1, questions + 1), range(1, turns + 1)
    with store.write() as conn:
        for number in numbers:
            texts = [f"Question {number}, turn {turn}?" for turn in asked]
            key = QuestionKey(BENCH, str(number))
            library.add_question(conn, Question(key, "writing", user_turns(texts)))
        for model in models:
            library.add_answers(
                conn,
                BENCH,
                model,
                [
                    Answer(
                        QuestionKey(BENCH, str(number)),
                        model,
                        assistant_turns([marker(model, number, turn) for turn in asked]),
                    )
                    for number in numbers
                ],
            )
        library.build_pairs(conn, "fixed")


def join(study: Study, name: str, *, agreed: bool = True, group: str | None = None) -> Rater:
    """An invited rater who has agreed to take part."""
    rater = seats.invite(study.store, name, group)
    if agreed:
        seats.give_consent(study.store, rater.id, study.settings.protocol.id, agreed=True)
    return rater


def screen_for(study: Study, rater: Rater) -> Screen:
    """The screen that a rater is on now; fails when there is none."""
    found = next_for(study, rater)
    assert isinstance(found, Screen), found
    return found


def next_for(study: Study, rater: Rater) -> Screen | leases.Empty:
    """What a rater's page would get now."""
    settings = study.settings
    return leases.next_screen(study.store, rater, settings.protocol, settings.assignment)


def cast(
    study: Study, rater: Rater, screen: Screen, choice: Choice = Choice.LEFT, **more: Any
) -> ballots.Receipt:
    """One vote; its key is the screen's unless given."""
    more = {"client_key": f"key-{screen.id}"} | more
    return ballots.cast(study.store, rater.id, screen.id, choice, study.settings.assignment, **more)


def rate_all(study: Study, rater: Rater, choice: Choice = Choice.LEFT) -> list[Screen]:
    """Vote on everything a rater is given; returns the screens."""
    seen = []
    while isinstance(screen := next_for(study, rater), Screen):
        cast(study, rater, screen, choice)
        seen.append(screen)
    return seen


REFUSAL = HarmLabel(ResponseType.FULL_REFUSAL, Severity.NONE)
HARMFUL = HarmLabel(ResponseType.FULL_COMPLIANCE, Severity.SEVERE, (HarmCategory.PRIVACY,), 4, 5)


def label_screen(study: Study, rater: Rater) -> LabelScreen:
    """The answer's screen that a rater is on now; fails when there is none."""
    found = tasks.next_task(study.store, rater, study.settings)
    assert isinstance(found, LabelScreen), found
    return found


def give(
    study: Study, rater: Rater, screen: LabelScreen, label: Said = REFUSAL, **more: Any
) -> ballots.Receipt:
    """One label or grade; its key is the screen's unless given."""
    more = {"client_key": f"key-{screen.id}"} | more
    return labels.cast(study.store, rater.id, screen.id, label, study.settings.assignment, **more)


def label_all(study: Study, rater: Rater, label: Said = REFUSAL) -> list[LabelScreen]:
    """Label or grade every answer that a rater is given; returns the screens."""
    seen = []
    while isinstance(found := tasks.next_task(study.store, rater, study.settings), LabelScreen):
        give(study, rater, found, label)
        seen.append(found)
    return seen


def votes(store: Store, where: str = "1") -> int:
    """How many rows the vote table has."""
    return count(store, f"SELECT count(*) FROM vote WHERE {where}")


def count(store: Store, sql: str, *values: object) -> int:
    """One number."""
    return int(store.conn.execute(sql, values).fetchone()[0])


def expire_leases(store: Store) -> None:
    """Let every lease run out, as the clock would."""
    with store.write() as conn:
        for table in ("assignment", "label_assignment"):
            conn.execute(f"UPDATE {table} SET expires_at = '2020-01-01T00:00:00.000Z'")


def room_of(study: Study) -> RatingRoom:
    """The study's room with settings read live."""
    return RatingRoom(study.store, LiveSettings(study))


# ---------------------------------------------------------------------------- HTTP


@dataclass
class Site:
    """A study's real routes without the Gradio pages (5 s of import)."""

    study: Study
    app: FastAPI
    sessions: api.Sessions

    @classmethod
    def of(cls, study: Study) -> Site:
        """Install every route of the study on a bare app."""
        app, sessions = (
            FastAPI(docs_url=None, redoc_url=None, openapi_url=None),
            api.Sessions(study.store),
        )
        api.install(app, study.store, room_of(study), sessions)
        return cls(study, app, sessions)

    def browser(self, **headers: str) -> TestClient:
        """A browser without cookies."""
        return TestClient(
            self.app, headers=headers, follow_redirects=False, raise_server_exceptions=False
        )

    def sign_in(self, rater: Rater) -> TestClient:
        """A browser that opened the rater's link."""
        browser = self.browser()
        token = seats.invitation_token(self.study.store, rater.id)
        assert browser.get(f"/invite/{token}").status_code == 303
        return browser


def vote_body(state: Mapping[str, Any], choice: str = "left", **more: Any) -> dict[str, Any]:
    """A vote on the screen that a state shows."""
    return {"screen": state["screen"], "choice": choice, "key": f"key-{state['screen']}"} | more


# ---------------------------------------------------------------------------- files


def no_verdicts(labels: Sequence[Bound]) -> list[Added | Problem]:
    """A sink that takes every verdict as new: the judge's side is tested elsewhere."""
    return [Added.NEW for _ in labels]


def write_lines(path: Path, rows: Iterable[object]) -> Path:
    """A JSONL file; strings are written as they are, other values as JSON."""
    path.parent.mkdir(parents=True, exist_ok=True)
    lines = [row if isinstance(row, str) else json.dumps(row) for row in rows]
    path.write_text("".join(line + "\n" for line in lines), "utf-8")
    return path


def bench_folder(
    folder: Path,
    questions: int = 2,
    models: Sequence[str] = ("alder", "birch"),
    turns: int = 1,
) -> Path:
    """A FastChat benchmark folder."""
    numbers, asked = range(1, questions + 1), range(1, turns + 1)
    write_lines(
        folder / "question.jsonl",
        [
            {
                "question_id": n,
                "category": "writing",
                "turns": [f"Question {n}, turn {t}?" for t in asked],
            }
            for n in numbers
        ],
    )
    for model in models:
        write_lines(
            folder / "model_answer" / f"{model}.jsonl",
            [answer_line(n, [marker(model, n, t) for t in asked]) for n in numbers],
        )
    return folder


def answer_line(number: int | str, turns: Sequence[str | None]) -> dict[str, Any]:
    """One line of a FastChat answer file."""
    return {"question_id": number, "choices": [{"index": 0, "turns": list(turns)}]}


def label_line(number: int | str = 1, **changes: Any) -> dict[str, Any]:
    """One label-only vote."""
    return {
        "question_id": number,
        "model_a": "alder",
        "model_b": "birch",
        "winner": "model_a",
        "judge": "expert_1",
        "turn": 1,
    } | changes


def read_in(store: Store, *paths: Path, benchmark: str | None = BENCH) -> Account:
    """Import paths as one benchmark."""
    return import_paths(store, paths, no_verdicts, benchmark=benchmark)


def empty_store(folder: Path) -> Store:
    """A new database."""
    folder.mkdir(parents=True, exist_ok=True)
    return Store.create(folder / "evenhand.sqlite", "test")


def dump(store: Store, *tables: str) -> dict[str, list[tuple[Any, ...]]]:
    """Whole tables, for comparing two studies."""
    return {
        table: sorted(store.conn.execute(f"SELECT * FROM {table}").fetchall(), key=repr)
        for table in tables
    }


def tamper(path: Path, *statements: str) -> None:
    """Edit a study behind its back, with its triggers dropped."""
    conn = sqlite3.connect(path)
    for name in ("vote_never_updated", "vote_never_deleted"):
        conn.execute(f"DROP TRIGGER IF EXISTS {name}")
    for name in ("event_never_updated", "event_never_deleted"):
        conn.execute(f"DROP TRIGGER IF EXISTS {name}")
    for statement in statements:
        conn.execute(statement)
    conn.commit()
    conn.close()


def order_of(store: Store, pair: str, left_text: str) -> Order:
    """Which order a page shows, told from the text that stands left."""
    stored = library.pair(store, pair)
    said = stored.a.turns[0][0].content if stored.a.turns else ""
    return Order.AB if said in left_text else Order.BA
