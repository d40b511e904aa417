"""How a run tells that it is alive: one line on a terminal, JSON lines elsewhere."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable, Mapping
from typing import Protocol, TextIO

from judge.engine.bodies import visible

INTERVAL = 1.0
"""Seconds between two JSON lines; the terminal's line is redrawn ten times as often."""


class Progress(Protocol):
    """What a run reports to while it works."""

    def start(self, total: int, cached: int) -> None:
        """The plan is known: `total` requests, of which `cached` need no call."""

    def update(self, done: int, failed: Mapping[str, int], usd: float | None = None) -> None:
        """`done` requests are committed; failures by status; dollars spent if known."""

    def note(self, text: str) -> None:
        """Something a person should read."""

    def finish(self) -> None:
        """The run has ended; whatever was held back is shown."""


def progress_for(stream: TextIO | None = None) -> Progress:
    """A line that is redrawn if `stream` (default stderr) is a terminal, else JSON lines."""
    out = sys.stderr if stream is None else stream
    return TerminalProgress(out) if out.isatty() else JsonProgress(out)


class Silent:
    """Reports nothing."""

    def start(self, total: int, cached: int) -> None:
        """Nothing."""

    def update(self, done: int, failed: Mapping[str, int], usd: float | None = None) -> None:
        """Nothing."""

    def note(self, text: str) -> None:
        """Nothing."""

    def finish(self) -> None:
        """Nothing."""


class _Timed:
    """Counts, rate and remaining seconds; what was cached does not enter the rate."""

    def __init__(
        self, stream: TextIO, interval: float, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._stream, self._interval, self._clock = stream, interval, clock
        self._total = self._cached = self._done = 0
        self._failed: dict[str, int] = {}
        self._usd: float | None = None
        self._began = self._last = clock()
        self._held = False

    def start(self, total: int, cached: int) -> None:
        self._total, self._cached, self._done = total, cached, cached
        self._began = self._clock()
        self._show()

    def update(self, done: int, failed: Mapping[str, int], usd: float | None = None) -> None:
        self._done, self._failed, self._usd = done, dict(failed), usd
        self._held = True
        if self._clock() - self._last >= self._interval:
            self._show()

    def finish(self) -> None:
        if self._held:
            self._show()

    def _show(self) -> None:
        self._last, self._held = self._clock(), False
        self._write()
        self._stream.flush()

    def _write(self) -> None:
        raise NotImplementedError

    def _rate(self) -> float:
        """Verdicts per second since the start."""
        seconds = self._clock() - self._began
        return (self._done - self._cached) / seconds if seconds > 0 else 0.0

    def _eta(self) -> float | None:
        """Seconds left at this rate, None while nothing is known."""
        rate = self._rate()
        return (self._total - self._done) / rate if rate > 0 else None


class TerminalProgress(_Timed):
    """`120/960 (40 cached)  8.1/s  1:43 left  failed: truncated 2`."""

    def __init__(self, stream: TextIO, clock: Callable[[], float] = time.monotonic) -> None:
        super().__init__(stream, INTERVAL / 10, clock)

    def note(self, text: str) -> None:
        """Print above the line."""
        self._stream.write(f"\r\x1b[K{visible(text)}\n")
        self._stream.flush()

    def finish(self) -> None:
        """Leave the last state on a line of its own."""
        self._show()
        self._stream.write("\n")

    def _write(self) -> None:
        cached = f" ({self._cached} cached)" if self._cached else ""
        eta = self._eta()
        left = "" if eta is None else f"  {int(eta) // 60}:{int(eta) % 60:02d} left"
        names = ", ".join(f"{name} {count}" for name, count in sorted(self._failed.items()))
        failed = f"  failed: {names}" if names else ""
        spent = f"  ${self._usd:.2f}" if self._usd else ""
        self._stream.write(
            f"\r\x1b[K{self._done}/{self._total}{cached}  {self._rate():.1f}/s{left}{spent}{failed}"
        )


class JsonProgress(_Timed):
    """One JSON object per line, at most one per second, the first and last always."""

    def __init__(self, stream: TextIO, clock: Callable[[], float] = time.monotonic) -> None:
        super().__init__(stream, INTERVAL, clock)

    def note(self, text: str) -> None:
        """A line of its own."""
        self._line({"note": text})

    def _write(self) -> None:
        eta = self._eta()
        self._line(
            {
                "done": self._done,
                "total": self._total,
                "cached": self._cached,
                "failed": self._failed,
                "per_second": round(self._rate(), 2),
                "eta_seconds": None if eta is None else round(eta),
                "usd": None if self._usd is None else round(self._usd, 4),
            }
        )

    def _line(self, value: dict[str, object]) -> None:
        self._stream.write(json.dumps(value, sort_keys=True) + "\n")
        self._stream.flush()
