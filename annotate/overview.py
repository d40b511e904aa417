"""Counts for the study's owner: progress, raters, skips. Reads only."""

from __future__ import annotations

from dataclasses import dataclass
from statistics import median

from . import seats
from .store import Store
from .study import AssignmentSection


@dataclass(frozen=True, slots=True)
class Progress:
    """How far the rating is; `wanted` is pairs × overlap."""

    pairs: int
    wanted: int
    finished: int
    leased: int
    complete_pairs: int
    votes: int
    imported_votes: int
    simulated_votes: int
    withdrawn: int
    skips: int
    owner_queue: int


@dataclass(frozen=True, slots=True)
class RaterRow:
    """One invited rater's work: `left` of `decided` votes went to the answer on the left;
    `shown_ab` finished pairs had the canonically first model on the left.
    """

    name: str
    group: str
    pairs: int
    votes: int
    answers: int
    """Answers labelled or graded to the end."""
    left: int
    decided: int
    shown_ab: int
    shown_ba: int
    median_seconds: float | None
    last_vote: str | None


def progress(store: Store, settings: AssignmentSection) -> Progress:
    """The study's progress now."""
    served = "answer_a IS NOT NULL AND excluded IS NULL"
    with store.snapshot() as conn:

        def one(sql: str, *values: object) -> int:
            return int(conn.execute(sql, values).fetchone()[0])

        pairs = one(f"SELECT count(*) FROM pair WHERE {served}")
        layers = dict(
            conn.execute(
                "SELECT CASE WHEN screen IS NOT NULL THEN 'own' WHEN layer = 'simulated'"
                " THEN 'simulated' ELSE 'imported' END, count(*) FROM current_vote"
                " WHERE subject = 'pair' GROUP BY 1"
            ).fetchall()
        )
        return Progress(
            pairs=pairs,
            wanted=pairs * settings.overlap,
            finished=one(
                "SELECT count(*) FROM assignment a JOIN slot s ON s.id = a.slot"
                " WHERE a.state = 'done' AND a.occurrence = 1 AND s.purpose <> 'queue'"
            ),
            leased=one("SELECT count(*) FROM assignment WHERE state = 'leased'"),
            complete_pairs=one(
                f"SELECT count(*) FROM pair p WHERE {served} AND (SELECT count(*)"
                " FROM assignment a JOIN slot s ON s.id = a.slot WHERE a.pair = p.id"
                " AND a.occurrence = 1 AND s.purpose <> 'queue' AND a.state = 'done') >= ?",
                settings.overlap,
            ),
            votes=layers.get("own", 0),
            imported_votes=layers.get("imported", 0),
            simulated_votes=layers.get("simulated", 0),
            withdrawn=one(
                "SELECT count(*) FROM vote WHERE status = 'withdrawn' AND subject = 'pair'"
            ),
            skips=one("SELECT count(*) FROM skip"),
            owner_queue=one(
                "SELECT count(*) FROM (SELECT pair FROM skip GROUP BY pair"
                " HAVING count(DISTINCT rater) >= ?)",
                settings.skips_before_owner,
            ),
        )


@dataclass(frozen=True, slots=True)
class LabelProgress:
    """How far the labelling of answers is; `wanted` is labels of all items that are asked."""

    items: int
    wanted: int
    finished: int
    leased: int
    skips: int
    opted_out: int
    """Raters who leave out a subject."""
    to_settle: int
    settled: int
    given: int
    """Standing labels and grades of turns, by invited raters."""
    imported: int
    simulated: int


def label_progress(store: Store, settings: AssignmentSection) -> LabelProgress:
    """Counts of items, their labels, and what adjudicators have before them."""
    with store.snapshot() as conn:

        def one(sql: str, *values: object) -> int:
            return int(conn.execute(sql, values).fetchone()[0])

        served = (
            "FROM label_item i WHERE i.layer = 'vote' AND (i.draw IS NOT NULL OR ?) AND NOT EXISTS"
            " (SELECT 1 FROM answer_excluded x WHERE x.answer = i.answer)"
        )
        items = one(f"SELECT count(*) {served}", settings.answers == "all")
        state = (
            "SELECT count(*) FROM label_assignment a JOIN label_item i ON i.id = a.item"
            " WHERE a.state = ? AND i.layer = ?"
        )
        settled = one(state, "done", "adjudicated")
        # A label has no screen of its own: whose it is tells where it came from.
        whence = dict(
            conn.execute(
                "SELECT iif(v.layer = 'simulated', 'simulated', r.kind), count(*)"
                " FROM current_vote v JOIN rater r ON r.id = v.rater"
                " WHERE v.subject = 'answer' GROUP BY 1"
            ).fetchall()
        )
        queued = one("SELECT count(*) FROM label_item WHERE layer = 'adjudicated'")
        return LabelProgress(
            items=items,
            wanted=items * settings.labels,
            finished=one(state, "done", "vote"),
            leased=one("SELECT count(*) FROM label_assignment WHERE state = 'leased'"),
            skips=one("SELECT count(*) FROM label_skip"),
            opted_out=one("SELECT count(DISTINCT rater) FROM rater_optout"),
            to_settle=queued - settled,
            settled=settled,
            given=whence.get("invited", 0),
            imported=whence.get("imported", 0),
            simulated=whence.get("simulated", 0),
        )


def raters(store: Store) -> list[RaterRow]:
    """Every invited rater, whether or not they voted, in order of invitation."""
    names = seats.names(store)
    with store.snapshot() as conn:
        rows = conn.execute(
            "SELECT r.id, r.rater_group,"
            " (SELECT count(*) FROM assignment a WHERE a.rater = r.id AND a.state = 'done'),"
            " count(v.id),"
            " count(*) FILTER (WHERE (v.outcome = 'a') = (v.order_shown = 'ab')"
            "   AND v.outcome IN ('a', 'b')),"
            " count(*) FILTER (WHERE v.outcome IN ('a', 'b')),"
            " (SELECT count(*) FROM assignment a WHERE a.rater = r.id AND a.state = 'done'"
            "   AND a.order_shown = 'ab'),"
            " (SELECT count(*) FROM assignment a WHERE a.rater = r.id AND a.state = 'done'"
            "   AND a.order_shown = 'ba'),"
            " (SELECT max(x.created_at) FROM vote x WHERE x.rater = r.id),"
            " (SELECT count(*) FROM label_assignment a WHERE a.rater = r.id AND a.state = 'done')"
            " FROM rater r LEFT JOIN current_vote v ON v.rater = r.id AND v.screen IS NOT NULL"
            " WHERE r.kind = 'invited' GROUP BY r.id ORDER BY r.seat"
        ).fetchall()
        return [
            RaterRow(
                name=names[row[0]],
                group=row[1],
                pairs=row[2],
                votes=row[3],
                left=row[4],
                decided=row[5],
                shown_ab=row[6],
                shown_ba=row[7],
                median_seconds=_median_seconds(store, row[0]),
                last_vote=row[8],
                answers=row[9],
            )
            for row in rows
        ]


def _median_seconds(store: Store, rater: str) -> float | None:
    times = [
        row[0]
        for row in store.conn.execute(
            "SELECT active_ms FROM current_vote WHERE rater = ? AND active_ms IS NOT NULL"
            " AND subject = 'pair' ORDER BY active_ms",
            (rater,),
        )
    ]
    return None if not times else median(times) / 1000
