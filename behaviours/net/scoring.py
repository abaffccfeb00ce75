"""Scores of moves by a net (`behaviours.net.network`), as kernels."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import types
from numpy.typing import NDArray

from behaviours.common.map_tables import MAP_TABLES_ARRAY
from behaviours.net.features import FOUND_ARRAY, MOVE_SLOTS, STATE_SLOTS, FoundRecord, find_features
from behaviours.net.network import NETWORKS, UNIT
from sim.game import GAMES, STAY, Games
from sim.kernel_types import INT64S, int64, uintp
from sim.kernels import entry, inlined, kernel

#: One record of `NETWORK`.
NetworkRecord = Any


@inlined
def _add(network: NetworkRecord, features: NDArray[np.int16], first: int, hidden: int, unit: int) -> np.int16:
    """Return the sum of the weights of a hidden unit over the six slots from ``features[first]`` on; -1 there counts as 0.

    A loop over the units compiles to vector instructions that add all rows without storing sums between them. Without a loop over
    the slots this does not depend on the compiler, which may not unroll it. The sums are words of 16 bits: the limit of
    `behaviours.net.network.Network` lets none overflow.
    """
    a = max(int64(features[uintp(first)]), int64(0)) * hidden + unit
    b, c = int64(features[uintp(first + 1)]) * hidden + unit, int64(features[uintp(first + 2)]) * hidden + unit
    d, e = int64(features[uintp(first + 3)]) * hidden + unit, int64(features[uintp(first + 4)]) * hidden + unit
    f, rows = int64(features[uintp(first + 5)]) * hidden + unit, network.rows
    total = np.int16(rows[uintp(a)] + rows[uintp(b)] + rows[uintp(c)])
    return np.int16(total + rows[uintp(d)] + rows[uintp(e)] + rows[uintp(f)])


@inlined
def _state_input(network: NetworkRecord, features: FoundRecord, hidden: int, unit: int) -> np.int16:
    """Return the input of a hidden unit from the position."""
    total = np.int16(_add(network, features.state, 0, hidden, unit) + _add(network, features.state, 6, hidden, unit))
    total = np.int16(total + _add(network, features.state, 12, hidden, unit))
    return np.int16(total + _add(network, features.state, 18, hidden, unit))


@inlined
def _output(network: NetworkRecord, features: FoundRecord, hidden: int, unit: int, state: np.int16, move: int) -> np.int32:
    """Return the weighted output of a hidden unit for a move. `state` is its input from the position."""
    moves, first = features.moves, move * MOVE_SLOTS
    total = np.int16(state + _add(network, moves, first, hidden, unit) + _add(network, moves, first + 6, hidden, unit))
    total = np.int16(total + _add(network, moves, first + 12, hidden, unit) + _add(network, moves, first + 18, hidden, unit))
    total = np.int16(total + _add(network, moves, first + 24, hidden, unit) + _add(network, moves, first + 30, hidden, unit))
    total = np.int16(total + _add(network, moves, first + 36, hidden, unit))
    return np.int32(np.int32(max(total, np.int16(0))) * np.int32(network.out[uintp(unit)]))


@kernel
def best_move(network: NetworkRecord, features: FoundRecord, scores: NDArray[np.int64]) -> int:
    """Return the move (0..4) with the largest score; the first of them if there are several.

    `features` holds the features of the decision. `scores` gets the score of each move, in units of 1 / `UNIT` squared;
    a move without an effect gets the smallest int64.
    """
    stay, north, south, east, west = np.int32(0), np.int32(0), np.int32(0), np.int32(0), np.int32(0)
    hidden = int64(network.hidden)
    for unit in range(hidden):  # one loop for all moves is faster than to leave out those without an effect
        state = _state_input(network, features, hidden, unit)
        stay = np.int32(stay + _output(network, features, hidden, unit, state, 0))
        north = np.int32(north + _output(network, features, hidden, unit, state, 1))
        south = np.int32(south + _output(network, features, hidden, unit, state, 2))
        east = np.int32(east + _output(network, features, hidden, unit, state, 3))
        west = np.int32(west + _output(network, features, hidden, unit, state, 4))
    totals = (stay, north, south, east, west)
    best, choice = int64(-(1 << 62)), int64(STAY)
    for move in range(5):
        scores[move] = -(1 << 63)
        if features.moves[uintp(move * MOVE_SLOTS)] >= 0:
            linear = int64(0)
            for slot in range(move * MOVE_SLOTS, (move + 1) * MOVE_SLOTS):
                linear += int64(network.linear[uintp(int64(features.moves[uintp(slot)]))])
            scores[move] = int64(totals[move]) + linear * UNIT
            if scores[move] > best:
                best, choice = scores[move], int64(move)
    return choice


assert (STATE_SLOTS, MOVE_SLOTS) == (4 * 6, 7 * 6)


@entry(types.int64(NETWORKS, types.int64, GAMES, types.int64, types.int64, MAP_TABLES_ARRAY, FOUND_ARRAY, INT64S))
def net_move(
    networks: NDArray[np.void],
    number: int,
    games: Games,
    index: int,
    hero: int,
    tables_array: NDArray[np.void],
    features: NDArray[np.void],
    scores: NDArray[np.int64],
) -> int:
    """Return `best_move` of `hero` (0..3) in ``games[index]`` by ``networks[number]``, for Python code.

    `tables_array` is the result of `behaviours.common.map_tables.map_tables_of`. `features` is an array of one record, and
    `scores` is int64[5]; both are overwritten.
    """
    find_features(games[index], tables_array[0], hero, features[0])
    return best_move(networks[number], features[0], scores)
