"""Stalled rounds: rounds in which a hero stays in a small area, for example if two heroes block each other beside a tavern."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from sim.game import STRIDE

#: A hero is stalled if all its squares in at least `SHORTEST` rounds in a row fit into an area of `SIDE` x `SIDE` squares.
SHORTEST, SIDE = 40, 5


def stalled_rounds(squares: Sequence[int]) -> int:
    """Return the number of rounds in which a hero was stalled. `squares` has the hero's square at the start of each round."""
    if len(squares) < SHORTEST:
        return 0
    positions = np.stack(np.divmod(squares, STRIDE), axis=1)
    # It is enough to test runs of length `SHORTEST`: each longer run is the union of such runs.
    runs = np.lib.stride_tricks.sliding_window_view(positions, SHORTEST, axis=0)
    fits = (np.ptp(runs, axis=-1) < SIDE).all(axis=-1)
    return int(np.count_nonzero(np.convolve(fits, np.ones(SHORTEST))))
