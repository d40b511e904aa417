"""Active labels of a mean grade: an answer at a turn is drawn by itself."""

from __future__ import annotations

from pathlib import Path

from annotate.study import open_study
from judge.database.calibrations import Calibrations
from tests.judge.calibration.commands import artefact, said
from tests.judge.calibration.test_grades import (
    GRADE,
    MODELS,
    drawn,
    judged,  # noqa: F401 - the fixture behind `study`
    mean_of,
    people_grade,
    run_name,
    study,  # noqa: F401 - the same
)


def test_a_mean_grade_from_active_labels(study: Path, tmp_path: Path) -> None:  # noqa: F811
    asked = ("--run", run_name(study), *GRADE)
    text = said("plan", study, *asked, "--labels", 100, "--allocate", "active", "--draw")
    assert "grades, if the labels' spread is as assumed" in " ".join(text.split())
    opened = open_study(study)
    queued = opened.store.conn.execute(
        "SELECT answer || ':' || (turns ->> 0), inclusion_probability FROM label_item"
        " ORDER BY serving"
    ).fetchall()
    plan = Calibrations(opened.store).plans()[-1]
    opened.close()
    assert queued == plan.items
    people_grade(study, drawn(study))
    said("calibrate", study, *asked, "--baseline", MODELS[0], "--out", tmp_path / "o")
    made = artefact(tmp_path / "o")["calibration"]
    for one in made["scores"]:
        models = [one["model"]] if one["model"] else MODELS
        assert one["score"]["name"] == "calibrated_mean_grade"
        assert one["score"]["low"] <= mean_of(*models) <= one["score"]["high"]
    assert made["active"]["labelled"] == len(plan.items)
    assert made["estimator"].startswith("active labels")
    assert 1 < made["changes"][0][2]["before"]["value"] < 10
