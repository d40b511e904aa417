"""A document printed, and written into a folder with its manifest."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from judge.reporting.document import Document


def exports(study: Path) -> Path:
    """Where a study's results go unless a folder is named: exports/STUDY."""
    return Path("exports") / study.resolve().name


def exports_of(study: Path, what: str, judge: str, score: str = "") -> Path:
    """A folder of its own for each judge and score: none overwrites another's.

    E.g. exports/STUDY/calibration/judge-7b/harm; a name that a folder cannot have as it is gets
    a few digits more, since others may look like it.
    """
    from annotate.records import digest
    from judge.reporting.scope import slug

    def own(name: str) -> str:
        plain = slug(name)
        return plain if plain == name else f"{plain}-{digest(name)[:6]}"

    return exports(study).joinpath(what, *(own(name) for name in (judge, score) if name))


def publish(
    document: Document, files: Mapping[str, bytes], folder: Path, inputs: Mapping[str, Any]
) -> None:
    """Write page, Markdown, tables and the further files into a folder, and print it.

    Nothing is printed that was not written: beside an error it would read as a result.

    Raises:
        UsageError: the folder is a file.
        DataError: it cannot be written.
    """
    from judge.reporting.folder import document_files, write_folder
    from judge.reporting.text_page import to_text

    written = write_folder(document_files(document, also=list(files)) | dict(files), inputs, folder)
    click.echo(to_text(document), nl=False)
    click.echo(f"Wrote {len(written)} files into {folder}", err=True)
