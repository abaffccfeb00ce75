"""The shape of a map: choke points and dead ends.

Both are properties of the graph of air squares; heroes do not matter, and mines and taverns are as good as walls::

    .  .  .  ## .  .  ##        .  .  .  ## 4  5  ##
    .  .  *  *  *  *  .         .  .  .  1  2  3  4          * a choke point
    .  .  .  ## .  .  ##        .  .  .  ## 4  5  ##         1 and more: the depth of a dead end

A **choke point** is a square of air without which its component (the squares that can be walked to from it) falls apart.
Each piece is a branch of it. A **dead end** is a branch with less than half of the squares of its component and without
a tavern beside any of them: who goes in can only come out where he went in, and cannot drink inside. The choke point is
its mouth and does not belong to it. Where one dead end is within another, the outer one counts.
"""

from __future__ import annotations

import numpy as np
from numba import types
from numpy.typing import NDArray

from sim.game import AIR, CELLS, OFFSET, STRIDE, TAVERN, TILE_BITS
from sim.kernel_types import int64, tuple_of
from sim.kernels import entry, kernel

_BYTES = types.Array(types.uint8, 1, "C")
_DEEPEST = 255


@kernel
def _is_air(cells: NDArray[np.uint8], square: int) -> bool:
    return (int64(cells[square]) & TILE_BITS) == AIR


@kernel
def _has_tavern(cells: NDArray[np.uint8], square: int) -> int:
    for direction in range(1, 5):
        if (int64(cells[square + OFFSET[direction]]) & TILE_BITS) == TAVERN:
            return 1
    return 0


@kernel
def _number(
    cells: NDArray[np.uint8],
    root: int,
    number: NDArray[np.int64],
    low: NDArray[np.int64],
    parent: NDArray[np.int64],
    weight: NDArray[np.int64],
    taverns: NDArray[np.int64],
    cursor: NDArray[np.int64],
    order: NDArray[np.int64],
) -> int:
    """Walk the component of `root` depth first (Tarjan 1972); returns how many squares it has.

    ``order[k]`` is the square with ``number`` k, in order of arrival; `low` the lowest number that can be reached from the
    squares below one and one step more; `weight` counts the squares below one and itself, `taverns` those beside a tavern.
    """
    here, count = root, 0
    parent[root] = -1
    while True:
        if number[here] < 0:
            number[here], low[here], order[count] = count, count, here
            weight[here], taverns[here], cursor[here] = 1, _has_tavern(cells, here), 0
            count += 1
        if cursor[here] < 4:
            cursor[here] += 1
            there = here + OFFSET[cursor[here]]
            if not _is_air(cells, there):
                continue
            if number[there] < 0:
                parent[there] = here
                here = there
            elif there != parent[here]:
                low[here] = min(low[here], number[there])
        else:
            above = parent[here]
            if above < 0:
                return count
            low[above] = min(low[above], low[here])
            weight[above] += weight[here]
            taverns[above] += taverns[here]
            here = above


@kernel
def _better_root(
    number: NDArray[np.int64],
    low: NDArray[np.int64],
    parent: NDArray[np.int64],
    weight: NDArray[np.int64],
    order: NDArray[np.int64],
    count: int,
    cut: NDArray[np.int64],
) -> int:
    """The choke point whose branch with the root is less than half of the component: the one with the largest, or -1.

    From there no branch with the root is that small, so every dead end is the whole of what lies below some square.
    """
    best, largest = -1, 0
    for place in range(count):
        cut[order[place]] = 0
    for place in range(1, count):
        square = order[place]
        if low[square] >= number[parent[square]]:
            cut[parent[square]] += weight[square]
    for place in range(1, count):
        square = order[place]
        rest = count - 1 - cut[square]
        if cut[square] and 2 * rest < count and rest > largest:
            best, largest = square, rest
    return best


@kernel
def _measure(
    mouth: int, first: int, last: int, number: NDArray[np.int64], dead_end: NDArray[np.uint8], queue: NDArray[np.int64]
) -> None:
    """Write the distances to `mouth` into the squares numbered `first` to `last` (not included)."""
    head, tail = 0, 1
    queue[0] = mouth
    while head < tail:
        here = int64(queue[head])
        head += 1
        depth = 1 if here == mouth else min(_DEEPEST, int64(dead_end[here]) + 1)
        for direction in range(1, 5):
            there = here + OFFSET[direction]
            if first <= number[there] and number[there] < last and dead_end[there] == 0:
                dead_end[there] = depth
                queue[tail] = there
                tail += 1


@entry(tuple_of((_BYTES, _BYTES))(_BYTES))
def _structure(cells: NDArray[np.uint8]) -> tuple[NDArray[np.uint8], NDArray[np.uint8]]:
    choke, dead_end = np.zeros(CELLS, np.uint8), np.zeros(CELLS, np.uint8)
    number, low, parent = np.full(CELLS, -1, np.int64), np.empty(CELLS, np.int64), np.empty(CELLS, np.int64)
    weight, taverns, cursor = np.empty(CELLS, np.int64), np.empty(CELLS, np.int64), np.empty(CELLS, np.int64)
    order, cut, done = np.empty(CELLS, np.int64), np.empty(CELLS, np.int64), np.zeros(CELLS, np.uint8)
    for start in range(STRIDE, CELLS - STRIDE):
        if done[start] or not _is_air(cells, start):
            continue
        root = start
        count = _number(cells, root, number, low, parent, weight, taverns, cursor, order)
        better = _better_root(number, low, parent, weight, order, count, cut)
        if better >= 0:
            root = better
            for place in range(count):
                number[order[place]] = -1
            _number(cells, root, number, low, parent, weight, taverns, cursor, order)
        after = 1
        for place in range(count):
            square = order[place]
            done[square] = 1
            above = parent[square]
            if above < 0 or low[square] < number[above]:
                continue
            # Without the square above, all that is below this one is cut off (from the root: if there is anything else).
            if above != root or weight[square] < count - 1:
                choke[above] = 1
            if place >= after and 2 * weight[square] < count and taverns[square] == 0:
                after = place + weight[square]
                _measure(above, place, after, number, dead_end, cut)
        for place in range(count):
            number[order[place]] = -1
    return choke, dead_end


def chokes_and_dead_ends(cells: NDArray[np.uint8]) -> tuple[NDArray[np.uint8], NDArray[np.uint8]]:
    """The choke points (1, else 0) and the dead ends of a padded board, both uint8[1024] by square.

    For a square in a dead end: how many moves it is from the mouth, 1 to 255 (255: that or more). 0 for all others. For the
    definitions see the module. Takes time in proportion to the squares; heroes on the board do not matter.
    """
    choke, dead_end = _structure(cells)
    return choke, dead_end
