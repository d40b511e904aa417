"""Numbered migrations of one file, applied by sqlite-utils when there is one to apply.

sqlite-utils loads pandas wherever that is installed (a second, and 100 MB), and nearly
every start of the program finds a file that is up to date. So what was applied is read
in plain SQL, and the library is loaded for the rest.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from .errors import StoreNewer

if TYPE_CHECKING:
    from sqlite_utils import Database

    Step = Callable[[Database], None]


class Migrations:
    """A named, append-only list of functions that change the tables of a file."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.steps: list[Step] = []

    def __call__(self) -> Callable[[Step], Step]:
        """Decorator: this function is the next migration, known by its own name."""

        def add(step: Step) -> Step:
            self.steps.append(step)
            return step

        return add

    @property
    def names(self) -> list[str]:
        """Every migration, oldest first."""
        return [step.__name__ for step in self.steps]


def migrate(conn: sqlite3.Connection, migrations: Migrations, path: Path) -> None:
    """Bring one migration set up to date; refuse a file that knows migrations we do not.

    Raises:
        StoreNewer: the file has migrations of this set that this program lacks.
    """
    # sqlite-utils opens its own transactions and needs the driver's default mode.
    conn.execute("PRAGMA journal_mode = WAL")
    done = _applied(conn, migrations.name)
    if unknown := [name for name in done if name not in migrations.names]:
        raise StoreNewer(
            f"{path}: written by a newer Evenhand (it has {', '.join(unknown)});"
            " update this program, the file was not touched"
        )
    if set(migrations.names) - set(done):
        _apply(conn, migrations)


def _applied(conn: sqlite3.Connection, name: str) -> list[str]:
    """The migrations of a set that a file has, in the order in which they were applied."""
    table = conn.execute(
        "SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = '_sqlite_migrations'"
    ).fetchone()
    if table is None:
        return []
    rows = conn.execute(
        "SELECT name FROM _sqlite_migrations WHERE migration_set = ? ORDER BY rowid", (name,)
    )
    return [row[0] for row in rows]


def _apply(conn: sqlite3.Connection, migrations: Migrations) -> None:
    """Each pending migration in a transaction of its own, recorded by name."""
    import sqlite_utils

    known = sqlite_utils.Migrations(migrations.name)
    for step in migrations.steps:
        known()(step)
    known.apply(sqlite_utils.Database(conn, execute_plugins=False))
