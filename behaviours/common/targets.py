"""What the traits that go somewhere share: which mines are worth going to, and the first steps of shortest ways."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from behaviours.base import View
from sim.game import AIR, BEER_COST, MINE, MINE_COST, OFFSET, STAY, TAVERN, TILE_BITS
from sim.paths import NOTHING_BLOCKED, distances_from, next_steps


def directions_in(mask: int) -> list[int]:
    """The directions of a set (bit d is direction d), in their order."""
    return [direction for direction in range(5) if mask >> direction & 1]


def tile_beside(view: View, direction: int) -> int:
    """The tile code (`sim.game`) of the square next to ours in a direction, whoever stands there."""
    return int(view.cells[view.pos + int(OFFSET[direction])]) & TILE_BITS


def taverns_beside(view: View) -> list[int]:
    """The directions in which a tavern is next to us, whether we can pay or not."""
    return [direction for direction in range(1, 5) if tile_beside(view, direction) == TAVERN]


def foreign_mines(view: View) -> NDArray[np.int64]:
    """The squares of all mines that are not ours: nobody's, other heroes', and those of owners who are no heroes."""
    mines = view.map.mines
    tiles = view.cells[mines] & TILE_BITS
    foreign: NDArray[np.int64] = mines[tiles != MINE + 1 + view.me]
    return foreign


def dies_on_mine(view: View, direction: int) -> bool:
    """Whether we would die of the goblin by attacking the mine in a direction (False for what is no foreign mine)."""
    tile = tile_beside(view, direction) if direction != STAY else AIR
    return view.life <= MINE_COST and MINE <= tile != MINE + 1 + view.me and direction in view.moves


def is_broke(view: View) -> bool:
    """Whether no beer can be had any more: not enough gold for one, and no mine that earns any."""
    return view.gold < BEER_COST and view.mines == 0


def first_steps(view: View, goals: Sequence[int] | NDArray[np.int64], blocked: NDArray[np.uint8] = NOTHING_BLOCKED) -> list[int]:
    """The directions that begin a shortest way of ours to the nearest of `goals` (squares); empty if there is no way.

    Heroes are in the way, and so are squares that are `blocked` (uint8[1024], 1 = keep out). A goal beside us is a step.
    """
    if len(goals) == 0:
        return []
    distances = distances_from(view.games, 0, np.array(goals, np.int64), blocked)
    steps = directions_in(next_steps(view.games, 0, view.me, distances, blocked))
    return [step for step in steps if step in view.moves]


def one_of(view: View, steps: list[int], salt: str) -> int:
    """One of several equally good directions, drawn from the game's seed, the turn and `salt`."""
    return steps[0] if len(steps) == 1 else steps[int(view.rng(salt).integers(len(steps)))]
