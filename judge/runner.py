"""Run the judge: plan in full, ask what has no reply yet, commit each reply at once.

Retries are a loop of our own and not stamina's: a wait must end when the run is told to
stop, every attempt is logged before the next, and some failures stop all workers.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import platform
import random
import signal
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from importlib import metadata
from typing import TYPE_CHECKING, Any, TypeVar
from urllib.parse import urlsplit

from annotate.errors import DataError, EvenhandError, NothingComputable, ServiceError, UsageError
from annotate.records import HARMLESSNESS, Status, digest
from annotate.store import Store

from . import plan
from .parse import PARSER_VERSION
from .plan import Next, PlanSpec, Preflight, Reply, body_of
from .progress import Progress, Silent
from .prompt import load
from .store import Pending, VerdictStore
from .verdicts import AGGREGATION

if TYPE_CHECKING:
    from .client import Client

DEAD_AFTER = 5
"""Connection errors in a row, with no response ever, after which an endpoint is dead."""
RETRY_AFTER_CAP = 60.0
BACKOFF_CAP = 30.0
PROBLEMS_SHOWN = 5
VERDICT_TOKENS = 32
EXPLAIN_TOKENS = 512
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class JudgeSettings:
    """Everything a run depends on; checked when made.

    `endpoint` names the endpoint in keys and manifests when its URL changes from start
    to start (the local model); by default it is the URL without credentials and query.
    `max_tokens` None means enough for a verdict (with `explain`: for an explanation).
    `max_tokens_param` "" picks the name that the endpoint takes.
    """

    base_url: str
    model: str
    api_key_env: str = "OPENAI_API_KEY"
    dimensions: tuple[str, ...] = (HARMLESSNESS,)
    limit: int | None = None
    temperature: float | None = 0.0
    max_tokens: int | None = None
    max_tokens_param: str = ""
    concurrency: int = 8
    attempts: int = 4
    timeout_seconds: float = 60.0
    backoff_seconds: float = 0.5
    retry_failed: bool = False
    seed: int | None = 0
    extra_body: Mapping[str, Any] = field(default_factory=dict)
    explain: bool = False
    name: str = ""
    endpoint: str = ""
    endpoint_details: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Refuse what no run could use.

        Raises:
            UsageError: names the setting, its value and what was expected.
        """
        try:
            url = urlsplit(self.base_url)
            _ = url.port
        except ValueError as error:
            raise UsageError(f"base_url: {error}; expected http(s)://host/…") from error
        _require(url.scheme in ("http", "https"), "base_url", self.base_url, "http(s)://…")
        # The value is not repeated here: it holds a secret.
        _require("@" not in url.netloc, "base_url", "(with credentials)", f"${self.api_key_env}")
        _require(bool(self.model), "model", self.model, "a model name")
        _require(bool(self.dimensions), "dimensions", self.dimensions, "one or more")
        unique = len(set(self.dimensions)) == len(self.dimensions)
        _require(unique, "dimensions", self.dimensions, "each one once")
        for name in ("concurrency", "attempts", "timeout_seconds"):
            _require(getattr(self, name) > 0, name, getattr(self, name), "more than 0")
        for name in ("limit", "max_tokens"):
            value = getattr(self, name)
            _require(value is None or value > 0, name, value, "more than 0")
        _require(self.backoff_seconds >= 0, "backoff_seconds", self.backoff_seconds, "0 or more")
        taken = {"model", "messages"} & set(self.extra_body)
        _require(not taken, "extra_body", sorted(taken), "other fields than these")

    @property
    def endpoint_name(self) -> str:
        """The endpoint as stored: no credentials, no query."""
        url = urlsplit(self.base_url)
        return self.endpoint or f"{url.scheme}://{url.netloc}{url.path.rstrip('/')}"

    @property
    def sampling(self) -> dict[str, Any]:
        """The part of a request's body that is not model or messages."""
        limit = self.max_tokens or (EXPLAIN_TOKENS if self.explain else VERDICT_TOKENS)
        wanted = {"temperature": self.temperature, self._limit_name: limit, "seed": self.seed}
        return {k: v for k, v in wanted.items() if v is not None} | dict(self.extra_body)

    @property
    def _limit_name(self) -> str:
        """OpenAI's own endpoint has renamed the parameter; others know the old name."""
        if self.max_tokens_param:
            return self.max_tokens_param
        hosted = urlsplit(self.base_url).hostname == "api.openai.com"
        return "max_completion_tokens" if hosted else "max_tokens"


@dataclass(frozen=True, slots=True)
class RunSummary:
    """What a run did and what its plan holds now.

    `calls` are HTTP calls of this start, retries included; `cached` requests needed none.
    `statuses` counts the plan's requests, `pair_verdicts` its pairs × turns × dimensions.
    Tokens are sums over calls that told them; `tokens_unknown` calls did not.
    """

    run_id: str
    name: str
    state: str
    planned: int
    cached: int
    calls: int
    statuses: Mapping[str, int]
    pair_verdicts: Mapping[str, int]
    prompt_tokens: int
    completion_tokens: int
    tokens_unknown: int
    seconds: float
    warnings: tuple[str, ...]


class PreflightError(DataError):
    """The plan has errors; `preflight` lists them all."""

    def __init__(self, found: Preflight) -> None:
        shown = "; ".join(found.errors[:PROBLEMS_SHOWN])
        more = len(found.errors) - PROBLEMS_SHOWN
        rest = f"; and {more} more" if more > 0 else ""
        super().__init__(f"preflight: {len(found.errors)} errors, nothing was asked: {shown}{rest}")
        self.preflight = found


def run(store: Store, settings: JudgeSettings, progress: Progress | None = None) -> RunSummary:
    """Judge the first `limit` pairs in every turn, dimension and order.

    A run with the same fingerprint and endpoint is continued: no committed reply is asked
    again. Interrupt (SIGINT) finishes the calls in flight and returns with the state
    `stopped`; a second interrupt aborts.

    Raises:
        PreflightError: a turn is missing somewhere; nothing was asked.
        NothingComputable: there is no pair with text.
        ServiceError: the endpoint is unreachable, out of credit or refuses the key, or
            every call failed; whatever was answered is saved.
        UsageError: a setting that cannot be used.
    """
    shown: Progress = progress or Silent()
    spec, ids = _spec(settings), plan.pair_ids(store, settings.limit)
    found = _checked(store, ids)
    for warning in found.warnings:
        shown.note(f"warning: {warning}")
    verdicts = VerdictStore(store)
    started = verdicts.start_run(
        model=settings.model,
        endpoint=settings.endpoint_name,
        fingerprint=fingerprint(settings),
        manifest=manifest(settings, found),
        name=settings.name,
    )
    session = _Session(verdicts, started.id, ids, settings, shown)
    state = "failed"
    try:
        for requests in plan.plan(store, ids, spec):
            verdicts.register(started.id, requests)
        session.begin()
        _drive(session)
        state = "stopped" if session.interrupted else "done"
    finally:
        verdicts.finish_run(started.id, state)
        shown.finish()
    return session.summary(started.name, state, found.warnings)


def preflight(store: Store, settings: JudgeSettings) -> Preflight:
    """Everything that is wrong with the plan, without asking anything."""
    ids = plan.pair_ids(store, settings.limit)
    return plan.preflight(pair for piece in plan.chunks(store, ids) for pair in piece)


def fingerprint(settings: JudgeSettings) -> str:
    """SHA-256 of what makes two runs the same judge: model, prompts, sampling, rule."""
    return digest(_judge(settings))


def manifest(settings: JudgeSettings, found: Preflight) -> dict[str, Any]:
    """Everything that defines this start of a run; no secret is in it."""
    return {
        **_judge(settings),
        "fingerprint": fingerprint(settings),
        "endpoint": settings.endpoint_name,
        "endpoint_details": dict(settings.endpoint_details),
        "data_digest": found.data_digest,
        "pairs": found.pairs,
        "limit": settings.limit,
        "order_plan": plan.ORDER_PLAN,
        "parser": PARSER_VERSION,
        "versions": {
            "evenhand": _version("evenhand"),
            "openai": _version("openai"),
            "python": platform.python_version(),
        },
    }


def _judge(settings: JudgeSettings) -> dict[str, Any]:
    """What the fingerprint is taken over."""
    prompts = [load(dimension) for dimension in sorted(settings.dimensions)]
    return {
        "requested_model": settings.model,
        "prompts": [
            {"id": p.id, "version": p.version, "dimension": p.dimension, "hash": p.hash}
            for p in prompts
        ],
        "sampling": settings.sampling,
        "output_mode": "tag with explanation" if settings.explain else "tag",
        "aggregation": AGGREGATION,
    }


def _spec(settings: JudgeSettings) -> PlanSpec:
    return PlanSpec(
        endpoint=settings.endpoint_name,
        model=settings.model,
        prompts=tuple(load(dimension) for dimension in settings.dimensions),
        sampling=settings.sampling,
        explain=settings.explain,
    )


def _checked(store: Store, ids: list[str]) -> Preflight:
    """The preflight of these pairs; raises when the run cannot start."""
    found = plan.preflight(pair for piece in plan.chunks(store, ids) for pair in piece)
    if found.errors:
        raise PreflightError(found)
    if not found.pairs:
        raise NothingComputable(
            f"{store.path}: no pair with text to judge; import questions and the answers of two"
            " models"
        )
    return found


def _drive(session: _Session) -> None:
    """Run the session's event loop: here, or beside a loop that runs already (notebooks)."""
    if not _loop_runs():
        asyncio.run(session.work())
        return
    with ThreadPoolExecutor(1) as beside:
        beside.submit(asyncio.run, session.work()).result()


def _loop_runs() -> bool:
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return False
    return True


class _Session:
    """One start of a run: workers, retries, what was counted."""

    def __init__(
        self,
        verdicts: VerdictStore,
        run_id: str,
        pairs: list[str],
        settings: JudgeSettings,
        progress: Progress,
    ) -> None:
        self.interrupted = False
        self._verdicts, self._run_id, self._pairs = verdicts, run_id, pairs
        self._settings, self._progress = settings, progress
        self._began = time.monotonic()
        self._planned = self._cached = self._done = 0
        self._calls = self._replies = self._rejected = self._dead = 0
        self._alive = False
        self._tokens = [0, 0, 0]
        self._failed: dict[str, int] = {}
        self._seen: set[str] = set()
        self._buffer: deque[Pending] = deque()
        self._stop_error: ServiceError | None = None

    def begin(self) -> None:
        """Count what needs no call; nothing has been asked yet."""
        counts = self._verdicts.counts(self._run_id, self._pairs)
        again = {"pending", "api_error", "timeout"}
        if self._settings.retry_failed:
            again = set(counts) - {"ok"}
        self._planned = sum(counts.values())
        self._cached = self._done = sum(n for name, n in counts.items() if name not in again)
        self._progress.start(self._planned, self._cached)

    async def work(self) -> None:
        """Ask everything that is pending; returns after the last reply is committed."""
        if self._done == self._planned:
            return
        self._stop, self._lock = asyncio.Event(), asyncio.Lock()
        # All SQL runs in one thread: a commit that waits for the disk, or for another
        # process's write, must not hold up the replies' clocks.
        with ThreadPoolExecutor(1, thread_name_prefix="judge-store") as self._sql:
            self._waiting = self._pending()
            with self._sigint():
                await self._ask_all()
        self._raise_if_useless()

    async def _ask_all(self) -> None:
        from .client import Client

        settings = self._settings
        key = os.environ.get(settings.api_key_env) or "none"
        async with Client(
            settings.base_url,
            key,
            timeout_seconds=settings.timeout_seconds,
            concurrency=settings.concurrency,
        ) as client:
            try:
                async with asyncio.TaskGroup() as group:
                    for _ in range(settings.concurrency):
                        group.create_task(self._worker(client))
            except BaseExceptionGroup as errors:
                raise _first(errors) from errors

    async def _worker(self, client: Client) -> None:
        while (item := await self._next()) is not None:
            await self._ask(client, item)

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

    async def _ask(self, client: Client, item: Pending) -> None:
        """One request with its retries: as many calls as configured, not one more."""
        body = body_of(item.body)
        for number in range(1, self._settings.attempts + 1):
            reply = await client.ask(body)
            final = reply.next in (Next.KEEP, Next.GIVE_UP)
            final = final or (reply.next is Next.RETRY and number == self._settings.attempts)
            await self._commit(item, reply, final)
            if reply.next is Next.STOP:
                self._halt(self._refused(reply))
            self._watch(reply)
            if final or self._stop.is_set():
                return
            await self._pause(self._delay(number, reply.retry_after))
            if self._stop.is_set():
                return

    async def _commit(self, item: Pending, reply: Reply, final: bool) -> None:
        """Save the call, then count it: what is counted is on disk."""
        parsed = await self._in_store(
            lambda: self._verdicts.record_attempt(self._run_id, item.key, reply, final=final)
        )
        self._calls += 1
        self._count_tokens(reply)
        if reply.status not in (Status.API_ERROR, Status.TIMEOUT):
            self._replies += 1
        elif reply.next is Next.GIVE_UP:
            self._rejected += 1
        if not final:
            return
        self._done += 1
        if parsed.status is not Status.OK:
            self._failed[parsed.status] = self._failed.get(parsed.status, 0) + 1
        self._progress.update(self._done, self._failed)

    def _count_tokens(self, reply: Reply) -> None:
        if reply.prompt_tokens is None or reply.completion_tokens is None:
            self._tokens[2] += 1
        self._tokens[0] += reply.prompt_tokens or 0
        self._tokens[1] += reply.completion_tokens or 0

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
        what = {
            401: f"set a valid key in {self._settings.api_key_env}",
            403: "check that this key may use this model",
            404: "check the URL and the model name",
        }.get(reply.http_status or 0, "add credit or raise the limit")
        return ServiceError(
            f"{self._where}: HTTP {reply.http_status} {reply.error_class} for model"
            f" {self._settings.model} ({reply.error_text}); {what}, then run the same command"
            f" again ({self._replies} replies of this run are saved)"
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
        if self.interrupted or self._replies or not self._calls:
            return
        if self._cached and self._rejected == self._calls:
            return
        failed = ", ".join(f"{name} {count}" for name, count in sorted(self._failed.items()))
        raise ServiceError(
            f"{self._where}: all {self._calls} calls failed ({failed}); no verdict was made; see"
            " the stored errors, correct the settings and run the same command again"
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

    async def _in_store(self, work: Callable[[], T]) -> T:
        return await asyncio.get_running_loop().run_in_executor(self._sql, work)

    def summary(self, name: str, state: str, warnings: tuple[str, ...]) -> RunSummary:
        """The session's counts and what the plan holds now."""
        return RunSummary(
            run_id=self._run_id,
            name=name,
            state=state,
            planned=self._planned,
            cached=self._cached,
            calls=self._calls,
            statuses=self._verdicts.counts(self._run_id, self._pairs),
            pair_verdicts=self._verdicts.pair_counts(self._run_id, self._pairs),
            prompt_tokens=self._tokens[0],
            completion_tokens=self._tokens[1],
            tokens_unknown=self._tokens[2],
            seconds=time.monotonic() - self._began,
            warnings=warnings,
        )


def _first(errors: BaseExceptionGroup[BaseException]) -> BaseException:
    """The first error of a group that was not itself caused by the cancelling."""
    leaves: list[BaseException] = []
    for error in errors.exceptions:
        leaves.append(_first(error) if isinstance(error, BaseExceptionGroup) else error)
    return next((e for e in leaves if isinstance(e, EvenhandError)), leaves[0])


def _require(holds: bool, name: str, value: object, expected: str) -> None:
    if not holds:
        raise UsageError(f"judge setting {name} is {value!r}; expected {expected}")


def _version(distribution: str) -> str:
    try:
        return metadata.version(distribution)
    except metadata.PackageNotFoundError:
        return "unknown"
