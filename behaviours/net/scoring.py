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

#: Memory of the kernels: the inputs of the hidden units from the position alone, and from the position and a move.
UNITS = record(state=("i4", MAX_HIDDEN), move=("i4", MAX_HIDDEN))
UNITS_ARRAY = array_of(UNITS)
#: Number of rows that are added in one loop. It divides `MOVE_SLOTS` and `STATE_SLOTS`.
TOGETHER = 6
#: One record of `NETWORK` and of `UNITS`.
NetworkRecord = Any
UnitsRecord = Any


@inlined
def _add_rows(network: NetworkRecord, features: NDArray[np.int16], first: int, units: NDArray[np.int32], hidden: int) -> None:
    """Add the rows of the `TOGETHER` features from ``features[first]`` on. One loop for all is faster than one for each."""
    a, b = int64(features[uintp(first)]) * hidden, int64(features[uintp(first + 1)]) * hidden
    c, d = int64(features[uintp(first + 2)]) * hidden, int64(features[uintp(first + 3)]) * hidden
    e, f = int64(features[uintp(first + 4)]) * hidden, int64(features[uintp(first + 5)]) * hidden
    for unit in range(hidden):
        total = np.int32(network.rows[uintp(a + unit)]) + np.int32(network.rows[uintp(b + unit)])
        total += np.int32(network.rows[uintp(c + unit)]) + np.int32(network.rows[uintp(d + unit)])
        total += np.int32(network.rows[uintp(e + unit)]) + np.int32(network.rows[uintp(f + unit)])
        units[uintp(unit)] += total


@kernel
def _output(network: NetworkRecord, linear: int, units: NDArray[np.int32], hidden: int) -> int:
    """Return the result of a network, in units of 1 / `UNIT` squared, from the sum of the linear part and the hidden inputs."""
    total = int64(0)
    for unit in range(hidden):
        total += int64(max(units[uintp(unit)], np.int32(0))) * int64(network.out[uintp(unit)])
    return total + linear * UNIT


@kernel
def _set_state(network: NetworkRecord, found: FoundRecord, units: UnitsRecord, hidden: int) -> None:
    """Set ``units.state`` to the hidden inputs of the position."""
    for unit in range(hidden):
        units.state[uintp(unit)] = 0
    for slot in range(0, STATE_SLOTS, TOGETHER):
        _add_rows(network, found.state, slot, units.state, hidden)


@kernel
def _add_move(network: NetworkRecord, features: FoundRecord, units: UnitsRecord, hidden: int, move: int) -> int:
    """Set ``units.move`` to the hidden inputs of the position and a move, and return the linear part of the move."""
    linear = int64(0)
    for unit in range(hidden):
        units.move[uintp(unit)] = units.state[uintp(unit)]
    begin = move * MOVE_SLOTS
    for slot in range(begin, begin + MOVE_SLOTS):
        linear += int64(network.linear[uintp(int64(features.moves[uintp(slot)]))])
    for slot in range(begin, begin + MOVE_SLOTS, TOGETHER):
        _add_rows(network, features.moves, slot, units.move, hidden)
    return linear


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
            linear = _add_move(network, features, units, hidden, move)
            score = _output(network, linear, units.move, hidden)
            scores[move] = score
            if score > best:
                best, choice = score, int64(move)
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

    `features` and `units` are arrays of one record, and `scores` is int64[5]; all three are overwritten.
    """
    find_features(games[index], tables_array[0], hero, features[0])
    return best_move(networks[number], features[0], units[0], scores)


@entry(types.void(GAMES, types.int64, types.int64, MAP_TABLES_ARRAY, FOUND_ARRAY))
def features_in(games: Games, index: int, hero: int, tables_array: NDArray[np.void], features: NDArray[np.void]) -> None:
    """Write the features of a decision of `hero` (0..3) in ``games[index]`` into ``features[0]``, for Python code.

    `tables_array` is the result of `behaviours.common.map_tables.map_tables_of`.
    """
    find_features(games[index], tables_array[0], hero, features[0])
