"""Run the judge: plan in full, ask what has no reply yet, commit each reply at once."""

from __future__ import annotations

import asyncio
from concurrent.futures import ThreadPoolExecutor

from annotate.errors import DataError, NothingComputable
from annotate.store import Store

from . import plan
from .output import resolve
from .plan import Preflight
from .progress import Progress, Silent
from .session import Session
from .settings import JudgeSettings, fingerprint, manifest, plan_spec
from .store import VerdictStore
from .tally import RunSummary

__all__ = ["JudgeSettings", "PreflightError", "RunSummary", "preflight", "run"]

PROBLEMS_SHOWN = 5


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
    ids = plan.pair_ids(store, settings.limit)
    found = checked(store, ids)
    for warning in found.warnings:
        shown.note(f"warning: {warning}")
    verdicts = VerdictStore(store)
    settings = resolve(verdicts, settings)
    started = verdicts.start_run(
        model=settings.model,
        endpoint=settings.endpoint_name,
        fingerprint=fingerprint(settings),
        manifest=manifest(settings, found),
        name=settings.name,
    )
    session = Session(verdicts, started.id, ids, settings, shown)
    state = "failed"
    try:
        for requests in plan.plan(store, ids, plan_spec(settings)):
            verdicts.register(started.id, requests)
        session.begin()
        _drive(session)
        state = "stopped" if session.interrupted or session.at_cap else "done"
    finally:
        verdicts.finish_run(started.id, state)
        shown.finish()
    return session.summary(started.name, state, found.warnings)


def preflight(store: Store, settings: JudgeSettings) -> Preflight:
    """Everything that is wrong with the plan, without asking anything."""
    ids = plan.pair_ids(store, settings.limit)
    return plan.preflight(pair for piece in plan.chunks(store, ids) for pair in piece)


def checked(store: Store, ids: list[str]) -> Preflight:
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


def _drive(session: Session) -> None:
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
