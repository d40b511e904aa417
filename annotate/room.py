"""The rating room: what a rater's page is told, and what it may do. No HTTP, no Gradio.

Everything that leaves here is blind: no model, pair, answer or order, only text, sides
and random screen ids. Names of models inside the texts are a study's own matter and are
listed by `evenhand blind-check`.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Sequence
from typing import Any

from . import ballots, label_leases, labels, leases, seats, tasks
from .ballots import Receipt
from .errors import EvenhandError, NoConsent, RatingError
from .label_leases import LabelScreen
from .labels import Said
from .leases import Empty
from .live import LiveSettings
from .pages import Have, Pages
from .records import Choice
from .seats import Rater
from .store import Store
from .study import Settings
from .tasks import Shown

MAX_COMMENT = 5_000


class RatingRoom:
    """One study's room; every method is called with the rater that the session names."""

    def __init__(self, store: Store, live: LiveSettings) -> None:
        self._store = store
        self._live = live
        self._pages = Pages(store, live)

    def state(self, rater: Rater, have: Have | None = None) -> dict[str, Any]:
        """What the rater's page should show now: consent, a screen, or why there is none."""
        settings = self._live.get()
        if not seats.consented(self._store, rater.id, settings.protocol.id):
            return self._pages.consent_page(rater, settings)
        return self._pages.shown(
            rater, tasks.next_task(self._store, rater, settings), have or Have()
        )

    def consent(
        self, rater: Rater, agreed: bool, declined: Sequence[str] | None = None
    ) -> dict[str, Any]:
        """Record consent or its refusal, and the categories that the rater declines."""
        protocol = self._live.get().protocol
        if declined is not None:
            tasks.decline(self._store, rater, self._offered(declined))
        seats.give_consent(self._store, rater.id, protocol.id, agreed)
        return self.state(rater) if agreed else {"state": "declined"}

    def vote(
        self,
        rater: Rater,
        screen_id: str,
        choice: Choice,
        *,
        client_key: str,
        comment: str,
        active_ms: int | None,
        have: Have,
    ) -> dict[str, Any]:
        """Save a vote, then say what comes next. `saved` is only there after COMMIT."""

        def record(conn: sqlite3.Connection, settings: Settings) -> Receipt:
            return ballots.record(
                self._store,
                conn,
                rater.id,
                screen_id,
                choice,
                settings.assignment,
                client_key=client_key,
                comment=comment.strip(),
                active_ms=active_ms,
            )

        return self._save(rater, record, comment, have)

    def label(
        self,
        rater: Rater,
        screen_id: str,
        label: Said,
        *,
        client_key: str,
        comment: str,
        active_ms: int | None,
        have: Have,
    ) -> dict[str, Any]:
        """Save a harm label or grade, then say what comes next. `saved` as in :meth:`vote`."""

        def record(conn: sqlite3.Connection, settings: Settings) -> Receipt:
            return labels.record(
                self._store,
                conn,
                rater.id,
                screen_id,
                label,
                settings.assignment,
                client_key=client_key,
                comment=comment.strip(),
                active_ms=active_ms,
            )

        return self._save(rater, record, comment, have)

    def _save(
        self,
        rater: Rater,
        record: Callable[[sqlite3.Connection, Settings], Receipt],
        comment: str,
        have: Have,
    ) -> dict[str, Any]:
        if len(comment) > MAX_COMMENT:
            raise RatingError(
                f"the comment has {len(comment):,} characters; at most {MAX_COMMENT:,}"
            )
        settings = self._agreed(rater)
        with self._store.write() as conn:
            receipt = record(conn, settings)
            upcoming = self._advance(conn, rater, settings)
        saved = {"saved": True, "repeated": receipt.repeated}
        return saved | (
            self._pages.shown(rater, upcoming, have) if upcoming else self.state(rater, have)
        )

    def _advance(
        self, conn: sqlite3.Connection, rater: Rater, settings: Settings
    ) -> Shown | Empty | None:
        """What comes next, found in the vote's own transaction: one commit, not two.

        None when finding it failed: the vote counts either way.
        """
        try:
            with self._store.attempt(conn):
                return tasks.advance(self._store, conn, rater, settings)
        except EvenhandError:
            return None

    def undo(self, rater: Rater, have: Have, client_key: str = "") -> dict[str, Any]:
        """Take back the rater's last vote or label and show its screen again."""
        settings = self._agreed(rater)
        back = ballots.undo(self._store, rater.id, settings.assignment, client_key=client_key)
        with self._store.write() as conn:
            kind = "answers" if label_leases.is_screen(conn, back) else "pairs"
            upcoming = tasks.advance(self._store, conn, rater, settings, first=kind)
        return self._pages.shown(rater, upcoming, have)

    def skip(self, rater: Rater, screen_id: str, reason: str, note: str) -> dict[str, Any]:
        """Set the pair or answer aside with a reason."""
        self._agreed(rater)
        screen = self._screen_of(rater, screen_id)
        if isinstance(screen, LabelScreen):
            label_leases.skip(self._store, screen, reason[:200], note[:MAX_COMMENT])
        else:
            leases.skip(self._store, screen, reason[:200], note[:MAX_COMMENT])
        return self.state(rater)

    def decline(self, rater: Rater, categories: Sequence[str]) -> dict[str, Any]:
        """Opt the rater out of exactly these categories of questions, from now on."""
        self._agreed(rater)
        tasks.decline(self._store, rater, self._offered(categories))
        return self.state(rater)

    def stop(self, rater: Rater) -> dict[str, Any]:
        """Give back what the rater holds; they may come back by the same link."""
        tasks.stop(self._store, rater)
        return {"state": "stopped"}

    def draft(
        self, rater: Rater, screen_id: str, comment: str, label: dict[str, Any] | None = None
    ) -> None:
        """Keep what was typed, and chosen, so far."""
        self._agreed(rater)
        if label is None:
            ballots.save_draft(self._store, rater.id, screen_id, comment[:MAX_COMMENT])
        else:
            labels.save_draft(self._store, rater.id, screen_id, comment[:MAX_COMMENT], label)

    def heartbeat(self, rater: Rater) -> None:
        """The page is still open: keep what it shows."""
        assignment = self._agreed(rater).assignment
        leases.heartbeat(self._store, rater.id, assignment)
        label_leases.heartbeat(self._store, rater.id, assignment)

    def raw(self, rater: Rater, screen_id: str) -> list[dict[str, str]]:
        """The exact characters of what is shown, per turn so far; {} for context."""
        self._agreed(rater)
        return self._pages.raw(self._screen_of(rater, screen_id))

    def _screen_of(self, rater: Rater, screen_id: str) -> Shown:
        with self._store.snapshot() as conn:
            if label_leases.is_screen(conn, screen_id):
                return label_leases.screen(conn, rater.id, screen_id)
            return leases.screen(conn, rater.id, screen_id)

    def _agreed(self, rater: Rater) -> Settings:
        """The settings in force, for a rater who takes part.

        Raises:
            NoConsent: consent is due, or was taken back (perhaps in another tab).
        """
        settings = self._live.get()
        if not seats.consented(self._store, rater.id, settings.protocol.id):
            raise NoConsent("please read and agree to the study's information first")
        return settings

    def _offered(self, categories: Sequence[str]) -> list[str]:
        """Refuse what was not offered.

        Raises:
            RatingError: a category that this study does not let raters decline.
        """
        known = self._pages.optional(self._live.get())
        if strange := sorted(set(categories) - set(known)):
            raise RatingError(f"category {strange[0][:60]!r} cannot be declined; reload the page")
        return list(categories)
