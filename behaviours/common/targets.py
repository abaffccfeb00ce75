"""Targets: mines and taverns that traits go to, and the first steps of shortest ways."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from behaviours.base import View
from sim.game import BEER_COST, MINE, OFFSET, TAVERN, TILE_BITS
from sim.paths import NOTHING_BLOCKED, distances_from, next_steps


def directions_in(mask: int) -> list[int]:
    """Return the directions in the bit set `mask` (bit d: direction d), in ascending order."""
    return [direction for direction in range(5) if mask >> direction & 1]


def tile_beside(view: View, direction: int) -> int:
    """Return the tile code (`sim.game`) of our square's neighbour in a direction. A hero on this neighbour does not matter."""
    return int(view.cells[view.pos + int(OFFSET[direction])]) & TILE_BITS


def taverns_beside(view: View) -> list[int]:
    """Return the directions of the taverns beside us, whether or not we have the gold for a beer."""
    return [direction for direction in range(1, 5) if tile_beside(view, direction) == TAVERN]


def foreign_mines(view: View) -> NDArray[np.int64]:
    """Return the squares of all mines that are not ours, as int64."""
    mines = view.map.mines
    tiles = view.cells[mines] & TILE_BITS
    foreign: NDArray[np.int64] = mines[tiles != MINE + 1 + view.me]
    return foreign


def is_broke(view: View) -> bool:
    """Return whether we can buy no beer now or later: we have too little gold, and no mine that earns any."""
    return view.gold < BEER_COST and view.mines == 0


def first_steps(view: View, goals: Sequence[int] | NDArray[np.int64], blocked: NDArray[np.uint8] = NOTHING_BLOCKED) -> list[int]:
    """Return the directions that begin a shortest way of ours to the nearest of `goals` (squares), or [] if there is none.

    Heroes and squares that are `blocked` (uint8[1024], 1 = keep out) block the way. If a goal is beside us, the move against it
    is a first step.
    """
    if len(goals) == 0:
        return []
    distances = distances_from(view.games, 0, np.array(goals, np.int64), blocked)
    steps = directions_in(next_steps(view.games, 0, view.me, distances, blocked))
    return [step for step in steps if step in view.moves]


def one_of(view: View, steps: list[int], salt: str) -> int:
    """Return one of several equally good directions, drawn at random from the game's seed, the turn and `salt`."""
    return steps[0] if len(steps) == 1 else steps[int(view.rng(salt).integers(len(steps)))]
