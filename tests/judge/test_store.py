"""The judge's tables: derived verdicts, append-only log, tidy rows."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator
from pathlib import Path

import pytest

from annotate import library
from annotate.errors import StoreNewer
from annotate.records import (
    Answer,
    Label,
    Outcome,
    Question,
    QuestionKey,
    SourceKind,
    Status,
    Subject,
    assistant_turns,
    user_turns,
)
from annotate.store import Store
from judge import plan
from judge.plan import PlanSpec, Request
from judge.prompt import load
from judge.replies import Next, Reply
from judge.runs import Run
from judge.store import VerdictStore
from judge.units import chunks, unit_ids
from judge.verdict_import import import_labels
from tests.judge.study import make_study

AT = "2026-01-01T00:00:00.000Z"


def said(text: str) -> Reply:
    raw = json.dumps({"choices": [{"message": {"content": text}}]})
    return Reply(Next.KEEP, Status.OK, AT, AT, 7, http_status=200, raw=raw)


NO_REPLY = Reply(Next.RETRY, Status.TIMEOUT, AT, AT, 7, error_class="APITimeoutError")


@pytest.fixture
def study(tmp_path: Path) -> Iterator[Store]:
    store = make_study(tmp_path)
    yield store
    store.close()


def planned(store: Store, fingerprint: str = "f" * 64) -> tuple[VerdictStore, Run, list[Request]]:
    """A run whose plan is registered: one pair, one turn, two orders."""
    verdicts = VerdictStore(store)
    run = verdicts.start_run(
        model="m", endpoint="http://e", fingerprint=fingerprint, manifest={}, name=""
    )
    spec = PlanSpec("http://e", "m", (load("overall"),))
    pieces = chunks(store, Subject.PAIR, unit_ids(store, Subject.PAIR))
    requests = [r for piece in plan.plan(pieces, spec) for r in piece]
    verdicts.register(run.id, requests)
    return verdicts, run, requests


def pair_verdicts(store: Store) -> list[tuple[str, str | None, str]]:
    return store.conn.execute("SELECT status, outcome, reason FROM pair_verdict").fetchall()


def test_a_pair_verdict_needs_both_orders(study: Store) -> None:
    verdicts, run, (ab, ba) = planned(study)
    verdicts.record_attempt(run.id, ab.key, said("[[A]]"), final=True)
    assert pair_verdicts(study) == []
    verdicts.record_attempt(run.id, ba.key, said("[[B]]"), final=True)
    assert pair_verdicts(study) == [("ok", "a", "")]


def test_an_attempt_to_be_repeated_leaves_the_request_unanswered(study: Store) -> None:
    verdicts, run, (ab, _ba) = planned(study)
    verdicts.record_attempt(run.id, ab.key, NO_REPLY, final=False)
    assert verdicts.counts(run.id) == {"pending": 2}
    verdicts.record_attempt(run.id, ab.key, NO_REPLY, final=True)
    assert verdicts.counts(run.id) == {"pending": 1, "timeout": 1}


def test_a_later_run_takes_over_verdicts_when_it_registers(study: Store) -> None:
    verdicts, run, (ab, ba) = planned(study)
    for request in (ab, ba):
        verdicts.record_attempt(run.id, request.key, said("[[C]]"), final=True)
    _, later, _ = planned(study, "e" * 64)
    assert later.id != run.id
    assert verdicts.counts(later.id) == {"ok": 2}
    assert verdicts.judgment_counts(later.id) == {"tie": 1}
    assert verdicts.open_keys(later.id, [ab.unit]) == []


def test_verdicts_are_derived_again_from_raw_replies(study: Store) -> None:
    verdicts, run, (ab, ba) = planned(study)
    verdicts.record_attempt(run.id, ab.key, said("[[A]]"), final=True)
    verdicts.record_attempt(run.id, ba.key, NO_REPLY, final=True)
    assert verdicts.reparse() == 0
    with study.write() as conn:
        conn.execute("UPDATE verdict SET choice = 'right', parser = 'old' WHERE status = 'ok'")
        conn.execute("DELETE FROM pair_verdict")
    assert verdicts.reparse() == 1
    stored = study.conn.execute("SELECT choice FROM verdict WHERE status = 'ok'").fetchall()
    assert stored == [("left",)]
    assert pair_verdicts(study) == [("incomplete", None, "timeout")]


@pytest.mark.parametrize(
    "statement", ["UPDATE judge_attempt SET raw = '1'", "DELETE FROM judge_attempt"]
)
def test_the_log_of_calls_is_append_only(study: Store, statement: str) -> None:
    verdicts, run, (ab, _ba) = planned(study)
    verdicts.record_attempt(run.id, ab.key, said("[[A]]"), final=True)
    with pytest.raises(sqlite3.IntegrityError, match="append-only"):
        study.conn.execute(statement)


@pytest.mark.parametrize(
    "values",
    [
        "'ok', NULL, ''",
        "'incomplete', 'tie', 'timeout'",
        "'incomplete', NULL, ''",
        "'ok', 'left', ''",
    ],
)
def test_the_schema_refuses_a_failure_with_a_value(study: Store, values: str) -> None:
    _verdicts, run, (ab, _ba) = planned(study)
    with pytest.raises(sqlite3.IntegrityError, match="CHECK"):
        study.conn.execute(
            f"INSERT INTO pair_verdict VALUES (?, ?, 1, 'overall', 1, {values}, 'both')",
            (run.id, ab.unit),
        )


def test_a_newer_judge_schema_is_refused(study: Store) -> None:
    VerdictStore(study)
    study.conn.execute(
        "INSERT INTO _sqlite_migrations (migration_set, name, applied_at)"
        " VALUES ('evenhand.judge', 'm999_future', ?)",
        (AT,),
    )
    with pytest.raises(StoreNewer, match="m999_future"):
        VerdictStore(study)


def test_tidy_rows(study: Store) -> None:
    verdicts, run, (ab, ba) = planned(study)
    verdicts.record_attempt(run.id, ab.key, said("[[A]]"), final=True)
    verdicts.record_attempt(run.id, ba.key, said("[[A]]"), final=True)
    assert list(verdicts.judgments()) == [
        {
            "unit_id": ab.unit,
            "subject": "pair",
            "question_id": "1",
            "category": "writing",
            "model_a": "alder",
            "model_b": "birch",
            "turn": 1,
            "dimension": "overall",
            "source_kind": "judge",
            "source_id": "m",
            "rater_group": "",
            "layer": "vote",
            "occurrence": 1,
            "purpose": "estimation",
            "inclusion_probability": None,
            "value": "tie",
            "strength": None,
            "status": "ok",
            "order": "unknown",
            "orders": "both",
            "protocol": "",
            "reason": "inconsistent",
            "benchmark": "bench",
        }
    ]


def test_transcript_shows_what_was_asked_and_answered(study: Store) -> None:
    verdicts, run, (ab, _ba) = planned(study)
    verdicts.record_attempt(run.id, ab.key, NO_REPLY, final=False)
    verdicts.record_attempt(run.id, ab.key, said("[[B]]"), final=True)
    failed, answered = verdicts.transcript(ab.unit)
    assert (failed["call"], failed["raw"], failed["status"]) == ("timeout", None, None)
    assert (answered["status"], answered["choice"], answered["order"]) == ("ok", "right", "ab")
    assert answered["raw"]["choices"][0]["message"]["content"] == "[[B]]"
    assert "alder on 1.1" in answered["messages"][1]["content"]


# Imported verdicts


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


def bound(store: Store, *labels: Label) -> list[tuple[Label, str]]:
    with store.write() as conn:
        return [
            (one, library.bind(conn, store.study_id, one.key, one.model_a, one.model_b))
            for one in labels
        ]


def test_importing_twice_adds_nothing(study: Store) -> None:
    labels = [label(), label(turn=2, value=Outcome.TIE, reason="inconsistent")]
    first = import_labels(study, bound(study, *labels))
    again = import_labels(study, bound(study, *labels))
    assert (first.imported, first.merged, first.runs) == (2, 0, 1)
    assert (again.imported, again.merged, again.conflicts) == (0, 2, 0)
    rows = list(VerdictStore(study).judgments())
    assert [(r["value"], r["reason"], r["order"]) for r in rows] == [
        ("a", "", "unknown"),
        ("tie", "inconsistent", "unknown"),
    ]
    assert [(r.name, r.kind) for r in VerdictStore(study).runs()] == [("gpt-4", "imported")]


def test_a_second_different_value_is_reported_and_the_first_stands(study: Store) -> None:
    import_labels(study, bound(study, label()))
    counts = import_labels(study, bound(study, label(Outcome.B)))
    assert (counts.imported, counts.conflicts) == (0, 1)
    assert "gpt-4 on question 1" in counts.conflict_places[0]
    assert [r["value"] for r in VerdictStore(study).judgments()] == ["a"]


def test_models_named_in_the_other_order_are_mirrored(study: Store) -> None:
    import_labels(study, bound(study, label(Outcome.A, model_a="birch", model_b="alder")))
    assert [r["value"] for r in VerdictStore(study).judgments()] == ["b"]


def test_an_imported_failure_has_no_value(study: Store) -> None:
    import_labels(study, bound(study, label(None, status=Status.API_ERROR)))
    (row,) = VerdictStore(study).judgments()
    assert (row["status"], row["value"], row["reason"]) == ("incomplete", None, "api_error")


def test_an_imported_judge_and_a_live_one_stay_apart(study: Store) -> None:
    planned(study)
    import_labels(study, bound(study, label(source_id="m")))
    assert [r.name for r in VerdictStore(study).runs()] == ["m", "m (imported)"]


def test_imported_verdicts_follow_their_pair_when_its_text_arrives(study: Store) -> None:
    key = QuestionKey("bench", "99")
    one = label(key=key)
    import_labels(study, bound(study, one))
    with study.write() as conn:
        library.add_question(conn, Question(key, "", user_turns(["Late?"])))
        for model in ("alder", "birch"):
            answer = Answer(key, model, assistant_turns([model]))
            library.add_answers(conn, "bench", model, [answer])
        library.build_pairs(conn, study.study_id)
    again = import_labels(study, bound(study, one))
    assert (again.imported, again.merged) == (0, 1)
    (row,) = VerdictStore(study).judgments()
    assert row["unit_id"] in unit_ids(study, Subject.PAIR)
