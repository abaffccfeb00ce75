"""Our own games for a browser on this machine, as they are played: the page of each, fed with what its bot sees and votes.

It is served from the process that plays, to this machine alone, and knows games and votes, no keys. A game's page follows it
turn by turn: what happened between two turns of ours is known at the second.
"""

from __future__ import annotations

import asyncio
import json
import socket
from collections.abc import AsyncIterator
from types import TracebackType
from typing import Self
from urllib.parse import quote

import structlog
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.middleware.trustedhost import TrustedHostMiddleware
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response, StreamingResponse
from starlette.routing import Route

from sim.game import Games
from vindibot.base import AsgiServer, VindibotError, render
from vindibot.games import Ballot, GameHistory, GameState, Header, LastState, Outcome
from vindibot.viewer.bundle import Bundle, BundleWriter, Patch
from vindibot.viewer.page import TYPES, served_page, served_policy, static_files

LOOPBACK = "127.0.0.1"
#: Seconds after which a quiet stream shows that it lives.
QUIET_SECONDS = 15.0
#: How soon a browser shall ask again when the connection breaks.
RETRY_MS = 500
#: Games that are kept to be looked at; the oldest go.
KEPT = 50

_log = structlog.get_logger("vindibot.viewer")


class LiveGame:
    """One game of ours; an observer of its player. Belongs to one event loop."""

    def __init__(self, viewer: LiveViewer) -> None:
        self._viewer = viewer
        self._history = GameHistory()
        self._writer: BundleWriter | None = None
        self._events: list[str] = []
        self._changed = asyncio.Event()
        self._broken = False
        self.over = False

    def turn(self, header: Header, state: GameState, games: Games, ballot: Ballot) -> None:
        """See `vindibot.session.player.GameObserver`."""
        if self._broken:
            return
        if not self._history:
            me = header.hero - 1
            self._history = GameHistory(header.game, state.players, me, started=header.started, limit_ms=header.limit_ms)
        try:
            self._history.append(games, ballot)
            self._writer = self._writer or BundleWriter(header, self._history)
            self._tell(self._writer.patch())
        except Exception as error:  # the game goes on, whatever the page cannot show
            self._broken = True
            _log.warning("the page of this game stands still", error=type(error).__name__, reason=str(error))
        if len(self._events) == 1:
            self._viewer.began(header.game, self)

    def finished(self, outcome: Outcome, last: LastState | None) -> None:
        """See `vindibot.session.player.GameObserver`."""
        if self._writer is not None and not self.over:
            self.over = True
            if last is not None:
                self._history.append(last.games)
            self._history.end(outcome.reason, outcome.message)
            self._tell(self._writer.patch(), "event: end\n")

    def _tell(self, patch: Patch, kind: str = "") -> None:
        number = len(self._events) + 1
        self._events.append(f"{kind}data: {json.dumps(patch, separators=(',', ':'))}\nid: {number}\n\n")
        self.wake()

    def wake(self) -> None:
        """Let those who follow look again."""
        self._changed.set()
        self._changed.clear()

    def start(self) -> Bundle:
        """The bundle without what the events bring."""
        assert self._writer is not None
        whole = self._writer.bundle
        return whole | {"plies": [], "why": whole["why"] | {"turns": []}, "ending": None, "results": None}

    async def follow(self, after: int) -> AsyncIterator[str]:
        """The events after this number, to the end of the game."""
        yield f"retry: {RETRY_MS}\n\n"
        after = max(0, min(after, len(self._events) - self.over))
        while True:
            new, after = self._events[after:], len(self._events)
            if new:
                yield "".join(new)
            elif self.over or self._viewer.closed:
                return
            else:
                try:
                    async with asyncio.timeout(QUIET_SECONDS):
                        await self._changed.wait()
                except TimeoutError:
                    yield ":\n\n"


class LiveViewer:
    """A server for the pages of our games on a free port of this machine::

        async with LiveViewer() as viewer:
            player = Player(..., observer=viewer.game())
            await viewer.first.wait()   # `viewer.address` is that of the first game's page

    `readers` counts the pages that follow a game.
    """

    def __init__(self) -> None:
        self.games: dict[str, LiveGame] = {}
        self.first = asyncio.Event()
        self.readers = 0
        self.closed = False
        self.port = 0
        self._seen = asyncio.Event()
        self._left = asyncio.Event()
        routes = [
            Route("/", self._home),
            Route("/game/{id}", self._game),
            Route("/plies/{id}", self._plies),
            Route("/viewer/{name}", self._file),
        ]
        # Pages of other hosts cannot make a browser read from here under a name of theirs.
        trusted = Middleware(TrustedHostMiddleware, allowed_hosts=[LOOPBACK, "localhost"])
        self._guest = AsgiServer(Starlette(routes=routes, middleware=[trusted]))

    @property
    def address(self) -> str:
        """The list of our games."""
        return f"http://{LOOPBACK}:{self.port}/"

    def page(self, game_id: str) -> str:
        """The address of the page of a game."""
        return f"{self.address}game/{quote(game_id, safe='')}"

    def game(self) -> LiveGame:
        """A game that is about to begin; it is listed from our first turn on."""
        return LiveGame(self)

    def began(self, game_id: str, game: LiveGame) -> None:
        """A game has had its first turn of ours."""
        self.games[game_id] = game
        while len(self.games) > KEPT:
            del self.games[next(iter(self.games))]
        self.first.set()

    async def __aenter__(self) -> Self:
        try:
            listener = socket.create_server((LOOPBACK, 0))
        except OSError as error:
            raise VindibotError(f"cannot listen on {LOOPBACK}: {error.strerror or error}") from None
        self.port = listener.getsockname()[1]
        await self._guest.begin(listener)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.closed = True
        for game in self.games.values():
            game.wake()
        await self._guest.end()

    async def told(self, seconds: float) -> bool:
        """Wait, but not for longer, until somebody has opened a page and everybody has been sent all there is."""
        try:
            async with asyncio.timeout(seconds):
                await self._seen.wait()
                while self.readers:
                    await self._left.wait()
        except TimeoutError:
            return False
        return True

    # -- what a browser asks for --

    def _found(self, request: Request) -> LiveGame | None:
        return self.games.get(request.path_params["id"])

    async def _home(self, request: Request) -> Response:
        games = [(self.page(name), name, game.over) for name, game in reversed(self.games.items())]
        return _html(render("viewer/ours.html", games=games))

    async def _game(self, request: Request) -> Response:
        game = self._found(request)
        if game is None:
            return _missing("There is no such game.")
        markup = served_page(game.start(), f"/plies/{quote(request.path_params['id'], safe='')}", home="/")
        return HTMLResponse(markup, headers=_headers(served_policy()))

    async def _plies(self, request: Request) -> Response:
        game = self._found(request)
        if game is None:
            return _missing("There is no such game.")
        after = request.headers.get("last-event-id", "")
        number = int(after) if after.isascii() and after.isdecimal() and len(after) < 10 else 0
        return StreamingResponse(
            self._counted(game, number), media_type="text/event-stream", headers={"Cache-Control": "no-cache"}
        )

    async def _counted(self, game: LiveGame, after: int) -> AsyncIterator[str]:
        self.readers += 1
        self._seen.set()
        try:
            async for piece in game.follow(after):
                yield piece
        finally:
            self.readers -= 1
            self._left.set()
            self._left.clear()

    async def _file(self, request: Request) -> Response:
        name = request.path_params["name"]
        found = static_files().get(name)
        if found is None:
            return _missing("There is nothing here.")
        return Response(found, media_type=TYPES[f".{name.rpartition('.')[2]}"], headers={"X-Content-Type-Options": "nosniff"})


def _headers(policy: str) -> dict[str, str]:
    own = {"Content-Security-Policy": policy, "X-Content-Type-Options": "nosniff", "Referrer-Policy": "no-referrer"}
    return own | {"Cache-Control": "no-store"}


def _html(markup: str, status: int = 200) -> HTMLResponse:
    return HTMLResponse(markup, status, headers=_headers("default-src 'none'; frame-ancestors 'none'"))


def _missing(message: str) -> HTMLResponse:
    return _html(render("viewer/missing.html", message=message), 404)
