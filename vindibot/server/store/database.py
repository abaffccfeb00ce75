"""The database: one SQLite file, and one thread that reads and writes it. So the event loop never waits for a disk.

Without a path, all data is in memory and lost at the end. With a path, a lock of the file keeps other servers from writing it,
under every name of the file; other programs may read it. When a write is reported as done, its data is on the disk. If a write
fails, for example because the disk is full, it is tried again together with the next write.

A new table or column belongs to `TABLES`, with a new `VERSION`. A file with another layout is refused. The secret of the digests
of keys lies beside the file, in ``FILE.secret``.
"""

from __future__ import annotations

import asyncio
import errno
import os
import secrets
import sqlite3
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

import structlog

from vindibot.base.errors import UsageError
from vindibot.base.writing import WriterLock, short
from vindibot.server.users import SECRET_BYTES, key_digest, read_secret, write_secret

#: Seconds to wait if another program has locked the file.
LOCKED_SECONDS = 3.0
#: Largest size in bytes of a file that is checked for damage when it is opened. The check takes about a second at this size.
CHECKED_BYTES = 256 * 2**20
#: Largest number of writes that wait while the disk refuses them. When there are more, the oldest are dropped.
MAX_BACKLOG = 10_000
THREAD_NAME = "vindibot-database"

#: The bytes "vndi". They mark a file as a database of this program.
APPLICATION_ID = 0x766E6469
#: The version of the layout, and of the game records in it.
VERSION = 7
#: `bots.key` is a digest of the key (see `users.key_digest`), and `bots.made` says whether the server made this key.
#: `games.record` is a game record as JSON (`vindibot.games.game_record`); the other columns of `games` are for lists of games,
#: `games.size` is the side of the board in squares. `games.winner` is the seat (0..3) with the most gold, null if
#: there is none. `seats` has a row for each hero that a registered bot plays. `seats.elo` is the Elo of the bot after the game,
#: null if the game did not change it.
TABLES = """
    CREATE TABLE settings (name TEXT PRIMARY KEY, value BLOB NOT NULL) WITHOUT ROWID;
    CREATE TABLE bots (
        id TEXT PRIMARY KEY,
        name TEXT NOT NULL,
        key BLOB NOT NULL UNIQUE,
        made INTEGER NOT NULL,
        elo INTEGER NOT NULL,
        games INTEGER NOT NULL DEFAULT 0,
        created REAL NOT NULL,
        mu REAL NOT NULL DEFAULT 25.0,
        sigma REAL NOT NULL DEFAULT 8.333333333333334,
        played REAL
    );
    CREATE TABLE games (
        number INTEGER PRIMARY KEY,
        id TEXT NOT NULL UNIQUE,
        state TEXT NOT NULL CHECK (state IN ('running', 'finished', 'interrupted')),
        training INTEGER NOT NULL,
        finished REAL NOT NULL,
        gold TEXT NOT NULL DEFAULT '[]',
        winner INTEGER,
        record TEXT NOT NULL,
        rated INTEGER NOT NULL DEFAULT 0,
        size INTEGER NOT NULL
    );
    CREATE INDEX games_running ON games (state) WHERE state = 'running';
    CREATE TABLE seats (
        bot TEXT NOT NULL,
        game INTEGER NOT NULL REFERENCES games (number),
        seat INTEGER NOT NULL,
        gold INTEGER,
        elo INTEGER,
        PRIMARY KEY (bot, game, seat)
    ) WITHOUT ROWID;
    CREATE INDEX seats_of_game ON seats (game);
"""

_log = structlog.get_logger("vindibot.database")
_Result = TypeVar("_Result")
Work = Callable[[sqlite3.Connection], None]


class Database:
    """An open database. Raises `UsageError` if the file cannot be opened. Any thread may call its methods.

    `path` is the SQLite file, None for a database in memory. `interrupted` is the number of games that still ran when the last
    server with this file ended. `secret` is the secret of the digests of keys.
    """

    def __init__(self, path: Path | None = None, *, locked_seconds: float = LOCKED_SECONDS) -> None:
        self.path = None if path is None else _resolved(path)
        self._waiting: deque[_Job] = deque()
        self._thread = ThreadPoolExecutor(1, thread_name_prefix=THREAD_NAME)
        with self._clear_errors(), ExitStack() as opened:
            if self.path is not None:
                opened.callback(_locked(self.path).close)
            file = self.path or ":memory:"
            self._connection = connection = opened.enter_context(
                closing(sqlite3.connect(file, timeout=locked_seconds, isolation_level=None, check_same_thread=False))
            )
            _prepare(connection, self.path)
            self.secret = _secret_of(connection, self.path)
            with _transaction(connection):
                self.interrupted = connection.execute("UPDATE games SET state = 'interrupted' WHERE state = 'running'").rowcount
            opened.callback(_flush, connection, self._waiting)
            opened.callback(self._thread.shutdown)
            self._opened = opened.pop_all()

    @property
    def persistent(self) -> bool:
        """Whether the database is a file, and not only in memory."""
        return self.path is not None

    @contextmanager
    def _clear_errors(self) -> Iterator[None]:
        """Turn an error of SQLite into a `UsageError` that says what the user can do."""
        try:
            yield
        except sqlite3.Error as error:
            raise UsageError(f"{short(self.path) if self.path else 'the database'}: {_reason(error)}") from None

    # ---- Reading and writing ----

    async def read(self, work: Callable[[sqlite3.Connection], _Result]) -> _Result:
        """Return the result of `work(connection)`, which runs after all earlier writes. Raises `UsageError`."""
        with self._clear_errors():
            return await asyncio.wrap_future(self._thread.submit(self._read, work))

    def read_now(self, work: Callable[[sqlite3.Connection], _Result]) -> _Result:
        """Return the result of `work(connection)` like `read`, but block until the result is there.

        Call this only before the server runs.
        """
        return self._thread.submit(self._read, work).result()

    def _read(self, work: Callable[[sqlite3.Connection], _Result]) -> _Result:
        _flush(self._connection, self._waiting)
        return work(self._connection)

    def write(self, what: str, work: Work) -> Future[bool]:
        """Do `work(connection)` later, completely or not at all.

        Return a future whose result says whether the change is on the disk. Work is done in the order of the calls. While the
        disk is busy, work waits. All waiting work is then written together. `work` may be called several times, each time from
        the start. `what` names the work in the log if it fails.
        """
        job = _Job(what, work)
        job.stored.set_running_or_notify_cancel()  # so that the future is not cancelled if its caller stops waiting
        self._waiting.append(job)
        self._thread.submit(_flush, self._connection, self._waiting)
        return job.stored

    def run(self, work: Callable[[], object]) -> None:
        """Do slow `work` in the database's thread, so that no game waits for it."""
        self._thread.submit(work)

    async def close(self) -> None:
        """Finish the waiting writes and close. Later calls do nothing."""
        await asyncio.to_thread(self._opened.close)


@dataclass
class _Job:
    """Work that waits to be written. The result of `stored` says whether the first attempt put the work on the disk."""

    what: str
    work: Work
    stored: Future[bool] = field(default_factory=Future)

    def run(self, connection: sqlite3.Connection) -> bool:
        """Do the work within a transaction. Return False if the work itself fails; then it changes nothing."""
        connection.execute("SAVEPOINT job")
        try:
            self.work(connection)
            return True
        except sqlite3.OperationalError:
            raise  # the disk refuses the whole transaction
        except Exception as error:  # work that always fails must not hold up the rest
            _log.error("not stored", what=self.what, error=type(error).__name__, reason=str(error))
            connection.execute("ROLLBACK TO job")
            return False
        finally:
            if connection.in_transaction:
                connection.execute("RELEASE job")

    def report(self, stored: bool) -> None:
        if not self.stored.done():
            self.stored.set_result(stored)


def _flush(connection: sqlite3.Connection, waiting: deque[_Job]) -> None:
    """Do all waiting work in one transaction. If the disk refuses it, it waits for the next call."""
    while jobs := list(waiting):
        try:
            with _transaction(connection):
                stored = [job.run(connection) for job in jobs]
        except sqlite3.OperationalError as error:
            _log.error("cannot write, will try again", what=jobs[-1].what, reason=_reason(error), waiting=len(jobs))
            for job in jobs:
                job.report(False)
            while len(waiting) > MAX_BACKLOG:
                waiting.popleft()
            return
        except sqlite3.Error as error:
            _log.error("not stored", what=jobs[-1].what, reason=_reason(error), lost=len(jobs))
            stored = [False] * len(jobs)
        for job, done in zip(jobs, stored, strict=True):
            waiting.popleft()
            job.report(done)


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
        return path.resolve()
    except (OSError, RuntimeError, ValueError) as error:  # a circle of links, a name that is too long, a zero byte
        raise UsageError(f"{str(path)!r}: this cannot be the path of a database: {error}") from None


def _locked(path: Path) -> WriterLock:
    """Return the lock that keeps other servers from a file. Create the file, which only its owner can read.

    Raises `UsageError` if the file cannot be used.
    """
    if not path.parent.is_dir():
        raise UsageError(f"{short(path)}: there is no folder {short(path.parent)}; make it first")
    with ExitStack() as opened:
        try:
            if path.exists() and not path.is_file():
                raise UsageError(f"{short(path)}: this is {'a folder' if path.is_dir() else 'not a regular file'}; name a file")
            lock = WriterLock(path, "another vindibot server uses this file; stop it first, or name another file")
            opened.callback(lock.close)
            os.close(os.open(path, os.O_CREAT | os.O_RDWR, 0o600))
        except OSError as error:
            read_only = error.errno in (errno.EACCES, errno.EPERM, errno.EROFS)
            raise UsageError(f"{short(path)}: {_READ_ONLY if read_only else error.strerror or error}") from None
        opened.pop_all()
        return lock


def _prepare(connection: sqlite3.Connection, path: Path | None) -> None:
    """Create the tables of a new database. `connection` must be in autocommit mode.

    Raises `UsageError` before anything is changed if the file is damaged, or if another program, or another version of this
    program, made it.
    """
    name = short(path) if path is not None else ""
    if path is not None and 0 < path.stat().st_size <= CHECKED_BYTES:
        verdict = connection.execute("PRAGMA quick_check(1)").fetchone()[0]
        if verdict != "ok":
            raise UsageError(f"{name}: the database is damaged ({verdict}); {_RESTORE}")
    layout: int = connection.execute("PRAGMA user_version").fetchone()[0]
    mark: int = connection.execute("PRAGMA application_id").fetchone()[0]
    tables: int = connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]
    if mark != APPLICATION_ID and (mark or layout or tables):
        raise UsageError(f"{name}: this database belongs to another program; name another file")
    if layout not in (0, VERSION):
        words = f"another version of vindibot made it (layout {layout}, this one knows {VERSION}): use that version, or name"
        raise UsageError(f"{name}: {words} another file")
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute("PRAGMA synchronous = FULL")
    connection.execute("PRAGMA foreign_keys = ON")
    if not layout:
        connection.executescript(
            f"BEGIN IMMEDIATE; {TABLES} PRAGMA application_id = {APPLICATION_ID}; PRAGMA user_version = {VERSION}; COMMIT;"
        )


def _secret_of(connection: sqlite3.Connection, path: Path | None) -> bytes:
    """Return the secret of the digests of keys. Without bots, a missing one is made. Raises `UsageError`."""
    secret = secrets.token_bytes(SECRET_BYTES)
    if path is None:
        return secret
    file = path.with_name(f"{path.name}.secret")
    if not file.exists() and connection.execute("SELECT 1 FROM bots").fetchone() is None:
        try:
            write_secret(file, secret)
        except OSError as error:
            raise UsageError(f"{short(file)}: the secret cannot be written: {error.strerror or error}") from None
        connection.execute("INSERT OR REPLACE INTO settings VALUES ('secret', ?)", (key_digest(secret, ""),))
    secret = read_secret(file)
    (digest,) = connection.execute("SELECT value FROM settings WHERE name = 'secret'").fetchone() or (key_digest(secret, ""),)
    if digest != key_digest(secret, ""):
        raise UsageError(f"{short(file)}: this is the secret of another database; copy the one of {short(path)}")
    connection.execute("INSERT OR IGNORE INTO settings VALUES ('secret', ?)", (digest,))
    return secret


_RESTORE = "replace it by a copy, or move it away to begin with a new one"
_READ_ONLY = "the database is read-only; make the file and its folder writable"


def _reason(error: sqlite3.Error) -> str:
    code = getattr(error, "sqlite_errorcode", 0) & 0xFF
    locked = "the database is locked by another program; close that program and try again"
    reasons = {
        sqlite3.SQLITE_BUSY: locked,
        sqlite3.SQLITE_LOCKED: locked,
        sqlite3.SQLITE_READONLY: _READ_ONLY,
        sqlite3.SQLITE_CANTOPEN: "the database cannot be opened; check that the file and its folder are readable and writable",
        sqlite3.SQLITE_NOTADB: f"this is not a database; {_RESTORE}",
        sqlite3.SQLITE_CORRUPT: f"the database is damaged ({error}); {_RESTORE}",
        sqlite3.SQLITE_FULL: "the disk is full",
    }
    return reasons.get(code, str(error))
