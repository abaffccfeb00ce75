"""Types for the annotations of kernels.

numba ignores annotations; they are for people and mypy. Records have no Python type whose fields mypy knows, so they are `Any`
by a name. Integers are `int` to mypy: ``int64(x)`` is the cast that compiled code needs after it has read a narrow field.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from numba import types

if TYPE_CHECKING:
    int64 = int
    uint64 = int
    uintp = int
else:
    from numpy import int64, uint64, uintp

#: One record of `sim.game.GAME`, `sim.game.HERO`, `sim.game.UNDO`, `sim.events.EVENT_LOG`.
GameRecord = Any
HeroRecord = Any
UndoRecord = Any
EventLogRecord = Any

__all__ = ["EventLogRecord", "GameRecord", "HeroRecord", "UndoRecord", "int64", "tuple_of", "uint64", "uintp"]


def tuple_of(fields: Sequence[Any], kind: type = tuple) -> Any:
    """numba's type of a tuple with fields of these types; of a NamedTuple, if `kind` is its class."""
    from_types: Any = types.BaseTuple.from_types  # numba does not annotate it
    return from_types(fields, kind)
