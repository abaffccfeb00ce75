"""The search's memory: what each node of its stack, its table, its task and its ordering hold, as numpy records."""

from __future__ import annotations

import numba
import numpy as np
from numba import types

from sim.game import STRIDE

PARANOID, BEST_REPLY, BEST_REPLY_PLUS = range(3)

#: More than any score.
INFINITE = 1 << 29
#: Plies from the root to the deepest node, quiescence included.
MAX_PLY = 96
#: Longest principal variation that is kept.
MAX_LINE = 24
#: Nodes between two looks at the stop word.
STOP_MASK = 255

# What an entry of the table knows about its score.
EXACT, AT_LEAST, AT_MOST = range(3)

#: One entry of the transposition table: 16 bytes. Those of another `age` (search) are as good as empty.
ENTRY = np.dtype((np.record, [("key", "u8"), ("value", "i4"), ("depth", "u1"), ("bound", "u1"), ("move", "u1"), ("age", "u1")]))
#: One level of the stack.
FRAME = np.dtype(
    (
        np.record,
        [
            ("hash", "u8"),
            ("key", "u8"),
            ("alpha", "i4"),
            ("beta", "i4"),
            ("from_alpha", "i4"),
            ("from_beta", "i4"),
            ("best", "i4"),
            ("left", "i2"),
            ("calm", "i2"),
            ("count", "i1"),
            ("cursor", "i1"),
            ("best_move", "i1"),
            ("default", "i1"),
            ("maximises", "u1"),
            ("deviated", "u1"),
            ("fallen", "u1"),
            ("kept", "u1"),
            ("moves", "u1", 5),
            ("line_length", "i2"),
            ("line", "u1", MAX_LINE),
        ],
    )
)
#: What a search is told, and what it tells: `nodes` counts up to `limit`; `cut` its cut-offs, `tries` the moves made at nodes
#: with a choice, `choices` these nodes.
TASK = np.dtype(
    (
        np.record,
        [
            ("me", "i8"),
            ("active", "i8"),
            ("mode", "i8"),
            ("quiescence", "i8"),
            ("death", "i8"),
            ("nodes", "i8"),
            ("limit", "i8"),
            ("age", "i8"),
            ("table", "i8"),
            ("cut", "i8"),
            ("hits", "i8"),
            ("choices", "i8"),
            ("aborted", "i8"),
            ("line_length", "i8"),
            ("line", "u1", MAX_LINE),
        ],
    )
)
#: Ordering: by ply two killers; by hero, square and direction the history.
MEMORY = np.dtype((np.record, [("killers", "i1", 2 * MAX_PLY), ("history", "i4", 4 * 5 * STRIDE * STRIDE)]))

FRAMES = numba.types.Array(numba.from_dtype(FRAME), 1, "C")
TASKS = numba.types.Array(numba.from_dtype(TASK), 1, "C")
TABLE = numba.types.Array(numba.from_dtype(ENTRY), 1, "C")
MEMORIES = numba.types.Array(numba.from_dtype(MEMORY), 1, "C")
STOP = types.Array(types.int64, 1, "C")
