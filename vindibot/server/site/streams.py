"""Streams of server-sent events for spectators: games, and lists of running games (docs/protocol.md)."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping
from contextlib import ExitStack
from typing import Any

from fastapi import FastAPI, Request
from fastapi.responses import Response, StreamingResponse
from starlette.exceptions import HTTPException
from starlette.types import Receive, Scope, Send

from vindibot.games.history import GameHistory
from vindibot.server.limits import ClientLimits, client_address
from vindibot.server.refusal import Refusal
from vindibot.server.room import Room, RoomObserver
from vindibot.server.settings import ServerSettings
from vindibot.server.site.feed import Encoder, Feed, Listing, PageEncoder, PlainEncoder, ReaderPause, recorded
from vindibot.server.store.database import Database
from vindibot.server.store.tables import find_record
from vindibot.viewer.events import HEADERS, TYPE, last_event

#: The encoders that each running game has: for whole states with and without ids, and for patches.
ENCODERS = (Encoder, PlainEncoder, PageEncoder)


class Streams(RoomObserver):
    """The event streams of all spectators. They observe all rooms, and keep the feeds of all running games."""

    def __init__(self, settings: ServerSettings, limits: ClientLimits) -> None:
        self._settings, self._limits = settings, limits
        self._feeds: dict[str, dict[type[Encoder], Feed]] = {}
        self.listing = Listing()
        self.pace = ReaderPause()
        self._closed = False

    def began(self, room: Room) -> None:
        """See `RoomObserver`."""
        self._feeds[room.id] = {encoder: Feed(room, encoder(room.history)) for encoder in ENCODERS}

    def played(self, room: Room, move: int) -> None:
        """See `RoomObserver`."""
        for feed in self._feeds[room.id].values():
            feed.played()
        if len(room.history) == 1 and not room.training:
            self.listing.add(room)

    def ended(self, room: Room) -> None:
        """See `RoomObserver`. Spectators that come later get the archived game."""
        for feed in self._feeds.pop(room.id).values():
            feed.end()
        self.listing.remove(room)

    def feed(self, game_id: str, encoder: type[Encoder] = Encoder) -> Feed | None:
        """Return the feed of a running game in the format of `encoder`, or None if no such game runs."""
        return self._feeds.get(game_id, {}).get(encoder)

    def close(self) -> None:
        """End all streams."""
        self._closed = True
        self.listing.end()
        for feeds in self._feeds.values():
            for feed in feeds.values():
                feed.end()
        self._feeds.clear()

    def response(
        self,
        request: Request,
        pieces: AsyncGenerator[bytes, None],
        *,
        media_type: str = TYPE,
        headers: Mapping[str, str] | None = None,
    ) -> Response:
        """Return a streaming response to `request` that sends `pieces`. `headers` are further headers.

        Raises `Refusal` if there are too many streams, in all or of this address, or if the server is closing.
        """
        if self._closed:
            raise Refusal(503, "The server is closing")
        if self.pace.readers >= self._settings.max_streams:
            raise Refusal(503, "There are too many spectators, try again later")
        response = StreamedResponse(pieces, self.pace, self._limits.stream(client_address(request)))
        fields = {"content-type": media_type} | HEADERS | dict(headers or {})
        response.raw_headers = [(name.lower().encode(), value.encode()) for name, value in fields.items()]
        return response


class StreamedResponse(StreamingResponse):
    """A response that is sent piece by piece, for example as server-sent events.

    It ends when all pieces are sent or when the connection is gone. It counts as a stream until then. The system closes the
    connection of a reader that reads nothing for `stalled_seconds` (see `GameServer`).
    """

    def __init__(self, pieces: AsyncGenerator[bytes, None], pace: ReaderPause, place: ExitStack) -> None:
        super().__init__(pieces)
        self._pieces, self._pace, self._place = pieces, pace, place

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send the pieces."""
        self._pace.readers += 1
        try:
            await super().__call__(scope, receive, send)
        finally:
            await self._pieces.aclose()
            self._pace.readers -= 1
            self._place.close()


def _reads_ids(request: Request) -> bool:
    """Return whether the reader understands the ids of events, as every browser does. Old clients read only the data."""
    return "last-event-id" in request.headers or TYPE in request.headers.get("accept", "").lower()


def add_streams(app: FastAPI, streams: Streams, database: Database) -> None:
    """Add the routes of the streams."""
    described: dict[int | str, dict[str, Any]] = {200: {"content": {TYPE: {}}}}

    async def game_stream(request: Request, game_id: str, encoder: type[Encoder]) -> Response:
        after = last_event(request)
        feed = streams.feed(game_id, encoder)
        if feed is not None:
            return streams.response(request, feed.follow(after, streams.pace))
        record = await database.read(lambda connection: find_record(connection, game_id))
        if record is None:
            raise HTTPException(404)
        if encoder is Encoder and 0 < len(record.moves) <= after:
            return Response(status_code=204)  # this status keeps a browser from reconnecting: there are no more events
        history = GameHistory.of(record)
        return streams.response(request, recorded(history, encoder(history), after))

    @app.get("/events/{game_id}", response_class=Response, responses=described)
    async def events(request: Request, game_id: str) -> Response:
        """The states of a game as events, one event per ply, until the game ends.

        If the header Accept names text/event-stream, events have an id. With the header Last-Event-ID, the stream begins after
        the event with this id.
        """
        return await game_stream(request, game_id, Encoder if _reads_ids(request) else PlainEncoder)

    @app.get("/plies/{game_id}", response_class=Response, responses=described)
    async def plies(request: Request, game_id: str) -> Response:
        """The plies of a game as events for the game's page (docs/viewer-format.md), until the game ends.

        With the header Last-Event-ID, the stream begins after the event with this id.
        """
        return await game_stream(request, game_id, PageEncoder)

    @app.get("/now-playing", response_class=Response, responses=described)
    async def now_playing(request: Request) -> Response:
        """Events with the ids of the running arena games, newest first: one event immediately, and one at each change."""
        return streams.response(request, streams.listing.follow(None, streams.pace))

    @app.get("/ai/{user_id}/now-playing", response_class=Response, responses=described)
    async def bot_now_playing(request: Request, user_id: str) -> Response:
        """The same stream as /now-playing, but only with the games in which this bot plays."""
        return streams.response(request, streams.listing.follow(user_id, streams.pace))
