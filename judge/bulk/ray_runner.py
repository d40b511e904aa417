"""Run the judge on a Ray cluster: Ray Data hands out the requests, this process commits."""

from __future__ import annotations

import logging
import math
import time
from collections.abc import Generator, Mapping, Sequence
from contextlib import closing
from dataclasses import asdict, dataclass
from typing import Any

from annotate.errors import ServiceError, UsageError
from annotate.store import Store
from judge.bulk.ray_cluster import cluster, require_ray
from judge.bulk.ray_worker import Block, RayWorker
from judge.database.store import Pending, VerdictStore
from judge.engine.adapt import Parameters
from judge.engine.alarm import Alarm, useless
from judge.engine.progress import Progress
from judge.engine.runner import conduct
from judge.engine.settings import JudgeSettings
from judge.engine.tally import RunSummary, Tally
from judge.engine.work import JudgeWork

WAVE = 10_000
"""Requests in one Dataset: no more bodies than these are held at once."""
LEAST_BLOCK = 8
"""Requests that Ray hands out together, at least: handing out costs milliseconds."""
CPUS_EACH = 0.5
"""Of a core that Ray keeps free for an actor, which mostly waits."""
LEFT = "requests were left by workers that could reach nothing"


def run_ray(
    store: Store,
    settings: JudgeSettings,
    progress: Progress | None = None,
    *,
    actors: int | None = None,
    address: str | None = None,
) -> RunSummary:
    """Judge as :func:`judge.engine.runner.run` does, with the calls made by actors on a cluster.

    `actors` (default: one per node) share `concurrency`, `rpm` and `tpm`. The cluster is at
    `address`; without it, one that this process is connected to, or one that is started on
    this machine for the run. Keys are read from the workers' environment.

    A kill or interrupt loses the blocks at work: at most twice `concurrency` requests (or
    16 per actor), and what Ray has not handed over yet; the next start asks them.

    Raises:
        PreflightError, NothingComputable, ServiceError: as `run` does.
        UsageError: Ray is not installed, or the settings have caps.
    """
    require_ray()
    if settings.cap_usd or settings.cap_tokens:
        raise UsageError("caps do not hold across a cluster: leave --ray or the caps out")
    if actors is not None and not 1 <= actors <= settings.concurrency:
        raise UsageError(
            f"{actors} actors: expected 1 to {settings.concurrency}, the calls in flight"
            " (concurrency) that they share"
        )

    def make(
        verdicts: VerdictStore, work: JudgeWork, settings: JudgeSettings, progress: Progress
    ) -> RaySession:
        return RaySession(verdicts, work, settings, progress, Where(address, actors))

    return conduct(store, settings, progress, make, RaySession.ask_all)


@dataclass(frozen=True, slots=True)
class Where:
    """The cluster, and how many actors are wanted on it."""

    address: str | None = None
    actors: int | None = None


@dataclass(frozen=True, slots=True)
class Spread:
    """How requests are spread: over so many actors, in so many blocks, some of them at once."""

    actors: int
    blocks: int
    at_once: int

    @classmethod
    def of(cls, requests: int, concurrency: int, actors: int) -> Spread:
        """Every actor holds twice what it may ask, so that it never waits for Ray."""
        actors = min(actors, requests)
        share = max(1, concurrency // actors)
        block = max(LEAST_BLOCK, math.ceil(share / 4))
        at_once = max(2, math.ceil(2 * share / block))
        return cls(actors, max(actors, math.ceil(requests / block)), at_once)


class RaySession:
    """One start of a run on Ray: what was counted, and what the actors have learnt."""

    def __init__(
        self,
        verdicts: VerdictStore,
        work: JudgeWork,
        settings: JudgeSettings,
        progress: Progress,
        where: Where,
    ) -> None:
        self.tally = Tally()
        self._verdicts, self._work, self._where = verdicts, work, where
        self._settings, self._progress = settings, progress
        rejected = verdicts.run(work.run_id).manifest["rejected_parameters"]
        self._parameters = Parameters(rejected)
        self._alarms: dict[str, Alarm] = {}
        self._noted: set[str] = set()
        self._left, self._interrupted = 0, False
        self._before = work.used()
        self._began = time.monotonic()

    def begin(self) -> None:
        """Count what needs no call; nothing has been asked yet."""
        self._keys = self._work.open_keys()
        self.tally.plan(*self._work.progress(len(self._keys)))
        self._progress.start(self.tally.planned, self.tally.cached)

    def ask_all(self) -> None:
        """Ask everything that is open; returns after the last reply is committed.

        Raises:
            ServiceError: the endpoint refuses everything or cannot be reached, every call
                failed, or the cluster brings nothing.
        """
        keys = self._keys
        if not keys:
            return
        with cluster(self._where.address, cpus=self._where.actors or 1) as nodes:
            actors = self._where.actors or min(nodes, self._settings.concurrency)
            try:
                self._ask_until_done(keys, actors)
            except KeyboardInterrupt:
                self._interrupted = True
                self._progress.note("interrupted: run the same command again to continue")
                return
        if error := useless(self._settings, self.tally):
            raise error

    def _ask_until_done(self, keys: Sequence[str], actors: int) -> None:
        """Ask in waves; what came back unasked goes to other workers while that helps."""
        while keys:
            waves = [keys[start : start + WAVE] for start in range(0, len(keys), WAVE)]
            left = [key for wave in waves for key in self._ask_wave(wave, actors)]
            if left:
                self._progress.note(f"warning: {len(left):,} {LEFT}")
            if len(left) == len(keys):
                self._left = len(left)
                return
            keys = left

    def _ask_wave(self, keys: Sequence[str], actors: int) -> list[str]:
        """Ask these; returns those that came to no end."""
        ended: set[str] = set()
        requests = [row for piece in self._work.pending(keys) for row in self._rows(piece)]
        spread = Spread.of(len(requests), self._settings.concurrency, actors)
        with closing(blocks(requests, self._settings, self._parameters, spread)) as found:
            for block in found:
                self._take(block)
                ended.update(block.ended)
        return [key for key in keys if key not in ended]

    def _rows(self, piece: Sequence[Pending]) -> list[dict[str, Any]]:
        offered = self._verdicts.offered([item.key for item in piece])
        return [{**asdict(item), "offered": offered[item.key]} for item in piece]

    def _take(self, block: Block) -> None:
        """Commit what a block brought, then count it, then see whether to go on."""
        for note in block.notes:
            self._say(note)
        self._learn(block.rejected)
        found = self._work.record(block.calls)
        endings = {call.key: ending for call, ending in zip(block.calls, found, strict=True)}
        for call in block.calls:
            self.tally.call(call.call)
        for key in block.ended:
            self.tally.end(endings[key])
        self._progress.update(self.tally.done, self.tally.failed, self._cost())
        if block.crash:
            raise RuntimeError(f"a bug, in a Ray worker:\n{block.crash}")
        if block.error:
            raise ServiceError(f"a Ray worker cannot begin: {block.error}")
        alarm = self._alarms.setdefault(block.worker, Alarm(self._settings))
        for call in block.calls:
            if error := alarm.heard(call.call, self.tally.replies):
                raise error

    def _learn(self, rejected: Mapping[str, str]) -> None:
        """What one worker has learnt, the next wave's know from the start."""
        news = {k: v for k, v in rejected.items() if k not in self._parameters.rejected}
        if news:
            self._parameters.rejected.update(news)
            for line in Parameters(news).words():
                self._say(f"warning: {line} for this run")
            self._verdicts.note_rejected(self._work.run_id, self._parameters.rejected)

    def _say(self, note: str) -> None:
        """Each worker finds out the same: it is told once."""
        if note not in self._noted:
            self._noted.add(note)
            self._progress.note(note)

    def _cost(self) -> float | None:
        """Dollars as far as calls told their tokens."""
        price, (prompt, reply) = self._settings.price, self._before
        tally = self.tally
        more = (prompt + tally.prompt_tokens, reply + tally.completion_tokens)
        return None if price is None else price.of(*more)

    @property
    def usd(self) -> float | None:
        """What the run has cost over all its starts, None when the price is unknown."""
        price = self._settings.price
        return None if price is None else price.of(*self._work.used())

    @property
    def seconds(self) -> float:
        """How long this start has run."""
        return time.monotonic() - self._began

    @property
    def state(self) -> str:
        """How it ended: `done`, or `stopped` before the end of the plan."""
        return "stopped" if self._interrupted or self._left else "done"

    def warnings(self) -> list[str]:
        """What a person should know of how it went."""
        found = self._parameters.words()
        if self._left:
            found.append(f"{self._left:,} {LEFT}; run the same command again to continue")
        return found


def blocks(
    requests: list[dict[str, Any]],
    settings: JudgeSettings,
    parameters: Parameters,
    spread: Spread,
) -> Generator[Block]:
    """What becomes of these requests, a block at a time, as soon as Ray has it.

    Raises:
        ServiceError: Ray cannot run the actors at all.
    """
    import ray
    from ray.data import ActorPoolStrategy, DataContext

    logging.getLogger("ray.data").setLevel(logging.CRITICAL)
    with DataContext.current(DataContext.get_current().copy()):
        _configure(DataContext.get_current())
        dataset = ray.data.from_items(requests, override_num_blocks=spread.blocks).map_batches(
            RayWorker,
            fn_constructor_args=(settings, dict(parameters.rejected), spread.actors),
            batch_size=None,
            batch_format="pyarrow",
            compute=ActorPoolStrategy(
                size=spread.actors,
                max_concurrent_calls_per_actor=spread.at_once,
                max_tasks_in_flight_per_actor=spread.at_once + 2,
            ),
            num_cpus=CPUS_EACH,
        )
    try:
        for table in dataset.iter_batches(
            batch_size=None, batch_format="pyarrow", prefetch_batches=0
        ):
            rows: Any = table
            yield from (Block.from_json(text) for text in rows["block"].to_pylist())
    except ray.exceptions.RayError as error:
        raise ServiceError(
            f"Ray: {_first_line(error)}; evenhand must be installed on every node"
            " of the cluster, in this version"
        ) from error


def _configure(context: Any) -> None:
    context.enable_progress_bars = False
    context.print_on_execution_start = False


def _first_line(error: BaseException) -> str:
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return lines[-1] if lines else type(error).__name__
