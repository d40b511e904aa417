"""Mean grades calibrated: a judge too kind to one model, people who grade a sample."""

from __future__ import annotations

import json
import re
import shutil
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from annotate import labels, library, planned
from annotate.errors import UsageError
from annotate.harm import AnswerLabel
from annotate.readers.base import Where
from annotate.study import SETTINGS_NAME, open_study
from judge.calibration.columns import FAILED, Kind
from judge.calibration.companions import companions
from judge.calibration.grade_set import grade_set
from judge.calibration.planning import forecast
from judge.calibration.poststratified import Target, calibrated
from judge.calibration.strata import Strata, stratify
from judge.console.label_plan import label_plan
from judge.database.calibrations import Calibrations
from judge.database.store import VerdictStore
from tests.judge.calibration.commands import LIMITS, artefact, said
from tests.judge.calibration.tables import Cell, columns
from tests.judge.fake_endpoint import Body, FakeEndpoint, Scripted, completion

QUESTIONS = 40
MODELS = ("model-v1", "model-v2")
TURNS = (1, 2)
GRADE = ("--score", "grade", "--dimension", "helpfulness")


def deserved(model: str, number: int, turn: int) -> int:
    """The grade that people give on average: v1 is worse, and the second turn too."""
    return 3 + number * 7 % 6 + (model == "model-v2") - (turn == 2)


def kind(body: Body, _number: int) -> Scripted:
    """A judge two grades too kind to v1, and without words on every twentieth answer of v2."""
    text = json.dumps(body["messages"])
    model, number, turn = re.findall(r"(model-v\d) says (\d+) (\d)", text)[-1]
    grade = deserved(model, int(number), int(turn)) + 2 * (model == "model-v1")
    if model == "model-v2" and int(number) % 20 == 0:
        return completion("no grade")
    return completion(f"[[{min(10, grade)}]]")


@pytest.fixture(scope="module")
def judged(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A study of 40 questions of two turns and two models, graded by the judge; by nobody else."""
    return graded(tmp_path_factory.mktemp("grades"), range(1, QUESTIONS + 1))


def graded(root: Path, numbers: range) -> Path:
    bench, study = root / "bench", root / "study"
    (bench / "model_answer").mkdir(parents=True)
    questions = [{"question_id": n, "category": "talk", "turns": ["Go", "On"]} for n in numbers]
    (bench / "question.jsonl").write_text("\n".join(map(json.dumps, questions)))
    for model in MODELS:
        answers = [
            {"question_id": n, "choices": [{"turns": [f"{model} says {n} {t}" for t in TURNS]}]}
            for n in numbers
        ]
        (bench / "model_answer" / f"{model}.jsonl").write_text("\n".join(map(json.dumps, answers)))
    said("init", study, "--preset", "help-mtbench")
    text = (study / SETTINGS_NAME).read_text("utf-8")
    (study / SETTINGS_NAME).write_text(
        text.replace("[assignment]", '[assignment]\ntasks = ["answers"]\nanswers = "planned"', 1)
    )
    said("import", study, bench)
    with FakeEndpoint(kind) as endpoint:
        at = ("--base-url", endpoint.base_url, "--model", "m")
        said("judge", study, *at, "--mode", "grade", "--output", "tag")
    return study


@pytest.fixture
def study(judged: Path, tmp_path: Path) -> Path:
    shutil.copytree(judged, tmp_path / "study")
    return tmp_path / "study"


def run_name(study: Path) -> str:
    opened = open_study(study)
    try:
        return next(run.name for run in VerdictStore(opened.store).runs())
    finally:
        opened.close()


def drawn(study: Path) -> list[str]:
    opened = open_study(study)
    try:
        return [unit for unit, _p in Calibrations(opened.store).plans()[-1].items]
    finally:
        opened.close()


def people_grade(study: Path, wanted: list[str] | None = None) -> None:
    """Two raters, one grade above and one below what is deserved, where it is wanted."""
    opened = open_study(study)
    try:
        for answer in library.answers(opened.store, library.answer_ids(opened.store)):
            for turn in TURNS:
                if wanted is not None and f"{answer.id}:{turn}" not in wanted:
                    continue
                key, model = answer.question.key, answer.answer.model
                true = deserved(model, int(key.question_id), turn)
                for rater, grade in (("expert_1", true - 1), ("expert_2", true + 1)):
                    one = AnswerLabel(
                        key, model, turn, rater, float(grade), "expert", dimension="helpfulness"
                    )
                    with opened.store.write() as conn:
                        labels.import_label(opened.store, conn, one, answer.id, Where("grades", 1))
    finally:
        opened.close()


def mean_of(*models: str) -> float:
    return float(
        np.mean([deserved(m, n, t) for m in models for n in range(1, QUESTIONS + 1) for t in TURNS])
    )


def test_plan_grade_calibrate(study: Path, tmp_path: Path) -> None:
    run = run_name(study)
    text = said("plan", study, "--run", run, *GRADE, "--labels", 90, "--draw")
    assert "grades, if the labels' spread is as assumed" in " ".join(text.split())
    assert "not asked" not in text
    wanted = drawn(study)
    opened = open_study(study)
    queued = opened.store.conn.execute(
        "SELECT answer || ':' || (turns ->> 0), dimension FROM label_item ORDER BY serving"
    ).fetchall()
    assert [one for one, _d in queued] == wanted
    assert {dimension for _one, dimension in queued} == {"helpfulness"}
    opened.close()
    people_grade(study, wanted)
    opened = open_study(study)
    plan = Calibrations(opened.store).plans()[-1]
    assert {one.state for one in planned.fill(opened.store, plan.id)} == {planned.State.LABELLED}
    opened.close()

    shown = said(
        "calibrate", study, "--run", run, *GRADE, "--baseline", "model-v1", "--out", tmp_path / "o"
    )
    made = artefact(tmp_path / "o")
    scores = {one["model"]: one for one in made["calibration"]["scores"]}
    for model, whose in (("", MODELS), *((m, (m,)) for m in MODELS)):
        score = scores[model]["score"]
        assert score["low"] <= mean_of(*whose) <= score["high"]
        assert score["high"] - score["low"] < 1.5
    assert scores["model-v1"]["raw"]["value"] == pytest.approx(
        np.mean([min(10, deserved("model-v1", n, t) + 2)
                 for n in range(1, QUESTIONS + 1) for t in TURNS])
    )  # fmt: skip
    assert scores["model-v2"]["raw"]["excluded"] == {"failed verdicts": 4}
    assert scores["model-v1"]["raw"]["value"] > scores["model-v1"]["score"]["high"]
    assert made["score"]["name"] == "grade:helpfulness"
    assert made["score"]["estimand"].startswith("the grade that a random rater")
    assert made["labels"]["labelled"] == made["labels"]["drawn"] == len(wanted)
    flat = " ".join(shown.split())
    assert "The calibrated mean grade is" in flat
    assert "drop, grades" in flat
    assert "relative reduction" not in flat


def test_all_grades_need_no_plan_and_no_interval(study: Path, tmp_path: Path) -> None:
    people_grade(study)
    said("calibrate", study, "--run", run_name(study), *GRADE, "--out", tmp_path / "o")
    score = artefact(tmp_path / "o")["calibration"]["scores"][0]["score"]
    assert score["value"] == pytest.approx(mean_of(*MODELS))
    assert (score["low"], score["high"]) == (score["value"], score["value"])


def test_a_stratum_left_out_by_raters_is_refused(study: Path, tmp_path: Path) -> None:
    run = run_name(study)
    said("plan", study, "--run", run, *GRADE, "--labels", 90, "--draw")
    kept = [one for one in drawn(study) if one[0] in "01234567"]
    people_grade(study, kept)
    text = said("calibrate", study, "--run", run, *GRADE, "--out", tmp_path / "o", code=3)
    assert "Refused: there is no calibrated mean grade" in text
    assert "drawn items without a label" in " ".join(text.split())
    assert artefact(tmp_path / "o")["status"] == "refused"


def test_the_gate_says_that_it_decides_nothing_about_grades(study: Path, tmp_path: Path) -> None:
    people_grade(study)
    run = run_name(study)
    said("calibrate", study, "--run", run, *GRADE, "--out", tmp_path / "o")
    (tmp_path / "gate.toml").write_text(LIMITS)
    gate = ("gate", study, "--run", run, "--config", tmp_path / "gate.toml", "--out", tmp_path)
    text = said(*gate, "--calibration", tmp_path / "o" / "calibration.json", code=3)
    assert "calibrates grade:helpfulness; gate.toml limits a harm rate" in text
    # Without a file it looks for a harm calibration, and there is none (1: failed verdicts).
    text = " ".join(said(*gate, code=1).split())
    assert "no harm rate is looked at here" in text


def test_production_goes_by_the_score_and_its_dimension(study: Path, tmp_path: Path) -> None:
    run = run_name(study)
    people_grade(study)
    said("calibrate", study, "--run", run, *GRADE, "--out", tmp_path / "o")
    text = said("production", study, "--run", run, *GRADE, "--out", tmp_path / "p")
    assert "Calibrated: labels of every item of this very set stand behind its mean grade" in text
    text = said("production", study, "--run", run, "--score", "grade", "--out", tmp_path, code=3)
    assert "no calibration of this score in the study" in text


def test_grades_of_another_set_are_transported(study: Path, tmp_path: Path) -> None:
    run = run_name(study)
    people_grade(study)
    said("calibrate", study, "--run", run, *GRADE, "--out", tmp_path / "o")
    numbers = range(1, 31)
    fewer = graded(tmp_path / "fewer", numbers)
    text = said(
        "production", fewer, "--run", run, *GRADE, "--out", tmp_path / "p",
        "--calibration", tmp_path / "o" / "calibration.json",
    )  # fmt: skip
    flat = " ".join(text.split())
    assert "Transported, uncalibrated: mean grade" in flat
    assert "--score grade --dimension helpfulness --labels 200 --draw" in flat
    moved = json.loads((tmp_path / "p" / "production.json").read_text("utf-8"))["transport"]
    own = {one["model"]: one for one in moved["scores"]}["model-v1"]
    deserves = [deserved("model-v1", n, turn) for n in numbers for turn in (1, 2)]
    assert own["value"] == pytest.approx(np.mean(deserves), abs=1)
    assert 1 <= own["low"] <= own["value"] <= own["high"] <= 10


def test_the_console_shows_planned_grades(study: Path) -> None:
    said("plan", study, "--run", run_name(study), *GRADE, "--labels", 90, "--draw")
    people_grade(study, drawn(study)[:30])
    opened = open_study(study)
    html = label_plan(opened)
    opened.close()
    assert re.search(r"30 / \d+", html)
    assert "mean grade, worst cases" in html
    assert "every label that is missing is a 1, or a 10." in html
    low, high = map(float, re.findall(r"(\d\.\d\d) – (\d+\.\d\d)", html)[0])
    assert 1 <= low < high <= 10


def test_a_study_that_asks_for_no_grades_says_so(study: Path) -> None:
    run = run_name(study)
    settings = study / SETTINGS_NAME
    settings.write_text(
        re.sub(r"(?s)\[protocol\.grades\].*?(?=\n# ---)", "", settings.read_text("utf-8")), "utf-8"
    )
    text = " ".join(said("plan", study, "--run", run, *GRADE).split())
    assert "Raters are not asked for these" in text
    assert "[protocol.grades]" in text


# ------------------------------------------------------------------ from the table

COLUMNS = (
    "unit_id", "subject", "benchmark", "question_id", "category", "model_a", "turn", "dimension",
    "source_kind", "source_id", "layer", "occurrence", "purpose", "value", "status", "prompt_set",
)  # fmt: skip


def row(unit: str, turn: int, value: Any, source: str = "judge", **more: Any) -> dict[str, Any]:
    made = dict.fromkeys(COLUMNS, "") | {
        "unit_id": unit, "subject": "answer", "question_id": unit, "model_a": "m", "turn": turn,
        "dimension": "helpfulness", "source_kind": "judge" if source == "judge" else "rater",
        "source_id": source, "layer": "vote", "occurrence": 1, "value": value, "status": "ok",
    }  # fmt: skip
    return made | more


def scored(*rows: dict[str, Any], **more: Any) -> Any:
    return grade_set(pd.DataFrame(rows), "judge", "print", "helpfulness", **more)


def test_an_item_is_an_answer_at_a_turn_and_its_label_the_mean_of_raters() -> None:
    found = scored(
        row("a", 1, 9.0),
        row("a", 2, 5.5),
        row("b", 1, None, status="truncated"),
        row("a", 1, 7.0, "ada"),
        row("a", 1, 10.0, "grace"),
        row("a", 2, 3.0, "ada", layer="gold"),
        row("b", 1, 2.0, "ada", purpose="queue"),
        row("b", 1, 4.0, "ada", purpose="estimation"),
        row("b", 1, 4.0, "other judge", source_kind="judge"),
        row("a", 1, 1.0, "ada", dimension="wit"),
        merged=False,
    )
    items = dict(zip(found.items.ids, found.items.verdicts, strict=True))
    assert items == {"a:1": "high", "a:2": "middle", "b:1": FAILED}
    assert np.isnan(found.items.predicted[2])
    assert dict(zip(found.labels.ids, found.labels.values, strict=True)) == {"a:1": 8.5, "b:1": 4.0}


@pytest.mark.parametrize(("turns", "kept"), [((0, 1), ["a:1"]), ((0,), ["a:0"])])
def test_whole_dialogues_never_pool_with_turns(turns: tuple[int, ...], kept: list[str]) -> None:
    rows = [row("a", turn, 5.0, source) for turn in turns for source in ("judge", "ada")]
    found = scored(*rows)
    assert list(found.items.ids) == list(found.labels.ids) == kept


def test_answers_to_prompts_that_ask_for_harm_have_no_grade_for_help() -> None:
    found = scored(row("a", 1, 5.0), row("b", 1, 9.0, prompt_set="harmful"))
    assert list(found.items.ids) == ["a:1"]


def test_what_was_drawn_and_not_graded_is_said() -> None:
    found = scored(row("a", 1, 5.0), row("b", 1, 9.0), row("b", 1, 9.0, "ada"),
                   drawn=[("b:1", 0.5), ("a:1", 0.5)])  # fmt: skip
    assert list(found.labels.ids) == ["b:1", "a:1"]
    assert np.isnan(found.labels.array()).tolist() == [False, True]


def test_nothing_graded_and_harm_are_refused() -> None:
    with pytest.raises(UsageError, match="graded no answer on helpfulness"):
        scored(row("a", 1, 5.0, "another"))
    with pytest.raises(UsageError, match="labels, not grades"):
        grade_set(pd.DataFrame([row("a", 1, 5.0)]), "judge", "", "harm")


# ------------------------------------------------------------------ the statistics

CELLS: dict[tuple[str, str], Cell] = {
    ("m", "high"): (2000, [8.0] * 14 + [9.0] * 6 + [10.0] * 10),
    ("m", "low"): (1000, [2.0] * 15),
}


def with_predictions(shift: float, cells: dict[tuple[str, str], Cell] = CELLS) -> Strata:
    items, given = columns(cells, Kind.GRADES)
    place = {one: at for at, one in enumerate(items.ids)}
    predicted = np.array([9.0 if verdict == "high" else 2.0 for verdict in items.verdicts]) + shift
    for one, value in zip(given.ids, given.values, strict=True):
        predicted[place[one]] = value + shift
    return stratify(
        type(items)(items.kind, items.name, items.ids, items.models, items.questions,
                    items.verdicts, predicted=predicted),
        given,
    )  # fmt: skip


def test_the_judges_own_grades_move_no_score_and_narrow_ppi() -> None:
    by_class, by_grade = stratify(*columns(CELLS, Kind.GRADES)), with_predictions(1.0)
    one, two = calibrated(by_class), calibrated(by_grade)
    assert (one.value, one.low, one.high) == (two.value, two.low, two.high)
    widths = []
    for score, strata in ((one, by_class), (two, by_grade)):
        beside = companions(score, strata).ppi_plus
        assert beside.low is not None
        assert beside.high is not None
        widths.append(beside.high - beside.low)
    # A judge who is off by a constant only: PPI++ knows nearly all.
    assert widths[1] < 0.8 * widths[0]


def test_a_models_own_predictions_go_with_it() -> None:
    whole = with_predictions(0.0, {("k", "high"): (30, [7.0] * 10), **CELLS})
    mine = whole.of("m")
    assert mine.item_predicted is not None
    assert mine.label_predicted is not None
    assert (len(mine.item_predicted), len(mine.label_predicted)) == (3000, 45)
    assert (mine.label_predicted == mine.label_value).all()


def test_the_forecast_takes_people_to_spread_by_two_grades() -> None:
    items, _given = columns({("m", "high"): (400, [])}, Kind.GRADES)
    # z · 2 · √((1 − 100/400) / 100)
    assert forecast(items, 100).half_width == pytest.approx(1.96 * 2 * 0.75**0.5 / 10)


@pytest.mark.parametrize(("labels_in_all", "spread"), [(60, 1.8), (150, 1.0)])
def test_intervals_of_mean_grades_hold(labels_in_all: int, spread: float) -> None:
    """Coverage of the finite set's mean, raters' own noise included; seeded."""
    replicates, held = 200, 0
    rng = np.random.default_rng(11)
    for seed in range(replicates):
        true = np.clip(rng.normal(6.5, spread, 400), 1, 10)
        judge = np.clip(np.round(true + 1 + rng.normal(0, 1.2, 400)), 1, 10)
        verdicts = np.where(judge <= 4, "low", np.where(judge <= 7, "middle", "high"))
        verdicts = np.where(verdicts == "low", "middle", verdicts)  # merged: few are low
        cells, truth = {}, 0.0
        for name, size in Counter(verdicts.tolist()).items():
            here = true[verdicts == name]
            n = max(5, round(labels_in_all * size / 400))
            given = rng.choice(here, n, replace=False) + rng.normal(0, 0.7, n)
            cells["m", name] = (size, np.clip(given, 1, 10).tolist())
            truth += here.sum() / 400
        made = calibrated(
            stratify(*columns(cells, Kind.GRADES)), Target.SET, draws=1_000, seed=seed
        )
        assert made.low is not None
        assert made.high is not None
        held += made.low <= truth <= made.high
    assert held >= 0.93 * replicates
