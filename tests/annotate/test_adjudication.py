"""Which labels are settled, by whom, and with which inclusion probability."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from annotate import adjudication, label_leases, labels, tasks
from annotate.harm import HarmLabel, ResponseType, Severity, differ
from annotate.label_leases import LabelScreen
from annotate.leases import Empty
from annotate.records import Layer
from annotate.study import Study
from annotate.verify import verify
from tests.annotate.support import (
    HARMFUL,
    REFUSAL,
    give,
    join,
    label_all,
    label_screen,
    room_of,
)
from tests.conftest import MakeStudy

ANSWERS = 'tasks = ["answers"]'
MINOR = replace(HARMFUL, severity=Severity.MINOR)
ACTIONABLE = replace(HARMFUL, severity=Severity.ACTIONABLE)
PARTIAL = replace(HARMFUL, response_type=ResponseType.PARTIAL)
BARE = replace(HARMFUL, categories=(), specificity=1)


@pytest.mark.parametrize(
    ("one", "other", "apart"),
    [
        (REFUSAL, HARMFUL, True),
        (MINOR, ACTIONABLE, True),  # either side of unsafe
        (HARMFUL, ACTIONABLE, False),  # both unsafe
        (HARMFUL, PARTIAL, True),  # another response type
        (HARMFUL, BARE, False),  # kinds and scales are not settled
        (REFUSAL, REFUSAL, False),
    ],
)
def test_what_counts_as_a_disagreement(one: HarmLabel, other: HarmLabel, apart: bool) -> None:
    assert differ([one, other]) is apart


def labelled(new_study: MakeStudy, share: float, questions: int = 20) -> Study:
    """Two raters: on the first answer they are given they disagree, elsewhere they agree."""
    study = new_study(
        questions,
        models=("alder",),
        labels="-",
        more=f"{ANSWERS}\nadjudicate_agreements = {share}",
    )
    label_all(study, join(study, "Ada"))
    grace = join(study, "Grace")
    give(study, grace, label_screen(study, grace), HARMFUL)
    label_all(study, grace)
    return study


def queue(study: Study) -> list[tuple[str, float]]:
    return study.store.conn.execute(
        "SELECT reason, inclusion_probability FROM label_item WHERE layer = 'adjudicated'"
        " ORDER BY reason"
    ).fetchall()


@pytest.mark.parametrize(("share", "agreements"), [(0.0, 0), (1.0, 19)])
def test_every_disagreement_and_a_share_of_agreements(
    new_study: MakeStudy, share: float, agreements: int
) -> None:
    study = labelled(new_study, share)
    seen = label_all(study, join(study, "Joan", group="adjudicator"), HARMFUL)
    assert {screen.layer for screen in seen} == {Layer.ADJUDICATED}
    assert len(seen) == 1 + agreements
    assert queue(study) == [("agreement", share)] * agreements + [("disagreement", 1.0)]
    settled = study.store.conn.execute(
        "SELECT layer, inclusion_probability, count(*) FROM current_vote"
        " WHERE layer = 'adjudicated' GROUP BY 1, 2"
    ).fetchall()
    assert sum(row[2] for row in settled) == 1 + agreements
    assert verify(study.store).breaks == []


def test_the_share_is_that_of_the_setting_and_does_not_move() -> None:
    """10 % of 20,000 units: 2,000 ± 4 standard deviations (42)."""
    drawn = [adjudication.drawn("study", f"answer {n}", 1, 0.1) for n in range(20_000)]
    assert 1_830 < sum(drawn) < 2_170
    assert drawn == [adjudication.drawn("study", f"answer {n}", 1, 0.1) for n in range(20_000)]
    assert drawn != [adjudication.drawn("other", f"answer {n}", 1, 0.1) for n in range(20_000)]


def test_a_unit_is_settled_once_whoever_comes(new_study: MakeStudy) -> None:
    study = labelled(new_study, 0.0)
    joan, jean = (join(study, name, group="adjudicator") for name in ("Joan", "Jean"))
    screen = label_screen(study, joan)
    found = tasks.next_task(study.store, jean, study.settings)
    assert isinstance(found, Empty)
    assert found.reason == "all_leased"
    give(study, joan, screen)
    found = tasks.next_task(study.store, jean, study.settings)
    assert isinstance(found, Empty)


def test_a_unit_waits_for_its_second_label_and_for_one_that_is_open(new_study: MakeStudy) -> None:
    study = new_study(1, models=("alder",), turns=2, labels="-", more=f"{ANSWERS}\nlabels = 3")
    ada, grace, third = (join(study, name) for name in ("Ada", "Grace", "Third"))
    joan = join(study, "Joan", group="adjudicator")
    label_all(study, ada)
    assert isinstance(tasks.next_task(study.store, joan, study.settings), Empty)
    label_all(study, grace, HARMFUL)
    open_screen = label_screen(study, third)
    assert isinstance(tasks.next_task(study.store, joan, study.settings), Empty)
    label_leases.skip(study.store, open_screen, "no", "")
    assert isinstance(tasks.next_task(study.store, joan, study.settings), LabelScreen)


def test_raters_never_get_what_adjudicators_do_nor_the_reverse(new_study: MakeStudy) -> None:
    study = labelled(new_study, 1.0, questions=3)
    label_all(study, join(study, "Joan", group="adjudicator"))
    layers = study.store.conn.execute(
        "SELECT r.rater_group, v.layer, count(*) FROM vote v JOIN rater r ON r.id = v.rater"
        " GROUP BY 1, 2 ORDER BY 1"
    ).fetchall()
    assert layers == [("adjudicator", "adjudicated", 3), ("rater", "vote", 6)]


def test_the_page_shows_the_labels_without_whose_they_are(new_study: MakeStudy) -> None:
    study = labelled(new_study, 0.0)
    joan = join(study, "Joan", group="adjudicator")
    state = room_of(study).state(joan)
    assert state["state"] == "label"
    assert sorted(one["severity"] for one in state["labels"]) == [0, 3]
    told = json.dumps(state)
    ids = [row[0] for row in study.store.conn.execute("SELECT id FROM rater UNION SELECT id FROM"
           " vote UNION SELECT id FROM answer UNION SELECT id FROM label_item")]  # fmt: skip
    assert not [one for one in [*ids, "Ada", "Grace", "alder", "disagreement"] if one in told]
    ada_state = room_of(study).state(join(study, "Ada"))
    assert "labels" not in ada_state


def test_suspects_do_not_settle_into_the_sample(new_study: MakeStudy) -> None:
    study = new_study(1, models=("alder",), labels="-", more=f'{ANSWERS}\nanswers = "planned"')
    from annotate import planned
    from annotate.records import Purpose

    answer = study.store.conn.execute("SELECT id FROM answer").fetchone()[0]
    planned.enqueue(study.store, [(answer, 1, Purpose.QUEUE, 1.0)], "suspects")
    label_all(study, join(study, "Ada"))
    label_all(study, join(study, "Grace"), HARMFUL)
    label_all(study, join(study, "Joan", group="adjudicator"))
    purposes = study.store.conn.execute("SELECT DISTINCT purpose FROM vote").fetchall()
    assert purposes == [("queue",)]


def test_a_label_keeps_its_draft_apart_from_others(new_study: MakeStudy) -> None:
    study = labelled(new_study, 0.0)
    joan = join(study, "Joan", group="adjudicator")
    screen = label_screen(study, joan)
    labels.save_draft(study.store, joan.id, screen.id, "", {"severity": 1})
    assert room_of(study).state(joan)["label"] == {"severity": 1}
