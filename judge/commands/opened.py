"""What every command with a study shares: its argument, and opening and closing it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from annotate.study import Study

STUDY = click.argument("study", type=click.Path(path_type=Path))


class Opened:
    """A study that is closed again whatever happens."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def __enter__(self) -> Study:
        from annotate.study import open_study

        self._study = open_study(self._folder)
        return self._study

    def __exit__(self, *_exc: object) -> None:
        self._study.close()
