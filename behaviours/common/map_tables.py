"""The ground: what an evaluation or a policy looks up about a map, in one flat record.

Kernels that ask millions of times a second want short rows that lie together: the distances from one square to all mines
are one line of the processor's cache, the nearest mines of a square come sorted, and the first step of a shortest way is a
byte. All of it follows from the `sim.maps.Map` and is built once for each map and process.
"""

from __future__ import annotations

from functools import lru_cache

import numba
import numpy as np
from numpy.typing import NDArray

from sim.game import CELLS
from sim.maps import MAX_CACHED_MAPS, Map
from sim.paths import step_table

#: Mines that the record has room for; on (hand-made) maps with more, those after them are left out.
MAX_MINES = 128
#: Nearest mines listed for each square.
LISTED = 24
#: A distance as a byte: this far, or not to be reached.
AWAY = 255
#: The entry after the last mine of a list.
NO_MINE = 255

#: `mine` holds the squares of the `mines` mines. By square: `to_mine` the moves to each mine, `nearest` the mines in the order
#: of their distance, `to_tavern` and `tavern_step` the moves to the nearest tavern (`tavern`, a square) and the direction of
#: the first, `to_square` the moves to every other square, `dead_end` the moves that lead out of a dead end (0 elsewhere).
#: `mine_step` is the direction of the first move to each mine, by mine and square.
MAP_TABLES = np.dtype(
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
MAP_TABLES_ARRAY = numba.types.Array(numba.from_dtype(MAP_TABLES), 1, "C")


@lru_cache(maxsize=MAX_CACHED_MAPS)
def map_tables_of(where: Map) -> NDArray[np.void]:
    """The ground of a map: an array of one `MAP_TABLES` record, 1.3 megabytes, made once for each map. Do not change it."""
    tables_array = np.zeros(1, MAP_TABLES)
    tables, mines, taverns = tables_array[0], where.mines[:MAX_MINES], where.taverns
    distances = where.distances
    tables["mines"], tables["taverns"], tables["dead_end"] = len(mines), len(taverns), where.dead_end
    tables["to_square"] = np.minimum(distances, AWAY).ravel()
    tables["mine"][: len(mines)] = mines
    to_mine = np.full((CELLS, MAX_MINES), AWAY, np.uint8)
    to_mine[:, : len(mines)] = np.minimum(distances[mines], AWAY).T
    tables["to_mine"] = to_mine.ravel()
    nearest = np.argsort(to_mine, axis=1, kind="stable")[:, :LISTED].astype(np.uint8)
    nearest[np.take_along_axis(to_mine, nearest, 1) == AWAY] = NO_MINE
    tables["nearest"] = nearest.ravel()
    for number, mine in enumerate(mines):
        tables["mine_step"][number * CELLS : (number + 1) * CELLS] = step_table(where.cells, distances[mine])
    tables["to_tavern"] = AWAY
    if len(taverns):
        choice = distances[taverns].argmin(axis=0)
        nearest_tavern = distances[taverns].min(axis=0)
        tables["tavern"] = taverns[choice]
        tables["to_tavern"] = np.minimum(nearest_tavern, AWAY)
        tables["tavern_step"] = step_table(where.cells, nearest_tavern)
    return tables_array
