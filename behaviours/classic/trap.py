"""Trap avoidance: keep out of dead ends, and a little out of corners.

A square is **blocked** towards a side if the neighbour there is impassable (no air), or is itself a trap that is blocked
towards that side. It is a **trap** if three or four of its sides are blocked, half a trap if two are. Squares beside a
tavern are neither: nobody is hunted down there. The traps of a passage that ends in a dead end (T), and a corner (t)::

    ##  ##########
    ##      T T T##
    ##t   ########
    ##############
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from numba import types
from numpy.typing import NDArray
from pydantic import Field

from behaviours.base import Behaviour, View, Votes
from sim.game import AIR, CELLS, OFFSET, TAVERN
from sim.kernels import entry
from sim.maps import MAX_CACHED_MAPS, Map

#: Blocked sides that make a square a trap, and half a trap.
TRAP_SIDES = 3
HALF_TRAP_SIDES = 2

_BYTES = types.Array(types.uint8, 1, "C")


@entry(_BYTES(_BYTES, types.Array(types.int64, 1, "C")))
def _blocked_sides(cells: NDArray[np.uint8], places: NDArray[np.int64]) -> NDArray[np.uint8]:
    """The number of blocked sides by square; `cells` is a board without heroes, `places` its squares of air.

    From the walls on until nothing changes: sides are only ever added, so the result does not depend on the order.
    """
    sides, counts, haven = np.zeros(CELLS, np.uint8), np.zeros(CELLS, np.uint8), np.zeros(CELLS, np.uint8)
    for place in range(len(places)):
        for direction in range(1, 5):
            if cells[places[place] + OFFSET[direction]] == TAVERN:
                haven[places[place]] = 1
    changed = True
    while changed:
        changed = False
        for place in range(len(places)):
            square = places[place]
            for direction in range(1, 5):
                near, bit = square + OFFSET[direction], np.uint8(1 << direction)
                trap = counts[near] >= TRAP_SIDES and sides[near] & bit and not haven[near]
                if sides[square] & bit or (cells[near] == AIR and not trap):
                    continue
                sides[square] |= bit
                counts[square] += 1
                changed = True
    for place in range(len(places)):
        if haven[places[place]]:
            counts[places[place]] = 0
    return counts


@lru_cache(maxsize=MAX_CACHED_MAPS)
def trap_map(where: Map) -> NDArray[np.uint8]:
    """The number of blocked sides (0..4) by square, uint8[1024]; 0 beside taverns and where nobody can stand.

    3 and 4 are traps, 2 is half a trap. Computed once per map: do not change it.
    """
    counts: NDArray[np.uint8] = _blocked_sides(where.cells.copy(), where.open.copy())
    counts.flags.writeable = False
    return counts


class TrapAvoidance(Behaviour):
    """Votes, by the square where we would then stand: -`trap` on traps, -`half_trap` on squares with two blocked sides.

    Traps come from the map without heroes; see the module for what they are.
    """

    trap: float = Field(0.5, ge=0, le=10, description="vote against squares blocked on three sides or four")
    half_trap: float = Field(0.1, ge=0, le=10, description="vote against squares blocked on two sides")

    def vote(self, view: View) -> Votes:
        """A negative weight for each direction that leads into a trap or half a trap, or nothing."""
        blocked = trap_map(view.map)
        votes: dict[int, float] = {}
        for move in view.moves:
            sides = int(blocked[view.landing(move)])
            if sides >= HALF_TRAP_SIDES:
                votes[move] = -self.trap if sides >= TRAP_SIDES else -self.half_trap
        return votes or None
