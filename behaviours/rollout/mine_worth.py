"""The worth of a mine in this game: a mine that changed hands often so far will soon change hands again.

A mine is lost at the rate r = (1 + changes) / (keep + rounds owned): how often it changed hands so far (`sim.past`), and a prior
of one change in `keep` rounds. With R rounds left, it is kept for (1 - exp(-r R)) / r rounds on average. Its worth is this
number, divided by the same number for the rate 1 / `keep` (`behaviours.common.evaluation`).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from behaviours.base import View


def mine_worth(view: View, keep: float) -> NDArray[np.float64]:
    """Return the worth of a mine on each square: float64[1024], 1 for a mine that was kept as long as usual.

    `keep` is the number of rounds that a mine is kept on average. On squares without a mine, and without rounds left, it is 1.
    """
    left = view.rounds_left
    if not left:
        return np.ones(len(view.cells))
    rate = (1.0 + view.past["changes"]) / (keep + view.past["owned"])
    return _rounds_owned(rate, left) / _rounds_owned(np.array(1.0 / keep), left)


def _rounds_owned(rate: NDArray[np.float64], left: int) -> NDArray[np.float64]:
    """Return the rounds, of `left`, for which a mine is kept that is lost at the rate `rate` per round."""
    rounds: NDArray[np.float64] = -np.expm1(-rate * left) / rate
    return rounds
