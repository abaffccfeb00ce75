"""Server-sent events: games and lists of games for spectators (RULES section 14)."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import aclosing
from typing import Any

from fastapi import FastAPI, Request
from fastapi.responses import Response
from starlette.exceptions import HTTPException
from starlette.types import Receive, Scope, Send

from vindibot.server.database import Database
from vindibot.server.encoder import PageEncoder, WireEncoder
from vindibot.server.feed import Feed, Listing, ReaderPause, recorded
from vindibot.server.game_rows import find_record, played
from vindibot.server.refusal import Refusal
from vindibot.server.room import Room
from vindibot.server.settings import ServerSettings

#: Where a request's scope holds the connection's own `send`: streams are sent past everything between, and cut through it.
SEND = "vindibot.send"
#: Milliseconds until a browser asks again for a stream that broke.
AGAIN = b"retry: 1000\n\n"
_HEADERS = [
    (b"content-type", b"text/event-stream"),
    (b"cache-control", b"no-cache"),
    (b"x-accel-buffering", b"no"),  # a proxy must not collect events
]


class Streams:
    """All that is watched; an observer of all rooms."""

    def __init__(self, settings: ServerSettings) -> None:
        self._settings = settings
        self._feeds: dict[str, Feed] = {}
        self._pages: dict[str, Feed] = {}
        self.listing = Listing()
        self.pace = ReaderPause()
        self._closed = False

    def began(self, room: Room) -> None:
        """See `RoomObserver`."""
        self._feeds[room.id] = Feed(room, WireEncoder(room.history))
        self._pages[room.id] = Feed(room, PageEncoder(room.history))

    def played(self, room: Room, move: int) -> None:
        """See `RoomObserver`."""
        self._feeds[room.id].played()
        self._pages[room.id].played()
        if len(room.history) == 1 and not room.training:
            self.listing.add(room)

    def ended(self, room: Room) -> None:
        """See `RoomObserver`. Who comes later gets the kept game."""
        self._feeds.pop(room.id).end()
        self._pages.pop(room.id).end()
        self.listing.remove(room)

    def feed(self, game_id: str) -> Feed | None:
        """The feed of a running game, None if there is none."""
        return self._feeds.get(game_id)

    def page_feed(self, game_id: str) -> Feed | None:
        """The feed for the pages of a running game, None if there is none."""
        return self._pages.get(game_id)

    def close(self) -> None:
        """End all streams."""
        self._closed = True
        self.listing.end()
        for feeds in (self._feeds, self._pages):
            for feed in feeds.values():
                feed.end()
            feeds.clear()

    def response(self, pieces: AsyncIterator[bytes]) -> Response:
        """A stream of these pieces. Raises `Refusal` if there are too many streams."""
        if self._closed:
            raise Refusal(503, "The server is closing")
        if self.pace.readers >= self._settings.max_streams:
            raise Refusal(503, "There are too many spectators, try again later")
        return EventResponse(pieces, self.pace, self._settings.stalled_seconds)


class EventResponse(Response):
    """A stream of events that ends when its source ends, when the reader goes, or when he stops reading."""

    def __init__(self, pieces: AsyncIterator[bytes], pace: ReaderPause, stalled_seconds: float) -> None:
        super().__init__()
        self._pieces = pieces
        self._pace = pace
        self._stalled_seconds = stalled_seconds
        self._since: float | None = None  # when the piece was begun that is being sent

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send the events."""
        # The head goes the usual way, so that everybody knows that there is an answer.
        await send({"type": "http.response.start", "status": 200, "headers": _HEADERS})
        send = scope.get(SEND, send)
        self._pace.readers += 1
        sending = asyncio.ensure_future(self._send(send))
        ends = (asyncio.ensure_future(_gone(receive)), asyncio.ensure_future(self._stalled()))
        try:
            await asyncio.wait((sending, *ends), return_when=asyncio.FIRST_COMPLETED)
            if ends[1].done():
                await _cut(send)
        finally:
            self._pace.readers -= 1
            for task in (sending, *ends):
                task.cancel()
            await asyncio.gather(sending, *ends, return_exceptions=True)
        if not sending.cancelled():
            sending.result()

    async def _stalled(self) -> None:
        """Wait until a piece has been on its way for too long. (A timeout for each piece would cost as much as sending it.)"""
        clock = asyncio.get_running_loop().time
        while self._since is None or clock() - self._since < self._stalled_seconds:
            begun = self._since if self._since is not None else clock()
            await asyncio.sleep(max(0.0, begun + self._stalled_seconds - clock()) + 0.001)

    async def _send(self, send: Send) -> None:
        await send({"type": "http.response.body", "body": b"", "more_body": True})
        clock = asyncio.get_running_loop().time
        async with aclosing(self._pieces) as pieces:  # type: ignore[type-var]
            async for piece in pieces:
                self._since = clock()
                await send({"type": "http.response.body", "body": piece, "more_body": True})
                self._since = None
        self._since = clock()
        await send({"type": "http.response.body", "body": b"", "more_body": False})


async def _gone(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass


async def _cut(send: Send) -> None:
    """Drop the connection at once: what waits to be sent to somebody who does not read would wait for ever."""
    transport = getattr(getattr(send, "__self__", None), "transport", None)
    if transport is not None:
        transport.abort()
        for _ in range(3):  # until the connection knows
            await asyncio.sleep(0)


async def _patient(pieces: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    """A stream that says how soon a browser shall ask again when the connection breaks (its own pause is seconds)."""
    yield AGAIN
    async with aclosing(pieces) as rest:  # type: ignore[type-var]
        async for piece in rest:
            yield piece


def _last_event(request: Request) -> int:
    """The number of the last event that this reader has seen."""
    text = request.headers.get("last-event-id", "")
    return int(text) if text.isascii() and text.isdecimal() and len(text) < 10 else 0


def add_streams(app: FastAPI, streams: Streams, store: Database) -> None:
    """The routes of the streams."""
    described: dict[int | str, dict[str, Any]] = {200: {"content": {"text/event-stream": {}}}}

    @app.get("/events/{game_id}", response_class=Response, responses=described)
    async def events(request: Request, game_id: str) -> Response:
        """The states of a game as events, from the first ply or after that of the header Last-Event-ID, to its end."""
        after = _last_event(request)
        feed = streams.feed(game_id)
        if feed is not None:
            return streams.response(feed.follow(after, streams.pace))
        record = await store.read(lambda connection: find_record(connection, game_id))
        if record is None:
            raise HTTPException(404)
        if 0 < len(record.moves) <= after:
            return Response(status_code=204)  # there is no more: a browser would ask for ever
        history = played(record)
        return streams.response(recorded(history, WireEncoder(history), after))

    @app.get("/plies/{game_id}", response_class=Response, responses=described)
    async def plies(request: Request, game_id: str) -> Response:
        """What the page of a game shows, ply for ply, from the first or after that of the header Last-Event-ID, to its end
        (docs/viewer-format.md)."""
        after = _last_event(request)
        feed = streams.page_feed(game_id)
        if feed is not None:
            return streams.response(_patient(feed.follow(after, streams.pace)))
        record = await store.read(lambda connection: find_record(connection, game_id))
        if record is None:
            raise HTTPException(404)
        history = played(record)
        return streams.response(_patient(recorded(history, PageEncoder(history), after)))

    @app.get("/now-playing", response_class=Response, responses=described)
    async def now_playing() -> Response:
        """The ids of the arena games that run, newest first, as an event at once and at each change."""
        return streams.response(streams.listing.follow(None, streams.pace))

    @app.get("/ai/{user_id}/now-playing", response_class=Response, responses=described)
    async def bot_now_playing(user_id: str) -> Response:
        """As /now-playing, only the games in which this bot plays."""
        return streams.response(streams.listing.follow(user_id, streams.pace))
