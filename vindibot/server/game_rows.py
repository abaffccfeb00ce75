"""What the store knows of bots and games: the queries. All take the store's connection and run in its thread."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Sequence
from dataclasses import dataclass

from vindibot.games import GameHistory, GameRecord, Reason, dumps, loads


@dataclass(frozen=True)
class BotRow:
    """A bot as it is kept; `key` is a digest. Times are seconds since 1970, `played` None before the first game."""

    id: str
    name: str
    key: bytes
    elo: int
    games: int
    mu: float
    sigma: float
    created: float
    played: float | None


@dataclass(frozen=True)
class GameRow:
    """A kept game as lists show it. `number` rises with the time of the beginning; `state` is "finished", "interrupted"
    or "running"; `gold` is empty for a game that has not ended."""

    number: int
    id: str
    state: str
    training: bool
    finished: float
    gold: tuple[int, ...]
    names: tuple[str, ...]
    who: tuple[str | None, ...]

    @property
    def winner(self) -> int | None:
        """The hero (1..4) that is alone on most gold in a finished game, if there is one."""
        best = max(self.gold, default=0)
        return self.gold.index(best) + 1 if self.state == "finished" and self.gold.count(best) == 1 else None

    @property
    def heroes(self) -> list[tuple[int, str, str | None, int | None]]:
        """Number (1..4), name, id of the bot, and gold of each hero; ids of registered bots only, gold if it is known."""
        return list(zip(range(1, 5), self.names, self.who, self.gold or (None,) * 4, strict=True))


def load_bots(connection: sqlite3.Connection) -> list[BotRow]:
    """All bots."""
    query = "SELECT id, name, key, elo, games, mu, sigma, created, played FROM bots ORDER BY rowid"
    return [BotRow(*row) for row in connection.execute(query)]


def add_bot(connection: sqlite3.Connection, bot: BotRow) -> None:
    """A new bot."""
    connection.execute(
        "INSERT INTO bots (id, name, key, elo, games, mu, sigma, created, played) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
        (bot.id, bot.name, bot.key, bot.elo, bot.games, bot.mu, bot.sigma, bot.created, bot.played),
    )


def rate_bot(connection: sqlite3.Connection, bot_id: str, elo: int, games: int, mu: float, sigma: float) -> None:
    """The ratings of a bot as they are now."""
    connection.execute("UPDATE bots SET elo = ?, games = ?, mu = ?, sigma = ? WHERE id = ?", (elo, games, mu, sigma, bot_id))


def begin_game(connection: sqlite3.Connection, record: GameRecord) -> None:
    """A game that runs from now on; the record has no orders yet."""
    game = (record.id, "running", record.training, record.finished.timestamp(), dumps(record).decode())
    sql = "INSERT INTO games (id, state, training, finished, record) VALUES (?, ?, ?, ?, ?)"
    number = connection.execute(sql, game).lastrowid
    seats = [(bot, number, seat) for seat, bot in enumerate(record.who) if bot is not None]
    connection.executemany("INSERT INTO seats (bot, game, seat) VALUES (?, ?, ?)", seats)


def end_game(connection: sqlite3.Connection, record: GameRecord, gold: Sequence[int], rated: bool) -> None:
    """The end of a game that was begun: the whole record; those who played it have played now."""
    finished = record.finished.timestamp()
    state = "interrupted" if record.ending is Reason.INTERRUPTED else "finished"
    connection.execute(
        "UPDATE games SET state = ?, finished = ?, gold = ?, rated = ?, record = ? WHERE id = ?",
        (state, finished, json.dumps(list(gold)), rated, dumps(record).decode(), record.id),
    )
    if state == "finished":
        played = [(finished, bot) for bot in set(record.who) if bot is not None]
        connection.executemany("UPDATE bots SET played = ? WHERE id = ?", played)


def forget_games(connection: sqlite3.Connection, keep: int) -> None:
    """Forget all games that do not run any more but the newest `keep` or so."""
    newest: int = connection.execute("SELECT coalesce(max(number), 0) FROM games").fetchone()[0]
    old = "SELECT number FROM games WHERE number <= ? AND state != 'running'"
    connection.execute(f"DELETE FROM seats WHERE game IN ({old})", (newest - keep,))  # noqa: S608  # `old` is ours
    connection.execute(f"DELETE FROM games WHERE number IN ({old})", (newest - keep,))  # noqa: S608  # `old` is ours


def played(record: GameRecord) -> GameHistory:
    """The history of a kept game. Raises `GameRecordError`."""
    history = GameHistory.begun(record)
    history.play_all(record.moves)
    history.end(record.ending)
    return history


def find_record(connection: sqlite3.Connection, game_id: str) -> GameRecord | None:
    """The record of a kept game, None for one that is not known or still runs. Raises `GameRecordError`."""
    row = connection.execute("SELECT record FROM games WHERE id = ? AND state != 'running'", (game_id,)).fetchone()
    return None if row is None else loads(row[0], f"game {game_id}")


def list_games(
    connection: sqlite3.Connection, *, bot: str | None = None, before: int | None = None, limit: int = 50
) -> list[GameRow]:
    """The kept games that do not run any more, newest first: all or those of a bot, only those with a smaller number than
    `before`."""
    wanted: list[str | int] = [before if before is not None else 2**62, limit]
    if bot is None:
        chosen = "FROM games WHERE number < ?"
    else:
        # Grouped, since a bot may have had several seats.
        chosen = "FROM (SELECT DISTINCT game FROM seats WHERE bot = ?) JOIN games ON number = game WHERE number < ?"
        wanted.insert(0, bot)
    columns = "number, id, state, training, finished, gold, json_extract(record, '$.names'), json_extract(record, '$.who')"
    query = f"SELECT {columns} {chosen} AND state != 'running' ORDER BY number DESC LIMIT ?"
    return [_game_row(*row) for row in connection.execute(query, wanted)]


def _game_row(number: int, game_id: str, state: str, training: int, finished: float, gold: str, names: str, who: str) -> GameRow:
    return GameRow(
        number,
        game_id,
        state,
        bool(training),
        finished,
        tuple(json.loads(gold)),
        tuple(json.loads(names)),
        tuple(json.loads(who)),
    )
