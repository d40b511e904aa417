"""A drawn sample written down, put into the raters' queue, and when raters will see it."""

from __future__ import annotations

import uuid
from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from annotate.errors import UsageError
from annotate.harm import HARM
from annotate.planned import PlannedItem, enqueue
from annotate.records import Purpose, digest
from annotate.study import Study
from judge.calibration.rows import question_words
from judge.commands.calibration_basis import GRADE, HARM_SCORE, WIN_RATE, Asked
from judge.database.calibrations import Calibrations, Use
from judge.database.runs import Run
from judge.database.second_looks import with_text
from judge.reporting.document import Text, Weight


@dataclass(frozen=True, slots=True)
class Pool:
    """What a sample is drawn from."""

    run: Run
    score: str
    """What the labels are for, as plans are found by it."""
    name: str
    """Of the set."""
    places: Mapping[str, str]
    """Item → its question."""
    others: Set[str]
    """Questions left out: their labels have another use."""


@dataclass(frozen=True, slots=True)
class Queued:
    """A draw that was written down."""

    id: str
    again: bool
    """The very same draw was there already; nothing was added."""

    def words(self, when: Served, more: str = "") -> str:
        """What became of it, and where the items are."""
        said = f"Drawn as plan {self.id[:8]}{more}{drawn_words(when)}"
        if self.again:
            said += (
                " It was drawn before: the same seed, the same items, asked for once. For other"
                " items take another --seed."
            )
        return said


class Served(StrEnum):
    """When raters get what was drawn."""

    FIRST = "before everything else"
    LATER = "after the other task"
    NO_TASK = "not a task of raters"
    """`tasks` of study.toml leaves it out."""
    UNASKED = "not asked by the protocol"


def put_into_queue(
    study: Study,
    asked: Asked,
    pool: Pool,
    use: Use,
    chosen: Sequence[tuple[str, float]],
    more: Mapping[str, Any],
) -> Queued:
    """Write a draw down, with its use, and put it into the raters' queue.

    The same draw again adds nothing, and goes on where an interrupted one ended.

    Raises:
        UsageError: raters cannot be shown some of it; then nothing is written.
    """
    _can_be_shown(study, asked, pool, [one for one, _p in chosen])
    kept = Calibrations(study.store)
    body = {"score": pool.score, "set": pool.name, **more}
    body["left_out"] = sorted(pool.others)
    body["items"] = [[one, probability] for one, probability in chosen]
    said = digest(body)
    known = (one for one in kept.plans(pool.run.id) if one.use is use)
    same = [one.id for one in known if digest(one.body) == said]
    found = same[0] if same else str(uuid.uuid4())
    if not same:
        kept.add_plan(found, pool.run.id, use, body)
    kept.note_use([(one, pool.places[one]) for one, _p in chosen], use, found)
    enqueue(study.store, [_queued(asked, *one) for one in chosen], found, _judged_on(asked))
    return Queued(found, bool(same))


def served(study: Study, asked: Asked) -> Served:
    """When raters get what is drawn for this score."""
    forms = study.settings.protocol.answer_forms
    if asked.score == WIN_RATE:
        if not forms:
            return Served.FIRST
        mine, other = "pairs", "answers"
    elif _judged_on(asked) not in forms:
        return Served.UNASKED
    else:
        mine, other = "answers", "pairs"
    tasks = study.settings.assignment.tasks
    if mine not in tasks:
        return Served.NO_TASK
    later = other in tasks[: tasks.index(mine)] and _any(study, other)
    return Served.LATER if later else Served.FIRST


def _any(study: Study, task: str) -> bool:
    table = {"pairs": "pair", "answers": "answer"}[task]
    found = study.store.conn.execute(f"SELECT EXISTS (SELECT 1 FROM {table})").fetchone()
    return bool(found[0])


def drawn_words(when: Served) -> str:
    """Where a drawn sample is: the end of a sentence."""
    return {
        Served.FIRST: "; the items are in the raters' queue.",
        Served.LATER: "; the items are in the raters' queue, behind other work.",
    }.get(when, ".")


def served_words(when: Served, asked: Asked) -> list[Text]:
    """What must be changed for raters to see what was planned; nothing where they will."""
    mine, other = ("pairs", "answers") if asked.score == WIN_RATE else ("answers", "pairs")
    form = "grades" if asked.score == GRADE else "harm_labels"
    words = {
        Served.LATER: f"Raters get {other} first, and these {mine} only when none of those waits"
        f' for them: in study.toml, [assignment], say tasks = ["{mine}", "{other}"].',
        Served.NO_TASK: f"Raters are given no {mine}: in study.toml, [assignment], say tasks ="
        f' ["{mine}", "{other}"].',
        Served.UNASKED: "Raters are not asked for these: study.toml has no fitting"
        f" [protocol.{form}]; add it, or import labels of these items.",
    }
    return [Text(words[when], Weight.WARNING)] if when in words else []


def _can_be_shown(study: Study, asked: Asked, pool: Pool, chosen: Sequence[str]) -> None:
    """Refuse a draw of items that raters cannot be shown."""
    units = {one: _queued(asked, one, 1.0)[0] for one in chosen}
    shown = with_text(study.store, units.values())
    blank = [one for one in chosen if units[one] not in shown]
    if blank:
        raise UsageError(
            f"{len(blank)} of {len(chosen)} drawn items have no text in this study, e.g. question"
            f" {question_words(pool.places[blank[0]])}; raters cannot be shown them: import the"
            " answers, or calibrate from imported labels"
        )


def _judged_on(asked: Asked) -> str:
    """The dimension on which answers of a draw are judged."""
    return asked.dimension if asked.score == GRADE else HARM


def _queued(asked: Asked, item: str, probability: float) -> PlannedItem:
    """An answer whole, or an answer to be graded or a pair at its turn."""
    if asked.score == HARM_SCORE:
        return item, 0, Purpose.ESTIMATION, probability
    unit, _, turn = item.rpartition(":")
    return unit, int(turn), Purpose.ESTIMATION, probability
