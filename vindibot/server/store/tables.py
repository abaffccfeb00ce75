"""Queries for users and games. Each query takes the database's connection and must run in the database's thread."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Sequence
from concurrent.futures import Future
from dataclasses import astuple, dataclass, fields

from vindibot.games.game_record import GameRecord, dumps, loads
from vindibot.games.outcome import Reason
from vindibot.server.ratings import winner_of
from vindibot.server.store.database import Database
from vindibot.server.users import NewUsers, User, UserStore

#: The games of one bot, each game once, although a bot may have several seats in a game. CROSS JOIN keeps the order of the
#: tables, so that SQLite stops after the games that a limit allows.
_GAMES_OF_BOT = (
    "seats CROSS JOIN games ON number = seats.game WHERE seats.bot = ? AND seats.seat = "
    "(SELECT min(seat) FROM seats AS own WHERE own.bot = seats.bot AND own.game = seats.game)"
)


#: All columns of a bot except its key, in the order of `User`'s fields.
_COLUMNS = ", ".join(column.name for column in fields(User))


class UserTable(UserStore):
    """Stores the users of a server in its database."""

    def __init__(self, database: Database) -> None:
        super().__init__(database.secret)
        self._database = database

    def load(self) -> list[tuple[User, bytes, bool]]:
        """See `UserStore`."""
        return self._database.read_now(load_bots)

    def add(self, new: NewUsers) -> Future[bool]:
        """See `UserStore`."""

        def insert(connection: sqlite3.Connection) -> None:
            if not new.dropped:
                sql = f"INSERT INTO bots (key, made, {_COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"  # noqa: S608  # ours
                connection.executemany(sql, [(digest, made, *astuple(user)) for user, digest, made in new.users])

        return self._database.write("new bots" if len(new.users) > 1 else "a new bot", insert)


def load_bots(connection: sqlite3.Connection) -> list[tuple[User, bytes, bool]]:
    """Return all bots as in `NewUsers`, in the order of their registration."""
    rows = connection.execute(f"SELECT key, made, {_COLUMNS} FROM bots ORDER BY rowid")  # noqa: S608  # the columns are ours
    return [(User(*row), key, bool(made)) for key, made, *row in rows]


def rate_bot(connection: sqlite3.Connection, bot_id: str, elo: int, games: int, mu: float, sigma: float) -> None:
    """Store the new ratings of a bot."""
    connection.execute("UPDATE bots SET elo = ?, games = ?, mu = ?, sigma = ? WHERE id = ?", (elo, games, mu, sigma, bot_id))


# ---- Games ----


@dataclass(frozen=True)
class GameRow:
    """An archived game as lists show it. Games that started later have a larger `number`.

    `state` is "finished", "interrupted" or "running". `finished` is the time of the end in seconds since 1970. `winner` is the
    hero (1..4) with the most gold, None if the game is not finished or several heroes share this amount. `gold`, `names` and
    `player_ids` have one entry per hero. `gold` is empty for a game that has not ended. `player_ids` has None for a random bot.
    """

    number: int
    id: str
    state: str
    training: bool
    finished: float
    winner: int | None
    gold: tuple[int, ...]
    names: tuple[str, ...]
    player_ids: tuple[str | None, ...]

    @property
    def heroes(self) -> list[tuple[int, str, str | None, int | None]]:
        """A tuple per hero: number (1..4), name, id of its registered bot or None, gold or None if unknown."""
        return list(zip(range(1, 5), self.names, self.player_ids, self.gold or (None,) * 4, strict=True))


def begin_game(connection: sqlite3.Connection, record: GameRecord) -> None:
    """Add a game that has just started. The record has no moves yet."""
    first = record.first()[0]
    size, training = int(first["size"]), bool(first["training"])
    game = (record.id, "running", training, record.finished.timestamp(), size, dumps(record).decode())
    sql = "INSERT INTO games (id, state, training, finished, size, record) VALUES (?, ?, ?, ?, ?, ?)"
    number = connection.execute(sql, game).lastrowid
    seats = [(bot, number, seat) for seat, bot in enumerate(record.player_ids) if bot is not None]
    connection.executemany("INSERT INTO seats (bot, game, seat) VALUES (?, ?, ?)", seats)


def end_game(connection: sqlite3.Connection, record: GameRecord, gold: Sequence[int], rated: bool) -> None:
    """Store the complete record of a game that has ended. If the game is finished, also set `played` of its bots.

    `gold` has the gold of each hero. The entry ``rated`` of the record's `extra` has the new Elo of each bot, by the bot's id.
    """
    finished = record.finished.timestamp()
    state, winner = ("interrupted", None) if record.ending is Reason.INTERRUPTED else ("finished", winner_of(gold))
    connection.execute(
        "UPDATE games SET state = ?, finished = ?, gold = ?, winner = ?, rated = ?, record = ? WHERE id = ?",
        (state, finished, json.dumps(list(gold)), winner, rated, dumps(record).decode(), record.id),
    )
    if state == "finished":
        played = [(finished, bot) for bot in set(record.player_ids) if bot is not None]
        connection.executemany("UPDATE bots SET played = ? WHERE id = ?", played)
    elo = record.extra.get("rated", {})
    seats = [(gold[seat], elo.get(bot), record.id, seat) for seat, bot in enumerate(record.player_ids) if bot is not None]
    sql = "UPDATE seats SET gold = ?, elo = ? WHERE game = (SELECT number FROM games WHERE id = ?) AND seat = ?"
    connection.executemany(sql, seats)


def forget_games(connection: sqlite3.Connection, keep: int) -> None:
    """Delete all archived games except about the `keep` newest games. Running games stay."""
    newest: int = connection.execute("SELECT coalesce(max(number), 0) FROM games").fetchone()[0]
    old = "SELECT number FROM games WHERE number <= ? AND state != 'running'"
    connection.execute(f"DELETE FROM seats WHERE game IN ({old})", (newest - keep,))  # noqa: S608  # `old` is ours
    connection.execute(f"DELETE FROM games WHERE number IN ({old})", (newest - keep,))  # noqa: S608  # `old` is ours


def find_record(connection: sqlite3.Connection, game_id: str) -> GameRecord | None:
    """Return the record of an archived game, None if the game is unknown or still runs. Raises `GameRecordError`."""
    row = connection.execute("SELECT record FROM games WHERE id = ? AND state != 'running'", (game_id,)).fetchone()
    return None if row is None else loads(row[0], f"game {game_id}")


def records_after(connection: sqlite3.Connection, bot: str, after: int, limit: int) -> list[tuple[int, str]]:
    """Return the oldest games of a bot with a number above `after`, at most `limit` games. Running games are left out.

    Each game is a tuple: its number, and its record as one line of JSON.
    """
    wanted = "seats.game > ? AND state != 'running' ORDER BY seats.game LIMIT ?"
    query = f"SELECT number, record FROM {_GAMES_OF_BOT} AND {wanted}"  # noqa: S608  # both are ours
    return connection.execute(query, (bot, after, limit)).fetchall()


def list_games(
    connection: sqlite3.Connection, *, bot: str | None = None, before: int | None = None, limit: int = 50
) -> list[GameRow]:
    """Return the newest games that do not run any more, newest first, at most `limit` games.

    With `bot` (an id), return only games of this bot. With `before`, return only games with a number below it.
    """
    wanted: list[str | int] = [before if before is not None else 2**62, limit]
    if bot is None:
        chosen = "FROM games WHERE number < ?"
    else:
        chosen = f"FROM {_GAMES_OF_BOT} AND seats.game < ?"
        wanted.insert(0, bot)
    order = "number" if bot is None else "seats.game"
    names = "json_extract(record, '$.names'), json_extract(record, '$.player_ids')"
    columns = f"number, id, state, training, finished, winner + 1, games.gold, {names}"
    query = f"SELECT {columns} {chosen} AND state != 'running' ORDER BY {order} DESC LIMIT ?"
    return [
        GameRow(number, game_id, state, bool(training), finished, winner, *(tuple(json.loads(text)) for text in texts))
        for number, game_id, state, training, finished, winner, *texts in connection.execute(query, wanted)
    ]
