"""Types for the annotations of the traits' kernels: those of `sim.kernel_types`, and the records of `behaviours`."""

from __future__ import annotations

from typing import Any

from sim.kernel_types import GameRecord, HeroRecord, UndoRecord, int64, tuple_of, uint64, uintp

#: One record of `behaviours.common.map_tables.MAP_TABLES`, `behaviours.common.evaluation.WEIGHTS`.
MapRecord = Any
WeightsRecord = Any

__all__ = ["GameRecord", "HeroRecord", "MapRecord", "UndoRecord", "WeightsRecord", "int64", "tuple_of", "uint64", "uintp"]
