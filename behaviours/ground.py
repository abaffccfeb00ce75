"""The ground: what an evaluation or a policy looks up about a map, in one flat record.

Kernels that ask millions of times a second want short rows that lie together: the distances from one square to all mines
are one line of the processor's cache, the nearest mines of a square come sorted, and the first step of a shortest way is a
byte. All of it follows from the `sim.maps.Map` and is built once for each map and process.
"""

from __future__ import annotations

from functools import lru_cache

import numba
import numpy as np
from numba import types
from numpy.typing import NDArray

from sim.game import AIR, CELLS, OFFSET, STRIDE, TILE_BITS, WALL
from sim.kernels import entry, kernel
from sim.maps import KEPT_MAPS, Map

#: Mines that the record has room for; on (hand-made) maps with more, those after them are left out.
MAX_MINES = 128
#: Nearest mines listed for each square.
LISTED = 24
#: A distance as a byte: this far, or not to be reached.
AWAY = 255
#: The entry after the last mine of a list.
NO_MINE = 255

#: `mine` holds the squares of the `mines` mines. By square: `to_mine` the moves to each mine, `nearest` the mines in the order
#: of their distance, `to_tavern` and `tavern_step` the moves to the nearest tavern (`tavern`, a square) and the direction of the first, `to_square`
#: the moves to every other square, `dead_end` the moves that lead out of a dead end (0 elsewhere). `mine_step` is the
#: direction of the first move to each mine, by mine and square.
GROUND = np.dtype(
    (
        np.record,
        [
            ("mines", "i4"),
            ("taverns", "i4"),
            ("mine", "i2", MAX_MINES),
            ("to_mine", "u1", CELLS * MAX_MINES),
            ("nearest", "u1", CELLS * LISTED),
            ("mine_step", "u1", MAX_MINES * CELLS),
            ("to_tavern", "u1", CELLS),
            ("tavern_step", "u1", CELLS),
            ("tavern", "i2", CELLS),
            ("dead_end", "u1", CELLS),
            ("to_square", "u1", CELLS * CELLS),
        ],
    )
)
#: numba's name for an array of grounds: kernels take an array of one.
GROUNDS = numba.types.Array(numba.from_dtype(GROUND), 1, "C")

_INT64S = types.Array(types.int64, 1, "C")
_BYTES = types.Array(types.uint8, 1, "C")


@entry(types.void(GROUNDS, _BYTES, types.Array(types.int16, 2, "C"), _INT64S, _INT64S, _BYTES))
def _fill(grounds, cells, distances, mines, taverns, dead_end):
    """Fill ``grounds[0]`` from the arrays of a `Map`; see `GROUND`."""
    ground = grounds[0]
    count = min(len(mines), MAX_MINES)
    ground.mines, ground.taverns = count, len(taverns)
    for place in range(count):
        ground.mine[place] = mines[place]
    for square in range(CELLS):
        ground.dead_end[square] = dead_end[square]
        tavern = -1
        for place in range(len(taverns)):
            if tavern < 0 or distances[taverns[place], square] < distances[tavern, square]:
                tavern = taverns[place]
        ground.to_tavern[square] = AWAY
        if tavern >= 0:
            ground.to_tavern[square] = min(distances[tavern, square], AWAY)
            ground.tavern[square] = tavern
            ground.tavern_step[square] = _step_down(cells, distances, tavern, square)
        for place in range(count):
            ground.to_mine[square * MAX_MINES + place] = min(distances[mines[place], square], AWAY)
            ground.mine_step[place * CELLS + square] = _step_down(cells, distances, mines[place], square)
        for other in range(CELLS):
            ground.to_square[square * CELLS + other] = min(distances[square, other], AWAY)
        _list_nearest(ground, square, count)


@kernel
def _step_down(cells, distances, goal, square):
    """The first direction of a shortest way from `square` to `goal`, 0 where there is none."""
    if square < STRIDE or square >= CELLS - STRIDE or (cells[square] & TILE_BITS) == WALL:
        return 0
    for direction in range(1, 5):
        near = square + OFFSET[direction]
        if distances[goal, near] == distances[goal, square] - 1 and (cells[near] == AIR or near == goal):
            return direction
    return 0


@kernel
def _list_nearest(ground, square, count):
    """Insertion sort of the mines by distance, as far as the list goes; equally far ones in their order."""
    listed = 0
    for place in range(count):
        away = ground.to_mine[square * MAX_MINES + place]
        if away == AWAY:
            continue
        slot = min(listed, LISTED - 1)
        if listed == LISTED and away >= ground.to_mine[square * MAX_MINES + ground.nearest[square * LISTED + slot]]:
            continue
        while slot > 0 and ground.to_mine[square * MAX_MINES + ground.nearest[square * LISTED + slot - 1]] > away:
            ground.nearest[square * LISTED + slot] = ground.nearest[square * LISTED + slot - 1]
            slot -= 1
        ground.nearest[square * LISTED + slot] = place
        listed = min(listed + 1, LISTED)
    for slot in range(listed, LISTED):
        ground.nearest[square * LISTED + slot] = NO_MINE


@lru_cache(maxsize=KEPT_MAPS)
def ground_of(where: Map) -> NDArray[np.void]:
    """The ground of a map: an array of one `GROUND` record, 1.3 megabytes, made once for each map. Do not change it."""
    grounds = np.zeros(1, GROUND)
    _fill(grounds, where.cells.copy(), where.distances, where.mines, where.taverns, where.dead_end.copy())
    return grounds
