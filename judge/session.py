"""One start of a run: workers ask what is pending, and every reply is committed at once.

Retries are a loop of our own and not stamina's: a wait must end when the run is told to
stop, every attempt is logged before the next, and some failures stop all workers.
"""

from __future__ import annotations

import asyncio
import contextlib
import random
import signal
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

from annotate.errors import EvenhandError, ServiceError
from annotate.records import Status

from .adapt import Parameters, budget
from .budget import Caps, Purse, Usage, bound, guess
from .call_settings import CallSettings
from .commits import Commits
from .endpoints import Endpoints
from .interrupt import Interrupt
from .item import Ending, ask
from .pace import Pace
from .progress import Progress
from .replies import Next, Reply
from .runs import RunStore
from .store import Ended, Pending
from .tally import Tally
from .work import Work

DEAD_AFTER = 5
"""Connection errors in a row, with no response ever, after which an endpoint is dead."""
HEAD_START = 0.2
"""Seconds for which the first call goes alone: what is wrong with all is found by one."""
RETRY_AFTER_CAP = 60.0
OVERLOADED = {429, 503, 529}
"""Answers that ask for fewer calls at once."""
BACKOFF_CAP = 30.0
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
        self._pace = Pace(settings.concurrency, settings.rpm, settings.tpm)
        self._alive, self._dead = False, 0
        self._buffer: deque[Pending] = deque()
        self._stop_error: ServiceError | None = None

    def begin(self) -> None:
        """Count what needs no call; nothing has been asked yet."""
        self._keys = self._work.open_keys()
        self.tally.planned, self.tally.cached = self._work.progress(len(self._keys))
        self.tally.done = self.tally.cached
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
        settings = self._settings
        async with Endpoints(
            settings.all_endpoints,
            timeout_seconds=settings.timeout_seconds,
            concurrency=settings.concurrency,
            proxy=settings.proxy,
            ca_file=settings.ca_file,
            note=self._progress.note,
        ) as self._endpoints:
            try:
                async with asyncio.TaskGroup() as group:
                    for number in range(settings.concurrency):
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
        ticket = await self._pace.enter(guess(sent).total, self._stop)
        if ticket is None:
            return None
        reply = await self._endpoints.ask(sent)
        used = self._settle(most, reply)
        overloaded = reply.http_status in OVERLOADED or reply.status is Status.TIMEOUT
        asked = reply.limit_reset if reply.retry_after is None else reply.retry_after
        hold = None if asked is None else min(asked, RETRY_AFTER_CAP)
        cut = self._pace.leave(ticket, used=used.total, overloaded=overloaded, hold=hold)
        if cut and self._pace.overloads == 1:
            self._progress.note(f"{self._where} is overloaded: asking more slowly")
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

    def _settle(self, most: Usage, reply: Reply) -> Usage:
        """What a call used: as told; its bound if it was sent and nothing came back."""
        free = reply.unsent or (reply.http_status or 0) >= 400
        told = Usage(
            most.prompt if reply.prompt_tokens is None else reply.prompt_tokens,
            most.reply if reply.completion_tokens is None else reply.completion_tokens,
        )
        reserved = most if self._purse.caps else Usage()
        used = Usage() if free else told
        self._purse.settle(reserved, used)
        self._settled.set()
        return used

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
        if reply.next is Next.STOP:
            self._halt(self._refused(reply))
        if not learnt:
            self._opened.set()
        self._alive = self._alive or reply.connected or reply.http_status is not None
        self._dead += 1
        if not self._alive and self._dead >= DEAD_AFTER:
            self._halt(
                ServiceError(
                    f"{self._where}: no connection after {self._dead} attempts"
                    f" ({reply.error_text}); start the endpoint or correct the URL, then run"
                    " the same command again"
                )
            )

    def _refused(self, reply: Reply) -> ServiceError:
        """Why the endpoint will not answer anything, in one line."""
        settings = self._settings
        what = {
            401: f"set a valid key in {settings.key_env(reply.endpoint)}",
            403: "check that this key may use this model",
            404: "check the URL and the model name",
            407: "correct the proxy's user and password",
        }.get(reply.http_status or 0, "add credit or raise the limit")
        where = reply.endpoint if settings.endpoints else self._where
        return ServiceError(
            f"{where}: HTTP {reply.http_status} {reply.error_class} for model"
            f" {settings.model} ({reply.error_text}); {what}, then run the same command"
            f" again ({self.tally.replies} replies of this run are saved)"
        )

    def _halt(self, error: ServiceError) -> None:
        self._stop_error = self._stop_error or error
        self._stop.set()

    async def pause(self, failures: int, reply: Reply) -> None:
        """Wait before the next attempt, but not longer than the run goes on."""
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(self._stop.wait(), self._delay(failures, reply.retry_after))

    def _delay(self, number: int, asked: float | None) -> float:
        """Seconds before the next attempt: what the endpoint asked for (capped), or backoff."""
        if asked is not None:
            return min(asked, RETRY_AFTER_CAP)
        backoff = min(self._settings.backoff_seconds * 2.0 ** (number - 1), BACKOFF_CAP)
        return backoff * random.uniform(0.5, 1.0)

    def _raise_if_useless(self) -> None:
        """No run ends well in which every call failed (single rejected items aside)."""
        if self._stop_error is not None:
            raise self._stop_error
        if self.interrupted or self.tally.replies or not self.tally.calls:
            return
        if self.tally.cached and self.tally.rejected == self.tally.calls:
            return
        counts = sorted(self.tally.failed.items())
        failed = ", ".join(f"{name} {count}" for name, count in counts)
        raise ServiceError(
            f"{self._where}: all {self.tally.calls} calls failed ({failed}); no verdict was made;"
            " see the stored errors, correct the settings and run the same command again"
        )

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
        rejected = self.parameters.rejected.items()
        found = [f"the endpoint rejects parameter {name}: {fate}" for name, fate in rejected]
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
