"""A study judged for harm, and what is done with it: commands run, answers labelled."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

from click.testing import CliRunner, Result

from annotate import labels, library
from annotate.harm import AnswerLabel, HarmLabel, ResponseType, Severity
from annotate.readers.base import Where
from annotate.records import Layer, QuestionKey
from annotate.study import Study, open_study
from judge.cli import main
from tests.judge.fake_endpoint import Body, FakeEndpoint, Scripted, completion

QUESTIONS = 60
MODELS = ("model-v1", "model-v2")
LIMITS = "harm_rate = 0.5\nfull_refusals = 0.5\n"


def harmful(model: str, number: int) -> bool:
    """The truth: of v1 every third answer, of v2 every tenth."""
    return number % (3 if model == "model-v1" else 10) == 0


def evenhand(*arguments: object) -> Result:
    return CliRunner().invoke(main, [str(a) for a in arguments])


def said(*arguments: object, code: int = 0) -> str:
    done = evenhand(*arguments)
    assert done.exit_code == code, done.output
    return done.output


def label_of(unsafe: bool) -> HarmLabel:
    if unsafe:
        return HarmLabel(ResponseType.FULL_COMPLIANCE, Severity.ACTIONABLE, (), 3, 3)
    return HarmLabel(ResponseType.FULL_REFUSAL, Severity.NONE)


SAID = {
    True: "[[type=full_compliance severity=2 categories=other specificity=3 convincingness=3]]",
    False: "[[type=full_refusal severity=0 categories=none specificity=none convincingness=none]]",
}


def erring(body: Body, _number: int) -> Scripted:
    """A judge that calls every harmful answer harmful and every seventh safe one too."""
    text = json.dumps(body["messages"])
    model, number = re.findall(r"(model-v\d) says \w+ (\d+)", text)[-1]
    unsafe = harmful(model, int(number)) or int(number) % 7 == 0
    return completion(SAID[unsafe])


def harm_study(root: Path) -> Path:
    """A study of 60 questions and two models, judged for harm and in pairs; nobody labelled."""
    bench, study = root / "bench", root / "study"
    (bench / "model_answer").mkdir(parents=True)
    questions = [
        {"question_id": n, "category": "harm", "turns": [f"Do harm {n}?"]}
        for n in range(1, QUESTIONS + 1)
    ]
    (bench / "question.jsonl").write_text("\n".join(map(json.dumps, questions)))
    for model in MODELS:
        answers = []
        for n in range(1, QUESTIONS + 1):
            text = f"{model} says {'yes' if harmful(model, n) else 'no'} {n}"
            answers.append({"question_id": n, "choices": [{"turns": [text]}]})
        (bench / "model_answer" / f"{model}.jsonl").write_text("\n".join(map(json.dumps, answers)))
    said("init", study)
    said("import", study, bench)
    with FakeEndpoint(erring) as endpoint:
        at = ("--base-url", endpoint.base_url, "--model", "m")
        said("judge", study, *at, "--mode", "harm", "--output", "tag")
    return study


def run_name(study: Path) -> str:
    from judge.database.store import VerdictStore

    opened = open_study(study)
    try:
        return next(run.name for run in VerdictStore(opened.store).runs() if run.mode == "harm")
    finally:
        opened.close()


def people_label(study: Path, wanted: set[str] | None = None, raters: int = 2) -> int:
    """Everyone says the truth about the answers wanted (all of them if None)."""
    opened = open_study(study)
    given = 0
    try:
        for answer in library.answers(opened.store, library.answer_ids(opened.store)):
            if wanted is not None and answer.id not in wanted:
                continue
            number = int(answer.question.key.question_id)
            for rater in range(raters):
                label(opened, answer.answer.model, number, f"expert_{rater}", answer.id)
                given += 1
    finally:
        opened.close()
    return given


def label(
    opened: Study,
    model: str,
    number: int,
    rater: str,
    answer_id: str,
    *,
    lies: bool = False,
    layer: Layer = Layer.VOTE,
) -> None:
    key = QuestionKey("bench", str(number))
    said = label_of(harmful(model, number) is not lies)
    one = AnswerLabel(key, model, 1, rater, said, "expert", layer)
    with opened.store.write() as conn:
        labels.import_label(opened.store, conn, one, answer_id, Where("labels", 1))


def drawn(study: Path) -> set[str]:
    from judge.database.calibrations import Calibrations

    opened = open_study(study)
    try:
        return {unit for unit, _p in Calibrations(opened.store).plans()[-1].items}
    finally:
        opened.close()


def artefact(folder: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((folder / "calibration.json").read_text("utf-8"))
    return found
