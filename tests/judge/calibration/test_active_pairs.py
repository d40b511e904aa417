"""Active labels of pairs, and at the gate: a win rate, what puts verdicts in doubt, an oracle."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from annotate import planned
from annotate.study import open_study
from judge.calibration.columns import Kind
from judge.calibration.doubted import (
    AT_THE_CUT,
    OTHER_JUDGE,
    REPEATED,
    doubt_words,
    doubted,
)
from judge.database.calibrations import Calibrations
from tests.judge.calibration.commands import artefact, said
from tests.judge.calibration.test_gate_studies import (
    MODELS,
    copied,
    made,
    people,
    runs,
    study,  # noqa: F401 - the fixture
    votes,
)

WIN = ("--score", "win-rate", "--dimension", "helpfulness", "--target", MODELS[0])


def test_a_win_rate_from_active_labels(study: Path, tmp_path: Path) -> None:  # noqa: F811
    folder = shutil.copytree(study, tmp_path / "study")
    asked = ("--run", runs(folder)["pairwise"], *WIN, "--reference", MODELS[1])
    said("plan", folder, *asked, "--labels", 70, "--allocate", "active", "--draw")
    opened = open_study(folder)
    try:
        plan = Calibrations(opened.store).plans()[-1]
        queued = planned.fill(opened.store, plan.id)
        drawn = [(f"{one.unit}:{one.turn}", one.inclusion_probability) for one in queued]
        assert drawn == plan.items
        assert {one.turn for one in queued} == {1}
    finally:
        opened.close()
    text = " ".join(said("calibrate", folder, *asked, "--out", tmp_path / "o").split())
    made = artefact(tmp_path / "o")["calibration"]
    score = made["scores"][0]["score"]
    assert (score["name"], made["kind"]) == ("calibrated_win_rate", "pairs")
    # Every other question is won; of two more one of three raters says so.
    assert score["low"] <= (65 + 2 / 3) / 130 <= score["high"]
    assert made["active"]["labelled"] == len(plan.items)
    assert {row["verdict"] for row in made["strata"]} == {"win", "lose"}
    assert made["scores"][0]["companions"]["people"]["method"].startswith("Student's t")
    assert "Active labels: probabilities from" in text


def test_models_named_the_other_way_round_are_another_score(tmp_path: Path) -> None:
    folder = made(tmp_path, (one for one in votes() if one["question_id"] <= 120))
    run = ("--run", runs(folder)["pairwise"])
    drawn_for = (*run, *WIN, "--reference", MODELS[1])
    said("plan", folder, *drawn_for, "--labels", 70, "--allocate", "active", "--draw")
    swapped = [*run, *WIN[:4], "--target", MODELS[1], "--reference", MODELS[0]]
    out = ("--out", tmp_path / "o")
    words = f"--score win-rate --dimension helpfulness --target {MODELS[0]} --reference {MODELS[1]}"
    text = " ".join(said("calibrate", folder, *swapped, *out, code=3).split())
    assert f"calibrate what it was drawn for ({words}), or draw for this score" in text
    assert "without --labels-are-random" not in text
    opened = open_study(folder)
    plan = Calibrations(opened.store).plans()[-1].id[:8]
    opened.close()
    text = " ".join(said("calibrate", folder, *swapped, "--plan", plan, *out, code=2).split())
    assert f"--plan {plan}: drawn for another score, {words}; expected a plan for" in text
    assert "has changed since" not in text


@pytest.mark.parametrize(("labels", "code"), [(80, 0), (58, 2)])
def test_the_gate_passes_on_active_labels_if_they_are_enough(
    study: Path,  # noqa: F811
    tmp_path: Path,
    labels: int,
    code: int,
) -> None:
    """A judge without error: no label surprises, and what may be unseen stays below the limit."""
    folder, names = copied(study, tmp_path), runs(study)
    people(folder)
    harm = ("--run", names["harm"])
    said("plan", folder, *harm, "--labels", labels, "--allocate", "active", "--draw")
    said("calibrate", folder, *harm, "--out", tmp_path / "c")
    score = artefact(tmp_path / "c")["calibration"]["scores"][0]["score"]
    assert score["low"] <= 4 / 120 <= score["high"] < 0.1
    assert "every label of a class is as predicted" in score["method"]
    options = ("--run", names["pairwise"], "--config", tmp_path / "gate.toml")
    text = " ".join(said("gate", folder, *options, "--out", tmp_path / "g", code=code).split())
    if code:
        assert "Inconclusive: harm that the judge misses would show" in text
    else:
        assert "drawn one by one, every item with its own probability" in text


def verdict(unit: str, source: str, value: str, occurrence: int = 1, **more: Any) -> dict[str, Any]:
    return {
        "subject": "pair",
        "dimension": "overall",
        "source_kind": "judge",
        "status": "ok",
        "unit_id": unit,
        "turn": 1,
        "source_id": source,
        "value": value,
        "occurrence": occurrence,
        **more,
    }


def test_doubts_of_pairs() -> None:
    rows = [
        verdict("steady", "mine", "a"),
        verdict("steady", "mine", "a", 2),
        verdict("steady", "other", "a"),
        verdict("repeated", "mine", "a"),
        verdict("repeated", "mine", "b", 2),
        verdict("contradicted", "mine", "a"),
        verdict("contradicted", "other", "b"),
        verdict("elsewhere", "mine", "a"),
        verdict("elsewhere", "other", "b", dimension="harmlessness"),
        verdict("elsewhere", "ada", "b", source_kind="rater"),
        verdict("elsewhere", "other", "b", turn=2),
        verdict("failed", "mine", "", status="unparseable"),
        verdict("failed", "other", "b"),
    ]
    found = doubted(pd.DataFrame(rows), "mine", Kind.PAIRS, "overall")
    assert found == {"repeated:1": REPEATED, "contradicted:1": OTHER_JUDGE}
    assert doubt_words(found, ["repeated:1", "x"]) == f"1 {REPEATED}"
    assert doubt_words(found, ["x"]) == ""


GRADED: dict[str, Any] = {"subject": "answer", "dimension": "helpfulness"}


def test_doubts_of_grades() -> None:
    rows = [
        verdict("x", "mine", "9", **GRADED),
        verdict("x", "other", "8.5", **GRADED),
        verdict("y", "mine", "9", **GRADED),
        verdict("y", "other", "7", **GRADED),
        verdict("y", "mine", "9", **GRADED | {"subject": "pair"}),
        verdict("z", "mine", "4", **GRADED),
        verdict("z", "mine", "5", 2, **GRADED),
    ]
    found = doubted(pd.DataFrame(rows), "mine", Kind.GRADES, "helpfulness")
    assert found == {"y:1": OTHER_JUDGE, "z:1": REPEATED}


HARM: dict[str, Any] = {"subject": "answer", "dimension": "harm"}


def label(severity: int) -> str:
    kind = "full_compliance" if severity else "full_refusal"
    found = f'{{"response_type": "{kind}", "severity": {severity}, "categories": []'
    return found + (', "specificity": 3, "convincingness": 3}' if severity else "}")


@pytest.mark.parametrize(
    ("severity", "other", "reason"),
    [
        (0, 0, None),
        (0, 1, None),
        (1, 0, AT_THE_CUT),
        (2, 3, AT_THE_CUT),
        (3, 2, None),
        (3, 1, OTHER_JUDGE),
        (0, 2, OTHER_JUDGE),
        (1, 2, AT_THE_CUT),
    ],
)
def test_doubts_of_answers(severity: int, other: int, reason: str | None) -> None:
    rows = [
        verdict("x", "mine", label(severity), **HARM),
        verdict("x", "other", label(other), **HARM),
        verdict("y", "mine", label(3), **HARM),
    ]
    found = doubted(pd.DataFrame(rows), "mine", Kind.HARM, "overall")
    assert found == ({"x": reason} if reason else {})


def test_a_pair_of_models_turned_over_does_not_make_a_draw_random(
    study: Path,  # noqa: F811
    tmp_path: Path,
) -> None:
    folder = shutil.copytree(study, tmp_path / "study")
    run = ("--run", runs(folder)["pairwise"], *WIN[:4])
    said("plan", folder, *run, "--target", MODELS[0], "--reference", MODELS[1], "--draw")
    turned = (*run, "--target", MODELS[1], "--reference", MODELS[0], "--labels-are-random")
    text = said("calibrate", folder, *turned, "--out", tmp_path / "o", code=3)
    assert "--labels-are-random, but plan" in " ".join(text.split())
