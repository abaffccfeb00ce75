"""The running games, in the form in which lists of games show them."""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import islice
from weakref import WeakKeyDictionary

from sim.game import SEATS
from vindibot.server.lobby import Lobby
from vindibot.server.room import Room
from vindibot.server.site.thumbnails import thumbnail

#: Number of running games that a list shows with their boards. Further games are rows of a table.
CARDS = 12
#: Largest number of running games in a list.
LISTED = 50
#: Seconds after which the picture of a game is drawn again. Until then all readers get the same picture.
FRESH_SECONDS = 0.4


@dataclass(frozen=True)
class RunningGame:
    """A running game as lists show it. The game is at turn `turn` of `last` turns. `heroes` has the format of `GameRow.heroes`.

    Only the first `CARDS` games of a list have gold and a picture of the `board` (SVG).
    """

    id: str
    turn: int
    last: int
    heroes: Sequence[tuple[int, str, str | None, int | None]]
    board: str = ""


class RunningGames:
    """Lists the games that run in a lobby. A board is drawn at most once per `FRESH_SECONDS`, for all readers together."""

    def __init__(self, lobby: Lobby) -> None:
        self._lobby = lobby
        self._cards: WeakKeyDictionary[Room, tuple[float, RunningGame]] = WeakKeyDictionary()

    def newest(self, user_id: str | None = None) -> list[RunningGame]:
        """Return the running games, newest first, at most `LISTED`. With `user_id`, return only games of this bot."""
        rooms = (room for room in reversed(self._lobby.rooms.values()) if not room.finished)
        found = (room for room in rooms if user_id is None or room.has_user(user_id))
        return self.of(islice(found, LISTED))

    def of(self, rooms: Iterable[Room]) -> list[RunningGame]:
        """Return the games in these rooms, in the given order."""
        return [self._card(room) if place < CARDS else _row(room) for place, room in enumerate(rooms)]

    def _card(self, room: Room) -> RunningGame:
        now = time.monotonic()
        drawn, card = self._cards.get(room, (0.0, None))
        if card is None or now - drawn >= FRESH_SECONDS:
            card = _row(room, gold=room.games["hero"]["gold"][0].tolist(), board=thumbnail(room.games))
            self._cards[room] = now, card
        return card


def _row(room: Room, gold: Sequence[int | None] = (None,) * SEATS, board: str = "") -> RunningGame:
    players = room.history.players
    return RunningGame(
        id=room.id,
        turn=room.turn,
        last=room.games["max_turns"].item(0),
        heroes=[(index + 1, player.name, player.user_id, gold[index]) for index, player in enumerate(players)],
        board=board,
    )
