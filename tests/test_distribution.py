"""What is shipped: two packages and the sample, nobody else's import names, nobody's votes."""

from __future__ import annotations

import subprocess
import sys
import tomllib
import zipfile
from importlib import metadata
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))


def test_no_other_distribution_owns_our_import_names() -> None:
    owners = metadata.packages_distributions()
    for name in ("annotate", "judge"):
        assert set(owners.get(name, ["evenhand"])) == {"evenhand"}


def test_it_cannot_be_uploaded_by_mistake() -> None:
    assert "Private :: Do Not Upload" in PROJECT["project"]["classifiers"]
    classifiers = metadata.metadata("evenhand").get_all("Classifier") or []
    assert "Private :: Do Not Upload" in classifiers


def test_a_source_distribution_names_what_it_takes() -> None:
    """A study in the working tree holds people's votes."""
    taken = PROJECT["tool"]["hatch"]["build"]["targets"]["sdist"]["only-include"]
    assert "data" not in taken
    assert "exports" not in taken
    assert not {name for name in taken if name.endswith(".sqlite") or name in (".", "/", "*")}


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """Every name in the built wheel; a study lies in the tree, as it might."""
    backend = pytest.importorskip("hatchling.build", reason="hatchling is missing: NOT checked")
    assert backend
    folder = tmp_path_factory.mktemp("wheel")
    code = f"from hatchling.build import build_wheel; print(build_wheel({str(folder)!r}))"
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True
    )
    with zipfile.ZipFile(folder / done.stdout.strip().splitlines()[-1]) as archive:
        return archive.namelist()


def test_the_wheel_holds_two_packages_and_the_sample(wheel: list[str]) -> None:
    tops = {name.split("/")[0] for name in wheel if ".dist-info" not in name}
    assert tops == {"annotate", "judge"}
    for needed in (
        "annotate/study.toml.template",
        "annotate/static/rate.js",
        "annotate/strings/en.json",
        "judge/reporting/page/report.css",
        "judge/reporting/page/report.html.jinja",
        "judge/sample/question.jsonl",
        "judge/sample/votes.jsonl",
        "annotate/preset_files/harm-direct.toml",
    ):
        assert needed in wheel
    sample = {n for n in wheel if n.startswith("judge/sample/")}
    here = {
        f"judge/sample/{p.relative_to(ROOT / 'data/sample').as_posix()}"
        for p in (ROOT / "data" / "sample").rglob("*")
        if p.is_file() and "__pycache__" not in p.parts
    }
    assert sample == here


def test_the_wheel_holds_no_study_test_or_cache(wheel: list[str]) -> None:
    assert [
        name
        for name in wheel
        if name.endswith((".sqlite", ".pyc", ".lock", "-wal"))
        or "tests/" in name
        or name.rpartition("/")[2].startswith(("test_", "conftest"))
    ] == []


def test_every_dependency_has_a_lower_bound() -> None:
    assert [d for d in PROJECT["project"]["dependencies"] if ">=" not in d] == []
