"""One-hot tables: the value of a hero's mines, life and distances, learned from games instead of given by a formula.

Each feature is divided into bins, and the rounds left are divided into bins, too. A table has one entry per pair of bins: the
gold per round left that a hero gains if the feature lies in this bin. The value of a hero is the sum of the entries of all
features, times the number of rounds left. `vindibot tune fit` learns the entries from recorded games.
"""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from pydantic import BaseModel, ConfigDict, Field, FiniteFloat, ValidationInfo, field_validator, model_validator

from behaviours.common.map_tables import MAX_MINES
from sim.game import MAX_LIFE

#: The largest value of each bin, by feature: life, number of own mines, distance to the nearest tavern, and distance to the
#: nearest mine that the hero does not own. Larger values are in one more bin.
BINS = {
    "life": (20, 30, 40, 50, 60, 70, 80, 90, 99),
    "mines": (0, 1, 2, 3, 4, 5, 6, 8, 10, 14),
    "tavern": (1, 2, 3, 5, 8, 12),
    "mine": (1, 2, 3, 5, 8, 12),
}
#: The features of the net worth. The other features are distances, which only the evaluation of the search has.
NET_WORTH_FEATURES = ("life", "mines")
#: The largest number of rounds left in each bin of the rounds left. Larger numbers are in one more bin.
LEFT_BINS = (5, 15, 30, 60, 100, 150, 200)
#: Number of rows of a table.
ROWS = len(LEFT_BINS) + 1
#: The tables cover at most this number of own plies left. More plies count as this number.
MAX_PLIES = 512
#: Distances above this number count as this number.
FAR = 15
#: Number of values of each feature in a compiled table.
_SIZES = {"life": MAX_LIFE + 1, "mines": MAX_MINES + 1, "tavern": FAR + 1, "mine": FAR + 1}
#: Fields of a record with compiled tables: whether there are tables (`one_hot`), whether distances have tables (`distances`), the
#: bin of each number of plies left, and a table per feature with one row per bin of the rounds left.
ONE_HOT_FIELDS: dict[str, Any] = {"one_hot": "u1", "distances": "u1", "left_bin": ("u1", MAX_PLIES + 1)} | {
    f"{name}_gain": ("f8", ROWS * size) for name, size in _SIZES.items()
}

_Table = tuple[tuple[FiniteFloat, ...], ...]


class OneHotTables(BaseModel):
    """Tables with one row per bin of the rounds left (`LEFT_BINS`) and one column per bin of the feature (`BINS`).

    An entry is in gold per round left. The tables of distances (`tavern` and `mine`) may both be missing.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    life: _Table = Field(max_length=ROWS, description="gold per round left, by the life of the hero")
    mines: _Table = Field(max_length=ROWS, description="gold per round left, by the number of own mines")
    tavern: _Table = Field((), max_length=ROWS, description="gold per round left, by the distance to the nearest tavern")
    mine: _Table = Field((), max_length=ROWS, description="gold per round left, by the distance to the nearest mine of others")

    @field_validator(*BINS)
    @classmethod
    def _check_shape(cls, table: _Table, info: ValidationInfo) -> _Table:
        rows, columns = ROWS, len(BINS[str(info.field_name)]) + 1
        if table and (len(table) != rows or any(len(row) != columns for row in table)):
            raise ValueError(f"must have {rows} rows of {columns} numbers")
        return table

    @model_validator(mode="after")
    def _check_missing(self) -> Self:
        if not self.life or not self.mines or bool(self.tavern) != bool(self.mine):
            raise ValueError("life and mines must have tables, and either both tavern and mine or none of them")
        return self

    def compiled(self) -> dict[str, Any]:
        """Return the values of `ONE_HOT_FIELDS` by name."""
        fields: dict[str, Any] = {"one_hot": 1, "distances": bool(self.tavern)}
        fields["left_bin"] = np.searchsorted(LEFT_BINS, np.arange(MAX_PLIES + 1))
        for name, size in _SIZES.items():
            if getattr(self, name):
                table = np.array(getattr(self, name))
                fields[f"{name}_gain"] = table[:, np.searchsorted(BINS[name], np.arange(size))].ravel()
        return fields
