"""Encoders: an encoder makes the data of the events that spectators get.

The data of an event is either a whole state, as players get it, or a patch (the changes of one ply) for the game's page
(docs/viewer-format.md).
"""

from __future__ import annotations

from abc import ABC, abstractmethod

from vindibot.games.history import GameHistory, Ply
from vindibot.games.protocol import encode_json, from_games
from vindibot.server.room import Room
from vindibot.viewer.bundle import StateWriter, result_of


class Encoder(ABC):
    """Encodes the events of one game. `prelude` is the text that a stream sends before its first event. `numbered` says whether
    events have an id, the number of plies played.

    An encoder stores nothing about its readers, so all readers of a game can share it.
    """

    prelude = b""
    numbered = True

    def __init__(self, history: GameHistory) -> None:
        self._history = history

    @abstractmethod
    def ply(self, ply: Ply) -> bytes:
        """Return the data of the event for one ply."""

    def newest(self, room: Room) -> bytes:
        """Return the data of the event for the newest ply in a room."""
        return self.ply(room.history[-1])

    def end(self) -> bytes | None:
        """Return the data of the event that ends a finished game, or None if there is no such event."""
        return None


class WireEncoder(Encoder):
    """Encodes each ply as the whole state, as players get it. The last state already says that the game is over."""

    def ply(self, ply: Ply) -> bytes:
        """See `Encoder`."""
        return encode_json(from_games(ply.after, game_id=self._history.id, players=self._history.players))

    def newest(self, room: Room) -> bytes:
        """See `Encoder`. This method reuses the state that the room has encoded for the players."""
        return room.state()[1]


class PlainEncoder(WireEncoder):
    """Encodes like `WireEncoder`, without the ids of the events: some clients take each line that is not empty for a state."""

    numbered = False


class PageEncoder(Encoder):
    """Encodes each ply as a patch (the changes of this ply) for the game's page."""

    #: Tells a browser to reconnect 1000 milliseconds after its connection breaks. A browser's own default is several seconds.
    prelude = b"retry: 1000\n\n"

    def __init__(self, history: GameHistory) -> None:
        super().__init__(history)
        self._writer = StateWriter(history.first)

    def ply(self, ply: Ply) -> bytes:
        """See `Encoder`."""
        return encode_json({"from": ply.number, "plies": [self._writer.ply(ply)]})

    def end(self) -> bytes | None:
        """See `Encoder`."""
        return encode_json(result_of(self._history))
