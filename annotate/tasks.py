"""What a rater gets next: pairs, answers, or neither; and stopping without a penalty."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from typing import TypeAlias

from . import adjudication, label_leases, leases, seats
from .label_leases import LabelScreen
from .leases import Empty, Screen
from .records import Layer
from .seats import Rater
from .store import Store
from .study import Settings

Shown: TypeAlias = Screen | LabelScreen


def tasks_of(rater: Rater, settings: Settings) -> tuple[str, ...]:
    """What a rater is given, in this order: adjudicators settle answers and nothing else."""
    if not settings.protocol.answer_forms:
        return ("pairs",)
    if rater.group == seats.ADJUDICATOR:
        # There is nothing to settle about grades: each rater's own one counts.
        return ("pairs",) if settings.protocol.harm_labels is None else ("answers",)
    return settings.assignment.tasks


def prepare(store: Store, settings: Settings) -> None:
    """Make every missing place in the raters' queues, of pairs and of answers."""
    leases.prepare(store, settings.assignment)
    label_leases.prepare(store, settings.protocol, settings.assignment)


def next_task(store: Store, rater: Rater, settings: Settings) -> Shown | Empty:
    """The screen that a rater is on, or why there is none. Idempotent."""
    with store.write() as conn:
        return advance(store, conn, rater, settings)


def advance(
    store: Store,
    conn: sqlite3.Connection,
    rater: Rater,
    settings: Settings,
    *,
    first: str = "",
) -> Shown | Empty:
    """:func:`next_task` inside the caller's transaction; with `first`, that task before others."""
    order = sorted(tasks_of(rater, settings), key=lambda task: task != first)
    empty = []
    for task in order:
        found = _of(task, store, conn, rater, settings)
        if not isinstance(found, Empty):
            return found
        empty.append(found)
    return _together(empty)


def _of(
    task: str, store: Store, conn: sqlite3.Connection, rater: Rater, settings: Settings
) -> Shown | Empty:
    protocol, assignment = settings.protocol, settings.assignment
    if task == "pairs":
        return leases.advance(store, conn, rater, protocol, assignment)
    if label_leases.layer_of(rater) is Layer.ADJUDICATED:
        adjudication.refresh(store, conn, assignment)
    found = label_leases.advance(conn, rater, protocol, assignment)
    return found or label_leases.why_empty(conn, rater, protocol, assignment)


REASONS = ("all_leased", "not_eligible", "done", "nothing_imported")
"""What a rater is told when several tasks are empty for different reasons: the first of these."""


def _together(found: Sequence[Empty]) -> Empty:
    reason = min((one.reason for one in found), key=REASONS.index)
    until = [one.until for one in found if one.until]
    return Empty(
        reason,
        sum(one.done for one in found),
        sum(one.leased_by_others for one in found),
        min(until, default=None),
        sum(one.skipped for one in found),
    )


def stop(store: Store, rater: Rater) -> None:
    """Give back everything that a rater holds; votes and labels stay, and they may come back."""
    with store.write() as conn:
        leases.release(conn, rater.id)
        label_leases.release(conn, rater.id)
        store.log(conn, "stop", rater.id, {})


def decline(store: Store, rater: Rater, categories: Sequence[str]) -> None:
    """Opt a rater out of exactly these question categories; what they hold of them goes back."""
    with store.write() as conn:
        seats.decline(store, conn, rater.id, categories)
        leases.release(conn, rater.id, opted_out=True)
        label_leases.release(conn, rater.id, opted_out=True)
