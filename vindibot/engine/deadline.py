"""The deadline of a move: the server's time limit less the network time and a safety margin. Late decisions widen the margin.

`Deadline` computes the deadline. `StopWord` and `stopping` set the stop word, a number that tells the traits in this process to
stop.
"""

from __future__ import annotations

import math
import threading
import time
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

import numpy as np

from behaviours.base import View

#: Number of past turns whose overruns count. An overrun is the time from the deadline of a turn to the decision.
OVERRUN_WINDOW = 50
#: The margin grows by the largest overrun times this factor, since the next overrun may be longer.
OVERRUN_FACTOR = 1.5
#: Largest share of the time limit that is reserved for the margin with overruns. The network gets at most the same share.
LARGEST_SHARE = 0.5
#: The stop word is set this number of seconds before the deadline, so that a trait can still publish its last votes.
STOP_AHEAD = 0.010
#: While no turn has a deadline, the thread that sets the stop word sleeps at least this number of seconds at a time.
SHORTEST_PAUSE = 0.002
#: The thread that sets the stop word ends after this number of sleeps without a turn.
MAX_PAUSES = 10


@dataclass
class Deadline:
    """Computes the deadline of each turn. Durations are in seconds. Points in time are values of `time.monotonic`.

    `margin` is the configured safety margin. An overrun is the time from the deadline to the decision. The largest overrun of
    the last `OVERRUN_WINDOW` turns widens the margin.
    """

    margin: float = 0.0
    overruns: deque[float] = field(default_factory=lambda: deque(maxlen=OVERRUN_WINDOW))

    def reserve(self, limit: float) -> float:
        """Return the safety margin of a turn in seconds. Late decisions of past turns widen it.

        `limit` is the time limit of the turn in seconds.
        """
        learned = OVERRUN_FACTOR * max(self.overruns, default=0.0)
        return max(min(self.margin + learned, LARGEST_SHARE * limit), 0.0)

    def moment(self, received_at: float, limit: float, network: float) -> float:
        """Return the deadline of a turn: the moment (of `time.monotonic`) at which its votes must be summed.

        `received_at` is the moment at which the turn was received. `limit` is the server's time limit in seconds. `network` is
        the time in seconds that the network takes.
        """
        return received_at + max(limit - min(network, LARGEST_SHARE * limit) - self.reserve(limit), 0.0)

    def decided(self, deadline: float, moment: float) -> None:
        """Record when a turn was decided. `deadline` and `moment` (the time of the decision) are values of `time.monotonic`."""
        self.overruns.append(max(0.0, moment - deadline))


class StopWord:
    """The stop word: a number that tells the traits in this process to stop. It is 0, and becomes 1 when time is up.

    `word` is an int64 array with this number. The same thread sets it to 1 on every turn. This thread ends when no turn has come
    for some time.
    """

    # A turn notifies the thread only if the thread would wake too late. A notification takes longer than the move of a fast bot.

    def __init__(self) -> None:
        self.word = np.zeros(1, np.int64)
        self._moment = math.inf
        self._pause = math.inf  # seconds of a sleep while no turn has a deadline
        self._wakes = math.inf
        self._idle = 0  # number of sleeps since the last turn
        self._changed = threading.Condition()
        self._thread: threading.Thread | None = None

    def clear(self) -> None:
        """Begin a turn without a time limit: set the word to 0."""
        with self._changed:
            self._moment = math.inf
            self.word[0] = 0

    def set_at(self, moment: float) -> None:
        """Begin a turn with a time limit: set the word to 0 now, and to 1 at `moment` (of `time.monotonic`)."""
        with self._changed:
            self.word[0] = 0
            self._moment, self._pause, self._idle = moment, max(SHORTEST_PAUSE, moment - time.monotonic()), 0
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, name="vindibot-deadline", daemon=True)
                self._thread.start()
            elif moment < self._wakes:
                self._changed.notify()

    def rest(self) -> None:
        """End a turn. The word keeps its value until the next turn begins."""
        self._moment = math.inf

    def set(self) -> None:
        """End a turn. Set the word to 1, so that traits that still run stop."""
        self._moment = math.inf
        self.word[0] = 1

    def close(self) -> None:
        """End the thread that sets the word."""
        with self._changed:
            self._idle = MAX_PAUSES
            self._changed.notify()

    def _run(self) -> None:
        with self._changed:
            while self._idle < MAX_PAUSES:
                now = time.monotonic()
                if self._moment <= now:
                    self._moment = math.inf
                    self.word[0] = 1
                if self._moment == math.inf:
                    self._idle += 1
                self._wakes = min(self._moment, now + self._pause)
                self._changed.wait(self._wakes - now)
            self._thread = None


@contextmanager
def stopping(view: View, seconds: float | None) -> Iterator[None]:
    """Set the stop word of a view's budget `seconds` seconds after the block begins (None: never), unless the block has ended."""
    timer = threading.Timer(seconds or 0.0, view.budget.stop.__setitem__, (0, 1))
    timer.daemon = True
    if seconds is not None:
        timer.start()
    try:
        yield
    finally:
        timer.cancel()
