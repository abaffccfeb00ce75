"""The core of a server: it plays games over HTTP in the event loop of another program, without pages and without a database."""

from __future__ import annotations

import asyncio
import errno
import math
import os
import socket
from collections.abc import Callable, Sequence
from types import TracebackType
from typing import Any, Self

import structlog

from sim.kernels import warm
from vindibot.base import interrupts
from vindibot.base.asgi import AsgiServer
from vindibot.base.errors import UsageError
from vindibot.server.app import create_app
from vindibot.server.lobby import Lobby
from vindibot.server.match import Claim, Match
from vindibot.server.room import RoomObserver
from vindibot.server.settings import ServerSettings
from vindibot.server.users import Users, UserStore

#: Seconds for which an idle connection stays open. Clients close idle connections earlier. So the server never closes a
#: connection while a client sends a new request on it.
KEEP_ALIVE_SECONDS = 75

#: Number of new connections that asyncio accepts in one round of its loop, and of those that wait for it. While the process has
#: no file left, asyncio reports each attempt of a round, then it pauses for a second. So the first number is small.
ACCEPTED_AT_ONCE, QUEUED = 16, 2048

#: Seconds for which a server that was told to end refuses requests, before it closes its connections.
CLOSING_SECONDS = 0.5


#: The shortest time between two warnings that connections wait, in seconds.
QUIET_SECONDS = 60.0

_log = structlog.get_logger("vindibot.server")


class ServerError(UsageError):
    """The server cannot start with these settings."""


class GameServer:
    """A server for players alone, which runs in the current event loop::

        async with GameServer() as server:
            key = server.register("seed")
            ...  # play on server.url

    It has no pages and no streams, and stores nothing: `EmbeddedServer` adds these. So the settings of the database, of leagues
    and of the administrator have no effect here.

    At the start of the ``async with`` block the rules are loaded as machine code. If they are not compiled yet, this takes some
    seconds. At the end of the block all games end and all open requests are answered. `server.lobby.arrange` makes private
    matches.
    """

    def __init__(
        self,
        settings: ServerSettings | None = None,
        observers: Sequence[RoomObserver] = (),
        users: UserStore | None = None,
    ) -> None:
        self.settings = settings or ServerSettings()
        self.lobby = Lobby(self.settings, Users(users), observers)
        self.app = create_app(self.lobby)
        self.port = self.settings.port
        self._asgi: AsgiServer | None = None

    @property
    def url(self) -> str:
        """The address of the server, without a slash at the end."""
        host = "127.0.0.1" if self.settings.host in ("0.0.0.0", "::") else self.settings.host
        return f"http://[{host}]:{self.port}" if ":" in host else f"http://{host}:{self.port}"

    def register(self, name: str, key: str | None = None) -> str:
        """Add a bot, and return its key of 8 characters once the bot is stored. If `key` is None, make a new key.

        Several bots may have the same name. The call blocks until the bot is stored.
        """
        return self.lobby.users.add(name, key)

    async def join(self, key: str) -> Claim:
        """Let the bot with this key wait for its next game. Return the bot's claim (its place in the queue).

        The game is a private match with a seat for the bot, else a game of its league, else an arena game. Raises `Refusal`.
        """
        return self.lobby.join_arena(await self.lobby.user(key))

    def end(self, match: Match) -> None:
        """Cancel a match that has not begun. If the match runs already, each hero crashes on its next turn."""
        self.lobby.cancel(match)
        if match.room is not None:
            for seat in match.room.seats:
                match.room.withdraw(seat)

    def end_games(self) -> None:
        """Stop all games immediately, without results, and answer all open requests."""
        self.lobby.close()

    async def __aenter__(self) -> Self:
        warm()
        listener = _listen(self.settings)
        self.port = listener.getsockname()[1]
        self._asgi = AsgiServer(
            self.app,
            # httptools loses the body of a request with the header Upgrade, which Java's client sends, and allows endless heads.
            http="h11",
            timeout_keep_alive=KEEP_ALIVE_SECONDS,
            backlog=ACCEPTED_AT_ONCE,
            proxy_headers=bool(self.settings.forwarded_allow_ips),
            forwarded_allow_ips=self.settings.forwarded_allow_ips,
        )
        if not await self._asgi.begin(listener):
            raise ServerError("the server ended before it began to listen", exit_code=1)
        listener.listen(QUEUED)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.end_games()
        if self._asgi is not None:
            await self._asgi.end()

    async def until_signal(self, ready: Callable[[Self], None] | None = None) -> None:
        """Call `ready` with this server, wait for SIGINT, SIGTERM or SIGHUP, end all games, and refuse requests for a moment.

        In this moment the requests arrive that clients have just sent. They get a 503, not the end of their connection.
        """
        stop, loop = asyncio.Event(), asyncio.get_running_loop()
        loop.set_exception_handler(_ExceptionLog())
        with interrupts.calling(stop.set, loop):
            if ready is not None:
                ready(self)
            await stop.wait()
        self.end_games()
        await asyncio.sleep(CLOSING_SECONDS)


class _ExceptionLog:
    """Handles errors of an event loop as usual, but logs at most once per minute that the process has no file left."""

    def __init__(self) -> None:
        self._quiet_until = 0.0

    def __call__(self, loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        if "out of system resource" not in context["message"]:
            loop.default_exception_handler(context)
        elif loop.time() >= self._quiet_until:
            self._quiet_until = loop.time() + QUIET_SECONDS
            _log.warning("new connections wait until others end", reason=context["exception"].strerror)


def _listen(settings: ServerSettings) -> socket.socket:
    """Return a socket bound to the address of the settings. Raises `ServerError`."""
    where = settings.host
    listener = None
    try:
        family, _, _, _, address = socket.getaddrinfo(settings.host, settings.port, type=socket.SOCK_STREAM)[0]
        # With the protocol, asyncio turns off the delay of small packets, which would cost 40 ms per ply.
        listener = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
        where += f", port {settings.port}"
        if os.name == "posix":  # on Windows, several servers could listen on one port
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if hasattr(socket, "TCP_USER_TIMEOUT"):  # Linux drops the connections of clients that stop reading
            listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, math.ceil(settings.stalled_seconds * 1000))
        listener.bind(address)
        return listener
    except OSError as error:
        if listener is not None:
            listener.close()
        reason = error.strerror or error
        if error.errno == errno.EADDRINUSE:
            reason = "the port is in use; choose another one, or 0 for any"
        raise ServerError(f"cannot listen on {where}: {reason}") from None
