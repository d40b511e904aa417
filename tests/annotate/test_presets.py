"""Presets: every one makes a study, says what it needs, and brings no prompts."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest
from click.testing import CliRunner

from annotate.errors import UsageError
from annotate.presets import LABEL_WORDS, preset, preset_names
from annotate.records import PromptSet
from annotate.study import init, open_study
from judge.cli import main

NAMES = ["borderline", "contrast", "escalation", "harm-direct", "help-mtbench"]
EVERY = pytest.mark.parametrize("name", NAMES)


def test_these_are_all() -> None:
    assert preset_names() == NAMES
    help_text = CliRunner().invoke(main, ["init", "--help"]).output
    assert [name for name in NAMES if name not in help_text] == []


@EVERY
def test_a_preset_makes_a_study_that_opens_again(tmp_path: Path, name: str) -> None:
    facts = preset(name).facts
    made = CliRunner().invoke(main, ["init", str(tmp_path / "s"), "--preset", name])
    assert (made.exit_code, made.exception) == (0, None), made.output
    study = open_study(tmp_path / "s")
    settings = study.settings
    study.close()
    stored = tomllib.loads(preset(name).protocol)["protocol"]
    assert settings.study.title == facts.title
    assert settings.protocol.instructions == stored["instructions"]
    assert [d.name for d in settings.protocol.dimensions] == [
        d["name"] for d in stored["dimensions"]
    ]
    assert settings.assignment.overlap == facts.overlap
    assert (settings.protocol.harm_labels is not None) == ("harm" in facts.labels)
    assert (settings.protocol.care is not None) == ("harm" in facts.labels)
    assert settings.protocol.content_notice.strip()
    assert "voluntary" in settings.protocol.consent


@EVERY
def test_the_head_of_study_toml_says_what_to_bring(tmp_path: Path, name: str) -> None:
    facts = preset(name).facts
    init(tmp_path / "s", "My own", name).close()
    text = (tmp_path / "s" / "study.toml").read_text("utf-8")
    head = " ".join(text.partition("\n[study]")[0].replace("\n#", " ").split())
    for role in facts.prompt_sets:
        assert role.what in head
        assert role.name is PromptSet.UNMARKED or f'"prompt_set": "{role.name}"' in head
    for label in facts.labels:
        assert LABEL_WORDS[label] in head
    assert ('"matched"' in head) == facts.matched
    assert 'title = "My own"' in text
    assert all(len(line) <= 100 for line in text.partition("\n[assignment]")[0].splitlines())


def test_between_them_they_use_every_prompt_set_and_label() -> None:
    facts = [preset(name).facts for name in NAMES]
    assert {role.name for one in facts for role in one.prompt_sets} == set(PromptSet)
    assert {label for one in facts for label in one.labels} == set(LABEL_WORDS)
    harmful = [{role.name for role in one.prompt_sets} for one in facts if "harm" in one.labels]
    # Harm is never scored without something benign to refuse.
    assert all(PromptSet.BENIGN in sets for sets in harmful)


def test_an_unknown_preset_is_refused_before_anything_is_made(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"preset 'harm': not known; expected one of borderline"):
        init(tmp_path / "s", None, "harm")
    for name in ("../sample/question", "", "harm-direct.toml"):
        with pytest.raises(UsageError):
            init(tmp_path / "s", None, name)
    assert not (tmp_path / "s").exists()


@EVERY
def test_a_preset_holds_no_prompts(name: str) -> None:
    text = preset(name).protocol
    assert not re.search(r'"(turns|question_id|messages)"', text)
