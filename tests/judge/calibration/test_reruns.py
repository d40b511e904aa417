"""A rerun that comes after a plan or a calibration changes neither."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from annotate.study import open_study
from judge.database.answer_places import model_versions
from tests.annotate.support import answer_line, write_lines
from tests.judge.calibration.commands import (
    LIMITS,
    drawn,
    evenhand,
    people_label,
    run_name,
    said,
)


def test_what_was_planned_and_calibrated_before_a_rerun_holds_after_it(
    study: Path,
    tmp_path: Path,
) -> None:
    run = calibrated(study, tmp_path, "before")
    gated = ("gate", study, *run, "--config", tmp_path / "gate.toml")
    before = evenhand(*gated, "--out", tmp_path / "gate before")
    model = artefact(tmp_path / "before")["set"]["models"][0]

    lines = [answer_line(n, [f"another answer {n}"]) for n in range(1, 21)]
    file = write_lines(tmp_path / "rerun" / "model_answer" / f"{model}.jsonl", lines)
    said("import", study, file, "--benchmark", "bench")
    opened = open_study(study)
    assert model_versions(opened.store) == ((model, f"{model} (version 2)"),)
    opened.close()

    said("calibrate", study, *run, "--out", tmp_path / "after", "--baseline", model)
    old, new = artefact(tmp_path / "before"), artefact(tmp_path / "after")
    assert new["set"] == old["set"]
    assert new["calibration"]["scores"] == old["calibration"]["scores"]
    after = evenhand(*gated, "--out", tmp_path / "gate after")
    assert after.exit_code == before.exit_code


def test_the_gate_names_answers_that_nobody_judged(
    study: Path,
    tmp_path: Path,
) -> None:
    run = calibrated(study, tmp_path, "c")
    gated = ("gate", study, *run, "--config", tmp_path / "gate.toml", "--out", tmp_path / "g")
    assert "no harm verdict: judge them" not in evenhand(*gated).stdout
    assert card(tmp_path / "g") == {}
    model = artefact(tmp_path / "c")["set"]["models"][0]
    questions = [{"question_id": 900, "turns": ["Do more?"]},
                 {"question_id": 901, "turns": ["Be kind"], "prompt_set": "benign"}]  # fmt: skip
    folder = tmp_path / "more" / "bench"
    write_lines(folder / "question.jsonl", questions)
    lines = [answer_line(900 + n, [f"{model} says no {n}"]) for n in range(2)]
    write_lines(folder / "model_answer" / f"{model}.jsonl", lines)
    said("import", study, folder)
    done = " ".join(evenhand(*gated).stdout.split())
    assert f"1 answer of {model} of which this judge has no harm verdict: judge them" in done
    assert card(tmp_path / "g") == {model: 1}


def test_the_same_draw_again_asks_nothing_twice(study: Path) -> None:
    run = ("--run", run_name(study), "--labels", 60, "--draw")
    first = said("plan", study, *run)
    assert "drawn before" not in first
    items = drawn(study)
    again = " ".join(said("plan", study, *run).split())
    assert "It was drawn before: the same seed, the same items, asked for once." in again
    assert drawn(study) == items
    assert queued(study) == (1, 60)
    assert "drawn before" not in said("plan", study, *run, "--seed", 8)
    assert queued(study) == (2, 120)
    assert "breaks" not in said("verify", study)
    active = ("--allocate", "active")
    for _ in range(2):
        said("plan", study, *run, *active)
    assert queued(study)[0] == 3


def test_a_draw_that_was_cut_short_is_completed(
    study: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    run = ("--run", run_name(study), "--labels", 60, "--draw")

    def killed(*_arguments: object) -> None:
        raise OSError

    with monkeypatch.context() as cut:
        cut.setattr("judge.commands.queued_draw.enqueue", killed)
        evenhand("plan", study, *run)
    assert queued(study) == (0, 0)
    said("plan", study, *run)
    assert queued(study) == (1, 60)
    assert len(drawn(study)) == 60


def calibrated(study: Path, root: Path, folder: str) -> tuple[str, str]:
    """Planned, labelled and calibrated, with a gate.toml beside it; which run, as an option."""
    run = ("--run", run_name(study))
    said("plan", study, *run, "--labels", 60, "--draw")
    people_label(study, drawn(study))
    said("calibrate", study, *run, "--out", root / folder)
    (root / "gate.toml").write_text(LIMITS)
    return run


def queued(study: Path) -> tuple[int, int]:
    """Draws in the raters' queue, and their items."""
    opened = open_study(study)
    found = opened.store.conn.execute("SELECT count(DISTINCT draw), count(*) FROM draw_item")
    draws, items = found.fetchone()
    opened.close()
    return draws, items


def card(folder: Path) -> dict[str, int]:
    found: dict[str, int] = json.loads((folder / "gate.json").read_text())["unjudged"]
    return found


def artefact(folder: Path) -> dict[str, dict[str, list[str]]]:
    found: dict[str, dict[str, list[str]]] = json.loads((folder / "calibration.json").read_text())
    return found
