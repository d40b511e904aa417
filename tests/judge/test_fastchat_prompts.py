"""The user's own prompts in FastChat's form."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from annotate.errors import DataError, UsageError
from annotate.records import Answer, Question, QuestionKey, Reference, assistant_turns, user_turns
from annotate.store import Store
from annotate.study import init
from judge.ask.conversation import Case
from judge.ask.fastchat_prompts import FastChatPrompt, prompts_from_fastchat
from judge.ask.modes import GRADES, Mode
from judge.engine.prompt_files import prompts_for
from judge.engine.runner import run
from tests.judge.fake_endpoint import FakeEndpoint, say
from tests.judge.study import make_study, settings

KEY = QuestionKey("bench", "q1")
QUESTION = Question(KEY, "math", user_turns(["First?", "Second {answer_a}?"]))
A = Answer(KEY, "alder", assistant_turns(["a one", "a [[B]] two"]))
B = Answer(KEY, "birch", assistant_turns(["b one", "b two"]))
REFERENCE = Reference(KEY, ("ref one", "ref two"), "someone")


def line(name: str, kind: str, template: str, form: str = "[[A]]", **changes: object) -> str:
    fields = {
        "name": name,
        "type": kind,
        "system_prompt": "Judge fairly.",
        "prompt_template": template,
        "description": "",
        "category": "general",
        "output_format": form,
        **changes,
    }
    return json.dumps({k: v for k, v in fields.items() if v is not None})


FILE = "\n".join(
    [
        line("pair", "pairwise", "Q {question} A {answer_a} B {answer_b}"),
        line(
            "pair-multi",
            "pairwise",
            "{question_1} {answer_a_1} {answer_b_1} | {question_2} {answer_a_2} {answer_b_2}",
        ),
        line(
            "pair-math-multi",
            "pairwise",
            "{question_1} {ref_answer_1} {question_2} {ref_answer_2} {answer_a_2} {answer_b_2}",
        ),
        line("single", "single", "Q {question} A {answer} {json: 1}", "[[rating]]"),
    ]
)


@pytest.fixture
def prompts() -> dict[Mode, FastChatPrompt]:
    return prompts_from_fastchat(FILE, "mine.jsonl")


def user(prompt: FastChatPrompt, case: Case) -> str:
    return prompt.messages(case)[1]["content"]


def test_the_template_is_chosen_by_turn_and_reference(prompts: dict[Mode, FastChatPrompt]) -> None:
    pair = prompts[Mode.PAIRWISE]
    assert user(pair, Case(QUESTION, A, B, 1)) == "Q First? A a one B b one"
    assert user(pair, Case(QUESTION, A, B, 2)) == (
        "First? a one b one | Second {answer_a}? a [\\[B]] two b two"
    ), "text is filled in once, and its tags are inert"
    assert user(pair, Case(QUESTION, A, B, 2, REFERENCE)) == (
        "First? ref one Second {answer_a}? ref two a [\\[B]] two b two"
    )
    assert pair.offered(Case(QUESTION, A, B, 1)) == ("A", "B", "C")


def test_what_is_no_placeholder_stays(prompts: dict[Mode, FastChatPrompt]) -> None:
    single = prompts[Mode.GRADE]
    assert user(single, Case(QUESTION, A, None, 1)) == "Q First? A a one {json: 1}"
    assert single.offered(Case(QUESTION, A, None, 1)) == GRADES


@pytest.mark.parametrize(
    ("case", "mode", "found"),
    [
        (Case(QUESTION, A, B, 1, REFERENCE), Mode.PAIRWISE, "no pairwise template for turn 1 with"),
        (Case(QUESTION, A, None, 2), Mode.GRADE, "no grade template for turn 2 without"),
        (Case(QUESTION, A, B, 0), Mode.PAIRWISE, "knows turns 1 and 2, not turn 0"),
        (Case(QUESTION, A, B, 3), Mode.PAIRWISE, "knows turns 1 and 2, not turn 3"),
    ],
)
def test_a_case_without_a_template_is_found_before_the_run(
    prompts: dict[Mode, FastChatPrompt], case: Case, mode: Mode, found: str
) -> None:
    assert found in prompts[mode].problem(case)


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("", "mine.jsonl: no prompt in it"),
        ("{", "mine.jsonl:1: not JSON"),
        ("[]", "mine.jsonl:1: found a JSON list"),
        (line("x", "pairwise", "t", output_format=None), "mine.jsonl:1: no output_format"),
        (line("x", "ranking", "t"), "mine.jsonl:1: type 'ranking'"),
        (line("x", "pairwise", "t", "[[rating]]"), "a pairwise prompt with [[rating]]"),
        (line("x", "pairwise", "{answr_a}"), "placeholder {answr_a}"),
        (line("x", "pairwise", "{question} {answer} {answer_1}"), "no {answer_a}"),
        (line("x", "pairwise", "hi"), "no {answer_a}"),
        (line("x", "pairwise", "{question} {answer_a}"), "no {answer_b}"),
        (line("x", "single", "{answer}", "[[rating]]"), "no {question}"),
        (line("x", "pairwise", "{question_2} {answer_a_2} {answer_b_1}"), "no {answer_b_2}"),
    ],
)
def test_a_bad_file_names_the_line_and_the_fault(text: str, found: str) -> None:
    with pytest.raises(DataError, match=re.escape(found)):
        prompts_from_fastchat(text, "mine.jsonl")


@pytest.fixture
def study(tmp_path: Path) -> Iterator[Store]:
    store = make_study(tmp_path / "s", turns=2)
    yield store
    store.close()


@pytest.mark.parametrize("mode", [Mode.PAIRWISE, Mode.GRADE])
def test_a_run_with_the_users_own_prompts(tmp_path: Path, mode: Mode) -> None:
    (tmp_path / "s").mkdir()
    store = make_study(tmp_path / "s", turns=1)
    file = tmp_path / "judge_prompts.jsonl"
    file.write_text(FILE)
    other = init(tmp_path / "t")
    asked = prompts_for(other.settings.protocol, mode, ("helpfulness",), (file,))
    other.close()
    said = "[[A]]" if mode is Mode.PAIRWISE else "Rating: [[7]]"
    with FakeEndpoint(say(said)) as endpoint:
        chosen = settings(endpoint.base_url, mode=mode, prompts=asked, dimensions=("helpfulness",))
        summary = run(store, chosen)
        assert endpoint.requests[0]["messages"][0]["content"] == "Judge fairly."
    assert summary.statuses == {"ok": 2}
    assert store.conn.execute("SELECT DISTINCT dimension FROM judge_item").fetchall() == [
        ("helpfulness",)
    ]
    store.close()


def test_json_and_fixed_words_do_not_go_together(tmp_path: Path) -> None:
    asked = prompts_from_fastchat(FILE, "mine.jsonl")[Mode.PAIRWISE]
    with pytest.raises(UsageError, match=r"output.*expected tag"):
        settings("http://127.0.0.1:1/v1", prompts=(asked,), output="json")


@pytest.mark.parametrize(
    ("name", "text", "found"),
    [
        (
            "mine.jsonl",
            line("x", "single", "{question} {answer}", "[[rating]]"),
            "no pairwise prompt",
        ),
        ("mine.toml", "id =", "mine.toml: not TOML"),
    ],
)
def test_files_that_do_not_fit_are_refused(
    tmp_path: Path, name: str, text: str, found: str
) -> None:
    study = init(tmp_path / "t")
    file = tmp_path / name
    file.write_text(text)
    with pytest.raises((UsageError, DataError), match=found):
        prompts_for(study.settings.protocol, Mode.PAIRWISE, (), (file,))
    study.close()
