"""The one judge run that a server may have going on: started, watched, stopped. No page in it.

The run lives in a thread of its own, so that closing the page changes nothing; whoever looks
gets a snapshot. It is the same `runner.run` as on the command line.
"""

from __future__ import annotations

import asyncio
import logging
import threading
import time
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, replace
from enum import StrEnum

from annotate.errors import EvenhandError, UsageError
from annotate.store import Store, now
from judge.database.store import VerdictStore
from judge.engine.interrupt import Interrupt
from judge.engine.runner import run
from judge.engine.settings import JudgeSettings, fingerprint
from judge.engine.tally import RunSummary

DRAIN_SECONDS = 10.0
"""How long a server that is stopped waits for the calls in flight."""
ABORT_SECONDS = 3.0
"""How long it waits for the run's last words once those calls are given up."""
NOTES_KEPT = 20
GAVE_UP = "stopped without waiting for the calls in flight; every reply that came is saved"
BUG = "an error in the program: the server's own output has the details; every reply is saved"
ELSEWHERE = (
    "this judge's run is marked as running: another process may be asking the same requests (then"
    " those open in both are paid twice), or one was killed before its end"
)

MakeSettings = Callable[[], AbstractContextManager[JudgeSettings]]
"""Opens a judge's settings, in the run's own thread: a local endpoint serves while open."""


class Phase(StrEnum):
    """Where the run of this server is."""

    IDLE = "idle"
    """None was started since the server was."""
    PREPARING = "preparing"
    """Checking every unit and writing the plan; nothing is asked yet."""
    RUNNING = "running"
    STOPPING = "stopping"
    """The calls in flight are being finished."""
    DONE = "done"
    STOPPED = "stopped"
    """By a person or by a cap; running it again goes on."""
    FAILED = "failed"


ACTIVE = frozenset({Phase.PREPARING, Phase.RUNNING, Phase.STOPPING})


@dataclass(frozen=True, slots=True)
class Snapshot:
    """A run at one moment.

    `title` says what is judged. `done` requests of `total` are on disk, `cached` of them since
    before this start. `seconds` counts from the plan's end to now, or to the end. `usd` is None
    as long as the price is unknown. `error` is the one line that the command would print.
    """

    phase: Phase = Phase.IDLE
    title: str = ""
    started_at: str = ""
    total: int = 0
    cached: int = 0
    done: int = 0
    seconds: float = 0.0
    usd: float | None = None
    cap_usd: float | None = None
    cap_tokens: int | None = None
    failed: Mapping[str, int] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    summary: RunSummary | None = None
    error: str = ""

    @property
    def active(self) -> bool:
        """Whether a run is going on."""
        return self.phase in ACTIVE

    @property
    def per_second(self) -> float:
        """Requests per second since the plan was ready; what was cached does not count."""
        return (self.done - self.cached) / self.seconds if self.seconds > 0 else 0.0

    @property
    def eta_seconds(self) -> float | None:
        """Seconds left at this rate, None while nothing is known."""
        rate = self.per_second
        return (self.total - self.done) / rate if rate > 0 else None


class Judging:
    """Starts, watches and stops the run. Safe to use from any thread."""

    def __init__(self, store: Store, clock: Callable[[], float] = time.monotonic) -> None:
        self._store, self._clock = store, clock
        self._lock = threading.Lock()
        self._now = Snapshot()
        self._began: float | None = None
        self._interrupt = Interrupt()
        self._thread: threading.Thread | None = None
        self._closed = False

    def snapshot(self) -> Snapshot:
        """The run now, or the last one."""
        with self._lock:
            if self._began is None or not self._now.active:
                return self._now
            return replace(self._now, seconds=self._clock() - self._began)

    def start(self, title: str, settings: MakeSettings) -> None:
        """Begin to judge; returns at once.

        Raises:
            UsageError: a run is going on already, or the server is stopping.
        """
        with self._lock:
            if self._now.active:
                raise UsageError(
                    f"a run is going on ({self._now.title}); wait for its end, or stop it first"
                )
            if self._closed:
                raise UsageError("the server is stopping; start the run again afterwards")
            self._now = Snapshot(Phase.PREPARING, title, now())
            self._began, self._interrupt = None, Interrupt()
            # A daemon: a server must be able to end although an endpoint never answers.
            self._thread = threading.Thread(
                target=self._work, args=(settings,), name="judge-run", daemon=True
            )
            self._thread.start()

    def stop(self) -> None:
        """Finish the calls in flight, then end; asking twice changes nothing."""
        with self._lock:
            if self._now.phase in (Phase.PREPARING, Phase.RUNNING):
                self._now = replace(self._now, phase=Phase.STOPPING)
                self._interrupt.ask()

    def close(self, seconds: float = DRAIN_SECONDS) -> None:
        """Stop for good: wait `seconds` for the calls in flight, then give them up."""
        self._closed = True
        thread = self._thread
        if thread is None or not thread.is_alive():
            return
        self.stop()
        thread.join(seconds)
        if thread.is_alive():
            self._interrupt.ask()
            thread.join(ABORT_SECONDS)

    def wait(self, seconds: float | None = None) -> Snapshot:
        """The snapshot after the run has ended, or after `seconds`."""
        if self._thread is not None:
            self._thread.join(seconds)
        return self.snapshot()

    def _work(self, settings: MakeSettings) -> None:
        """The thread: a run from its settings to its end, whatever that is."""
        try:
            with settings() as chosen:
                self._change(cap_usd=chosen.cap_usd, cap_tokens=chosen.cap_tokens)
                self._look_elsewhere(chosen)
                summary = run(self._store, chosen, _Watch(self), interrupt=self._interrupt)
        except asyncio.CancelledError:
            self._end(Phase.STOPPED, error=GAVE_UP)
        except EvenhandError as error:
            self._end(Phase.FAILED, error=str(error))
        except Exception:
            logging.getLogger("evenhand").exception("the judge's run broke off")
            self._end(Phase.FAILED, error=BUG)
        else:
            self._end(Phase(summary.state), summary=summary)

    def _look_elsewhere(self, settings: JudgeSettings) -> None:
        """Note when this very run is marked as running, which it is not in this process."""
        found = VerdictStore(self._store).live(fingerprint(settings), settings.endpoint_name)
        if found is not None and found.state == "running":
            self._note(f"warning: {ELSEWHERE}")

    def _end(self, phase: Phase, **changes: object) -> None:
        seconds = self.snapshot().seconds
        self._change(phase=phase, seconds=seconds, **changes)

    def _note(self, text: str) -> None:
        self._change(notes=(*self._now.notes, text)[-NOTES_KEPT:])

    def _planned(self, total: int, cached: int) -> None:
        with self._lock:
            self._began = self._clock()
            going = self._now.phase is Phase.PREPARING
            phase = Phase.RUNNING if going else self._now.phase
            self._now = replace(self._now, phase=phase, total=total, cached=cached, done=cached)

    def _change(self, **changes: object) -> None:
        with self._lock:
            self._now = replace(self._now, **changes)  # type: ignore[arg-type]


class _Watch:
    """What a run reports to: the snapshot."""

    def __init__(self, judging: Judging) -> None:
        self._judging = judging

    def start(self, total: int, cached: int) -> None:
        """The plan is known."""
        self._judging._planned(total, cached)

    def update(self, done: int, failed: Mapping[str, int], usd: float | None = None) -> None:
        """So many requests are on disk."""
        self._judging._change(done=done, failed=dict(failed), usd=usd)

    def note(self, text: str) -> None:
        """Something a person should read."""
        self._judging._note(text)

    def finish(self) -> None:
        """Nothing: the summary follows, or the error."""
