"""Seats: a seat decides the moves of one hero in one game. It plays a bot with traits (`bots`) or a program (`stdio`).

Use a seat in one thread: call `start`, then `move` for each ply of its hero, then `close`. If the seat raises `Forfeit`, the
bot's part in the game ends: do not call `move` again. Its hero crashes, as if the bot had not answered a server in time.
"""

from __future__ import annotations

from math import inf
from typing import NamedTuple

from behaviours.notes import Note
from sim.game import Games
from vindibot.games.outcome import Outcome, Reason


class Forfeit(Exception):  # noqa: N818 - the word of the field
    """The end of a bot's part in a game. `outcome` has the reason and a message."""

    def __init__(self, reason: Reason, message: str = "") -> None:
        message = message.encode(errors="replace").decode()  # a trait may raise an error whose text no file can store
        super().__init__(reason, message)
        self.outcome = Outcome(reason, message)


class TurnNotes(NamedTuple):
    """What a bot said on a turn: the protocol's turn, the source (`vindibot.games.notes.GameNote`) and the notes."""

    turn: int
    source: str
    notes: tuple[Note, ...]


class Seat:
    """Decides the moves of one hero. A seat should not wait after `deadline`, a monotonic time in seconds: the game ends then.

    `surplus` is the first output of a program that belongs to no turn.
    """

    deadline = inf
    surplus = ""

    def __init__(self) -> None:
        self._notes: list[TurnNotes] = []

    def start(self, games: Games, me: int) -> None:
        """Prepare for hero `me` (0..3) before the first ply. `games` is an array with one game.

        Raises `Forfeit` if the bot cannot be started.
        """

    def move(self, games: Games) -> int:
        """Return the move (0..4) for the state `games`. The state is not changed.

        Raises `Forfeit` if the bot gives no valid move in time.
        """
        raise NotImplementedError

    def close(self) -> None:
        """Release all resources of the seat. Call this after the game or after a forfeit."""

    def take_notes(self) -> list[TurnNotes]:
        """Return what the bot has said since the last call of this method. Call it after each move and after `close`."""
        notes, self._notes = self._notes, []
        return notes
