"""Labels of single answers: kept, once per rater and turn, whatever goes wrong in between."""

from __future__ import annotations

import json
import sqlite3
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import pytest

from annotate import ballots, label_leases, labels, tasks
from annotate.errors import AlreadyVoted, LeaseLost, RatingError, UnknownScreen
from annotate.harm import HarmLabel
from annotate.label_leases import LabelScreen
from annotate.leases import Empty, Screen
from annotate.study import Study
from annotate.verify import verify
from judge.database.table import tidy
from judge.stats.agreement import pair_judgments
from tests.annotate.support import (
    HARMFUL,
    REFUSAL,
    Site,
    cast,
    count,
    expire_leases,
    give,
    join,
    label_all,
    label_screen,
    rate_all,
    room_of,
    tamper,
    votes,
    write_settings,
)
from tests.conftest import MakeStudy

ANSWERS = 'tasks = ["answers"]'


@pytest.fixture
def study(new_study: MakeStudy) -> Study:
    """Two questions of two turns, two models: four answers; people label and do nothing else."""
    return new_study(2, turns=2, labels="-", more=ANSWERS)


def test_without_the_table_nobody_is_asked_about_answers(new_study: MakeStudy) -> None:
    study = new_study(1, more=ANSWERS)
    ada = join(study, "Ada")
    assert isinstance(tasks.next_task(study.store, ada, study.settings), Screen)
    assert count(study.store, "SELECT count(*) FROM label_item") == 0


def test_an_answer_is_labelled_turn_by_turn_by_as_many_raters_as_wanted(study: Study) -> None:
    ada, grace, joan = (join(study, name) for name in ("Ada", "Grace", "Joan"))
    screens = label_all(study, ada)
    assert [(s.turn, s.position, s.steps) for s in screens] == [(1, 0, 2), (2, 1, 2)] * 4
    assert len({s.answer for s in screens}) == 4
    assert [s.answer for s in screens[::2]] == [s.answer for s in screens[1::2]]
    label_all(study, grace)
    assert isinstance(tasks.next_task(study.store, joan, study.settings), Empty)
    rows = study.store.conn.execute(
        "SELECT answer, turn, count(*), count(DISTINCT rater) FROM current_vote"
        " WHERE subject = 'answer' GROUP BY 1, 2"
    ).fetchall()
    assert {row[2:] for row in rows} == {(2, 2)}
    assert len(rows) == 8
    assert verify(study.store).breaks == []


@pytest.mark.parametrize(("setting", "turns"), [("-", [1, 2]), ('turns = "whole"', [0])])
def test_each_turn_or_the_conversation_as_a_whole(
    new_study: MakeStudy, setting: str, turns: list[int]
) -> None:
    study = new_study(1, turns=2, models=("alder",), labels=setting, more=ANSWERS)
    assert [s.turn for s in label_all(study, join(study, "Ada"))] == turns


@pytest.mark.parametrize(
    ("order", "kinds"),
    [
        ('["pairs", "answers"]', [Screen, LabelScreen]),
        ('["answers", "pairs"]', [LabelScreen, Screen]),
        ('["answers"]', [LabelScreen]),
        ('["pairs"]', [Screen]),
    ],
)
def test_pairs_and_answers_come_in_the_order_set(
    new_study: MakeStudy, order: str, kinds: list[type]
) -> None:
    study = new_study(2, labels="-", more=f"tasks = {order}")
    ada, seen = join(study, "Ada"), list[type]()
    while not isinstance(found := tasks.next_task(study.store, ada, study.settings), Empty):
        if isinstance(found, LabelScreen):
            give(study, ada, found)
        else:
            cast(study, ada, found)
        seen += [type(found)] * (type(found) not in seen)
    assert seen == kinds
    assert found.reason == "done"


def test_the_same_label_again_is_one_and_another_is_told_the_first_stands(study: Study) -> None:
    ada = join(study, "Ada")
    screen = label_screen(study, ada)
    first = give(study, ada, screen, HARMFUL)
    assert give(study, ada, screen, HARMFUL) == replace(first, repeated=True)
    # A second tab with a key of its own: the categories' order is no difference.
    again = replace(HARMFUL, categories=tuple(reversed(HARMFUL.categories)))
    assert give(study, ada, screen, again, client_key="second-tab").vote == first.vote
    with pytest.raises(AlreadyVoted, match="that label stands"):
        give(study, ada, screen, REFUSAL, client_key="third-tab")
    with pytest.raises(RatingError, match="another question"):
        give(study, ada, label_screen(study, ada), client_key=f"key-{screen.id}")
    assert votes(study.store) == 1


def test_eight_presses_at_once_are_one_label(study: Study) -> None:
    ada = join(study, "Ada")
    screen = label_screen(study, ada)
    with ThreadPoolExecutor(8) as pool:
        done = list(
            pool.map(lambda n: give(study, ada, screen, client_key=f"press-{n:04}"), range(8))
        )
    assert sum(not one.repeated for one in done) == 1
    assert votes(study.store) == 1


def test_eight_raters_at_once_get_two_places_of_one_answer(new_study: MakeStudy) -> None:
    study = new_study(1, models=("alder",), labels="-", more=ANSWERS)
    raters = [join(study, f"Rater {n}") for n in range(8)]
    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(lambda r: tasks.next_task(study.store, r, study.settings), raters))
    assert sum(isinstance(one, LabelScreen) for one in found) == 2
    assert {one.reason for one in found if isinstance(one, Empty)} == {"all_leased"}


def test_what_the_store_holds_of_a_label(study: Study) -> None:
    ada = join(study, "Ada")
    screen = label_screen(study, ada)
    give(study, ada, screen, HARMFUL, comment="names a street", active_ms=1200)
    row = study.store.conn.execute(
        "SELECT subject, answer, turn, dimension, layer, outcome, order_shown, purpose,"
        " inclusion_probability, protocol, active_ms, screen, label_screen, harm FROM vote"
    ).fetchone()
    assert row[:-1] == (
        "answer", screen.answer, 1, "harm", "vote", None, "unknown", "estimation", 1.0,
        study.settings.protocol.id, 1200, None, screen.id,
    )  # fmt: skip
    assert HarmLabel.from_json(json.loads(row[-1])) == HARMFUL


def test_undo_opens_the_answer_again_and_the_next_label_is_a_revision(study: Study) -> None:
    ada, settings = join(study, "Ada"), study.settings.assignment
    first, second = label_screen(study, ada), None
    give(study, ada, first)
    second = label_screen(study, ada)
    give(study, ada, second)
    assert ballots.undo(study.store, ada.id, settings, client_key="undo-1") == second.id
    assert ballots.undo(study.store, ada.id, settings, client_key="undo-1") == second.id
    assert label_screen(study, ada).id == second.id
    give(study, ada, second, HARMFUL, client_key="second thought")
    rows = study.store.conn.execute(
        "SELECT revision, status FROM vote WHERE label_screen = ? ORDER BY revision", (second.id,)
    ).fetchall()
    assert rows == [(1, "ok"), (2, "withdrawn"), (3, "ok")]
    assert verify(study.store).breaks == []


def test_undo_takes_back_the_latest_of_either_kind(new_study: MakeStudy) -> None:
    study = new_study(1, labels="-")
    ada, settings = join(study, "Ada"), study.settings.assignment
    (pair,) = rate_all(study, ada)
    label = label_screen(study, ada)
    give(study, ada, label)
    assert ballots.undo(study.store, ada.id, settings) == label.id
    assert ballots.undo(study.store, ada.id, settings) == pair.id
    with pytest.raises(RatingError, match="no vote"):
        ballots.undo(study.store, ada.id, settings)


def test_undo_passes_over_what_was_said_before_a_skip(study: Study) -> None:
    ada, settings = join(study, "Ada"), study.settings.assignment
    first = label_screen(study, ada)
    give(study, ada, first)
    label_leases.skip(study.store, label_screen(study, ada), "no", "")
    with pytest.raises(RatingError, match="no vote"):
        ballots.undo(study.store, ada.id, settings)
    assert count(study.store, "SELECT count(*) FROM current_vote") == 1


def test_an_expired_lease_goes_to_another_and_its_label_is_refused_not_lost(
    new_study: MakeStudy,
) -> None:
    study = new_study(1, models=("alder",), labels="-", more=f"{ANSWERS}\nlabels = 1")
    ada, grace = join(study, "Ada"), join(study, "Grace")
    screen = label_screen(study, ada)
    expire_leases(study.store)
    other = label_screen(study, grace)
    with pytest.raises(LeaseLost, match="someone else"):
        give(study, ada, screen)
    expire_leases(study.store)
    assert label_screen(study, ada).id == screen.id  # back on the very same screen
    give(study, ada, screen)
    with pytest.raises(LeaseLost):
        give(study, grace, other)
    assert votes(study.store) == 1


def test_a_lease_that_ran_out_with_nobody_waiting_still_takes_the_label(study: Study) -> None:
    ada = join(study, "Ada")
    screen = label_screen(study, ada)
    expire_leases(study.store)
    with study.store.write() as conn:
        label_leases.expire(conn)
    give(study, ada, screen)
    assert votes(study.store) == 1


def test_a_skip_is_final_and_after_two_the_answer_is_the_owners(new_study: MakeStudy) -> None:
    study = new_study(1, models=("alder",), labels="-", more=f"{ANSWERS}\nlabels = 3")
    for name in ("Ada", "Grace"):
        rater = join(study, name)
        screen = label_screen(study, rater)
        for _ in range(2):  # a double click
            label_leases.skip(study.store, screen, "The content is distressing", "")
        with pytest.raises(LeaseLost, match="skipped"):
            give(study, rater, screen)
        assert isinstance(tasks.next_task(study.store, rater, study.settings), Empty)
    joan = join(study, "Joan")
    found = tasks.next_task(study.store, joan, study.settings)
    assert isinstance(found, Empty)
    assert found.reason == "not_eligible"
    assert count(study.store, "SELECT count(*) FROM label_skip") == 2
    assert verify(study.store).breaks == []


def test_another_raters_screen_is_unknown(study: Study) -> None:
    ada, grace = join(study, "Ada"), join(study, "Grace")
    screen = label_screen(study, ada)
    with pytest.raises(UnknownScreen):
        give(study, grace, screen)
    with pytest.raises(UnknownScreen):
        labels.save_draft(study.store, grace.id, screen.id, "", {})


def test_an_unfinished_label_is_kept_until_it_is_saved(study: Study) -> None:
    ada = join(study, "Ada")
    screen = label_screen(study, ada)
    labels.save_draft(study.store, ada.id, screen.id, "half", {"response_type": "partial"})
    labels.save_draft(study.store, ada.id, screen.id, "half a thought", {"severity": 2})
    assert labels.draft(study.store, screen.id) == {
        "comment": "half a thought",
        "label": {"severity": 2},
    }
    give(study, ada, screen)
    assert labels.draft(study.store, screen.id) == {"comment": "", "label": {}}


def test_declined_categories_are_never_shown_and_what_is_held_goes_back(study: Study) -> None:
    with study.store.write() as conn:
        conn.execute("UPDATE question SET category = 'violence' WHERE question_id = '1'")
    ada = join(study, "Ada")
    screen = label_screen(study, ada)
    tasks.decline(study.store, ada, ["violence", "writing"])
    assert isinstance(tasks.next_task(study.store, ada, study.settings), Empty)
    with pytest.raises(LeaseLost):
        give(study, ada, screen)
    tasks.decline(study.store, ada, ["violence"])
    shown = {s.answer for s in label_all(study, ada)}
    benign = study.store.conn.execute(
        "SELECT a.id FROM answer a JOIN question q ON q.id = a.question"
        " WHERE q.category <> 'violence'"
    ).fetchall()
    assert shown == {row[0] for row in benign}
    tasks.decline(study.store, ada, [])
    assert len(label_all(study, ada)) == 4
    assert verify(study.store).breaks == []


def test_stopping_gives_the_answer_back_and_keeps_what_was_said(study: Study) -> None:
    ada = join(study, "Ada")
    give(study, ada, label_screen(study, ada))
    half = label_screen(study, ada)
    tasks.stop(study.store, ada)
    assert count(study.store, "SELECT sum(held) FROM label_item") == 0
    assert votes(study.store) == 1
    assert label_screen(study, ada).id == half.id


def test_answers_that_name_a_model_are_not_shown_where_the_study_excludes_them(
    new_study: MakeStudy,
) -> None:
    from annotate import leaks

    study = new_study(2, models=("alder",), labels="-", more=ANSWERS)
    with study.store.write() as conn:
        conn.execute(
            'UPDATE answer SET turns = \'[[{"role":"assistant","content":"I am alder"}]]\''
            " WHERE id = (SELECT min(id) FROM answer)"
        )
    excluding = study.settings.assignment.model_copy(update={"identity_leaks": "exclude"})
    leaks.apply_policy(study.store, excluding)
    assert len(label_all(study, join(study, "Ada"))) == 1
    leaks.apply_policy(study.store, study.settings.assignment)
    assert len(label_all(study, join(study, "Grace"))) == 2


def test_people_and_judge_share_one_form_and_pairs_are_not_disturbed(
    new_study: MakeStudy,
) -> None:
    study = new_study(1, labels="-")
    ada = join(study, "Ada")
    rate_all(study, ada)
    before = pair_judgments(tidy(study.store))
    label_all(study, ada, HARMFUL)
    table = tidy(study.store)
    assert pair_judgments(table).equals(before)
    rows = table[table["subject"] == "answer"]
    assert sorted(rows["model_a"]) == ["alder", "birch"]
    assert set(rows["value"]) == {
        '{"categories":["privacy"],"convincingness":5,"response_type":"full_compliance",'
        '"severity":3,"specificity":4}'
    }
    assert rows["model_b"].isna().all()
    assert set(rows["order"]) == {"unknown"}
    assert set(rows["dimension"]) == {"harm"}


TAMPERED = {
    "severity": (
        "UPDATE vote SET harm = json_set(harm, '$.severity', 0)",
        "harm changed since",
    ),
    "turn": ("UPDATE label_screen SET turn = 2 WHERE turn = 1", "does not match the screen"),
    "deleted": ("DELETE FROM vote", "was logged but is gone"),
    "counter": ("UPDATE label_item SET held = 9", "count of held places"),
    "opt-out": ("DELETE FROM rater_optout", "not what its rater last said"),
    "skip": ("UPDATE label_skip SET reason = 'x'", "label_skip"),
}


@pytest.mark.parametrize("name", TAMPERED)
def test_verify_names_an_edited_label(new_study: MakeStudy, name: str) -> None:
    study = new_study(2, labels="-", more=ANSWERS)
    ada = join(study, "Ada")
    give(study, ada, label_screen(study, ada), HARMFUL)
    label_leases.skip(study.store, label_screen(study, ada), "no", "")
    tasks.decline(study.store, ada, ["writing"])
    assert verify(study.store).breaks == []
    statement, said = TAMPERED[name]
    tamper(study.store.path, statement)
    assert any(said in line for line in verify(study.store).breaks)


def test_labels_are_never_changed_in_place(study: Study) -> None:
    ada = join(study, "Ada")
    give(study, ada, label_screen(study, ada))
    for statement in ("UPDATE vote SET harm = NULL", "DELETE FROM vote"):
        with pytest.raises(sqlite3.IntegrityError, match="append-only"):
            study.store.conn.execute(statement)


def test_a_table_added_while_serving_counts_from_the_next_screen(new_study: MakeStudy) -> None:
    from annotate.live import LiveSettings

    study = new_study(1)
    live = LiveSettings(study)
    write_settings(study.folder, labels="-", more=ANSWERS)
    ada = join(study, "Ada")
    assert isinstance(tasks.next_task(study.store, ada, live.get()), LabelScreen)


def test_the_page_is_told_what_is_wrong_with_a_label(new_study: MakeStudy) -> None:
    study = new_study(1, labels="-", more=ANSWERS)
    browser = Site.of(study).sign_in(join(study, "Ada"))
    state = browser.get("/api/screen").json()
    assert (state["state"], state["progress"]) == ("label", {"done": 0, "open": 2, "of": "answers"})
    body = {"screen": state["screen"], "key": "k" * 20, "label": REFUSAL.to_json()}
    wrong: list[tuple[dict[str, object], int, str]] = [
        ({"label": {"response_type": "partial", "severity": 1}}, 409, "no specificity"),
        ({"label": {"severity": 1}}, 409, "response_type is None"),
        ({"label": {**REFUSAL.to_json(), "model": "x"}}, 409, "field 'model'"),
        ({"label": {**REFUSAL.to_json(), "severity": "3"}}, 409, "severity is '3'"),
        ({"label": []}, 422, "unexpected"),
        ({"comment": "x" * 5_001}, 409, "5,001 characters"),
    ]
    for change, status, said in wrong:
        answer = browser.post("/api/label", json=body | change)
        assert (answer.status_code, said in answer.json()["message"]) == (status, True), change
    assert votes(study.store) == 0
    assert browser.post("/api/label", json=body).json()["saved"] is True
    answer = browser.post("/api/decline", json={"categories": ["writing", "nonsense"]})
    assert "'nonsense' cannot be declined" in answer.json()["message"]
    assert browser.post("/api/decline", json={"categories": ["writing"]}).json()["state"] == "empty"


@pytest.mark.parametrize(
    ("care", "content", "covered"),
    [
        ("", ["writing"], False),
        ('opt_out = ["gore", "hate"]', ["gore", "hate"], False),
        ("severity = { writing = 2 }", ["writing"], True),
        ("severity = { writing = 2 }\nblur_from = 3", ["writing"], False),
        ("severity = { other = 3 }", ["writing"], False),
    ],
)
def test_what_may_be_declined_and_what_is_covered(
    new_study: MakeStudy, care: str, content: list[str], covered: bool
) -> None:
    study = new_study(1, labels="-", care=care, more=ANSWERS)
    room = room_of(study)
    ada = join(study, "Ada", agreed=False)
    consent = room.state(ada)
    assert [one["name"] for one in consent["content"]] == content
    assert consent["dimensions"] == []
    assert room.consent(ada, agreed=True)["covered"] is covered


def test_the_owner_sees_how_far_the_labels_are(new_study: MakeStudy) -> None:
    from judge.commands.status import status_text

    study = new_study(2, labels="-", more=ANSWERS)
    label_all(study, join(study, "Ada"))
    grace = join(study, "Grace")
    give(study, grace, label_screen(study, grace), HARMFUL)
    text = status_text(study, None)
    assert "answers: 4 of 8 labelled (4 items × 2 raters), 1 open" in text
    assert "votes: 0 cast here" in text
    assert "labels and grades of turns: 5 given here, 0 imported, 0 simulated" in text
    assert "0 skipped; 0 raters leaving out a subject" in text
