"""A client for the server-sent events of a running game. If the connection breaks, it connects again."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from contextlib import aclosing
from dataclasses import dataclass, replace
from urllib.parse import quote

import httpx
from httpx_sse import EventSource, ServerSentEvent

from vindibot.base.address import ServerAddress
from vindibot.base.errors import UsageError, VindibotError
from vindibot.base.output.redaction import Redactor
from vindibot.client.transport import Transport, TransportError
from vindibot.games.protocol import GameState, read_game

#: Seconds between two attempts to connect again. The pause is `FIRST_BACKOFF` at first. It doubles with each attempt, up to
#: `LONGEST_BACKOFF`.
FIRST_BACKOFF, LONGEST_BACKOFF = 0.25, 5.0
#: Seconds without a connection after which no more attempts are made.
TIMEOUT = 60.0
#: Largest number of bytes of an event. An event is one state, or a list of ids.
LONGEST_EVENT = 1 << 20


@dataclass(frozen=True)
class GameAddress:
    """A game on a server. An empty `game` stands for the newest running game."""

    server: ServerAddress
    game: str = ""

    @classmethod
    def parse(cls, text: str) -> GameAddress:
        """Parse the address of a game's page (``http://localhost:9000/abcd1234``), of a game's events, or of a server.

        Raises `UsageError` for other texts, also for the URL for moves. The message does not repeat this URL, because a token is
        in it.
        """
        if "/api/" in text:
            raise UsageError("this is an address for bots; give that of the game's page, such as http://localhost:9000/abcd1234")
        page = ServerAddress.parse(text.partition("#")[0].partition("?")[0])
        prefix, _, game = page.prefix.rpartition("/")
        return cls(replace(page, prefix=prefix.removesuffix("/events")), game)


async def events(pieces: AsyncIterator[bytes]) -> AsyncGenerator[ServerSentEvent, None]:
    """Read the body of an event stream in pieces, and yield each event that has data. An incomplete last event is dropped.

    Raises `VindibotError` if an event is longer than `LONGEST_EVENT` bytes.
    """
    pending = 0

    async def counted() -> AsyncIterator[bytes]:
        nonlocal pending
        async for piece in pieces:
            pending += len(piece)
            if pending > LONGEST_EVENT:
                raise VindibotError("the server's answer is no stream of events")
            yield piece

    source = EventSource(httpx.Response(200, headers={"Content-Type": "text/event-stream"}, content=counted()))
    async with aclosing(source.aiter_sse()) as received:
        async for event in received:
            pending = 0
            if event.data:
                yield event


class Watcher:
    """A watcher of games on one server. It calls `note` with a message when it waits for a connection or for a game."""

    def __init__(self, server: ServerAddress, note: Callable[[str], None] = lambda text: None) -> None:
        self.server = server
        self._note = note
        self._transport = Transport(server, Redactor())

    async def newest(self) -> str:
        """Return the id of the running game that began last. If no game is running, wait for one.

        Raises `VindibotError` if the server has no list of games, or cannot be reached.
        """
        waiting = False
        async with aclosing(self._events("/now-playing", "there is no list of games")) as lists:
            async for event in lists:
                try:
                    ids = json.loads(event.data)
                except (ValueError, RecursionError):
                    raise VindibotError(f"{self.server} sends a list of games that is not JSON") from None
                if isinstance(ids, list) and ids:
                    return str(ids[0])
                if not waiting:
                    self._note("no game is running; waiting for the next")
                    waiting = True
        raise VindibotError(f"{self.server} has ended its list of games")

    async def states(self, game: str) -> AsyncGenerator[GameState, None]:
        """Yield each state of a game once, from the first ply to the end.

        Raises `VindibotError` if the game does not exist, or if the server can no longer be reached.
        """
        turn = -1
        async with aclosing(self._events(f"/events/{quote(game, safe='')}", f"there is no game {game!r:.60}")) as received:
            async for event in received:
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
        """Yield the events of a stream. After a broken connection, go on with the event after the last one received.

        When the server ends the stream, a second request asks for further events. If there are none, the stream is over. If the
        events have no ids, there is no second request. Raises `VindibotError` with the text `missing` if the stream does not
        exist.
        """
        last_id, began, noted = "", False, ""
        failing_since: float | None = None
        backoff = FIRST_BACKOFF
        while True:
            received = False
            headers = {"Accept": "text/event-stream"} | ({"Last-Event-ID": last_id} if last_id else {})
            try:
                async with self._transport.stream(self.server.url(path), headers) as (status, pieces):
                    if status == 204 or (status == 404 and began):
                        return
                    if status == 404:
                        raise VindibotError(f"{missing} on {self._transport.route}")
                    if status != 200 and status < 500:
                        raise VindibotError(f"{self._transport.route} sends no events: it answers with status {status}")
                    if status != 200:
                        raise TransportError(f"{self._transport.route} answers with status {status}")
                    async for event in events(pieces):
                        last_id, received, began = event.id or last_id, True, True
                        failing_since, backoff, noted = None, FIRST_BACKOFF, ""
                        yield event
            except TransportError as error:
                now = time.monotonic()
                failing_since = failing_since if failing_since is not None else now
                never_reached = not began and not error.sent
                if error.final or never_reached or now - failing_since > TIMEOUT:
                    raise
                if error.message != noted:
                    self._note(f"{error.message}; trying again")
                noted = error.message
                await asyncio.sleep(backoff)
                backoff = min(2 * backoff, LONGEST_BACKOFF)
            else:
                if not received or not last_id:
                    return
