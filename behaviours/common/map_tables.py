"""Map tables: distances and first steps on a map, in one flat record for kernels.

A kernel reads the tables millions of times a second. So numbers that a kernel reads together lie together in memory. The
distances from one square to all mines are one row. The nearest mines of a square are sorted. A first step is one byte. All tables
are computed from the `sim.maps.Map`.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sim.game import CELLS
from sim.kernel_types import array_of, record
from sim.maps import MAX_CACHED_MAPS, Map
from sim.paths import step_table

#: Largest number of mines in the record. Further mines are left out. Only hand-made maps have more mines.
MAX_MINES = 128
#: Number of nearest mines listed per square.
LISTED = 24
#: The distance that the tables hold for a square that is out of reach, or 255 or more moves away.
AWAY = 255
#: The entry after the last mine of a list of mines.
NO_MINE = 255

#: `mine` holds the squares of the `mines` mines. The other tables have one entry or row per square: `to_mine` is the number of
#: moves to each mine. `nearest` lists the nearest mines, sorted by distance. `tavern` is the square of the nearest tavern.
#: `to_tavern` is the number of moves to this tavern, and `tavern_step` is the direction of the first of these moves. `to_square`
#: is the number of moves to every square. `dead_end` is the number of moves out of a dead end (0 elsewhere). `mine_step` has a
#: row per mine: the direction of the first move to the mine, for each square.
MAP_TABLES = record(
    mines="i4",
    taverns="i4",
    mine=("i2", MAX_MINES),
    to_mine=("u1", CELLS * MAX_MINES),
    nearest=("u1", CELLS * LISTED),
    mine_step=("u1", MAX_MINES * CELLS),
    to_tavern=("u1", CELLS),
    tavern_step=("u1", CELLS),
    tavern=("i2", CELLS),
    dead_end=("u1", CELLS),
    to_square=("u1", CELLS * CELLS),
)
#: numba's type of an array of one `MAP_TABLES` record, as kernels take it.
MAP_TABLES_ARRAY = array_of(MAP_TABLES)
#: One record of `MAP_TABLES`.
MapRecord = Any


@lru_cache(maxsize=MAX_CACHED_MAPS)
def map_tables_of(where: Map) -> NDArray[np.void]:
    """Return the tables of a map: an array of one `MAP_TABLES` record (1.3 megabytes), from a cache. Do not change it."""
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
