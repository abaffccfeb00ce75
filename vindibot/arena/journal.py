"""The journal of a running game: the moves so far, the seat that must move now, and the time at which its turn began.

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

    One process may read the journal while another process writes it. So each field is a machine word, which is stored in one
    step. The time at which a seat's turn begins (monotonic seconds) is stored first, then the seat (`NOBODY` for none).
    """

    def __init__(self, plies: int) -> None:
        self._memory = mmap.mmap(-1, _MOVES + plies + 4)
        self._view = memoryview(self._memory)
        self._words = self._view[:_MOVES].cast("q")
        self._times = self._view[:_MOVES].cast("d")
        self.clear()

    def clear(self) -> None:
        """Remove all moves, and note that it is nobody's turn. Call this before a new game."""
        self._words[_SEAT] = NOBODY
        self._times[_SINCE] = time.monotonic()
        self._words[_PLIES] = self._plies = 0

    def asking(self, seat: int) -> None:
        """Note that the turn of hero `seat` (0..3) begins now."""
        self._times[_SINCE] = time.monotonic()
        self._words[_SEAT] = seat

    @contextlib.contextmanager
    def asked(self, seat: int) -> Iterator[None]:
        """Note that it is the turn of hero `seat` (0..3) within the ``with`` block, and nobody's turn after it."""
        self.asking(seat)
        try:
            yield
        finally:
            self._words[_SEAT] = NOBODY

    def played(self, move: int) -> None:
        """Add a move (0..4 or `sim.game.CRASH`), and note that it is nobody's turn."""
        self._words[_SEAT] = NOBODY
        self._memory[_MOVES + self._plies] = move
        self._plies += 1
        self._words[_PLIES] = self._plies

    def waiting_for(self) -> tuple[int, float]:
        """Return the seat whose turn it is (`NOBODY` for none), and the seconds since its turn began."""
        seat = self._words[_SEAT]
        return seat, time.monotonic() - self._times[_SINCE]

    def moves(self) -> list[int]:
        """Return the moves so far (0..4 or `sim.game.CRASH`), one per ply."""
        return list(self._memory[_MOVES : _MOVES + self._words[_PLIES]])

    def close(self) -> None:
        """Release the memory."""
        for view in (self._words, self._times, self._view):
            view.release()
        self._memory.close()
