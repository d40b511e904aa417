"""The anchor check of a run: which stored verdicts, asked again, and what came of it."""

from __future__ import annotations

import json
import random
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, ClassVar

from annotate.errors import ServiceError
from annotate.records import canonical_json
from annotate.store import now
from judge.database.ledger import Ended
from judge.database.runs import Run
from judge.database.store import Pending, VerdictStore
from judge.engine.item import Ending
from judge.engine.plan import request_key
from judge.engine.progress import Silent
from judge.engine.run_lock import alone
from judge.engine.session import Session
from judge.engine.settings import JudgeSettings
from judge.stats.anchor import AnchorCheck, anchor_check, anchor_words

FIRST_REPLICATE = 1_000_000
"""Anchor requests are replicates of their own, far from those that judgments rest on."""
Drive = Callable[[Session], None]


@dataclass(frozen=True, slots=True)
class Recheck:
    """An anchor check that no new fingerprint asked for."""

    check: AnchorCheck
    old: bool
    """Whether its verdicts are as old as was asked; else a drift before them cannot show."""


@dataclass(frozen=True, slots=True)
class AnchorWork:
    """The requests of one check: fresh key → stored verdict."""

    verdicts: VerdictStore
    run_id: str
    stored: Mapping[str, Any]
    chained: ClassVar[bool] = False

    def progress(self, open_now: int) -> tuple[int, int]:
        """(requests, those that need no call)."""
        return len(self.stored), len(self.stored) - open_now

    def open_keys(self) -> list[str]:
        """What has no fresh reply yet."""
        answered = self.verdicts.answered(list(self.stored))
        return [key for key in self.stored if key not in answered]

    def pending(self, keys: Sequence[str]) -> Iterator[list[Pending]]:
        """These requests with their bodies, a piece at a time."""
        return self.verdicts.pending(keys)

    def record(self, calls: Sequence[Ended]) -> Sequence[Ending]:
        """Commit calls; no judgment rests on them."""
        return self.verdicts.record_attempts(self.run_id, calls)

    def again(self, _ending: Ending) -> bool:
        """No: the stored verdict was not asked for twice either."""
        return False

    def follow(self, _key: str, _ending: Ending) -> None:
        """Nothing."""

    def skip(self) -> None:
        """What a cap left out stays unasked."""

    def used(self) -> tuple[int, int]:
        """Tokens (in, out) of all calls of the run so far."""
        return self.verdicts.used(self.run_id)

    def pairs(self) -> list[tuple[Any, Any]]:
        """(stored, fresh) verdicts; fresh is None where there is none."""
        fresh = _values(self.verdicts, list(self.stored))
        return [(value, fresh.get(key)) for key, value in self.stored.items()]


def served(verdicts: VerdictStore, run_id: str) -> set[str]:
    """The fingerprints that have answered for a run so far."""
    rows = verdicts.store.conn.execute(
        "SELECT DISTINCT system_fingerprint FROM judge_attempt"
        " WHERE run = ? AND system_fingerprint IS NOT NULL",
        (run_id,),
    )
    return {row[0] for row in rows}


def checked_fingerprints(verdicts: VerdictStore, run_id: str) -> set[str]:
    """The fingerprint that answered first, and those that a check has compared since."""
    first = verdicts.store.conn.execute(
        "SELECT system_fingerprint FROM judge_attempt WHERE run = ?"
        " AND system_fingerprint IS NOT NULL ORDER BY id LIMIT 1",
        (run_id,),
    ).fetchone()
    rows = verdicts.store.conn.execute("SELECT result FROM judge_anchor WHERE run = ?", (run_id,))
    compared = {name for (text,) in rows for name in json.loads(text)["after"]}
    return compared | ({first[0]} if first else set())


def checks(verdicts: VerdictStore, run_id: str) -> list[tuple[str, str]]:
    """(when, in words) of every anchor check of a run, oldest first."""
    rows = verdicts.store.conn.execute(
        "SELECT created_at, result FROM judge_anchor WHERE run = ? ORDER BY created_at, rowid",
        (run_id,),
    )
    return [(at, anchor_words(AnchorCheck(**_tuples(json.loads(result))))) for at, result in rows]


def check_anchors(
    verdicts: VerdictStore,
    run_id: str,
    settings: JudgeSettings,
    before: set[str],
    after: set[str],
    drive: Drive,
) -> AnchorCheck | None:
    """Ask again for up to `settings.anchors` verdicts made under `before`; None without any.

    The fresh replies are kept in the log and change no judgment. Caps hold for these calls
    as for all of the run's. A check that fails on the way counts what it has.
    """
    known = _answered_by(verdicts, run_id, before)
    return _asked_again(verdicts, run_id, settings, known, before, drive, after=after)


def recheck_anchors(
    verdicts: VerdictStore, run: Run, settings: JudgeSettings, drive: Drive, *, until: str
) -> Recheck | None:
    """Ask again for up to `settings.anchors` verdicts, whichever fingerprint the endpoint serves.

    Verdicts not younger than `until` are drawn, where there are any; None without a stored one.

    Raises:
        UsageError: another process is asking this run's requests.
    """
    known, old = _stored(verdicts, run.id, until), True
    if not known:
        known, old = _stored(verdicts, run.id, None), False
    before = served(verdicts, run.id)
    with alone(verdicts.store.path, run):
        found = _asked_again(verdicts, run.id, settings, known, before, drive)
    return None if found is None else Recheck(found, old)


def _asked_again(
    verdicts: VerdictStore,
    run_id: str,
    settings: JudgeSettings,
    known: Sequence[str],
    before: set[str],
    drive: Drive,
    *,
    after: set[str] | None = None,
) -> AnchorCheck | None:
    """Draw from these requests, ask, compare and note; None if there are none.

    `after`: the fingerprints that answer now; None takes those that answer here.
    """
    work = _register(verdicts, run_id, known, settings.anchors)
    if not work.stored:
        return None
    session = Session(verdicts, work, settings, Silent())
    session.begin()
    why = ""
    try:
        drive(session)
    except ServiceError as error:
        # What could not be asked is counted as failed.
        why = str(error)
    if session.at_cap:
        why = "the cap was reached"
    now_served = served(verdicts, run_id) if after is None else after
    found = anchor_check(sorted(before), sorted(now_served - before), work.pairs(), why=why)
    with verdicts.store.write() as conn:
        check = str(uuid.uuid4())
        conn.execute(
            "INSERT INTO judge_anchor (id, run, created_at, result) VALUES (?, ?, ?, ?)",
            (check, run_id, now(), canonical_json(asdict(found))),
        )
        verdicts.store.log(conn, "judge_anchor", check, asdict(found))
    return found


def _answered_by(verdicts: VerdictStore, run_id: str, before: set[str]) -> list[str]:
    """Requests with a usable verdict from one of these fingerprints."""
    return _requests(
        verdicts,
        run_id,
        "AND a.system_fingerprint IN (SELECT value FROM json_each(?))",
        json.dumps(sorted(before)),
    )


def _stored(verdicts: VerdictStore, run_id: str, until: str | None) -> list[str]:
    """Requests with a usable verdict, made not after a moment."""
    return _requests(verdicts, run_id, "AND a.finished_at <= coalesce(?, a.finished_at)", until)


def _requests(verdicts: VerdictStore, run_id: str, which: str, value: str | None) -> list[str]:
    rows = verdicts.store.conn.execute(
        "SELECT DISTINCT v.request FROM judge_item i JOIN verdict v ON v.request = i.request"
        " JOIN judge_attempt a ON a.id = v.attempt WHERE i.run = ? AND v.status = 'ok'"
        f" {which} ORDER BY v.request",
        (run_id, value),
    )
    return [row[0] for row in rows]


def _register(verdicts: VerdictStore, run_id: str, known: Sequence[str], items: int) -> AnchorWork:
    """Draw stored verdicts and write the requests that ask for them again."""
    store = verdicts.store
    number = int(
        store.conn.execute("SELECT count(*) FROM judge_anchor WHERE run = ?", (run_id,)).fetchone()[
            0
        ]
    )
    # The same run and check draw the same sample: a killed check goes on where it was.
    drawn = random.Random(f"{run_id} {number}").sample(known, min(items, len(known)))
    values = _values(verdicts, drawn)
    stored: dict[str, Any] = {}
    with store.write() as conn:
        for key in drawn:
            endpoint, body, offered = conn.execute(
                "SELECT endpoint, body, offered FROM judge_request WHERE key = ?", (key,)
            ).fetchone()
            replicate = FIRST_REPLICATE + number
            fresh = request_key(body, endpoint, replicate)
            conn.execute(
                "INSERT OR IGNORE INTO judge_request"
                " (key, created_at, endpoint, replicate, body, offered)"
                " VALUES (?, ?, ?, ?, ?, ?)",
                (fresh, now(), endpoint, replicate, body, offered),
            )
            stored[fresh] = values[key]
    return AnchorWork(verdicts, run_id, stored)


def _values(verdicts: VerdictStore, keys: Sequence[str]) -> dict[str, Any]:
    """What usable verdicts say, as plain values."""
    rows = verdicts.store.conn.execute(
        "SELECT request, choice, grade, harm FROM verdict WHERE status = 'ok'"
        " AND request IN (SELECT value FROM json_each(?))",
        (json.dumps(list(keys)),),
    )
    return {key: (choice, grade, harm) for key, choice, grade, harm in rows}


def _tuples(fields: dict[str, Any]) -> dict[str, Any]:
    """Lists of a stored result as the tuples they were."""
    power = tuple((rate, chance) for rate, chance in fields["power"])
    return {
        **fields,
        "before": tuple(fields["before"]),
        "after": tuple(fields["after"]),
        "power": power,
    }
