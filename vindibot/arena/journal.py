"""The journal of a running game, in memory that another process reads: the moves so far, the seat that is asked, and since when.

If the process of the game dies or hangs, its parent reads the journal to find the seat at fault.
"""

from __future__ import annotations

import contextlib
import mmap
import time
from collections.abc import Iterator

_SEAT, _SINCE, _PLIES = range(3)
_MOVES = 32
NOBODY = -1


class Journal:
    """The journal of a game of at most `plies` plies, shared with processes that are forked later.

    It is read while it is written. So each field is a machine word that is stored at once, and the seat that is asked
    (`NOBODY` for none) is stored after the time (monotonic seconds) since when.
    """

    def __init__(self, plies: int) -> None:
        self._memory = mmap.mmap(-1, _MOVES + plies + 4)
        self._view = memoryview(self._memory)
        self._words = self._view[:_MOVES].cast("q")
        self._times = self._view[:_MOVES].cast("d")
        self.clear()

    def clear(self) -> None:
        """Begin a new game."""
        self._words[_SEAT] = NOBODY
        self._times[_SINCE] = time.monotonic()
        self._words[_PLIES] = self._plies = 0

    def asking(self, seat: int) -> None:
        """Note that hero `seat` (0..3) is asked from now on."""
        self._times[_SINCE] = time.monotonic()
        self._words[_SEAT] = seat

    @contextlib.contextmanager
    def asked(self, seat: int) -> Iterator[None]:
        """Note hero `seat` as asked inside the block, and nobody afterwards."""
        self.asking(seat)
        try:
            yield
        finally:
            self._words[_SEAT] = NOBODY

    def played(self, move: int) -> None:
        """Add a move (0..4 or `sim.game.CRASH`), and note nobody as asked."""
        self._words[_SEAT] = NOBODY
        self._memory[_MOVES + self._plies] = move
        self._plies += 1
        self._words[_PLIES] = self._plies

    def waiting_for(self) -> tuple[int, float]:
        """Return the seat that is asked (`NOBODY` for none), and the number of seconds since then."""
        seat = self._words[_SEAT]
        return seat, time.monotonic() - self._times[_SINCE]

    def moves(self) -> list[int]:
        """Return the moves so far."""
        return list(self._memory[_MOVES : _MOVES + self._words[_PLIES]])

    def close(self) -> None:
        """Release the memory."""
        for view in (self._words, self._times, self._view):
            view.release()
        self._memory.close()
