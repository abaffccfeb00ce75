"""Split traits: each of several workers does a part of a trait's work. One worker votes from the statistics of all parts.

The worker that votes is the leader. It plays part 0. A worker without other work is a helper. It plays another part, and writes
its statistics to a memory that all workers of the pool share. The leader reads them there. So all votes of a split trait come
from one worker, as for any other trait.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from behaviours.base import MOST_DIMENSIONS, MOST_STATISTICS, SplitBehaviour, View, plain_statistics

#: When time is up, the leader waits at most this number of seconds for the last statistics of the helpers. This wait makes no
#: vote late: the leader has already published votes, and the pool still takes votes for `STOP_AHEAD` seconds.
LAST_WAIT = 0.003
#: Seconds between two checks of the statistics during this wait.
LAST_PAUSE = 0.0002

#: The states of a slot: never used, statistics published, final statistics published.
_EMPTY, _PUBLISHED, _FINAL = range(3)


class PartsLayout(NamedTuple):
    """The layout of `Parts`: the indices of the split traits, and the number of workers in the pool."""

    traits: tuple[int, ...]
    workers: int

    @property
    def size(self) -> int:
        """The size of the shared memory in bytes. It is 0 if there is no split trait or only one worker."""
        return len(self.traits) * self.workers * _SLOT if self.workers > 1 else 0


class HelperPart(NamedTuple):
    """The latest statistics of a helper on its part. `final` says that no further statistics of this part follow."""

    statistics: NDArray[np.float64]
    final: bool


class Parts:
    """The shared memory with the statistics of helpers. It has a slot for each pair of a worker (0, 1, ...) and a split trait.

    A slot has the latest statistics of its worker. Only this worker writes the slot. The layout is the same as for a slot of
    `vindibot.engine.worker.WorkerMemory`: a head of one word (request number, count of writes, state), and two bodies that are
    written alternately. The reader compares the head before and after it copies a body, so it never takes half-written
    statistics. The statistics stay when their worker dies.
    """

    def __init__(self, memory: Any, layout: PartsLayout) -> None:
        self._layout = layout
        self._words = np.frombuffer(memory, np.uint64, layout.size // 8)
        self._numbers = self._words.view(np.float64)

    def put(self, number: int, worker: int, trait: int, statistics: NDArray[np.float64]) -> None:
        """Publish the statistics of a worker for request `number`. `statistics` is an array from `plain_statistics`."""
        slot = self._slot(worker, trait)
        writes = (int(self._words[slot]) >> 16) + 1 & 0xFFFF
        body = slot + 1 + (writes & 1) * _BODY
        shape = [statistics.ndim, *statistics.shape]
        self._words[body : body + len(shape)] = shape
        start = body + 1 + MOST_DIMENSIONS
        self._numbers[start : start + statistics.size] = statistics.ravel()
        self._words[slot] = number << 32 | writes << 16 | _PUBLISHED

    def finish(self, number: int, worker: int, trait: int) -> None:
        """Mark the statistics of a worker for request `number` as final. Do nothing if there are none."""
        slot = self._slot(worker, trait)
        head = int(self._words[slot])
        if head >> 32 == number and head & 0xFFFF == _PUBLISHED:
            self._words[slot] = head - _PUBLISHED + _FINAL

    def get(self, number: int, trait: int) -> list[HelperPart]:
        """Return the latest statistics of all helpers of a trait for request `number`, in the order of the workers."""
        parts = (self._read(number, self._slot(worker, trait)) for worker in range(self._layout.workers))
        return [part for part in parts if part is not None]

    def _read(self, number: int, slot: int) -> HelperPart | None:
        for _ in range(3):
            head = int(self._words[slot])
            if head >> 32 != number or head & 0xFFFF == _EMPTY:
                return None
            body = slot + 1 + (head >> 16 & 1) * _BODY
            dimensions, *lengths = self._words[body : body + 1 + MOST_DIMENSIONS].tolist()
            shape = lengths[: min(dimensions, MOST_DIMENSIONS)]
            size = 1
            for length in shape:
                size *= length
            if size <= MOST_STATISTICS:  # otherwise the worker writes at this moment, or a trait has overwritten the memory
                start = body + 1 + MOST_DIMENSIONS
                statistics = self._numbers[start : start + size].reshape(shape).copy()
                if int(self._words[slot]) == head:
                    return HelperPart(statistics, head & 0xFFFF == _FINAL)
        return None

    def _slot(self, worker: int, trait: int) -> int:
        """Return the index of the first word of a slot."""
        return (self._layout.traits.index(trait) * self._layout.workers + worker) * (_SLOT // 8)


#: The length of a body in words: the number of dimensions, the shape, the numbers. The size of a slot in bytes.
_BODY = 1 + MOST_DIMENSIONS + MOST_STATISTICS
_SLOT = 8 * (1 + 2 * _BODY)


def part_of(worker: int) -> int:
    """Return the number of the part that a worker (0, 1, ...) plays as a helper. Part 0 is the leader's."""
    return worker + 1


def lead(behaviour: SplitBehaviour, view: View, helpers: Callable[[], Sequence[HelperPart]]) -> Iterator[Any]:
    """Play part 0 of a split trait, and yield the votes from all parts each time that part 0 yields.

    `helpers` is a function that returns the latest statistics of the helpers. When time is up, it is called until all statistics
    are final, for at most `LAST_WAIT` seconds. Without helpers, the answers are the same as from ``behaviour.vote(view)``.
    """
    own = None
    for statistics in behaviour.statistics(view, 0):
        own = plain_statistics(statistics)
        parts = _last(helpers) if view.budget.expired() else helpers()
        yield behaviour.combine(view, [own, *(part.statistics for part in parts)])
    if own is not None and (parts := helpers()):
        yield behaviour.combine(view, [own, *(part.statistics for part in parts)])


def _last(helpers: Callable[[], Sequence[HelperPart]]) -> Sequence[HelperPart]:
    """Return the statistics of the helpers when all of them are final, or after `LAST_WAIT` seconds."""
    limit = time.monotonic() + LAST_WAIT
    parts = helpers()
    while not all(part.final for part in parts) and time.monotonic() < limit:
        time.sleep(LAST_PAUSE)
        parts = helpers()
    return parts


def play_part(behaviour: SplitBehaviour, view: View, part: int, publish: Callable[[NDArray[np.float64]], None]) -> Iterator[None]:
    """Play a part of a split trait as a helper. For each array of statistics, call `publish` with it and yield None."""
    for statistics in behaviour.statistics(view, part):
        publish(plain_statistics(statistics))
        yield None
