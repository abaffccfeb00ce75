"""The deadline of a move: the server's limit less the network time, the safety margin, and the overruns of past turns.

`Deadline` computes it. `StopWord` sets the stop word of the traits in this process when it comes.
"""

from __future__ import annotations

import math
import threading
import time
from collections import deque
from dataclasses import dataclass, field

import numpy as np

#: Number of turns whose overruns count.
OVERRUN_WINDOW = 50
#: The largest overrun, times this factor, is added to the margin: the next overrun may be longer.
OVERRUN_FACTOR = 1.5
#: Largest share of the limit for the margin, and for the network time.
LARGEST_SHARE = 0.5
#: Seconds before the deadline at which the stop word is set, so that a trait can still publish its last votes.
STOP_AHEAD = 0.010
#: Shortest sleep of the thread that sets the stop word while no turn is timed, in seconds.
SHORTEST_PAUSE = 0.002
#: Number of sleeps without a turn after which that thread ends.
MAX_PAUSES = 10


@dataclass
class Deadline:
    """Computes the deadline of each turn. Times are in seconds, moments on the monotonic clock.

    `margin` is the configured safety margin. An overrun is the time from the deadline to the decision. The largest one of the
    last `OVERRUN_WINDOW` turns widens the margin.
    """

    margin: float = 0.0
    overruns: deque[float] = field(default_factory=lambda: deque(maxlen=OVERRUN_WINDOW))

    def reserve(self, limit: float) -> float:
        """Unused seconds of a turn of `limit` seconds, without the network time."""
        learned = OVERRUN_FACTOR * max(self.overruns, default=0.0)
        return max(min(self.margin + learned, LARGEST_SHARE * limit), 0.0)

    def moment(self, received_at: float, limit: float, network: float) -> float:
        """The moment at which the votes of the turn that was received at `received_at` must be summed."""
        return received_at + max(limit - min(network, LARGEST_SHARE * limit) - self.reserve(limit), 0.0)

    def decided(self, deadline: float, moment: float) -> None:
        """Record the overrun of a turn with this `deadline` that was decided at `moment`."""
        self.overruns.append(max(0.0, moment - deadline))


class StopWord:
    """The stop word of the traits in this process: `word`, an int64 array of one number that becomes 1 when time is up.

    One thread sets it in all turns. It ends after `MAX_PAUSES` sleeps without a turn.
    """

    # A turn notifies the thread only if it would wake too late: a notification takes longer than some bots need for a move.

    def __init__(self) -> None:
        self.word = np.zeros(1, np.int64)
        self._moment = math.inf
        self._pause = math.inf  # seconds of a sleep while no turn is timed
        self._wakes = math.inf
        self._idle = 0  # number of sleeps since the last turn
        self._changed = threading.Condition()
        self._thread: threading.Thread | None = None

    def clear(self) -> None:
        """Begin a turn without a time limit: the word is 0."""
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
        """End a turn: the word is 1, for traits that still run."""
        self._moment = math.inf
        self.word[0] = 1

    def close(self) -> None:
        """End the thread."""
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
