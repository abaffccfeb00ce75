"""Pictures of games for pages elsewhere: ``/GAME.gif`` (a whole game, moving) and ``/GAME.svg`` (one turn).

`vindibot replay` makes a GIF in a process of its own at the lowest priority, one at a time. An SVG takes some milliseconds in a
thread, one at a time. So pictures do not delay the games. Pictures of archived games are stored in memory until the server ends.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

import structlog
from fastapi import FastAPI, Request
from fastapi.responses import Response

from sim.game import PLIES_PER_ROUND, Games, copy_of
from sim.pictures.svg import draw_svg
from vindibot.base.errors import UsageError, VindibotError
from vindibot.base.text import printable
from vindibot.games.game_record import GameRecord, dumps
from vindibot.games.history import GameHistory
from vindibot.server.lobby import Lobby
from vindibot.server.parameters import PICTURE_TURN, TURN_RANGE, queries, read_int
from vindibot.server.refusal import Refusal
from vindibot.server.site.command import run_lowest
from vindibot.server.store.database import Database
from vindibot.server.store.game_table import find_record
from vindibot.viewer.replay import state_at

#: Largest number of rounds in a GIF. Of a longer game, a GIF without a range of turns has the last rounds.
MOST_ROUNDS = 600
#: Largest number of pictures that are made or wait, and of bytes of the stored pictures. A GIF of 300 rounds has about 1.2 MB.
MAX_WAITING, STORED_BYTES = 20, 64 * 2**20
#: A GIF that takes longer than this number of seconds is given up.
LONGEST_SECONDS = 300.0
#: Seconds after which a client may ask again for a picture that it did not get.
LATER_SECONDS = 10
#: Seconds for which a browser may keep the picture of an archived game.
FRESH_SECONDS = 86_400
#: A picture contains no scripts, and loads nothing.
HEADERS = {"Content-Security-Policy": "default-src 'none'; frame-ancestors 'none'", "X-Content-Type-Options": "nosniff"}

_log = structlog.get_logger("vindibot.server.pictures")
#: A picture: id of the game, kind, first and last turn (None: all turns of a GIF, the end of the game for an SVG).
_Key = tuple[str, str, tuple[int, int] | None]


class Pictures:
    """The pictures of a server's games. Call `close` at the end, in the server's event loop."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._stored: OrderedDict[_Key, bytes] = OrderedDict()
        self._bytes = 0
        self._making: dict[_Key, asyncio.Task[bytes]] = {}
        self._one_gif, self._one_svg = asyncio.Lock(), asyncio.Lock()
        self._closed = False

    async def gif(self, game_id: str, turns: tuple[int, int] | None = None) -> bytes:
        """Return an archived game as a GIF. `turns` are the first and the last turn, None for the whole game.

        Raises `Refusal` if the game is not archived, if it lacks the turns, if these are more than `MOST_ROUNDS` rounds, if too
        many pictures are asked for, and if the GIF cannot be made.
        """
        return await self._find((game_id, "GIF", turns), lambda: self._make_gif(game_id, turns))

    async def svg(self, game_id: str, turn: int | None = None) -> bytes:
        """Return one turn of an archived game as an SVG. `turn` is None for the end of the game. Raises `Refusal` like `gif`."""
        key = (game_id, "SVG", None if turn is None else (turn, turn))
        return await self._find(key, lambda: self._make_svg(game_id, turn))

    async def draw(self, games: Games, names: Sequence[str]) -> bytes:
        """Return a state of a game as an SVG, which is not stored. `games` is an array with this state."""
        async with self._one_svg:
            return (await asyncio.to_thread(draw_svg, games, names=[printable(name) for name in names])).encode()

    async def close(self) -> None:
        """Stop the picture that is made, and drop those that wait."""
        self._closed = True
        making = list(self._making.values())
        for task in making:
            task.cancel()
        await asyncio.gather(*making, return_exceptions=True)

    async def _find(self, key: _Key, make: Callable[[], Awaitable[bytes]]) -> bytes:
        """Return the stored picture `key`, or the result of `make`. Requests for the same picture wait for the same result."""
        if key in self._stored:
            self._stored.move_to_end(key)
            return self._stored[key]
        task = self._making.get(key)
        if task is None:
            if self._closed:
                raise Refusal(503, "The server is closing")
            if len(self._making) >= MAX_WAITING:
                raise Refusal(503, "Too many pictures are asked for, try again later", LATER_SECONDS)
            task = self._making[key] = asyncio.create_task(self._make(key, make), name="vindibot-picture")
        await asyncio.wait({task})  # a client that leaves does not stop the task
        if task.cancelled():
            raise Refusal(503, "The server is closing")
        return task.result()

    async def _make(self, key: _Key, make: Callable[[], Awaitable[bytes]]) -> bytes:
        try:
            picture = await make()
        except UsageError as error:
            raise Refusal(400, error.message) from None
        except (VindibotError, OSError, TimeoutError) as problem:
            game_id, kind, _ = key
            _log.warning("a picture cannot be made", game=game_id, kind=kind, reason=str(problem) or type(problem).__name__)
            raise Refusal(503, f"The {kind} of this game cannot be made, try again later", LATER_SECONDS) from None
        finally:
            del self._making[key]
        self._stored[key] = picture
        self._bytes += len(picture)
        while self._bytes > STORED_BYTES:
            self._bytes -= len(self._stored.popitem(last=False)[1])
        return picture

    async def _make_gif(self, game_id: str, turns: tuple[int, int] | None) -> bytes:
        async with self._one_gif:
            record = await self._record(game_id)
            shown = _shown_turns(GameHistory.before_first_ply(record).turn(0), len(record.moves), turns)
            with TemporaryDirectory(prefix="vindibot-picture-") as folder:
                game, out = Path(folder) / "game.jsonl", Path(folder) / "game.gif"
                game.write_bytes(dumps(record) + b"\n")
                await run_lowest(LONGEST_SECONDS, "replay", str(game), "--gif", str(out), "--turns", f"{shown[0]}-{shown[1]}")
                return out.read_bytes()

    async def _make_svg(self, game_id: str, turn: int | None) -> bytes:
        record = await self._record(game_id)
        history = await asyncio.to_thread(GameHistory.of, record)
        state = len(history) if turn is None else state_at(history, turn)
        return await self.draw(await asyncio.to_thread(history.state, state), history.names)

    async def _record(self, game_id: str) -> GameRecord:
        record = await self._database.read(lambda connection: find_record(connection, game_id))
        if record is None:
            raise Refusal(404, f"There is no finished game {game_id!r:.40}")
        return record


def _shown_turns(begin: int, plies: int, turns: tuple[int, int] | None) -> tuple[int, int]:
    """Return the first and the last turn that a GIF shows. The game has `plies` plies from turn `begin` on.

    Raises `Refusal` if `turns` are not turns of the game, or are more than `MOST_ROUNDS` rounds.
    """
    end, most = begin + plies, MOST_ROUNDS * PLIES_PER_ROUND
    if turns is None:
        return max(begin, end - most), end
    first, last = turns
    if not begin <= first <= last <= end:
        raise Refusal(400, f"There are no turns {first}-{last}: this game has the turns {begin} to {end}")
    if last - first > most:
        raise Refusal(400, f"A GIF shows at most {most} turns: ask for fewer, for example turns={first}-{first + most}")
    return first, last


def _asked_turns(text: str | None) -> tuple[int, int] | None:
    """Return the turns in a parameter such as 200-240, None if there is no parameter. Raises `Refusal`."""
    if text is None:
        return None
    first, _, last = text.partition("-")
    turns = read_int(first), read_int(last)
    if turns[0] is None or turns[1] is None:
        raise Refusal(400, f"{text!r:.40} is no range of turns: write it like turns=200-240")
    return turns[0], turns[1]


def add_pictures(app: FastAPI, lobby: Lobby, pictures: Pictures) -> None:
    """Add the routes of the pictures. Call this before `add_pages`, because any path of one word may be the id of a game."""
    stored = HEADERS | {"Cache-Control": f"public, max-age={FRESH_SECONDS}"}

    @app.get("/{game_id}.gif", response_class=Response, openapi_extra=queries(turns=TURN_RANGE))
    async def gif(request: Request, game_id: str) -> Response:
        """An archived game as a moving picture. Parameter: turns (such as 200-240; without it, the whole game).

        The first request for a GIF takes some seconds. A running game has no GIF yet.
        """
        turns = _asked_turns(request.query_params.get("turns"))
        room = lobby.rooms.get(game_id)
        if room is not None and not room.finished:
            raise Refusal(409, f"The game runs. After its end it has a GIF; until then, /{game_id}.svg shows the newest turn")
        return Response(await pictures.gif(game_id, turns), media_type="image/gif", headers=stored)

    @app.get("/{game_id}.svg", response_class=Response, openapi_extra=queries(turn=PICTURE_TURN))
    async def svg(request: Request, game_id: str) -> Response:
        """One turn of a game as a picture. Parameter: turn (without it, the end of the game).

        For a running game this is always the newest turn.
        """
        asked = request.query_params.get("turn")
        turn = None if asked is None else read_int(asked)
        if asked is not None and turn is None:
            raise Refusal(400, f"{asked!r:.40} is no turn: write a number")
        room = lobby.rooms.get(game_id)
        if room is not None and not room.finished:
            picture = await pictures.draw(copy_of(room.games), room.history.names)
            return Response(picture, media_type="image/svg+xml", headers=HEADERS | {"Cache-Control": "no-cache"})
        return Response(await pictures.svg(game_id, turn), media_type="image/svg+xml", headers=stored)
