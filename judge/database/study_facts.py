"""A study in figures and words, for the head of its report."""

from __future__ import annotations

import sqlite3

from annotate.ballots import STANDING
from annotate.study import Study
from annotate.versions import shown_name
from judge.reporting.topics.study import Coverage, StudyFacts


def study_facts(study: Study) -> StudyFacts:
    """Counts from the store, words from study.toml, in one snapshot."""
    store = study.store
    settings = study.settings
    with store.snapshot() as conn:

        def tally(sql: str) -> dict[str, int]:
            return {str(name): int(number) for name, number in conn.execute(sql)}

        people = (
            f"FROM {STANDING} JOIN rater r ON r.id = v.rater"
            " WHERE r.kind <> 'preview' AND v.layer <> 'simulated' AND v.subject = 'pair'"
        )
        return StudyFacts(
            title=settings.study.title,
            questions=tally("SELECT benchmark, count(*) FROM question GROUP BY 1 ORDER BY 1"),
            categories=tally("SELECT category, count(*) FROM question GROUP BY 1 ORDER BY 1"),
            models=tuple(
                row[0]
                for row in conn.execute(
                    "SELECT model_a FROM pair UNION SELECT model_b FROM pair"
                    f" UNION SELECT {shown_name('m')} FROM model m ORDER BY 1"
                )
            ),
            pairs=_count(conn, "SELECT count(*) FROM pair WHERE superseded_by IS NULL"),
            excluded_pairs=tally(
                "SELECT excluded, count(*) FROM pair WHERE excluded IS NOT NULL"
                " GROUP BY 1 ORDER BY 1"
            ),
            coverage=_coverage(conn, people),
            raters=tally(
                f"SELECT r.rater_group, count(DISTINCT v.rater) {people} GROUP BY 1 ORDER BY 1"
            ),
            votes=tally(
                "SELECT CASE WHEN v.layer = 'simulated' THEN 'simulated' WHEN v.screen IS NULL"
                f" THEN 'imported' ELSE 'cast here' END, count(*) FROM {STANDING}"
                " JOIN rater r ON r.id = v.rater WHERE r.kind <> 'preview'"
                " AND v.subject = 'pair' GROUP BY 1 ORDER BY 1"
            ),
            withdrawn=_count(
                conn, "SELECT count(*) FROM vote WHERE status = 'withdrawn' AND subject = 'pair'"
            ),
            skips=tally("SELECT reason, count(*) FROM skip GROUP BY 1 ORDER BY 1"),
            statuses=tally(
                "SELECT status, count(*) FROM rater WHERE kind = 'invited' GROUP BY 1 ORDER BY 1"
            ),
            overlap=settings.assignment.overlap,
            protocols=tuple(
                row[0]
                for row in conn.execute(
                    "SELECT protocol FROM vote WHERE protocol IS NOT NULL AND layer <> 'simulated'"
                    " GROUP BY 1 ORDER BY min(rowid)"
                )
            ),
            human_subjects=settings.study.human_subjects.model_dump(),
            instructions=settings.protocol.instructions.strip(),
            consent=settings.protocol.consent.strip(),
            rubrics={
                d.name: f"{d.question} {d.rubric}".strip() for d in settings.protocol.dimensions
            },
        )


def _coverage(conn: sqlite3.Connection, people: str) -> tuple[Coverage, ...]:
    """Of every pair that can be rated, how many people voted on it, by dimension."""
    found: dict[str, dict[str, int]] = {}
    for dimension, raters, pairs in conn.execute(
        "SELECT dimension, raters, count(*) FROM (SELECT v.dimension AS dimension,"
        f" count(DISTINCT v.rater) AS raters {people} AND v.occurrence = 1"
        " AND v.pair IS NOT NULL GROUP BY v.dimension, v.pair) GROUP BY 1, 2 ORDER BY 1, 2"
    ):
        found.setdefault(dimension, {})[str(raters)] = int(pairs)
    every = _count(
        conn, "SELECT count(*) FROM pair WHERE superseded_by IS NULL AND excluded IS NULL"
    )
    for counts in found.values():
        if (none := every - sum(counts.values())) > 0:
            counts["0"] = none
    return tuple(Coverage(name, counts) for name, counts in found.items())


def _count(conn: sqlite3.Connection, sql: str) -> int:
    return int(conn.execute(sql).fetchone()[0])
