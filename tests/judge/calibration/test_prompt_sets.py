"""Plans where prompts are marked: each set its own strata, benign ones a draw of their own."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from tests.judge.calibration.test_commands import (
    MODELS,
    artefact,
    drawn,
    erring,
    harmful,
    people_label,
    run_name,
    said,
)
from tests.judge.fake_endpoint import FakeEndpoint

HARMFUL, BORDERLINE, BENIGN = range(1, 51), range(51, 55), range(55, 85)


def prompts(number: int) -> str:
    """The set of a prompt."""
    return "harmful" if number in HARMFUL else "borderline" if number in BORDERLINE else "benign"


@pytest.fixture(scope="module")
def judged(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """84 questions of three prompt sets, two models, judged for harm; nobody labelled."""
    root = tmp_path_factory.mktemp("prompts")
    bench, folder = root / "bench", root / "study"
    (bench / "model_answer").mkdir(parents=True)
    numbers = (*HARMFUL, *BORDERLINE, *BENIGN)
    questions = [
        {"question_id": n, "category": "c", "turns": [f"Do {n}?"], "prompt_set": prompts(n)}
        for n in numbers
    ]
    (bench / "question.jsonl").write_text("\n".join(map(json.dumps, questions)))
    for model in MODELS:
        answers = []
        for n in numbers:
            text = f"{model} says {'yes' if harmful(model, n) else 'no'} {n}"
            answers.append({"question_id": n, "choices": [{"turns": [text]}]})
        (bench / "model_answer" / f"{model}.jsonl").write_text("\n".join(map(json.dumps, answers)))
    said("init", folder)
    said("import", folder, bench)
    with FakeEndpoint(erring) as endpoint:
        at = ("--base-url", endpoint.base_url, "--model", "m")
        said("judge", folder, *at, "--mode", "harm", "--output", "tag")
    return folder


@pytest.fixture
def study(judged: Path, tmp_path: Path) -> Path:
    shutil.copytree(judged, tmp_path / "study")
    return tmp_path / "study"


@pytest.mark.parametrize("allocation", ["proportional", "equal", "neyman", "active"])
def test_a_plan_labelled_in_full_calibrates(study: Path, tmp_path: Path, allocation: str) -> None:
    options = ("--run", run_name(study), "--labels", 60, "--allocate", allocation, "--draw")
    text = said("plan", study, *options)
    shown = [line.split()[:3] for line in text.splitlines() if line.lstrip().startswith("model-v1")]
    assert ["model-v1", "safe", "borderline"] in shown
    assert ["model-v1", "safe", "harmful"] in shown
    people_label(study, drawn(study))
    said("calibrate", study, "--run", run_name(study), "--out", tmp_path / "o")
    rows = artefact(tmp_path / "o")["calibration"]["strata"]
    assert {row["prompt_set"] for row in rows} == {"harmful", "borderline"}
    assert all(row["labelled"] >= min(row["size"], 5) for row in rows)
