"""The server over HTTP: inside another program's event loop, or alone."""

from __future__ import annotations

import asyncio
import errno
import socket
from collections.abc import Callable, Sequence
from types import TracebackType
from typing import Self

from sim.kernels import warm
from sim.maps import Map
from vindibot.base import AsgiServer, VindibotError, compile_templates, interrupts
from vindibot.server.app import AddRoutes, create_app
from vindibot.server.connection import connection_class
from vindibot.server.league.hall import Hall
from vindibot.server.lobby import NO_LIMITS, Lobby
from vindibot.server.match import Claim, Match
from vindibot.server.room import Room, RoomObserver
from vindibot.server.settings import ServerSettings

#: Seconds that an idle connection is kept: longer than any client keeps it, so that it is never closed under a new order.
KEEP_ALIVE_SECONDS = 75


class ServerError(VindibotError):
    """The server cannot start."""


class EmbeddedServer:
    """A server in the running event loop::

        async with EmbeddedServer() as server:
            key = server.register("seed")
            ...  # play on server.url

    Entering loads the kernels (`sim.kernels.warm`), which takes seconds if they have not been compiled yet. Leaving ends all
    games and answers all open requests.
    """

    def __init__(
        self,
        settings: ServerSettings | None = None,
        observers: Sequence[RoomObserver] = (),
        routes: Sequence[AddRoutes] = (),
    ) -> None:
        self.settings = settings or ServerSettings()
        self.app = create_app(self.settings, observers, routes)
        self.lobby: Lobby = self.app.state.lobby
        self.leagues: Hall = self.app.state.leagues
        self.port = self.settings.port
        self._guest: AsgiServer | None = None

    @property
    def url(self) -> str:
        """Where the server listens, without a slash at the end."""
        host = "127.0.0.1" if self.settings.host in ("0.0.0.0", "::") else self.settings.host
        return f"http://[{host}]:{self.port}" if ":" in host else f"http://{host}:{self.port}"

    def register(self, name: str, key: str | None = None) -> str:
        """A new bot (several may share a name); returns its key of 8 characters, which is made unless given."""
        return self.lobby.users.add(name, key)

    def private_match(
        self,
        map: Map | str | None,  # noqa: A002 - as in `Lobby.arrange`
        seats: Sequence[str],
        *,
        rounds: int | None = None,
        seed: int | None = None,
        time_limit_ms: int | None = None,
        pace: str | None = None,
        training: bool = False,
        seat_limits_ms: Sequence[int | None] = NO_LIMITS,
    ) -> Match:
        """Reserve the four seats of a match for keys (or "random"); see `Lobby.arrange`."""
        return self.lobby.arrange(
            map,
            seats,
            rounds=rounds,
            seed=seed,
            time_limit_ms=time_limit_ms,
            pace=pace,
            training=training,
            seat_limits_ms=seat_limits_ms,
        )

    async def join(self, key: str) -> Claim:
        """Take the seat that is reserved for this key, or a place in the next arena game. Raises `Refusal`."""
        return self.lobby.join_arena(await self.lobby.user(key))

    def room(self, game_id: str) -> Room:
        """The room of a game that runs or has just ended. Raises `Refusal`."""
        return self.lobby.room(game_id)

    def rooms(self) -> list[Room]:
        """The rooms of all games that run or have just ended."""
        return list(self.lobby.rooms.values())

    def end(self, match: Match) -> None:
        """Call off a match that has not begun; in one that runs, every hero crashes when its turn comes."""
        self.lobby.cancel(match)
        if match.room is not None:
            for seat in match.room.seats:
                match.room.withdraw(seat)

    def end_games(self) -> None:
        """Stop every game at once, without a result, and answer all open requests."""
        self.lobby.close()

    async def __aenter__(self) -> Self:
        warm()
        try:
            self.leagues.open()
            listener = _listen(self.settings)
        except VindibotError:
            await self.leagues.close()
            await self.lobby.store.close()
            raise
        self.port = listener.getsockname()[1]
        self._guest = AsgiServer(
            self.app,
            http=connection_class(self.settings.head_seconds),
            limit_concurrency=self.settings.max_connections,
            timeout_keep_alive=KEEP_ALIVE_SECONDS,
        )
        if not await self._guest.begin(listener):
            raise ServerError("the server ended before it began to listen")
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        await self.leagues.close()
        self.end_games()
        self.app.state.streams.close()
        if self._guest is not None:
            await self._guest.end()
        await self.lobby.store.close()

    async def until_signal(self, ready: Callable[[EmbeddedServer], None] | None = None) -> None:
        """Wait for SIGINT or SIGTERM; `ready` is told of this server first."""
        stop = asyncio.Event()
        with interrupts.calling(stop.set, asyncio.get_running_loop()):
            if ready is not None:
                ready(self)
            await stop.wait()


def _listen(settings: ServerSettings) -> socket.socket:
    """A listening socket. Raises `ServerError`."""
    try:
        family, kind, _, _, address = socket.getaddrinfo(settings.host, settings.port, type=socket.SOCK_STREAM)[0]
        # The protocol is named because asyncio turns off the delay of small packets (40 ms a ply) only if it is.
        listener = socket.socket(family, kind, socket.IPPROTO_TCP)
    except OSError as error:
        raise ServerError(f"cannot listen on {settings.host}: {error.strerror or error}") from None
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(address)
    except OSError as error:
        listener.close()
        where = f"{settings.host}, port {settings.port}"
        if error.errno == errno.EADDRINUSE:
            raise ServerError(f"cannot listen on {where}: the port is in use; choose another one, or 0 for any") from None
        raise ServerError(f"cannot listen on {where}: {error.strerror or error}") from None
    return listener


async def serve(settings: ServerSettings, ready: Callable[[EmbeddedServer], None] | None = None) -> None:
    """Serve until SIGINT or SIGTERM. `ready` is told once the server listens. Raises `ServerError`."""
    compile_templates("base", "viewer", "server")  # which takes a while, and no game shall wait for it
    async with EmbeddedServer(settings) as server:
        await server.until_signal(ready)


def run_server(settings: ServerSettings, ready: Callable[[EmbeddedServer], None] | None = None) -> None:
    """Serve in a new event loop until SIGINT or SIGTERM; see `serve`."""
    asyncio.run(serve(settings, ready))
