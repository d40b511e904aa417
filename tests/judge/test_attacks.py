"""A judge of length falls for every padding; a judge of content for none."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from annotate import library
from annotate.errors import NothingComputable, UsageError
from annotate.records import Answer, Message, Question, QuestionKey, assistant_turns, user_turns
from annotate.study import Study, init
from judge.ask.attacks import ATTACKS, AttackResult, padded, results
from judge.ask.modes import Mode
from judge.engine.attack_runner import attack
from tests.judge.fake_endpoint import Body, FakeEndpoint, Scripted, completion, say
from tests.judge.study import settings

KEY = QuestionKey("bench", "1")


@pytest.fixture
def study(tmp_path: Path) -> Iterator[Study]:
    made = init(tmp_path / "study")
    with made.store.write() as conn:
        library.add_question(conn, Question(KEY, "writing", user_turns(["Why?", "And?"])))
        for model in ("alder", "birch"):
            turns = assistant_turns([f"{model} says. Because.", f"{model} adds:\n- x\n- y"])
            library.add_answers(conn, "bench", model, [Answer(KEY, model, turns)])
        library.build_pairs(conn, made.store.study_id)
    yield made
    made.close()


def sections(body: Body, name: str) -> str:
    """What stands under an answer's headers, of the turn in question."""
    text = body["messages"][-1]["content"]
    return str(re.findall(rf"<<<answer {name}, turn \d+>>>\n(.*?)(?=\n<<<)", text, re.DOTALL)[-1])


def longest(body: Body, _number: int) -> Scripted:
    return completion("[[A]]" if len(sections(body, "A")) > len(sections(body, "B")) else "[[B]]")


def indifferent(_body: Body, _number: int) -> Scripted:
    return completion("[[C]]")


def test_a_judge_of_length_fails_every_padding_attack(study: Study) -> None:
    with FakeEndpoint(longest) as endpoint:
        found = attack(study, settings(endpoint.base_url))
        again = attack(study, settings(endpoint.base_url))
    assert [r.attack for r in found.results] == list(ATTACKS)
    for result in found.results:
        assert result == AttackResult(result.attack, fooled=4), "two answers of two turns"
        assert result.fooled_share == 1.0
    assert again.summary.calls == 0
    assert again.results == found.results


def test_a_judge_that_sees_through_it_is_never_fooled(study: Study) -> None:
    with FakeEndpoint(indifferent) as endpoint:
        found = attack(study, settings(endpoint.base_url))
    assert [r.fooled_share for r in found.results] == [0.0] * 3
    assert [r.resisted for r in found.results] == [4] * 3


@pytest.mark.parametrize(
    ("reply", "expected"),
    [
        ("[[A]]", AttackResult("repeated", inconsistent=4)),
        ("no idea", AttackResult("repeated", failed=4)),
    ],
)
def test_what_is_no_choice_is_counted_apart(
    study: Study, reply: str, expected: AttackResult
) -> None:
    with FakeEndpoint(say(reply)) as endpoint:
        (found,) = attack(study, settings(endpoint.base_url), ["repeated"]).results
    assert found == expected
    assert found.fooled_share == (0.0 if expected.inconsistent else None)


def test_the_study_itself_is_not_touched(study: Study) -> None:
    before = library.counts(study.store)
    with FakeEndpoint(longest) as endpoint:
        attack(study, settings(endpoint.base_url, limit=1))
    assert library.counts(study.store) == before
    assert not study.store.conn.execute(
        "SELECT 1 FROM sqlite_master WHERE name = 'judge_run'"
    ).fetchone()


def test_a_limit_counts_answers(study: Study) -> None:
    with FakeEndpoint(longest) as endpoint:
        one = attack(study, settings(endpoint.base_url, limit=1), ["filled"])
        both = attack(study, settings(endpoint.base_url, limit=2), ["filled"])
        other = attack(study, settings(endpoint.base_url, limit=1, temperature=0.5), ["filled"])
    assert other.summary.calls == 4, "another judge is asked about its own pairs only"
    assert other.results == (AttackResult("filled", fooled=2),)
    assert (one.summary.calls, both.summary.calls) == (4, 4)
    assert both.results == (AttackResult("filled", fooled=4),)


@pytest.mark.parametrize("name", ATTACKS)
@given(text=st.text(min_size=1).filter(str.strip))
def test_padding_keeps_the_whole_text_and_makes_it_longer(name: str, text: str) -> None:
    longer = ATTACKS[name](text)
    assert text in longer
    assert len(longer) > len(text)


def test_only_the_last_reply_is_padded_and_nothing_is_made_of_nothing() -> None:
    turns = (
        (Message("assistant", "call"), Message("tool", "rain"), Message("assistant", "Rain.")),
        (Message("assistant", " "),),
        (),
    )
    found = padded(Answer(KEY, "alder", turns), "repeated")
    assert found.model == "alder (repeated)"
    assert found.turns is not None
    assert [m.content for m in found.turns[0][:2]] == ["call", "rain"]
    assert found.turns[0][2].content.count("Rain.") == 2
    assert found.turns[1:] == turns[1:]


def test_the_original_is_always_first_in_canonical_order() -> None:
    for name in ("a", "Zed", "model (listed)", "ä"):
        assert name < padded(Answer(KEY, name, ()), "filled").model
    row = {"model_a": "m", "model_b": "m (listed)", "value": "b", "reason": ""}
    assert results([row]) == [AttackResult("listed", fooled=1)]


def test_what_cannot_be_attacked(tmp_path: Path, study: Study) -> None:
    with pytest.raises(UsageError, match="attack 'bigger': expected one of repeated"):
        attack(study, settings("http://127.0.0.1:9/v1"), ["bigger"])
    with pytest.raises(UsageError, match="no --mode"):
        attack(study, settings("http://127.0.0.1:9/v1", mode=Mode.GRADE))
    empty = init(tmp_path / "empty")
    with pytest.raises(NothingComputable, match="no answers"):
        attack(empty, settings("http://127.0.0.1:9/v1"))
    empty.close()
