"""How long to go on trying, and how long to pause in between."""

from __future__ import annotations

import random
import time
from collections.abc import Awaitable, Callable

#: Waits that many seconds; tests put something in its place that does not.
Pause = Callable[[float], Awaitable[None]]


class TimeBudget:
    """A stock of seconds, None for an endless one. Time that passes uses it up, and so does a pause, by its stated length
    even where it was cut short. Wall clocks do not matter."""

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
        """Seconds still there, at least 0; None for endless."""
        return None if self._seconds is None else max(0.0, self._seconds - self.spent)

    @property
    def exhausted(self) -> bool:
        """Whether nothing is left."""
        left = self.left
        return left is not None and left < 0.001

    async def pause(self, seconds: float, pause: Pause) -> None:
        """Wait by `pause`, and count `seconds` as spent."""
        before = time.monotonic()
        await pause(seconds)
        self._skipped += max(0.0, seconds - (time.monotonic() - before))


class Backoff:
    """Pauses that double from `first` to `last` seconds, each shortened by up to half at random (but never below `first`),
    so that many clients do not come back at the same moment."""

    def __init__(self, first: float, last: float, rng: random.Random) -> None:
        self._first = first
        self._last = last
        self._rng = rng
        self._next = first

    def next(self) -> float:
        """The next pause in seconds."""
        length, self._next = self._next, min(self._last, 2 * self._next)
        return max(self._first, length * self._rng.uniform(0.5, 1.0))

    def reset(self) -> None:
        """Begin again with the shortest."""
        self._next = self._first
