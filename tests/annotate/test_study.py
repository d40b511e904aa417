"""study.toml: every wrong value is one line with file, field, found and expected."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from annotate.errors import StoreMissing, UsageError
from annotate.study import Settings, init, load_settings, open_study, protocol
from tests.annotate.support import count, settings_text, write_settings
from tests.conftest import MakeStudy


def problem(folder: Path, text: str) -> str:
    (folder / "study.toml").write_text(text, "utf-8")
    with pytest.raises(UsageError) as caught:
        load_settings(folder)
    told = str(caught.value)
    assert "\n" not in told
    assert str(folder / "study.toml") in told
    assert caught.value.exit_code == 2
    return told


GOOD = settings_text()
BAD = {
    "no title": (GOOD.replace('title = "Test study"', ""), "study.title: Field required"),
    "empty title": (GOOD.replace('"Test study"', '""'), "study.title: "),
    "language": (
        GOOD.replace("[study]\n", '[study]\nlanguage = "xx"\n'),
        "study.language: Input should be 'en'; found 'xx'",
    ),
    "overlap as words": (settings_text(overlap='"two"'), "assignment.overlap: "),
    "overlap zero": (
        settings_text(overlap=0),
        "assignment.overlap: Input should be greater than or equal to 1; found 0",
    ),
    "overlap huge": (settings_text(overlap=1001), "assignment.overlap: "),
    "half a rater": (settings_text(overlap=1.5), "assignment.overlap: "),
    "lease of no time": (settings_text(lease_minutes=0), "assignment.lease_minutes: "),
    "lease of nan": (settings_text(lease_minutes="nan"), "assignment.lease_minutes: "),
    "unknown field": (
        GOOD.replace("overlap = 2", "overlaps = 2"),
        "assignment.overlaps: Extra inputs are not permitted; found 2",
    ),
    "unknown section": (GOOD + "[assigment]\nx = 1\n", "assigment: Extra inputs"),
    "no dimensions": (settings_text(dimensions=()), "protocol.dimensions: Field required"),
    "a dimension twice": (
        settings_text(dimensions=("harm", "harm")),
        "protocol.dimensions: ",
    ),
    "a name with spaces": (settings_text(dimensions=("my harm",)), "protocol.dimensions.0.name: "),
    "reveal": (settings_text(reveal="never"), "protocol.reveal: Input should be 'after_vote' or"),
    "judge": (GOOD + "[judge]\nattempts = 0\n", "judge.attempts: "),
    "report": (GOOD + "[report]\nlevel = 1.0\n", "report.level: "),
    "two mistakes": (settings_text(overlap=0, skips=0), "(and 1 more)"),
    "a list": (GOOD.replace("overlap = 2", "overlap = [" + "1, " * 100 + "]"), "…"),
    "not TOML": ("[study\n", "not valid TOML"),
    "empty": ("", "study: Field required"),
}


@pytest.mark.parametrize("name", BAD)
def test_a_bad_value_is_one_line_with_file_field_found_and_expected(
    tmp_path: Path, name: str
) -> None:
    text, expected = BAD[name]
    told = problem(tmp_path, text)
    assert expected in told
    assert len(told) < len(str(tmp_path)) + 250


def test_a_file_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    (tmp_path / "study.toml").write_bytes(b"\xff\xfe[study]")
    with pytest.raises(UsageError, match=r"study\.toml"):
        load_settings(tmp_path)
    (tmp_path / "study.toml").unlink()
    (tmp_path / "study.toml").mkdir()
    with pytest.raises(UsageError, match=r"study\.toml"):
        load_settings(tmp_path)


def test_the_good_file_is_good(tmp_path: Path) -> None:
    """Guards the table above: its rows fail for their one change only."""
    (tmp_path / "study.toml").write_text(GOOD, "utf-8")
    assert load_settings(tmp_path).assignment.overlap == 2


@pytest.mark.parametrize(
    "title",
    ['She said "harm"', "C:\\new\\table", "two\nlines", "ünï 😀", "{title}", "tab\there", "'"],
)
def test_any_title_survives(tmp_path: Path, title: str) -> None:
    made = init(tmp_path / "s", title)
    made.close()
    again = open_study(tmp_path / "s")
    assert again.settings.study.title == title
    assert again.settings == made.settings
    again.close()


@pytest.mark.parametrize("title", ["x" * 201, "a\x7fb"])
def test_a_title_that_cannot_be_one_leaves_nothing_behind(tmp_path: Path, title: str) -> None:
    """It had left a half-made study that could be neither opened nor made again."""
    with pytest.raises(UsageError):
        init(tmp_path / "s", title)
    assert not (tmp_path / "s").exists()
    init(tmp_path / "s", "A title").close()


def test_a_study_is_named_after_its_folder(tmp_path: Path) -> None:
    made = init(tmp_path / 'my "study"')
    assert made.settings.study.title == 'my "study"'
    made.close()


def test_a_second_init_changes_nothing(tmp_path: Path) -> None:
    init(tmp_path, "First").close()
    before = {p.name: p.read_bytes() for p in tmp_path.glob("study.toml")}
    with pytest.raises(UsageError, match="holds a study already"):
        init(tmp_path, "Second")
    (tmp_path / "study.toml").unlink()
    with pytest.raises(UsageError, match="holds a study already"):
        init(tmp_path, "Third")
    assert before


def test_a_place_where_no_folder_can_be_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    with pytest.raises(UsageError, match="cannot make a study here"):
        init(tmp_path / "file" / "study")


def test_no_study_says_how_to_make_one(tmp_path: Path) -> None:
    with pytest.raises(StoreMissing, match="evenhand init"):
        open_study(tmp_path / "nothing")
    write_settings(tmp_path)
    with pytest.raises(StoreMissing, match=r"evenhand\.sqlite not found"):
        open_study(tmp_path)


EXAMPLES = ("contact", "judge", "population", "recruitment", "pay =", "ethics", "training")
"""Settings that the template shows with an example, since their default is nothing."""


def test_the_templates_comments_show_the_true_defaults(tmp_path: Path) -> None:
    """Every commented-out setting, switched on, changes nothing (whole tables left out)."""
    init(tmp_path, "T").close()
    written = (tmp_path / "study.toml").read_text("utf-8")
    text = re.sub(r"^# \[[^\n]+\]\n(#[^\n]*\n)*", "", written, flags=re.MULTILINE)
    lines = [
        line[2:]
        if line.startswith("# ") and " = " in line and not any(word in line for word in EXAMPLES)
        else line
        for line in text.splitlines()
    ]
    before = load_settings(tmp_path)
    switched = [line for line in lines if line not in text.splitlines()]
    assert len(switched) >= 5
    (tmp_path / "study.toml").write_text("\n".join(lines), "utf-8")
    after = load_settings(tmp_path)
    assert (after.study, after.protocol, after.assignment, after.report) == (
        before.study,
        before.protocol,
        before.assignment,
        before.report,
    )


def test_settings_are_stored_once_per_version(new_study: MakeStudy) -> None:
    study = new_study(0)
    for _ in range(2):
        open_study(study.folder).close()
    first = study.settings.protocol
    before = count(study.store, "SELECT count(*) FROM event")
    assert count(study.store, "SELECT count(*) FROM protocol WHERE id = ?", first.id) == 1
    write_settings(study.folder, instructions="New.", overlap=5)
    again = open_study(study.folder)
    assert again.settings.protocol.id != first.id
    assert protocol(again.store, first.id) == first
    assert protocol(again.store, again.settings.protocol.id) == again.settings.protocol
    rows = study.store.conn.execute("SELECT body FROM setting ORDER BY rowid").fetchall()
    assert json.loads(rows[-1][0])["overlap"] == 5
    # protocol, setting, and the first event of a new writer
    assert count(study.store, "SELECT count(*) FROM event") == before + 3
    again.close()


def test_assignment_is_no_part_of_the_protocol(new_study: MakeStudy) -> None:
    study = new_study(0)
    write_settings(study.folder, overlap=5)
    again = load_settings(study.folder)
    assert again.protocol.id == study.settings.protocol.id
    assert Settings.model_validate(again.model_dump()) == again
