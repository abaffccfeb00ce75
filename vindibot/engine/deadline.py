"""When a move must be on its way: the server's limit less the network, the safety margin, and what past turns taught.

`Deadline` says when that is, `StopWord` tells the traits in this process that it has come.
"""

from __future__ import annotations

import math
import threading
import time
from collections import deque
from dataclasses import dataclass, field

import numpy as np

#: Turns whose overruns are remembered.
MEMORY = 50
#: What an overrun adds to the margin, as a multiple of itself: the next one may be longer.
CAUTION = 1.5
#: The margin never takes more than this share of the limit.
LARGEST_SHARE = 0.5
#: Seconds before the deadline at which the stop word is set, so that what looks at it can still have a last word.
STOP_AHEAD = 0.010
#: The thread that sets the stop word never sleeps for less than this, in seconds, while no turn is timed.
SHORTEST_PAUSE = 0.002
#: Pauses without a turn after which that thread ends.
MOST_PAUSES = 10


@dataclass
class Deadline:
    """Sets the deadline of each turn. Times are seconds, moments are those of the monotonic clock.

    `margin` is the configured safety margin. An overrun is how long after its deadline a turn was decided, which is what a
    busy machine does to us; the largest of the last turns widens the margin until it is forgotten.
    """

    margin: float = 0.0
    overruns: deque[float] = field(default_factory=lambda: deque(maxlen=MEMORY))

    def reserve(self, limit: float) -> float:
        """Seconds of a turn of `limit` seconds that are kept back at present, the network's share not included."""
        learned = CAUTION * max(self.overruns, default=0.0)
        return max(min(self.margin + learned, LARGEST_SHARE * limit), 0.0)

    def moment(self, received_at: float, limit: float, network: float) -> float:
        """When the votes of the turn that was received at `received_at` must be summed."""
        return received_at + max(limit - min(network, LARGEST_SHARE * limit) - self.reserve(limit), 0.0)

    def decided(self, deadline: float, moment: float) -> None:
        """Learn from a turn with this `deadline` that was decided at `moment`."""
        self.overruns.append(max(0.0, moment - deadline))


class StopWord:
    """The stop word of the traits in this process: `word`, an int64 array of one number that becomes 1 when time is up.

    One thread sets it, turn after turn, and ends when there have been no turns for a while.
    """

    # The thread is told of a turn only if it would wake too late for it: waking a thread takes longer than some bots think.

    def __init__(self) -> None:
        self.word = np.zeros(1, np.int64)
        self._moment = math.inf
        self._pause = math.inf  # seconds that the thread sleeps while no turn is timed
        self._wakes = math.inf
        self._idle = 0  # pauses since the last turn
        self._changed = threading.Condition()
        self._thread: threading.Thread | None = None

    def clear(self) -> None:
        """Begin a turn that is not timed: the word is 0."""
        with self._changed:
            self._moment = math.inf
            self.word[0] = 0

    def set_at(self, moment: float) -> None:
        """Begin a turn: the word is 0 now, and becomes 1 at `moment` (of `time.monotonic`)."""
        with self._changed:
            self.word[0] = 0
            self._moment, self._pause, self._idle = moment, max(SHORTEST_PAUSE, moment - time.monotonic()), 0
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, name="vindibot-deadline", daemon=True)
                self._thread.start()
            elif moment < self._wakes:
                self._changed.notify()

    def rest(self) -> None:
        """End a turn: the word stays as it is."""
        self._moment = math.inf

    def set(self) -> None:
        """End a turn: the word is 1 from now on, for whatever is still at work."""
        self._moment = math.inf
        self.word[0] = 1

    def close(self) -> None:
        """End the thread."""
        with self._changed:
            self._idle = MOST_PAUSES
            self._changed.notify()

    def _run(self) -> None:
        with self._changed:
            while self._idle < MOST_PAUSES:
                now = time.monotonic()
                if self._moment <= now:
                    self._moment = math.inf
                    self.word[0] = 1
                if self._moment == math.inf:
                    self._idle += 1
                self._wakes = min(self._moment, now + self._pause)
                self._changed.wait(self._wakes - now)
            self._thread = None
