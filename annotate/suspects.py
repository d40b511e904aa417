"""Pairs that a judge may have got wrong: places for second raters, beside the ordinary ones.

A vote on such a place has the purpose `queue` and is in no estimate: who is asked was chosen by
what was said before. The ordinary places of the pair stay as they are, for other raters.
Places are served after drawn pairs and before all others, in the order of their draw.
"""

from __future__ import annotations

import sqlite3
import uuid

from .records import Order, Purpose, digest
from .store import Store
from .study import AssignmentSection

NEEDED = 2
"""People who must have said something before an error of the judge is confirmed."""
FIRST_ORDINAL = 1_000
"""Above every ordinary place of an order: overlap is 1,000 at most."""


def add_places(store: Store, conn: sqlite3.Connection, pair: str) -> None:
    """Places for as many raters as the pair lacks, at least one; what is free already counts."""
    voted = conn.execute(
        "SELECT count(DISTINCT v.rater) FROM current_vote v JOIN rater r ON r.id = v.rater"
        " WHERE v.pair = ? AND v.layer = 'vote' AND v.occurrence = 1 AND r.kind <> 'preview'",
        (pair,),
    ).fetchone()[0]
    made, held = conn.execute(
        "SELECT count(*), count(a.id) FROM slot s LEFT JOIN assignment a"
        " ON a.slot = s.id AND a.state IN ('leased', 'done')"
        " WHERE s.pair = ? AND s.purpose = 'queue'",
        (pair,),
    ).fetchone()
    first = int(digest([store.study_id, "suspect", pair])[:8], 16)
    for number in range(max(1, NEEDED - voted) - (made - held)):
        order = (Order.AB, Order.BA)[(first + made + number) % 2]
        conn.execute(
            "INSERT INTO slot (id, pair, ordinal, order_shown, purpose, inclusion_probability)"
            " VALUES (?, ?, ?, ?, ?, 1.0)",
            (str(uuid.uuid4()), pair, FIRST_ORDINAL + made + number, order, Purpose.QUEUE),
        )


_FREE = """
FROM draw_item d JOIN draw w ON w.id = d.draw
JOIN slot s ON s.pair = d.pair AND s.occurrence = 1 AND s.purpose = 'queue'
JOIN pair p ON p.id = d.pair
LEFT JOIN assignment m ON m.rater = :rater AND m.pair = p.id AND m.occurrence = 1
LEFT JOIN slot mine ON mine.id = m.slot
WHERE d.purpose = 'queue' AND p.answer_a IS NOT NULL AND p.excluded IS NULL
  -- Who began here and was interrupted gets it back in the order seen; who was asked on an
  -- ordinary place answers there.
  AND (m.id IS NULL OR (m.state IN ('expired', 'released') AND mine.purpose = 'queue'
                        AND m.order_shown = s.order_shown))
  AND NOT EXISTS (SELECT 1 FROM assignment h WHERE h.slot = s.id
                  AND h.state IN ('leased', 'done'))
  AND p.id NOT IN (SELECT pair FROM skip GROUP BY pair HAVING count(DISTINCT rater) >= :skips)
  AND p.question NOT IN (SELECT q.id FROM rater_optout o JOIN question q USING (category)
                         WHERE o.rater = :rater)
"""


def free_place(
    conn: sqlite3.Connection, rater: str, settings: AssignmentSection
) -> tuple[str, str, Order] | None:
    """(pair, slot, order) of the next place that a rater may take, or None."""
    row = conn.execute(
        f"SELECT p.id, s.id, s.order_shown {_FREE} ORDER BY w.number, d.position, s.ordinal"
        " LIMIT 1",
        {"rater": rater, "skips": settings.skips_before_owner},
    ).fetchone()
    return None if row is None else (row[0], row[1], Order(row[2]))


def free_pairs(conn: sqlite3.Connection, rater: str, settings: AssignmentSection) -> int:
    """How many pairs a rater could be given here now."""
    values = {"rater": rater, "skips": settings.skips_before_owner}
    return int(conn.execute(f"SELECT count(DISTINCT p.id) {_FREE}", values).fetchone()[0])
