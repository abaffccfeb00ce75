"""Encoders: an encoder makes the data of the events that spectators get.

The data of an event is either a whole state, as players get it, or a patch (the changes of one ply) for the game's page
(docs/viewer-format.md).
"""

from __future__ import annotations

from typing import Protocol

from vindibot.games import GameHistory, Ply, encode_json, from_games
from vindibot.server.room import Room
from vindibot.viewer import StateWriter, result_of


class Encoder(Protocol):
    """Encodes the events of one game. `prelude` is the text that a stream sends before its first event. `numbered` says whether
    events have an id, the number of plies played.

    An encoder stores nothing about its readers, so all readers of a game can share it.
    """

    prelude: bytes
    numbered: bool

    def __init__(self, history: GameHistory) -> None: ...

    def ply(self, ply: Ply) -> bytes:
        """Return the data of the event for one ply."""

    def newest(self, room: Room) -> bytes:
        """Return the data of the event for the newest ply in a room."""

    def end(self, history: GameHistory) -> bytes | None:
        """Return the data of the event that ends a finished game, or None if there is no such event."""


class WireEncoder:
    """Encodes each ply as the whole state, as players get it."""

    prelude = b""
    numbered = True

    def __init__(self, history: GameHistory) -> None:
        self._game_id, self._players = history.id, history.players

    def ply(self, ply: Ply) -> bytes:
        """See `Encoder`."""
        return encode_json(from_games(ply.after, game_id=self._game_id, players=self._players))

    def newest(self, room: Room) -> bytes:
        """See `Encoder`. This method reuses the state that the room has encoded for the players."""
        return room.state()[1]

    def end(self, history: GameHistory) -> bytes | None:
        """Return None: the last state already says that the game is over."""
        return None


class PlainEncoder(WireEncoder):
    """Encodes like `WireEncoder`, without the ids of the events: some clients take each line that is not empty for a state."""

    numbered = False


class PageEncoder:
    """Encodes each ply as a patch (the changes of this ply) for the game's page."""

    #: Tells a browser to reconnect 1000 milliseconds after its connection breaks. A browser's own default is several seconds.
    prelude = b"retry: 1000\n\n"
    numbered = True

    def __init__(self, history: GameHistory) -> None:
        self._writer = StateWriter(history.first)

    def ply(self, ply: Ply) -> bytes:
        """See `Encoder`."""
        return encode_json({"from": ply.number, "plies": [self._writer.ply(ply)]})

    def newest(self, room: Room) -> bytes:
        """See `Encoder`."""
        return self.ply(room.history[-1])

    def end(self, history: GameHistory) -> bytes | None:
        """See `Encoder`."""
        return encode_json(result_of(history))
