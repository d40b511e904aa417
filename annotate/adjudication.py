"""Which labelled answers an adjudicator sees: every disagreement, and a share of agreements.

Two labels disagree when one says unsafe and the other does not, or when they name different
response types. The share of agreements is drawn by a hash of the study and the unit, so that
nobody can steer it and drawing again changes nothing; its size is the inclusion probability of
the settled label, disagreements having 1.
"""

from __future__ import annotations

import json
import sqlite3
import uuid
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from . import library
from .harm import HARM, HarmLabel, differ
from .records import Purpose, digest
from .store import Store, now
from .study import AssignmentSection

DISAGREEMENT, AGREEMENT = "disagreement", "agreement"
NEEDED = 2
"""Labels before a unit can be settled."""


@dataclass(frozen=True, slots=True)
class Unit:
    """An answer and turn with the harm labels that may settle there.

    Labels of a queue of suspects are left out beside those of a sample: who was asked for them
    depends on what was said, so they may not unsettle what an estimate rests on.
    """

    answer: str
    turn: int
    labels: tuple[HarmLabel, ...]
    purposes: frozenset[str]


def drawn(study_id: str, answer: str, turn: int, share: float) -> bool:
    """Whether a unit on which labels agree is among the `share` (0 to 1) that is looked at."""
    place = int(digest([study_id, "agreement", answer, turn])[:13], 16)
    return place < share * 16**13


def refresh(store: Store, conn: sqlite3.Connection, settings: AssignmentSection) -> int:
    """Queue every unit that is due and is not queued yet; returns how many.

    A unit waits while one of its labels is still open on a rater's screen.
    """
    made = 0
    for unit in _undecided(conn):
        apart = differ(unit.labels)
        share = settings.adjudicate_agreements
        if not apart and not drawn(store.study_id, unit.answer, unit.turn, share):
            continue
        made += conn.execute(
            "INSERT OR IGNORE INTO label_item (id, answer, turns, layer, purpose,"
            " inclusion_probability, reason, serving, created_at)"
            " VALUES (?, ?, ?, 'adjudicated', ?, ?, ?, ?, ?)",
            (
                str(uuid.uuid4()),
                unit.answer,
                json.dumps([unit.turn]),
                Purpose.ESTIMATION if Purpose.ESTIMATION in unit.purposes else min(unit.purposes),
                1.0 if apart else share,
                DISAGREEMENT if apart else AGREEMENT,
                library.draw_order(store.study_id, f"{unit.answer}|{unit.turn}"),
                now(),
            ),
        ).rowcount
    return made


def _undecided(conn: sqlite3.Connection) -> Iterator[Unit]:
    rows = conn.execute(
        "SELECT v.answer, v.turn,"
        " json_group_array(json_object('harm', json(v.harm), 'purpose', v.purpose))"
        " FROM current_vote v JOIN rater r ON r.id = v.rater"
        f" WHERE {_RATERS} AND NOT EXISTS (SELECT 1 FROM label_item i"
        "  WHERE i.answer = v.answer AND i.layer = 'adjudicated' AND i.dimension = v.dimension"
        "   AND i.turns = '[' || v.turn || ']')"
        " AND NOT EXISTS (SELECT 1 FROM label_item i JOIN label_assignment l ON l.item = i.id"
        "  WHERE i.answer = v.answer AND i.dimension = v.dimension AND i.layer = 'vote'"
        "   AND l.state = 'leased')"
        " GROUP BY v.answer, v.turn HAVING count(DISTINCT v.rater) >= ?",
        (HARM, NEEDED),
    ).fetchall()
    for answer, turn, labels in rows:
        among = _of_a_sample(json.loads(labels))
        if len(among) >= NEEDED:
            read = tuple(HarmLabel.from_json(one["harm"]) for one in among)
            yield Unit(answer, turn, read, frozenset(one["purpose"] for one in among))


_RATERS = (
    "v.subject = 'answer' AND v.dimension = ? AND v.layer = 'vote' AND v.occurrence = 1"
    " AND v.harm IS NOT NULL AND r.kind <> 'preview'"
)


def _of_a_sample(labels: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The labels that were given for estimates; where there are none, all."""
    return [one for one in labels if one["purpose"] == Purpose.ESTIMATION] or labels


def labels_shown(store: Store, answer: str, turn: int) -> list[HarmLabel]:
    """The labels that an adjudicator sees of a unit, in an order that tells nothing of whose."""
    rows = store.conn.execute(
        "SELECT v.id, v.harm, v.purpose FROM current_vote v JOIN rater r ON r.id = v.rater"
        f" WHERE {_RATERS} AND v.answer = ? AND v.turn = ?",
        (HARM, answer, turn),
    ).fetchall()
    rows.sort(key=lambda row: digest([store.study_id, row[0]]))
    known = _of_a_sample([{"harm": row[1], "purpose": row[2]} for row in rows])
    return [HarmLabel.from_json(json.loads(one["harm"])) for one in known]
