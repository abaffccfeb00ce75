"""The search's memory: its question, its stack, its transposition table and its move ordering, as one numpy record."""

from __future__ import annotations

from typing import Any

import numba
import numpy as np
from numba import types

from behaviours.common.kernel_types import tuple_of
from sim.game import STRIDE, UNDO

PARANOID, BEST_REPLY, BEST_REPLY_PLUS = range(3)

#: More than any score.
INFINITE = 1 << 29
#: Plies from the root to the deepest node, quiescence included.
MAX_PLY = 96
#: Longest principal variation that is kept.
MAX_PV = 24
#: Nodes between two looks at the stop word.
STOP_MASK = 255
#: Entries of the transposition table: a power of two.
TABLE_SIZE = 1 << 18

# What an entry of the table knows about its score: it is exact, or a bound.
EXACT, LOWER, UPPER = range(3)

#: One entry of the transposition table: 16 bytes. An entry of another `age` (search) is as good as empty.
ENTRY = np.dtype((np.record, [("key", "u8"), ("value", "i4"), ("depth", "u1"), ("bound", "u1"), ("move", "u1"), ("age", "u1")]))
#: One node on the stack. (`alpha`, `beta`) is its window now and (`first_alpha`, `first_beta`) as it was entered; `left` the
#: plies to the horizon, `quiescence` those that a fight may still be followed beyond it; ``moves[cursor:count]`` are not tried
#: yet. `usual` is the move of a hero that does nothing special, `deviated` whether an opponent made another one in this round,
#: `deaths` how often we died on the way here, `stored` whether the result goes into the table (as `key`).
FRAME = np.dtype(
    (
        np.record,
        [
            ("hash", "u8"),
            ("key", "u8"),
            ("alpha", "i4"),
            ("beta", "i4"),
            ("first_alpha", "i4"),
            ("first_beta", "i4"),
            ("best", "i4"),
            ("left", "i2"),
            ("quiescence", "i2"),
            ("count", "i1"),
            ("cursor", "i1"),
            ("best_move", "i1"),
            ("usual", "i1"),
            ("maximises", "u1"),
            ("deviated", "u1"),
            ("deaths", "u1"),
            ("stored", "u1"),
            ("moves", "u1", 5),
            ("pv_length", "i2"),
            ("pv", "u1", MAX_PV),
        ],
    )
)
#: What a search is told, and what it tells: `nodes` counts up to `limit`, `aborted` is 1 when it was cut short.
TASK = np.dtype(
    (
        np.record,
        [
            ("me", "i8"),
            ("active", "i8"),
            ("mode", "i8"),
            ("quiescence", "i8"),
            ("death", "i8"),
            ("limit", "i8"),
            ("age", "i8"),
            ("table", "i8"),
            ("nodes", "i8"),
            ("aborted", "i8"),
            ("pv_length", "i8"),
            ("pv", "u1", MAX_PV),
        ],
    )
)
#: Move ordering: two killers per ply; the history by hero, direction and square.
MEMORY = np.dtype((np.record, [("killers", "i1", 2 * MAX_PLY), ("history", "i4", 4 * 5 * STRIDE * STRIDE)]))
#: All that a search writes to. One record is one pointer: kernels pass it to each other for nothing.
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

#: numba's names for an array of works, for the stop word and for a window (alpha, beta).
WORKS = types.Array(numba.from_dtype(WORK), 1, "C")
STOP = types.Array(types.int64, 1, "C")
WINDOW = tuple_of([types.int64, types.int64])

#: One record of `FRAME`, `TASK`, `MEMORY`, `WORK`.
FrameRecord = Any
TaskRecord = Any
MemoryRecord = Any
WorkRecord = Any
