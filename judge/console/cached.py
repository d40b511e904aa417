"""What takes a while to compute: shown as it was until there is something new and time for it."""

from __future__ import annotations

import time
from collections.abc import Callable

REST = 20
"""What took a second is not computed again for twenty: raters' pages share the process."""


class Cached:
    """A piece of a page that is computed again only when its state has changed, and then rests."""

    def __init__(
        self, make: Callable[[], str], clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._make, self._clock = make, clock
        self._state: tuple[object, ...] = ()
        self._shown = ""
        self._fresh_until = 0.0

    def get(self, state: Callable[[], tuple[object, ...]], *, hold: bool = False) -> str:
        """The piece; with `hold`, what was shown last, if anything was.

        Args:
            state: looked up only when it may matter; must not be empty.
            hold: somebody else needs the processor now.
        """
        if self._state and (hold or self._clock() < self._fresh_until):
            return self._shown
        now = state()
        if now != self._state:
            start = self._clock()
            self._shown = self._make()
            self._state = now
            end = self._clock()
            self._fresh_until = end + REST * (end - start)
        return self._shown
