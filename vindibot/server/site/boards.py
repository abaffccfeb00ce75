"""Boards for lists of games: the running games, and the last boards of archived games, as small pictures (SVG)."""

from __future__ import annotations

import asyncio
import sqlite3
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import groupby, islice
from weakref import WeakKeyDictionary

from sim.game import HERO_SHIFT, SEATS, STRIDE, TILE_BITS, Game
from vindibot.base.pages import render
from vindibot.games.game_record import GameRecord, GameRecordError
from vindibot.games.history import GameHistory
from vindibot.server.lobby import Lobby
from vindibot.server.room import Room
from vindibot.server.store.database import Database
from vindibot.server.store.tables import find_record

#: Largest number of pictures in memory, of about 3 kB each. If there are more, the least recently used pictures are dropped.
STORED = 500
#: CSS class of a tile's rectangle, by tile: air, wall, tavern, free mine, mines of heroes 1..4, mines of unknown owners.
KINDS = ("", "wall", "tavern", "mine", "of1", "of2", "of3", "of4", *["mine"] * 8)


def thumbnail(games: Game) -> str:
    """Return the board of a game as SVG: one rectangle per run of equal squares in a row, one disc per hero."""
    size = games["size"].item(0)
    rows = games["cell"][0].reshape(STRIDE, STRIDE)[1 : size + 1, 1 : size + 1].tolist()
    paths: dict[str, str] = {}
    heroes = []
    for row, cells in enumerate(rows):
        start = 0
        for kind, run in groupby(cells, lambda cell: KINDS[cell & TILE_BITS]):
            length = len(list(run))
            if kind:
                paths[kind] = f"{paths.get(kind, '')}M{start} {row}h{length}v1h-{length}z"
            start += length
        heroes += [(cell >> HERO_SHIFT, column, row) for column, cell in enumerate(cells) if 1 <= cell >> HERO_SHIFT <= 4]
    return render("server.site/thumbnail.svg", size=size, paths=paths, heroes=heroes)


class FinalBoards:
    """Draws the last boards of archived games. It replays each game from its record, in about a millisecond."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._drawn: dict[str, str] = {}

    async def draw(self, game_ids: Sequence[str]) -> dict[str, str]:
        """Return the last board of each of these games as SVG, by the id of the game. A game that cannot be read gets ""."""
        missing = [game_id for game_id in game_ids if game_id not in self._drawn]
        drawn = {}
        if missing:
            records = await self._database.read(lambda connection: _records(connection, missing))
            drawn = await asyncio.to_thread(_draw, records)
        boards = {game_id: drawn.get(game_id) or self._drawn.pop(game_id, "") for game_id in game_ids}
        self._drawn |= {game_id: board for game_id, board in boards.items() if board}
        while len(self._drawn) > STORED:
            del self._drawn[next(iter(self._drawn))]
        return boards


def _records(connection: sqlite3.Connection, game_ids: Iterable[str]) -> list[GameRecord]:
    records = []
    for game_id in game_ids:
        try:
            record = find_record(connection, game_id)
        except GameRecordError:
            continue  # the page of this game shows the error
        if record is not None:
            records.append(record)
    return records


def _draw(records: Iterable[GameRecord]) -> dict[str, str]:
    drawn = {}
    for record in records:
        history = GameHistory.of(record)
        drawn[record.id] = thumbnail(history.state(len(history)))
    return drawn


#: Number of running games that a list shows with their boards. Further games are rows of a table.
CARDS = 12
#: Largest number of running games in a list.
LISTED = 50
#: Seconds after which the picture of a game is drawn again. Until then all readers get the same picture.
FRESH_SECONDS = 0.4


@dataclass(frozen=True)
class RunningGame:
    """A running game as lists show it. The game is at turn `turn` of `last` turns. `heroes` has the format of `GameRow.heroes`.

    Only the first `CARDS` games of a list have gold and a picture of the `board` (SVG).
    """

    id: str
    turn: int
    last: int
    heroes: Sequence[tuple[int, str, str | None, int | None]]
    board: str = ""


class RunningGames:
    """Lists the games that run in a lobby. A board is drawn at most once per `FRESH_SECONDS`, for all readers together."""

    def __init__(self, lobby: Lobby) -> None:
        self._lobby = lobby
        self._cards: WeakKeyDictionary[Room, tuple[float, RunningGame]] = WeakKeyDictionary()

    def newest(self, user_id: str | None = None) -> list[RunningGame]:
        """Return the running games, newest first, at most `LISTED`. With `user_id`, return only games of this bot."""
        rooms = (room for room in reversed(self._lobby.rooms.values()) if not room.finished)
        matching = (room for room in rooms if user_id is None or room.has_user(user_id))
        return self.of(islice(matching, LISTED))

    def of(self, rooms: Iterable[Room]) -> list[RunningGame]:
        """Return the games in these rooms, in the given order."""
        return [self._card(room) if place < CARDS else _row(room) for place, room in enumerate(rooms)]

    def _card(self, room: Room) -> RunningGame:
        now = time.monotonic()
        drawn, card = self._cards.get(room, (0.0, None))
        if card is None or now - drawn >= FRESH_SECONDS:
            card = _row(room, gold=room.games["hero"]["gold"][0].tolist(), board=thumbnail(room.games))
            self._cards[room] = now, card
        return card


def _row(room: Room, gold: Sequence[int | None] = (None,) * SEATS, board: str = "") -> RunningGame:
    players = room.history.players
    return RunningGame(
        id=room.id,
        turn=room.turn,
        last=room.games["max_turns"].item(0),
        heroes=[(index + 1, player.name, player.user_id, gold[index]) for index, player in enumerate(players)],
        board=board,
    )
