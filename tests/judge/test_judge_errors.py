"""`judge errors` from end to end: suspects queued, second raters asked, errors confirmed."""

from __future__ import annotations

from pathlib import Path

import pytest

from annotate import library, planned
from annotate.leases import Screen
from annotate.records import Choice, Order, Purpose
from annotate.seats import Rater
from annotate.study import Study
from judge.calibration.from_table import harm_set, pair_set
from judge.database.table import tidy
from judge.reporting.scope import Settings
from judge.reporting.topics import harm_labels
from judge.stats.agreement import pair_judgments, select_votes
from tests.annotate.support import (
    HARMFUL,
    cast,
    join,
    label_all,
    make_study,
    marker,
    next_for,
)
from tests.judge.calibration.commands import SAID, said
from tests.judge.fake_endpoint import (
    Body,
    FakeEndpoint,
    Script,
    Scripted,
    completion,
    say,
)


def judge(study: Study, script: Script, *options: str) -> None:
    with FakeEndpoint(script) as endpoint:
        said("judge", study.folder, "--base-url", endpoint.base_url, "--model", "m", *options)


def errors(study: Study, *options: object) -> str:
    return " ".join(said("judge", "errors", study.folder, "m", *options).split())


def for_a(study: Study, rater: Rater) -> list[Screen]:
    """The rater finds answer a better, wherever it stands."""
    seen = []
    while isinstance(screen := next_for(study, rater), Screen):
        cast(study, rater, screen, Choice.LEFT if screen.order is Order.AB else Choice.RIGHT)
        seen.append(screen)
    return seen


def test_pairs_that_the_judge_does_not_hold_go_to_second_raters(tmp_path: Path) -> None:
    study = make_study(tmp_path / "study", 6, dimensions=("harmlessness",))
    judge(study, say("[[A]]"))
    text = errors(study)
    assert "6 of 6 verdicts are suspect" in text
    assert f"6 more lack a second person; queue them: evenhand judge errors {study.folder}" in text
    assert "Put 4 items into the raters' queue" in errors(study, "--queue", "--limit", 4)
    assert "Put 2 items" in errors(study, "--queue")  # the rest, and none twice
    assert "Put" not in errors(study, "--queue")
    ada, grace = join(study, "Ada"), join(study, "Grace")
    assert {screen.purpose for screen in for_a(study, ada)} == {"queue"}
    assert "no queued item has been seen by two people" in errors(study)
    for_a(study, grace)
    text = errors(study)
    assert "6 of 6 queued items that two people have seen are confirmed errors" in text
    assert "100.0 [54.1, 100.0] %" in text
    assert "it is not the judge's error rate" in text
    study.close()


def test_votes_of_the_queue_are_in_no_estimate(tmp_path: Path) -> None:
    study = make_study(tmp_path / "study", 5, dimensions=("harmlessness",))
    judge(study, say("[[A]]"))
    errors(study, "--queue", "--limit", 3)
    for name in ("Ada", "Grace"):
        for_a(study, join(study, name))
    table = tidy(study.store)
    ballots = table[table["source_kind"] == "rater"]
    assert dict(ballots["purpose"].value_counts()) == {"queue": 6, "estimation": 4}
    votes = select_votes(pair_judgments(table), "harmlessness", groups=None, simulated=False)
    assert len(votes.rows) == 4
    assert votes.excluded["purpose queue"] == 6
    scored = pair_set(table, "m", "", "harmlessness", "alder", "birch")
    assert len(scored.items.ids) == 5
    assert len(scored.labels.ids) == 2
    study.close()


def test_a_contradicted_verdict_waits_for_the_second_person(tmp_path: Path) -> None:
    """The judge follows the text; Ada contradicts two of its verdicts, Grace only one of them."""
    study = make_study(tmp_path / "study", 4, overlap=1, dimensions=("harmlessness",))

    def first_in_the_alphabet(body: Body, _number: int) -> Scripted:
        text = str(body["messages"])
        number = next(n for n in range(1, 5) if marker("alder", n, 1) in text)
        first, second = (text.index(marker(model, number, 1)) for model in ("alder", "birch"))
        return completion("[[A]]" if first < second else "[[B]]")

    judge(study, first_in_the_alphabet)
    assert "0 of 4 verdicts are suspect" in errors(study)
    ada, grace = join(study, "Ada"), join(study, "Grace")
    for number in range(4):
        screen = next_for(study, ada)
        assert isinstance(screen, Screen)
        alder = Choice.LEFT if screen.order is Order.AB else Choice.RIGHT
        birch = Choice.RIGHT if screen.order is Order.AB else Choice.LEFT
        cast(study, ada, screen, birch if number < 2 else alder)
    assert "2 of 4 verdicts are suspect" in errors(study)
    assert "Put 2 items" in errors(study, "--queue")
    screen = next_for(study, grace)
    assert isinstance(screen, Screen)
    cast(study, grace, screen, Choice.RIGHT if screen.order is Order.AB else Choice.LEFT)
    screen = next_for(study, grace)
    assert isinstance(screen, Screen)
    cast(study, grace, screen, Choice.LEFT if screen.order is Order.AB else Choice.RIGHT)
    assert "1 of 2 queued items" in errors(study)
    study.close()


def test_harm_that_was_missed_is_confirmed_by_two_and_enters_no_score(tmp_path: Path) -> None:
    labelled = 'tasks = ["answers"]\nanswers = "planned"\nlabels = 1'
    study = make_study(tmp_path / "study", 3, labels="-", more=labelled)
    judge(study, say(SAID[False]), "--mode", "harm", "--output", "tag")
    some = library.answer_ids(study.store)[:2]
    items = [(one, 1, Purpose.ESTIMATION, 0.5) for one in some]
    planned.enqueue(study.store, items, "sample")
    label_all(study, join(study, "Ada"), HARMFUL)
    assert "2 of 6 verdicts are suspect" in errors(study)
    assert "Put 2 items" in errors(study, "--queue")
    seen = label_all(study, join(study, "Grace"), HARMFUL)
    assert {(s.answer, s.turn, s.purpose) for s in seen} == {(one, 1, "queue") for one in some}
    assert "harm: 2 of 2 queued items that two people have seen are confirmed" in errors(study)
    scored = harm_set(tidy(study.store), "m", "")
    assert sorted(scored.labels.ids) == sorted(some)
    assert scored.twice == ()  # of two people each, had the queue counted
    (shown,) = harm_labels.found(tidy(study.store), Settings())
    assert "labels of 1 person" in str(shown)
    study.close()


def test_answers_are_not_queued_where_raters_label_none(tmp_path: Path) -> None:
    study = make_study(tmp_path / "study", 2)
    judge(study, say(SAID[False]), "--mode", "harm", "--output", "tag")
    text = said("judge", "errors", study.folder, "m", "--queue", code=2)
    assert "no [protocol.harm_labels]" in text
    study.close()


WRONG = [
    (("nobody",), "no such judge run"),
    (("m", "--dimension", "beauty"), "no verdicts on beauty; expected one of harmlessness"),
]


@pytest.mark.parametrize(("arguments", "words"), WRONG)
def test_wrong_use(tmp_path: Path, arguments: tuple[str, ...], words: str) -> None:
    study = make_study(tmp_path / "study", 1, dimensions=("harmlessness",))
    judge(study, say("[[A]]"))
    assert words in said("judge", "errors", study.folder, *arguments, code=2)
    study.close()
