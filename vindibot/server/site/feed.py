"""Feeds: each feed makes the events of one running game for its spectators. This module does not depend on HTTP.

An encoder makes the data of an event: a whole state, as players get it, or a patch (the changes of one ply) for the game's page.

Each ply is an event, which is encoded once for all readers. The event's number is the number of plies played. This number may
differ from the turn, since a crash that ends the game does not advance the turn. Fast readers share a buffer of the latest
events. For a reader that is slow or comes late, the events are recomputed from the moves; for the page, several plies are then
one event.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncGenerator, Sequence
from functools import partial
from itertools import islice

from vindibot.games.history import GameHistory, Ply
from vindibot.games.protocol import encode_json, from_games
from vindibot.server.room import Room
from vindibot.viewer.bundle import StateWriter, result_of
from vindibot.viewer.events import HEARTBEAT, Watched, event, retry


class Encoder:
    """Encodes the events of one game: each ply as the whole state, as players get it. The last state says that the game is over.

    `prelude` is what a stream sends first, empty for nothing. `numbered` says whether events have an id, the number of
    plies played. An encoder stores nothing about its readers, so all readers of a game can share it.
    """

    prelude = b""
    numbered = True

    def __init__(self, history: GameHistory) -> None:
        self._history = history

    def past(self, plies: Sequence[Ply]) -> bytes:
        """Return the events for consecutive plies."""
        state = partial(from_games, game_id=self._history.id, players=self._history.players)
        return b"".join(event(ply.number + 1 if self.numbered else None, encode_json(state(ply.after))) for ply in plies)

    def newest(self, room: Room) -> bytes:
        """Return the event for the newest ply in a room. It reuses the state that the room has encoded for the players."""
        return event(len(room.history) if self.numbered else None, room.state()[1])

    def end(self) -> bytes:
        """Return the event that ends a game, also one that was interrupted. Empty if there is no such event."""
        return b""


class PlainEncoder(Encoder):
    """Encodes like `Encoder`, without the ids of the events: some clients take each line that is not empty for a state."""

    numbered = False


class PageEncoder(Encoder):
    """Encodes plies as one patch (the changes of these plies) for the game's page."""

    prelude = retry(1000)

    def __init__(self, history: GameHistory) -> None:
        super().__init__(history)
        self._writer = StateWriter(history.first)

    def past(self, plies: Sequence[Ply]) -> bytes:
        """See `Encoder`. The number of the event is that of the last ply."""
        patch = {"from": plies[0].number, "plies": [self._writer.ply(ply) for ply in plies]}
        return event(plies[-1].number + 1, encode_json(patch))

    def newest(self, room: Room) -> bytes:
        """See `Encoder`."""
        return self.past([room.history[-1]])

    def end(self) -> bytes:
        """See `Encoder`."""
        return event(len(self._history), encode_json(result_of(self._history)), "end")


#: Number of latest events that a watched game keeps, of about 3 kB each. Older events are recomputed.
STORED_EVENTS = 600
#: Approximate size in bytes of the pieces in which events are sent to a reader.
PIECE_BYTES = 64_000
#: Number of plies to recompute per round of the event loop (less than a millisecond).
PLIES_AT_ONCE = 12
#: A reader's pause after a piece: seconds per connected reader, and the longest pause in seconds. With the first value, all
#: readers together get about 500 pieces per second.
SECONDS_PER_READER, LONGEST_PAUSE = 0.002, 0.25


async def replayed(history: GameHistory, encoder: Encoder, after: int) -> AsyncGenerator[tuple[int, bytes], None]:
    """Yield the events of a game after event number `after` in pieces, each with the number of its last event."""
    plies = history.plies(after)
    while past := list(islice(plies, PLIES_AT_ONCE)):
        yield past[-1].number + 1, encoder.past(past)
        await asyncio.sleep(0)


async def recorded(history: GameHistory, encoder: Encoder, after: int = 0) -> AsyncGenerator[bytes, None]:
    """Yield the events of an archived game after event number `after`, in pieces."""
    yield encoder.prelude
    async for _, piece in replayed(history, encoder, after):
        yield piece
    yield encoder.end()


class Feed(Watched):
    """The events of one running game, one event per ply. `readers` is the number of spectators that follow the game."""

    def __init__(self, room: Room, encoder: Encoder) -> None:
        super().__init__()
        self._room = room
        self._history = room.history
        self._encoder = encoder
        self._events: deque[bytes] = deque(maxlen=STORED_EVENTS)
        self.readers = 0

    def played(self) -> None:
        """Add the event of the newest ply, and wake the readers. If there are no readers, empty the buffer."""
        if not self.readers:
            self._events.clear()
            return
        self._events.append(self._encoder.newest(self._room))
        self.wake()

    def _take(self, place: int) -> list[bytes]:
        """Return events from the buffer, of about `PIECE_BYTES`. The first one has the index `place`."""
        taken: list[bytes] = []
        size = 0
        for new in islice(self._events, place, None):
            taken.append(new)
            size += len(new)
            if size >= PIECE_BYTES:
                break
        return taken

    async def follow(self, after: int, pause: ReaderPause) -> AsyncGenerator[bytes, None]:
        """Yield the events after event number `after` in pieces, until the game ends. Then yield the event for the end, if any.

        If nothing happens for `QUIET_SECONDS`, yield `HEARTBEAT`. After each piece from the buffer, wait for `pause`.
        """
        self.readers += 1
        try:
            yield self._encoder.prelude
            after = max(0, min(after, len(self._history)))
            while True:
                place = after - len(self._history) + len(self._events)
                if place < 0:
                    async for number, piece in replayed(self._history, self._encoder, after):
                        after = number
                        yield piece
                elif events := self._take(place):
                    after += len(events)
                    yield b"".join(events)
                    await pause()
                elif self.over:
                    break
                elif not await self.changes():
                    yield HEARTBEAT
        finally:
            self.readers -= 1
        yield self._encoder.end()


class Listing(Watched):
    """The list of the running arena games, newest first, for spectators that follow this list."""

    def __init__(self) -> None:
        super().__init__()
        self._rooms: list[Room] = []

    def add(self, room: Room) -> None:
        """Add a game at the front of the list."""
        self._rooms.insert(0, room)
        self.wake()

    def remove(self, room: Room) -> None:
        """Remove a game, if it is in the list."""
        if room in self._rooms:
            self._rooms.remove(room)
            self.wake()

    def ids(self, user_id: str | None = None) -> list[str]:
        """Return the ids of the games. With `user_id`, return only the games in which this user plays."""
        return [room.id for room in self._rooms if user_id is None or room.has_user(user_id)]

    async def follow(self, user_id: str | None, pause: ReaderPause) -> AsyncGenerator[bytes, None]:
        """Yield the list of ids as an event: immediately, and at each change. With `user_id`, list only games of this user.

        A slow reader gets only the newest list.
        """
        shown: list[str] | None = None
        while not self.over:
            ids = self.ids(user_id)
            if ids != shown:
                shown = ids
                yield event(None, encode_json(ids))
                await pause()
            elif not await self.changes():
                yield HEARTBEAT


class ReaderPause:
    """Call it to wait between two pieces for one reader. The pause grows with `readers`, the number of connected readers."""

    def __init__(self) -> None:
        self.readers = 0

    async def __call__(self) -> None:
        await asyncio.sleep(min(LONGEST_PAUSE, self.readers * SECONDS_PER_READER))
