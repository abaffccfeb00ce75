"""What traits aim at: mines and taverns, the first steps to them, and the gold of the heroes at the end of the game.

Projections assume that the mines keep their owners.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from behaviours.base import View
from sim.game import BEER_COST, MINE, OFFSET, PLIES_PER_ROUND, TAVERN, TILE_BITS
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


def projected_gold(view: View) -> list[int]:
    """Return the gold of heroes 0..3 (also absent ones) at the end of the game, if mines keep their owners and no hero drinks.

    Each move that a hero still makes earns it one gold per mine. Our move on this turn counts. The result is computed once per
    turn.
    """

    def compute() -> list[int]:
        heroes = view.games["hero"][0]
        left = max(0, int(view.games["max_turns"].item(0)) - view.turn)
        plies = [max(0, left - (hero - view.turn) % PLIES_PER_ROUND + 3) // PLIES_PER_ROUND for hero in range(4)]
        owned = zip(heroes["gold"].tolist(), heroes["mines"].tolist(), plies, strict=True)
        return [gold + mines * moves for gold, mines, moves in owned]

    return view.shared("projected gold", compute)


def rival(view: View) -> int | None:
    """Return the enemy (0..3) with the most projected gold, or None if there are no enemies.

    If several enemies have the most gold, return the enemy with the most mines among them. If these are equal too, the lowest
    index counts.
    """
    gold, mines = projected_gold(view), view.games["hero"]["mines"][0].tolist()
    return max(view.enemies, key=lambda enemy: (gold[enemy], mines[enemy], -enemy), default=None)


def lead(view: View) -> int:
    """Return our projected gold minus the projected gold of the `rival`. Without enemies, return our projected gold."""
    best = rival(view)
    return projected_gold(view)[view.me] - (projected_gold(view)[best] if best is not None else 0)
