"""Repeated moves: a hero that made the same move twice on a square makes it again there, if no hero is near.

This predicts a hero that steps to and fro or is stuck. No other policy does.
"""

from __future__ import annotations

import numpy as np
from numba import types
from numpy.typing import NDArray

from behaviours.common.kernel_types import GameRecord, MapRecord, int64, uintp
from sim.game import CELLS, OFFSET, STAY, TAVERN
from sim.kernels import kernel
from sim.rules import has_effect

#: Effect of a move that drinks, whatever its direction.
DRINKS = 5
#: Distance of an enemy within which a hero does not repeat moves, in moves.
NEAR = 2
#: Entry of a square without a move, and number added to a move that was made there once.
_NONE, _ONCE = -1, 8

#: numba's name for the repeated moves of four heroes.
REPEATS = types.Array(types.int8, 2, "C")


def no_repeats() -> NDArray[np.int8]:
    """Return an empty memory of the moves of four heroes by square: int8[4, `CELLS`]."""
    return np.full((4, CELLS), _NONE, np.int8)


@kernel
def effect(game: GameRecord, hero: int, move: int) -> int:
    """Return the effect of a move: the move itself, `DRINKS`, or `STAY` if it has no effect."""
    if not has_effect(game, hero, move):
        return int64(STAY)
    there = int64(game.cell[uintp(int64(game.hero[hero].pos) + OFFSET[uintp(move)])])
    return int64(DRINKS) if there == TAVERN else int64(move)


@kernel
def remember(repeats: NDArray[np.int8], game: GameRecord, hero: int, move: int) -> None:
    """Note the move of a hero on its square: as a repeated move, if it is the same as the last one there."""
    pos = uintp(int64(game.hero[hero].pos))
    done = int64(STAY) if effect(game, hero, move) == STAY else move
    known = int64(repeats[hero, pos])
    repeats[hero, pos] = done if known == done or known == done + _ONCE else done + _ONCE


@kernel
def repeated_move(game: GameRecord, tables: MapRecord, repeats: NDArray[np.int8], hero: int) -> int:
    """Return the hero's repeated move (0..4) on its square; -1 without one, near an enemy, or if it has no effect."""
    pos = int64(game.hero[hero].pos)
    move = int64(repeats[hero, uintp(pos)])
    if move < 0 or move >= _ONCE or (move != STAY and effect(game, hero, move) == STAY):
        return int64(_NONE)
    for step in range(1, 4):
        other = game.hero[uintp((hero + step) & 3)]
        if other.crashed == 0 and tables.to_square[uintp(pos * CELLS + int64(other.pos))] <= NEAR:
            return int64(_NONE)
    return move
