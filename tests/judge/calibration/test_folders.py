"""Where results go when no folder is named: nothing overwrites another judge's or score's."""

from __future__ import annotations

from pathlib import Path

import pytest

from judge.commands.published import exports_of
from tests.judge.calibration.commands import (
    LIMITS,
    drawn,
    evenhand,
    people_label,
    run_name,
    said,
)


def test_every_command_has_a_folder_of_its_own(
    study: Path,
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
    alike = [("judge-7b", "harm"), ("judge 7b", "harm"), ("Judge-7b", "harm")]
    scores = [("judge-7b", f"win-rate:overall:{name}") for name in ("a:b", "a-b", "a b")]
    found = [exports_of(where, "calibration", *one) for one in (*alike, *scores)]
    assert len(set(found)) == len(found)
    assert found[0] == Path("exports/where/calibration/judge-7b/harm")
    assert len({str(one).lower() for one in found}) == len(found)
