"""The diary of a running game, in memory that whoever watches over the game can read while it is played: the orders so far,
whose answer is being waited for, and since when. When the game's process dies or hangs, this is what is left of it."""

from __future__ import annotations

import mmap
import struct
import time

_HEAD = struct.Struct("<idq")  # whose answer is waited for (-1: nobody's), since when (monotonic seconds), plies
_ORDERS = 32
NOBODY = -1


class Diary:
    """Room for the orders of a game of so many plies; shared with processes that are forked later."""

    def __init__(self, plies: int) -> None:
        self._memory = mmap.mmap(-1, _ORDERS + plies + 4)
        self.clear()

    def clear(self) -> None:
        """A new game."""
        _HEAD.pack_into(self._memory, 0, NOBODY, time.monotonic(), 0)
        self._plies = 0

    def asking(self, seat: int) -> None:
        """Hero `seat` (0..3) is asked, from now on."""
        _HEAD.pack_into(self._memory, 0, seat, time.monotonic(), self._plies)

    def played(self, code: int) -> None:
        """An order (0..4, 99 for a crash) was played."""
        self._memory[_ORDERS + self._plies] = code
        self._plies += 1
        _HEAD.pack_into(self._memory, 0, NOBODY, time.monotonic(), self._plies)

    def waiting_for(self) -> tuple[int, float]:
        """Whose answer is being waited for (`NOBODY` for nobody's), and for how many seconds."""
        seat, since, _ = _HEAD.unpack_from(self._memory)
        return seat, time.monotonic() - since

    def orders(self) -> list[int]:
        """The orders so far."""
        _, _, plies = _HEAD.unpack_from(self._memory)
        return list(self._memory[_ORDERS : _ORDERS + plies])

    def close(self) -> None:
        """Give the memory back."""
        self._memory.close()
