"""Nets for tests."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from behaviours.net.features import FEATURES, MOVE_SLOTS, STATE_SLOTS
from behaviours.net.network import MOST_INPUT, Network
from behaviours.net.scoring import net_move
from behaviours.rollout.playouts import NO_NET
from sim.game import Games

#: The largest weight with which a network always fits.
LARGEST = MOST_INPUT // (MOVE_SLOTS + STATE_SLOTS)


def random_network(rng: np.random.Generator, hidden: int, most: int = LARGEST) -> Network:
    """Return a network with random weights of at most `most` units."""
    rows, linear, out = (
        rng.integers(-most, most, shape, np.int16, endpoint=True) for shape in ((FEATURES, hidden), FEATURES, hidden)
    )
    rows[0], linear[0] = 0, 0  # no feature
    return Network(rows, linear, out)


def features_in(games: Games, index: int, hero: int, tables_array: NDArray[np.void], features: NDArray[np.void]) -> None:
    """Write the features of a decision of `hero` (0..3) in ``games[index]`` into ``features[0]``, an array of one `FOUND` record.

    `tables_array` is the result of `behaviours.common.map_tables.map_tables_of`.
    """
    net_move(NO_NET, 0, games, index, hero, tables_array, features, np.zeros(5, np.int64))
