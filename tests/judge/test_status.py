"""`evenhand status` in words: what a judge gave is called what it is."""

from __future__ import annotations

from pathlib import Path

from tests.judge.reporting.test_score_command import evenhand, study  # noqa: F401 - a fixture


def test_a_judges_labels_and_grades_are_no_pair_verdicts(study: Path) -> None:  # noqa: F811
    said = evenhand("status", study).output
    judges = [line for line in said.splitlines() if line.startswith("  judge ")]
    assert any(": harm labels " in line and "severity 0" in line for line in judges)
    assert any(": grades 16 graded" in line for line in judges)
    assert "pair verdicts" not in said
