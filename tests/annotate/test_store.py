"""The database file: opening it safely, writing all or nothing, failing out loud."""

from __future__ import annotations

import shutil
import sqlite3
import subprocess
import sys
import tempfile
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from annotate import ballots, seats
from annotate import store as store_module
from annotate.errors import (
    StoreError,
    StoreMissing,
    StoreNewer,
    StoreUnavailable,
    StoreUnsafe,
)
from annotate.records import Choice
from annotate.store import Store, after, now, refuse_network_file_system
from annotate.verify import verify
from tests.annotate.support import cast, count, empty_store, join, screen_for, votes
from tests.annotate.write_shapes import SHAPES, STUDY
from tests.conftest import MakeStudy


def schema(store: Store) -> list[tuple[str, str]]:
    return store.conn.execute(
        "SELECT name, sql FROM sqlite_master WHERE sql IS NOT NULL ORDER BY name"
    ).fetchall()


def test_a_new_database_is_strict_private_and_durable(store: Store) -> None:
    assert store.path.stat().st_mode & 0o777 == 0o600
    assert {
        name: store.conn.execute(f"PRAGMA {name}").fetchone()[0]
        for name in ("journal_mode", "foreign_keys", "synchronous", "busy_timeout")
    } == {"journal_mode": "wal", "foreign_keys": 1, "synchronous": 2, "busy_timeout": 30_000}
    loose = store.conn.execute(
        "SELECT name FROM pragma_table_list WHERE type = 'table' AND strict = 0"
        " AND name NOT LIKE 'sqlite%' AND name NOT LIKE '_sqlite_%'"
    ).fetchall()
    assert loose == []
    assert verify(store).breaks == []


def test_opening_twice_changes_nothing(store: Store) -> None:
    before = schema(store), store.study_id, store.secret
    again = Store.open(store.path)
    assert (schema(again), again.study_id, again.secret) == before
    again.close()


def test_every_old_shape_becomes_the_present_one(store: Store, tmp_path: Path) -> None:
    shapes = sorted(SHAPES.glob("*.sql"))
    assert shapes
    for shape in shapes:
        path = tmp_path / f"{shape.stem}.sqlite"
        old = sqlite3.connect(path)
        old.executescript(shape.read_text("utf-8"))
        old.close()
        opened = Store.open(path)
        assert [s for s in schema(opened) if not s[0].startswith("_")] == [
            s for s in schema(store) if not s[0].startswith("_")
        ]
        assert opened.study_id == STUDY
        opened.close()


def test_an_existing_file_is_not_written_over(store: Store) -> None:
    with pytest.raises(StoreError, match="exists already"):
        Store.create(store.path, "test")


def test_no_file_says_how_to_make_one(tmp_path: Path) -> None:
    with pytest.raises(StoreMissing, match="evenhand init"):
        Store.open(tmp_path / "evenhand.sqlite")
    assert list(tmp_path.iterdir()) == []


def test_a_newer_file_is_refused_untouched(store: Store) -> None:
    with store.write() as conn:
        conn.execute(
            "INSERT INTO _sqlite_migrations (migration_set, name, applied_at)"
            " VALUES ('evenhand.annotate', 'm999_from_the_future', '2030-01-01')"
        )
    store.conn.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    before = store.path.read_bytes()
    with pytest.raises(StoreNewer, match="m999_from_the_future"):
        Store.open(store.path)
    assert store.path.read_bytes() == before


@pytest.mark.parametrize(
    "content", [b"", b"not a database, only words" * 100, b"SQLite format 3\0"]
)
def test_a_file_that_is_no_study_is_refused_in_one_line(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "evenhand.sqlite"
    path.write_bytes(content)
    with pytest.raises(StoreError, match=r"not a.*Evenhand") as caught:
        Store.open(path)
    assert "\n" not in str(caught.value)
    assert path.read_bytes() == content


def test_someone_elses_database_is_left_alone(tmp_path: Path) -> None:
    """Opening it used to add our tables to it before refusing."""
    path = tmp_path / "evenhand.sqlite"
    other = sqlite3.connect(path)
    other.execute("CREATE TABLE invoice (id INTEGER)")
    other.commit()
    other.close()
    before = path.read_bytes()
    with pytest.raises(StoreError, match="not an Evenhand"):
        Store.open(path)
    assert path.read_bytes() == before


@pytest.mark.parametrize(
    ("kind", "place", "refused"),
    [
        ("nfs4", "{folder}", True),
        ("cifs", "{parent}", True),
        ("fuse.sshfs", "{folder}", True),
        ("ext4", "{folder}", False),
        ("nfs", "{folder}-elsewhere", False),
    ],
)
def test_a_network_file_system_is_refused(
    tmp_path: Path, kind: str, place: str, refused: bool
) -> None:
    folder = tmp_path / "my studies"
    folder.mkdir()
    where = place.format(folder=folder, parent=tmp_path).replace(" ", "\\040")
    mounts = tmp_path / "mounts"
    mounts.write_text(f"/dev/sda / ext4 rw 0 0\nserver:/x {where} {kind} rw 0 0\n")
    if refused:
        with pytest.raises(StoreUnsafe, match=kind):
            refuse_network_file_system(folder / "evenhand.sqlite", mounts)
    else:
        refuse_network_file_system(folder / "evenhand.sqlite", mounts)


def test_making_and_opening_a_study_both_look_at_the_file_system(
    store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not Path("/proc/mounts").exists():
        pytest.skip("no /proc here: mounted file systems NOT looked at")
    kinds = {line.split(" ")[2] for line in Path("/proc/mounts").read_text().splitlines()}
    monkeypatch.setattr(store_module, "NETWORK_FILE_SYSTEMS", kinds)
    with pytest.raises(StoreUnsafe, match="network file system"):
        Store.open(store.path)
    with pytest.raises(StoreUnsafe, match="network file system"):
        Store.create(tmp_path / "other.sqlite", "test")
    assert not (tmp_path / "other.sqlite").exists()


READ_ONLY = """
import os, sys
from pathlib import Path
from annotate.errors import StoreUnavailable
from annotate.store import Store
from annotate import seats
if os.getuid() == 0:
    os.setgid(65534); os.setuid(65534)
try:
    store = Store.open(Path(sys.argv[1]))
    seats.invite(store, "Ada")
except StoreUnavailable as error:
    print(error)
"""


@pytest.mark.parametrize("what", ["folder", "file"])
def test_a_read_only_place_is_named_and_nothing_is_saved(what: str) -> None:
    # Not tmp_path: its parents are closed to the user that this test becomes.
    folder = Path(tempfile.mkdtemp())
    try:
        store = empty_store(folder)
        store.close()
        store.path.chmod(0o444 if what == "file" else 0o666)
        folder.chmod(0o777 if what == "file" else 0o555)
        done = subprocess.run(
            [sys.executable, "-c", READ_ONLY, str(store.path)],
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.stderr == ""
        assert str(store.path) in done.stdout
        assert done.stdout.count("\n") == 1
        folder.chmod(0o777)
        again = Store.open(store.path)
        assert count(again, "SELECT count(*) FROM rater") == 0
        again.close()
    finally:
        shutil.rmtree(folder)


def test_disk_full_saves_nothing_and_a_retry_saves_once(new_study: MakeStudy) -> None:
    study = new_study(3)
    rater = join(study, "Ada")
    conn = study.store.conn
    screen = screen_for(study, rater)
    conn.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    pages = conn.execute("PRAGMA page_count").fetchone()[0]
    conn.execute(f"PRAGMA max_page_count = {pages}")
    with pytest.raises(StoreUnavailable, match="full"):
        cast(study, rater, screen, comment="words " * 5_000)
    assert votes(study.store) == 0
    assert not conn.in_transaction
    conn.execute("PRAGMA max_page_count = 1073741823")
    first = cast(study, rater, screen, comment="words " * 5_000)
    again = cast(study, rater, screen, comment="words " * 5_000)
    assert (first.repeated, again.repeated, again.vote) == (False, True, first.vote)
    assert votes(study.store) == 1
    assert verify(study.store).breaks == []


def test_a_write_that_fails_leaves_nothing_and_no_gap_in_the_chain(store: Store) -> None:
    with pytest.raises(ZeroDivisionError), store.write() as conn:  # noqa: PT012
        seats.add_rater(store, conn, group="g", kind="invited", label=None)
        raise ZeroDivisionError
    assert count(store, "SELECT count(*) FROM rater") == 0
    seats.invite(store, "Ada")
    assert verify(store).breaks == []


def test_a_write_inside_a_write_is_refused_not_merged(store: Store) -> None:
    with store.write(), pytest.raises(StoreError, match="inside another"), store.write():
        pass
    seats.invite(store, "Ada")


def test_another_process_holding_the_lock_too_long_is_named(store: Store) -> None:
    other = sqlite3.connect(store.path, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    store.conn.execute("PRAGMA busy_timeout = 10")
    with pytest.raises(StoreUnavailable, match="locked"):
        seats.invite(store, "Ada")
    other.execute("ROLLBACK")
    other.close()
    assert seats.invite(store, "Ada").seat == 0


def test_a_snapshot_does_not_see_later_writes(store: Store) -> None:
    other = Store.open(store.path)
    with store.snapshot() as conn:
        assert conn.execute("SELECT count(*) FROM rater").fetchone()[0] == 0
        seats.invite(other, "Ada")
        assert conn.execute("SELECT count(*) FROM rater").fetchone()[0] == 0
    assert count(store, "SELECT count(*) FROM rater") == 1
    other.close()


def test_two_threads_write_through_one_store(store: Store) -> None:
    def invite(first: int) -> None:
        for number in range(first, first + 20):
            seats.invite(store, f"rater {number}")

    threads = [threading.Thread(target=invite, args=(start,)) for start in (0, 100)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    seats_taken = [row[0] for row in store.conn.execute("SELECT seat FROM rater ORDER BY seat")]
    assert seats_taken == list(range(40))
    assert verify(store).breaks == []


def test_threads_that_ended_leave_no_open_files(store: Store) -> None:
    """A server's worker threads come and go for weeks; each had kept its connection open."""

    def descriptors() -> int:
        return len(list(Path("/proc/self/fd").iterdir()))

    if not Path("/proc/self/fd").exists():
        pytest.skip("no /proc here: open files NOT counted")
    before = descriptors()
    for _ in range(40):
        thread = threading.Thread(target=lambda: count(store, "SELECT count(*) FROM rater"))
        thread.start()
        thread.join()
    assert descriptors() - before <= 6


def test_a_backup_taken_while_writing_is_whole(new_study: MakeStudy, tmp_path: Path) -> None:
    study = new_study(40)
    rater = join(study, "Ada")
    stop = threading.Event()

    # Undone votes keep the writer busy for ever; keys differ by revision.
    def busy() -> None:
        number = 0
        while not stop.is_set():
            number += 1
            screen = screen_for(study, rater)
            cast(study, rater, screen, client_key=f"key-{number:08}")
            ballots.undo(study.store, rater.id, study.settings.assignment)

    thread = threading.Thread(target=busy)
    thread.start()
    for number in range(5):
        target = tmp_path / f"copy{number}.sqlite"
        study.store.backup(target)
        assert target.stat().st_mode & 0o777 == 0o600
        copy = Store.open(target)
        assert verify(copy).breaks == []
        assert copy.study_id == study.store.study_id
        copy.close()
    stop.set()
    thread.join()
    assert votes(study.store) > 0
    assert verify(study.store).breaks == []


def test_a_backup_never_replaces_a_file_and_names_a_bad_place(store: Store, tmp_path: Path) -> None:
    (tmp_path / "taken.sqlite").write_text("precious")
    with pytest.raises(StoreError, match="exists already"):
        store.backup(tmp_path / "taken.sqlite")
    assert (tmp_path / "taken.sqlite").read_text() == "precious"
    with pytest.raises(StoreError, match="nowhere"):
        store.backup(tmp_path / "nowhere" / "copy.sqlite")


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE vote SET outcome = 'b'",
        "DELETE FROM vote",
        "UPDATE event SET kind = 'x'",
        "DELETE FROM event",
        "INSERT OR REPLACE INTO event SELECT writer, seq, created_at, 'x', subject, digest,"
        " previous, hash FROM event LIMIT 1",
    ],
)
def test_votes_and_events_are_append_only(new_study: MakeStudy, statement: str) -> None:
    study = new_study(1)
    rater = join(study, "Ada")
    cast(study, rater, screen_for(study, rater))
    before = study.store.conn.execute("SELECT * FROM event").fetchall()

    def tamper() -> None:
        with pytest.raises(sqlite3.IntegrityError), study.store.write() as conn:
            conn.execute(statement)

    tamper()
    with ThreadPoolExecutor(1) as beside:  # the server's threads have connections of their own
        beside.submit(tamper).result()
    assert study.store.conn.execute("SELECT * FROM event").fetchall() == before
    assert votes(study.store, "outcome IN ('a', 'b')") == 1


@pytest.mark.parametrize(
    ("column", "value"),
    [
        ("outcome", "left"),
        ("outcome", None),
        ("order_shown", "left"),
        ("turn", -1),
        ("turn", "one"),
        ("turn", None),
        ("subject", "answer"),
        ("strength", 11),
        ("grade", 5.0),
        ("status", "withdrawn"),
        ("status", "maybe"),
        ("layer", "judge"),
        ("inclusion_probability", 0.0),
        ("inclusion_probability", 1.5),
        ("active_ms", -1),
        ("created_at", "2026-11-29 10:00"),
        ("revision", 2),
        ("rater", "nobody"),
        ("pair", "nothing"),
        ("purpose", "fun"),
    ],
)
def test_a_vote_that_makes_no_sense_cannot_be_stored(
    new_study: MakeStudy, column: str, value: object
) -> None:
    study = new_study(1)
    rater = join(study, "Ada")
    cast(study, rater, screen_for(study, rater))
    row = dict(
        zip(
            ballots.VOTE_COLUMNS,
            study.store.conn.execute(
                f"SELECT {', '.join(ballots.VOTE_COLUMNS)} FROM vote"
            ).fetchone(),
            strict=True,
        )
    )
    row |= {"id": "new", "client_key": "other key", "screen": None, column: value}
    with pytest.raises(sqlite3.IntegrityError), study.store.write() as conn:
        conn.execute(
            f"INSERT INTO vote ({', '.join(row)}) VALUES ({', '.join('?' * len(row))})",
            list(row.values()),
        )


def test_a_sound_row_passes_the_same_checks(new_study: MakeStudy) -> None:
    """Guards the table above: its rows fail for their one change only."""
    study = new_study(1)
    rater = join(study, "Ada")
    cast(study, rater, screen_for(study, rater), Choice.TIE)
    with study.store.write() as conn:
        conn.execute(
            "INSERT INTO vote SELECT 'new', 'other key', NULL, "
            + ", ".join(ballots.VOTE_COLUMNS[3:])
            + " FROM vote"
        )
    assert votes(study.store) == 2


def test_times_are_utc_and_sort() -> None:
    assert now() < after(1) < after(100)
    assert now().endswith("Z")
