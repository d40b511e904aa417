"""The judge labels harm, and grades, in the raters' words."""

from __future__ import annotations

from pathlib import Path

import pytest

from annotate.errors import UsageError
from annotate.harm import HarmCategory
from annotate.harm_protocol import HarmLabels
from annotate.label_page import form
from annotate.records import Answer, Question, QuestionKey, assistant_turns, user_turns
from annotate.study import load_settings
from judge.ask.conversation import Case
from judge.ask.modes import Mode
from judge.ask.prompt import load
from judge.engine.prompt_files import prompts_for
from tests.annotate.support import write_settings

LABELS = """
guidance = "Harm counts, tone does not."
severities = ["none at all", "a nuisance", "usable", "grave"]
categories = ["hate", "other"]
[protocol.harm_labels.response_types]
partial = "goes half the way"
"""
KEY = QuestionKey("b", "1")
CASE = Case(
    Question(KEY, "", user_turns(["Hello?"])),
    Answer(KEY, "m", assistant_turns(["Hi."])),
    None,
    1,
)


def asked(folder: Path, labels: str, files: tuple[Path, ...] = ()) -> str:
    write_settings(folder, labels=labels)
    (prompt,) = prompts_for(load_settings(folder).protocol, Mode.HARM, (), files)
    return prompt.messages(CASE, explain=False, as_json=False)[1]["content"]


def test_the_raters_words_are_in_the_judges_prompt_and_on_the_raters_page(tmp_path: Path) -> None:
    text = asked(tmp_path, LABELS)
    for line in ("Harm counts, tone does not.\n\ntype: what", "  partial: goes half the way\n",
                 "  1: a nuisance\n", "no harm: hate, other\n"):  # fmt: skip
        assert line in text
    assert "minor harm" not in text
    page = form(load_settings(tmp_path).protocol.harm_labels or HarmLabels())
    assert [one["words"] for one in page["severities"]][1] == "a nuisance"
    assert page["types"][2]["words"] == "goes half the way"
    assert page["categories"] == [HarmCategory.HATE, HarmCategory.OTHER]


def test_without_words_of_its_own_a_study_asks_as_the_program_does(tmp_path: Path) -> None:
    write_settings(tmp_path)
    (plain,) = prompts_for(load_settings(tmp_path).protocol, Mode.HARM)
    write_settings(tmp_path, labels="-")
    (switched_on,) = prompts_for(load_settings(tmp_path).protocol, Mode.HARM)
    assert plain.hash == switched_on.hash == load("harm", Mode.HARM).hash
    assert "{" not in plain.messages(CASE, explain=False, as_json=False)[1]["content"]


def test_a_prompt_of_ones_own_may_use_the_raters_words(tmp_path: Path) -> None:
    own = tmp_path / "own.toml"
    own.write_text(
        'id = "mine"\nversion = 1\nmode = "harm"\ndimension = "harm"\nsystem = "s"\n'
        'user = "{conversation}\\n{types}\\n{closing}"\nclosing = "c"\nclosing_explain = "e"\n',
        "utf-8",
    )
    assert "  partial: goes half the way\n" in asked(tmp_path, LABELS, (own,))


@pytest.mark.parametrize(
    ("labels", "said"),
    [
        ('severities = ["a", "b"]', "severities"),
        ('categories = ["theft"]', "categories"),
        ('categories = ["hate", "hate"]', "each category once"),
        ('guidance = "see {conversation}"', "guidance"),
        ("colour = 1", "colour"),
    ],
)
def test_words_that_cannot_be_asked_are_refused(tmp_path: Path, labels: str, said: str) -> None:
    write_settings(tmp_path, labels=labels)
    with pytest.raises(UsageError, match=said):
        load_settings(tmp_path)


def test_a_protocol_without_labels_keeps_its_version(tmp_path: Path) -> None:
    """Else every study in the field would have a new protocol after an update."""
    write_settings(tmp_path)
    body = load_settings(tmp_path).protocol.body()
    assert not {"harm_labels", "care"} & set(body)


GRADES = """
dimension = "wit"
guidance = "Laughing counts."
lowest = "not funny at all"
highest = "unforgettable"
"""


def test_the_judge_grades_on_the_raters_dimension_and_anchors(tmp_path: Path) -> None:
    write_settings(tmp_path, grades=GRADES)
    protocol = load_settings(tmp_path).protocol
    (prompt,) = prompts_for(protocol, Mode.GRADE)
    assert prompt.dimension == "wit"
    text = prompt.messages(CASE, explain=False, as_json=False)[1]["content"]
    assert "for wit: 1 is not funny at all, 10 is unforgettable.\nLaughing counts.\n" in text
    page = form(protocol.answer_forms["wit"])
    assert (page["lowest"], page["highest"]) == ("not funny at all", "unforgettable")
    assert "Laughing counts." in page["guidance"]


def test_grades_without_words_of_their_own_take_the_rubric_of_pairs(tmp_path: Path) -> None:
    grades = 'dimension = "harmlessness"'
    write_settings(tmp_path, grades=grades)
    settings = tmp_path / "study.toml"
    text = settings.read_text("utf-8").replace(
        "[protocol.grades]", 'rubric = "No harm to anyone."\n[protocol.grades]'
    )
    settings.write_text(text, "utf-8")
    protocol = load_settings(tmp_path).protocol
    assert "No harm to anyone." in form(protocol.answer_forms["harmlessness"])["guidance"]
    (graded,) = prompts_for(protocol, Mode.GRADE)
    settings.write_text(text.replace("[protocol.grades]", "").replace(grades, ""), "utf-8")
    (before,) = prompts_for(load_settings(tmp_path).protocol, Mode.GRADE)
    assert graded.hash == before.hash  # the same question: the same judge
