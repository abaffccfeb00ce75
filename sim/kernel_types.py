"""Types of kernels (compiled functions): for annotations, which people and mypy read, and for signatures, which numba reads.

numba ignores annotations. mypy knows no Python type with the fields of a record. So each kind of record has a name that stands
for `Any`. For mypy, an integer is an `int`. In compiled code, ``int64(x)`` is the cast that the value of a narrow field needs.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numba
import numpy as np
from numba import types
from numpy.typing import NDArray

if TYPE_CHECKING:
    int64 = int
    uint64 = int
    uintp = int
else:
    from numpy import int64 as int64, uint64 as uint64, uintp as uintp

#: Types of one record of `sim.game.GAME`, `sim.game.HERO`, `sim.game.UNDO`, `sim.events.EVENT_LOG`.
GameRecord = Any
HeroRecord = Any
UndoRecord = Any
EventLogRecord = Any

#: numba's types of writable arrays with one dimension.
BYTES, INT8S, INT16S = (types.Array(item, 1, "C") for item in (types.uint8, types.int8, types.int16))
INT64S, FLOATS = types.Array(types.int64, 1, "C"), types.Array(types.float64, 1, "C")

#: Number of bytes in a line of a processor's cache.
LINE = 64


def record(**fields: Any) -> np.dtype[np.void]:
    """Return the dtype of a record with these fields, in this order. A field is a dtype, or (dtype, length) for an array."""
    return np.dtype((np.record, list(fields.items())))


def aligned_zeros(count: int, item: Any) -> NDArray[Any]:
    """Return `count` zeros of dtype `item` that begin at a multiple of `LINE` bytes in memory.

    Kernels read rows of weights faster if no vector lies in two lines of a processor's cache.
    """
    size = count * np.dtype(item).itemsize
    room = np.zeros(size + LINE, np.uint8)
    first = -room.ctypes.data % LINE
    return room[first : first + size].view(item)


def array_of(item: np.dtype[np.void]) -> Any:
    """Return numba's type of a writable array with one dimension and items of dtype `item`."""
    return types.Array(numba.from_dtype(item), 1, "C")


def tuple_of(fields: Sequence[Any], kind: type = tuple) -> Any:
    """Return numba's type of a tuple whose fields have the types in `fields`. `kind` is `tuple`, or the class of a NamedTuple."""
    from_types: Any = types.BaseTuple.from_types  # numba does not annotate it
    return from_types(fields, kind)
