"""Trap avoidance: avoid dead ends, and to a smaller degree corners.

A square is **blocked** on a side if its neighbour on this side is not air. It is also blocked there if the neighbour is a trap
that is itself blocked on the same side. A square with three or four blocked sides is a **trap**. A square with two blocked sides
is half a trap. A square beside a tavern is neither a trap nor half a trap, because a hero can drink there. In this drawing, T
marks the traps of a dead end, and t marks a corner, which is half a trap::

    ##  ##########
    ##      T T T##
    ##t   ########
    ##############
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from behaviours.base import Behaviour, View, Votes
from sim.game import AIR, CELLS, OFFSET, TAVERN
from sim.kernel_types import BYTES, INT64S
from sim.kernels import entry
from sim.maps import MAX_CACHED_MAPS, Map

#: The least number of blocked sides of a trap, and the number of blocked sides of half a trap.
TRAP_SIDES = 3
HALF_TRAP_SIDES = 2


@entry(BYTES(BYTES, INT64S))
def _blocked_sides(cells: NDArray[np.uint8], places: NDArray[np.int64]) -> NDArray[np.uint8]:
    """Return the number of blocked sides by square; `cells` is a board without heroes, `places` its squares of air.

    The kernel adds blocked sides until none changes. It never removes sides, so the result does not depend on the order.
    """
    sides, counts, at_tavern = np.zeros(CELLS, np.uint8), np.zeros(CELLS, np.uint8), np.zeros(CELLS, np.uint8)
    for place in range(len(places)):
        for direction in range(1, 5):
            if cells[places[place] + OFFSET[direction]] == TAVERN:
                at_tavern[places[place]] = 1
    changed = True
    while changed:
        changed = False
        for place in range(len(places)):
            square = places[place]
            for direction in range(1, 5):
                near, bit = square + OFFSET[direction], np.uint8(1 << direction)
                trap = counts[near] >= TRAP_SIDES and sides[near] & bit and not at_tavern[near]
                if sides[square] & bit or (cells[near] == AIR and not trap):
                    continue
                sides[square] |= bit
                counts[square] += 1
                changed = True
    for place in range(len(places)):
        if at_tavern[places[place]]:
            counts[places[place]] = 0
    return counts


@lru_cache(maxsize=MAX_CACHED_MAPS)
def trap_map(where: Map) -> NDArray[np.uint8]:
    """Return the number of blocked sides (0..4) by square, uint8[1024]; 0 beside taverns and for squares that are not air.

    3 and 4 are traps, 2 is half a trap. The array comes from a cache and is read-only.
    """
    counts: NDArray[np.uint8] = _blocked_sides(where.cells.copy(), where.open.copy())
    counts.flags.writeable = False
    return counts


class TrapAvoidance(Behaviour):
    """Vote -`trap` against moves into traps, and -`half_trap` against moves onto squares with two blocked sides.

    A trap is a square with three or four blocked sides. The module says when a side is blocked. This depends only on the map.
    """

    trap: float = Field(0.5, ge=0, le=10, description="vote against a square that is blocked on three or four sides")
    half_trap: float = Field(0.1, ge=0, le=10, description="vote against a square that is blocked on two sides")

    def vote(self, view: View) -> Votes:
        """Return a negative weight for each move into a trap or half a trap, or None."""
        blocked = trap_map(view.map)
        votes: dict[int, float] = {}
        for move in view.moves:
            sides = int(blocked[view.landing(move)])
            if sides >= HALF_TRAP_SIDES:
                votes[move] = -self.trap if sides >= TRAP_SIDES else -self.half_trap
        return votes or None
