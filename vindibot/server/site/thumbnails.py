"""Boards as small pictures (SVG) for lists of games. The style sheet of the pages sets their colours."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import Iterable, Sequence
from itertools import groupby

from sim.game import HERO_SHIFT, STRIDE, TILE_BITS, Game
from vindibot.base.pages import render
from vindibot.games.game_record import GameRecord, GameRecordError
from vindibot.games.history import GameHistory
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
    found = []
    for game_id in game_ids:
        try:
            record = find_record(connection, game_id)
        except GameRecordError:
            continue  # the page of this game shows the error
        if record is not None:
            found.append(record)
    return found


def _draw(records: Iterable[GameRecord]) -> dict[str, str]:
    drawn = {}
    for record in records:
        history = GameHistory.of(record)
        drawn[record.id] = thumbnail(history.state(len(history)))
    return drawn
