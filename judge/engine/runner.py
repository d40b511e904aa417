"""Run the judge: plan in full, ask what has no reply yet, commit each reply at once."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Protocol, TypeVar

from annotate import library
from annotate.errors import NothingComputable
from annotate.records import digest
from annotate.store import Store
from judge.database.runs import Run
from judge.database.store import VerdictStore
from judge.engine import plan
from judge.engine.anchor_runner import check_anchors, checked_fingerprints, served
from judge.engine.interrupt import Interrupt
from judge.engine.output import resolve
from judge.engine.preflight import Preflight, PreflightError, preflight
from judge.engine.progress import Progress, Silent
from judge.engine.run_lock import alone
from judge.engine.session import Session
from judge.engine.settings import JudgeSettings, fingerprint, manifest, plan_spec
from judge.engine.tally import RunSummary, Tally
from judge.engine.units import chunks, unit_ids
from judge.engine.work import JudgeWork
from judge.stats.anchor import anchor_words

__all__ = ["JudgeSettings", "PreflightError", "RunSummary", "run"]

WARNINGS_KEPT = 20


def run(
    store: Store,
    settings: JudgeSettings,
    progress: Progress | None = None,
    *,
    units: Sequence[str] | None = None,
    interrupt: Interrupt | None = None,
) -> RunSummary:
    """Judge the first `limit` pairs (or answers) in every turn, dimension and order.

    With `units`, these instead of the first of the plan.
    A run with the same fingerprint and endpoint is continued: no committed reply is asked
    again. Interrupt (SIGINT) finishes the calls in flight and returns with the state
    `stopped`; a second interrupt aborts. `interrupt` lets another thread do the same.

    Raises:
        PreflightError: a turn is missing somewhere; nothing was asked.
        NothingComputable: there is nothing with text.
        ServiceError: the endpoint is unreachable, out of credit or refuses the key, or
            every call failed; whatever was answered is saved.
        UsageError: a setting that cannot be used.
    """

    def make(
        verdicts: VerdictStore, work: JudgeWork, settings: JudgeSettings, progress: Progress
    ) -> Session:
        return Session(verdicts, work, settings, progress, interrupt)

    return conduct(store, settings, progress, make, drive, units=units)


class Driven(Protocol):
    """One start of a run, whoever makes its calls."""

    tally: Tally

    def begin(self) -> None:
        """Count what needs no call; nothing has been asked yet."""

    def warnings(self) -> list[str]:
        """What a person should know of how it went."""

    @property
    def state(self) -> str:
        """How it ended: `done`, or `stopped` before the end of the plan."""

    @property
    def usd(self) -> float | None:
        """What the run has cost over all its starts, None when the price is unknown."""

    @property
    def seconds(self) -> float:
        """How long this start has run."""


S = TypeVar("S", bound=Driven)


def conduct(
    store: Store,
    settings: JudgeSettings,
    progress: Progress | None,
    make: Callable[[VerdictStore, JudgeWork, JudgeSettings, Progress], S],
    ask_all: Callable[[S], None],
    *,
    units: Sequence[str] | None = None,
) -> RunSummary:
    """A run from its plan to its summary (see :func:`run`); `ask_all` makes the calls."""
    shown: Progress = progress or Silent()
    verdicts = VerdictStore(store)
    units = planned_units(store, settings) if units is None else units
    found, known = prepare(verdicts, settings, units)
    for warning in found.warnings:
        shown.note(f"warning: {warning}")
    settings = resolve(verdicts, settings)
    started = begin(verdicts, settings, units, found, known=known)
    held = frozenset() if settings.again else verdicts.outstanding()
    planned = started.plan["requests"]
    work = JudgeWork(verdicts, started.id, units, planned, settings.retry_failed, held)
    state, said = "failed", list[str]()
    with alone(store.path, started):
        session = make(verdicts, work, settings, shown)
        try:
            session.begin()
            ask_all(session)
            state = session.state
            said += [*left_out(work), *drifted(verdicts, started.id, settings, state)]
        except asyncio.CancelledError:
            state = "stopped"
            raise
        finally:
            verdicts.finish_run(started.id, state)
            shown.finish()
    for line in said:
        shown.note(f"warning: {line}")
    return summary(verdicts, session, started, units, [*found.warnings, *said])


def left_out(work: JudgeWork) -> list[str]:
    """What was not asked because it stands in a batch file."""
    count = work.held_back()
    if not count:
        return []
    return [
        f"{count:,} requests stand in batch files that were not read back yet and were left out, as"
        " they would be paid twice; read them back (evenhand judge ingest-batch) or use --again"
    ]


def drifted(verdicts: VerdictStore, run_id: str, settings: JudgeSettings, state: str) -> list[str]:
    """What the anchor check says, if a fingerprint has answered that was never checked."""
    if state != "done" or not settings.anchors:
        return []
    before, after = checked_fingerprints(verdicts, run_id), served(verdicts, run_id)
    if not before or not after - before:
        return []
    found = check_anchors(verdicts, run_id, settings, before, after, drive)
    return [] if found is None else [anchor_words(found)]


def planned_units(store: Store, settings: JudgeSettings) -> list[str]:
    """What a run with these settings is about, in plan order."""
    return unit_ids(store, settings.mode.subject, settings.limit, settings.baseline, settings.shard)


def prepare(
    verdicts: VerdictStore, settings: JudgeSettings, units: Sequence[str]
) -> tuple[Preflight, bool]:
    """The preflight of a run's units; and whether this very plan is registered already.

    What was checked and registered once need not be read again: a run over 100,000
    finished requests begins to ask within seconds.

    Raises:
        PreflightError: the plan has errors.
        NothingComputable: there is nothing with text.
    """
    started = verdicts.live(fingerprint(settings), settings.endpoint_name)
    stored = {} if started is None else started.plan
    if started and units and stored.get("digest") == plan_digest(verdicts.store, settings, units):
        known = started.manifest
        references = tuple(sorted(known.get("references", {}).items()))
        warnings = tuple(stored["warnings"])
        return Preflight(len(units), (), warnings, known["data_digest"], references), True
    return checked(verdicts.store, settings, units), False


def begin(
    verdicts: VerdictStore,
    settings: JudgeSettings,
    units: Sequence[str],
    found: Preflight,
    *,
    known: bool,
) -> Run:
    """Start or continue the run of these settings, with its whole plan registered."""
    started = verdicts.start_run(
        model=settings.model,
        endpoint=settings.endpoint_name,
        fingerprint=fingerprint(settings),
        manifest=manifest(settings, found),
        name=settings.name,
        mode=settings.mode,
    )
    identity = plan_digest(verdicts.store, settings, units)
    # `auto` may have become another form since, and with it another run.
    if known and started.plan.get("digest") == identity:
        return started
    pieces = chunks(verdicts.store, settings.mode.subject, units, settings.references)
    for requests in plan.plan(pieces, plan_spec(settings)):
        verdicts.register(started.id, requests)
    kept = {
        "digest": identity,
        "requests": verdicts.size(started.id, units),
        "warnings": list(found.warnings[:WARNINGS_KEPT]),
    }
    verdicts.note_plan(started.id, kept)
    return replace(started, plan=kept)


def plan_digest(store: Store, settings: JudgeSettings, units: Sequence[str]) -> str:
    """SHA-256 of all that a plan is made of; the texts stand behind their units' ids."""
    return digest(
        [
            fingerprint(settings),
            settings.endpoint_name,
            settings.turns,
            settings.replicates,
            list(units),
            library.changing_parts(store),
        ]
    )


def checked(store: Store, settings: JudgeSettings, units: Sequence[str]) -> Preflight:
    """The preflight of these units; raises when the run cannot start.

    Raises:
        PreflightError: a turn or a reference is missing.
        NothingComputable: there is nothing with text.
    """
    pieces = chunks(store, settings.mode.subject, units, settings.references)
    every = (unit for piece in pieces for unit in piece)
    found = preflight(every, plan_spec(settings), settings.references)
    if found.errors:
        raise PreflightError(found)
    if not found.units:
        raise NothingComputable(
            f"{store.path}: no {settings.mode.subject} with text to judge; import questions and"
            " the answers of two models"
        )
    return found


def drive(session: Session) -> None:
    """Run the session's event loop: here, or beside a loop that runs already (notebooks)."""
    if not _loop_runs():
        asyncio.run(session.work())
        return
    with ThreadPoolExecutor(1) as beside:
        beside.submit(asyncio.run, session.work()).result()


def summary(
    verdicts: VerdictStore,
    session: Driven,
    started: Run,
    units: Sequence[str],
    warnings: Sequence[str],
) -> RunSummary:
    """The session's counts and what the plan holds now."""
    return RunSummary(
        run_id=started.id,
        name=started.name,
        state=session.state,
        planned=session.tally.planned,
        cached=session.tally.cached,
        calls=session.tally.calls,
        statuses=verdicts.counts(started.id, units),
        judgments=verdicts.judgment_counts(started.id, units),
        prompt_tokens=session.tally.prompt_tokens,
        completion_tokens=session.tally.completion_tokens,
        tokens_unknown=session.tally.tokens_unknown,
        usd=session.usd,
        seconds=session.seconds,
        warnings=(*warnings, *session.warnings()),
        failures=verdicts.failures(started, units),
    )


def _loop_runs() -> bool:
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return False
    return True
