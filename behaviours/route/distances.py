"""The distance table of a turn: the squares where routes stop, and the ways between them."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from behaviours.common.kernel_types import int64
from sim.game import AIR, CELLS, OFFSET, TILE_BITS, Games
from sim.kernels import kernel
from sim.paths import FAR, spread


class DistanceTable(NamedTuple):
    """Places and legs of the routes of a turn.

    A **place** is a square where a route begins or stops. **Start** d is our square after our move in direction d. A **leg** is
    the way from one place to the next.

    - `table`: the distances of the map. ``reach[d]``: the distances from start d.
    - `places`: the squares of all places. The first `known` places are beside mines and taverns. The last five are the starts,
      one per direction.
    - ``sides[mine]``: the four places beside a mine, -1 for a side that is not air.
    - `beside_taverns`: the places beside taverns.
    - ``mine_legs[place]``: one row per leg to a mine: (moves, place beside the mine, mine), nearest first.
    - ``tavern_legs[place]``: one row per leg to a tavern: (moves, place beside the tavern, moves to a tavern that the way
      passes), nearest first. The third number is 0 if the way passes no tavern.
    - `mine_leg_counts`, `tavern_leg_counts`: the number of rows of each place, -1 until `make_rows` has written them.
    """

    table: NDArray[np.int16]
    reach: NDArray[np.int16]
    places: NDArray[np.int64]
    known: int
    sides: NDArray[np.int64]
    beside_taverns: NDArray[np.int64]
    mine_legs: NDArray[np.int16]
    mine_leg_counts: NDArray[np.int64]
    tavern_legs: NDArray[np.int16]
    tavern_leg_counts: NDArray[np.int64]


@kernel
def distance(distances: DistanceTable, place: int, to: int) -> int:
    """Return the number of moves between two places. `place` may be a start (see `DistanceTable`), `to` may not."""
    if place >= distances.known:
        return int64(distances.reach[place - distances.known, distances.places[to]])
    return int64(distances.table[distances.places[place], distances.places[to]])


@kernel
def _insert(rows: NDArray[np.int16], count: int, moves: int, place: int, third: int) -> None:
    """Insert the row (`moves`, `place`, `third`) into `count` rows sorted by moves, behind the rows with equal moves."""
    at = count
    while at > 0 and rows[at - 1, 0] > moves:
        rows[at, 0], rows[at, 1], rows[at, 2] = rows[at - 1, 0], rows[at - 1, 1], rows[at - 1, 2]
        at -= 1
    rows[at, 0], rows[at, 1], rows[at, 2] = moves, place, third


@kernel
def make_rows(distances: DistanceTable, place: int) -> None:
    """Write the legs from a place into the table.

    A side of a mine is left out if a shortest way to this side passes another side of the same mine, because the hero takes the
    mine sooner from that other side.
    """
    count = 0
    for mine in range(len(distances.sides)):
        for side in range(4):
            stand = distances.sides[mine, side]
            steps = distance(distances, place, stand) if stand >= 0 else FAR
            if steps >= FAR:
                continue
            passed = False
            for other in range(4):
                first = distances.sides[mine, other]
                if first >= 0 and first != stand:
                    passed |= distance(distances, place, first) + distance(distances, first, stand) <= steps
            if not passed:
                _insert(distances.mine_legs[place], count, steps + 1, stand, mine)
                count += 1
    distances.mine_leg_counts[place] = count
    count = 0
    for stand in distances.beside_taverns:
        steps = distance(distances, place, stand)
        if steps >= FAR:
            continue
        before = 0
        for first in distances.beside_taverns:
            there = distance(distances, place, first)
            if first != stand and there + distance(distances, first, stand) <= steps and (before == 0 or there < before):
                before = there + 1
        _insert(distances.tavern_legs[place], count, steps + 1, stand, before)
        count += 1
    distances.tavern_leg_counts[place] = count


@kernel
def _find_places(
    cells: NDArray[np.uint8],
    mines: NDArray[np.int64],
    beside_taverns: NDArray[np.int64],
    places: NDArray[np.int64],
    sides: NDArray[np.int64],
) -> int:
    """Write the squares beside mines and taverns into `places`, and return their number.

    ``sides[mine]`` gets the places beside a mine (-1: not air). Each square in `beside_taverns` is replaced by its index in
    `places`.
    """
    index, known = np.full(CELLS, -1, np.int64), 0
    for mine in range(len(mines)):
        for side in range(4):
            square = mines[mine] + OFFSET[side + 1]
            sides[mine, side] = -1
            if (int64(cells[square]) & TILE_BITS) == AIR:
                if index[square] < 0:
                    index[square], places[known] = known, square
                    known += 1
                sides[mine, side] = index[square]
    for number in range(len(beside_taverns)):
        square = beside_taverns[number]
        if index[square] < 0:
            index[square], places[known] = known, square
            known += 1
        beside_taverns[number] = index[square]
    return known


@kernel
def make_distances(
    afters: Games,
    me: int,
    directions: int,
    mines: NDArray[np.int64],
    beside_taverns: NDArray[np.int64],
    blocked: NDArray[np.uint8],
    table: NDArray[np.int16],
) -> DistanceTable:
    """Return the distance table of a turn. The arguments are fields of `RouteParams`, where `table` is named `distances`."""
    most = 4 * len(mines) + len(beside_taverns)
    places, sides = np.zeros(most + 5, np.int64), np.empty((len(mines), 4), np.int64)
    beside_taverns = beside_taverns.copy()
    known = _find_places(afters[0].cell, mines, beside_taverns, places, sides)
    reach, source, queue = np.full((5, CELLS), FAR, np.int16), np.empty(1, np.int64), np.empty(CELLS, np.int16)
    for number in range(5):
        if directions >> number & 1:
            source[0] = afters[number].hero[me].pos
            places[known + number] = source[0]
            spread(afters[number].cell, source, blocked, True, reach[number], queue)
            for square in range(CELLS):
                if blocked[square] and square != source[0]:
                    reach[number, square] = FAR
    mine_legs = np.empty((known + 5, max(1, 4 * len(mines)), 3), np.int16)
    tavern_legs = np.empty((known + 5, max(1, len(beside_taverns)), 3), np.int16)
    mine_leg_counts, tavern_leg_counts = np.full(known + 5, -1, np.int64), np.full(known + 5, -1, np.int64)
    return DistanceTable(
        table, reach, places, known, sides, beside_taverns, mine_legs, mine_leg_counts, tavern_legs, tavern_leg_counts
    )


@kernel
def typical_moves(table: NDArray[np.int16], mines: NDArray[np.int64], beside_taverns: NDArray[np.int64]) -> tuple[float, float]:
    """Return two means over all mines.

    The first is the number of moves to take the nearest other mine. The second is half the number of moves to the nearest tavern.
    """
    pace, detour = 0.0, 0.0
    for mine in mines:
        nearest, tavern = int64(FAR), int64(FAR)
        for other in mines:
            away = int64(table[mine, other])
            if other != mine and away < nearest:
                nearest = away
        for stand in beside_taverns:
            away = int64(table[mine, stand])
            if away < tavern:
                tavern = away
        # The way from a square beside this mine to a square beside the other mine, and the move that takes the other mine.
        pace += nearest - 1 if 1 < nearest < FAR else 1
        detour += tavern if tavern < FAR else 1
    return pace / max(1, len(mines)), 0.5 * detour / max(1, len(mines))
