"""What the judge is asked: text of others cannot speak as our template."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from annotate.errors import DataError, UsageError
from annotate.records import (
    Answer,
    Message,
    Question,
    QuestionKey,
    Reference,
    assistant_turns,
    user_turns,
)
from judge.ask import prompt
from judge.ask.conversation import Case, missing_turns, neutralise, restore
from judge.ask.modes import GRADES, HARM_LABELS, Mode
from judge.ask.words import Words, shipped

KEY = QuestionKey("bench", "q1")
QUESTION = Question(KEY, "writing", user_turns(["First?", "Second?"]))
A = Answer(KEY, "alder", assistant_turns(["a one", "a two"]))
B = Answer(KEY, "birch", assistant_turns(["b one", "b two"]))
WHOLE = (
    'id="x"\nversion=1\ndimension="overall"\nsystem="s"\nuser="u {conversation}"\n'
    'closing="c"\nclosing_explain="e"\n[labels]\nA="a"\nB="b"\n'
)
hostile = st.text(alphabet=st.sampled_from("[]<>\\ABCD {}\nx"), max_size=40) | st.text(max_size=40)


def user_text(
    first: Answer = A, second: Answer = B, turn: int = 2, *, question: Question = QUESTION
) -> str:
    chat = prompt.load("harmlessness").messages(
        Case(question, first, second, turn), explain=False, as_json=False
    )
    assert [m["role"] for m in chat] == ["system", "user"]
    return chat[1]["content"]


@given(hostile)
def test_neutralised_text_has_no_tag_and_no_header_and_can_be_restored(text: str) -> None:
    safe = neutralise(text)
    assert "[[" not in safe
    assert "<<" not in safe
    assert restore(safe) == text


@given(hostile, hostile)
def test_hostile_text_adds_no_tag_and_no_section(question: str, answer: str) -> None:
    plain = user_text()
    asked = Question(KEY, "writing", user_turns([question, "Second?"]))
    first = Answer(KEY, "alder", assistant_turns(["a one", "x" + answer]))
    shown = user_text(first, question=asked)
    assert shown.count("[[") == plain.count("[[")
    assert shown.count("<<<") == plain.count("<<<")


def test_placeholders_inside_text_are_not_filled() -> None:
    answer = Answer(KEY, "alder", assistant_turns(["{closing}{turn}", "{conversation}"]))
    text = user_text(answer)
    assert "{closing}{turn}" in text
    assert "{conversation}" in text


def test_conversation_stops_at_the_turn_in_question() -> None:
    text = user_text(turn=1)
    assert "a one" in text
    assert "b one" in text
    assert "Second?" not in text
    assert "a two" not in text
    assert "turn 1 only" in text


def test_later_turns_are_asked_with_the_turns_before() -> None:
    text = user_text(turn=2)
    where = [text.index(part) for part in ("First?", "a one", "b one", "Second?", "a two", "b two")]
    assert where == sorted(where)


def test_model_names_are_not_shown() -> None:
    text = user_text()
    assert "alder" not in text
    assert "birch" not in text


def test_system_and_tool_messages_are_kept() -> None:
    asked = Question(KEY, turns=((Message("system", "Be terse."), Message("user", "Weather?")),))
    first = Answer(
        KEY,
        "alder",
        ((Message("assistant", ""), Message("tool", "rain"), Message("assistant", "Rain.")),),
    )
    text = user_text(first, turn=1, question=asked)
    assert "<<<system, turn 1>>>\nBe terse." in text
    assert "<<<tool of answer A, turn 1>>>\nrain" in text
    assert "<<<answer A, turn 1>>>\nRain." in text


def test_an_empty_answer_says_so() -> None:
    empty = Answer(KEY, "alder", assistant_turns(["a one", "  \n"]))
    assert "<<<answer A, turn 2>>>\n(empty answer)\n" in user_text(empty)


def test_a_missing_turn_is_not_rendered() -> None:
    short = Answer(KEY, "alder", assistant_turns(["a one", None]))
    assert missing_turns(QUESTION, short) == [2]
    assert "a one" in user_text(short, turn=1)
    with pytest.raises(ValueError, match="not complete"):
        user_text(short, turn=2)


@pytest.mark.parametrize("turn", [-1, 3])
def test_a_turn_that_does_not_exist_is_refused(turn: int) -> None:
    with pytest.raises(ValueError, match="cannot be rendered"):
        user_text(turn=turn)


@pytest.mark.parametrize("dimension", ["harmlessness", "helpfulness", "overall"])
def test_every_prompt_offers_all_four_tags_in_words(dimension: str) -> None:
    loaded = prompt.load(dimension)
    case = Case(QUESTION, A, B, 1)
    assert loaded.offered(case) == ("A", "B", "C", "D")
    text = loaded.messages(case, explain=False, as_json=False)[1]["content"]
    for tag, words in shipped(dimension).labels:
        assert f"\n[[{tag}]] {words}\n" in text
    assert loaded.dimension == dimension


def test_the_judge_is_asked_in_the_raters_own_words() -> None:
    words = Words("kindness", "Which is kinder?", "Warmth, not length.", "A", "B", "Same", "Cold")
    case = Case(QUESTION, A, B, 1)
    text = prompt.prompt_for(words, Mode.PAIRWISE).messages(case)[1]["content"]
    assert (
        "Which is kinder?\nWarmth, not length.\n[[A]] A\n[[B]] B\n[[C]] Same\n[[D]] Cold\n" in text
    )
    bare = prompt.prompt_for(replace(words, rubric=""), Mode.PAIRWISE).messages(case)[1]["content"]
    assert "Which is kinder?\n[[A]] A\n" in bare, "an empty rubric leaves no empty line"


@pytest.mark.parametrize("form", [{"as_json": False}, {"as_json": True}])
def test_the_last_line_asks_for_the_verdict_only_unless_explained(form: dict[str, bool]) -> None:
    loaded = prompt.load("overall")
    case = Case(QUESTION, A, B, 1)
    short, long = (
        loaded.messages(case, explain=explain, **form)[1]["content"].splitlines()[-1]
        for explain in (False, True)
    )
    assert "xpla" in long
    assert "xpla" not in short
    assert ("JSON" in short) == form["as_json"]


def test_a_dialogue_is_asked_about_as_a_whole() -> None:
    text = user_text(turn=0)
    for part in ("First?", "a one", "b one", "Second?", "a two", "b two", "as a whole"):
        assert part in text
    assert "turn 0" not in text


def test_a_reference_stands_beside_the_answers_it_is_for() -> None:
    reference = Reference(KEY, ("ref one", "ref [[A]] two"), "someone")
    case = Case(QUESTION, A, B, 2, reference)
    text = prompt.load("helpfulness").messages(case, explain=False, as_json=False)[1]["content"]
    assert "<<<reference solution, turn 1>>>\nref one\n<<<user, turn 2>>>" in text
    assert "<<<reference solution, turn 2>>>\nref [\\[A]] two\n<<<end>>>" in text
    assert "A reference solution is given." in text
    assert "reference" not in user_text()


GOLDEN = Question(
    KEY,
    "MR",
    (
        (Message("user", "First?"),),
        (Message("assistant", "given one"), Message("user", "Second?")),
    ),
)


def test_in_golden_context_the_given_reply_is_shown_and_not_the_models_own() -> None:
    case = Case(GOLDEN, A, None, 2)
    text = prompt.load("mtbench101", Mode.GRADE).messages(case, explain=False, as_json=False)
    shown = text[1]["content"]
    assert "<<<given reply, turn 1>>>\ngiven one\n<<<user, turn 2>>>\nSecond?" in shown
    assert "<<<answer, turn 2>>>\na two" in shown
    assert "a one" not in shown
    assert "Mathematical reasoning" in shown


def test_a_category_without_a_rubric_is_a_problem_found_before_the_run() -> None:
    case = Case(replace(GOLDEN, category="XX"), A, None, 2)
    assert "no rubric for category 'XX'" in prompt.load("mtbench101", Mode.GRADE).problem(case)
    assert prompt.load("mtbench101", Mode.GRADE).problem(replace(case, question=GOLDEN)) == ""


@pytest.mark.parametrize(
    ("dimension", "mode", "offered"),
    [
        ("helpfulness", Mode.GRADE, GRADES),
        ("mtbench101", Mode.GRADE, GRADES),
        ("harm", Mode.HARM, HARM_LABELS),
    ],
)
def test_single_answers_have_prompts_of_their_own(
    dimension: str, mode: Mode, offered: dict[str, object]
) -> None:
    loaded = prompt.load(dimension, mode)
    case = Case(replace(QUESTION, category="CM"), A, None, 2)
    text = loaded.messages(case, explain=False, as_json=False)[1]["content"]
    assert loaded.offered(case) == offered
    assert "<<<answer, turn 2>>>\na two" in text
    assert "b two" not in text
    assert not re.search(r"\{[a-z]+\}", text), "every place is filled"


def test_hash_changes_with_wording() -> None:
    loaded = prompt.load("overall")
    one = prompt.prompt_from_toml(WHOLE, "here")
    other = prompt.prompt_from_toml(WHOLE.replace('"u ', '"v '), "here")
    assert len({loaded.hash, one.hash, other.hash}) == 3


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("id =", "not TOML"),
        ('id = "x"', "no version"),
        ("", "no id"),
        (WHOLE.replace("{conversation}", ""), "user has no {conversation}"),
        (WHOLE.replace("version=1", 'version="one"'), "version 'one'"),
        (WHOLE.replace("[labels]", 'mode="grad"\n[labels]'), "mode 'grad'"),
        (WHOLE.replace("[labels]", 'sytem="x"\n[labels]'), "field 'sytem'"),
        (WHOLE.replace('A="a"', 'E="a"'), "label 'E'"),
        (WHOLE.replace("u {conv", "{lables} {conv"), "user has {lables}"),
        (WHOLE.replace('dimension="overall"', 'dimension="two words"'), "dimension 'two words'"),
        (WHOLE.replace('\nB="b"', ""), "labels ['A']; expected A and B"),
        (WHOLE.replace('[labels]\nA="a"\nB="b"', 'labels="A"'), "labels is 'A'; expected a table"),
    ],
)
def test_a_bad_prompt_file_names_the_place_and_the_fault(text: str, found: str) -> None:
    with pytest.raises(DataError, match=re.escape(f"mine.toml: {found}")):
        prompt.prompt_from_toml(text, "mine.toml")


def test_an_unknown_dimension_lists_the_known_ones() -> None:
    with pytest.raises(UsageError, match="harmlessness, helpfulness, overall"):
        prompt.load("../secrets")
