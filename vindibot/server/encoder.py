"""How spectators are told of a game: each ply as an event's data, either the whole state as on the wire, or what the page of
the game shows of it (docs/viewer-format.md)."""

from __future__ import annotations

from typing import Protocol

from vindibot.games import GameHistory, Ply, encode_json, from_games
from vindibot.server.room import Room
from vindibot.viewer import StateWriter, ending_of, results


class Encoder(Protocol):
    """How one game is told. It keeps nothing: readers may be anywhere in the game."""

    def ply(self, ply: Ply) -> bytes:
        """One ply."""

    def newest(self, room: Room) -> bytes:
        """The last ply of a room."""

    def end(self, history: GameHistory) -> bytes | None:
        """What comes after the last ply of a game that is over; None for nothing."""


class WireEncoder:
    """The states as players get them."""

    def __init__(self, history: GameHistory) -> None:
        self._game_id, self._players = history.id, history.players

    def ply(self, ply: Ply) -> bytes:
        """See `Encoder`."""
        return encode_json(from_games(ply.after, game_id=self._game_id, players=self._players))

    def newest(self, room: Room) -> bytes:
        """See `Encoder`. The room has made it for the players."""
        return room.state()[1]

    def end(self, history: GameHistory) -> bytes | None:
        """See `Encoder`: the last state says it."""
        return None


class PageEncoder:
    """The patches that make the page of a game grow."""

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
        return encode_json({"ending": ending_of(history), "results": results(history.last)})
