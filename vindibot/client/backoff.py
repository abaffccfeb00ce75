"""Time limits of repeated attempts, and the pauses between them."""

from __future__ import annotations

import random
import time
from collections.abc import Awaitable, Callable

#: Waits a number of seconds. Tests replace it.
Pause = Callable[[float], Awaitable[None]]


class TimeBudget:
    """A limited number of seconds, None for no limit. Time that passes counts, and a pause counts with its full length."""

    def __init__(self, seconds: float | None) -> None:
        self._seconds = seconds
        self._since = time.monotonic()
        self._skipped = 0.0

    @property
    def spent(self) -> float:
        """Seconds used so far."""
        return time.monotonic() - self._since + self._skipped

    @property
    def left(self) -> float | None:
        """Remaining seconds, at least 0; None for no limit."""
        return None if self._seconds is None else max(0.0, self._seconds - self.spent)

    @property
    def exhausted(self) -> bool:
        """Whether no time is left."""
        left = self.left
        return left is not None and left < 0.001

    async def pause(self, seconds: float, pause: Pause) -> None:
        """Wait by `pause`, and count `seconds` as spent."""
        before = time.monotonic()
        await pause(seconds)
        self._skipped += max(0.0, seconds - (time.monotonic() - before))


class Backoff:
    """Pauses that double from `first` to `last` seconds.

    Each is shortened by up to half at random, but not below `first`, so that many clients do not come back at the same moment.
    """

    def __init__(self, first: float, last: float, rng: random.Random) -> None:
        self._first = first
        self._last = last
        self._rng = rng
        self._next = first

    def next(self) -> float:
        """Return the next pause in seconds."""
        length, self._next = self._next, min(self._last, 2 * self._next)
        return max(self._first, length * self._rng.uniform(0.5, 1.0))

    def reset(self) -> None:
        """Start again with the shortest pause."""
        self._next = self._first
