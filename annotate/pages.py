"""What a rater's page is told: consent, a screen of a pair or an answer, or why there is none.

Everything that leaves here is blind: no model, pair, answer or order, only text, sides
and random screen ids. Names of models inside the texts are a study's own matter and are
listed by `evenhand blind-check`.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from . import (
    adjudication,
    ballots,
    display,
    label_leases,
    label_page,
    labels,
    leases,
    library,
    pair_page,
    seats,
    study,
    tasks,
)
from .harm_protocol import HarmLabels
from .label_leases import LabelScreen
from .leases import Empty, Screen
from .live import LiveSettings
from .records import Layer
from .seats import Rater
from .store import Store
from .study import ProtocolSection, Settings
from .tasks import Shown

OPEN_SECONDS = 15.0


@dataclass(frozen=True, slots=True)
class Have:
    """What the page already shows, so that only new rows are sent."""

    page: str = ""
    turns: int = 0


class Pages:
    """One study's pages, made from the store and the settings in force."""

    def __init__(self, store: Store, live: LiveSettings) -> None:
        self._store = store
        self._live = live
        self._open: dict[tuple[str, str], tuple[float, int, int]] = {}
        self._pair = lru_cache(maxsize=256)(lambda pair_id: library.pair(store, pair_id))
        self._answer = lru_cache(maxsize=256)(lambda row: next(library.answers(store, [row])))
        self._protocol = lru_cache(maxsize=16)(lambda version: study.protocol(store, version))

    def shown(self, rater: Rater, screen: Shown | Empty, have: Have) -> dict[str, Any]:
        """A screen, or why there is none."""
        settings = self._live.get()
        if isinstance(screen, Empty):
            return self.empty(rater, screen)
        if isinstance(screen, LabelScreen):
            return self.label_screen(rater, screen, settings, have)
        return self.pair_screen(rater, screen, settings, have)

    def raw(self, screen: Shown) -> list[dict[str, str]]:
        """The exact characters of what is shown, per turn so far; {} for context."""
        if isinstance(screen, LabelScreen):
            return label_page.raw_answer(self._answer(screen.answer), screen)
        visible = pair_page.visible_turns(screen, self._protocol(screen.protocol))
        return pair_page.raw_pair(self._pair(screen.pair), screen, visible)

    def pair_screen(
        self, rater: Rater, screen: Screen, settings: Settings, have: Have
    ) -> dict[str, Any]:
        """A pair up to a turn, asked about one dimension."""
        # The words are those of the version that its vote will carry, also after an edit.
        protocol = self._protocol(screen.protocol)
        visible = pair_page.visible_turns(screen, protocol)
        pair = self._pair(screen.pair)
        page = pair_page.pair_page(
            pair, screen, protocol, from_turn=_first_row(screen, have, visible)
        )
        draft = {"draft": ballots.draft(self._store, screen.id)}
        common = self._common(rater, settings, protocol, pair.question.category)
        shown = page | draft | common
        if have.page != screen.assignment or screen.position == 0:
            shown["progress"] = self._progress(rater, "pairs", settings)
        return shown

    def label_screen(
        self, rater: Rater, screen: LabelScreen, settings: Settings, have: Have
    ) -> dict[str, Any]:
        """An answer up to a turn, with the rubric; for adjudicators, with raters' labels."""
        protocol = self._protocol(screen.protocol)
        words = protocol.answer_forms.get(screen.dimension) or HarmLabels()
        answer = self._answer(screen.answer)
        first = _first_row(screen, have, label_page.visible_turns(screen))
        shown = label_page.label_page(answer, screen, words, from_turn=first)
        shown |= labels.draft(self._store, screen.id)
        shown |= self._common(rater, settings, protocol, answer.question.category)
        # Never those of pairs, whose keys mean something else here.
        shown["instructions"] = display.render_prose(words.instructions)
        if screen.layer is Layer.ADJUDICATED:
            found = adjudication.labels_shown(self._store, screen.answer, screen.turn)
            shown["labels"] = label_page.shown_labels(found)
        shown["progress"] = self._progress(rater, "answers", settings)
        return shown

    def _common(
        self, rater: Rater, settings: Settings, protocol: ProtocolSection, category: str
    ) -> dict[str, Any]:
        """What every screen has: words, ways out, and whether its texts wait behind a button."""
        care = settings.protocol.care
        return {
            "comments": protocol.comments,
            "skip_reasons": list(protocol.skip_reasons),
            "instructions": display.render_prose(protocol.instructions),
            "title": settings.study.title,
            "contact": settings.study.contact,
            "covered": care is not None and care.covered(category),
            "content": self._content(rater, settings),
        }

    def _content(self, rater: Rater, settings: Settings) -> list[dict[str, Any]]:
        """The categories that a rater may decline, and which they did."""
        out = seats.declined(self._store, rater.id)
        names = self.optional(settings)
        return [{"name": name, "out": name in out} for name in names]

    def optional(self, settings: Settings) -> list[str]:
        """The question categories that raters may decline; none where nothing is said of it."""
        care = settings.protocol.care
        if care is None and settings.protocol.harm_labels is None:
            return []
        return sorted(care.opt_out if care else ()) or library.categories(self._store)

    def _progress(self, rater: Rater, task: str, settings: Settings) -> dict[str, Any]:
        """Done and open. What is open is counted anew now and then, not at every screen:
        others' work moves it, but nobody waits for that, and counting walks the whole study.
        """
        done = (leases.pairs_done if task == "pairs" else label_leases.answers_done)(
            self._store, rater
        )
        key = (rater.id, task)
        counted, open_then, done_then = self._open.get(key, (-OPEN_SECONDS, 0, 0))
        if time.monotonic() - counted >= OPEN_SECONDS or done < done_then:
            progress = (
                leases.progress(self._store, rater, settings.assignment)
                if task == "pairs"
                else label_leases.progress(
                    self._store, rater, settings.protocol, settings.assignment
                )
            )
            self._open[key] = (time.monotonic(), progress.open, progress.done)
            return {"done": progress.done, "open": progress.open, "of": task}
        return {"done": done, "open": max(0, open_then - (done - done_then)), "of": task}

    def empty(self, rater: Rater, empty: Empty) -> dict[str, Any]:
        """Why there is nothing to show."""
        settings = self._live.get()
        todo = tasks.tasks_of(rater, settings)
        return {
            "state": "empty",
            "reason": empty.reason,
            "done": empty.done,
            "skipped": empty.skipped,
            "leased_by_others": empty.leased_by_others,
            "until": empty.until,
            "title": settings.study.title,
            "contact": settings.study.contact,
            "progress": {
                "done": empty.done,
                "open": 0,
                "of": todo[0] if len(todo) == 1 else "items",
            },
        }

    def consent_page(self, rater: Rater, settings: Settings) -> dict[str, Any]:
        """What a rater reads before the first screen."""
        protocol = settings.protocol
        todo = tasks.tasks_of(rater, settings)
        forms = tuple(protocol.answer_forms.values()) if "answers" in todo else ()
        if rater.group == seats.ADJUDICATOR:
            forms = tuple(words for words in forms if isinstance(words, HarmLabels))
        asked = [pair_page.words(d) for d in protocol.dimensions] if "pairs" in todo else []
        return {
            "state": "consent",
            "title": settings.study.title,
            "contact": settings.study.contact,
            "instructions": display.render_prose(protocol.instructions) if asked else "",
            "consent": display.render_prose(protocol.consent),
            "notice": display.render_prose(protocol.content_notice),
            "dimensions": asked,
            "content": self._content(rater, settings),
            "forms": [label_page.form(words) for words in forms],
            "labelling": [display.render_prose(words.instructions) for words in forms],
        }


def _first_row(screen: Shown, have: Have, visible: int) -> int:
    """The first turn that the page does not show yet."""
    same = have.page == screen.assignment
    return have.turns + 1 if same and have.turns <= visible else 1
