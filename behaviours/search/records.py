"""Memory of the search in one numpy record: task, stack, transposition table, move ordering.

The order of moves: the move of the transposition table, then killers, then history (Schaeffer 1989).
"""

from __future__ import annotations

from typing import Any

import numba
import numpy as np
from numba import types

from sim.game import STRIDE, UNDO
from sim.kernel_types import int64, tuple_of, uintp
from sim.kernels import inlined, kernel

PARANOID, BEST_REPLY, BEST_REPLY_PLUS = range(3)

#: Larger than any score.
INFINITE = 1 << 29
#: Largest number of plies from the root to a node, quiescence included.
MAX_PLY = 96
#: Plies of the longest principal variation that is stored.
MAX_PV = 24
#: The search reads the stop word when these bits of the node count are 0: once every 256 nodes.
STOP_MASK = 255
#: Number of entries of the transposition table: a power of two.
TABLE_SIZE = 1 << 18

# Kinds of scores in the table: exact, or a bound.
EXACT, LOWER, UPPER = range(3)

#: One entry of the transposition table: 16 bytes. An entry of another `age` (search) counts as empty.
ENTRY = np.dtype((np.record, [("key", "u8"), ("value", "i4"), ("depth", "u1"), ("bound", "u1"), ("move", "u1"), ("age", "u1")]))
#: One node on the stack. (`alpha`, `beta`) is its window now, (`first_alpha`, `first_beta`) its window at the beginning. `depth`
#: is the number of plies to the horizon, `quiescence` the number of plies that a fight may be followed beyond it.
#: ``moves[cursor:count]`` are the moves not tried yet. `deviated` says whether an opponent made another move than its
#: `default_move` in this round. `deaths` is the number of our deaths on the way here. `stored` says whether the result goes into
#: the table, under `key`.
FRAME = np.dtype(
    (
        np.record,
        [("hash", "u8"), ("key", "u8")]
        + [(name, "i4") for name in ("alpha", "beta", "first_alpha", "first_beta", "best")]
        + [(name, "i2") for name in ("depth", "quiescence")]
        + [(name, "i1") for name in ("count", "cursor", "best_move", "default_move")]
        + [(name, "u1") for name in ("maximises", "deviated", "deaths", "stored")]
        + [("moves", "u1", 5), ("pv_length", "i2"), ("pv", "u1", MAX_PV)],
    )
)
#: The task of a search. Input: hero `me`, `active` opponents (a set, bit h is hero h), `mode`, `quiescence`, `death` (see
#: `behaviours.search.deepening.SearchParams`), whether there is a `table`, the largest number of nodes (`limit`), and the `age`
#: for the entries of the table. Output: `nodes`, counted from the beginning of the search, and `aborted` (1: the search ended
#: before the result was known).
TASK_FIELDS = ("me", "active", "mode", "quiescence", "death", "table", "limit", "age", "nodes", "aborted")
TASK = np.dtype((np.record, [(name, "i8") for name in TASK_FIELDS]))
#: The memory of move ordering: two killers per ply, and the history by hero, direction and square.
MEMORY = np.dtype((np.record, [("killers", "i1", 2 * MAX_PLY), ("history", "i4", 4 * 5 * STRIDE * STRIDE)]))
#: The whole memory of a search. It is one record, so that kernels pass it on as one pointer.
WORK = np.dtype(
    (
        np.record,
        [
            ("task", TASK),
            ("frames", FRAME, MAX_PLY + 1),
            ("undos", UNDO, MAX_PLY + 1),
            ("memory", MEMORY),
            ("table", ENTRY, TABLE_SIZE),
        ],
    )
)

#: numba's types of an array of one `WORK` record, of the stop word, and of a window (alpha, beta).
WORKS = types.Array(numba.from_dtype(WORK), 1, "C")
STOP = types.Array(types.int64, 1, "C")
WINDOW = tuple_of([types.int64, types.int64])

#: Types of one record of `FRAME`, `TASK`, `MEMORY`, `WORK`.
FrameRecord = Any
TaskRecord = Any
MemoryRecord = Any
WorkRecord = Any


@kernel
def sort_moves(frame: FrameRecord, memory: MemoryRecord, hero: int, pos: int, level: int, table_move: int) -> None:
    """Sort the moves of a node: `table_move`, the killers of this ply, then the others by history. The sort is stable."""
    count = int64(frame.count)
    for place in range(1, count):
        move = int64(frame.moves[place])
        priority: int = _priority_of(memory, hero, pos, level, table_move, move)
        slot = place
        while slot > 0 and _priority_of(memory, hero, pos, level, table_move, int64(frame.moves[slot - 1])) < priority:
            frame.moves[slot] = frame.moves[slot - 1]
            slot -= 1
        frame.moves[slot] = move


@inlined
def _priority_of(memory: MemoryRecord, hero: int, pos: int, level: int, table_move: int, move: int) -> int:
    if move == table_move:
        return int64(1) << 40
    if move == memory.killers[uintp(2 * level)]:
        return int64(1) << 39
    if move == memory.killers[uintp(2 * level + 1)]:
        return int64(1) << 38
    return int64(memory.history[uintp((hero * 5 + move) * (STRIDE * STRIDE) + pos)])


@kernel
def record_cutoff(memory: MemoryRecord, hero: int, pos: int, level: int, move: int, depth: int) -> None:
    """Make a move that caused a cut-off a killer of its ply, and raise its history by the square of `depth`."""
    if memory.killers[2 * level] != move:
        memory.killers[2 * level + 1] = memory.killers[2 * level]
        memory.killers[2 * level] = move
    place = (hero * 5 + move) * (STRIDE * STRIDE) + pos
    memory.history[place] = min(int64(memory.history[place]) + depth * depth, 1 << 28)
