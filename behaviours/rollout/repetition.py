"""Repeated moves: a model of heroes that move back and forth or are stuck.

If a hero made the same move on its last two turns on a square, the model predicts this move there again, unless an enemy is near.
No policy of `behaviours.rollout.policy_params` predicts such a hero.
"""

from __future__ import annotations

import numpy as np
from numba import types
from numpy.typing import NDArray

from behaviours.common.kernel_types import GameRecord, MapRecord, int64, uintp
from sim.game import CELLS, OFFSET, STAY, TAVERN
from sim.kernels import kernel
from sim.rules import has_effect

#: The result of `effect` for a move that drinks, in any direction.
DRINKS = 5
#: A hero does not repeat moves if an enemy is at most this far away, in moves.
NEAR = 2
#: Entry of a square where no move was made, and number added to a move that was made there only once.
_NONE, _ONCE = -1, 8

#: numba's type of the repeated moves of four heroes.
REPEATS = types.Array(types.int8, 2, "C")


def no_repeats() -> NDArray[np.int8]:
    """Return an array for repeated moves by hero and square, without any move: int8[4, `CELLS`]."""
    return np.full((4, CELLS), _NONE, np.int8)


@kernel
def effect(game: GameRecord, hero: int, move: int) -> int:
    """Return the effect of a move: the move itself, `DRINKS` for a drink, or `STAY` for a move without an effect."""
    if not has_effect(game, hero, move):
        return int64(STAY)
    there = int64(game.cell[uintp(int64(game.hero[hero].pos) + OFFSET[uintp(move)])])
    return int64(DRINKS) if there == TAVERN else int64(move)


@kernel
def remember(repeats: NDArray[np.int8], game: GameRecord, hero: int, move: int) -> None:
    """Store the move of a hero for its square. A move that equals the last move there becomes a repeated move."""
    pos = uintp(int64(game.hero[hero].pos))
    done = int64(STAY) if effect(game, hero, move) == STAY else move
    known = int64(repeats[hero, pos])
    repeats[hero, pos] = done if known == done or known == done + _ONCE else done + _ONCE


@kernel
def repeated_move(game: GameRecord, tables: MapRecord, repeats: NDArray[np.int8], hero: int) -> int:
    """Return the hero's repeated move (0..4) on its square.

    Return -1 if there is none, if the move has no effect now, or if an enemy is near.
    """
    pos = int64(game.hero[hero].pos)
    move = int64(repeats[hero, uintp(pos)])
    if move < 0 or move >= _ONCE or (move != STAY and effect(game, hero, move) == STAY):
        return int64(_NONE)
    for step in range(1, 4):
        other = game.hero[uintp((hero + step) & 3)]
        if other.crashed == 0 and tables.to_square[uintp(pos * CELLS + int64(other.pos))] <= NEAR:
            return int64(_NONE)
    return move
