"""Whether verdicts are what the stored replies say, and judgments what the verdicts come to.

Nothing derived is signed: it can be made again from the replies, so that an edited verdict is one
that does not follow. Imported verdicts have no replies here.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing

from annotate.store import Store
from judge.ask.parse import PARSER_VERSION
from judge.database.ledger import read_again

DERIVED = {
    "verdict": "request, status, choice, grade, harm",
    "pair_verdict": "run, pair, turn, dimension, replicate, status, outcome, reason, orders",
    "answer_verdict": "run, answer, turn, dimension, replicate, status, grade, harm, reason",
}
"""Tables, and the columns that follow from replies."""
WORDS = {
    "verdict": "verdicts of single calls",
    "pair_verdict": "judgments of pairs",
    "answer_verdict": "judgments of answers",
}


def breaks(store: Store) -> list[str]:
    """How many derived rows do not follow from the replies, in words; none: all do.

    Works on a copy in memory, so that raters do not wait.
    """
    with closing(sqlite3.connect(":memory:")) as copy:
        store.conn.backup(copy)
        known = {row[0] for row in copy.execute("SELECT name FROM sqlite_master")}
        return list(_differing(copy)) if known >= DERIVED.keys() else []


def _differing(copy: sqlite3.Connection) -> Iterator[str]:
    for table in DERIVED:
        copy.execute(f"CREATE TEMP TABLE was_{table} AS SELECT * FROM {table}")
    read_again(copy)
    for table, columns in DERIVED.items():
        now, was = f"SELECT {columns} FROM {table}", f"SELECT {columns} FROM was_{table}"
        count = copy.execute(
            f"SELECT max((SELECT count(*) FROM ({was} EXCEPT {now})),"
            f" (SELECT count(*) FROM ({now} EXCEPT {was})))"
        ).fetchone()[0]
        if count:
            yield (
                f"{table}: {count:,} {WORDS[table]} do not follow from the stored replies"
                f" ({PARSER_VERSION}): edited, or read by an older program; evenhand judge reparse"
                " makes them again"
            )
