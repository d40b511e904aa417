"""Runs shown and compared, and replies read again without a call."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from annotate.study import open_study
from judge.cli import main
from judge.engine.manifests import Difference, differences, flat
from judge.engine.runner import run
from tests.judge.fake_endpoint import FakeEndpoint, say
from tests.judge.study import settings


def evenhand(*words: object) -> Result:
    return CliRunner().invoke(main, [str(w) for w in words])


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A study with two runs, `first` and `second`, that differ in the temperature."""
    folder = tmp_path / "study"
    assert evenhand("init", folder).exit_code == 0
    assert evenhand("import", folder, "data/sample").exit_code == 0
    study = open_study(folder)
    with FakeEndpoint(say("[[A]]")) as endpoint:
        run(study.store, settings(endpoint.base_url, limit=1, name="first"))
        run(study.store, settings(endpoint.base_url, limit=1, name="second", temperature=0.5))
    study.close()
    return folder


def test_show_says_what_defines_a_run(folder: Path) -> None:
    shown = evenhand("judge", "show", folder, "first")
    assert shown.exit_code == 0, shown.output
    assert "judge first: done (live, pairwise" in shown.output
    for line in (
        'requested_model = "fake-model"',
        "sampling.temperature = 0.0",
        'served_models[0] = "fake-served-1"',
        "rejected_parameters = {}",
        'parser = "tag-3 json-1 grade-2 harm-2"',
    ):
        assert line in shown.output
    run_id = shown.output.split("pairwise, ")[1][:8]
    assert evenhand("judge", "show", folder, run_id).output == shown.output


def test_diff_says_what_two_runs_do_not_share(folder: Path) -> None:
    lines = evenhand("judge", "diff", folder, "first", "second").output.splitlines()
    assert lines[0] == "first → second"
    assert [line.split(":")[0] for line in lines[1:]] == ["fingerprint", "sampling.temperature"]
    assert lines[2] == "sampling.temperature: 0.0 → 0.5"
    same = evenhand("judge", "diff", folder, "first", "first").output
    assert same == "The manifests say the same.\n"


def test_an_unknown_run_is_answered_with_those_there_are(folder: Path) -> None:
    shown = evenhand("judge", "show", folder, "nobody")
    assert shown.exit_code == 2
    assert "expected one of: first, second" in shown.output


def test_reparse_derives_verdicts_again_without_a_call(folder: Path) -> None:
    study = open_study(folder)
    with study.store.write() as conn:  # as an older parser might have read it
        conn.execute("UPDATE verdict SET choice = 'right' WHERE choice = 'left'")
    study.close()
    assert "verdicts changed" in evenhand("judge", "reparse", folder).output
    assert ": 0 verdicts changed" in evenhand("judge", "reparse", folder).output
    study = open_study(folder)
    choices = study.store.conn.execute("SELECT DISTINCT choice FROM verdict").fetchall()
    study.close()
    assert choices == [("left",)]


def test_differences_name_places_and_absence() -> None:
    left = {"a": {"b": [1, 2]}, "same": {}}
    right = {"a": {"b": [1]}, "same": {}, "new": None}
    assert dict(flat(left)) == {"a.b[0]": "1", "a.b[1]": "2", "same": "{}"}
    assert differences(left, right) == [
        Difference("a.b[1]", "2", "(absent)"),
        Difference("new", "(absent)", "null"),
    ]
