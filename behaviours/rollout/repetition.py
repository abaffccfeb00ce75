"""Habits: whoever did the same twice on a square does so again when he stands there next, as long as nobody comes near.

No style foretells a hero who waits by stepping to and fro, or one who is stuck; what he did in the last rounds does.
"""

from __future__ import annotations

import numpy as np
from numba import types
from numpy.typing import NDArray

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
HABITS = types.Array(types.int8, 2, "C")
_WORD = np.uintp


def no_habits() -> NDArray[np.int8]:
    """Habits of four heroes before anything is known of them: int8[4, `CELLS`]."""
    return np.full((4, CELLS), _NONE, np.int8)


@kernel
def effect(game, hero, order):
    """What an order comes to: itself, `DRINKS`, or `STAY` where it does nothing."""
    if not has_effect(game, hero, order):
        return np.int64(STAY)
    there = np.int64(game.cell[_WORD(np.int64(game.hero[hero].pos) + OFFSET[_WORD(order)])])
    return np.int64(DRINKS) if there == TAVERN else np.int64(order)


@kernel
def remember(habits, game, hero, order):
    """Note what a hero does where he stands: a habit, if it is what he did there the last time."""
    pos = _WORD(np.int64(game.hero[hero].pos))
    done = np.int64(STAY) if effect(game, hero, order) == STAY else order
    known = np.int64(habits[hero, pos])
    habits[hero, pos] = done if known == done or known == done + _ONCE else done + _ONCE


@kernel
def habitual_order(game, ground, habits, hero):
    """The order (0..4) that is the hero's habit where he stands; -1 without one, near enemies, or if it would do nothing."""
    pos = np.int64(game.hero[hero].pos)
    order = np.int64(habits[hero, _WORD(pos)])
    if order < 0 or order >= _ONCE or (order != STAY and effect(game, hero, order) == STAY):
        return np.int64(_NONE)
    for step in range(1, 4):
        other = game.hero[_WORD((hero + step) & 3)]
        if other.crashed == 0 and ground.to_square[_WORD(pos * CELLS + np.int64(other.pos))] <= NEAR:
            return np.int64(_NONE)
    return order
