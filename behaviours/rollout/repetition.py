"""Habits: whoever did the same twice on a square does so again when he stands there next, as long as nobody comes near.

No policy predicts a hero that waits by stepping to and fro, or that is stuck; its moves of the last rounds do.
"""

from __future__ import annotations

import numpy as np
from numba import types
from numpy.typing import NDArray

from behaviours.common.kernel_types import GameRecord, MapRecord, int64, uintp
from sim.game import CELLS, OFFSET, STAY, TAVERN
from sim.kernels import kernel
from sim.rules import has_effect

#: What an order does when it drinks: whichever tavern it was.
DRINKS = 5
#: Enemies at most this many moves away make a hero forget his habits.
NEAR = 2
#: Of a square without habits, and added to an order that was seen there once.
_NONE, _ONCE = -1, 8

#: numba's name for the habits of four heroes.
REPEATS = types.Array(types.int8, 2, "C")


def no_repeats() -> NDArray[np.int8]:
    """Habits of four heroes before anything is known of them: int8[4, `CELLS`]."""
    return np.full((4, CELLS), _NONE, np.int8)


@kernel
def effect(game: GameRecord, hero: int, move: int) -> int:
    """What an order comes to: itself, `DRINKS`, or `STAY` where it does nothing."""
    if not has_effect(game, hero, move):
        return int64(STAY)
    there = int64(game.cell[uintp(int64(game.hero[hero].pos) + OFFSET[uintp(move)])])
    return int64(DRINKS) if there == TAVERN else int64(move)


@kernel
def remember(repeats: NDArray[np.int8], game: GameRecord, hero: int, move: int) -> None:
    """Note what a hero does where he stands: a habit, if it is what he did there the last time."""
    pos = uintp(int64(game.hero[hero].pos))
    done = int64(STAY) if effect(game, hero, move) == STAY else move
    known = int64(repeats[hero, pos])
    repeats[hero, pos] = done if known == done or known == done + _ONCE else done + _ONCE


@kernel
def repeated_move(game: GameRecord, tables: MapRecord, repeats: NDArray[np.int8], hero: int) -> int:
    """The order (0..4) that is the hero's habit where he stands; -1 without one, near enemies, or if it would do nothing."""
    pos = int64(game.hero[hero].pos)
    move = int64(repeats[hero, uintp(pos)])
    if move < 0 or move >= _ONCE or (move != STAY and effect(game, hero, move) == STAY):
        return int64(_NONE)
    for step in range(1, 4):
        other = game.hero[uintp((hero + step) & 3)]
        if other.crashed == 0 and tables.to_square[uintp(pos * CELLS + int64(other.pos))] <= NEAR:
            return int64(_NONE)
    return move
