"""Scores of moves by a net (`behaviours.net.network`), as kernels."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import types
from numpy.typing import NDArray

from behaviours.common.map_tables import MAP_TABLES_ARRAY
from behaviours.net.features import FOUND_ARRAY, MOVE_SLOTS, STATE_SLOTS, FoundRecord, find_features
from behaviours.net.network import MAX_HIDDEN, NETWORKS, UNIT
from sim.game import GAMES, STAY, Games
from sim.kernel_types import INT64S, array_of, int64, record, uintp
from sim.kernels import entry, inlined, kernel

#: Memory of the kernels: the inputs of the hidden units from the position alone, and the scores of the moves.
UNITS = record(state=("i2", MAX_HIDDEN), scores=("i8", 5))
UNITS_ARRAY = array_of(UNITS)
#: One record of `NETWORK` and of `UNITS`.
NetworkRecord = Any
UnitsRecord = Any


@inlined
def _input(network: NetworkRecord, features: NDArray[np.int16], first: int, slots: int, hidden: int, unit: int) -> np.int16:
    """Return the sum of the weights of a hidden unit over the features of `slots` slots from ``features[first]`` on.

    A loop over all units compiles to vector instructions that add the rows of all slots without storing sums between them. They
    add words of 16 bits: the limit of `behaviours.net.network.Network` lets no sum overflow.
    """
    total = np.int16(0)
    for slot in range(slots):
        total = np.int16(total + network.rows[uintp(int64(features[uintp(first + slot)]) * hidden + unit)])
    return total


@kernel
def _set_state(network: NetworkRecord, features: FoundRecord, units: UnitsRecord, hidden: int) -> None:
    """Set ``units.state`` to the inputs of the hidden units from the position."""
    for unit in range(hidden):
        units.state[uintp(unit)] = _input(network, features.state, 0, STATE_SLOTS, hidden, unit)


@kernel
def _score(network: NetworkRecord, features: FoundRecord, units: UnitsRecord, hidden: int, move: int) -> int:
    """Return the score of a move, in units of 1 / `UNIT` squared."""
    linear, total, begin = int64(0), np.int32(0), move * MOVE_SLOTS
    for slot in range(begin, begin + MOVE_SLOTS):
        linear += int64(network.linear[uintp(int64(features.moves[uintp(slot)]))])
    for unit in range(hidden):
        given = np.int16(units.state[uintp(unit)] + _input(network, features.moves, begin, MOVE_SLOTS, hidden, unit))
        total += np.int32(max(given, np.int16(0))) * np.int32(network.out[uintp(unit)])
    return int64(total) + linear * UNIT


@kernel
def best_move(network: NetworkRecord, features: FoundRecord, units: UnitsRecord, scores: NDArray[np.int64]) -> int:
    """Return the move (0..4) with the largest score; the first of them if there are several.

    `features` holds the features of the decision. `scores` gets the score of each move, in units of 1 / `UNIT` squared;
    a move without an effect gets the smallest int64.
    """
    hidden = int64(network.hidden)
    best, choice = int64(-(1 << 62)), int64(STAY)
    _set_state(network, features, units, hidden)
    for move in range(5):
        scores[move] = -(1 << 63)
        if features.moves[uintp(move * MOVE_SLOTS)] >= 0:
            scores[move] = _score(network, features, units, hidden, move)
            if scores[move] > best:
                best, choice = scores[move], int64(move)
    return choice


@entry(types.int64(NETWORKS, types.int64, GAMES, types.int64, types.int64, MAP_TABLES_ARRAY, FOUND_ARRAY, UNITS_ARRAY, INT64S))
def net_move(
    networks: NDArray[np.void],
    number: int,
    games: Games,
    index: int,
    hero: int,
    tables_array: NDArray[np.void],
    features: NDArray[np.void],
    units: NDArray[np.void],
    scores: NDArray[np.int64],
) -> int:
    """Return `best_move` of `hero` (0..3) in ``games[index]`` by ``networks[number]``, for Python code.

    `tables_array` is the result of `behaviours.common.map_tables.map_tables_of`. `features` and `units` are arrays of one record,
    and `scores` is int64[5]; all three are overwritten.
    """
    find_features(games[index], tables_array[0], hero, features[0])
    return best_move(networks[number], features[0], units[0], scores)
