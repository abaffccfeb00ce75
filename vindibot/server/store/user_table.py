"""The table of users in the database, and its queries. Each query takes the database's connection and must run in its thread."""

from __future__ import annotations

import sqlite3
from concurrent.futures import Future
from dataclasses import astuple, fields

from vindibot.server.store.database import Database
from vindibot.server.users import NewUsers, User, UserStore

#: All columns of a bot except its key, in the order of `User`'s fields.
_COLUMNS = ", ".join(column.name for column in fields(User))


class UserTable(UserStore):
    """Stores the users of a server in its database."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self.salt = database.salt if database.persistent else None

    def load(self) -> dict[bytes, User]:
        """See `UserStore`."""
        return self._database.read_now(load_bots)

    def add(self, new: NewUsers) -> Future[bool]:
        """See `UserStore`."""

        def insert(connection: sqlite3.Connection) -> None:
            if not new.dropped:
                sql = f"INSERT INTO bots (key, {_COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)"  # noqa: S608  # the columns are ours
                connection.executemany(sql, [(digest, *astuple(user)) for user, _, digest in new.users])

        return self._database.write("new bots" if len(new.users) > 1 else "a new bot", insert)


def load_bots(connection: sqlite3.Connection) -> dict[bytes, User]:
    """Return all bots by the digests of their keys, in the order of their registration."""
    rows = connection.execute(f"SELECT key, {_COLUMNS} FROM bots ORDER BY rowid")  # noqa: S608  # the columns are ours
    return {key: User(*row) for key, *row in rows}


def rate_bot(connection: sqlite3.Connection, bot_id: str, elo: int, games: int, mu: float, sigma: float) -> None:
    """Store the new ratings of a bot."""
    connection.execute("UPDATE bots SET elo = ?, games = ?, mu = ?, sigma = ? WHERE id = ?", (elo, games, mu, sigma, bot_id))
