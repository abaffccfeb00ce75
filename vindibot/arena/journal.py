"""The journal of a running game: the moves so far, the seat that is asked for a move, and the time since it is asked.

The journal is in shared memory. If the game's process dies or hangs, its parent reads the journal to find the seat at fault.
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
    """The journal of a game of at most `plies` plies. Processes that are forked later share it.

    One process may read it while another one writes it. So each field is a machine word, which is stored in one step. The time
    at which a seat is asked (monotonic seconds) is stored first, then the seat (`NOBODY` for none).
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
        """Note that hero `seat` (0..3) is asked while the block runs, and nobody afterwards."""
        self.asking(seat)
        try:
            yield
        finally:
            self._words[_SEAT] = NOBODY

    def played(self, move: int) -> None:
        """Add a move (0..4 or `sim.game.CRASH`), and note that nobody is asked."""
        self._words[_SEAT] = NOBODY
        self._memory[_MOVES + self._plies] = move
        self._plies += 1
        self._words[_PLIES] = self._plies

    def waiting_for(self) -> tuple[int, float]:
        """Return the seat that is asked (`NOBODY` for none), and for how many seconds it has been asked."""
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
