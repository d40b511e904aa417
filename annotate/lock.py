"""One server per study: a lock that the system releases however the process ends."""

from __future__ import annotations

import fcntl
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from .errors import StoreUnsafe


@contextmanager
def served_once(database: Path) -> Iterator[IO[str]]:
    """Hold the study's server lock; what is written into it tells others where it is served.

    Raises:
        StoreUnsafe: another server has this study open.
    """
    lock = lock_path(database).open("a+")
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError as error:
        lock.seek(0)
        raise StoreUnsafe(
            f"{database.parent}: already served ({lock.read().strip() or 'by another process'});"
            " stop that server first, or open its link"
        ) from error
    try:
        yield lock
    finally:
        lock.truncate(0)
        lock.close()


def served_at(database: Path) -> str | None:
    """The URL of the server that has a study open now, or None.

    A server that was killed leaves its text behind but not its lock, so the lock decides.
    """
    try:
        lock = lock_path(database).open()
    except OSError:
        return None
    with lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            text = lock.read()
            return text.split(",")[0] if text.startswith("http") else None
    return None


def lock_path(database: Path) -> Path:
    """The lock file beside a database."""
    return database.with_name(database.name + ".lock")
