"""The rating room: what a rater's page is told, and what it may do. No HTTP, no Gradio.

Everything that leaves here is blind: no model, pair, answer or order, only text, sides
and random screen ids. Names of models inside the texts are a study's own matter and are
listed by `evenhand blind-check`.
"""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from . import ballots, display, leases, library, seats, study
from .errors import EvenhandError, NoConsent, RatingError
from .leases import Empty, Screen
from .library import StoredPair
from .live import LiveSettings
from .records import Answer, Choice, Order, Turn, turn_text
from .seats import Rater
from .store import Store
from .study import Dimension, ProtocolSection, Settings

MAX_COMMENT = 5_000
OPEN_SECONDS = 15.0


@dataclass(frozen=True, slots=True)
class Have:
    """What the page already shows, so that only new rows are sent."""

    page: str = ""
    turns: int = 0


class RatingRoom:
    """One study's room; every method is called with the rater that the session names."""

    def __init__(self, store: Store, live: LiveSettings) -> None:
        self._store = store
        self._live = live
        self._open: dict[str, tuple[float, int, int]] = {}
        self._pair = lru_cache(maxsize=256)(lambda pair_id: library.pair(store, pair_id))
        self._protocol = lru_cache(maxsize=16)(lambda version: study.protocol(store, version))

    def state(self, rater: Rater, have: Have | None = None) -> dict[str, Any]:
        """What the rater's page should show now: consent, a screen, or why there is none."""
        settings = self._live.get()
        protocol = settings.protocol
        if not seats.consented(self._store, rater.id, protocol.id):
            return _consent_page(settings)
        screen = leases.next_screen(self._store, rater, protocol, settings.assignment)
        return self._shown(rater, screen, have or Have())

    def _shown(self, rater: Rater, screen: Screen | Empty, have: Have) -> dict[str, Any]:
        if isinstance(screen, Empty):
            return self._empty(screen)
        return self._screen(rater, screen, self._live.get(), have)

    def consent(self, rater: Rater, agreed: bool) -> dict[str, Any]:
        """Record consent or its refusal."""
        protocol = self._live.get().protocol
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
        if len(comment) > MAX_COMMENT:
            raise RatingError(
                f"the comment has {len(comment):,} characters; at most {MAX_COMMENT:,}"
            )
        settings = self._agreed(rater)
        with self._store.write() as conn:
            receipt = ballots.record(
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
            upcoming = self._advance(conn, rater, settings)
        saved = {"saved": True, "repeated": receipt.repeated}
        return saved | (self._shown(rater, upcoming, have) if upcoming else self.state(rater, have))

    def _advance(
        self, conn: sqlite3.Connection, rater: Rater, settings: Settings
    ) -> Screen | Empty | None:
        """What comes next, found in the vote's own transaction: one commit, not two.

        None when finding it failed: the vote counts either way.
        """
        try:
            with self._store.attempt(conn):
                return leases.advance(
                    self._store, conn, rater, settings.protocol, settings.assignment
                )
        except EvenhandError:
            return None

    def undo(self, rater: Rater, have: Have, client_key: str = "") -> dict[str, Any]:
        """Take back the rater's last vote and show its screen again."""
        ballots.undo(self._store, rater.id, self._agreed(rater).assignment, client_key=client_key)
        return self.state(rater, have)

    def skip(self, rater: Rater, screen_id: str, reason: str, note: str) -> dict[str, Any]:
        """Set the pair aside with a reason."""
        self._agreed(rater)
        with self._store.snapshot() as conn:
            screen = leases.screen(conn, rater.id, screen_id)
        leases.skip(self._store, screen, reason[:200], note[:MAX_COMMENT])
        return self.state(rater)

    def draft(self, rater: Rater, screen_id: str, comment: str) -> None:
        """Keep what was typed so far."""
        self._agreed(rater)
        ballots.save_draft(self._store, rater.id, screen_id, comment[:MAX_COMMENT])

    def heartbeat(self, rater: Rater) -> None:
        """The page is still open: keep its pair."""
        leases.heartbeat(self._store, rater.id, self._agreed(rater).assignment)

    def raw(self, rater: Rater, screen_id: str) -> list[dict[str, str]]:
        """The exact characters of both sides, per turn shown so far; {} for context."""
        self._agreed(rater)
        with self._store.snapshot() as conn:
            screen = leases.screen(conn, rater.id, screen_id)
        pair = self._pair(screen.pair)
        visible = _visible(screen, self._protocol(screen.protocol))
        sides = _sides(pair, screen.order)
        return [
            {
                side: _raw(_turn(answer.turns, turn))
                for side, answer in sides
                if turn in screen.asked
            }
            for turn in range(1, visible + 1)
        ]

    def _agreed(self, rater: Rater) -> Settings:
        """The settings in force, for a rater who takes part.

        Raises:
            NoConsent: consent is due, or was taken back (perhaps in another tab).
        """
        settings = self._live.get()
        if not seats.consented(self._store, rater.id, settings.protocol.id):
            raise NoConsent("please read and agree to the study's information first")
        return settings

    def _screen(
        self, rater: Rater, screen: Screen, settings: Settings, have: Have
    ) -> dict[str, Any]:
        same = have.page == screen.assignment
        pair = self._pair(screen.pair)
        # The words are those of the version that its vote will carry, also after an edit.
        protocol = self._protocol(screen.protocol)
        visible = _visible(screen, protocol)
        first = have.turns + 1 if same and have.turns <= visible else 1
        state: dict[str, Any] = {
            "state": "rate",
            "screen": screen.id,
            "page": screen.assignment,
            "turn": screen.turn,
            "turns": screen.turns,
            "visible": visible,
            "from": first,
            "rows": _rows(pair, screen, first, visible),
            "step": {
                "index": screen.position + 1,
                "of": len(screen.asked) * len(screen.dimensions),
            },
            "dimension": _words(_dimension(protocol, screen.dimension)),
            "draft": ballots.draft(self._store, screen.id),
            "comments": protocol.comments,
            "skip_reasons": list(protocol.skip_reasons),
            "instructions": display.render_prose(protocol.instructions),
            "title": settings.study.title,
            "contact": settings.study.contact,
        }
        if not same or screen.position == 0:
            state["progress"] = self._progress(rater, settings)
        return state

    def _progress(self, rater: Rater, settings: Settings) -> dict[str, int]:
        """Pairs done and open. What is open is counted anew now and then, not at every pair:
        others' work moves it, but nobody waits for that, and counting walks the whole study.
        """
        done = leases.pairs_done(self._store, rater)
        counted, open_then, done_then = self._open.get(rater.id, (-OPEN_SECONDS, 0, 0))
        if time.monotonic() - counted >= OPEN_SECONDS or done < done_then:
            progress = leases.progress(self._store, rater, settings.assignment)
            self._open[rater.id] = (time.monotonic(), progress.open, progress.done)
            return {"done": progress.done, "open": progress.open}
        return {"done": done, "open": max(0, open_then - (done - done_then))}

    def _empty(self, empty: Empty) -> dict[str, Any]:
        settings = self._live.get()
        return {
            "state": "empty",
            "reason": empty.reason,
            "done": empty.done,
            "skipped": empty.skipped,
            "leased_by_others": empty.leased_by_others,
            "until": empty.until,
            "title": settings.study.title,
            "contact": settings.study.contact,
            "progress": {"done": empty.done, "open": 0},
        }


def _consent_page(settings: Settings) -> dict[str, Any]:
    protocol = settings.protocol
    return {
        "state": "consent",
        "title": settings.study.title,
        "contact": settings.study.contact,
        "instructions": display.render_prose(protocol.instructions),
        "consent": display.render_prose(protocol.consent),
        "notice": display.render_prose(protocol.content_notice),
        "dimensions": [_words(d) for d in protocol.dimensions],
    }


def _visible(screen: Screen, protocol: ProtocolSection) -> int:
    """How many turns are shown: up to the one in question, or all."""
    return screen.turns if protocol.reveal == "all" else screen.turn


def _sides(pair: StoredPair, order: Order) -> list[tuple[str, Answer]]:
    """(side, answer) from left to right; per-side work is a loop over this, never twice by hand."""
    answers = (pair.a, pair.b) if order is Order.AB else (pair.b, pair.a)
    return list(zip(("left", "right"), answers, strict=True))


def _rows(pair: StoredPair, screen: Screen, first: int, last: int) -> list[dict[str, Any]]:
    """Rows of the page from turn `first` to `last`: the prompt, then both replies.

    A turn that is not asked is context: its row has no replies, whatever the answers hold.
    """
    asked = pair.question.turns
    everything = [
        message.content
        for turns in (asked, pair.a.turns, pair.b.turns)
        for turn in turns or ()
        for message in turn
    ]
    plain = display.plain_needed(everything)
    return [
        {
            "turn": turn,
            "prompt": display.render_prompt(_turn(asked, turn), first=turn == 1, plain=plain),
            **{
                side: display.render_turn(_turn(answer.turns, turn), plain=plain)
                for side, answer in _sides(pair, screen.order)
                if turn in screen.asked
            },
        }
        for turn in range(first, last + 1)
    ]


def _turn(turns: Sequence[Turn] | None, number: int) -> Turn:
    return turns[number - 1] if turns and number <= len(turns) else ()


def _raw(turn: Turn) -> str:
    others = [m for m in turn if m.role != "assistant"]
    if not others:
        return turn_text(turn)
    return "\n".join(f"[{m.role}]\n{m.content}" for m in turn)


def _dimension(protocol: ProtocolSection, name: str) -> Dimension:
    """The words for a dimension; one dropped from the protocol mid-pair keeps its name."""
    for dimension in protocol.dimensions:
        if dimension.name == name:
            return dimension
    return Dimension(name=name, question=f"Which reply is better on {name}?")


def _words(dimension: Dimension) -> dict[str, str]:
    return {
        "name": dimension.name,
        "question": dimension.question,
        "left": dimension.a,
        "right": dimension.b,
        "tie": dimension.tie,
        "both_bad": dimension.both_bad,
        "rubric": display.render_prose(dimension.rubric) if dimension.rubric else "",
    }
