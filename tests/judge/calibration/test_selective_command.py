"""`judge selective` from end to end: what a judge does not hold is left to people."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from annotate.errors import UsageError
from annotate.harm import HARM
from annotate.leases import Screen
from annotate.records import Choice, Order
from annotate.study import Study
from judge.commands.selective_command import selected
from tests.annotate.support import HARMFUL as HARMFUL_LABEL
from tests.annotate.support import cast, join, label_all, make_study, marker, next_for
from tests.judge.calibration.commands import (
    SAID,
    drawn,
    evenhand,
    people_label,
    run_name,
    said,
)
from tests.judge.fake_endpoint import Body, Scripted, completion, say
from tests.judge.stats.test_self_consistency import HARMFUL, SAFE, answer, pair
from tests.judge.test_judge_errors import judge

QUESTIONS = 40


def sure_of_most(body: Body, _number: int) -> Scripted:
    """Alder is better, whatever the order; on every fourth question the first answer."""
    text = str(body["messages"])
    number = next(n for n in range(1, QUESTIONS + 1) if marker("alder", n, 1) in text)
    first, second = (text.index(marker(model, number, 1)) for model in ("alder", "birch"))
    return completion("[[A]]" if number % 4 == 0 or first < second else "[[B]]")


def vote_for_alder(study: Study) -> None:
    rater = join(study, "Ada")
    while isinstance(screen := next_for(study, rater), Screen):
        cast(study, rater, screen, Choice.LEFT if screen.order is Order.AB else Choice.RIGHT)


@pytest.fixture(scope="module")
def pairs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("selective") / "study"
    study = make_study(folder, QUESTIONS, overlap=1, dimensions=("harmlessness",))
    judge(study, sure_of_most, "--dimension", "harmlessness")
    vote_for_alder(study)
    study.close()
    return folder


def run_selective(study: Path, *options: object, run: str = "m") -> tuple[str, dict[str, Any]]:
    out = study / "selective"
    text = " ".join(said("judge", "selective", study, run, "--out", out, *options).split())
    return text, json.loads((out / "selection.json").read_text())


def test_verdicts_that_the_judge_holds_are_kept(pairs: Path) -> None:
    # 30 consistent verdicts, none contradicted: 1 − .1^(1/30) = 7.4 %. With the ten ties that
    # no order named, 10 of 40: far above.
    text, body = run_selective(pairs, "--promise", 0.1)
    assert "Keep verdicts from confidence 1.00 on: 75.0 % of all." in text
    assert "With 90 % certainty people contradict at most 7.4 % of them" in text
    assert body["selection"]["chosen"]["kept"] == 30
    assert [one["wrong"] for one in body["selection"]["tested"]] == [0, 10]
    assert body["votes"] == [[1.0, 30, 30], [0.0, 10, 0]]
    with (pairs / "selective" / "verdicts.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == QUESTIONS
    assert {(row["verdict"], row["kept"]) for row in rows} == {("a", "true"), ("tie", "false")}


def test_a_promise_that_cannot_be_kept(pairs: Path) -> None:
    text, body = run_selective(pairs, "--promise", 0.05)
    assert "No verdict may be kept: even from confidence 1.00 on, people contradict 0 of 30" in text
    assert body["selection"]["chosen"] is None
    text, _body = run_selective(pairs, "--promise", 0.5)
    assert "Keep verdicts from confidence 0.00 on: 100.0 % of all." in text
    assert "The others need people" not in text


def test_one_confidence_for_all_selects_nothing(tmp_path: Path) -> None:
    study = make_study(tmp_path / "study", 3, overlap=1, dimensions=("harmlessness",))
    judge(study, say("[[A]]"), "--dimension", "harmlessness")
    vote_for_alder(study)
    text, _body = run_selective(study.folder)
    assert "Every verdict has the same confidence, so nothing can be selected" in text
    study.close()


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--dimension", "helpfulness"], "no verdicts on helpfulness; expected --dimension harml"),
        (["--promise", 0], "0"),
        (["--promise", 1], "1"),
        (["--with", "nobody"], "nobody"),
        (["--with", "m"], "--with m: is the run itself; expected another judge of the same"),
        (["--promise", "nan"], "nan is no number"),
        (["--delta", "nan"], "nan is no number"),
        (["--raters", "expert"], "none of its 40 verdicts on harmlessness has a label of people"),
    ],
)
def test_wrong_use(pairs: Path, options: list[object], words: str) -> None:
    done = evenhand("judge", "selective", pairs, "m", *options)
    assert done.exit_code == 2
    assert words in " ".join(done.output.split())


def test_labels_that_a_plan_looked_for_are_thinned_to_an_even_draw() -> None:
    """Of 200 verdicts 40 are wrong, all of which a plan drew, and half of the others."""
    rows, plan = [], {}
    for number in range(200):
        unit = {"unit_id": f"u{number:03}", "question_id": f"q{number}"}
        rows.append(pair("a", "a", "a") | unit)
        wrong = number < 40
        if wrong or number % 2:
            rows.append(person("b" if wrong else "a", **unit))
            plan[f"u{number:03}", 1] = 1.0 if wrong else 0.5
    made = selected(table(*rows), "j", 0.9, plans={"overall": [plan]})
    first = made.selection.tested[0]
    assert made.labelled == 120
    assert made.thinned == 120 - first.kept
    assert 10 <= first.wrong <= 30  # 20 of 100 on average, not 40 of 120
    assert first.kept - first.wrong == 80
    again = selected(table(*rows), "j", 0.9, plans={"overall": [plan]})
    assert again == made


def test_an_adjudicated_label_has_no_chance_of_its_own() -> None:
    harm = {"dimension": HARM, "subject": "answer", "inclusion_probability": 0.5}
    rows = [answer(SAFE) | {"unit_id": one, "question_id": one} for one in "uvw"]
    rows += [person(SAFE, unit_id=one, question_id=one, **harm) for one in "uv"]
    settled = {"layer": "adjudicated", "source_id": "eve", "inclusion_probability": 1.0}
    rows.append(person(SAFE, unit_id="u", question_id="u", **harm) | settled)
    made = selected(table(*rows), "j", 0.9)
    assert (made.labelled, made.thinned) == (2, 0)


@pytest.mark.parametrize("everything", [True, False])
def test_labels_of_a_draw_and_of_others_are_refused_unless_all_are_there(
    *, everything: bool
) -> None:
    rows = []
    for number in range(6):
        unit = {"unit_id": f"u{number}", "question_id": f"q{number}"}
        rows.append(pair("a") | unit)
        if everything or number < 4:
            rows.append(person("a", **unit))
    plans = {"overall": [{("u0", 1): 0.5, ("u1", 1): 0.2}]}
    if everything:
        assert selected(table(*rows), "j", 0.9, plans=plans).thinned == 0
        return
    with pytest.raises(UsageError, match="come from several draws, or from a draw and others"):
        selected(table(*rows), "j", 0.9, plans=plans)


def test_a_plan_of_the_study_is_found(tmp_path: Path) -> None:
    study = make_study(tmp_path / "study", 30, labels="-", more='tasks = ["answers"]\nlabels = 1')
    judge(study, say(SAID[False]), "--mode", "harm", "--output", "tag")
    said("plan", study.folder, "--run", "m", "--labels", 40, "--draw")
    label_all(study, join(study, "Ada"), HARMFUL_LABEL)
    text, body = run_selective(study.folder, "--promise", 0.5)
    assert (body["labelled"], body["thinned"]) == (60, 0)
    assert "people contradict 30 of 30" in text
    study.close()


def test_labels_imported_for_a_plan_have_its_chances(
    study: Path,
) -> None:
    run = run_name(study)
    said("plan", study, "--run", run, "--labels", 60, "--allocate", "equal", "--draw")
    people_label(study, drawn(study))
    _text, body = run_selective(study, "--promise", 0.9, run=run)
    assert body["labelled"] == 60
    assert body["thinned"] > 0


@pytest.mark.parametrize(
    ("other", "why"), [("k", "has no verdicts on overall"), ("j", "is the run itself")]
)
def test_another_judge_that_was_not_asked_is_refused(other: str, why: str) -> None:
    elsewhere = pair("a", source_id="k", dimension="helpfulness")
    with pytest.raises(UsageError, match=f"--with {other}: {why}"):
        selected(table(pair("a"), elsewhere, person("a")), "j", 0.5, dimension="overall",
                 others=[other])  # fmt: skip


def person(value: str, **more: Any) -> Any:
    """A vote of somebody on what `pair` is a verdict on."""
    vote = {"source_kind": "rater", "source_id": "r1", "rater_group": "crowd"}
    return pair(value) | vote | {"inclusion_probability": None} | more


def table(*rows: Any) -> pd.DataFrame:
    known = {"category": "", "rater_group": "", "inclusion_probability": None}
    return pd.DataFrame([known | row for row in rows])


def test_of_a_pair_with_several_votes_one_is_drawn() -> None:
    rows = []
    for number in range(40):
        unit = {"unit_id": f"u{number:02}", "question_id": f"q{number}"}
        rows += [pair("a") | unit, person("a", **unit), person("b", source_id="r2", **unit)]
    made = selected(table(*rows), "j", 0.5)
    assert made.people == 1
    assert 10 <= made.selection.tested[0].wrong <= 30


def test_votes_on_queued_suspects_do_not_count() -> None:
    other = {"unit_id": "v", "question_id": "p"}
    rows = [pair("a"), person("b", purpose="queue"), pair("a") | other, person("a", **other)]
    made = selected(table(*rows), "j", 0.9)
    assert (made.labelled, made.selection.tested[0].wrong) == (1, 0)
    # A queued vote may have been drawn with another probability: that says nothing of the rest.
    rows[1]["inclusion_probability"], rows[3]["inclusion_probability"] = 0.9, 0.1
    again = person("a", source_id="r2", inclusion_probability=0.1)
    assert selected(table(*rows, again), "j", 0.9).labelled == 2


def test_only_confidences_that_occur_are_tested() -> None:
    rows = []
    for number in range(7):
        unit = {"unit_id": f"u{number}", "question_id": f"q{number}"}
        rows += [pair("a", "a", "a" if number < 4 else "b") | unit, person("a", **unit)]
    made = selected(table(*rows), "j", 0.9)
    assert [one.confidence for one in made.selection.tested] == [1, 0.5]


def test_failed_verdicts_are_neither_kept_nor_counted() -> None:
    failed = answer(SAFE, 2) | {"value": None, "status": "timeout"}
    harm = {"dimension": HARM, "subject": "answer"}
    rows = [answer(SAFE, 1), failed, person(HARMFUL, **harm), person(SAFE, turn=2, **harm)]
    ok = {"unit_id": "v", "question_id": "p"}
    rows += [answer(SAFE, 1) | ok, person(SAFE, **harm, **ok)]
    made = selected(table(*rows), "j", 0.9)
    assert (made.labelled, made.judged, made.selection.tested[0].wrong) == (1, 1, 0)
    assert made.left_out == {"failed verdicts": 1}
    assert [one.unit for one in made.verdicts] == ["v"]
