"""A document printed, and written into a folder with its manifest."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from judge.reporting.document import Document


def publish(
    document: Document, files: Mapping[str, bytes], folder: Path, inputs: Mapping[str, Any]
) -> None:
    """Print it, and write page, Markdown, tables and the further files into a folder."""
    from judge.reporting.folder import document_files, write_folder
    from judge.reporting.text_page import to_text

    click.echo(to_text(document), nl=False)
    written = write_folder(document_files(document, also=list(files)) | dict(files), inputs, folder)
    click.echo(f"Wrote {len(written)} files into {folder}", err=True)
