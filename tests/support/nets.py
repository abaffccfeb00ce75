"""Nets for tests."""

from __future__ import annotations

import numpy as np

from behaviours.net.features import FEATURES, MOVE_SLOTS, STATE_SLOTS
from behaviours.net.network import MOST_INPUT, Network

#: The largest weight with which a network always fits.
LARGEST = MOST_INPUT // (MOVE_SLOTS + STATE_SLOTS)


def random_network(rng: np.random.Generator, hidden: int, most: int = LARGEST) -> Network:
    """Return a network with random weights of at most `most` units."""
    rows, linear, out = (
        rng.integers(-most, most, shape, np.int16, endpoint=True) for shape in ((FEATURES, hidden), FEATURES, hidden)
    )
    rows[0], linear[0] = 0, 0  # no feature
    return Network(rows, linear, out)
