"""Time limits for a series of attempts, and the pauses between the attempts."""

from __future__ import annotations

import random
import time
from collections.abc import Awaitable, Callable

#: A function that waits for a number of seconds. Tests replace it.
Pause = Callable[[float], Awaitable[None]]


class TimeBudget:
    """A time limit of `seconds` seconds from now on, None for no limit.

    All time that passes counts as spent. A `pause` counts with its full length, even if a test replaces it with a shorter one.
    """

    def __init__(self, seconds: float | None) -> None:
        self._seconds = seconds
        self._since = time.monotonic()
        self._skipped = 0.0

    @property
    def spent(self) -> float:
        """The seconds that have passed so far."""
        return time.monotonic() - self._since + self._skipped

    @property
    def left(self) -> float | None:
        """The remaining seconds, at least 0. None for no limit."""
        return None if self._seconds is None else max(0.0, self._seconds - self.spent)

    @property
    def exhausted(self) -> bool:
        """Whether no time is left."""
        left = self.left
        return left is not None and left < 0.001

    async def pause(self, seconds: float, pause: Pause) -> None:
        """Wait for `seconds` seconds with the function `pause`, and count them as spent."""
        before = time.monotonic()
        await pause(seconds)
        self._skipped += max(0.0, seconds - (time.monotonic() - before))


class Backoff:
    """Pauses whose length doubles from `first` to `last` seconds.

    Each pause is shortened by a random part, at most half of its length, but never below `first`. So clients that fail at the
    same moment do not all come back at the same moment.
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
