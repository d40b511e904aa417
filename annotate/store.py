"""One SQLite file per study: opening it safely, and short immediate transactions.

WAL on a local disk, foreign keys on, 30 s busy timeout, `synchronous=FULL` so that a
committed vote survives a power cut (DESIGN §4). What the tables mean is in
`migrations.py`; what happens to them is in `library.py`, `seats.py` and `ballots.py`.
"""

from __future__ import annotations

import contextlib
import secrets
import sqlite3
import threading
import time
import uuid
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from functools import cached_property
from pathlib import Path

from . import events
from .errors import StoreError, StoreMissing, StoreUnavailable, StoreUnsafe
from .migrating import migrate
from .migrations import MIGRATIONS

FILE_NAME = "evenhand.sqlite"
BUSY_SECONDS = 30
NETWORK_FILE_SYSTEMS = {
    "nfs", "nfs4", "cifs", "smb3", "smbfs", "ncpfs", "afs", "9p", "ceph",
    "fuse.sshfs", "fuse.s3fs", "fuse.gcsfuse", "fuse.rclone", "glusterfs", "fuse.glusterfs",
}  # fmt: skip


class Store:
    """A study's database. Safe to share between threads: each gets its own connection."""

    def __init__(self, path: Path, writer: str | None = None) -> None:
        self.path = path
        self.writer = writer or str(uuid.uuid4())
        self._local = threading.local()
        self._write_lock = threading.Lock()
        self._opened: list[tuple[threading.Thread, sqlite3.Connection]] = []

    @classmethod
    def create(cls, path: Path, program: str) -> Store:
        """Make a new database with every table and the study's own secret.

        Raises:
            StoreUnsafe: the folder is on a network file system.
            StoreError: the file exists already.
        """
        refuse_network_file_system(path)
        if path.exists():
            raise StoreError(f"{path}: exists already; choose another folder or open this one")
        store = cls(path)
        migrate(store.conn, MIGRATIONS, path)
        with store.write() as conn:
            study_id, at = str(uuid.uuid4()), now()
            conn.execute(
                "INSERT INTO study (id, created_at, program, secret) VALUES (?, ?, ?, ?)",
                (study_id, at, program, secrets.token_urlsafe(32)),
            )
            events.append(conn, store.writer, at, "study", study_id, {"program": program})
        path.chmod(0o600)
        return store

    @classmethod
    def open(cls, path: Path) -> Store:
        """Open an existing database and bring an older shape up to date.

        Raises:
            StoreMissing: no file there.
            StoreNewer: it was written by a newer Evenhand.
            StoreUnsafe: it lies on a network file system.
            StoreUnavailable: the file or its folder cannot be written.
            StoreError: the file is not an Evenhand study.
        """
        if not path.exists():
            raise StoreMissing(
                f"{path.parent}: no study here ({path.name} not found);"
                " make one with: evenhand init STUDY"
            )
        refuse_network_file_system(path)
        store = cls(path)
        try:
            _bring_up_to_date(store)
        except sqlite3.OperationalError as error:
            store.close()
            raise StoreUnavailable(
                f"{path}: cannot be opened for writing ({error}); check its permissions,"
                " its folder's, and the free space"
            ) from error
        except sqlite3.DatabaseError as error:
            store.close()
            raise StoreError(
                f"{path}: not a readable Evenhand database ({error}); restore it from a backup"
            ) from error
        except StoreError:
            store.close()
            raise
        return store

    @property
    def conn(self) -> sqlite3.Connection:
        """This thread's connection (opened on first use)."""
        conn = getattr(self._local, "conn", None)
        if conn is None:
            conn = connect(self.path)
            self._local.conn = conn
            self._close_orphans()
            self._opened.append((threading.current_thread(), conn))
        return conn

    def _close_orphans(self) -> None:
        """A server's worker threads come and go: one that ended must not keep files open."""
        for entry in list(self._opened):
            thread, conn = entry
            if not thread.is_alive():
                conn.close()
                with contextlib.suppress(ValueError):  # another thread was quicker
                    self._opened.remove(entry)

    @contextlib.contextmanager
    def write(self) -> Iterator[sqlite3.Connection]:
        """One short `BEGIN IMMEDIATE` transaction; committed on leaving, else rolled back.

        The lock keeps threads of this process from spinning on SQLite's own lock;
        other processes wait on the busy timeout.

        Raises:
            StoreUnavailable: disk full, read-only, or locked for longer than the timeout.
        """
        conn = self.conn
        if _in_transaction(conn):
            raise StoreError("a write was started inside another write")
        with self._write_lock:
            try:
                begin_immediate(conn)
                try:
                    yield conn
                    conn.execute("COMMIT")
                except BaseException:
                    if _in_transaction(conn):
                        conn.execute("ROLLBACK")
                    raise
            except sqlite3.OperationalError as error:
                raise StoreUnavailable(
                    f"{self.path}: nothing was saved ({error});"
                    " check free space and permissions, then try again"
                ) from error

    @contextlib.contextmanager
    def attempt(self, conn: sqlite3.Connection) -> Iterator[None]:
        """Part of a write that may fail alone: an error undoes this block and is passed on."""
        conn.execute("SAVEPOINT attempt")
        try:
            yield
        except BaseException:
            conn.execute("ROLLBACK TO attempt")
            raise
        finally:
            if _in_transaction(conn):
                conn.execute("RELEASE attempt")

    @contextlib.contextmanager
    def snapshot(self) -> Iterator[sqlite3.Connection]:
        """A read transaction: everything read inside belongs to one moment."""
        conn = self.conn
        if conn.in_transaction:
            yield conn
            return
        conn.execute("BEGIN")
        try:
            yield conn
        finally:
            conn.execute("ROLLBACK")

    def log(self, conn: sqlite3.Connection, kind: str, subject: str, body: object) -> None:
        """Append an event to this writer's chain inside the caller's transaction."""
        events.append(conn, self.writer, now(), kind, subject, body)

    @cached_property
    def study_id(self) -> str:
        """The study's UUID."""
        return str(self.conn.execute("SELECT id FROM study").fetchone()[0])

    @cached_property
    def secret(self) -> str:
        """The key that signs invitations and sessions; never leaves the server."""
        return str(self.conn.execute("SELECT secret FROM study").fetchone()[0])

    def backup(self, target: Path) -> None:
        """Copy the database while it is in use (SQLite's online backup).

        Raises:
            StoreError: the target exists.
            StoreUnavailable: the target cannot be written.
        """
        if target.exists():
            raise StoreError(f"{target}: exists already; give a new file name")
        part = target.with_name(target.name + ".part")
        try:
            part.unlink(missing_ok=True)
            with contextlib.closing(sqlite3.connect(part)) as copy:
                self.conn.backup(copy)
                copy.execute("PRAGMA journal_mode = DELETE")
            part.chmod(0o600)
            part.rename(target)
        except (sqlite3.OperationalError, OSError) as error:
            with contextlib.suppress(OSError):
                part.unlink(missing_ok=True)
            raise StoreUnavailable(
                f"{target}: the backup was not made ({error}); check the folder and free space"
            ) from error

    def close(self) -> None:
        """Close this thread's connection and those of threads that ended.

        A connection that another thread is still using is left to that thread: closing it
        under a running statement crashes the process.
        """
        here = threading.current_thread()
        for thread, conn in self._opened:
            if thread is here or not thread.is_alive():
                conn.close()
        self._opened.clear()
        self._local = threading.local()


def _bring_up_to_date(store: Store) -> None:
    """Migrate a study's file; a database of something else is not touched."""
    ours = store.conn.execute(
        "SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = 'study'"
    ).fetchone()
    if ours is None:
        raise StoreError(f"{store.path}: not an Evenhand study (it has none of its tables)")
    migrate(store.conn, MIGRATIONS, store.path)
    if store.conn.execute("SELECT id FROM study").fetchone() is None:
        raise StoreError(f"{store.path}: has no study row; restore it from a backup")


def connect(path: Path) -> sqlite3.Connection:
    """A connection with the project's settings; transactions are always explicit."""
    conn = sqlite3.connect(
        path, timeout=BUSY_SECONDS, isolation_level=None, check_same_thread=False
    )
    conn.execute(f"PRAGMA busy_timeout = {BUSY_SECONDS * 1000}")
    conn.execute("PRAGMA foreign_keys = ON")
    conn.execute("PRAGMA synchronous = FULL")
    # Else INSERT OR REPLACE removes a row of a log without asking its triggers.
    conn.execute("PRAGMA recursive_triggers = ON")
    return conn


def _in_transaction(conn: sqlite3.Connection) -> bool:
    return conn.in_transaction


def begin_immediate(conn: sqlite3.Connection, attempts: int = 5) -> None:
    """`BEGIN IMMEDIATE` with a bounded retry.

    The busy handler is not called in every case (a WAL checkpoint or recovery by
    another process answers "locked" at once), hence the retry on top of the timeout.
    """
    for attempt in range(attempts):
        try:
            conn.execute("BEGIN IMMEDIATE")
            return
        except sqlite3.OperationalError as error:
            if "locked" not in str(error) or attempt == attempts - 1:
                raise
            time.sleep(0.05 * (attempt + 1))


def refuse_network_file_system(path: Path, mounts: Path = Path("/proc/mounts")) -> None:
    """WAL needs shared memory, which network file systems do not give reliably.

    Raises:
        StoreUnsafe: the nearest existing parent of `path` is on one.
    """
    if not mounts.exists():
        return
    place = path.resolve()
    best, kind = "", ""
    for line in mounts.read_text(errors="replace").splitlines():
        _device, mount_point, fs_type, *_rest = line.split(" ")
        mount_point = mount_point.replace("\\040", " ")
        inside = place == Path(mount_point) or Path(mount_point) in place.parents
        if inside and len(mount_point) >= len(best):
            best, kind = mount_point, fs_type
    if kind in NETWORK_FILE_SYSTEMS:
        raise StoreUnsafe(
            f"{path.parent}: lies on a network file system ({kind} at {best}), where SQLite"
            " can lose votes; put the study on a local disk"
        )


def now() -> str:
    """The current time in UTC, ISO 8601 with milliseconds and `Z`."""
    return stamp(datetime.now(UTC))


def after(seconds: float) -> str:
    """The time `seconds` from now, in the same form as :func:`now`."""
    return stamp(datetime.now(UTC) + timedelta(seconds=seconds))


def stamp(moment: datetime) -> str:
    """A UTC moment as text that sorts in time order."""
    return moment.strftime("%Y-%m-%dT%H:%M:%S.") + f"{moment.microsecond // 1000:03d}Z"
