"""The published MT-Bench-101: 13 tasks, 1,388 dialogues, 4,208 turns, every one accounted for."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from annotate import library
from annotate.importer import Account, import_paths
from annotate.records import (
    Question,
    QuestionKey,
    asked_turns,
    has_golden_context,
    turns_from_json,
)
from annotate.store import Store
from annotate.verify import verify
from judge.stats.mtbench101 import FIRST_TURN_NOT_SCORED, REFERENCE_TASKS, TASKS, scored_turns
from tests.annotate.support import count, no_verdicts

DATA = Path(__file__).parents[2] / ".." / "shared" / "data"
FILE = DATA / "mtbench101" / "mtbench101.jsonl"

pytestmark = pytest.mark.skipif(
    not FILE.is_file(), reason=f"MT-Bench-101 is not at {FILE}: golden import NOT checked"
)


@pytest.fixture(scope="module")
def imported(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Store, Account]]:
    made = Store.create(tmp_path_factory.mktemp("golden") / "evenhand.sqlite", "test")
    yield made, import_paths(made, [FILE], no_verdicts)
    made.close()


@pytest.fixture(scope="module")
def questions(imported: tuple[Store, Account]) -> list[Question]:
    rows = imported[0].conn.execute("SELECT question_id, category, turns FROM question")
    return [
        Question(QuestionKey("mtbench101", number), task, turns_from_json(json.loads(turns)))
        for number, task, turns in rows
    ]


def test_every_dialogue_is_counted(imported: tuple[Store, Account]) -> None:
    store, account = imported
    golden = json.loads((DATA / "golden.json").read_text("utf-8"))["mtbench101"]
    assert golden["dialogues"] == 1_388
    # References: 108 dialogues of MR and 71 of GR.
    assert dict(account.read) == {"questions": golden["dialogues"], "references": 179}
    assert dict(account.imported) == dict(account.read)
    assert account.problems == []
    assert {row[0] for row in store.conn.execute("SELECT benchmark FROM question")} == {
        "mtbench101"
    }


def test_13_tasks_with_4208_turns(questions: list[Question]) -> None:
    golden = json.loads((DATA / "golden.json").read_text("utf-8"))["mtbench101"]
    assert len(questions) == 1_388
    assert sum(len(q.turns or ()) for q in questions) == golden["turns"] == 4_208
    assert {q.category for q in questions} == set(TASKS)
    assert len(TASKS) == golden["tasks"] == 13
    assert set(golden["first_turn_not_scored"]) == FIRST_TURN_NOT_SCORED
    assert set(golden["reference_used"]) == REFERENCE_TASKS


def test_what_is_asked_is_what_is_scored(questions: list[Question]) -> None:
    for question in questions:
        turns = len(question.turns or ())
        assert asked_turns(question) == scored_turns(question.category, turns), question.key
        assert has_golden_context(question)
    # One turn fewer in each of the 593 dialogues of six tasks.
    first = Counter(q.category in FIRST_TURN_NOT_SCORED for q in questions)[True]
    assert (first, sum(len(asked_turns(q)) for q in questions)) == (593, 4_208 - 593)


def test_every_text_of_the_file_is_kept(questions: list[Question]) -> None:
    """But the last reply of each dialogue: nothing follows from it (MR and GR refer to it)."""
    stored = {q.key.question_id: q for q in questions}
    for text in FILE.read_text("utf-8").splitlines():
        line = json.loads(text)
        said = [m.content for turn in stored[str(line["id"])].turns or () for m in turn]
        expected = [text for turn in line["history"] for text in (turn["user"], turn["bot"])]
        assert said == expected[:-1]


def test_references_are_the_given_replies_of_two_tasks(
    imported: tuple[Store, Account], questions: list[Question]
) -> None:
    store, _account = imported
    for question in questions:
        reference = library.reference(store, question.key)
        assert (reference is not None) == (question.category in REFERENCE_TASKS)
        if reference is not None:
            assert reference.source == "mtbench101"
            assert len(reference.turns) == len(question.turns or ())
            assert all(reference.turns)


def test_a_second_import_adds_nothing(imported: tuple[Store, Account]) -> None:
    store, first = imported
    events = count(store, "SELECT count(*) FROM event")
    second = import_paths(store, [FILE], no_verdicts)
    assert second.added == 0
    assert dict(second.merged) == dict(first.read)
    assert second.problems == []
    assert count(store, "SELECT count(*) FROM event") == events
    assert verify(store).breaks == []
