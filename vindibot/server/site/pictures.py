"""Pictures of games for pages elsewhere: ``/GAME.svg`` and ``/GAME.png`` show one turn.

A picture takes some milliseconds in a thread, one at a time, so that pictures do not delay the games. The latest pictures are
kept in memory until the server ends.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Callable, Sequence
from functools import partial
from io import BytesIO
from typing import Literal

from fastapi import FastAPI, Request
from fastapi.responses import Response

from sim.game import Games, copy_of
from sim.pictures.svg import draw_svg
from vindibot.base.errors import UsageError
from vindibot.base.text import printable
from vindibot.games.history import GameHistory
from vindibot.server.lobby import Lobby
from vindibot.server.parameters import PICTURE_TURN, queries, read_int
from vindibot.server.refusal import Refusal
from vindibot.server.room import Room
from vindibot.server.store.database import Database
from vindibot.server.store.tables import find_record
from vindibot.viewer.replay import state_at

#: Largest number of pictures that are made or wait, and of bytes of the kept pictures.
MAX_WAITING, STORED_BYTES = 20, 64 * 2**20
#: Seconds after which a client may ask again for a picture that it did not get.
LATER_SECONDS = 10
#: Seconds for which a browser may keep the picture of an archived game.
FRESH_SECONDS = 86_400
#: A picture contains no scripts, and loads nothing.
HEADERS = {"Content-Security-Policy": "default-src 'none'; frame-ancestors 'none'", "X-Content-Type-Options": "nosniff"}

Kind = Literal["svg", "png"]
#: A picture: id of the game, kind, turn (None: the end of an archived game), number of plies of a running game.
_Key = tuple[str, Kind, int | None, int | None]


def _svg(games: Games, names: Sequence[str]) -> bytes:
    return draw_svg(games, names=names).encode()


def _png(games: Games, names: Sequence[str]) -> bytes:
    from vindibot.viewer.painting import Painter  # Pillow is imported only where it is needed

    data = BytesIO()
    Painter(games, names=names).paint(games).save(data, "PNG")
    return data.getvalue()


#: The function that draws a state, and the media type, of each kind of picture.
_KINDS = {"svg": (_svg, "image/svg+xml"), "png": (_png, "image/png")}


class Pictures:
    """The pictures of a server's games."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._stored: OrderedDict[_Key, bytes] = OrderedDict()
        self._bytes = 0
        self._waiting = 0
        self._one = asyncio.Lock()

    async def running(self, kind: Kind, room: Room, turn: int | None) -> bytes:
        """Return a turn of a running game, the newest one if `turn` is None. Raises `Refusal`."""
        history = room.history
        newest = turn is None
        try:
            number = len(history) if turn is None else state_at(history, turn)
        except UsageError as error:
            raise Refusal(400, error.message) from None
        state = copy_of(room.games) if newest else history.state(number)
        return await self._find((history.id, kind, turn, number), partial(self._draw, kind, state, history.names))

    async def archived(self, kind: Kind, game_id: str, turn: int | None) -> bytes:
        """Return a turn of an archived game, the last one if `turn` is None. Raises `Refusal`, also for an unknown game."""
        key = (game_id, kind, turn, None)
        if key in self._stored:
            return await self._find(key, bytes)
        record = await self._database.read(lambda connection: find_record(connection, game_id))
        if record is None:
            raise Refusal(404, f"There is no finished game {game_id!r:.40}")

        def make() -> bytes:
            history = GameHistory.of(record)
            number = len(history) if turn is None else state_at(history, turn)
            return self._draw(kind, history.state(number), history.names)

        return await self._find(key, make)

    @staticmethod
    def _draw(kind: Kind, games: Games, names: Sequence[str]) -> bytes:
        return _KINDS[kind][0](games, [printable(name) for name in names])

    async def _find(self, key: _Key, make: Callable[[], bytes]) -> bytes:
        """Return the kept picture `key`, or the result of `make`, which runs in a thread."""
        if self._waiting >= MAX_WAITING:
            raise Refusal(503, "Too many pictures are asked for, try again later", LATER_SECONDS)
        self._waiting += 1
        try:
            async with self._one:
                if key not in self._stored:
                    self._keep(key, await asyncio.to_thread(make))
                self._stored.move_to_end(key)
                return self._stored[key]
        except UsageError as error:
            raise Refusal(400, error.message) from None
        finally:
            self._waiting -= 1

    def _keep(self, key: _Key, picture: bytes) -> None:
        self._stored[key] = picture
        self._bytes += len(picture)
        while self._bytes > STORED_BYTES and len(self._stored) > 1:
            self._bytes -= len(self._stored.popitem(last=False)[1])


def add_pictures(app: FastAPI, lobby: Lobby, pictures: Pictures) -> None:
    """Add the routes of the pictures. Call this before `add_pages`, because any path of one word may be the id of a game."""

    async def picture(request: Request, game_id: str, kind: Kind) -> Response:
        text = request.query_params.get("turn")
        turn = None if text is None else read_int(text)
        if text is not None and turn is None:
            raise Refusal(400, f"{text!r:.40} is no turn: write a number")
        room = lobby.rooms.get(game_id)
        if room is not None and not room.finished:
            content, freshness = await pictures.running(kind, room, turn), "no-cache"
        else:
            content, freshness = await pictures.archived(kind, game_id, turn), f"public, max-age={FRESH_SECONDS}"
        return Response(content, media_type=_KINDS[kind][1], headers=HEADERS | {"Cache-Control": freshness})

    @app.get("/{game_id}.svg", response_class=Response, openapi_extra=queries(turn=PICTURE_TURN))
    async def svg(request: Request, game_id: str) -> Response:
        """One turn of a game as a drawing. Parameter: turn (without it, the newest turn)."""
        return await picture(request, game_id, "svg")

    @app.get("/{game_id}.png", response_class=Response, openapi_extra=queries(turn=PICTURE_TURN))
    async def png(request: Request, game_id: str) -> Response:
        """One turn of a game as a picture of pixels. Parameter: turn (without it, the newest turn)."""
        return await picture(request, game_id, "png")
