"""A new set in production: transported and marked so, or calibrated from labels of its own."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from annotate import labels, library
from annotate.harm import AnswerLabel
from annotate.readers.base import Where
from annotate.records import Layer
from annotate.study import open_study
from judge.database.calibrations import Calibrations
from tests.judge.calibration.commands import (
    LIMITS,
    SAID,
    drawn,
    erring,
    harmful,
    label_of,
    people_label,
    run_name,
    said,
)
from tests.judge.fake_endpoint import Body, FakeEndpoint, Scripted, completion

NEW = range(101, 141)
NEW_MODELS = ("model-v1", "model-v3")


def calls_harmful(model: str, number: int) -> bool:
    return harmful(model, number) or number % 7 == 0


def new_set(folder: Path, setting: str = "") -> Path:
    """Another study: forty new questions, one known model and one new one, judged the same way."""
    bench, found = folder / "new-bench", folder / "new"
    (bench / "model_answer").mkdir(parents=True)
    questions = [{"question_id": n, "category": "harm", "turns": [f"Do harm {n}?"]} for n in NEW]
    (bench / "question.jsonl").write_text("\n".join(map(json.dumps, questions)))
    for model in NEW_MODELS:
        answers = [
            {
                "question_id": n,
                "choices": [
                    {"turns": [f"{model} says {'yes' if harmful(model, n) else 'no'} {n}"]}
                ],
            }
            for n in NEW
        ]
        (bench / "model_answer" / f"{model}.jsonl").write_text("\n".join(map(json.dumps, answers)))
    said("init", found)
    settings = (found / "study.toml").read_text("utf-8")
    (found / "study.toml").write_text(settings.replace("[judge]\n", f"[judge]\n{setting}\n", 1))
    said("import", found, bench)
    with FakeEndpoint(erring) as endpoint:
        at = ("--base-url", endpoint.base_url, "--model", "m")
        said("judge", found, *at, "--mode", "harm", "--output", "tag")
    return found


@pytest.fixture
def artefact(study: Path, tmp_path: Path) -> Path:
    """The first set calibrated, every answer labelled."""
    people_label(study, raters=2)
    said("calibrate", study, "--run", run_name(study), "--out", tmp_path / "c")
    return tmp_path / "c" / "calibration.json"


def produced(folder: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((folder / "production.json").read_text("utf-8"))
    return found


def old_mean(model: str, verdict: bool) -> float:
    truths = [harmful(model, n) for n in range(1, 61) if calls_harmful(model, n) is verdict]
    return sum(truths) / len(truths)


def under(answers_of: str, means_of: str) -> float:
    """The new set's score of one model with the old means of another."""
    verdicts = [calls_harmful(answers_of, n) for n in NEW]
    return sum(old_mean(means_of, verdict) for verdict in verdicts) / len(verdicts)


def test_without_labels_it_is_transported_and_says_so(artefact: Path, tmp_path: Path) -> None:
    new = new_set(tmp_path)
    options = ("--run", "m", "--calibration", artefact, "--out", tmp_path / "p")
    text = " ".join(said("production", new, *options).split())
    body = produced(tmp_path / "p")
    assert "Transported, uncalibrated" in text
    assert "no labels were drawn from this set" in text
    assert f"evenhand plan {new} --run m --labels 200 --draw" in text
    assert "Drift not checked: no endpoint" in text
    assert (body["status"], body["calibrated"]) == ("transported", False)
    by_model = {one["model"]: one for one in body["transport"]["scores"]}
    v1, v3 = by_model["model-v1"], by_model["model-v3"]
    assert v1["value"] == pytest.approx(under("model-v1", "model-v1"))
    assert v3["value"] is None
    assert v3["reason"] == "not calibrated: model-v3"
    assert by_model[""]["value"] is None
    for name, one in (("model-v1", v1), ("model-v3", v3)):
        ends = [under(name, "model-v1"), under(name, "model-v2")]
        assert (one["low"], one["high"]) == (pytest.approx(min(ends)), pytest.approx(max(ends)))
    assert (tmp_path / "p" / "report.html").is_file()


def test_the_command_it_prints_draws_labels_and_then_it_is_calibrated(
    artefact: Path, tmp_path: Path
) -> None:
    new = new_set(tmp_path)
    options = ("--run", "m", "--calibration", artefact, "--out", tmp_path / "p")
    said("production", new, *options)
    command = re.findall(r"evenhand (plan .*)$", produced(tmp_path / "p")["todo"])[0]
    said(*command.split())
    text = " ".join(said("production", new, *options).split())
    assert "80 items of this set, 0 are labelled; not enough yet" in text
    assert "let raters finish the plan" in text
    assert produced(tmp_path / "p")["status"] == "transported"
    people_label(new, drawn(new))
    said("production", new, *options)
    text = " ".join(said("production", new, "--run", "m", "--out", tmp_path / "q").split())
    assert "Calibrated: labels drawn from this very set stand behind its harm rate" in text
    assert re.search(
        r"stand behind its harm rate, \d+\.\d \[\d+\.\d, \d+\.\d\] %", " ".join(text.split())
    )
    assert "of these very answers; only the draw of the labels is random" in text
    body = produced(tmp_path / "p")
    assert (body["status"], body["calibrated"]) == ("calibrated", True)
    truth = sum(harmful(m, n) for m in NEW_MODELS for n in NEW) / 80
    assert body["scores"][0]["score"]["value"] == pytest.approx(truth)
    assert (tmp_path / "p" / "calibration.json").is_file()


def test_a_calibrated_set_is_not_calibrated_again(
    study: Path,
    artefact: Path,
    tmp_path: Path,
) -> None:
    text = said("production", study, "--run", run_name(study), "--out", tmp_path / "p")
    assert "Calibrated: labels of every item of this very set stand behind" in " ".join(
        text.split()
    )
    assert "of these very answers" in text
    assert produced(tmp_path / "p")["used"] == json.loads(artefact.read_text())["hash"]
    opened = open_study(study)
    try:
        assert len(Calibrations(opened.store).artefacts()) == 1
    finally:
        opened.close()


def test_labels_newer_than_the_calibration_are_not_passed_over(
    study: Path,
    artefact: Path,
    tmp_path: Path,
) -> None:
    """A third person's labels: enough to calibrate anew, which is done."""
    people_label(study, raters=3)
    run = run_name(study)
    said("production", study, "--run", run, "--out", tmp_path / "p")
    assert produced(tmp_path / "p")["used"] != json.loads(artefact.read_text())["hash"]
    said("production", study, "--run", run, "--out", tmp_path / "q")
    assert produced(tmp_path / "q")["used"] == produced(tmp_path / "p")["used"]


def test_newer_labels_that_cannot_calibrate_are_said(
    study: Path,
    artefact: Path,
    tmp_path: Path,
) -> None:
    """A sample drawn since, of whose items some lost their labels' agreement."""
    run = run_name(study)
    said("plan", study, "--run", run, "--labels", 60, "--draw")
    some = sorted(drawn(study))[:20]
    opened = open_study(study)
    try:
        for answer in library.answers(opened.store, some):
            number = int(answer.question.key.question_id)
            wrong = label_of(not harmful(answer.answer.model, number))
            key, model = answer.question.key, answer.answer.model
            one = AnswerLabel(key, model, 1, "late", wrong, "expert", Layer.VOTE)
            with opened.store.write() as conn:
                labels.import_label(opened.store, conn, one, answer.id, Where("labels", 1))
    finally:
        opened.close()
    text = " ".join(said("production", study, "--run", run, "--out", tmp_path / "p").split())
    assert "Read it as of its date: labels are newer than the calibration" in text
    assert "it cannot be made anew yet" in text
    assert produced(tmp_path / "p")["changed"].startswith("labels are newer")


def test_labels_that_nobody_drew_are_said_to_be_random_by_word_only(
    study: Path,
    tmp_path: Path,
) -> None:
    opened = open_study(study)
    some = set(library.answer_ids(opened.store)[:100])
    opened.close()
    people_label(study, some)
    run = ("--run", run_name(study))
    options = ("--labels-are-random", "--population", "prompts", "--out", tmp_path / "c")
    text = " ".join(said("calibrate", study, *run, *options).split())
    of = "of a population of prompts that these stand for; its labels are random by word only"
    assert of in text
    text = " ".join(said("production", study, *run, "--out", tmp_path / "p").split())
    assert "Before you quote this: Calibrated by word only: labels that nobody drew" in text
    assert of in text
    assert "drawn from this very set" not in text
    body = produced(tmp_path / "p")
    assert (body["draw"], body["population"]) == ("said to be random", "prompts")
    file = tmp_path / "c" / "calibration.json"
    text = said("production", new_set(tmp_path), "--run", "m", "--calibration", file)
    assert "whose labels are random by word only" in " ".join(text.split())


def test_a_score_made_anew_is_of_the_same_population(
    study: Path,
    tmp_path: Path,
) -> None:
    run = ("--run", run_name(study))
    people_label(study, raters=2)
    said("calibrate", study, *run, "--population", "prompts", "--out", tmp_path / "c")
    people_label(study, raters=3)
    text = said("production", study, *run, "--out", tmp_path / "p")
    assert "of a population of prompts that these stand for" in " ".join(text.split())
    assert produced(tmp_path / "p")["population"] == "prompts"


def drifting(body: Body, number: int) -> Scripted:
    """The judge after somebody changed it: everything is safe."""
    return completion(SAID[False])


def refusing(_body: Body, _number: int) -> Scripted:
    return Scripted(401, b'{"error": {"message": "no such key"}}')


DRIFTS = [(erring, 0), (drifting, None)]


@pytest.mark.parametrize(("script", "flips"), DRIFTS)
def test_drift_is_looked_for_in_fifty_old_verdicts(
    study: Path,
    artefact: Path,
    tmp_path: Path,
    script: Any,
    flips: int | None,
) -> None:
    run = ("--run", run_name(study), "--out", tmp_path / "p")
    with FakeEndpoint(script) as endpoint:
        text = said("production", study, *run, "--base-url", endpoint.base_url)
        assert endpoint.total == 50
        said("production", study, *run, "--base-url", endpoint.base_url)
        assert endpoint.total == 100  # each time anew
    check = produced(tmp_path / "p")["drift"]["check"]
    assert check["compared"] == 50
    assert check["flips"] == flips if flips is not None else check["flips"] > 5
    assert [rate for rate, _power in check["power"]] == [0.02, 0.05, 0.1, 0.2]
    assert check["power"][1][1] == pytest.approx(1 - 0.95**50)
    assert "with probability" in text
    assert "younger than the calibration" not in text
    # The judgments stay what they were.
    assert produced(tmp_path / "p")["status"] == "calibrated"


def test_verdicts_younger_than_the_calibration_are_said_to_be(
    artefact: Path, tmp_path: Path
) -> None:
    new = new_set(tmp_path)
    with FakeEndpoint(erring) as endpoint:
        options = ("--base-url", endpoint.base_url, "--out", tmp_path / "p")
        text = said("production", new, "--run", "m", "--calibration", artefact, *options)
    assert "younger than the calibration" in " ".join(text.split())


def test_why_nothing_could_be_asked_again_is_said(
    study: Path,
    artefact: Path,
    tmp_path: Path,
) -> None:
    with FakeEndpoint(refusing) as endpoint:
        run = ("--run", run_name(study), "--out", tmp_path / "p")
        text = said("production", study, *run, "--base-url", endpoint.base_url)
    lead = " ".join(text.partition("Drift of the judge")[0].split())
    assert "Drift: none of 50 stored verdicts could be asked for again (" in lead
    assert "no such key" in lead
    assert "no such key" in produced(tmp_path / "p")["drift"]["check"]["why"]


def test_the_gate_takes_no_transported_score(artefact: Path, tmp_path: Path) -> None:
    new = new_set(tmp_path)
    options = ("--run", "m", "--calibration", artefact, "--out", tmp_path / "p")
    said("production", new, *options)
    (tmp_path / "gate.toml").write_text(LIMITS)
    limits = ("--run", "m", "--config", tmp_path / "gate.toml", "--out", tmp_path / "g")
    text = said("gate", new, *limits, "--calibration", tmp_path / "p" / "production.json", code=3)
    assert "evenhand.production/1" in text
    # Nor the calibration of the other set under the new one's name.
    said("gate", new, *limits, "--calibration", artefact, code=2)
    card = (tmp_path / "g" / "report.md").read_text("utf-8")
    assert "transported, uncalibrated" in card


def test_another_prompt_or_setting_is_another_judge(artefact: Path, tmp_path: Path) -> None:
    new = new_set(tmp_path, "temperature = 0.5")
    text = said("production", new, "--run", "m", "--calibration", artefact, code=3)
    assert "another prompt or setting is another judge" in text


def test_another_model_is_refused(study: Path, artefact: Path, tmp_path: Path) -> None:
    with FakeEndpoint(erring) as endpoint:
        at = ("--base-url", endpoint.base_url, "--model", "other", "--mode", "harm", "--limit", 4)
        said("judge", study, *at, "--output", "tag")
    for given in ((), ("--calibration", artefact)):
        text = said("production", study, "--run", "other", *given, code=3)
        assert "is of model m, run other is of other" in text
    with FakeEndpoint(erring) as endpoint:
        other = ("--base-url", endpoint.base_url, "--model", "other")
        text = said("production", study, "--run", run_name(study), *other, code=3)
    assert "other would be asked for drift; expected the same model" in text


def test_an_edited_or_missing_or_refused_calibration_is_unusable(
    study: Path,
    tmp_path: Path,
) -> None:
    run = ("--run", run_name(study), "--out", tmp_path / "p")
    assert "no calibration of this score" in said("production", study, *run, code=3)
    said("calibrate", study, "--run", run_name(study), "--out", tmp_path / "c", code=3)
    file = tmp_path / "c" / "calibration.json"
    text = said("production", study, *run, "--calibration", file, code=3)
    assert "holds no score, it was refused" in text
    edited = json.loads(file.read_text())
    edited["status"] = "ok"
    file.write_text(json.dumps(edited))
    text = said("production", study, *run, "--calibration", file, code=3)
    assert "tampered with" in text
    assert "No such option" in said("production", study, *run, "--calibraton", file, code=3)
