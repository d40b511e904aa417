"""Sides, orders, outcomes, canonical pairs and ids."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given

from annotate.records import (
    Answer,
    Choice,
    Label,
    Message,
    Order,
    Outcome,
    Pair,
    Question,
    QuestionKey,
    Reference,
    asked_turns,
    assistant_turns,
    digest,
    empty_turns,
    has_golden_context,
    mirrored,
    outcome,
    stable_id,
    turns_from_json,
    turns_to_json,
    user_turns,
)
from tests.strategies import choices, labels, orders, outcomes, pairs

KEY = QuestionKey("bench", "81")
A = Answer(KEY, "alder", assistant_turns(["Yes.", None]))
B = Answer(KEY, "birch", assistant_turns(["No.", ""]))


@pytest.mark.parametrize(
    ("choice", "order", "expected"),
    [
        (Choice.LEFT, Order.AB, Outcome.A),
        (Choice.LEFT, Order.BA, Outcome.B),
        (Choice.RIGHT, Order.AB, Outcome.B),
        (Choice.RIGHT, Order.BA, Outcome.A),
        (Choice.TIE, Order.AB, Outcome.TIE),
        (Choice.TIE, Order.UNKNOWN, Outcome.TIE),
        (Choice.BOTH_BAD, Order.BA, Outcome.BOTH_BAD),
        (Choice.BOTH_BAD, Order.UNKNOWN, Outcome.BOTH_BAD),
    ],
)
def test_a_side_becomes_the_answer_that_stood_there(
    choice: Choice, order: Order, expected: Outcome
) -> None:
    assert outcome(choice, order) is expected


@pytest.mark.parametrize("choice", [Choice.LEFT, Choice.RIGHT])
def test_a_side_without_a_known_order_is_never_guessed(choice: Choice) -> None:
    with pytest.raises(ValueError, match="order is unknown"):
        outcome(choice, Order.UNKNOWN)


@given(choices, orders)
def test_the_other_side_of_the_flipped_order_is_the_same_outcome(
    choice: Choice, order: Order
) -> None:
    other_side = {Choice.LEFT: Choice.RIGHT, Choice.RIGHT: Choice.LEFT}.get(choice, choice)
    assert outcome(choice, order) is outcome(other_side, order.flipped)
    assert outcome(choice, order.flipped) is mirrored(outcome(choice, order))


@given(pairs(), choices, orders)
def test_swap_vote_swap_is_the_vote(pair: Pair, choice: Choice, order: Order) -> None:
    """A rater who sees the pair with its answers given in the other order votes the same."""
    swapped = Pair.of(pair.b, pair.a)
    assert swapped == pair
    assert swapped.id == pair.id
    left = pair.a if order is Order.AB else pair.b
    picked = {Choice.LEFT: left, Choice.RIGHT: pair.b if left is pair.a else pair.a}.get(choice)
    winner = {Outcome.A: swapped.a, Outcome.B: swapped.b}.get(outcome(choice, order))
    assert picked == winner


@given(pairs())
def test_canonical_order_is_by_model_then_by_answer(pair: Pair) -> None:
    assert (pair.a.model, pair.a.hash or "") <= (pair.b.model, pair.b.hash or "")


@pytest.mark.parametrize(
    ("other", "message"),
    [
        (replace(B, key=QuestionKey("bench", "82")), "different questions"),
        (A, "cannot be paired with itself"),
    ],
)
def test_what_is_no_pair_is_refused(other: Answer, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Pair.of(A, other)


@given(outcomes)
def test_mirroring_twice_changes_nothing(value: Outcome) -> None:
    assert mirrored(mirrored(value)) is value


@given(labels())
def test_a_label_is_the_same_whichever_way_its_models_are_named(label: Label) -> None:
    written_the_other_way = replace(
        label,
        model_a=label.model_b,
        model_b=label.model_a,
        value=None if label.value is None else mirrored(label.value),
        order=label.order.flipped,
    )
    canonical = label.canonical()
    assert canonical.canonical() == canonical
    assert canonical.model_a <= canonical.model_b
    if label.model_a != label.model_b:
        assert written_the_other_way.canonical() == canonical


def test_ids_never_change() -> None:
    """Golden: another id would make every earlier study's imports foreign to it."""
    pair = Pair.of(B, A)
    assert {
        "question": Question(KEY).id,
        "answer": A.id,
        "hash": A.hash,
        "pair": pair.id,
        "labels only": Pair.of(Answer(KEY, "alder"), Answer(KEY, "birch")).id,
        "reference": Reference(KEY, ("42",)).hash,
        "stable": stable_id("a", None),
    } == GOLDEN_IDS


GOLDEN_IDS: dict[str, str | None] = {
    "question": "ddc1e599-bd99-8cd0-992d-747b4202e187",
    "answer": "75333c19-19e4-8a23-8bed-db7783150b10",
    "hash": "03a9b63400ec35fc8ae17096f6eea300ef889ff62afd769bbd84c5d68fbe1a09",
    "pair": "c45af098-3c00-8b62-8581-898cd1a29175",
    "labels only": "7af343e4-d90c-8df6-a538-50cd80dbf753",
    "reference": "d646f2fabdd13a7ee16dfb12e59519b7b6880bf51912088c911f653b490c920f",
    "stable": "aebb0474-c576-85b8-94a7-0d8afca0a4de",
}


def test_an_id_tells_its_parts_apart() -> None:
    assert len({stable_id("ab", "c"), stable_id("a", "bc"), stable_id("a", "b", "c")}) == 3
    assert stable_id("x", None) != stable_id("x", "None") != stable_id("x", "")


@given(pairs())
def test_turns_survive_storage(pair: Pair) -> None:
    turns = pair.a.turns or ()
    assert turns_from_json(turns_to_json(turns)) == turns


def test_a_missing_turn_is_not_an_empty_answer() -> None:
    missing, empty = assistant_turns([None]), assistant_turns([""])
    assert digest(turns_to_json(missing)) != digest(turns_to_json(empty))
    assert empty_turns(A) == [2]
    assert empty_turns(B) == [2]
    assert empty_turns(Answer(KEY, "labels only")) == []


def test_the_reply_of_a_turn_with_tools_is_its_last_message() -> None:
    answer = Answer(
        KEY,
        "alder",
        ((Message("assistant", "Let me look."), Message("tool", "42"), Message("assistant", " ")),),
    )
    assert empty_turns(answer) == [1]
    assert user_turns(["Why?"]) == ((Message("user", "Why?"),),)


GIVEN = Message("assistant", "Given.")
ASK = Message("user", "And?")
TOOL = Message("tool", "42")


@pytest.mark.parametrize(
    ("turns", "asked", "golden"),
    [
        pytest.param(None, [], False, id="known from labels only"),
        pytest.param(((ASK,), (ASK,)), [1, 2], False, id="ordinary turns"),
        pytest.param(((), (ASK,)), [1, 2], False, id="a model that spoke first"),
        pytest.param(((ASK, GIVEN, ASK), (ASK,)), [1, 2], False, id="examples before a question"),
        pytest.param(((ASK, GIVEN, TOOL), (ASK,)), [1, 2], False, id="a tool's result"),
        pytest.param(((ASK,), (GIVEN, ASK), (GIVEN, ASK)), [1, 2, 3], True, id="golden context"),
        pytest.param(((ASK, GIVEN), (ASK,)), [2], True, id="first turn not asked"),
        pytest.param(((ASK, GIVEN), (ASK,), (GIVEN, ASK)), [2, 3], True, id="both"),
        pytest.param(((ASK,), (ASK, GIVEN)), [1], False, id="only a closing reply is given"),
    ],
)
def test_a_turn_that_ends_with_a_given_reply_is_not_asked(
    turns: tuple[tuple[Message, ...], ...] | None, asked: list[int], golden: bool
) -> None:
    question = Question(KEY, turns=turns)
    assert asked_turns(question) == asked
    assert has_golden_context(question) is golden


def test_nothing_is_to_be_said_to_a_turn_that_is_not_asked() -> None:
    question = Question(KEY, turns=((ASK, GIVEN), (ASK,), (GIVEN, ASK)))
    silent = Answer(KEY, "alder", assistant_turns([None, " ", "Yes."]))
    assert empty_turns(silent) == [1, 2]
    assert empty_turns(silent, question) == [2]
