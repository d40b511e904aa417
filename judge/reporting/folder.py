"""A report as a folder of files, with a manifest that says what each must hash to."""

from __future__ import annotations

import contextlib
import hashlib
import json
from collections.abc import Mapping, Sequence
from pathlib import Path, PurePosixPath

from annotate.errors import DataError, UsageError
from judge.reporting.csv_tables import csv_files
from judge.reporting.document import Document
from judge.reporting.html_page import to_html
from judge.reporting.latex_tables import latex_files
from judge.reporting.markdown_page import to_markdown

SCHEMA = "evenhand.manifest/1"
MANIFEST = "manifest.json"


def report_files(
    document: Document, *, values: str, methods: str, figures: Mapping[str, bytes]
) -> dict[str, bytes]:
    """Every file of a report but the manifest, by its path in the folder; pure.

    Args:
        document: the report.
        values: report.json.
        methods: methods.md.
        figures: as for :func:`document_files`.
    """
    texts = {"report.json": values, "methods.md": methods}
    written = {name: text.encode("utf-8", "replace") for name, text in texts.items()}
    return document_files(document, figures, also=list(texts)) | written


def document_files(
    document: Document,
    figures: Mapping[str, bytes] | None = None,
    *,
    also: Sequence[str] = (),
) -> dict[str, bytes]:
    """The page, the Markdown, tables and figures of any document; pure.

    Args:
        document: what they say.
        figures: drawn pictures by file name; those named `<picture id>.svg` also go into the
            page, and a picture without one is given there in words.
        also: names of further files that will lie beside these; the page's foot names them.
    """
    figures = figures or {}
    drawn = {
        picture.id: figures[f"{picture.id}.svg"].decode("utf-8")
        for picture in document.pictures()
        if f"{picture.id}.svg" in figures
    }
    tables = latex_files(document) | csv_files(document)
    texts = {
        "report.html": to_html(document, drawn, _beside(bool(tables), bool(figures), also)),
        "report.md": to_markdown(document, drawn),
        **{f"tables/{name}": text for name, text in tables.items()},
    }
    files = {name: text.encode("utf-8", "replace") for name, text in texts.items()}
    return files | {f"figures/{name}": content for name, content in figures.items()}


WHAT = {"report.json": "all values", "methods.md": "the wording for a paper"}
"""What files hold; of others it is said by their ending."""
ENDINGS = {".json": "the same for programs, sealed with its hash,", ".csv": "its rows"}


def _beside(tables: bool, figures: bool, also: Sequence[str]) -> list[tuple[str, str]]:
    """What lies beside the page, for its foot: only what is written is named."""
    found = [("the same as Markdown", "report.md")]
    if tables:
        found.append(("every table as LaTeX and CSV", "tables/"))
    if figures:
        found.append(("every figure", "figures/"))
    found += [
        (WHAT.get(name) or ENDINGS.get(PurePosixPath(name).suffix, "more"), name) for name in also
    ]
    return [*found, ("what each file must hash to", MANIFEST)]


def write_folder(
    files: Mapping[str, bytes], inputs: Mapping[str, object], folder: Path
) -> tuple[Path, ...]:
    """Write a report and its manifest.json; returns the paths in the order written.

    Each file is moved into place whole, the manifest last. Files of an earlier report that this
    one no longer makes are removed if that report's manifest lists them and they are still as
    it left them; nothing else in the folder is touched.

    Args:
        files: content by path in the folder, as from :func:`report_files`.
        inputs: what the report was made from, as JSON values.
        folder: made if need be.

    Raises:
        UsageError: the folder is a file.
        DataError: it cannot be written.
    """
    must_be_folder(folder)
    everything = {**files, MANIFEST: manifest(files, inputs)}
    try:
        folder.mkdir(parents=True, exist_ok=True)
        before = _listed(folder / MANIFEST)
        written = tuple(_write(folder / name, content) for name, content in everything.items())
        for name in sorted(before.keys() - everything.keys()):
            _remove(folder, name, before[name])
    except OSError as error:
        raise DataError(
            f"{folder}: the report was not written"
            f" ({error.strerror or error}{f': {error.filename}' if error.filename else ''});"
            " check the folder's permissions and free space, or give another --out"
        ) from error
    return written


def must_be_folder(path: Path) -> None:
    """To be asked before long work.

    Raises:
        UsageError: it is a file.
    """
    if path.exists() and not path.is_dir():
        raise UsageError(f"{path}: a file, expected a folder for the report; give another --out")


def manifest(files: Mapping[str, bytes], inputs: Mapping[str, object]) -> bytes:
    """The inputs as given, and SHA-256 and size in bytes of every file."""
    content = {
        "schema": SCHEMA,
        "inputs": inputs,
        "files": {
            name: {"sha256": _hash(files[name]), "bytes": len(files[name])}
            for name in sorted(files)
        },
    }
    text = json.dumps(content, indent=2, ensure_ascii=False, sort_keys=True, allow_nan=False)
    return (text + "\n").encode("utf-8", "replace")


def _write(path: Path, content: bytes) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(path.name + ".part")
    try:
        part.write_bytes(content)
        part.replace(path)
    except BaseException:
        with contextlib.suppress(OSError):
            part.unlink(missing_ok=True)
        raise
    return path


def _listed(path: Path) -> dict[str, str]:
    """Hash by name from an earlier manifest; nothing from what is no manifest of ours."""
    try:
        found = json.loads(path.read_bytes())
        if found["schema"] != SCHEMA:
            return {}
        return {str(name): str(one["sha256"]) for name, one in found["files"].items()}
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return {}


def _remove(folder: Path, name: str, expected: str) -> None:
    """An old manifest is a file like any other: it may name only what lies inside the folder."""
    inside = PurePosixPath(name)
    path = folder / inside
    if inside.is_absolute() or ".." in inside.parts or _through_link(folder, inside):
        return
    if not path.is_file() or _hash(path.read_bytes()) != expected:
        return
    path.unlink()
    if path.parent != folder:
        with contextlib.suppress(OSError):
            path.parent.rmdir()  # Fails, as it should, while anything is left in it.


def _through_link(folder: Path, inside: PurePosixPath) -> bool:
    steps = [folder / inside, *(folder / parent for parent in inside.parents if parent.name)]
    return any(step.is_symlink() for step in steps)


def _hash(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()
