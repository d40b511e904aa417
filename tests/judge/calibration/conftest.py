"""The study on which calibration's commands are tried."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests.judge.calibration.commands import harm_study


@pytest.fixture(scope="module")
def judged(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """60 questions and two models, judged for harm; nobody labelled. Not to be changed."""
    return harm_study(tmp_path_factory.mktemp("calibration"))


@pytest.fixture
def study(judged: Path, tmp_path: Path) -> Path:
    """A copy of it."""
    shutil.copytree(judged, tmp_path / "study")
    return tmp_path / "study"
