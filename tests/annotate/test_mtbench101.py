"""MT-Bench-101's dialogues: read, imported, answered, and rated in their golden context."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from annotate import leases, library
from annotate.importer import Account
from annotate.pages import Have
from annotate.readers import Found, Problem, sources
from annotate.readers.mtbench101 import FIRST_TURN_NOT_SCORED, TASKS
from annotate.records import (
    Choice,
    Question,
    QuestionKey,
    Reference,
    asked_turns,
    has_golden_context,
    turn_text,
)
from annotate.seats import Rater
from annotate.store import Store
from annotate.study import Study, init, open_study
from annotate.verify import verify
from tests.annotate.support import (
    BENCH,
    answer_line,
    count,
    empty_store,
    join,
    label_line,
    rate_all,
    read_in,
    room_of,
    write_lines,
    write_settings,
)


def dialogue(task: str, number: int, turns: int) -> dict[str, Any]:
    """A line whose texts say where they belong."""
    history = [{"user": f"Ask {n}?", "bot": f"Golden {n}."} for n in range(1, turns + 1)]
    return {"task": task, "id": number, "history": history}


CM, MR, SA = dialogue("CM", 1, 4), dialogue("MR", 3, 3), dialogue("SA", 2, 2)
GRADE = {"task": "CM", "multi_id": 1, "turn_id": "2", "model": "acme", "judge": "j", "score": 9,
         "judgement": "Rating: [[9]]"}  # fmt: skip


def read(path: Path) -> list[Found | Problem]:
    (source,) = sources(path, BENCH)
    assert source.reader is not None, source.note
    return list(source.reader(source.path, source.name, source.benchmark))


def roles(question: Question) -> list[list[tuple[str, str]]]:
    return [[(m.role, m.content) for m in turn] for turn in question.turns or ()]


# ---------------------------------------------------------------------------- files


@pytest.mark.parametrize("task", TASKS)
def test_a_turn_goes_on_from_the_given_reply_of_the_turn_before(tmp_path: Path, task: str) -> None:
    found = read(write_lines(tmp_path / "d.jsonl", [dialogue(task, 7, 3)]))
    question, *rest = [item.record for item in found if isinstance(item, Found)]
    assert isinstance(question, Question)
    assert (question.key, question.category) == (QuestionKey(BENCH, "7"), task)
    given = [("assistant", f"Golden {n}.") for n in (1, 2, 3)]
    asked = [("user", f"Ask {n}?") for n in (1, 2, 3)]
    if task in FIRST_TURN_NOT_SCORED:
        assert roles(question) == [[asked[0], given[0]], [asked[1]], [given[1], asked[2]]]
        assert asked_turns(question) == [2, 3]
    else:
        assert roles(question) == [[asked[0]], [given[0], asked[1]], [given[1], asked[2]]]
        assert asked_turns(question) == [1, 2, 3]
    assert has_golden_context(question)
    if task in ("MR", "GR"):
        assert rest == [
            Reference(question.key, ("Golden 1.", "Golden 2.", "Golden 3."), "mtbench101")
        ]
    else:
        assert rest == []


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"task": "XX"}, "task: found 'XX', expected one of: CM, SI"),
        ({"history": []}, "history: "),
        ({"history": [{"user": "Ask?", "bot": "Golden."}]}, "history: has 1 turn, which CM does"),
        ({"history": [{"user": "", "bot": "Golden."}] * 2}, "history.0.user: "),
        ({"history": [{"user": "Ask?"}] * 2}, "history.0.bot: "),
        ({"id": None}, "id: "),
    ],
)
def test_a_dialogue_that_is_not_one_is_named_and_loses_only_itself(
    tmp_path: Path, changes: dict[str, Any], reason: str
) -> None:
    found = read(write_lines(tmp_path / "d.jsonl", [CM, CM | changes, SA]))
    assert sum(isinstance(item, Found) for item in found) == 2
    (problem,) = [str(item) for item in found if isinstance(item, Problem)]
    assert f"d.jsonl:2: {reason}" in problem


# --------------------------------------------------------------------------- import


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    made = empty_store(tmp_path / "store")
    read_in(made, write_lines(tmp_path / "d.jsonl", [CM, MR, SA]))
    yield made
    made.close()


def answers(store: Store, folder: Path, *turns: str | None, number: int = 1) -> Account:
    """Import one model's answer to one dialogue."""
    return read_in(store, write_lines(folder / "acme.jsonl", [answer_line(number, turns)]))


@pytest.mark.parametrize(
    ("turns", "said"),
    [
        ([None, "b", "c", "d"], []),
        (["", "b", "c", "d"], []),
        (["a", "b", "c", "d"], []),
        ([None, "b", " ", "d"], ["turn 3 is empty"]),
        ([None, "b", None], ["turn 3 is empty"]),
        (["b", "c"], []),
        (["b", "c", "d"], ["has 3 turns, the question has 4, of which 2, 3, 4 are asked"]),
        (["a", "b", "c", "d", "e"], ["has 5 turns, the question has 4"]),
    ],
)
def test_only_asked_turns_of_an_answer_matter(
    store: Store, tmp_path: Path, turns: list[str | None], said: list[str]
) -> None:
    """Replies to the asked turns alone would be shown one turn too early: refused."""
    account = answers(store, tmp_path, *turns)
    assert len(account.problems) == len(said), account.problems
    for problem, words in zip(account.problems, said, strict=True):
        assert words in str(problem)


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({}, ""),
        ({"turn_id": "1"}, "turn: found 1, whose reply is given with the question"),
        ({"turn_id": "5"}, "turn: found 5, the question has 4"),
        ({"multi_id": 3}, "model: acme has no stored answer to question 3"),
    ],
)
def test_its_grades_belong_to_answers_to_asked_turns(
    store: Store, tmp_path: Path, changes: dict[str, Any], reason: str
) -> None:
    answers(store, tmp_path, None, "b", "c", "d")
    path = write_lines(tmp_path / "judgments.jsonl", [GRADE | changes])
    account = read_in(store, path)
    assert [reason in str(problem) for problem in account.refused] == ([True] if reason else [])
    assert account.imported["grades"] == (0 if reason else 1)


@pytest.mark.parametrize(
    ("label", "reason"),
    [
        (label_line(1, turn=1), "turn: found 1, whose reply is given with the question"),
        (label_line(1, turn=5), "turn: found 5, the question has 4"),
        (label_line(1, turn=2), ""),
        (label_line(1, turn=0), ""),
        (label_line(3, turn=1), ""),
    ],
)
def test_a_label_on_a_turn_that_is_not_asked_is_refused(
    store: Store, tmp_path: Path, label: dict[str, Any], reason: str
) -> None:
    account = read_in(store, write_lines(tmp_path / "votes.jsonl", [label]))
    said = [str(problem) for problem in account.refused]
    assert [reason in text for text in said] == ([True] if reason else [])
    assert account.imported["votes"] == (0 if reason else 1)


def test_an_answer_to_a_question_that_asks_nothing_is_refused(tmp_path: Path) -> None:
    """Its pair would be served, and done, without a vote."""
    line = {
        "question_id": "q1",
        "messages": [[{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Ho"}]],
        "answer_a": {"model": "alder", "turns": ["x"]},
        "answer_b": {"model": "birch", "turns": ["y"]},
    }
    store = empty_store(tmp_path / "store")
    account = read_in(store, write_lines(tmp_path / "pairs.jsonl", [line]))
    assert ["asks nothing" in str(problem) for problem in account.refused] == [True, True]
    assert account.pairs_added == 0
    store.close()


# ------------------------------------------------------------------------ the rating room


@dataclass
class Visit:
    """A rater in the room of a study with one dialogue and two answers."""

    study: Study
    rater: Rater

    def state(self) -> dict[str, Any]:
        return room_of(self.study).state(self.rater)

    def vote(self, state: dict[str, Any]) -> dict[str, Any]:
        return room_of(self.study).vote(
            self.rater,
            state["screen"],
            Choice.LEFT,
            client_key=f"key-{state['screen']}",
            comment="",
            active_ms=None,
            have=Have(state["page"], state["visible"]),
        )


Enter = Callable[..., Visit]


@pytest.fixture
def enter(tmp_path: Path) -> Iterator[Enter]:
    """Make the study: each model says "MODEL on N", also on turns that are not asked."""
    opened: list[Study] = []

    def make(line: dict[str, Any], **settings: Any) -> Visit:
        init(tmp_path / "s", "Test study").close()
        write_settings(tmp_path / "s", **settings)
        study = open_study(tmp_path / "s")
        opened.append(study)
        write_lines(tmp_path / "b" / "d.jsonl", [line])
        for model in ("alder", "birch"):
            said = [f"{model} on {n}" for n in range(1, len(line["history"]) + 1)]
            path = tmp_path / "b" / "model_answer" / f"{model}.jsonl"
            write_lines(path, [answer_line(line["id"], said)])
        account = read_in(study.store, tmp_path / "b")
        assert (account.pairs_added, account.problems) == (1, [])
        leases.prepare(study.store, study.settings.assignment)
        return Visit(study, join(study, "Ada"))

    yield make
    for study in opened:
        study.close()


def words(html: str) -> str:
    """The visible text of a row's part, with the frames' words in brackets."""
    html = re.sub(r'<span class="eh-role" data-t="(\w+)"></span>', r"[\1]", html)
    return " ".join(re.sub(r"<[^>]+>", " ", html).split())


def test_a_first_turn_that_is_not_asked_is_shown_as_context(enter: Enter) -> None:
    visit = enter(CM, dimensions=("harmlessness", "helpfulness"))
    first = visit.state()
    context, row = first["rows"]
    assert (first["turn"], first["turns"], first["visible"]) == (2, 4, 2)
    assert first["step"] == {"index": 1, "of": 6}
    assert words(context["prompt"]) == "Ask 1? [given_reply] Golden 1."
    assert set(context) == {"turn", "prompt"}
    assert words(row["prompt"]) == "Ask 2?"
    assert {words(row["left"]), words(row["right"])} == {"alder on 2", "birch on 2"}
    visit.vote(first)
    third = visit.vote(visit.state())
    assert (third["turn"], third["step"]["index"], third["from"]) == (3, 3, 3)
    (row,) = third["rows"]
    assert words(row["prompt"]) == "[given_instead] Golden 2. Ask 3?"
    assert {words(row["left"]), words(row["right"])} == {"alder on 3", "birch on 3"}


def test_where_every_turn_is_asked_each_goes_on_from_the_given_reply(enter: Enter) -> None:
    visit = enter(MR, reveal="all")
    state = visit.state()
    assert [words(row["prompt"]) for row in state["rows"]] == [
        "Ask 1?",
        "[given_instead] Golden 1. Ask 2?",
        "[given_instead] Golden 2. Ask 3?",
    ]
    assert all({"left", "right"} < set(row) for row in state["rows"])
    assert state["step"]["of"] == 3


def test_only_asked_turns_are_voted_on_and_the_pair_is_done_after_them(enter: Enter) -> None:
    visit = enter(CM)
    screens = rate_all(visit.study, visit.rater)
    assert [(s.turn, s.position, s.turns, s.asked) for s in screens] == [
        (turn, position, 4, (2, 3, 4)) for position, turn in enumerate((2, 3, 4))
    ]
    store = visit.study.store
    assert count(store, "SELECT count(*) FROM assignment WHERE state = 'done'") == 1
    assert [r[0] for r in store.conn.execute("SELECT turn FROM vote ORDER BY turn")] == [2, 3, 4]
    assert visit.state()["reason"] == "done"
    assert verify(store).breaks == []


def test_what_a_model_said_to_a_turn_that_is_not_asked_never_leaves(enter: Enter) -> None:
    visit = enter(CM, reveal="all")
    state = visit.state()
    raw = room_of(visit.study).raw(visit.rater, state["screen"])
    assert raw[0] == {}
    assert {raw[1]["left"], raw[1]["right"]} == {"alder on 2", "birch on 2"}
    assert "on 1" not in str([state, raw])
    (pair,) = library.pairs(visit.study.store)
    assert turn_text((pair.a.turns or ())[0]) == "alder on 1"


def test_a_given_reply_is_text_like_any_other(enter: Enter) -> None:
    line = dialogue("CM", 1, 2)
    line["history"][0]["bot"] = '<img src=x onerror=alert(1)> **bold** <b data-t="saved">'
    context = enter(line).state()["rows"][0]["prompt"]
    assert "<img" not in context
    assert "<b " not in context
    assert "<strong>bold</strong>" in context
    assert context.count('class="eh-given"') == 1
