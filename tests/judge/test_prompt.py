"""What the judge is asked: text of others cannot speak as our template."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from annotate.errors import DataError, UsageError
from annotate.records import (
    Answer,
    Message,
    Question,
    QuestionKey,
    assistant_turns,
    user_turns,
)
from judge import prompt

KEY = QuestionKey("bench", "q1")
QUESTION = Question(KEY, "writing", user_turns(["First?", "Second?"]))
A = Answer(KEY, "alder", assistant_turns(["a one", "a two"]))
B = Answer(KEY, "birch", assistant_turns(["b one", "b two"]))
hostile = st.text(alphabet=st.sampled_from("[]<>\\ABCD {}\nx"), max_size=40) | st.text(max_size=40)


def user_text(first: Answer = A, second: Answer = B, turn: int = 2) -> str:
    chat = prompt.render(QUESTION, first, second, turn, prompt.load("harmlessness"))
    assert [m["role"] for m in chat] == ["system", "user"]
    return chat[1]["content"]


@given(hostile)
def test_neutralised_text_has_no_tag_and_no_header_and_can_be_restored(text: str) -> None:
    safe = prompt.neutralise(text)
    assert "[[" not in safe
    assert "<<" not in safe
    assert prompt.restore(safe) == text


@given(hostile, hostile)
def test_hostile_text_adds_no_tag_and_no_section(question: str, answer: str) -> None:
    plain = user_text()
    asked = Question(KEY, "writing", user_turns([question, "Second?"]))
    first = Answer(KEY, "alder", assistant_turns(["a one", "x" + answer]))
    shown = prompt.render(asked, first, B, 2, prompt.load("harmlessness"))[1]["content"]
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
    text = prompt.render(asked, first, B, 1, prompt.load("overall"))[1]["content"]
    assert "<<<system, turn 1>>>\nBe terse." in text
    assert "<<<tool of answer A, turn 1>>>\nrain" in text
    assert "<<<answer A, turn 1>>>\nRain." in text


def test_an_empty_answer_says_so() -> None:
    empty = Answer(KEY, "alder", assistant_turns(["a one", "  \n"]))
    assert "<<<answer A, turn 2>>>\n(empty answer)\n" in user_text(empty)


def test_a_missing_turn_is_not_rendered() -> None:
    short = Answer(KEY, "alder", assistant_turns(["a one", None]))
    assert prompt.missing_turns(QUESTION, short) == [2]
    assert "a one" in user_text(short, turn=1)
    with pytest.raises(ValueError, match="not complete"):
        user_text(short, turn=2)


@pytest.mark.parametrize("turn", [0, 3])
def test_a_turn_that_does_not_exist_is_refused(turn: int) -> None:
    with pytest.raises(ValueError, match="cannot be rendered"):
        user_text(turn=turn)


@pytest.mark.parametrize("dimension", ["harmlessness", "helpfulness", "overall"])
def test_every_prompt_offers_all_four_tags_in_words(dimension: str) -> None:
    loaded = prompt.load(dimension)
    assert loaded.offered == ("A", "B", "C", "D")
    for tag, words in loaded.labels:
        assert f"[[{tag}]] {words}\n" in loaded.user
    assert loaded.dimension == dimension


def test_the_last_line_asks_for_the_verdict_only_unless_explained() -> None:
    loaded = prompt.load("overall")
    short = prompt.render(QUESTION, A, B, 1, loaded)[1]["content"]
    long = prompt.render(QUESTION, A, B, 1, loaded, explain=True)[1]["content"]
    assert short.splitlines()[-1] == loaded.closing
    assert long.splitlines()[-1] == loaded.closing_explain


def test_hash_changes_with_wording() -> None:
    loaded = prompt.load("overall")
    text = (
        'id="x"\nversion=1\ndimension="overall"\nsystem="s"\nuser="u"\n'
        'closing="c"\nclosing_explain="e"\n[labels]\nA="a"\n'
    )
    one = prompt.prompt_from_toml(text, "here")
    other = prompt.prompt_from_toml(text.replace('"u"', '"v"'), "here")
    assert len({loaded.hash, one.hash, other.hash}) == 3


@pytest.mark.parametrize(
    ("text", "found"),
    [("id =", "not TOML"), ('id = "x"', "no version"), ("", "no id")],
)
def test_a_bad_prompt_file_names_the_place_and_the_fault(text: str, found: str) -> None:
    with pytest.raises(DataError, match=f"mine.toml: {found}"):
        prompt.prompt_from_toml(text, "mine.toml")


def test_an_unknown_dimension_lists_the_known_ones() -> None:
    with pytest.raises(UsageError, match="harmlessness, helpfulness, overall"):
        prompt.load("../secrets")
