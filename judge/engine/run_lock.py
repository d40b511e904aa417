"""One process per run: two that asked the same requests would pay for them twice."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from annotate.errors import UsageError
from judge.database.runs import Run


@contextmanager
def alone(database: Path, run: Run) -> Iterator[None]:
    """Hold a run; the system lets go of it however the process ends.

    Raises:
        UsageError: another process, or another thread, is asking this run's requests.
    """
    path = database.with_name(f"{database.name}.run-{run.id[:13]}.lock")
    with path.open("a+") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            lock.seek(0)
            who = lock.read().strip() or "another process"
            raise UsageError(
                f"run {run.name}: {who} is asking its requests already; wait for its end or stop"
                " it, so that nothing is paid twice"
            ) from error
        lock.truncate(0)
        lock.write(f"process {os.getpid()}")
        lock.flush()
        try:
            yield
        finally:
            lock.truncate(0)
