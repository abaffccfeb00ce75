"""Situations: a model of heroes that do the same again in the same place, such as a hero that guards a tavern.

The **situation** of a hero is its square and its strength, and the squares and strengths of the enemies near it. The strength of
a hero is the number of blows that kill it: its life divided by 20, rounded up. The model predicts that a hero makes the same move
as the last time it was in the same situation. A hero without an enemy near has no situation.
"""

from __future__ import annotations

import numpy as np
from numba import types
from numpy.typing import NDArray

from behaviours.common.kernel_types import GameRecord, MapRecord, int64, uint64, uintp
from sim.game import CELLS, STRIDE
from sim.kernels import kernel

#: Largest distance of an enemy that is near, in moves.
NEAR = 3
#: Number of places per hero. A situation has one place. If two situations have the same place, the later one is kept.
PLACES = 256
#: Number of bits of a move, of a strength, and of a square with a strength.
_MOVE_BITS, _STRENGTH_BITS, _HERO_BITS = 3, 3, 13
#: Odd number with which situations are hashed: 2**64 divided by the golden ratio. The place is the upper 8 bits of the product.
_HASH, _HASH_SHIFT = 0x9E3779B97F4A7C15, 56
#: The result of `recalled_move` for a hero that was not in its situation before.
_NONE = -1

#: numba's type of the situations of four heroes.
SITUATIONS = types.Array(types.int64, 2, "C")


def no_situations() -> NDArray[np.int64]:
    """Return an array for the situations and moves of four heroes, without any: int64[4, `PLACES`]."""
    return np.zeros((4, PLACES), np.int64)


@kernel
def situation_of(game: GameRecord, tables: MapRecord, hero: int) -> int:
    """Return the situation of a hero as a number above 0, or 0 if no enemy is near.

    The number has 13 bits per hero, first the hero itself: ten bits for its square and three bits for its strength. They are 0
    for an enemy that is not near.
    """
    own = game.hero[uintp(hero)]
    pos = int64(own.pos)
    situation = (pos << _STRENGTH_BITS) | ((int64(own.life) + 19) // 20)
    near = False
    for step in range(1, 4):
        enemy = game.hero[uintp((hero + step) & 3)]
        there = int64(enemy.pos)
        situation <<= _HERO_BITS
        # Squares that are farther apart than NEAR rows and columns need no look into the table, which is slow.
        apart = abs(there // STRIDE - pos // STRIDE) + abs(there % STRIDE - pos % STRIDE)
        if apart <= NEAR and tables.to_square[uintp(pos * CELLS + there)] <= NEAR:
            near = True
            situation |= (there << _STRENGTH_BITS) | ((int64(enemy.life) + 19) // 20)
    return situation if near else int64(0)


@kernel
def _place_of(situation: int) -> int:
    return uintp((uint64(situation) * uint64(_HASH)) >> uint64(_HASH_SHIFT))


@kernel
def note_move(situations: NDArray[np.int64], game: GameRecord, tables: MapRecord, hero: int, move: int) -> None:
    """Store the move (0..4) of a hero for its situation."""
    situation = situation_of(game, tables, hero)
    if situation:
        situations[uintp(hero), _place_of(situation)] = (situation << _MOVE_BITS) | move


@kernel
def recalled_move(situations: NDArray[np.int64], game: GameRecord, tables: MapRecord, hero: int) -> int:
    """Return the move (0..4) that a hero made the last time it was in this situation. Return -1 if there is none."""
    situation = situation_of(game, tables, hero)
    if situation:
        entry = situations[uintp(hero), _place_of(situation)]
        if entry >> _MOVE_BITS == situation:
            return int64(entry & 7)
    return int64(_NONE)
