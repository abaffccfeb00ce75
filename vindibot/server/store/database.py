"""The database: one SQLite file, and one thread that reads and writes it. So the event loop never waits for a disk.

Without a path, all data is in memory and lost at the end. With a path, a lock of the file keeps other servers from writing it,
under every name of the file; other programs may read it. When a write is reported as done, its data is on the disk. If a write
fails, for example because the disk is full, it is tried again together with the next write.
"""

from __future__ import annotations

import asyncio
import errno
import os
import sqlite3
import threading
import weakref
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

import structlog

from vindibot.base.errors import UsageError
from vindibot.base.writing import WriterLock, short
from vindibot.server.store.schema import DatabaseError, check_owner, create_tables, salt_of

#: Seconds to wait if another program has locked the file.
LOCKED_SECONDS = 3.0
#: Largest size in bytes of a file that is checked for damage when it is opened. The check takes about a second at this size.
CHECKED_BYTES = 256 * 2**20
#: Largest number of writes that wait while the disk refuses them. When there are more, the oldest are dropped.
MAX_BACKLOG = 10_000
THREAD_NAME = "vindibot-database"

_log = structlog.get_logger("vindibot.database")
_Result = TypeVar("_Result")
Work = Callable[[sqlite3.Connection], None]


class Database:
    """An open database. Raises `DatabaseError` if the file cannot be opened. Any thread may call its methods.

    `path` is the SQLite file, None for a database in memory. `interrupted` is the number of games that still ran when the last
    server with this file ended.
    """

    def __init__(self, path: Path | None = None, *, locked_seconds: float = LOCKED_SECONDS) -> None:
        self.path = None if path is None else _resolved(path)
        self._locked_seconds = locked_seconds
        self._lock = None if self.path is None else _locked(self.path)
        self._thread = ThreadPoolExecutor(1, thread_name_prefix=THREAD_NAME)
        try:
            self._connection, self.salt, self.interrupted = self._thread.submit(self._open).result()
        except BaseException:
            self._thread.shutdown()
            if self._lock is not None:
                self._lock.close()
            raise
        # This closes a database for which `close` is never called: Python warns if it collects an open connection.
        self._writer = _Writer(self._connection)
        self._closing = weakref.finalize(self, _close, self._thread, self._writer, self._lock)

    @property
    def persistent(self) -> bool:
        """Whether the database is a file, and not only in memory."""
        return self.path is not None

    def _open(self) -> tuple[sqlite3.Connection, bytes, int]:
        name = short(self.path) if self.path is not None else "the database"
        connection = None
        try:
            connection = sqlite3.connect(
                self.path or ":memory:", timeout=self._locked_seconds, isolation_level=None, check_same_thread=False
            )
            if self.path is not None:
                _check(connection, self.path)
            create_tables(connection, name)
            connection.execute("PRAGMA foreign_keys = ON")
            with _transaction(connection):
                salt = salt_of(connection)
                ended = connection.execute("UPDATE games SET state = 'interrupted' WHERE state = 'running'").rowcount
            return connection, salt, ended
        except BaseException as error:
            if connection is not None:
                connection.close()
            if isinstance(error, sqlite3.Error):
                raise DatabaseError(f"{name}: {_reason(error)}") from None
            raise

    # ---- Reading and writing ----

    async def read(self, work: Callable[[sqlite3.Connection], _Result]) -> _Result:
        """Return the result of `work(connection)`, which runs after all earlier writes. Raises `DatabaseError`."""
        try:
            return await asyncio.wrap_future(self._thread.submit(self._read, work))
        except sqlite3.Error as error:
            raise DatabaseError(f"{short(self.path) if self.path else 'the database'}: {_reason(error)}") from None

    def read_now(self, work: Callable[[sqlite3.Connection], _Result]) -> _Result:
        """Return the result of `work(connection)` like `read`, but block until the result is there.

        Call this only before the server runs.
        """
        return self._thread.submit(self._read, work).result()

    def _read(self, work: Callable[[sqlite3.Connection], _Result]) -> _Result:
        self._writer.flush()
        return work(self._connection)

    def write(self, what: str, work: Work) -> Future[bool]:
        """Do `work(connection)` later, completely or not at all.

        Return a future whose result says whether the change is on the disk. Work is done in the order of the calls. While the
        disk is busy, work waits. All waiting work is then written together. `work` may be called several times, each time from
        the start. `what` names the work in the log if it fails.
        """
        stored = self._writer.put(what, work)
        self._thread.submit(self._writer.flush)
        return stored

    def run(self, work: Callable[[], object]) -> None:
        """Do slow `work` in the database's thread, so that no game waits for it."""
        self._thread.submit(work)

    async def close(self) -> None:
        """Finish the waiting writes and close. Later calls do nothing."""
        if self._closing.alive:
            await asyncio.to_thread(self._closing)


@dataclass
class _Job:
    """Work that waits to be written. The result of `stored` says whether the first attempt put the work on the disk."""

    what: str
    work: Work
    stored: Future[bool] = field(default_factory=Future)

    def report(self, stored: bool) -> None:
        if not self.stored.done():
            self.stored.set_result(stored)


class _Writer:
    """Writes all waiting work in one transaction. So on a slow disk, each transaction has more work.

    Work that the disk refuses waits for the next attempt. `put` may be called from any thread, `flush` only from the database's
    thread.
    """

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection
        self._waiting: deque[_Job] = deque()

    def put(self, what: str, work: Work) -> Future[bool]:
        """Add work for the next `flush`. Return a future whose result says whether the change is on the disk."""
        job = _Job(what, work)
        job.stored.set_running_or_notify_cancel()  # so that the future is not cancelled if its caller stops waiting
        self._waiting.append(job)
        return job.stored

    def flush(self) -> None:
        """Do the waiting work."""
        while group := list(self._waiting):
            failed: Sequence[_Job] = group
            try:
                failed = self._commit(group)
            except sqlite3.OperationalError as error:
                _log.error("cannot write, will try again", what=group[-1].what, reason=_reason(error), waiting=len(group))
                for job in group:
                    job.report(False)
                while len(self._waiting) > MAX_BACKLOG:
                    self._waiting.popleft()
                return
            except sqlite3.Error as error:
                _log.error("not stored", what=group[-1].what, reason=_reason(error), lost=len(group))
            for job in group:
                self._waiting.popleft()
                job.report(job not in failed)

    def _commit(self, group: Sequence[_Job]) -> list[_Job]:
        """Do the work of this group in one transaction. Return the jobs that failed; a failed job changes nothing.

        Raises `sqlite3.OperationalError` if the disk refuses. Then the whole group changes nothing.
        """
        failed = []
        with _transaction(self._connection):
            for job in group:
                self._connection.execute("SAVEPOINT job")
                try:
                    job.work(self._connection)
                except sqlite3.OperationalError:
                    raise
                except Exception as error:  # a job that always fails must not hold up the others
                    _log.error("not stored", what=job.what, error=type(error).__name__, reason=str(error))
                    self._connection.execute("ROLLBACK TO job")
                    failed.append(job)
                self._connection.execute("RELEASE job")
        return failed

    def close(self) -> None:
        """Try the waiting work one last time, then close the connection."""
        self.flush()
        self._connection.close()


def _close(thread: ThreadPoolExecutor, writer: _Writer, lock: WriterLock | None) -> None:
    try:
        thread.submit(writer.close)
    except RuntimeError:  # the interpreter is going down
        writer.close()
    thread.shutdown(wait=not threading.current_thread().name.startswith(THREAD_NAME))
    if lock is not None:
        lock.close()


@contextmanager
def _transaction(connection: sqlite3.Connection) -> Iterator[None]:
    """Run the body in a transaction that locks the database for writing at its start. Roll back if the body raises."""
    connection.execute("BEGIN IMMEDIATE")
    try:
        yield
        connection.execute("COMMIT")
    finally:
        if connection.in_transaction:
            connection.execute("ROLLBACK")


def _resolved(path: Path) -> Path:
    """Return the absolute path of the file, without links. SQLite would read some relative paths as addresses (``file:x.db``)."""
    try:
        resolved = path.resolve()
        if resolved.is_symlink():  # from Python 3.13 on, `resolve` leaves a circle of links as it is
            raise OSError(errno.ELOOP, os.strerror(errno.ELOOP))
        return resolved
    except (OSError, RuntimeError, ValueError) as error:  # a circle of links, a name that is too long, a zero byte
        raise DatabaseError(f"{str(path)!r}: this cannot be the path of a database: {error}") from None


def _locked(path: Path) -> WriterLock:
    """Return the lock that keeps other servers from a file. Create the file, which only its owner can read.

    Raises `DatabaseError` if the file cannot be used.
    """
    lock = None
    try:
        if not path.parent.is_dir():
            raise DatabaseError(f"{short(path)}: there is no folder {short(path.parent)}; make it first")
        if path.exists() and not path.is_file():
            kind = "a folder" if path.is_dir() else "not a regular file"
            raise DatabaseError(f"{short(path)}: this is {kind}; name a file")
        lock = WriterLock(path, "another vindibot server uses this file; stop it first, or name another file")
        os.close(os.open(path, os.O_CREAT | os.O_RDWR, 0o600))
        return lock
    except UsageError as error:
        raise DatabaseError(error.message) from None
    except OSError as error:
        if lock is not None:
            lock.close()
        read_only = error.errno in (errno.EACCES, errno.EPERM, errno.EROFS)
        raise DatabaseError(f"{short(path)}: {_READ_ONLY if read_only else error.strerror or error}") from None


def _check(connection: sqlite3.Connection, path: Path) -> None:
    if 0 < path.stat().st_size <= CHECKED_BYTES:
        found = connection.execute("PRAGMA quick_check(1)").fetchone()[0]
        if found != "ok":
            raise DatabaseError(f"{short(path)}: the database is damaged ({found}); {_RESTORE}")
    check_owner(connection, short(path))  # before anything is changed
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute("PRAGMA synchronous = FULL")


_RESTORE = "replace it by a copy, or move it away to begin with a new one"
_READ_ONLY = "the database is read-only; make the file and its folder writable"


def _reason(error: sqlite3.Error) -> str:
    code = getattr(error, "sqlite_errorcode", 0) & 0xFF
    reasons = {
        sqlite3.SQLITE_BUSY: "the database is locked by another program; close that program and try again",
        sqlite3.SQLITE_LOCKED: "the database is locked by another program; close that program and try again",
        sqlite3.SQLITE_READONLY: _READ_ONLY,
        sqlite3.SQLITE_CANTOPEN: "the database cannot be opened; check that the file and its folder are readable and writable",
        sqlite3.SQLITE_NOTADB: f"this is not a database; {_RESTORE}",
        sqlite3.SQLITE_CORRUPT: f"the database is damaged ({error}); {_RESTORE}",
        sqlite3.SQLITE_FULL: "the disk is full",
    }
    return reasons.get(code, str(error))
