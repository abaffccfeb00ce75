"""Encoders: the data of a spectator's events, either whole states as on the wire, or patches for the page of the game
(docs/viewer-format.md)."""

from __future__ import annotations

from typing import Protocol

from vindibot.games import GameHistory, Ply, encode_json, from_games
from vindibot.server.room import Room
from vindibot.viewer import StateWriter, result_of


class Encoder(Protocol):
    """Encodes the events of one game. Has no state: readers may be anywhere in the game. A stream begins with `prelude`."""

    prelude: bytes

    def __init__(self, history: GameHistory) -> None: ...

    def ply(self, ply: Ply) -> bytes:
        """Return the event of one ply."""

    def newest(self, room: Room) -> bytes:
        """Return the event of the last ply of a room."""

    def end(self, history: GameHistory) -> bytes | None:
        """Return the last event of a game that is over, None for none."""


class WireEncoder:
    """Encodes states as players get them."""

    prelude = b""

    def __init__(self, history: GameHistory) -> None:
        self._game_id, self._players = history.id, history.players

    def ply(self, ply: Ply) -> bytes:
        """See `Encoder`."""
        return encode_json(from_games(ply.after, game_id=self._game_id, players=self._players))

    def newest(self, room: Room) -> bytes:
        """See `Encoder`. The room has encoded this state for the players."""
        return room.state()[1]

    def end(self, history: GameHistory) -> bytes | None:
        """See `Encoder`: the last state has the end."""
        return None


class PageEncoder:
    """Encodes patches for the page of a game."""

    #: A browser whose connection breaks asks again after this number of milliseconds; its own default is seconds.
    prelude = b"retry: 1000\n\n"

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
