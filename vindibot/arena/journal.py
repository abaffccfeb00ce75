"""The diary of a running game, in memory that whoever watches over the game can read while it is played: the orders so far,
whose answer is being waited for, and since when. When the game's process dies or hangs, this is what is left of it."""

from __future__ import annotations

import contextlib
import mmap
import time
from collections.abc import Iterator

_SEAT, _SINCE, _PLIES = range(3)
_MOVES = 32
NOBODY = -1


class Journal:
    """Room for the orders of a game of so many plies; shared with processes that are forked later.

    It is read while it is written, so every field is a machine word that is stored at once, and whose answer is waited for
    (-1: nobody's) is stored after the time (monotonic seconds) since when.
    """

    def __init__(self, plies: int) -> None:
        self._memory = mmap.mmap(-1, _MOVES + plies + 4)
        self._view = memoryview(self._memory)
        self._words = self._view[:_MOVES].cast("q")
        self._times = self._view[:_MOVES].cast("d")
        self.clear()

    def clear(self) -> None:
        """A new game."""
        self._words[_SEAT] = NOBODY
        self._times[_SINCE] = time.monotonic()
        self._words[_PLIES] = self._plies = 0

    def asking(self, seat: int) -> None:
        """Hero `seat` (0..3) is asked, from now on."""
        self._times[_SINCE] = time.monotonic()
        self._words[_SEAT] = seat

    @contextlib.contextmanager
    def asked(self, seat: int) -> Iterator[None]:
        """Hero `seat` is asked inside, and nobody afterwards."""
        self.asking(seat)
        try:
            yield
        finally:
            self._words[_SEAT] = NOBODY

    def played(self, code: int) -> None:
        """An order (0..4 or `sim.game.CRASH`) was played."""
        self._words[_SEAT] = NOBODY
        self._memory[_MOVES + self._plies] = code
        self._plies += 1
        self._words[_PLIES] = self._plies

    def waiting_for(self) -> tuple[int, float]:
        """Whose answer is being waited for (`NOBODY` for nobody's), and for how many seconds."""
        seat = self._words[_SEAT]
        return seat, time.monotonic() - self._times[_SINCE]

    def moves(self) -> list[int]:
        """The orders so far."""
        return list(self._memory[_MOVES : _MOVES + self._words[_PLIES]])

    def close(self) -> None:
        """Give the memory back."""
        for view in (self._words, self._times, self._view):
            view.release()
        self._memory.close()
