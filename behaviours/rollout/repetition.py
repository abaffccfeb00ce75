"""Two models of heroes that do the same again. No policy of `behaviours.rollout.policy` predicts such heroes.

**Repeated moves**: if a hero made the same move on its last two turns on a square, it makes it there again, unless an enemy
is near. So do heroes that move back and forth or are stuck.

**Situations**: a hero makes the same move as the last time it was in the same situation, such as a hero that guards a tavern. The
situation of a hero is its square and strength, and the squares and strengths of the enemies near it. The strength of a hero is
the number of blows that kill it: its life divided by 20, rounded up. A hero without an enemy near has no situation.
"""

from __future__ import annotations

import numpy as np
from numba import types
from numpy.typing import NDArray

from behaviours.common.map_tables import MapRecord
from sim.game import BLOW, CELLS, MAX_LIFE, OFFSET, STAY, STRIDE, TAVERN
from sim.kernel_types import GameRecord, int64, uint64, uintp
from sim.kernels import inlined, kernel
from sim.rules import has_effect

#: The result of `effect` for a move that drinks, in any direction.
DRINKS = 5
#: A hero does not repeat moves if an enemy is at most this far away, in moves.
REPEAT_DISTANCE = 2
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


@inlined
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
        if other.crashed == 0 and tables.to_square[uintp(pos * CELLS + int64(other.pos))] <= REPEAT_DISTANCE:
            return int64(_NONE)
    return move


#: Largest distance of an enemy that is near, in moves.
SITUATION_DISTANCE = 3
#: Number of places per hero. A situation has one place. If two situations have the same place, the later one is kept.
PLACES = 256
#: The strength of each life.
_STRENGTH = ((np.arange(MAX_LIFE + 1) + BLOW - 1) // BLOW).astype(np.uint8)
#: Number of bits of a column.
_COLUMN_BITS = STRIDE.bit_length() - 1
#: Number of bits of a move, of a strength, and of a square with a strength.
_MOVE_BITS, _STRENGTH_BITS, _HERO_BITS = 3, 3, 13
#: Odd number with which situations are hashed: 2**64 divided by the golden ratio. The place is the upper 8 bits of the product.
_HASH, _HASH_SHIFT = 0x9E3779B97F4A7C15, 56
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
    situation = (pos << _STRENGTH_BITS) | int64(_STRENGTH[uintp(int64(own.life))])
    near = False
    for step in range(1, 4):
        enemy = game.hero[uintp((hero + step) & 3)]
        there = int64(enemy.pos)
        situation <<= _HERO_BITS
        # Squares that are farther apart than that many rows and columns need no look into the table, which is slow.
        apart = abs((there >> _COLUMN_BITS) - (pos >> _COLUMN_BITS)) + abs((there & STRIDE - 1) - (pos & STRIDE - 1))
        if apart <= SITUATION_DISTANCE and tables.to_square[uintp(pos * CELLS + there)] <= SITUATION_DISTANCE:
            near = True
            situation |= (there << _STRENGTH_BITS) | int64(_STRENGTH[uintp(int64(enemy.life))])
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


@inlined
def recalled_move(situations: NDArray[np.int64], game: GameRecord, tables: MapRecord, hero: int) -> int:
    """Return the move (0..4) that a hero made the last time it was in this situation. Return -1 if there is none."""
    situation = situation_of(game, tables, hero)
    if situation:
        entry = situations[uintp(hero), _place_of(situation)]
        if entry >> _MOVE_BITS == situation:
            return int64(entry & 7)
    return int64(_NONE)
