"""The chart of a turn: the squares where tours stop, and the ways between them."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from behaviours.common.kernel_types import int64
from sim.game import AIR, CELLS, OFFSET, TILE_BITS, Games
from sim.kernels import kernel
from sim.paths import FAR, spread


class DistanceTable(NamedTuple):
    """Where stops are: `places` are squares beside mines and taverns, then five for the starts (after each direction).

    ``legs[place]`` are the ways of taking a mine from there, rows (moves, place, mine), nearest first, ``bars[place]`` those of
    drinking, rows (moves, place, moves to a tavern that lies on the way or 0); the counts are -1 before they are made.
    ``reach[d]`` are the distances from start d.
    """

    table: NDArray[np.int16]
    reach: NDArray[np.int16]
    places: NDArray[np.int64]
    known: int
    sides: NDArray[np.int64]
    drinks: NDArray[np.int64]
    legs: NDArray[np.int16]
    leg_counts: NDArray[np.int64]
    bars: NDArray[np.int16]
    bar_counts: NDArray[np.int64]


@kernel
def distance(distances: DistanceTable, place: int, to: int) -> int:
    """Moves between two places; the first may be a start."""
    if place >= distances.known:
        return int64(distances.reach[place - distances.known, distances.places[to]])
    return int64(distances.table[distances.places[place], distances.places[to]])


@kernel
def _insert(rows: NDArray[np.int16], count: int, moves: int, place: int, third: int) -> None:
    """Insert into rows that are sorted by moves, behind equal ones."""
    at = count
    while at > 0 and rows[at - 1, 0] > moves:
        rows[at, 0], rows[at, 1], rows[at, 2] = rows[at - 1, 0], rows[at - 1, 1], rows[at - 1, 2]
        at -= 1
    rows[at, 0], rows[at, 1], rows[at, 2] = moves, place, third


@kernel
def make_rows(distances: DistanceTable, place: int) -> None:
    """Make the rows of a place.

    A side of a mine is left out if the way to it leads past another side: taking the mine there comes sooner and leaves the
    hero on the way.
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
                if (
                    first >= 0
                    and first != stand
                    and distance(distances, place, first) + distance(distances, first, stand) <= steps
                ):
                    passed = True
            if not passed:
                _insert(distances.legs[place], count, steps + 1, stand, mine)
                count += 1
    distances.leg_counts[place] = count
    count = 0
    for stand in distances.drinks:
        steps = distance(distances, place, stand)
        if steps >= FAR:
            continue
        before = 0
        for first in distances.drinks:
            there = distance(distances, place, first)
            if first != stand and there + distance(distances, first, stand) <= steps and (before == 0 or there < before):
                before = there + 1
        _insert(distances.bars[place], count, steps + 1, stand, before)
        count += 1
    distances.bar_counts[place] = count


@kernel
def _find_places(
    cells: NDArray[np.uint8],
    mines: NDArray[np.int64],
    drinks: NDArray[np.int64],
    places: NDArray[np.int64],
    sides: NDArray[np.int64],
) -> int:
    """List the squares beside mines and taverns; returns how many there are."""
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
    for number in range(len(drinks)):
        square = drinks[number]
        if index[square] < 0:
            index[square], places[known] = known, square
            known += 1
        drinks[number] = index[square]
    return known


@kernel
def make_distances(
    afters: Games,
    me: int,
    directions: int,
    mines: NDArray[np.int64],
    drinks: NDArray[np.int64],
    blocked: NDArray[np.uint8],
    table: NDArray[np.int16],
) -> DistanceTable:
    """The chart of a turn; `drinks` are the squares beside taverns."""
    most = 4 * len(mines) + len(drinks)
    places, sides = np.zeros(most + 5, np.int64), np.empty((len(mines), 4), np.int64)
    drinks = drinks.copy()
    known = _find_places(afters[0].cell, mines, drinks, places, sides)
    reach, source, queue = np.full((5, CELLS), FAR, np.int16), np.empty(1, np.int64), np.empty(CELLS, np.int16)
    for number in range(5):
        if directions >> number & 1:
            source[0] = afters[number].hero[me].pos
            places[known + number] = source[0]
            spread(afters[number].cell, source, blocked, True, reach[number], queue)
            for square in range(CELLS):
                if blocked[square] and square != source[0]:
                    reach[number, square] = FAR
    legs = np.empty((known + 5, max(1, 4 * len(mines)), 3), np.int16)
    bars = np.empty((known + 5, max(1, len(drinks)), 3), np.int16)
    leg_counts, bar_counts = np.full(known + 5, -1, np.int64), np.full(known + 5, -1, np.int64)
    return DistanceTable(table, reach, places, known, sides, drinks, legs, leg_counts, bars, bar_counts)


@kernel
def usual_moves(table: NDArray[np.int16], mines: NDArray[np.int64], drinks: NDArray[np.int64]) -> tuple[float, float]:
    """The means over all mines: moves for the nearest other mine, and half of those to the nearest tavern.

    Of a few factors tried on games of all sizes, these led to the best tours.
    """
    pace, detour = 0.0, 0.0
    for mine in mines:
        nearest, tavern = int64(FAR), int64(FAR)
        for other in mines:
            away = int64(table[mine, other])
            if other != mine and away < nearest:
                nearest = away
        for stand in drinks:
            away = int64(table[mine, stand])
            if away < tavern:
                tavern = away
        # From one square beside a mine to one beside the other, and the move that takes it.
        pace += nearest - 1 if 1 < nearest < FAR else 1
        detour += tavern if tavern < FAR else 1
    return pace / max(1, len(mines)), 0.5 * detour / max(1, len(mines))
