"""A server for the pages of our own running games, with the votes of our bot.

The server runs in the process that plays, and only this machine can reach it. It knows games and votes, but no keys. If the game
runs on our own server, the player learns every ply immediately, and the page is updated once per ply. Otherwise the page is
updated once per turn of our hero.
"""

from __future__ import annotations

import asyncio
import json
import socket
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any, Self
from urllib.parse import quote

import structlog
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.middleware.trustedhost import TrustedHostMiddleware
from starlette.requests import Request
from starlette.responses import FileResponse, HTMLResponse, Response, StreamingResponse
from starlette.routing import Route

from sim.game import Games
from vindibot.base.asgi import AsgiServer
from vindibot.base.errors import VindibotError
from vindibot.base.pages import render
from vindibot.games.ballot import Ballot
from vindibot.games.files.recording import Header, LastState
from vindibot.games.history import GameHistory, Ply
from vindibot.games.outcome import Outcome
from vindibot.games.protocol import GameState
from vindibot.viewer.bundle import Bundle, BundleWriter, Patch
from vindibot.viewer.events import HEADERS, HEARTBEAT, TYPE, Watched, event, last_event, retry
from vindibot.viewer.page import file_response, list_policy, served_page, served_policy

LOOPBACK = "127.0.0.1"
#: Number of milliseconds that a browser waits before it connects again.
RETRY_MS = 500
#: Largest number of stored games. If there are more, the oldest are removed.
MAX_GAMES = 50

_log = structlog.get_logger("vindibot.viewer")


class LiveGame(Watched):
    """An observer of one game of our bot (see `vindibot.session.player.GameObserver`). It stores the events for the pages of this
    game. Only one event loop may use it.

    `recording` is the path of the recording of the game, which the page offers for download. It is None if there is none.
    """

    def __init__(self, viewer: LiveViewer) -> None:
        super().__init__()
        self._viewer = viewer
        self.recording: Path | None = None
        self._history = GameHistory()
        self._writer: BundleWriter | None = None
        self._events: list[bytes] = []
        self._broken = False

    def turn(self, header: Header, state: GameState, games: Games, ballot: Ballot) -> None:
        """Add one of our turns to the page of the game (see `GameObserver.turn`)."""
        if self._broken:
            return
        if not self._history:
            me = header.hero - 1
            self._history = GameHistory(header.game, state.players, me, started=header.started, limit_ms=header.limit_ms)
        self._add(games, header, ballot)
        if len(self._events) == 1:
            self._viewer.began(header.game, self)

    def played(self, ply: Ply) -> None:
        """Add a ply of any hero to the page of the game (see `GameObserver.played`)."""
        if self._writer is not None and not self._broken:
            self._add(ply.after)

    def finished(self, outcome: Outcome, last: LastState | None) -> None:
        """End the page. `last` is the last state, None if we received none."""
        if self._writer is not None and not self.over:
            self.over = True
            if last is not None:
                self._history.append(last.games)
            self._history.end(outcome.reason, outcome.message)
            self._send(self._writer.patch(), "end")

    def _add(self, games: Games, header: Header | None = None, ballot: Ballot | None = None) -> None:
        """Add a state to the page. An error of the page must not stop the game."""
        try:
            self._history.append(games, ballot)
            self._writer = self._writer or BundleWriter(self._history, header)
            self._send(self._writer.patch())
        except Exception as error:
            self._broken = True
            _log.warning("the page of this game is no longer updated", error=type(error).__name__, reason=str(error))

    def _send(self, patch: Patch, kind: str = "") -> None:
        self._events.append(event(len(self._events) + 1, json.dumps(patch, separators=(",", ":")).encode(), kind))
        self.wake()

    def start(self) -> Bundle:
        """Return the bundle of the game as it was before the first event. The events add the rest."""
        assert self._writer is not None
        whole = self._writer.bundle
        return whole | {"plies": [], "why": whole["why"] | {"turns": []}, "notes": [], "ending": None, "results": None}

    async def follow(self, after: int) -> AsyncIterator[bytes]:
        """Yield the server-sent events of this game, until the game ends. Begin after event number `after` (0: at the
        start)."""
        yield retry(RETRY_MS)
        after = max(0, min(after, len(self._events) - self.over))
        while True:
            new, after = self._events[after:], len(self._events)
            if new:
                yield b"".join(new)
            elif self.over or self._viewer.closed:
                return
            elif not await self.changes():
                yield HEARTBEAT


class LiveViewer:
    """A server for the pages of our games on a free port of this machine::

        async with LiveViewer() as viewer:
            player = GamePlayer(..., observer=viewer.game())
            await viewer.first.wait()   # until the first game has begun

    `readers` is the number of open pages that receive a game's events. `opened` is set when the first such page opens.
    """

    def __init__(self) -> None:
        self.games: dict[str, LiveGame] = {}
        self.first = asyncio.Event()
        self.readers = 0
        self.closed = False
        self.port = 0
        self.opened = asyncio.Event()
        self._left = asyncio.Event()
        routes = [
            Route("/", self._home),
            Route("/game/{id}", self._game),
            Route("/plies/{id}", self._plies),
            Route("/recordings/{id}", self._recording),
            Route("/viewer/{name:path}", self._file),
        ]
        # Without this check, a page from another host could read our pages, if the host's name resolves to this machine.
        trusted = Middleware(TrustedHostMiddleware, allowed_hosts=[LOOPBACK, "localhost"])
        self._asgi = AsgiServer(Starlette(routes=routes, middleware=[trusted], exception_handlers={404: _missing}))

    @property
    def address(self) -> str:
        """The address of the list of our games."""
        return f"http://{LOOPBACK}:{self.port}/"

    def page(self, game_id: str) -> str:
        """Return the address of the page of a game."""
        return f"{self.address}game/{quote(game_id, safe='')}"

    def game(self) -> LiveGame:
        """Return a new observer of a game. Call this before the game begins. The list of games shows it after our first turn."""
        return LiveGame(self)

    def began(self, game_id: str, game: LiveGame) -> None:
        """Add a game to the list. The game calls this method after our first turn."""
        self.games[game_id] = game
        while len(self.games) > MAX_GAMES:
            self.games.pop(next(iter(self.games)))
        self.first.set()

    async def __aenter__(self) -> Self:
        try:
            listener = socket.create_server((LOOPBACK, 0))
        except OSError as error:
            raise VindibotError(f"cannot listen on {LOOPBACK}: {error.strerror or error}") from None
        self.port = listener.getsockname()[1]
        await self._asgi.begin(listener)
        return self

    async def __aexit__(self, *_: object) -> None:
        self.closed = True
        for game in self.games.values():
            game.wake()
        await self._asgi.end()

    async def all_sent(self, seconds: float) -> bool:
        """Wait until a page has been opened, and all open pages have received all events. Wait at most `seconds`.

        Return False if the time ran out.
        """
        try:
            async with asyncio.timeout(seconds):
                await self.opened.wait()
                while self.readers:
                    await self._left.wait()
        except TimeoutError:
            return False
        return True

    # -- routes --

    def _find(self, request: Request) -> LiveGame:
        game = self.games.get(request.path_params["id"])
        if game is None:
            raise HTTPException(404, "There is no such game.")
        return game

    async def _home(self, request: Request) -> Response:
        games = [(self.page(name), name, game.over) for name, game in reversed(self.games.items())]
        return _html(render("viewer/ours.html", games=games), policy=list_policy())

    async def _game(self, request: Request) -> Response:
        game, name = self._find(request), quote(request.path_params["id"], safe="")
        files: dict[str, Any] = {}
        if game.recording is not None:
            files = {"recording": f"/recordings/{name}", "name": game.recording.name}
        return _html(served_page(game.start(), f"/plies/{name}", home="/", **files), policy=served_policy())

    async def _plies(self, request: Request) -> Response:
        stream = self._counted(self._find(request), last_event(request))
        return StreamingResponse(stream, headers={"content-type": TYPE} | HEADERS)

    async def _recording(self, request: Request) -> Response:
        path = self._find(request).recording
        if path is None or not path.is_file():
            raise HTTPException(404, "There is no recording of this game.")
        return FileResponse(path, media_type="application/jsonl", headers={"X-Content-Type-Options": "nosniff"})

    async def _counted(self, game: LiveGame, after: int) -> AsyncIterator[bytes]:
        """Yield the events of a game after event number `after`, for one page. Meanwhile `readers` is larger by 1."""
        self.readers += 1
        self.opened.set()
        try:
            async for piece in game.follow(after):
                yield piece
        finally:
            self.readers -= 1
            self._left.set()
            self._left.clear()

    async def _file(self, request: Request) -> Response:
        response = file_response(request, request.path_params["name"])
        if response is None:
            raise HTTPException(404, "There is no such file.")
        return response


def _html(markup: str, status: int = 200, policy: str = "default-src 'none'; frame-ancestors 'none'") -> HTMLResponse:
    headers = {"Content-Security-Policy": policy, "X-Content-Type-Options": "nosniff", "Referrer-Policy": "no-referrer"}
    return HTMLResponse(markup, status, headers | {"Cache-Control": "no-store"})


async def _missing(request: Request, error: Exception) -> Response:
    """Return the page for status 404."""
    return _html(render("viewer/missing.html", message=getattr(error, "detail", "There is no such page.")), 404, list_policy())
