"""A counter line for work of unknown length (imports): on a terminal only."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

EVERY_SECONDS = 0.2


@contextmanager
def counting() -> Iterator[Callable[[str, int], None]]:
    """Yield `report(name, count)`; it rewrites one line and clears it at the end."""
    shown = [0.0]

    def report(name: str, count: int) -> None:
        if sys.stderr.isatty() and time.monotonic() - shown[0] > EVERY_SECONDS:
            shown[0] = time.monotonic()
            sys.stderr.write(f"\r\x1b[K  reading {name}: {count:,} records")
            sys.stderr.flush()

    try:
        yield report
    finally:
        if shown[0]:
            sys.stderr.write("\r\x1b[K")
