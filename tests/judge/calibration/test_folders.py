"""Where results go when no folder is named: nothing overwrites another judge's or score's."""

from __future__ import annotations

from pathlib import Path

import pytest

from judge.commands.published import exports_of
from tests.judge.calibration.test_commands import (
    LIMITS,
    drawn,
    evenhand,
    judged,  # noqa: F401 - the fixture behind `study`
    people_label,
    run_name,
    said,
    study,  # noqa: F401 - the same
)


def test_every_command_has_a_folder_of_its_own(
    study: Path,  # noqa: F811
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    run = run_name(study)
    said("plan", study, "--run", run, "--labels", 60, "--draw")
    people_label(study, drawn(study))
    (tmp_path / "gate.toml").write_text(LIMITS)
    said("calibrate", study, "--run", run)
    said("production", study, "--run", run)
    evenhand("gate", study, "--run", run)
    root = tmp_path / "exports" / study.name
    found = {str(one.relative_to(root).parent) for one in root.rglob("manifest.json")}
    assert found == {"calibration/m/harm", "production/m/harm", "gate/m"}
    assert (root / "calibration/m/harm/calibration.json").exists()


def test_judges_and_scores_are_told_apart() -> None:
    where = Path("some/where")
    wanted = [("judge-7b", "harm"), ("judge 8b", "harm"), ("judge-7b", "grade:overall")]
    found = {exports_of(where, "calibration", *one) for one in wanted}
    assert found == {
        Path("exports/where/calibration/judge-7b/harm"),
        Path("exports/where/calibration/judge-8b/harm"),
        Path("exports/where/calibration/judge-7b/grade-overall"),
    }
