"""The results of exchanges of blows between two heroes with given lives, for Python code."""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from behaviours.common.duel import duel_table
from sim.game import MAX_LIFE


@lru_cache(maxsize=1)
def _table() -> NDArray[np.uint8]:
    table = duel_table()
    table.flags.writeable = False
    return table


def wins(striker: int, other: int) -> bool:
    """Return whether the striker, which strikes first, wins an exchange without a tavern. The arguments are lives, 1..100."""
    return bool(_table()[striker * (MAX_LIFE + 1) + other])
