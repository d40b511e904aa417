"""Planned labels on the console: how many, what they bound, and whether labelling may stop."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from annotate import library
from annotate.study import open_study
from judge.commands.calibration_basis import WIN_RATE, Asked, asked_for, score_name
from judge.console.cached import Cached
from judge.console.label_plan import label_plan
from judge.database.calibrations import LabelPlan, Use
from tests.judge.calibration.commands import (
    LIMITS,
    drawn,
    harmful,
    people_label,
    run_name,
    said,
)


def shown(folder: Path) -> str:
    """The section as words."""
    opened = open_study(folder)
    try:
        return " ".join(re.sub(r"<[^>]+>", " ", label_plan(opened)).split())
    finally:
        opened.close()


def plan(folder: Path, labels: int, *options: object) -> None:
    said("plan", folder, "--run", run_name(folder), "--labels", labels, "--draw", *options)


def safe_ones(folder: Path) -> set[str]:
    opened = open_study(folder)
    try:
        every = library.answers(opened.store, library.answer_ids(opened.store))
        return {
            one.id
            for one in every
            if not harmful(one.answer.model, int(one.question.key.question_id))
        }
    finally:
        opened.close()


def test_there_is_no_section_without_a_plan_to_calibrate(study: Path) -> None:
    assert shown(study) == ""
    plan(study, 40, "--use", "tune")
    assert shown(study) == ""


def test_labels_rates_and_worst_cases(study: Path) -> None:
    plan(study, 120)
    text = shown(study)
    assert "0 / 120 planned labels" in text
    assert "0.0 – 100.0 % harm rate, worst cases" in text
    assert "gate.toml" in text
    assert "every label that is missing is safe, or harmful. They hold" in text
    people_label(study, safe_ones(study), raters=1)
    text = shown(study)
    assert "94 / 120 planned labels 78 % response rate" in text
    # All 26 that are missing are harmful, or none is.
    assert f"0.0 – {100 * 26 / 120:.1f} % harm rate, worst cases" in text
    # Of v2's 14 answers judged harmful 6 are, and nobody labelled those.
    assert "model-v2 · harmful 14 14 8 57 % more than 10 % missing: no score before" in text
    assert "model-v2 · safe 46 46 46 100 %" in text


def test_it_says_whether_labelling_may_stop(study: Path) -> None:
    plan(study, 120)
    (study / "gate.toml").write_text(LIMITS)
    assert "Labelling may not stop yet: after 120 draws" in shown(study)
    people_label(study, drawn(study), raters=1)
    assert "Labelling may stop: the score is below 0.5" in shown(study)


BROKEN = [
    ("harm_rate = 0.1\n", "full_refusals is missing"),
    ("harm_rate = 0.0\nfull_refusals = 0.1\n", "cannot be said: threshold 0.0"),
]


@pytest.mark.parametrize(("text", "words"), BROKEN)
def test_a_limit_that_cannot_be_used_is_a_warning(
    study: Path,
    text: str,
    words: str,
) -> None:
    plan(study, 50)
    (study / "gate.toml").write_text(text)
    assert words in shown(study)


def test_the_newest_plan_is_shown(study: Path) -> None:
    plan(study, 50)
    plan(study, 60, "--seed", 8)
    assert "0 / 60 planned labels" in shown(study)


class Work:
    """Something to compute that takes a second of a clock of its own."""

    def __init__(self) -> None:
        self.times, self.now = 0, 0.0

    def __call__(self) -> str:
        self.times += 1
        self.now += 1.0
        return str(self.times)


def test_a_piece_is_computed_when_its_state_changes_and_it_had_its_rest() -> None:
    work = Work()
    piece = Cached(work, lambda: work.now)
    assert piece.get(lambda: (1,), hold=True) == "1"  # there is nothing else to show
    assert piece.get(lambda: (2,)) == "1"  # rests for twenty seconds
    work.now += 20
    assert piece.get(lambda: (1,)) == "1"
    assert piece.get(lambda: (2,), hold=True) == "1"
    assert piece.get(lambda: (2,)) == "2"


@pytest.mark.parametrize(
    ("target", "reference"), [("a:b", "c"), ("a", "b:c"), ("x%3Ay", "z"), ("plain", "other")]
)
def test_a_plan_finds_its_models_again_whatever_they_are_called(
    target: str, reference: str
) -> None:
    asked = Asked("run", WIN_RATE, "over:all", target, reference)
    plan = LabelPlan("id", "2026-01-01", "run", Use.CALIBRATE, {"score": score_name(asked)})
    found = asked_for(plan)
    assert (found.dimension, found.target_model, found.reference) == ("over:all", target, reference)
    other = Asked("run", WIN_RATE, "over", "all:" + target, reference)
    assert score_name(other) != score_name(asked)
