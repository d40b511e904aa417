"""Plans where prompts are marked: each set its own strata, benign ones a draw of their own."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from annotate import planned
from annotate.records import PromptSet
from annotate.study import Study, open_study
from judge.calibration.evidence import Refusing
from judge.calibration.harm_criteria import refusals
from judge.commands.benign_refusals import benign_refusals
from judge.console.label_plan import label_plan
from judge.database.answer_places import answer_places
from judge.database.calibrations import Calibrations, LabelPlan, harm_draws
from judge.database.table import tidy
from judge.stats.answer_labels import PEOPLE, harm_sources
from judge.stats.drawn import Drawn
from tests.annotate.support import join, label_all
from tests.judge.calibration.commands import (
    MODELS,
    artefact,
    drawn,
    erring,
    harmful,
    people_label,
    run_name,
    said,
)
from tests.judge.calibration.test_gate import GOOD, LIMITS, figure, refusing
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
    text = said("calibrate", study, "--run", run_name(study), "--out", tmp_path / "o")
    rests_on = text.partition("What the score rests on")[2].splitlines()
    assert ["model-v1", "safe", "borderline"] in [line.split()[:3] for line in rests_on]
    rows = artefact(tmp_path / "o")["calibration"]["strata"]
    assert {row["prompt_set"] for row in rows} == {"harmful", "borderline"}
    assert all(row["labelled"] >= min(row["size"], 5) for row in rows)


BENIGN_DRAW = ("--prompts", "benign", "--labels", 40, "--draw")


def plan(folder: Path, *options: object, code: int = 0) -> str:
    return " ".join(said("plan", folder, "--run", run_name(folder), *options, code=code).split())


def kept(opened: Study) -> LabelPlan:
    return Calibrations(opened.store).plans()[-1]


def asked_for_labels(folder: Path, tasks: str = '["answers"]', answers: str = "planned") -> None:
    """Raters label answers too."""
    path = folder / "study.toml"
    form = '[protocol.harm_labels]\nturns = "whole"\n'
    more = f'[assignment]\ntasks = {tasks}\nanswers = "{answers}"\n'
    path.write_text(path.read_text("utf-8").replace("[assignment]\n", form + more, 1))


def test_benign_answers_are_drawn_and_reach_raters_with_their_chance(study: Path) -> None:
    asked_for_labels(study)
    text = plan(study, *BENIGN_DRAW)
    assert "40 labels on 20 of 30 benign questions: drawn at random" in text
    assert "all answers to them, each with a chance of 0.667" in text
    # 0 of 20 allows 1 - .025^(1/20).
    assert "Of a model with none the interval ends at 16.8 %" in text
    assert "the items are in the raters' queue." in text
    opened = open_study(study)
    try:
        one = kept(opened)
        queued = planned.fill(opened.store, one.id)
        assert [(q.unit, q.inclusion_probability) for q in queued] == one.items
        seen = label_all(opened, join(opened, "Ada"))
        assert [(s.answer, s.inclusion_probability) for s in seen] == one.items
        rows = opened.store.conn.execute(
            "SELECT DISTINCT q.prompt_set FROM vote v JOIN answer a ON a.id = v.answer"
            " JOIN question q ON q.id = a.question"
        ).fetchall()
        assert rows == [("benign",)]
        found = benign_refusals(opened, 0.95)
        assert {m: (b.rate.n, b.rate.value, b.unknown) for m, b in found.items()} == {
            m: (20, 1.0, 0) for m in MODELS
        }
    finally:
        opened.close()


def test_benign_labels_enter_full_refusals_and_no_harm_rate(study: Path, tmp_path: Path) -> None:
    plan(study, "--labels", 60, "--draw")
    people_label(study, drawn(study))
    said("calibrate", study, "--run", run_name(study), "--out", tmp_path / "before")
    plan(study, *BENIGN_DRAW)
    opened = open_study(study)
    assert label_plan(opened).count("60 / 60") == 1
    opened.close()
    people_label(study, drawn(study))
    said("calibrate", study, "--run", run_name(study), "--out", tmp_path / "after")
    before, after = (artefact(tmp_path / one) for one in ("before", "after"))
    assert after["draw"]["plan"] == before["draw"]["plan"]
    assert after["calibration"]["scores"] == before["calibration"]["scores"]
    assert before["full_refusals"] == {}
    assert {model: one["rate"]["n"] for model, one in after["full_refusals"].items()} == {
        model: 20 for model in MODELS
    }


def test_benign_answers_that_were_drawn_and_not_labelled_are_unknown(study: Path) -> None:
    plan(study, *BENIGN_DRAW)
    one = sorted(drawn(study))
    people_label(study, set(one[:30]))
    opened = open_study(study)
    found = benign_refusals(opened, 0.95)
    opened.close()
    assert sum(model.unknown for model in found.values()) == 10
    assert sum(model.rate.n for model in found.values()) == 30
    assert any((model.most or 0) > (model.least or 0) for model in found.values())


@pytest.mark.parametrize(("more", "said_of"), [(0, Drawn.EVENLY), (3, Drawn.UNKNOWN)])
def test_benign_labels_that_no_plan_drew_beside_drawn_ones_have_no_known_chance(
    study: Path, more: int, said_of: Drawn
) -> None:
    plan(study, *BENIGN_DRAW)
    opened = open_study(study)
    places = answer_places(opened.store)
    benign = {one for one, place in places.items() if place.prompts is PromptSet.BENIGN}
    people_label(study, drawn(study) | set(sorted(benign - drawn(study))[:more]))
    (found,) = [
        one
        for one in harm_sources(tidy(opened.store), places, harm_draws(opened.store))
        if one.name == PEOPLE
    ]
    opened.close()
    assert found.drawn is said_of


def test_a_plan_is_calibrated_with_its_own_score_only(study: Path, tmp_path: Path) -> None:
    plan(study, *BENIGN_DRAW)
    opened = open_study(study)
    name = kept(opened).id[:8]
    opened.close()
    options = ("--run", run_name(study), "--plan", name, "--out", tmp_path / "o")
    text = " ".join(said("calibrate", study, *options, code=2).split())
    assert f"--plan {name}: drawn for another score, full refusals of benign prompts" in text
    assert "expected a plan for the score asked for, --score harm" in text


NO_REFUSALS: list[dict[str, Any]] = [
    {"full_refusals": ()},
    refusing(0.04, 0.01, 0.051),
    {"full_refusals": (Refusing("model-v1", figure(None)),)},
]


@pytest.mark.parametrize("known", NO_REFUSALS)
def test_the_gate_names_the_command_that_draws_benign_answers(known: dict[str, Any]) -> None:
    (found,) = refusals(replace(GOOD, **known), LIMITS)
    assert "evenhand plan STUDY --run RUN --prompts benign --draw" in found.todo


REFUSED = [
    (("--prompts", "benign", "--use", "tune"), "--prompts benign with --score harm --use tune"),
    (("--prompts", "benign", "--score", "grade"), "--prompts benign with --score grade"),
    (("--prompts", "benign", "--allocate", "equal"), "--allocate equal with --prompts benign"),
    (("--use", "test", "--allocate", "active"), "--allocate active with --use test: such a sample"),
    (("--use", "tune", "--allocate", "neyman"), "leave --allocate out"),
]


@pytest.mark.parametrize(("options", "words"), REFUSED)
def test_whole_questions_have_no_allocation_and_benign_ones_no_other_use(
    study: Path, options: tuple[str, ...], words: str
) -> None:
    assert words in plan(study, *options, "--draw", code=2)


def test_without_benign_prompts_it_says_what_to_import(study: Path) -> None:
    opened = open_study(study)
    with opened.store.write() as conn:
        conn.execute("UPDATE question SET prompt_set = '' WHERE prompt_set = 'benign'")
    opened.close()
    text = plan(study, *BENIGN_DRAW, code=2)
    assert "no question of the study is marked benign and answered by model-v1, model-v2" in text


@pytest.mark.parametrize("use", ["tune", "test"])
def test_samples_to_tune_and_test_with_are_whole_questions(study: Path, use: str) -> None:
    text = plan(study, "--use", use, "--labels", 30, "--draw")
    assert "30 labels on 15 of 54 questions: drawn at random whatever the verdicts" in text
    assert f"To {use} with; 78 items are left to be scored, a random part of the set." in text
    opened = open_study(study)
    one = kept(opened)
    opened.close()
    assert {chance for _item, chance in one.items} == {15 / 54}
    assert len(one.items) == 30
    text = plan(study, "--labels", 40)
    assert "30 items are left out, of the draw and of the score" in text
    assert "They were drawn at random: the score is of a random part." in text


def test_what_was_taken_by_verdict_before_leaves_no_random_part_and_it_says_so(
    study: Path,
) -> None:
    plan(study, "--labels", 40, "--allocate", "equal", "--draw")
    text = plan(study, "--use", "tune", "--labels", 20, "--draw")
    assert "they are no random part of the set: some questions were taken before by verdict" in text
    text = plan(study, "--labels", 20, "--draw", "--seed", 8)
    assert "Some were chosen by verdict: what is left may be easier or harder" in text


def test_a_test_sample_drawn_after_one_to_tune_with_leaves_a_random_part(study: Path) -> None:
    plan(study, "--use", "tune", "--labels", 20, "--draw")
    text = plan(study, "--use", "test", "--labels", 20, "--draw")
    assert "68 items are left to be scored, a random part of the set." in text
    assert "10 questions are left out: their labels have another use." in text


def test_nothing_left_says_what_to_do(study: Path) -> None:
    text = plan(study, "--use", "tune", "--labels", 500, "--draw")
    assert "0 items are left to be scored: nothing could be calibrated. Ask for fewer." in text
    text = plan(study, "--labels", 40, code=2)
    assert "all 54 questions have labels for another use (tune or test) already" in text
    assert "import more questions and answers, judge them, and plan again" in text


SERVED = [
    ('["answers"]', "the items are in the raters' queue.", ""),
    ('["answers", "pairs"]', "the items are in the raters' queue.", ""),
    ('["pairs", "answers"]', "queue, behind other work.", 'say tasks = ["answers", "pairs"]'),
    ('["pairs"]', "Drawn as plan", "Raters are given no answers: in study.toml"),
]


@pytest.mark.parametrize(("tasks", "where", "warned"), SERVED)
@pytest.mark.parametrize("options", [(), ("--allocate", "active"), ("--use", "tune")])
def test_a_plan_says_when_raters_get_what_it_drew(
    study: Path, tasks: str, where: str, warned: str, options: tuple[str, ...]
) -> None:
    asked_for_labels(study, tasks)
    text = plan(study, "--labels", 60, "--draw", *options)
    assert where in text
    assert warned in text
    assert ("Before you" in text and "[assignment], say tasks" in text) == bool(warned)
    opened = open_study(study)
    first = label_or_pair(opened)
    opened.close()
    assert first == ("pairs" if tasks.startswith('["pairs"') else "answers")


def label_or_pair(opened: Study) -> str:
    """What a new rater sees first."""
    from annotate import tasks
    from annotate.leases import Screen

    tasks.prepare(opened.store, opened.settings)
    found = tasks.next_task(opened.store, join(opened, "Ada"), opened.settings)
    return "pairs" if isinstance(found, Screen) else "answers"
