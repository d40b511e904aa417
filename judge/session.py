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
from .commits import Commits
from .endpoints import Endpoints
from .pace import Pace
from .parse import Parsed
from .plan import body_of
from .progress import Progress
from .replies import Next, Reply
from .settings import JudgeSettings
from .store import Ended, Pending, VerdictStore
from .tally import RunSummary, Tally

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
        verdicts: VerdictStore,
        run_id: str,
        pairs: list[str],
        settings: JudgeSettings,
        progress: Progress,
    ) -> None:
        self.interrupted = self.at_cap = False
        self._verdicts, self._run_id, self._pairs = verdicts, run_id, pairs
        self._settings, self._progress = settings, progress
        self._parameters = Parameters(verdicts.run(run_id).manifest["rejected_parameters"])
        caps = Caps(settings.cap_usd, settings.cap_tokens, settings.price)
        self._purse = Purse(caps, Usage(*verdicts.used(run_id)))
        self._began = time.monotonic()
        self._tally = Tally()
        self._pace = Pace(settings.concurrency, settings.rpm, settings.tpm)
        self._alive, self._dead = False, 0
        self._seen: set[str] = set()
        self._buffer: deque[Pending] = deque()
        self._stop_error: ServiceError | None = None

    def begin(self) -> None:
        """Count what needs no call; nothing has been asked yet."""
        retry = self._settings.retry_failed
        self._tally.planned = self._verdicts.size(self._run_id, self._pairs)
        waiting = self._verdicts.waiting(self._run_id, self._pairs, retry_failed=retry)
        self._tally.cached = self._tally.done = self._tally.planned - waiting
        self._progress.start(self._tally.planned, self._tally.cached)

    async def work(self) -> None:
        """Ask everything that is pending; returns after the last reply is committed."""
        if self._tally.done == self._tally.planned:
            return
        self._stop, self._opened, self._lock = asyncio.Event(), asyncio.Event(), asyncio.Lock()
        self._settled, self._commits = asyncio.Event(), Commits(self._write)
        # All SQL runs in one thread: a commit that waits for the disk, or for another
        # process's write, must not hold up the replies' clocks.
        with ThreadPoolExecutor(1, thread_name_prefix="judge-store") as self._sql:
            self._waiting = self._pending()
            with self._sigint():
                await self._ask_all()
            if self.at_cap:
                await self._in_store(lambda: self._verdicts.skip_waiting(self._run_id, self._pairs))
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
        ) as endpoints:
            try:
                async with asyncio.TaskGroup() as group:
                    for number in range(settings.concurrency):
                        group.create_task(self._worker(endpoints, number))
            except BaseExceptionGroup as errors:
                raise _first(errors) from errors

    async def _worker(self, endpoints: Endpoints, number: int) -> None:
        if number:
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._opened.wait(), HEAD_START)
        while (item := await self._next()) is not None:
            await self._ask(endpoints, item)

    async def _next(self) -> Pending | None:
        """The next request to ask, or None when there is none or the run is stopping."""
        async with self._lock:
            while not self._stop.is_set():
                if self._buffer:
                    return self._buffer.popleft()
                piece = await self._in_store(lambda: next(self._waiting, None))
                if piece is None:
                    return None
                # Two items can share a request (both answers are the same text).
                fresh = [item for item in piece if item.key not in self._seen]
                self._seen.update(item.key for item in fresh)
                self._buffer.extend(fresh)
        return None

    def _pending(self) -> Iterator[list[Pending]]:
        retry = self._settings.retry_failed
        return self._verdicts.pending(self._run_id, self._pairs, retry_failed=retry)

    async def _ask(self, endpoints: Endpoints, item: Pending) -> None:
        """One request to its end: as many failed calls as configured, not one more.

        Neither a call that taught us a parameter nor the one retry of a reply that was
        cut off counts as a failed attempt; each can happen only once.
        """
        planned, doubled, failures = body_of(item.body), item.doubled, 0
        while not self._stop.is_set():
            sent = self._parameters.apply(planned, doubled=doubled)
            reply = await self._send(endpoints, sent)
            if reply is None:
                return
            learnt = await self._learn(sent, reply)
            failures += reply.next is Next.RETRY
            last = reply.next in (Next.KEEP, Next.GIVE_UP) or failures == self._settings.attempts
            last = last and not learnt and reply.next is not Next.STOP
            parsed = await self._save(item, reply, last)
            if reply.next is Next.STOP:
                self._halt(self._refused(reply))
            self._watch(reply)
            if learnt:
                continue
            self._opened.set()
            if parsed.status is Status.TRUNCATED and not doubled:
                doubled = True
            elif last:
                self._count(parsed)
                return
            else:
                await self._pause(self._delay(failures, reply.retry_after))

    async def _send(self, endpoints: Endpoints, sent: Mapping[str, Any]) -> Reply | None:
        """One call, as soon as caps and pace allow; None when the run stops before."""
        most = bound(sent)
        if not await self._afford(sent, most):
            return None
        ticket = await self._pace.enter(guess(sent).total, self._stop)
        if ticket is None:
            return None
        reply = await endpoints.ask(sent)
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

    async def _learn(self, sent: Mapping[str, Any], reply: Reply) -> bool:
        """Whether the call was refused for a parameter that is left out from now on."""
        if reply.next is not Next.GIVE_UP:
            return False
        news = self._parameters.learn(sent, reply.http_status, reply.raw)
        if news:
            self._progress.note(f"warning: {news}")
            rejected = dict(self._parameters.rejected)
            await self._in_store(lambda: self._verdicts.note_rejected(self._run_id, rejected))
        return news is not None

    async def _save(self, item: Pending, reply: Reply, last: bool) -> Parsed:
        """Save the call, then count it: what is counted is on disk."""
        parsed = await self._commits.save(Ended(item.key, reply, last))
        self._tally.call(reply)
        return parsed

    def _count(self, parsed: Parsed) -> None:
        """A request has come to its end."""
        self._tally.end(parsed)
        self._progress.update(self._tally.done, self._tally.failed)

    def _watch(self, reply: Reply) -> None:
        """Stop early when nothing answers at all."""
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
            f" again ({self._tally.replies} replies of this run are saved)"
        )

    def _halt(self, error: ServiceError) -> None:
        self._stop_error = self._stop_error or error
        self._stop.set()

    async def _pause(self, seconds: float) -> None:
        """Wait, but not longer than the run goes on."""
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(self._stop.wait(), seconds)

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
        if self.interrupted or self.at_cap or self._tally.replies or not self._tally.calls:
            return
        if self._tally.cached and self._tally.rejected == self._tally.calls:
            return
        counts = sorted(self._tally.failed.items())
        failed = ", ".join(f"{name} {count}" for name, count in counts)
        raise ServiceError(
            f"{self._where}: all {self._tally.calls} calls failed ({failed}); no verdict was made;"
            " see the stored errors, correct the settings and run the same command again"
        )

    @property
    def _where(self) -> str:
        return self._settings.endpoint_name

    @contextlib.contextmanager
    def _sigint(self) -> Iterator[None]:
        """The first interrupt drains, the second one aborts as usual."""
        loop = asyncio.get_running_loop()
        if threading.current_thread() is not threading.main_thread():
            yield
            return

        def drain() -> None:
            loop.remove_signal_handler(signal.SIGINT)
            self.interrupted = True
            self._stop.set()
            self._progress.note(
                "interrupted: finishing the calls in flight (interrupt again to abort);"
                " run the same command again to continue"
            )

        loop.add_signal_handler(signal.SIGINT, drain)
        try:
            yield
        finally:
            loop.remove_signal_handler(signal.SIGINT)

    async def _write(self, calls: Sequence[Ended]) -> list[Parsed]:
        return await self._in_store(lambda: self._verdicts.record_attempts(self._run_id, calls))

    async def _in_store(self, work: Callable[[], T]) -> T:
        return await asyncio.get_running_loop().run_in_executor(self._sql, work)

    def summary(self, name: str, state: str, warnings: tuple[str, ...]) -> RunSummary:
        """The session's counts and what the plan holds now."""
        rejected = self._parameters.rejected.items()
        found = [f"the endpoint rejects parameter {name}: {fate}" for name, fate in rejected]
        if self.at_cap:
            found.append(
                "stopped before a call that could exceed the cap: the rest is skipped_budget;"
                " run the same command again with a higher cap to continue"
            )
        return RunSummary(
            run_id=self._run_id,
            name=name,
            state=state,
            planned=self._tally.planned,
            cached=self._tally.cached,
            calls=self._tally.calls,
            statuses=self._verdicts.counts(self._run_id, self._pairs),
            pair_verdicts=self._verdicts.pair_counts(self._run_id, self._pairs),
            prompt_tokens=self._tally.prompt_tokens,
            completion_tokens=self._tally.completion_tokens,
            tokens_unknown=self._tally.tokens_unknown,
            usd=self._purse.caps.cost(self._purse.spent),
            seconds=time.monotonic() - self._began,
            warnings=(*warnings, *found),
        )


def _first(errors: BaseExceptionGroup[BaseException]) -> BaseException:
    """The first error of a group that was not itself caused by the cancelling."""
    leaves: list[BaseException] = []
    for error in errors.exceptions:
        leaves.append(_first(error) if isinstance(error, BaseExceptionGroup) else error)
    return next((e for e in leaves if isinstance(e, EvenhandError)), leaves[0])
