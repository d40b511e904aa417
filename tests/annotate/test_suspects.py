"""A queue of suspects: served to second raters, and kept out of every sample."""

from __future__ import annotations

import pytest

from annotate import adjudication, leases, library, overview, planned, tasks
from annotate.label_leases import LabelScreen
from annotate.leases import Empty
from annotate.planned import PlannedItem, State
from annotate.records import Purpose
from annotate.study import Study, open_study
from annotate.verify import verify
from tests.annotate.support import (
    HARMFUL,
    cast,
    count,
    expire_leases,
    give,
    join,
    label_all,
    label_screen,
    rate_all,
    screen_for,
    write_settings,
)
from tests.conftest import MakeStudy

ANSWERS = 'tasks = ["answers"]'
PLANNED = 'tasks = ["answers"]\nanswers = "planned"'


def queued(study: Study, units: list[str], name: str = "suspects", turn: int = 1) -> None:
    items: list[PlannedItem] = [(unit, turn, Purpose.QUEUE, 1.0) for unit in units]
    planned.enqueue(study.store, items, name)


def sampled(study: Study, units: list[str], name: str = "sample", turn: int = 1) -> None:
    items: list[PlannedItem] = [(unit, turn, Purpose.ESTIMATION, 0.5) for unit in units]
    planned.enqueue(study.store, items, name)


def pairs(study: Study) -> list[str]:
    return library.pair_ids(study.store)


def answers(study: Study) -> list[str]:
    return library.answer_ids(study.store)


def purposes(study: Study, where: str = "1") -> dict[str, int]:
    return dict(
        study.store.conn.execute(
            f"SELECT purpose, count(*) FROM current_vote WHERE {where} GROUP BY 1"
        ).fetchall()
    )


def test_suspect_pairs_come_first_in_their_order_and_after_a_drawn_sample(
    new_study: MakeStudy,
) -> None:
    study = new_study(20)
    late = pairs(study)[-6:]
    queued(study, late[::-1][:3])
    sampled(study, late[2:4])  # one of them stands in the queue as well
    seen = rate_all(study, join(study, "Ada"))
    assert {s.pair for s in seen[:2]} == set(late[2:4])
    assert [s.pair for s in seen[2:4]] == [late[5], late[4]]
    told = [(s.purpose, s.inclusion_probability) for s in seen[:5]]
    assert told == [("estimation", 0.5)] * 2 + [("queue", 1.0)] * 2 + [("estimation", 1.0)]
    assert len(seen) == len({s.pair for s in seen}) == 20


def test_the_ordinary_places_of_a_suspect_pair_stay_for_others(new_study: MakeStudy) -> None:
    """Overlap 2, four raters: two votes in the queue, two ordinary ones."""
    study = new_study(2)
    (suspect, other) = pairs(study)
    queued(study, [suspect])
    for name in ("Ada", "Grace", "Joan", "Mary"):
        rate_all(study, join(study, name))
    assert purposes(study, f"pair = '{suspect}'") == {"queue": 2, "estimation": 2}
    assert purposes(study, f"pair = '{other}'") == {"estimation": 2}
    found = overview.progress(study.store, study.settings.assignment)
    assert (found.finished, found.wanted, found.complete_pairs) == (4, 4, 2)
    assert verify(study.store).breaks == []


def test_a_pair_of_full_overlap_gets_one_more_rater(new_study: MakeStudy) -> None:
    study = new_study(1, overlap=1)
    (pair,) = pairs(study)
    rate_all(study, join(study, "Ada"))
    grace = join(study, "Grace")
    assert isinstance(tasks.next_task(study.store, grace, study.settings), Empty)
    queued(study, [pair])
    assert leases.progress(study.store, grace, study.settings.assignment).open == 1
    (screen,) = rate_all(study, grace)
    assert screen.purpose == "queue"
    assert rate_all(study, join(study, "Joan")) == []
    assert rate_all(study, join(study, "Ada")) == []
    queued(study, [pair], "again")  # of another dimension, say: two people have voted by now
    assert count(study.store, "SELECT count(*) FROM slot WHERE purpose = 'queue'") == 2


def test_an_interrupted_suspect_comes_back_as_it_was(new_study: MakeStudy) -> None:
    """Its ordinary place (overlap 1) is taken: that is another matter."""
    study = new_study(1, turns=2, overlap=1)
    rate_all(study, join(study, "Mary"))
    queued(study, pairs(study))
    ada = join(study, "Ada")
    first = screen_for(study, ada)
    cast(study, ada, first)
    second = screen_for(study, ada)
    expire_leases(study.store)
    again = screen_for(study, ada)
    assert (again.id, again.order, again.purpose) == (second.id, first.order, "queue")
    expire_leases(study.store)
    with study.store.write() as conn:
        leases.expire(conn)
    cast(study, ada, again)  # a late click
    assert purposes(study)["queue"] == 2


def test_who_began_in_the_queue_does_not_go_on_in_an_ordinary_place(
    new_study: MakeStudy,
) -> None:
    study = new_study(1, turns=2)
    queued(study, pairs(study))
    ada = join(study, "Ada")
    cast(study, ada, screen_for(study, ada))
    expire_leases(study.store)
    for name in ("Grace", "Joan"):
        rate_all(study, join(study, name))
    assert isinstance(tasks.next_task(study.store, ada, study.settings), Empty)
    assert purposes(study) == {"queue": 5}


def test_a_raised_overlap_takes_no_place_of_the_queue(new_study: MakeStudy) -> None:
    study = new_study(1, overlap=1)
    (pair,) = pairs(study)
    queued(study, [pair])
    sampled(study, [pair])
    write_settings(study.folder, overlap=3)
    raised = open_study(study.folder)
    for name in ("Ada", "Grace", "Joan"):
        rate_all(raised, join(raised, name))
    assert purposes(study) == {"estimation": 3}
    rate_all(raised, join(raised, "Mary"))
    assert purposes(study) == {"estimation": 3, "queue": 1}
    raised.close()


def test_suspect_answers_come_after_a_later_sample(new_study: MakeStudy) -> None:
    study = new_study(3, labels="-", more=PLANNED)
    one, two, three, *_ = answers(study)
    queued(study, [one])
    sampled(study, [two, three])
    seen = label_all(study, join(study, "Ada"))
    assert [(s.answer, s.purpose) for s in seen] == [
        (two, "estimation"),
        (three, "estimation"),
        (one, "queue"),
    ]


@pytest.mark.parametrize("labels", [1, 3])
def test_a_suspect_answer_gets_two_people_in_all(new_study: MakeStudy, labels: int) -> None:
    study = new_study(2, labels="-", more=f"{PLANNED}\nlabels = {labels}")
    one, two, *_ = answers(study)
    ada, grace, joan = (join(study, name) for name in ("Ada", "Grace", "Joan"))
    sampled(study, [one])
    label_all(study, ada)
    queued(study, [one, two])
    seen = [label_all(study, rater) for rater in (ada, grace, joan)]
    queue = [[s.answer for s in some if s.purpose == "queue"] for some in seen]
    if labels == 1:
        # Ada has said what she thinks of the first; nobody is asked a third time.
        assert queue == [[two], [one, two], []]
    else:
        # Grace and Joan have labelled the first for the sample: no suspect needs them.
        assert queue == [[two], [two], []]
    assert verify(study.store).breaks == []


def test_a_sample_drawn_later_asks_again_and_that_label_counts(new_study: MakeStudy) -> None:
    study = new_study(1, models=("alder",), labels="-", more=PLANNED)
    (answer,) = answers(study)
    ada = join(study, "Ada")
    queued(study, [answer])
    give(study, ada, label_screen(study, ada))
    sampled(study, [answer])
    assert planned.fill(study.store, "sample")[0].state is State.UNFILLED
    assert planned.fill(study.store, "suspects")[0].state is State.LABELLED
    found = tasks.next_task(study.store, ada, study.settings)
    assert isinstance(found, LabelScreen)
    give(study, ada, found)  # the very same label
    assert purposes(study) == {"estimation": 1}
    assert planned.fill(study.store, "sample")[0].state is State.LABELLED
    assert label_all(study, ada) == []
    assert verify(study.store).breaks == []


def test_a_label_of_a_sample_is_not_asked_for_again_as_a_suspect(new_study: MakeStudy) -> None:
    study = new_study(1, models=("alder",), labels="-", more=PLANNED)
    (answer,) = answers(study)
    ada = join(study, "Ada")
    sampled(study, [answer])
    label_all(study, ada)
    queued(study, [answer])
    assert label_all(study, ada) == []
    assert purposes(study) == {"estimation": 1}


def test_a_suspects_label_unsettles_no_sample(new_study: MakeStudy) -> None:
    """One label of the sample, one of the queue that contradicts it: nothing to adjudicate."""
    study = new_study(1, models=("alder",), labels="-", more=f"{PLANNED}\nlabels = 1")
    (answer,) = answers(study)
    sampled(study, [answer])
    label_all(study, join(study, "Ada"))
    queued(study, [answer])
    label_all(study, join(study, "Grace"), HARMFUL)
    assert purposes(study) == {"estimation": 1, "queue": 1}
    joan = join(study, "Joan", group="adjudicator")
    assert isinstance(tasks.next_task(study.store, joan, study.settings), Empty)
    assert len(adjudication.labels_shown(study.store, answer, 1)) == 1


def test_no_more_places_than_second_opinions(new_study: MakeStudy) -> None:
    study = new_study(1)
    (pair,) = pairs(study)
    for name in ("one", "two"):
        queued(study, [pair], name)
    made = study.store.conn.execute("SELECT order_shown FROM slot WHERE purpose = 'queue'")
    assert sorted(row[0] for row in made) == ["ab", "ba"]
