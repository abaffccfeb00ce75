"""The shape of a map: choke points and dead ends.

Choke points and dead ends are properties of the graph of air squares. Heroes do not matter. Mines and taverns count as walls::

    .  .  .  ## .  .  ##        .  .  .  ## 4  5  ##
    .  .  *  *  *  *  .         .  .  .  1  2  3  4          * a choke point
    .  .  .  ## .  .  ##        .  .  .  ## 4  5  ##         1 and more: the depth of a dead end

The **component** of a square is the set of squares that can be reached from it. A **choke point** is a square of air that splits
its component into at least two **branches** when it is removed. A **dead end** is a branch with less than half of the component's
squares and without a tavern beside it. A hero can leave it only through the choke point, and cannot drink inside. This choke
point is the exit of the dead end and does not belong to it. A square in several dead ends belongs to the largest of them.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sim.game import AIR, CELLS, OFFSET, STRIDE, TAVERN, WALL
from sim.kernel_types import BYTES, tuple_of
from sim.kernels import entry, kernel
from sim.paths import FAR, flood

#: The largest depth of a dead end that fits into a byte.
_DEEPEST = 255


@kernel
def _is_beside_tavern(cells: NDArray[np.uint8], squares: NDArray[np.int16]) -> bool:
    """Return whether one of `squares` is beside a tavern."""
    for place in range(len(squares)):
        for direction in range(1, 5):
            if cells[squares[place] + OFFSET[direction]] == TAVERN:
                return True
    return False


@entry(tuple_of((BYTES, BYTES))(BYTES))
def chokes_and_dead_ends(cells: NDArray[np.uint8]) -> tuple[NDArray[np.uint8], NDArray[np.uint8]]:
    """Return the choke points (1, else 0) and the depths of dead ends of a map, both uint8[1024] by square.

    `cells` is a padded board (uint8[1024]) without heroes. The depth of a square in a dead end is the number of moves to the
    exit, 1 to 255 (255: 255 or more moves). The depth is 0 for all other squares. The kernel removes each square in turn and
    looks at the branches that are left. This takes about as long as `sim.paths.all_pairs`.
    """
    choke, dead_end, size_of = np.zeros(CELLS, np.uint8), np.zeros(CELLS, np.uint8), np.zeros(CELLS, np.int64)
    rest, seen_from, source = cells.copy(), np.zeros(CELLS, np.int64), np.empty(1, np.int64)
    distances, squares, queue = np.empty(CELLS, np.int16), np.empty(CELLS, np.int16), np.empty(CELLS, np.int16)
    ends = np.zeros(5, np.int64)
    for square in range(STRIDE, CELLS - STRIDE):
        if cells[square] != AIR:
            continue
        # Branch k is squares[ends[k]:ends[k + 1]].
        branches = 0
        rest[square] = WALL
        for direction in range(1, 5):
            source[0] = square + OFFSET[direction]
            if rest[source[0]] == AIR and seen_from[source[0]] != square:
                branch = squares[ends[branches] :]
                count = flood(rest, source, 1, FAR, FAR, distances, branch)
                for place in range(count):
                    seen_from[branch[place]] = square
                branches += 1
                ends[branches] = ends[branches - 1] + count
        rest[square] = AIR
        if branches < 2:
            continue
        choke[square] = 1
        source[0] = square
        flood(cells, source, 1, FAR, FAR, distances, queue)
        for number in range(branches):
            branch = squares[ends[number] : ends[number + 1]]
            if 2 * len(branch) > ends[branches] or _is_beside_tavern(cells, branch):
                continue
            for place in range(len(branch)):
                inside = branch[place]
                if len(branch) > size_of[inside]:
                    dead_end[inside], size_of[inside] = min(_DEEPEST, distances[inside]), len(branch)
    return choke, dead_end
