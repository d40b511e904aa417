"""One start of a run: workers ask what is pending, and every reply is committed at once.

Retries are a loop of our own and not stamina's: a wait must end when the run is told to
stop, every attempt is logged before the next, and some failures stop all workers.
"""

from __future__ import annotations

import asyncio
import contextlib
import signal
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

from annotate.errors import EvenhandError, ServiceError
from judge.database.runs import RunStore
from judge.database.store import Ended, Pending
from judge.engine.adapt import Parameters, budget
from judge.engine.alarm import Alarm, useless
from judge.engine.budget import Caps, Purse, Usage, bound
from judge.engine.call_settings import CallSettings
from judge.engine.caller import HEAD_START, Caller
from judge.engine.commits import Commits
from judge.engine.interrupt import Interrupt
from judge.engine.item import Ending, ask
from judge.engine.progress import Progress
from judge.engine.replies import Next, Reply
from judge.engine.tally import Tally
from judge.engine.work import Work

T = TypeVar("T")


class Session:
    """One start of a run: workers, retries, what was counted."""

    def __init__(
        self,
        runs: RunStore,
        work: Work,
        settings: CallSettings,
        progress: Progress,
        interrupt: Interrupt | None = None,
    ) -> None:
        self._interrupt = interrupt or Interrupt()
        self.interrupted = self.at_cap = False
        self.attempts = settings.attempts
        self.parameters = Parameters(runs.run(work.run_id).manifest["rejected_parameters"])
        self.tally = Tally()
        self._runs, self._work = runs, work
        self._settings, self._progress = settings, progress
        caps = Caps(settings.cap_usd, settings.cap_tokens, settings.price)
        self._purse = Purse(caps, Usage(*work.used()))
        self._began = time.monotonic()
        self._alarm = Alarm(settings)
        self._buffer: deque[Pending] = deque()
        self._stop_error: ServiceError | None = None

    def begin(self) -> None:
        """Count what needs no call; nothing has been asked yet."""
        self._keys = self._work.open_keys()
        self.tally.plan(*self._work.progress(len(self._keys)))
        self._progress.start(self.tally.planned, self.tally.cached)

    async def work(self) -> None:
        """Ask everything that is pending; returns after the last reply is committed."""
        if self.tally.done == self.tally.planned:
            return
        self._stop, self._opened, self._lock = asyncio.Event(), asyncio.Event(), asyncio.Lock()
        self._settled, self._commits = asyncio.Event(), Commits(self._write)
        # All SQL runs in one thread: a commit that waits for the disk, or for another
        # process's write, must not hold up the replies' clocks.
        with ThreadPoolExecutor(1, thread_name_prefix="judge-store") as self._sql:
            self._waiting = self._work.pending(self._keys)
            with self._sigint(), self._interrupt.heard(self._drain):
                await self._ask_all()
            if self.at_cap:
                await self._in_store(self._work.skip)
        self._raise_if_useless()

    async def _ask_all(self) -> None:
        async with Caller(self._settings, self._progress.note) as self._caller:
            try:
                async with asyncio.TaskGroup() as group:
                    for number in range(self._settings.concurrency):
                        group.create_task(self._worker(number))
            except BaseExceptionGroup as errors:
                raise _first(errors) from errors

    async def _worker(self, number: int) -> None:
        if number:
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._opened.wait(), HEAD_START)
        while (item := await self._next()) is not None:
            following: Pending | None = item
            while following is not None:
                following = await self._answer(following)

    async def _answer(self, item: Pending) -> Pending | None:
        """Ask one request to its end; returns what can be asked because of its answer."""
        ending = await ask(self, item)
        if ending is None:
            return None
        self.tally.end(ending)
        spent = self._purse.caps.cost(self._purse.spent)
        self._progress.update(self.tally.done, self.tally.failed, spent)
        if not self._work.chained:
            return None
        return await self._in_store(lambda: self._work.follow(item.key, ending))

    async def _next(self) -> Pending | None:
        """The next request to ask, or None when there is none or the run is stopping."""
        async with self._lock:
            while not self._stop.is_set():
                if self._buffer:
                    return self._buffer.popleft()
                piece = await self._in_store(lambda: next(self._waiting, None))
                if piece is None:
                    return None
                self._buffer.extend(piece)
        return None

    def stopped(self) -> bool:
        """Whether nothing more is to be asked."""
        return self._stop.is_set()

    async def send(self, sent: Mapping[str, Any]) -> Reply | None:
        """One call, as soon as caps and pace allow; None when the run stops before."""
        most = bound(sent)
        if not await self._afford(sent, most):
            return None
        made = await self._caller.send(sent, self._stop)
        if made is None:
            return None
        reply, used = made
        self._purse.settle(most if self._purse.caps else Usage(), used)
        self._settled.set()
        return reply

    async def _afford(self, sent: Mapping[str, Any], most: Usage) -> bool:
        """Reserve what a call could use, after those in flight have told what they did."""
        if self._settings.cap_usd or self._settings.cap_tokens:
            if budget(sent) is None:
                self._halt(ServiceError(f"{self._where}: takes no token limit, so no cap can hold"))
                return False
            while not self._stop.is_set() and not self._purse.reserve(most):
                if not self._purse.reserved.total:
                    self.at_cap = True
                    self._stop.set()
                    break
                self._settled.clear()
                await self._settled.wait()
        return not self._stop.is_set()

    async def learn(self, sent: Mapping[str, Any], reply: Reply) -> bool:
        """Whether the call was refused for a parameter that is left out from now on."""
        if reply.next is not Next.GIVE_UP:
            return False
        news = self.parameters.learn(sent, reply.http_status, reply.raw)
        if news:
            self._progress.note(f"warning: {news}")
            rejected = dict(self.parameters.rejected)
            await self._in_store(lambda: self._runs.note_rejected(self._work.run_id, rejected))
        return news is not None

    async def save(self, item: Pending, reply: Reply, *, last: bool) -> Ending:
        """Save the call, then count it: what is counted is on disk."""
        ending = await self._commits.save(Ended(item.key, reply, last))
        self.tally.call(reply)
        return ending

    def again(self, ending: Ending) -> bool:
        """Whether a reply was cut off so that twice the budget may help."""
        return self._work.again(ending)

    def watch(self, reply: Reply, *, learnt: bool) -> None:
        """Stop when every other call would fail too, or nothing answers at all."""
        if error := self._alarm.heard(reply, self.tally.replies):
            self._halt(error)
        if not learnt:
            self._opened.set()

    def _halt(self, error: ServiceError) -> None:
        self._stop_error = self._stop_error or error
        self._stop.set()

    async def pause(self, failures: int, reply: Reply) -> None:
        """Wait before the next attempt, but not longer than the run goes on."""
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(self._stop.wait(), self._caller.delay(failures, reply))

    def _raise_if_useless(self) -> None:
        if self._stop_error is not None:
            raise self._stop_error
        if self.interrupted:
            return
        if error := useless(self._settings, self.tally):
            raise error

    @property
    def _where(self) -> str:
        return self._settings.endpoint_name

    def _drain(self) -> None:
        """Ask nothing more; the calls in flight are finished."""
        self.interrupted = True
        self._stop.set()

    @contextlib.contextmanager
    def _sigint(self) -> Iterator[None]:
        """The first interrupt drains, the second one aborts as usual."""
        loop = asyncio.get_running_loop()
        if threading.current_thread() is not threading.main_thread():
            yield
            return

        def drain() -> None:
            loop.remove_signal_handler(signal.SIGINT)
            self._drain()
            self._progress.note(
                "interrupted: finishing the calls in flight (interrupt again to abort);"
                " run the same command again to continue"
            )

        loop.add_signal_handler(signal.SIGINT, drain)
        try:
            yield
        finally:
            loop.remove_signal_handler(signal.SIGINT)

    async def _write(self, calls: Sequence[Ended]) -> Sequence[Ending]:
        return await self._in_store(lambda: self._work.record(calls))

    async def _in_store(self, work: Callable[[], T]) -> T:
        return await asyncio.get_running_loop().run_in_executor(self._sql, work)

    @property
    def usd(self) -> float | None:
        """What the run has cost over all its starts, None when the price is unknown."""
        return self._purse.caps.cost(self._purse.spent)

    @property
    def seconds(self) -> float:
        """How long this start has run."""
        return time.monotonic() - self._began

    @property
    def state(self) -> str:
        """How it ended: `done`, or `stopped` before the end of the plan."""
        return "stopped" if self.interrupted or self.at_cap else "done"

    def warnings(self) -> list[str]:
        """What a person should know of how it went."""
        found = self.parameters.words()
        if self.at_cap:
            found.append(
                "stopped before a call that could exceed the cap: the rest is skipped_budget;"
                " run the same command again with a higher cap to continue"
            )
        return found


def _first(errors: BaseExceptionGroup[BaseException]) -> BaseException:
    """The first error of a group that was not itself caused by the cancelling."""
    leaves: list[BaseException] = []
    for error in errors.exceptions:
        leaves.append(_first(error) if isinstance(error, BaseExceptionGroup) else error)
    return next((e for e in leaves if isinstance(e, EvenhandError)), leaves[0])
