"""Grades of answers: means by model and turn, failures apart, MT-Bench-101's score."""

from __future__ import annotations

import json
from pathlib import Path

import pandas as pd
import pytest

from annotate import library
from annotate.errors import NothingComputable
from annotate.readers import Found
from annotate.readers.mtbench101 import read_dialogues
from annotate.records import Answer, Question, assistant_turns
from annotate.store import Store
from judge.ask.modes import Mode
from judge.database.table import tidy
from judge.engine.runner import run
from judge.reporting.report import to_json, to_markdown, to_text
from judge.reporting.summary import agreement_report
from judge.stats.grades import GradeTable, grade_tables, grade_values
from judge.stats.mtbench101 import TASKS
from tests.judge.fake_endpoint import Body, FakeEndpoint, Scripted, completion
from tests.judge.study import settings


def row(
    question: int, model: str, turn: int, value: object, **changes: object
) -> dict[str, object]:
    return {
        "unit_id": f"{question}:{model}",
        "subject": "answer",
        "benchmark": "bench",
        "question_id": str(question),
        "category": "",
        "model_a": model,
        "model_b": None,
        "turn": turn,
        "dimension": "helpfulness",
        "source_kind": "judge",
        "source_id": "j",
        "rater_group": "",
        "layer": "vote",
        "occurrence": 1,
        "purpose": "estimation",
        "value": value if not isinstance(value, str) else None,
        "status": value if isinstance(value, str) else "ok",
        **changes,
    }


def tables(rows: list[dict[str, object]]) -> tuple[GradeTable, ...]:
    return grade_tables(pd.DataFrame(rows), {}, level=0.95, resamples=200, seed=7)


def test_values_are_what_the_means_are_of() -> None:
    rows = [
        row(1, "alder", 1, 8.0),
        row(1, "alder", 2, 4.0),
        row(1, "alder", 0, 1.0),
        row(1, "alder", 1, 2.0, occurrence=2),
        row(2, "alder", 1, "timeout"),
        row(2, "birch", 1, "timeout"),
    ]
    (values,) = grade_values(pd.DataFrame(rows)).values()
    assert {name: [one.value for one in found] for name, found in values.items()} == {
        "alder": [8.0, 4.0],
        "birch": [],
    }
    assert len({one.question for one in values["alder"]}) == 1
    (table,) = tables(rows)
    means = {one.model: one.mean for one in table.rows}
    assert (means["alder"].value, means["alder"].n, means["birch"].value) == (6, 2, None)


def test_means_by_model_and_turn_and_failures_apart() -> None:
    (found,) = tables(
        [
            row(1, "alder", 1, 8.0),
            row(1, "alder", 2, 6.0),
            row(2, "alder", 1, 10.0),
            row(2, "alder", 2, "refused"),
            row(1, "birch", 1, 9.0),
            row(2, "birch", 1, 9.5),
            row(2, "birch", 0, 1.0),
        ]
    )
    best, second = found.rows
    assert (best.model, best.mean.value, best.mean.n) == ("birch", 9.25, 2)
    assert dict((t, e.value) for t, e in best.turns) == {0: 1.0, 1: 9.25}, "dialogues apart"
    assert (second.mean.value, second.mean.n) == (8.0, 3)
    assert second.mean.excluded == {"refused": 1}
    assert {t: e.value for t, e in second.turns} == {1: 9.0, 2: 6.0}
    assert second.mean.low is not None
    assert found.stability is None


def test_a_model_whose_every_grade_failed_has_no_mean() -> None:
    (found,) = tables([row(1, "alder", 1, "timeout"), row(1, "birch", 1, 2.0)])
    alder = next(r for r in found.rows if r.model == "alder")
    assert (alder.mean.value, alder.mean.reason) == (None, "every grade failed")


def test_replicates_tell_the_spread_and_do_not_enter_the_mean() -> None:
    (found,) = tables(
        [row(1, "alder", 1, 6.0), row(1, "alder", 1, 8.0, occurrence=2), row(2, "alder", 1, 4.0)]
    )
    assert found.rows[0].mean.value == 5.0
    assert found.stability is not None
    assert found.stability.spread == pytest.approx(2**0.5)


def test_judges_and_dimensions_never_mix_and_harm_labels_are_no_grades() -> None:
    found = tables(
        [
            row(1, "alder", 1, 6.0),
            row(1, "alder", 1, 2.0, source_id="k"),
            row(1, "alder", 1, 3.0, dimension="overall"),
            row(1, "alder", 1, 3.0, dimension="harm"),
        ]
    )
    assert [(t.judge, t.dimension) for t in found] == [
        ("j", "helpfulness"),
        ("j", "overall"),
        ("k", "helpfulness"),
    ]


def dialogues(folder: Path) -> list[Question]:
    """One dialogue of three turns for each of the 13 tasks."""
    file = folder / "mtbench101.jsonl"
    exchange = [{"user": f"u{n}", "bot": f"g{n}"} for n in (1, 2, 3)]
    lines = [{"task": t, "id": n, "history": exchange} for n, t in enumerate(TASKS, start=1)]
    file.write_text("".join(json.dumps(line) + "\n" for line in lines))
    read = [i.record for i in read_dialogues(file, file.name, "m101") if isinstance(i, Found)]
    return [record for record in read if isinstance(record, Question)]


def test_mt_bench_101_end_to_end(tmp_path: Path) -> None:
    """Every turn 8, but MR's last one 4: MR scores 4, the benchmark (12 × 8 + 4) / 13."""
    store = Store.create(tmp_path / "evenhand.sqlite", "test")
    with store.write() as conn:
        for question in dialogues(tmp_path):
            library.add_question(conn, question)
            said = assistant_turns(["one", "two", f"three of {question.category}"])
            library.add_answers(conn, "m101", "alder", [Answer(question.key, "alder", said)])

    def grade(body: Body, _number: int) -> Scripted:
        return completion("[[4]]" if "three of MR" in str(body) else "[[8]]")

    with FakeEndpoint(grade) as endpoint:
        chosen = settings(endpoint.base_url, mode=Mode.GRADE, dimensions=("mtbench101",))
        summary = run(store, chosen)
        assert summary.planned == 13 * 3 - 6, "six tasks do not score their first turn"
        prompts = [body["messages"][1]["content"] for body in endpoint.requests]
        assert not any("<<<answer, turn 1>>>" in p and "<<<answer, turn 2>>>" in p for p in prompts)
    report = agreement_report(tidy(store), questions=library.turn_counts(store), resamples=100)
    (found,) = report.grades[0].mtbench101
    tasks = dict(found.tasks)
    assert (tasks["MR"].value, tasks["CM"].value) == (4.0, 8.0)
    assert found.overall.value == pytest.approx((12 * 8 + 4) / 13)
    assert found.variant.value == pytest.approx((12 * 8 + 20 / 3) / 13)
    for text in (to_text(report), to_markdown(report)):
        assert "7.69" in text
        assert "by mean over turns" in text
    assert json.loads(to_json(report))["grades"][0]["mtbench101"][0]["model"] == "alder"
    store.close()


def test_a_turn_that_was_never_graded_leaves_the_dialogue_without_a_score(tmp_path: Path) -> None:
    rows = [row(1, "alder", 1, 9.0, dimension="mtbench101", category="MR")]
    table = pd.DataFrame(rows)
    questions = {("bench", "1"): 2}
    (found,) = grade_tables(table, questions, level=0.95, resamples=100, seed=7)
    assert dict(found.mtbench101[0].tasks)["MR"].excluded == {"missing": 1}


def test_a_study_without_votes_reports_grades() -> None:
    report = agreement_report(pd.DataFrame([row(1, "alder", 1, 7.0)]), resamples=100)
    assert "Judge j: grades on helpfulness" in to_text(report)
    with pytest.raises(NothingComputable):
        agreement_report(pd.DataFrame([row(1, "alder", 1, 7.0, dimension="harm")]), resamples=100)
