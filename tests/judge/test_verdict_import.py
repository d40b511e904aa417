"""Verdicts and grades out of files: once, the first one stands, bound to the right answer."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from annotate import binding, library
from annotate.importer import Account, BoundLabel, import_paths
from annotate.library import Added
from annotate.readers import Problem, Where
from annotate.records import (
    Answer,
    Label,
    Outcome,
    Question,
    QuestionKey,
    SourceKind,
    Status,
    assistant_turns,
    user_turns,
)
from annotate.store import Store
from judge.database.store import VerdictStore
from judge.database.verdict_import import verdict_sink
from tests.annotate.support import write_lines
from tests.judge.study import make_study


@pytest.fixture
def study(tmp_path: Path) -> Iterator[Store]:
    store = make_study(tmp_path, 2, turns=2)
    yield store
    store.close()


def label(value: Outcome | None = Outcome.A, **changes: object) -> Label:
    values: dict[str, object] = {
        "key": QuestionKey("bench", "1"),
        "model_a": "alder",
        "model_b": "birch",
        "turn": 1,
        "dimension": "overall",
        "source_kind": SourceKind.JUDGE,
        "source_id": "gpt-4",
        "value": value,
        **changes,
    }
    return Label(**values)  # type: ignore[arg-type]


def take(store: Store, *labels: Label) -> list[Added | Problem]:
    """Labels into the sink, bound as the importer binds them."""
    bound = []
    with store.write() as conn:
        for number, one in enumerate(labels, start=1):
            names = (one.key, one.model_a, one.model_b)
            pair = binding.bind(conn, store.study_id, *names)
            bound.append(BoundLabel(Where("f.jsonl", number), one.canonical(), pair))
    return verdict_sink(store)(bound)


def test_importing_twice_adds_nothing(study: Store) -> None:
    labels = [label(), label(turn=2, value=Outcome.TIE, reason="inconsistent")]
    assert take(study, *labels) == [Added.NEW, Added.NEW]
    assert take(study, *labels) == [Added.MERGED, Added.MERGED]
    rows = list(VerdictStore(study).judgments())
    assert [(r["value"], r["reason"], r["order"], r["orders"]) for r in rows] == [
        ("a", "", "unknown", "unknown"),
        ("tie", "inconsistent", "unknown", "unknown"),
    ]
    assert [(r.name, r.kind) for r in VerdictStore(study).runs()] == [("gpt-4", "imported")]


def test_a_second_different_value_is_reported_and_the_first_stands(study: Store) -> None:
    take(study, label())
    (problem,) = take(study, label(Outcome.B))
    assert str(problem) == (
        "f.jsonl:1: winner: gpt-4 on question 1 (alder / birch), turn 1, overall:"
        " b differs from the stored a, which stands"
    )
    assert [r["value"] for r in VerdictStore(study).judgments()] == ["a"]


def test_models_named_in_the_other_order_are_mirrored(study: Store) -> None:
    take(study, label(Outcome.A, model_a="birch", model_b="alder"))
    assert [r["value"] for r in VerdictStore(study).judgments()] == ["b"]


def test_an_imported_failure_has_no_value(study: Store) -> None:
    take(study, label(None, status=Status.API_ERROR))
    (row,) = VerdictStore(study).judgments()
    assert (row["status"], row["value"], row["reason"]) == ("incomplete", None, "api_error")


def test_an_imported_judge_and_a_live_one_stay_apart(study: Store) -> None:
    VerdictStore(study).start_run(
        model="m", endpoint="http://e", fingerprint="f" * 64, manifest={}, name=""
    )
    take(study, label(source_id="m"))
    assert [r.name for r in VerdictStore(study).runs()] == ["m", "m (imported)"]


def test_imported_verdicts_follow_their_pair_when_its_text_arrives(study: Store) -> None:
    key = QuestionKey("bench", "99")
    one = label(None, key=key, games=(Outcome.A, Outcome.B))
    take(study, one)
    with study.write() as conn:
        library.add_question(conn, Question(key, "", user_turns(["Late?"])))
        for model in ("alder", "birch"):
            answer = Answer(key, model, assistant_turns([model]))
            library.add_answers(conn, "bench", model, [answer])
        library.build_pairs(conn, study.study_id)
    assert take(study, one) == [Added.MERGED]
    (row,) = VerdictStore(study).judgments()
    assert row["unit_id"] in library.pair_ids(study)
    assert study.conn.execute("SELECT count(*) FROM imported_order").fetchone() == (2,)


# Both orders


def orders(store: Store) -> list[tuple[Any, ...]]:
    return store.conn.execute(
        "SELECT order_shown, status, outcome FROM imported_order ORDER BY turn, order_shown"
    ).fetchall()


def test_a_file_with_both_orders_keeps_each_in_canonical_terms(study: Store) -> None:
    games = (Outcome.A, Status.TIMEOUT)
    one = label(None, games=games, model_a="birch", model_b="alder")
    assert take(study, one) == [Added.NEW]
    # With birch named first, the game that showed birch first is canonical order ba.
    assert orders(study) == [("ab", "timeout", None), ("ba", "ok", "b")]
    (row,) = VerdictStore(study).judgments()
    assert (row["status"], row["reason"], row["orders"]) == ("incomplete", "timeout", "both")


def test_orders_that_an_earlier_version_did_not_keep_come_with_the_file_again(
    study: Store,
) -> None:
    one = label(None, games=(Outcome.A, Outcome.A))
    take(study, one)
    # The shape of a study before m003.
    study.conn.execute("DROP TABLE imported_order")
    study.conn.execute("DELETE FROM _sqlite_migrations WHERE name = 'm003_imported_orders'")
    assert take(study, one) == [Added.MERGED]
    assert orders(study) == [("ab", "ok", "a"), ("ba", "ok", "a")]


def test_a_combined_verdict_gets_no_orders_from_a_later_file(study: Store) -> None:
    take(study, label(Outcome.A))
    take(study, label(None, games=(Outcome.A, Outcome.A)))
    assert orders(study) == []
    (row,) = VerdictStore(study).judgments()
    assert row["orders"] == "unknown"


# Grades


def single(number: int = 1, model: str = "alder", **changes: object) -> dict[str, Any]:
    line: dict[str, Any] = {
        "question_id": number,
        "model": model,
        "judge": ["gpt-4", "single-v1"],
        "user_prompt": "…",
        "judgment": "Rating: [[8]]",
        "score": 8,
        "turn": 1,
        "tstamp": 1.0,
    }
    return line | changes


def read(store: Store, folder: Path, *lines: object) -> Account:
    path = write_lines(folder / "gpt-4_single.jsonl", lines)
    return import_paths(store, [path], verdict_sink(store), benchmark="bench")


def stored(store: Store) -> list[tuple[Any, ...]]:
    return store.conn.execute(
        "SELECT m.name, v.turn, v.dimension, v.status, v.grade FROM answer_verdict v"
        " JOIN answer a ON a.id = v.answer JOIN model m ON m.id = a.model"
        " ORDER BY m.name, v.turn, v.grade"
    ).fetchall()


def test_grades_belong_to_answers_and_a_failure_is_no_number(study: Store, tmp_path: Path) -> None:
    lines = (
        single(),
        single(turn=2, score=7.5, judge=["gpt-4", "single-v1-multi-turn"]),
        single(model="birch", score=-1, judgment="Good."),
    )
    first, second = read(study, tmp_path, *lines), read(study, tmp_path, *lines)
    assert (first.imported["grades"], first.refused) == (3, [])
    assert (second.added, second.merged["grades"]) == (0, 3)
    assert stored(study) == [
        ("alder", 1, "overall", "ok", 8),
        ("alder", 2, "overall", "ok", 7.5),
        ("birch", 1, "overall", "unparseable", None),
    ]
    runs = study.conn.execute("SELECT name, kind, mode FROM judge_run").fetchall()
    assert runs == [("gpt-4/single-v1", "imported", "grade")]


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        (single(model="cedar"), "model: cedar has no stored answer to question 1 of benchmark"),
        (single(9), "model: alder has no stored answer to question 9 of benchmark bench"),
        (single(turn=3), "turn: found 3, the question has 2"),
        (single(score=4), "score: gpt-4/single-v1 on alder's answer to question 1, turn 1,"
         " overall: 4 differs from the stored 8, which stands"),
        (single(score=-1), "unparseable differs from the stored 8, which stands"),
        (single(2, model="birch"), "birch has 2 stored answers to question 2"),
    ],
)  # fmt: skip
def test_a_grade_without_its_answer_or_against_a_stored_one_is_named_with_its_line(
    study: Store, tmp_path: Path, line: dict[str, Any], problem: str
) -> None:
    rerun = Answer(QuestionKey("bench", "2"), "birch", assistant_turns(["Another", "rerun"]))
    with study.write() as conn:
        library.add_answers(conn, "bench", "birch", [rerun])
    account = read(study, tmp_path, single(), line)
    (refused,) = account.refused
    assert refused.where.line == 2
    assert problem in str(refused)
    assert stored(study) == [("alder", 1, "overall", "ok", 8)]
    assert account.read["grades"] == 2


def test_a_judges_grades_and_pair_verdicts_are_runs_of_one_mode_each(
    study: Store, tmp_path: Path
) -> None:
    for _ in range(2):
        take(study, label(source_id="gpt-4"))
        read(study, tmp_path, single(judge="gpt-4"))
    runs = study.conn.execute("SELECT name, mode FROM judge_run ORDER BY rowid").fetchall()
    assert runs == [("gpt-4", "pairwise"), ("gpt-4 (imported)", "grade")]
