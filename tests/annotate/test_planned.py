"""Drawn samples in the queues: their order, and what becomes of each item."""

from __future__ import annotations

import pytest

from annotate import label_leases, library, planned, seats, tasks
from annotate.errors import DataError
from annotate.label_leases import LabelScreen
from annotate.leases import Empty, Screen
from annotate.planned import PlannedItem, State
from annotate.records import Purpose
from annotate.study import Study
from annotate.verify import verify
from tests.annotate.support import (
    cast,
    count,
    give,
    join,
    label_all,
    label_screen,
    screen_for,
    tamper,
)
from tests.conftest import MakeStudy

PLANNED = 'tasks = ["answers"]\nanswers = "planned"'


@pytest.fixture
def study(new_study: MakeStudy) -> Study:
    """Six answers of two turns; only what is drawn is labelled."""
    return new_study(3, turns=2, labels="-", more=PLANNED)


def drawn(study: Study, *, turn: int = 1, step: int = 1) -> list[PlannedItem]:
    answers = [r[0] for r in study.store.conn.execute("SELECT id FROM answer ORDER BY id DESC")]
    return [
        (answer, turn, Purpose.ESTIMATION, 0.25 + place / 100)
        for place, answer in enumerate(answers[::step])
    ]


def states(study: Study, draw: str = "first") -> list[State]:
    return [one.state for one in planned.fill(study.store, draw)]


def test_nothing_is_asked_before_something_is_drawn(study: Study) -> None:
    found = tasks.next_task(study.store, join(study, "Ada"), study.settings)
    assert isinstance(found, Empty)
    assert found.reason == "nothing_imported"


def test_every_rater_walks_the_draw_in_its_order(study: Study) -> None:
    items = drawn(study)
    assert planned.enqueue(study.store, items, "first") == 6
    for name in ("Ada", "Grace"):
        seen = label_all(study, join(study, name))
        assert [(s.answer, s.turn, s.purpose, s.inclusion_probability) for s in seen] == items
    assert states(study) == [State.LABELLED] * 6
    assert {one.labels for one in planned.fill(study.store, "first")} == {2}
    recorded = study.store.conn.execute(
        "SELECT DISTINCT answer, inclusion_probability FROM vote"
    ).fetchall()
    assert sorted(recorded) == sorted((item[0], item[3]) for item in items)
    assert verify(study.store).breaks == []


def test_a_draw_goes_before_everything_else_and_a_later_one_after_it(
    new_study: MakeStudy,
) -> None:
    study = new_study(3, labels="-", more='tasks = ["answers"]')
    one, two, *_ = drawn(study, step=2)
    planned.enqueue(study.store, [one], "first")
    planned.enqueue(study.store, [two], "second")
    seen = label_all(study, join(study, "Ada"))
    assert [s.answer for s in seen[:2]] == [one[0], two[0]]
    assert len({s.answer for s in seen}) == len(seen) == 6  # nobody labels an answer twice


def test_a_label_given_before_counts_and_is_not_asked_again(new_study: MakeStudy) -> None:
    study = new_study(2, labels="-", more='tasks = ["answers"]')
    ada = join(study, "Ada")
    label_all(study, ada)
    planned.enqueue(study.store, drawn(study), "late")
    assert isinstance(tasks.next_task(study.store, ada, study.settings), Empty)
    assert states(study, "late") == [State.LABELLED] * 4
    assert count(study.store, "SELECT count(*) FROM vote") == 4


def test_what_was_not_labelled_says_why(study: Study) -> None:
    with study.store.write() as conn:
        conn.execute("UPDATE question SET category = 'violence' WHERE question_id = '1'")
    planned.enqueue(study.store, drawn(study), "first")
    ada, grace = join(study, "Ada"), join(study, "Grace")
    joan = join(study, "Joan", group="adjudicator")  # does not count among those who could
    for rater in (ada, joan):
        tasks.decline(study.store, rater, ["violence"])
    assert set(states(study)) == {State.UNFILLED}
    tasks.decline(study.store, grace, ["violence"])
    give(study, ada, label_screen(study, ada))
    label_leases.skip(study.store, label_screen(study, ada), "distressing", "")
    found = planned.fill(study.store, "first")
    by = {state: sum(one.state is state for one in found) for state in State}
    assert by == {State.LABELLED: 1, State.REFUSED: 1, State.OPTED_OUT: 2, State.UNFILLED: 2}
    assert {(one.category, one.opted_out) for one in found} == {("violence", 2), ("writing", 0)}


def test_the_same_draw_again_adds_nothing_and_another_under_its_name_is_refused(
    study: Study,
) -> None:
    items = drawn(study)
    planned.enqueue(study.store, items, "first")
    assert planned.enqueue(study.store, items, "first") == 0
    with pytest.raises(DataError, match="with other items"):
        planned.enqueue(study.store, items[::-1], "first")
    assert count(study.store, "SELECT count(*) FROM label_item") == 6


BAD: dict[str, tuple[list[PlannedItem], str]] = {
    "nothing": ([], "0 items"),
    "unknown": ([("x", 1, Purpose.ESTIMATION, 1.0)], "neither an answer nor a pair"),
    "turn": ([("ANSWER", 3, Purpose.ESTIMATION, 1.0)], "expected one of 0, 1, 2"),
    "pair's turn": ([("PAIR", 3, Purpose.ESTIMATION, 1.0)], "its question has 2"),
    "zero": ([("ANSWER", 1, Purpose.ESTIMATION, 0.0)], "inclusion probability 0.0"),
    "over one": ([("ANSWER", 1, Purpose.ESTIMATION, 1.5)], "inclusion probability 1.5"),
    "twice": ([("ANSWER", 1, Purpose.ESTIMATION, 1.0)] * 2, "twice"),
}


@pytest.mark.parametrize("name", BAD)
def test_a_draw_that_cannot_be_is_refused_whole(study: Study, name: str) -> None:
    items, said = BAD[name]
    known = {"ANSWER": library.answer_ids(study.store)[0], "PAIR": library.pair_ids(study.store)[0]}
    meant: list[PlannedItem] = [
        (known.get(unit, unit), turn, purpose, probability)
        for unit, turn, purpose, probability in items
    ]
    with pytest.raises(DataError, match=said):
        planned.enqueue(study.store, meant, "bad")
    assert count(study.store, "SELECT count(*) FROM draw_item") == 0
    with pytest.raises(DataError, match="not in this study"):
        planned.fill(study.store, "bad")


def test_drawn_pairs_come_first_with_their_purpose_and_probability(new_study: MakeStudy) -> None:
    study = new_study(60)  # more than the window in which balance may choose
    wanted = library.pair_ids(study.store)[-3:]
    items: list[PlannedItem] = [(pair, 1, Purpose.ESTIMATION, 0.5) for pair in wanted]
    planned.enqueue(study.store, items, "pairs")
    ada = join(study, "Ada")
    assert planned.fill(study.store, "pairs")[0].state is State.UNFILLED
    first = screen_for(study, ada)
    assert isinstance(first, Screen)
    cast(study, ada, first)
    served = library.pair_ids(study.store)[:3]
    assert served == wanted
    row = study.store.conn.execute(
        "SELECT DISTINCT purpose, inclusion_probability FROM slot WHERE pair = ?", (wanted[0],)
    ).fetchall()
    assert row == [("estimation", 0.5)]


def test_a_draw_is_never_changed_and_verify_sees_it_if_it_was(study: Study) -> None:
    planned.enqueue(study.store, drawn(study), "first")
    with pytest.raises(Exception, match="append-only"):
        study.store.conn.execute("UPDATE draw_item SET inclusion_probability = 1")
    assert verify(study.store).breaks == []
    tamper(
        study.store.path,
        "DROP TRIGGER draw_item_never_updated",
        "UPDATE draw_item SET inclusion_probability = 1",
    )
    assert any("its items were changed" in line for line in verify(study.store).breaks)


def test_a_rater_of_a_preview_does_not_fill(study: Study) -> None:
    planned.enqueue(study.store, drawn(study), "first")
    looker = seats.invite(study.store, "Looker", kind="preview")
    seats.give_consent(study.store, looker.id, study.settings.protocol.id, agreed=True)
    found = tasks.next_task(study.store, looker, study.settings)
    assert isinstance(found, LabelScreen)
    give(study, looker, found)
    assert states(study)[0] is State.UNFILLED
