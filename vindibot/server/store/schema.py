"""The SQLite file of a server: its tables, and the version of their layout, which is stored in SQLite's ``user_version``.

``application_id`` marks a file of this program. A file with another layout is refused.
"""

from __future__ import annotations

import secrets
import sqlite3

from vindibot.base.errors import UsageError

#: The bytes "vndi". They mark a file as a database of this program.
APPLICATION_ID = 0x766E6469
SALT_BYTES = 16

#: `bots.key` is a digest of the key with the file's salt, never the key itself. `games.record` is a game record as JSON
#: (`vindibot.games.game_record`); the other columns of `games` are for lists of games, `games.size` is the side of the board in
#: squares. `seats` has a row for each hero that a registered bot plays. `seats.elo` is the Elo of the bot after the game, null if
#: the game did not change it.
TABLES = """
    CREATE TABLE settings (name TEXT PRIMARY KEY, value BLOB NOT NULL) WITHOUT ROWID;
    CREATE TABLE bots (
        id TEXT PRIMARY KEY,
        name TEXT NOT NULL,
        key BLOB NOT NULL UNIQUE,
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
        record TEXT NOT NULL,
        rated INTEGER NOT NULL DEFAULT 0,
        size INTEGER NOT NULL
    );
    CREATE INDEX games_running ON games (state) WHERE state = 'running';
    CREATE TABLE seats (
        bot TEXT NOT NULL,
        game INTEGER NOT NULL REFERENCES games (number),
        seat INTEGER NOT NULL,
        elo INTEGER,
        PRIMARY KEY (bot, game, seat)
    ) WITHOUT ROWID;
    CREATE INDEX seats_of_game ON seats (game);
"""
#: The version of the layout, and of the game records in it.
VERSION = 5


class DatabaseError(UsageError):
    """The file cannot be used. The message names the file, the reason, and what the user can do."""


def check_owner(connection: sqlite3.Connection, file: str) -> None:
    """Raise `DatabaseError` if another program made this database. This function writes nothing."""
    present: int = connection.execute("PRAGMA user_version").fetchone()[0]
    mark: int = connection.execute("PRAGMA application_id").fetchone()[0]
    tables: int = connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]
    if mark != APPLICATION_ID and (mark or present or tables):
        raise DatabaseError(f"{file}: this database belongs to another program; name another file")


def create_tables(connection: sqlite3.Connection, file: str) -> None:
    """Create the tables of a new database, in one transaction. `connection` must be in autocommit mode.

    Raises `DatabaseError` if another program, or another version of this program, made the file.
    """
    check_owner(connection, file)
    present: int = connection.execute("PRAGMA user_version").fetchone()[0]
    if present not in (0, VERSION):
        raise DatabaseError(
            f"{file}: another version of vindibot made it (layout {present}, this one knows {VERSION}): use that version, or name"
            " another file"
        )
    if not present:
        connection.executescript(
            f"BEGIN IMMEDIATE; {TABLES} PRAGMA application_id = {APPLICATION_ID}; PRAGMA user_version = {VERSION}; COMMIT;"
        )


def salt_of(connection: sqlite3.Connection) -> bytes:
    """Return the salt for the digests in this database. The first call makes the salt and stores it."""
    connection.execute("INSERT OR IGNORE INTO settings VALUES ('salt', ?)", (secrets.token_bytes(SALT_BYTES),))
    found: bytes = connection.execute("SELECT value FROM settings WHERE name = 'salt'").fetchone()[0]
    return found
