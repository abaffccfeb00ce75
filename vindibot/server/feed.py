"""Feeds: what spectators are sent, made once however many they are. Knows nothing of HTTP.

Every ply of a game is an event with a number, the count of plies, so that also the last state of a game that ended by a
crash (whose turn did not advance) has a number of its own. A reader who is behind, or comes late, gets the plies that he
lacks recomputed from the moves; one who keeps up shares the last events with all the others.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncGenerator, Iterable

from vindibot.games import GameHistory, encode_json
from vindibot.server.encoder import Encoder
from vindibot.server.room import Room

#: The latest events of a watched game that are kept for its readers, in bytes; for who is further behind they are recomputed.
KEPT_BYTES = 2_000_000
#: The longest piece that a reader is sent at once.
PIECE_BYTES = 64_000
#: Recomputed plies between two rounds of the loop: less than a millisecond.
PLIES_AT_ONCE = 12
#: Seconds after which a quiet stream shows that it lives.
QUIET_SECONDS = 15.0
HEARTBEAT = b":\n\n"
#: How long a reader rests after a piece, per reader there is, so that all together get some 500 pieces a second at most.
SECONDS_PER_READER, LONGEST_PAUSE = 0.002, 0.25


def event(number: int | None, data: bytes, kind: str = "") -> bytes:
    """One server-sent event. The number comes after the data: there are clients that cut six characters off the front."""
    named = b"event: %b\n" % kind.encode() if kind else b""
    return b"%bdata: %b\n\n" % (named, data) if number is None else b"%bdata: %b\nid: %d\n\n" % (named, data, number)


async def replayed(history: GameHistory, encoder: Encoder, after: int) -> AsyncGenerator[tuple[int, bytes], None]:
    """Pieces of the events of a game after number `after`, and the number of the last event in each. The game may grow
    meanwhile; it ends when it has caught up."""
    pieces: list[bytes] = []
    size = 0
    for ply in history.plies(after):
        number = ply.number + 1
        pieces.append(event(number, encoder.ply(ply)))
        size += len(pieces[-1])
        if number % PLIES_AT_ONCE == 0:
            await asyncio.sleep(0)
        if size > PIECE_BYTES or number == len(history):
            piece = b"".join(pieces)
            size = 0
            pieces.clear()
            yield number, piece


async def recorded(history: GameHistory, encoder: Encoder, after: int = 0) -> AsyncGenerator[bytes, None]:
    """The events of a kept game."""
    async for _, piece in replayed(history, encoder, after):
        yield piece
    end = encoder.end(history)
    if end is not None:
        yield event(len(history), end, "end")


class _Watched:
    """Something that changes until it is over, and those who wait for the next change."""

    def __init__(self) -> None:
        self._over = False
        self._changed = asyncio.Event()

    def end(self) -> None:
        """There will be no more changes."""
        self._over = True
        self._wake()

    def _wake(self) -> None:
        self._changed.set()
        self._changed.clear()


class Feed(_Watched):
    """The plies of one running game for those who watch it."""

    def __init__(self, room: Room, encoder: Encoder) -> None:
        super().__init__()
        self._room = room
        self._history = room.history
        self._encoder = encoder
        self._events: deque[bytes] = deque()
        self._bytes = 0
        self.readers = 0

    def played(self) -> None:
        """A ply was played."""
        if not self.readers:
            self._events.clear()
            self._bytes = 0
            return
        new = event(len(self._history), self._encoder.newest(self._room))
        self._events.append(new)
        self._bytes += len(new)
        while self._bytes > KEPT_BYTES:
            self._bytes -= len(self._events.popleft())
        self._wake()

    def _has(self, after: int) -> bool:
        """Whether all events after this number are kept."""
        return after >= len(self._history) - len(self._events)

    def _take(self, after: int) -> tuple[int, bytes]:
        """The next events after this number, which must be kept, as much as goes into a piece."""
        kept = len(self._events)
        skip = after - (len(self._history) - kept)
        taken: list[bytes] = []
        size = 0
        while skip < kept and size < PIECE_BYTES:
            taken.append(self._events[skip])
            size += len(self._events[skip])
            skip += 1
        return after + len(taken), b"".join(taken)

    async def follow(self, after: int, pause: ReaderPause) -> AsyncGenerator[bytes, None]:
        """Pieces of events after this number, to the end of the game."""
        self.readers += 1
        try:
            after = max(0, min(after, len(self._history)))
            while True:
                if not self._has(after):
                    async for number, piece in replayed(self._history, self._encoder, after):
                        after = number
                        yield piece
                after, piece = self._take(after)
                if piece:
                    yield piece
                    await pause()
                elif self._over:
                    break
                elif not await _in_time(self._changed):
                    yield HEARTBEAT
        finally:
            self.readers -= 1
        end = self._encoder.end(self._history) if self._room.finished else None
        if end is not None:
            yield event(after, end, "end")


class Listing(_Watched):
    """The running games of the arena, newest first, for those who watch the list."""

    def __init__(self) -> None:
        super().__init__()
        self._rooms: list[Room] = []

    def add(self, room: Room) -> None:
        """A game that is to be shown."""
        self._rooms.insert(0, room)
        self._wake()

    def remove(self, room: Room) -> None:
        """A game that is over, if it was shown."""
        if room in self._rooms:
            self._rooms.remove(room)
            self._wake()

    def ids(self, user_id: str | None = None) -> list[str]:
        """The games' ids; with `user_id` only those in which this user plays."""
        return [room.id for room in self._rooms if user_id is None or user_id in _players_of(room)]

    async def follow(self, user_id: str | None, pause: ReaderPause) -> AsyncGenerator[bytes, None]:
        """The list as an event, at once and at each change. A reader who is slow gets the newest list, never old ones."""
        shown: list[str] | None = None
        while not self._over:
            ids = self.ids(user_id)
            if ids != shown:
                shown = ids
                yield event(None, encode_json(ids))
                await pause()
            elif not await _in_time(self._changed):
                yield HEARTBEAT


def _players_of(room: Room) -> Iterable[str | None]:
    return (seat.player.user_id for seat in room.seats)


async def _in_time(changed: asyncio.Event) -> bool:
    """Wait for a change; False if all was quiet for long."""
    try:
        async with asyncio.timeout(QUIET_SECONDS):
            return await changed.wait()
    except TimeoutError:
        return False


class ReaderPause:
    """How long a reader rests between two pieces: the longer the more readers there are."""

    def __init__(self) -> None:
        self.readers = 0

    async def __call__(self) -> None:
        await asyncio.sleep(min(LONGEST_PAUSE, self.readers * SECONDS_PER_READER))
