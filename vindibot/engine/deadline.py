"""When a move must be on its way: the server's limit less the network, the safety margin, and what past turns taught."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field

#: Turns whose overruns are remembered.
MEMORY = 50
#: What an overrun adds to the margin, as a multiple of itself: the next one may be longer.
CAUTION = 1.5
#: The margin never takes more than this share of the limit.
LARGEST_SHARE = 0.5


@dataclass
class Timekeeper:
    """Sets the deadline of each turn. Times are seconds, moments are those of the monotonic clock.

    `margin` is the configured safety margin. An overrun is how long after its deadline a turn was decided, which is what a
    busy machine does to us; the largest of the last turns widens the margin until it is forgotten.
    """

    margin: float
    overruns: deque[float] = field(default_factory=lambda: deque(maxlen=MEMORY))

    def reserve(self, limit: float) -> float:
        """Seconds of a turn of `limit` seconds that are kept back at present, the network's share not included."""
        learned = CAUTION * max(self.overruns, default=0.0)
        return max(min(self.margin + learned, LARGEST_SHARE * limit), 0.0)

    def deadline(self, received_at: float, limit: float, network: float) -> float:
        """When the votes of the turn that was received at `received_at` must be summed."""
        return received_at + max(limit - min(network, LARGEST_SHARE * limit) - self.reserve(limit), 0.0)

    def decided(self, deadline: float, moment: float) -> None:
        """A turn with this `deadline` was decided at `moment`."""
        self.overruns.append(max(0.0, moment - deadline))
