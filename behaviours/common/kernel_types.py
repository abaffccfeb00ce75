"""Types for the annotations of the traits' kernels: the types of `sim.kernel_types`, and the records of `behaviours`."""

from __future__ import annotations

from typing import Any

from sim.kernel_types import (
    GameRecord as GameRecord,
    HeroRecord as HeroRecord,
    UndoRecord as UndoRecord,
    int64 as int64,
    tuple_of as tuple_of,
    uint64 as uint64,
    uintp as uintp,
)

#: Types of one record of `behaviours.common.map_tables.MAP_TABLES` and of `behaviours.common.evaluation.WEIGHTS`.
MapRecord = Any
WeightsRecord = Any
