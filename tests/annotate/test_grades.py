"""People's grades of answers: asked, kept, drawn, exported and imported, as harm labels are."""

from __future__ import annotations

import json
import sqlite3
from pathlib import Path
from typing import Any

import pytest

from annotate import ballots, label_leases, planned, tasks
from annotate.errors import AlreadyVoted, RatingError, UsageError
from annotate.export import export_votes
from annotate.harm import HARM
from annotate.label_leases import LabelScreen
from annotate.leases import Empty
from annotate.planned import State
from annotate.records import Purpose
from annotate.study import Study, apply_settings, load_settings
from annotate.verify import verify
from tests.annotate.support import (
    HARMFUL,
    REFUSAL,
    Site,
    count,
    give,
    join,
    label_all,
    label_screen,
    read_in,
    room_of,
    tamper,
    votes,
    write_lines,
    write_settings,
)
from tests.conftest import MakeStudy

ANSWERS = 'tasks = ["answers"]'


@pytest.fixture
def study(new_study: MakeStudy) -> Study:
    """Two questions of two turns, two models: four answers; people grade and do nothing else."""
    return new_study(2, turns=2, grades="-", more=ANSWERS)


def test_an_answer_is_graded_turn_by_turn_by_as_many_raters_as_wanted(study: Study) -> None:
    ada, grace, joan = (join(study, name) for name in ("Ada", "Grace", "Joan"))
    screens = label_all(study, ada, 7)
    assert [(s.turn, s.dimension, s.layer) for s in screens] == [
        (1, "helpfulness", "vote"),
        (2, "helpfulness", "vote"),
    ] * 4
    label_all(study, grace, 10)
    assert isinstance(tasks.next_task(study.store, joan, study.settings), Empty)
    rows = list(ballots.judgments(study.store))
    assert {(r["subject"], r["dimension"], r["value"], r["purpose"]) for r in rows} == {
        ("answer", "helpfulness", 7.0, "estimation"),
        ("answer", "helpfulness", 10.0, "estimation"),
    }
    assert {r["inclusion_probability"] for r in rows} == {1.0}
    assert len(rows) == 16
    assert verify(study.store).breaks == []


@pytest.mark.parametrize(("setting", "turns"), [("-", [1, 2]), ('turns = "whole"', [0])])
def test_each_turn_or_the_conversation_as_a_whole(
    new_study: MakeStudy, setting: str, turns: list[int]
) -> None:
    study = new_study(1, turns=2, models=("alder",), grades=setting, more=ANSWERS)
    assert [s.turn for s in label_all(study, join(study, "Ada"), 3)] == turns


def test_the_same_grade_again_is_one_undo_is_a_revision_and_another_form_is_refused(
    study: Study,
) -> None:
    ada, settings = join(study, "Ada"), study.settings.assignment
    screen = label_screen(study, ada)
    first = give(study, ada, screen, 8)
    assert give(study, ada, screen, 8, client_key="second-tab").vote == first.vote
    with pytest.raises(AlreadyVoted, match="that grade stands"):
        give(study, ada, screen, 9, client_key="third-tab")
    with pytest.raises(RatingError, match="another question"):
        give(study, ada, label_screen(study, ada), REFUSAL)
    assert ballots.undo(study.store, ada.id, settings) == screen.id
    give(study, ada, screen, 2, client_key="once-more")
    assert study.store.conn.execute(
        "SELECT revision, status, grade FROM vote ORDER BY revision"
    ).fetchall() == [(1, "ok", 8.0), (2, "withdrawn", None), (3, "ok", 2.0)]
    assert verify(study.store).breaks == []


@pytest.mark.parametrize("grade", [0, 11, True, 7.5, "7"])
def test_what_is_no_grade_is_refused_by_the_room(study: Study, grade: Any) -> None:
    ada = join(study, "Ada")
    browser = Site.of(study).sign_in(ada)
    state = browser.get("/api/screen").json()
    body = {"screen": state["screen"], "label": {"grade": grade}, "key": "k" * 16}
    answer = browser.post("/api/label", json=body)
    assert answer.status_code == RatingError.status
    assert "expected a whole number from 1 to 10" in answer.json()["message"]
    assert votes(study.store) == 0


def test_the_store_itself_holds_no_grade_off_the_scale_and_no_two_values(study: Study) -> None:
    ada = join(study, "Ada")
    screen = label_screen(study, ada)
    for row in (
        {"grade": 11.0},
        {"grade": 0.5},
        {},
        {"grade": 5.0, "harm": "{}"},
        {"grade": 5.0, "dimension": HARM},
    ):
        whole = ballots.label_row(screen, None) | {"client_key": "key", "status": "ok"} | row
        refused = pytest.raises(sqlite3.IntegrityError, match="a grade from 1 to 10")
        with refused, study.store.write() as conn:
            ballots.insert(study.store, conn, whole, "")


def test_the_page_asks_in_the_protocols_words_and_tells_nothing_else(
    new_study: MakeStudy,
) -> None:
    words = 'question = "How good?"\nlowest = "useless"\nhighest = "perfect"\n'
    study = new_study(1, turns=2, grades=words + 'instructions = "Read it."', more=ANSWERS)
    ada = join(study, "Ada", agreed=False)
    browser = Site.of(study).sign_in(ada)
    asked = browser.get("/api/screen").json()
    assert [(f["question"], f["lowest"], f["highest"]) for f in asked["forms"]] == [
        ("How good?", "useless", "perfect")
    ]
    assert "Read it." in asked["labelling"][0]
    state = browser.post("/api/consent", json={"agreed": True}).json()
    assert state["state"] == "label"
    assert state["form"] == {
        "asks": "grade",
        "question": "How good?",
        "guidance": "",
        "grades": [1, 2, 3, 4, 5, 6, 7, 8, 9, 10],
        "lowest": "useless",
        "highest": "perfect",
    }
    draft = {"screen": state["screen"], "comment": "half", "label": {"grade": 4}}
    assert browser.post("/api/draft", json=draft).status_code == 200
    assert browser.get("/api/screen").json()["label"] == {"grade": 4}
    body = {"screen": state["screen"], "label": {"grade": 10}, "key": "k" * 16}
    assert "Read it." in state["instructions"]
    following = browser.post("/api/label", json=body).json()
    assert (following["saved"], following["turn"], following["label"]) == (True, 2, {})


def test_labels_and_grades_of_one_answer_are_asked_one_dimension_after_the_other(
    new_study: MakeStudy,
) -> None:
    study = new_study(2, labels="-", grades="-", more=ANSWERS)
    ada, asked = join(study, "Ada"), list[tuple[str, str]]()
    while isinstance(found := tasks.next_task(study.store, ada, study.settings), LabelScreen):
        give(study, ada, found, HARMFUL if found.dimension == HARM else 6)
        asked.append((found.dimension, found.answer))
    assert [dimension for dimension, _answer in asked] == [HARM] * 4 + ["helpfulness"] * 4
    assert len(set(asked)) == 8
    assert verify(study.store).breaks == []


def test_grades_go_to_no_adjudicator(new_study: MakeStudy) -> None:
    study = new_study(1, labels="-", grades="-", more=ANSWERS)
    for name, grade in (("Ada", 1), ("Grace", 10)):
        rater = join(study, name)
        while isinstance(found := tasks.next_task(study.store, rater, study.settings), LabelScreen):
            give(study, rater, found, REFUSAL if found.dimension == HARM else grade)
    chair = join(study, "Joan", group="adjudicator")
    tasks.next_task(study.store, chair, study.settings)
    assert count(
        study.store, "SELECT count(*) FROM label_item WHERE layer = 'adjudicated' AND"
        " dimension <> 'harm'"
    ) == 0  # fmt: skip
    only = new_study(1, grades="-", more=ANSWERS)
    assert tasks.tasks_of(join(only, "Joan", group="adjudicator"), only.settings) == ("pairs",)


def test_a_protocol_that_turns_from_labels_to_grades_asks_anew(new_study: MakeStudy) -> None:
    study = new_study(1, labels="-", more=ANSWERS)
    ada, grace = join(study, "Ada"), join(study, "Grace")
    label_all(study, ada)
    held = label_screen(study, grace)
    write_settings(study.folder, grades="-", more=ANSWERS)
    settings = load_settings(study.folder)
    apply_settings(study.store, settings)
    tasks.prepare(study.store, settings)
    for rater in (ada, grace):
        found = tasks.next_task(study.store, rater, settings)
        assert isinstance(found, LabelScreen)
        assert found.dimension == "helpfulness"
        assert found.id != held.id


def test_a_grade_on_a_screen_does_not_keep_labels_from_the_adjudicator(
    new_study: MakeStudy,
) -> None:
    study = new_study(1, models=("alder",), labels="-", grades="-", more=ANSWERS)
    for name, label in (("Ada", REFUSAL), ("Grace", HARMFUL)):
        rater = join(study, name)
        give(study, rater, label_screen(study, rater), label)
        assert label_screen(study, rater).dimension == "helpfulness"
    assert label_screen(study, join(study, "Joan", group="adjudicator")).layer == "adjudicated"


def test_a_running_study_that_begins_to_ask_for_grades_makes_its_items(
    new_study: MakeStudy,
) -> None:
    study = new_study(1, more=ANSWERS)
    room, ada = room_of(study), join(study, "Ada")
    write_settings(study.folder, grades="-", more=ANSWERS)
    state = room.state(ada)
    assert (state["state"], state["form"]["asks"], state["instructions"]) == ("label", "grade", "")


def test_grades_are_no_second_look_at_a_suspect_label(new_study: MakeStudy) -> None:
    study = new_study(
        1, models=("alder",), labels="-", grades="-", more=f'{ANSWERS}\nanswers = "planned"'
    )
    (answer,) = study.store.conn.execute("SELECT id FROM answer").fetchone()
    planned.enqueue(study.store, [(answer, 1, Purpose.ESTIMATION, 1.0)], "g", "helpfulness")
    for name in ("Ada", "Grace"):
        label_all(study, join(study, name), 4)
    planned.enqueue(study.store, [(answer, 1, Purpose.QUEUE, 1.0)], "suspects")
    assert label_screen(study, join(study, "Joan")).dimension == HARM


def drawn(study: Study) -> list[planned.PlannedItem]:
    rows = study.store.conn.execute("SELECT id FROM answer ORDER BY id DESC")
    return [(row[0], turn, Purpose.ESTIMATION, 0.5) for row in rows for turn in (2, 1)]


def test_a_draw_of_grades_is_walked_in_its_order_and_labels_do_not_fill_it(
    new_study: MakeStudy,
) -> None:
    study = new_study(2, turns=2, labels="-", grades="-", more=f'{ANSWERS}\nanswers = "planned"')
    items = drawn(study)
    planned.enqueue(study.store, items[:1], "harm")
    planned.enqueue(study.store, items, "grades", "helpfulness")
    ada = join(study, "Ada")
    give(study, ada, label_screen(study, ada), HARMFUL)
    assert {one.state for one in planned.fill(study.store, "grades")} == {State.UNFILLED}
    seen = label_all(study, ada, 5)
    assert [(s.answer, s.turn, s.purpose, s.inclusion_probability) for s in seen] == items
    assert {one.state for one in planned.fill(study.store, "grades")} == {State.LABELLED}
    assert verify(study.store).breaks == []


TAMPERED = {
    "a grade": ("UPDATE vote SET grade = 9", "grade changed since it was cast"),
    "its dimension": ("UPDATE label_item SET dimension = 'wit'", "does not match the screen"),
    "what a draw asks": ("UPDATE draw SET dimension = 'harm'", "its items were changed"),
}


@pytest.mark.parametrize("name", TAMPERED)
def test_verify_names_what_was_changed_behind_its_back(study: Study, name: str) -> None:
    planned.enqueue(study.store, drawn(study), "grades", "helpfulness")
    ada = join(study, "Ada")
    give(study, ada, label_screen(study, ada), 3)
    assert verify(study.store).breaks == []
    statement, said = TAMPERED[name]
    tamper(study.store.path, "DROP TRIGGER draw_never_updated", statement)
    assert any(said in one for one in verify(study.store).breaks)


def test_a_skipped_answer_comes_back_on_no_dimension(new_study: MakeStudy) -> None:
    study = new_study(1, models=("alder",), labels="-", grades="-", more=ANSWERS)
    ada = join(study, "Ada")
    label_leases.skip(study.store, label_screen(study, ada), "not my field", "")
    assert isinstance(tasks.next_task(study.store, ada, study.settings), Empty)


def test_harm_is_no_dimension_of_grades(tmp_path: Path, new_study: MakeStudy) -> None:
    study = new_study(1)
    write_settings(study.folder, grades='dimension = "harm"')
    with pytest.raises(UsageError, match="what harm labels are about"):
        load_settings(study.folder)


# ---------------------------------------------------------------------------- files


def line(**changes: Any) -> dict[str, Any]:
    whole = {"question_id": "1", "model": "alder", "turn": 1, "rater": "expert_1", "grade": 7}
    return {key: value for key, value in (whole | changes).items() if value is not ...}


def test_grades_are_imported_once_from_jsonl_and_csv(study: Study, tmp_path: Path) -> None:
    path = write_lines(
        tmp_path / "grades.jsonl",
        [line(), line(turn=2, grade=8.5), line(layer="gold"), line(dimension="helpfulness")],
    )
    table = tmp_path / "more.csv"
    table.write_text(
        "\ufeffquestion_id,model,turn,rater,grade,comment,inclusion_probability\n"
        '1,alder,1,expert_1,7,,\n2,birch,0,expert_2,10,"why, so",0.5\n\n',
        "utf-8",
    )
    first = read_in(study.store, path, table)
    assert first.refused == []
    assert first.imported["people's grades"] == 5
    assert first.merged["people's grades"] == 1  # the CSV's first row is the JSONL's first line
    again = read_in(study.store, path, table)
    assert (again.merged["people's grades"], again.added) == (6, 0)
    found = list(ballots.judgments(study.store))
    assert [(r["source_id"], r["dimension"], r["layer"], r["turn"], r["value"]) for r in found] == [
        ("expert_1", "overall", "vote", 1, 7.0),
        ("expert_1", "overall", "vote", 2, 8.5),
        ("expert_1", "overall", "gold", 1, 7.0),
        ("expert_1", "helpfulness", "vote", 1, 7.0),
        ("expert_2", "overall", "vote", 0, 10.0),
    ]
    assert found[-1]["inclusion_probability"] == 0.5
    assert verify(study.store).breaks == []


BAD: dict[str, tuple[dict[str, Any], str]] = {
    "over": ({"grade": 11}, "grade: input should be less than or equal to 10; found 11"),
    "under": ({"grade": 0}, "grade: input should be greater than or equal to 1; found 0"),
    "failure": ({"grade": -1}, "grade:"),
    "truth": ({"grade": True}, "grade: found True, expected a number"),
    "word": ({"grade": "good"}, "grade:"),
    "none": ({"grade": None}, "grade:"),
    "field": ({"grades": 7}, "grades: extra inputs"),
    "harm": ({"dimension": "harm"}, "dimension: found 'harm': harm has labels"),
    "turn": ({"turn": 3}, "turn: found 3, the question has 2"),
    "model": ({"model": "cedar"}, "model: cedar has no stored answer to question 1"),
    "question": ({"question_id": "9"}, "no stored answer to question 9"),
    "probability": ({"inclusion_probability": 2}, "inclusion_probability"),
}


@pytest.mark.parametrize("name", BAD)
def test_a_wrong_line_is_named_and_the_others_stay(study: Study, tmp_path: Path, name: str) -> None:
    changes, said = BAD[name]
    path = write_lines(tmp_path / "grades.jsonl", [line(question_id="2"), line(**changes)])
    account = read_in(study.store, path)
    (problem,) = account.refused
    assert said in str(problem)
    assert "grades.jsonl:2" in str(problem)
    assert account.imported["people's grades"] == 1


@pytest.mark.parametrize(
    ("row", "said"),
    [
        (b"1,alder,1,expert_1,11", "table.csv:3: grade: input should be less"),
        (b"1,alder,1,expert_1", "table.csv:3: 4 cells, the first line has 5"),
        (b"1,alder,1,expert_1,", "table.csv:3: grade: field required"),
        (b"1,alder,1,expert_\xff1,7", "table.csv:3: not UTF-8"),
        (b'1,alder,1,"expert"1,7', "table.csv:3: not CSV"),
    ],
)
def test_a_wrong_row_is_named(study: Study, tmp_path: Path, row: bytes, said: str) -> None:
    path = tmp_path / "table.csv"
    path.write_bytes(b"question_id,model,turn,rater,grade\n2,alder,1,expert_1,7\n" + row + b"\n")
    account = read_in(study.store, path)
    (problem,) = account.refused
    assert said in str(problem)
    assert account.imported["people's grades"] == 1


def test_a_second_grade_is_refused_and_a_repeat_is_named(study: Study, tmp_path: Path) -> None:
    rows = [line(), line(grade=2), line(), line(turn=2, rater_group="author")]
    account = read_in(study.store, write_lines(tmp_path / "grades.jsonl", rows))
    told = [str(problem) for problem in account.problems]
    assert "grade: expert_1 already has another grade here (7); found 2, the first" in told[0]
    assert "merged: expert_1 gave the same grade on line 1" in told[1]
    assert "is in group expert already" in told[2]
    assert votes(study.store) == 1


def test_what_is_exported_imports_into_the_same_grades(
    new_study: MakeStudy, tmp_path: Path
) -> None:
    study = new_study(2, labels="-", grades="-", more=ANSWERS)
    ada = join(study, "Ada")
    while isinstance(found := tasks.next_task(study.store, ada, study.settings), LabelScreen):
        give(study, ada, found, REFUSAL if found.dimension == HARM else 9, comment="so")
    written = {path.name: rows for path, rows in export_votes(study.store, tmp_path / "out")}
    assert written == {"votes.jsonl": 8, "votes.csv": 8, "harm_labels.jsonl": 4, "grades.jsonl": 4}
    (first, *_) = (tmp_path / "out" / "grades.jsonl").read_text("utf-8").splitlines()
    assert json.loads(first)["grade"] == 9.0

    other = new_study(2)
    account = read_in(other.store, tmp_path / "out" / "grades.jsonl")
    assert (account.imported["people's grades"], account.problems) == (4, [])
    same = ("unit_id", "model_a", "turn", "dimension", "value", "layer", "source_id", "purpose",
            "inclusion_probability")  # fmt: skip
    one, two = (
        [tuple(row[name] for name in same) for row in ballots.judgments(s.store)
         if row["dimension"] != HARM]
        for s in (study, other)
    )  # fmt: skip
    assert one == two


def test_a_judges_score_is_not_taken_for_a_persons_grade(study: Study, tmp_path: Path) -> None:
    row = {"question_id": 1, "model": "alder", "turn": 1, "judge": "gpt", "score": 7}
    account = read_in(study.store, write_lines(tmp_path / "x.jsonl", [row]))
    assert account.imported["people's grades"] == 0
    assert account.read["grades"] + len(account.problems) == 1
