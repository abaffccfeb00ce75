"""A live game on a server, by server-sent events: its states as they come, through lost connections, to its end."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from contextlib import aclosing
from dataclasses import dataclass
from urllib.parse import quote

import httpx
from httpx_sse import EventSource, ServerSentEvent

from vindibot.base import Redactor, ServerAddress, UsageError, VindibotError
from vindibot.client import Transport, TransportError
from vindibot.games import GameState, read_game

#: Seconds between two attempts to get through again, at first and at most.
FIRST_PAUSE, LONGEST_PAUSE = 0.25, 5.0
#: Seconds after which no more attempts are made.
TIMEOUT = 60.0
#: An event is one state, or a list of ids; what is longer than this is none.
LONGEST_EVENT = 1 << 20


@dataclass(frozen=True)
class GameAddress:
    """A game on a server; `game` is empty for whatever is played there now."""

    server: ServerAddress
    game: str = ""

    @classmethod
    def parse(cls, text: str) -> GameAddress:
        """Read the address of a game's page (``http://localhost:9000/abcd1234``), of its events, or of a server alone.

        Raises `UsageError`; an address for orders, which holds a token, is refused and not repeated.
        """
        if "/api/" in text:
            raise UsageError("this is an address for bots; give that of the game's page, such as http://localhost:9000/abcd1234")
        whole = ServerAddress.parse(text.partition("#")[0].partition("?")[0])
        prefix, _, game = whole.prefix.rpartition("/")
        address = ServerAddress(whole.scheme, whole.host, whole.port, prefix.removesuffix("/events"))
        return cls(address, game)


async def events(pieces: AsyncIterator[bytes]) -> AsyncGenerator[ServerSentEvent, None]:
    """Yield the events with data in a body that comes in pieces; a last one that is not whole is left out.

    Raises `VindibotError` for a body in which no event ends within `LONGEST_EVENT` bytes.
    """
    pending = 0

    async def counted() -> AsyncIterator[bytes]:
        nonlocal pending
        async for piece in pieces:
            pending += len(piece)
            if pending > LONGEST_EVENT:
                raise VindibotError("the server's stream is no list of events")
            yield piece

    source = EventSource(httpx.Response(200, headers={"Content-Type": "text/event-stream"}, content=counted()))
    async with aclosing(source.aiter_sse()) as found:
        async for event in found:
            pending = 0
            if event.data:
                yield event


class Watcher:
    """Follows games of one server. `tell` gets a line when something takes time: a lost connection, no game yet."""

    def __init__(self, server: ServerAddress, tell: Callable[[str], None] = lambda text: None) -> None:
        self.server = server
        self._tell = tell
        self._transport = Transport(server, Redactor())

    async def newest(self) -> str:
        """The id of the game that began last among those that are played; waits until there is one."""
        waiting = False
        async with aclosing(self._events("/now-playing", "there is no list of games")) as found:
            async for event in found:
                try:
                    ids = json.loads(event.data)
                except (ValueError, RecursionError):
                    raise VindibotError(f"{self.server} sends a list of games that is no JSON") from None
                if isinstance(ids, list) and ids:
                    return str(ids[0])
                if not waiting:
                    self._tell("no game is played at the moment; waiting for the next")
                    waiting = True
        raise VindibotError(f"{self.server} has ended its list of games")

    async def states(self, game: str) -> AsyncGenerator[GameState, None]:
        """The states of a game from its first ply to its end, each once. Raises `VindibotError` where there is no such
        game, or no way to the server any more."""
        turn = -1
        async with aclosing(self._events(f"/events/{quote(game, safe='')}", f"there is no game {game!r:.60}")) as found:
            async for event in found:
                state = read_game(event.data)
                if state.turn > turn or state.finished:
                    turn = state.turn
                    yield state
                if state.finished:
                    return

    async def aclose(self) -> None:
        """Close the connection."""
        await self._transport.aclose()

    async def _events(self, path: str, missing: str) -> AsyncGenerator[ServerSentEvent, None]:
        """The events of a stream, going on after the last one when the connection breaks. It is over when the server ends it
        and, asked once more (which only makes sense where events have ids), has nothing to add."""
        last, began = "", False
        failing_since: float | None = None
        pause = FIRST_PAUSE
        while True:
            news = False
            headers = {"Accept": "text/event-stream"} | ({"Last-Event-ID": last} if last else {})
            try:
                async with self._transport.stream(self.server.url(path), headers) as (status, pieces):
                    if status == 204 or (status == 404 and began):
                        return
                    if status == 404:
                        raise VindibotError(f"{missing} on {self.server}")
                    if status != 200 and status < 500:
                        raise VindibotError(f"{self.server} has no events there: it answers with status {status}")
                    if status != 200:
                        raise TransportError(f"{self.server} answers with status {status}")
                    async for event in events(pieces):
                        last, news, began = event.id or last, True, True
                        failing_since, pause = None, FIRST_PAUSE
                        yield event
            except TransportError as fault:
                failing_since = failing_since if failing_since is not None else time.monotonic()
                nowhere = not began and not fault.sent
                if fault.final or nowhere or time.monotonic() - failing_since > TIMEOUT:
                    raise
                self._tell(f"{fault.message}; trying again")
                await asyncio.sleep(pause)
                pause = min(2 * pause, LONGEST_PAUSE)
            else:
                if not news or not last:
                    return
