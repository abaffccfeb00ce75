"""The SQLite file of a server: its tables, the version of their layout, and the migrations from older layouts.

The version is stored in SQLite's ``user_version``. ``application_id`` marks a file of this program. Migration N leads from
version N - 1 to version N. Never change a released migration. For a new layout, add a migration at the end.
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
MIGRATIONS: tuple[str, ...] = (
    """
    CREATE TABLE settings (name TEXT PRIMARY KEY, value BLOB NOT NULL) WITHOUT ROWID;
    CREATE TABLE bots (
        id TEXT PRIMARY KEY,
        name TEXT NOT NULL,
        key BLOB NOT NULL UNIQUE,
        elo INTEGER NOT NULL,
        games INTEGER NOT NULL DEFAULT 0,
        created REAL NOT NULL
    );
    CREATE TABLE games (
        number INTEGER PRIMARY KEY,
        id TEXT NOT NULL UNIQUE,
        state TEXT NOT NULL CHECK (state IN ('running', 'finished', 'interrupted')),
        training INTEGER NOT NULL,
        finished REAL NOT NULL,
        gold TEXT NOT NULL DEFAULT '[]',
        record TEXT NOT NULL
    );
    CREATE TABLE seats (
        bot TEXT NOT NULL,
        game INTEGER NOT NULL REFERENCES games (number),
        seat INTEGER NOT NULL,
        PRIMARY KEY (bot, game, seat)
    ) WITHOUT ROWID;
    """,
    """
    ALTER TABLE bots ADD COLUMN mu REAL NOT NULL DEFAULT 25.0;
    ALTER TABLE bots ADD COLUMN sigma REAL NOT NULL DEFAULT 8.333333333333334;
    ALTER TABLE bots ADD COLUMN played REAL;
    UPDATE bots SET played = (
        SELECT max(games.finished) FROM seats JOIN games ON games.number = seats.game
        WHERE seats.bot = bots.id AND games.state = 'finished'
    );
    ALTER TABLE games ADD COLUMN rated INTEGER NOT NULL DEFAULT 0;
    CREATE INDEX games_running ON games (state) WHERE state = 'running';
    """,
    """
    UPDATE games SET record = json_set(json_remove(record, '$.orders', '$.who'), '$.version', 2,
        '$.player_ids', json_extract(record, '$.who'),
        '$.moves', json_extract(record, '$.orders'), '$.ending', CASE json_extract(record, '$.ending')
        WHEN 'TurnMax' THEN 'finished' WHEN 'AllCrashed' THEN 'all-crashed' ELSE 'interrupted' END);
    """,
    """
    ALTER TABLE games ADD COLUMN size INTEGER NOT NULL DEFAULT 0;
    ALTER TABLE seats ADD COLUMN elo INTEGER;
    CREATE INDEX seats_of_game ON seats (game);
    UPDATE games SET size = (instr(json_extract(record, '$.map') || char(10), char(10)) - 1) / 2;
    UPDATE seats SET elo = (
        SELECT json_extract(record, '$.extra.rated."' || seats.bot || '"') FROM games WHERE number = seats.game AND rated
    );
    """,
)
VERSION = len(MIGRATIONS)


class DatabaseError(UsageError):
    """The file cannot be used. The message names the file, the reason, and what the user can do."""


def check_owner(connection: sqlite3.Connection, file: str) -> None:
    """Raise `DatabaseError` if another program made this database. This function writes nothing."""
    present: int = connection.execute("PRAGMA user_version").fetchone()[0]
    mark: int = connection.execute("PRAGMA application_id").fetchone()[0]
    tables: int = connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]
    if mark != APPLICATION_ID and (mark or present or tables):
        raise DatabaseError(f"{file}: this database belongs to another program; name another file")


def migrate(connection: sqlite3.Connection, file: str, version: int = VERSION) -> None:
    """Bring a new or older database to `version`, in one transaction. `connection` must be in autocommit mode.

    Raises `DatabaseError` if another program made the file, or if its version is newer than this program knows.
    """
    check_owner(connection, file)
    present: int = connection.execute("PRAGMA user_version").fetchone()[0]
    if present > VERSION:
        raise DatabaseError(
            f"{file}: written by a newer version of vindibot (layout {present}, this one knows {VERSION}); update vindibot"
        )
    if present >= version:
        return
    steps = "".join(MIGRATIONS[present:version])
    connection.executescript(
        f"BEGIN IMMEDIATE; {steps} PRAGMA application_id = {APPLICATION_ID}; PRAGMA user_version = {version}; COMMIT;"
    )


def salt_of(connection: sqlite3.Connection) -> bytes:
    """Return the salt for the digests in this database. The first call makes the salt and stores it."""
    connection.execute("INSERT OR IGNORE INTO settings VALUES ('salt', ?)", (secrets.token_bytes(SALT_BYTES),))
    found: bytes = connection.execute("SELECT value FROM settings WHERE name = 'salt'").fetchone()[0]
    return found
