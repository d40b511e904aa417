"""The folder of a report: whole files, a manifest, and nothing of others' touched."""

from __future__ import annotations

import hashlib
import json
import os
from pathlib import Path

import pytest

from annotate.errors import DataError, EvenhandError, UsageError
from judge.reporting.folder import report_files, write_folder
from tests.judge.reporting.documents import SVG, document

KEPT = hashlib.sha256(b"x").hexdigest().encode()
INPUTS = {"votes": "abc", "seed": 7}


def _files(**figures: bytes) -> dict[str, bytes]:
    named = {name.replace("_", "."): content for name, content in figures.items()}
    return report_files(document(), values='{"a": 1}\n', methods="As in.\n", figures=named)


def _tree(folder: Path) -> dict[str, bytes]:
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file()
    }


def test_the_folder_holds_everything_and_the_manifest_its_hashes(tmp_path: Path) -> None:
    files = _files(excess_svg=SVG.encode(), excess_pdf=b"%PDF\xff", other_png=b"\x89PNG")
    written = write_folder(files, INPUTS, tmp_path / "a" / "report")
    tree = _tree(tmp_path / "a" / "report")
    assert set(tree) == {
        "report.html", "report.md", "report.json", "methods.md", "manifest.json",
        "figures/excess.svg", "figures/excess.pdf", "figures/other.png",
        "tables/main.tex", "tables/raters.tex", "tables/excess.tex", "tables/all.tex",
        "tables/main.csv", "tables/raters.csv", "tables/excess.csv",
    }  # fmt: skip
    assert len(written) == len(tree)
    assert written[-1].name == "manifest.json"
    manifest = json.loads(tree.pop("manifest.json"))
    assert manifest["schema"] == "evenhand.manifest/1"
    assert manifest["inputs"] == INPUTS
    assert manifest["files"] == {
        name: {"sha256": hashlib.sha256(content).hexdigest(), "bytes": len(content)}
        for name, content in tree.items()
    }
    assert tree["report.json"] == b'{"a": 1}\n'
    assert b"data:image/svg+xml" in tree["report.html"]
    assert b"(figures/excess.svg)" in tree["report.md"]


def test_same_inputs_same_bytes_wherever_it_is_written(tmp_path: Path) -> None:
    for name in ("one", "two"):
        write_folder(_files(excess_svg=SVG.encode()), INPUTS, tmp_path / name)
    write_folder(_files(excess_svg=SVG.encode()), INPUTS, tmp_path / "one")
    assert _tree(tmp_path / "one") == _tree(tmp_path / "two")


def test_what_an_earlier_report_left_goes_and_nothing_else(tmp_path: Path) -> None:
    write_folder({**_files(), "figures/old.svg": b"old", "tables/mine.csv": b"x"}, {}, tmp_path)
    (tmp_path / "tables" / "mine.csv").write_bytes(b"edited by hand")
    (tmp_path / "notes.txt").write_bytes(b"mine")
    write_folder(_files(), {}, tmp_path)
    tree = _tree(tmp_path)
    assert not (tmp_path / "figures").exists()
    assert tree["tables/mine.csv"] == b"edited by hand"
    assert tree["notes.txt"] == b"mine"
    assert set(tree) - {"tables/mine.csv", "notes.txt"} == {*_files(), "manifest.json"}


@pytest.mark.parametrize("kind", ["above", "absolute", "linked folder", "linked file"])
def test_a_manifest_cannot_reach_outside_the_folder(tmp_path: Path, kind: str) -> None:
    folder, other = tmp_path / "report", tmp_path / "other"
    folder.mkdir()
    other.mkdir()
    (other / "keep").write_bytes(b"x")
    (folder / "link").symlink_to(other)
    (folder / "file").symlink_to(other / "keep")
    name = {
        "above": "../other/keep",
        "absolute": str(other / "keep"),
        "linked folder": "link/keep",
        "linked file": "file",
    }[kind]
    listed = {name: {"sha256": hashlib.sha256(b"x").hexdigest(), "bytes": 1}}
    manifest = {"schema": "evenhand.manifest/1", "inputs": {}, "files": listed}
    (folder / "manifest.json").write_text(json.dumps(manifest), "utf-8")
    write_folder({"a.txt": b"a"}, {}, folder)
    assert (other / "keep").read_bytes() == b"x"
    assert (folder / "file").is_symlink()


@pytest.mark.parametrize(
    "content",
    [
        b"", b"[]", b"\xff",
        b'{"schema": "other/1", "files": {"keep": {"sha256": "%s"}}}' % KEPT,
        b'{"schema": "evenhand.manifest/1", "files": []}',
        b'{"schema": "evenhand.manifest/1", "files": {"keep": 3}}',
    ],
)  # fmt: skip
def test_a_manifest_of_another_kind_removes_nothing(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "manifest.json").write_bytes(content)
    (tmp_path / "keep").write_bytes(b"x")
    write_folder({"a.txt": b"a"}, {}, tmp_path)
    assert set(_tree(tmp_path)) == {"a.txt", "keep", "manifest.json"}


def test_a_file_in_the_way_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "report").write_text("mine", "utf-8")
    with pytest.raises(UsageError, match="a file, expected a folder"):
        write_folder({"a": b""}, {}, tmp_path / "report")
    assert (tmp_path / "report").read_text("utf-8") == "mine"


def test_a_folder_that_cannot_be_made_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("", "utf-8")
    with pytest.raises(EvenhandError, match="the report was not written") as caught:
        write_folder({"a": b""}, {}, tmp_path / "file" / "report")
    assert "\n" not in str(caught.value)


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere: NOT checked")
def test_a_folder_that_cannot_be_written_is_one_line(tmp_path: Path) -> None:
    tmp_path.chmod(0o500)
    with pytest.raises(DataError, match="check the folder's permissions"):
        write_folder({"a": b""}, {}, tmp_path)


def test_an_interrupted_file_leaves_the_old_one_whole(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_folder({"a.txt": b"old"}, {}, tmp_path)

    def full(self: Path, target: Path) -> Path:
        raise OSError(28, "No space left on device", str(self))

    monkeypatch.setattr(Path, "replace", full)
    with pytest.raises(DataError, match="No space left on device"):
        write_folder({"a.txt": b"new"}, {}, tmp_path)
    assert set(_tree(tmp_path)) == {"a.txt", "manifest.json"}
    assert (tmp_path / "a.txt").read_bytes() == b"old"
