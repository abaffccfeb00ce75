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
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import TypeVar

import structlog
from filelock import FileLock, Timeout

from vindibot.server.schema import StoreError, check_owner, migrate, salt_of

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


class Store:
    """The open store. Opening raises `StoreError`. Its methods may be called from any thread."""

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
        problem: StoreError
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
        except StoreError as error:
            problem = error
        except sqlite3.Error as error:
            problem = StoreError(f"{name}: {_reason(error)}")
        if connection is not None:
            connection.close()
        raise problem

    # ---- Reading and writing ----

    async def read(self, work: Callable[[sqlite3.Connection], _Result]) -> _Result:
        """What `work` finds; it runs after everything that was written before. Raises `StoreError`."""
        try:
            return await asyncio.wrap_future(self._thread.submit(self._read, work))
        except sqlite3.Error as error:
            raise StoreError(f"{self.path or 'the store'}: {_reason(error)}") from None

    def read_now(self, work: Callable[[sqlite3.Connection], _Result]) -> _Result:
        """As `read`, but waits: for a server that does not run yet."""
        return self._thread.submit(self._read, work).result()

    def _read(self, work: Callable[[sqlite3.Connection], _Result]) -> _Result:
        self._writer.flush()
        return work(self._connection)

    def write(self, what: str, work: Work) -> Future[bool]:
        """Have `work` done in a transaction of its own, in the order of calls. The result is whether it is on the disk.

        `what` is what the log says if it is not. Work may be tried several times, each time from the start.
        """
        return self._thread.submit(self._writer.write, what, work)

    def run(self, work: Callable[[], object]) -> None:
        """Have `work` done in the store's thread, where nobody waits for it."""
        self._thread.submit(work)

    async def close(self) -> None:
        """Write what is to be written and close. Later calls do nothing."""
        if self._closing.alive:
            await asyncio.to_thread(self._closing)


class _Writer:
    """Writes, each in a transaction of its own; what the disk refuses waits. Belongs to the store's thread."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection
        self._backlog: deque[tuple[str, Work]] = deque()

    def write(self, what: str, work: Work) -> bool:
        """Do this work after that which waits; whether it is on the disk."""
        self._backlog.append((what, work))
        return self.flush()

    def flush(self) -> bool:
        """Do the work that waits; whether the last of it is on the disk."""
        done = True
        while self._backlog:
            what, work = self._backlog[0]
            try:
                with _Transaction(self._connection):
                    work(self._connection)
                done = True
            except sqlite3.OperationalError as error:
                if len(self._backlog) > MAX_BACKLOG:
                    self._backlog.popleft()
                _log.error("cannot write, will try again", what=what, reason=_reason(error), waiting=len(self._backlog))
                return False
            except Exception as error:  # one that will not go away must not hold up the others
                _log.error("not kept", what=what, error=type(error).__name__, reason=str(error))
                done = False
            self._backlog.popleft()
        return done

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
        raise StoreError(f"{path}: there is no folder {path.parent}; make it first")
    if path.is_dir():
        raise StoreError(f"{path}: this is a folder; name a file")
    with suppress(OSError):  # whatever it is, opening the database says it better
        os.close(os.open(path, os.O_CREAT | os.O_RDWR, 0o600))  # nobody else's business
    beside = Path(f"{path}.lock")
    if beside.is_file() and beside.stat().st_size:  # ours is empty
        raise StoreError(f"{path}: {beside} is there already and is no lock of vindibot; name another database", exit_code=2)
    lock = FileLock(beside, blocking=False, thread_local=False)
    try:
        lock.acquire()
    except Timeout:
        raise StoreError(f"{path}: another vindibot server uses this file; stop it first, or name another file") from None
    except OSError as error:
        raise StoreError(f"{path}: cannot write beside this file: {error.strerror or error}") from None
    return lock


def _check(connection: sqlite3.Connection, path: Path) -> None:
    if 0 < path.stat().st_size <= CHECKED_BYTES:
        found = connection.execute("PRAGMA quick_check(1)").fetchone()[0]
        if found != "ok":
            raise StoreError(f"{path}: the database is damaged ({found}); {_RESTORE}")
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
