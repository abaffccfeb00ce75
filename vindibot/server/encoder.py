"""How a game is told to spectators: each ply as an event's data, either the whole state as on the wire, or what the page of
the game shows of it (docs/viewer-format.md)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from sim.game import Games
from vindibot.games import Player, encode_json, from_games
from vindibot.server.room import Room
from vindibot.viewer import Scribe, ending_of, played, results


class Telling(Protocol):
    """How one game is told. It keeps nothing: readers may be anywhere in the game."""

    def ply(self, before: Games, order: int, after: Games, number: int) -> bytes:
        """Ply `number` (from 1): what `order` (0..4 or `sim.game.CRASH`) made of the state before it."""

    def newest(self, before: Games, room: Room) -> bytes:
        """The last ply of a room."""

    def end(self, games: Games) -> bytes | None:
        """What comes after the last ply of a game that is over; None for nothing."""


class WireTelling:
    """The states as players get them."""

    def __init__(self, game_id: str, players: Sequence[Player]) -> None:
        self._game_id, self._players = game_id, players

    def ply(self, before: Games, order: int, after: Games, number: int) -> bytes:
        """See `Telling`."""
        return encode_json(from_games(after, game_id=self._game_id, players=self._players))

    def newest(self, before: Games, room: Room) -> bytes:
        """See `Telling`. The room has made it for the players."""
        return room.state()[1]

    def end(self, games: Games) -> bytes | None:
        """See `Telling`: the last state says it."""
        return None


class PageTelling:
    """The patches that make the page of a game grow."""

    def __init__(self, first: Games) -> None:
        self._scribe = Scribe(first)

    def ply(self, before: Games, order: int, after: Games, number: int) -> bytes:
        """See `Telling`."""
        written = self._scribe.ply(before, played(before, order, after))
        return encode_json({"from": number - 1, "plies": [written]})

    def newest(self, before: Games, room: Room) -> bytes:
        """See `Telling`."""
        return self.ply(before, room.orders[-1], room.games, len(room.orders))

    def end(self, games: Games) -> bytes | None:
        """See `Telling`."""
        return encode_json({"ending": ending_of(games), "results": results(games)})
