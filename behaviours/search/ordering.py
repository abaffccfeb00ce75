"""The order in which moves are tried: what the table says, killers, history (Schaeffer 1989)."""

from __future__ import annotations

import numpy as np

from sim.game import STRIDE
from sim.kernels import inlined, kernel

_WORD = np.uintp


@kernel
def rank(frame, memory, hero, pos, level, table_move):
    """Order the listed moves: the table's, the killers of this ply, then by history; ties keep their order."""
    count = np.int64(frame.count)
    for place in range(1, count):
        move = np.int64(frame.moves[place])
        mine = _worth_of(memory, hero, pos, level, table_move, move)
        slot = place
        while slot > 0 and _worth_of(memory, hero, pos, level, table_move, np.int64(frame.moves[slot - 1])) < mine:
            frame.moves[slot] = frame.moves[slot - 1]
            slot -= 1
        frame.moves[slot] = move


@inlined
def _worth_of(memory, hero, pos, level, table_move, move):
    if move == table_move:
        return np.int64(1) << 40
    if move == memory.killers[_WORD(2 * level)]:
        return np.int64(1) << 39
    if move == memory.killers[_WORD(2 * level + 1)]:
        return np.int64(1) << 38
    return np.int64(memory.history[_WORD((hero * 5 + move) * (STRIDE * STRIDE) + pos)])


@kernel
def credit(memory, hero, pos, level, move, depth):
    """A cut-off: remember the move as a killer of its ply and in the history."""
    if memory.killers[2 * level] != move:
        memory.killers[2 * level + 1] = memory.killers[2 * level]
        memory.killers[2 * level] = move
    place = (hero * 5 + move) * (STRIDE * STRIDE) + pos
    memory.history[place] = min(np.int64(memory.history[place]) + depth * depth, 1 << 28)
