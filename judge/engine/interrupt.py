"""Ending a run early from another thread, as an interrupt from the keyboard does."""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections.abc import Callable, Iterator


class Interrupt:
    """Asked once, a run finishes the calls in flight and stops; asked again, it gives them up.

    Any thread may ask, at any time: a run that has not begun to ask yet hears it when it does.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._times = 0
        self._tell: Callable[[int], None] | None = None

    def ask(self) -> None:
        """Ask the run to end."""
        with self._lock:
            self._times += 1
            if self._tell is not None:
                self._tell(self._times)

    @contextlib.contextmanager
    def heard(self, drain: Callable[[], None]) -> Iterator[None]:
        """Listen inside a running event loop: `drain` is called there, or this task cancelled."""
        loop, task = asyncio.get_running_loop(), asyncio.current_task()

        def tell(times: int) -> None:
            if times == 1 or task is None:
                loop.call_soon_threadsafe(drain)
            else:
                loop.call_soon_threadsafe(task.cancel)

        with self._lock:
            self._tell = tell
            if self._times:
                tell(self._times)
        try:
            yield
        finally:
            with self._lock:  # The loop is about to close.
                self._tell = None
