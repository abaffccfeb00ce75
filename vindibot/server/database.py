"""The store: one SQLite file, and one thread that reads and writes it, so that the event loop never waits for a disk.

Without a path everything is in memory and gone at the end. With one, the file belongs to this server alone as long as it
runs (a lock file beside it says so; other programs may read). What was written is on the disk, whatever happens to the
process afterwards; what could not be written (a full disk) is tried again with the next write.
"""

from __future__ import annotations

import asyncio
import os
import sqlite3
import threading
import weakref
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

import structlog
from filelock import FileLock, Timeout

from vindibot.server.schema import DatabaseError, check_owner, migrate, salt_of

#: Seconds that the file may be locked by another program before an access fails.
LOCKED_SECONDS = 3.0
#: Files up to this size are checked from end to end when they are opened (about a second); larger ones when they are read.
CHECKED_BYTES = 256 * 2**20
#: Writes that wait for a disk that refuses them; the oldest beyond them are given up.
MAX_BACKLOG = 10_000
THREAD_NAME = "vindibot-store"

_log = structlog.get_logger("vindibot.store")
_Result = TypeVar("_Result")
Work = Callable[[sqlite3.Connection], None]


class Database:
    """The open store. Opening raises `DatabaseError`. Its methods may be called from any thread."""

    def __init__(self, path: Path | None = None, *, locked_seconds: float = LOCKED_SECONDS) -> None:
        self.path = path
        self._locked_seconds = locked_seconds
        self._lock = _lock(path) if path is not None else None
        self._thread = ThreadPoolExecutor(1, thread_name_prefix=THREAD_NAME)
        try:
            self._connection, self.salt, self.interrupted = self._thread.submit(self._open).result()
        except BaseException:
            self._thread.shutdown()
            if self._lock is not None:
                self._lock.release()
            raise
        # For a store that nobody closes: a connection that is collected open is a warning.
        self._writer = _Writer(self._connection)
        self._closing = weakref.finalize(self, _close, self._thread, self._writer, self._lock)

    @property
    def persistent(self) -> bool:
        """Whether there is a file."""
        return self.path is not None

    def _open(self) -> tuple[sqlite3.Connection, bytes, int]:
        name = str(self.path) if self.path is not None else ":memory:"
        connection: sqlite3.Connection | None = None
        problem: DatabaseError
        try:
            connection = sqlite3.connect(name, timeout=self._locked_seconds, isolation_level=None, check_same_thread=False)
            if self.path is not None:
                _check(connection, self.path)
            migrate(connection, name)
            connection.execute("PRAGMA foreign_keys = ON")
            with _Transaction(connection):
                salt = salt_of(connection)
                ended = connection.execute("UPDATE games SET state = 'interrupted' WHERE state = 'running'").rowcount
            return connection, salt, ended
        except DatabaseError as error:
            problem = error
        except sqlite3.Error as error:
            problem = DatabaseError(f"{name}: {_reason(error)}")
        if connection is not None:
            connection.close()
        raise problem

    # ---- Reading and writing ----

    async def read(self, work: Callable[[sqlite3.Connection], _Result]) -> _Result:
        """What `work` finds; it runs after everything that was written before. Raises `DatabaseError`."""
        try:
            return await asyncio.wrap_future(self._thread.submit(self._read, work))
        except sqlite3.Error as error:
            raise DatabaseError(f"{self.path or 'the store'}: {_reason(error)}") from None

    def read_now(self, work: Callable[[sqlite3.Connection], _Result]) -> _Result:
        """As `read`, but waits: for a server that does not run yet."""
        return self._thread.submit(self._read, work).result()

    def _read(self, work: Callable[[sqlite3.Connection], _Result]) -> _Result:
        self._writer.flush()
        return work(self._connection)

    def write(self, what: str, work: Work) -> Future[bool]:
        """Have `work` done, whole or not at all, in the order of calls. The result is whether it is on the disk.

        Work that waits while the disk is busy is written together. `what` is what the log says if it cannot be written. Work
        may be tried several times, each time from the start.
        """
        kept = self._writer.put(what, work)
        self._thread.submit(self._writer.flush)
        return kept

    def run(self, work: Callable[[], object]) -> None:
        """Have `work` done in the store's thread, where nobody waits for it."""
        self._thread.submit(work)

    async def close(self) -> None:
        """Write what is to be written and close. Later calls do nothing."""
        if self._closing.alive:
            await asyncio.to_thread(self._closing)


@dataclass
class _Job:
    """Work that waits to be written. `kept` is told whether it is on the disk, at the first attempt."""

    what: str
    work: Work
    kept: Future[bool] = field(default_factory=Future)

    def tell(self, kept: bool) -> None:
        if not self.kept.done():
            self.kept.set_result(kept)


class _Writer:
    """Writes what waits, in one transaction for all of it: a slow disk makes the groups larger, not the queue longer.

    What the disk refuses waits for the next attempt. `put` may be called from any thread, the rest belongs to the store's.
    """

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection
        self._waiting: deque[_Job] = deque()

    def put(self, what: str, work: Work) -> Future[bool]:
        """Have this work done by the next `flush`, after what waits already."""
        job = _Job(what, work)
        job.kept.set_running_or_notify_cancel()  # nobody who stops waiting for it calls it off
        self._waiting.append(job)
        return job.kept

    def flush(self) -> None:
        """Do the work that waits."""
        while group := list(self._waiting):
            failed: Sequence[_Job] = group
            try:
                failed = self._commit(group)
            except sqlite3.OperationalError as error:
                _log.error("cannot write, will try again", what=group[-1].what, reason=_reason(error), waiting=len(group))
                for job in group:
                    job.tell(False)
                while len(self._waiting) > MAX_BACKLOG:
                    self._waiting.popleft()
                return
            except sqlite3.Error as error:
                _log.error("not kept", what=group[-1].what, reason=_reason(error), lost=len(group))
            for job in group:
                self._waiting.popleft()
                job.tell(job not in failed)

    def _commit(self, group: Sequence[_Job]) -> list[_Job]:
        """Do this work and have it on the disk; that which fails for good, of which nothing is kept. Raises
        `sqlite3.OperationalError` if the disk refuses, and then nothing of the group is kept."""
        failed = []
        with _Transaction(self._connection):
            for job in group:
                self._connection.execute("SAVEPOINT job")
                try:
                    job.work(self._connection)
                except sqlite3.OperationalError:
                    raise
                except Exception as error:  # one that will not go away must not hold up the others
                    _log.error("not kept", what=job.what, error=type(error).__name__, reason=str(error))
                    self._connection.execute("ROLLBACK TO job")
                    failed.append(job)
                self._connection.execute("RELEASE job")
        return failed

    def close(self) -> None:
        """Try what waits a last time, and close."""
        self.flush()
        self._connection.close()


def _close(thread: ThreadPoolExecutor, writer: _Writer, lock: FileLock | None) -> None:
    try:
        thread.submit(writer.close)
    except RuntimeError:  # the interpreter is going down
        writer.close()
    thread.shutdown(wait=not threading.current_thread().name.startswith(THREAD_NAME))
    if lock is not None:
        lock.release()


class _Transaction:
    """A transaction that begins with the right to write."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection

    def __enter__(self) -> None:
        self._connection.execute("BEGIN IMMEDIATE")

    def __exit__(self, kind: object, error: object, traceback: object) -> None:
        try:
            if kind is None:
                self._connection.execute("COMMIT")
        finally:
            if self._connection.in_transaction:
                self._connection.execute("ROLLBACK")


def _lock(path: Path) -> FileLock:
    if not path.parent.is_dir():
        raise DatabaseError(f"{path}: there is no folder {path.parent}; make it first")
    if path.is_dir():
        raise DatabaseError(f"{path}: this is a folder; name a file")
    with suppress(OSError):  # whatever it is, opening the database says it better
        os.close(os.open(path, os.O_CREAT | os.O_RDWR, 0o600))  # nobody else's business
    beside = Path(f"{path}.lock")
    if beside.is_file() and beside.stat().st_size:  # ours is empty
        raise DatabaseError(f"{path}: {beside} is there already and is no lock of vindibot; name another database", exit_code=2)
    lock = FileLock(beside, blocking=False, thread_local=False)
    try:
        lock.acquire()
    except Timeout:
        raise DatabaseError(f"{path}: another vindibot server uses this file; stop it first, or name another file") from None
    except OSError as error:
        raise DatabaseError(f"{path}: cannot write beside this file: {error.strerror or error}") from None
    return lock


def _check(connection: sqlite3.Connection, path: Path) -> None:
    if 0 < path.stat().st_size <= CHECKED_BYTES:
        found = connection.execute("PRAGMA quick_check(1)").fetchone()[0]
        if found != "ok":
            raise DatabaseError(f"{path}: the database is damaged ({found}); {_RESTORE}")
    check_owner(connection, str(path))  # before anything is changed
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute("PRAGMA synchronous = FULL")


_RESTORE = "put a copy of it in its place, or move it away to begin anew"


def _reason(error: sqlite3.Error) -> str:
    code = getattr(error, "sqlite_errorcode", 0) & 0xFF
    reasons = {
        sqlite3.SQLITE_BUSY: "the database is locked by another program; close that program and try again",
        sqlite3.SQLITE_LOCKED: "the database is locked by another program; close that program and try again",
        sqlite3.SQLITE_READONLY: "the database is read-only; make the file and its folder writable",
        sqlite3.SQLITE_CANTOPEN: "the database cannot be opened; check that the file and its folder are readable and writable",
        sqlite3.SQLITE_NOTADB: f"this is no database; {_RESTORE}",
        sqlite3.SQLITE_CORRUPT: f"the database is damaged ({error}); {_RESTORE}",
        sqlite3.SQLITE_FULL: "the disk is full",
    }
    return reasons.get(code, str(error))
