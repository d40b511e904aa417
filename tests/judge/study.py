"""A small made-up study for the judge's tests."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from annotate import library
from annotate.records import (
    Answer,
    Question,
    QuestionKey,
    assistant_turns,
    user_turns,
)
from annotate.store import Store
from judge.engine.settings import JudgeSettings

MODELS = ("alder", "birch")


def make_study(
    folder: Path,
    questions: int = 1,
    *,
    turns: int = 1,
    models: Sequence[str] = MODELS,
    replies: Mapping[str, Sequence[str | None]] | None = None,
) -> Store:
    """Questions 1…n with every pair of the models; `replies` replaces a model's answers."""
    store = Store.create(folder / "evenhand.sqlite", "test")
    fill(store, questions, turns=turns, models=models, replies=replies)
    return store


def fill(
    store: Store,
    questions: int,
    *,
    turns: int = 1,
    models: Sequence[str] = MODELS,
    replies: Mapping[str, Sequence[str | None]] | None = None,
) -> None:
    """The same in a store that is there already."""
    with store.write() as conn:
        for number in range(1, questions + 1):
            key = QuestionKey("bench", str(number))
            texts = [f"Question {number}, turn {t}?" for t in range(1, turns + 1)]
            library.add_question(conn, Question(key, "writing", user_turns(texts)))
        for model in models:
            answers = []
            for number in range(1, questions + 1):
                key = QuestionKey("bench", str(number))
                said: Sequence[str | None] = (replies or {}).get(
                    model, [f"{model} on {number}.{t}" for t in range(1, turns + 1)]
                )
                answers.append(Answer(key, model, assistant_turns(said)))
            library.add_answers(conn, "bench", model, answers)
    with store.write() as conn:
        library.build_pairs(conn, "fixed")


def settings(base_url: str, **changes: object) -> JudgeSettings:
    """Quick settings: short waits, little concurrency."""
    values: dict[str, object] = {
        "base_url": base_url,
        "model": "fake-model",
        "api_key_env": "EVENHAND_TEST_KEY",
        "concurrency": 2,
        "timeout_seconds": 5.0,
        "backoff_seconds": 0.01,
        **changes,
    }
    return JudgeSettings(**values)  # type: ignore[arg-type]
