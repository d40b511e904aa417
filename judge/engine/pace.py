"""How fast calls go: requests and tokens per minute, and how many at once.

The number at once starts at what is allowed, is halved when the endpoint is overloaded
(429, 503, a timeout) and grows by one for as many good replies as it is large. A wait that
the endpoint asks for holds everyone, not only the call that was told.
"""

from __future__ import annotations

import asyncio
import contextlib
import math
import time
from collections.abc import Callable
from dataclasses import dataclass

Clock = Callable[[], float]


class Bucket:
    """At most `per_minute` units in any minute, with bursts of a tenth of that.

    A cost above the burst waits for a full bucket and leaves it in debt.
    """

    def __init__(self, per_minute: float | None, clock: Clock = time.monotonic) -> None:
        self._clock, self._at = clock, clock()
        self._free = per_minute is None
        rate = per_minute or math.inf
        self._burst = min(rate, max(1.0, rate / 10)) if not self._free else math.inf
        self._refill = 1.0 if self._free else max(rate - self._burst, rate / 2) / 60
        self._level = self._burst

    def wait(self, cost: float) -> float:
        """Seconds until a call of this cost may go; 0 is now."""
        if self._free:
            return 0.0
        at = self._clock()
        self._level = min(self._burst, self._level + (at - self._at) * self._refill)
        self._at = at
        return max(0.0, (min(cost, self._burst) - self._level) / self._refill)

    def take(self, cost: float) -> None:
        """Take units out; a negative cost gives back what was taken too much."""
        self._level = min(self._burst, self._level - cost)


@dataclass(frozen=True, slots=True)
class Ticket:
    """One call's leave to go: when it was given, and the tokens it was thought to need."""

    at: float
    tokens: float


class Pace:
    """The gate that every call passes."""

    def __init__(
        self,
        concurrency: int,
        rpm: float | None = None,
        tpm: float | None = None,
        clock: Clock = time.monotonic,
    ) -> None:
        self.limit = float(concurrency)
        self.overloads = 0
        self._most, self._clock = concurrency, clock
        self._requests, self._tokens = Bucket(rpm, clock), Bucket(tpm, clock)
        self._in_flight = 0
        self._cut_at = self._held_until = -math.inf
        self._turn, self._left = asyncio.Lock(), asyncio.Event()

    async def enter(self, tokens: float, stop: asyncio.Event) -> Ticket | None:
        """Wait for this call's turn, first come first served; None when the run stops."""
        async with self._turn:
            while not stop.is_set():
                if self._in_flight >= max(1, int(self.limit)):
                    self._left.clear()
                    await self._left.wait()
                    continue
                at = self._clock()
                held = self._held_until - at
                wait = max(held, self._requests.wait(1), self._tokens.wait(tokens))
                if wait <= 0:
                    self._requests.take(1)
                    self._tokens.take(tokens)
                    self._in_flight += 1
                    return Ticket(at, tokens)
                with contextlib.suppress(TimeoutError):
                    await asyncio.wait_for(stop.wait(), wait)
        return None

    def leave(
        self, ticket: Ticket, *, used: int | None, overloaded: bool, hold: float | None
    ) -> bool:
        """A call has ended; True when its overload made the number at once smaller.

        `used` corrects the tokens that were estimated; `hold` is how many seconds the
        endpoint asked to wait.
        """
        self._in_flight -= 1
        self._left.set()
        at = self._clock()
        if used is not None:
            self._tokens.take(used - ticket.tokens)
        if hold is not None:
            self._held_until = max(self._held_until, at + hold)
        if not overloaded:
            self.limit = min(float(self._most), self.limit + 1 / self.limit)
            return False
        self.overloads += 1
        # Calls that left before the last cut say nothing about the number since.
        if ticket.at < self._cut_at:
            return False
        self._cut_at, self.limit = at, max(1.0, self.limit / 2)
        return True
