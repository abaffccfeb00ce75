"""The cross entropy of recorded moves: how likely a network makes them, and the gradient."""

from __future__ import annotations

import numpy as np
from numba import types
from numpy.typing import NDArray

from behaviours.common.kernel_types import int64
from sim.kernel_types import FLOATS, INT8S, INT64S
from sim.kernels import entry, kernel
from vindibot.learning.gradient import add_move, add_state
from vindibot.learning.network import FLOAT32S, INT16_ROWS, NO_SCORE, Floats, move_scores, probabilities

#: The sums that `cross_entropy` adds up: logarithms of the probabilities of the recorded moves, and the number of decisions in
#: which the recorded move is the likeliest move.
SUMS = ("logarithm", "predicted")

#: The smallest probability of a recorded move that counts.
_LEAST = 1e-12


@kernel
def _score(scores: Floats, odds: Floats, chosen: int, sums: NDArray[np.float64]) -> None:
    """Set `odds` to the probabilities of the moves, and add to `sums` (see `SUMS`)."""
    probabilities(scores, odds)
    best = int64(0)
    for move in range(1, 5):
        if scores[move] > scores[best]:
            best = int64(move)
    sums[0] += np.log(max(float(odds[chosen]), _LEAST))
    sums[1] += int64(best == chosen)


@entry(types.void(INT16_ROWS, INT16_ROWS, INT8S, INT64S, FLOAT32S, types.int64, FLOATS))
def cross_entropy(
    state: NDArray[np.int16],
    moves: NDArray[np.int16],
    chosen: NDArray[np.int8],
    numbers: NDArray[np.int64],
    parameters: Floats,
    hidden: int,
    sums: NDArray[np.float64],
) -> None:
    """Add to `sums` (float64, see `SUMS`) for the decisions `numbers`.

    `state`, `moves` and `chosen` are those of `vindibot.learning.decisions.Columns`. `parameters` are those of the network for
    moves (`vindibot.learning.network`).
    """
    units, scores, odds = np.zeros(6 * hidden, np.float32), np.zeros(5, np.float32), np.zeros(5, np.float32)
    for number in numbers:
        move_scores(parameters, state[number], moves[number], units, hidden, scores)
        _score(scores, odds, int64(chosen[number]), sums)


@entry(types.void(INT16_ROWS, INT16_ROWS, INT8S, FLOAT32S, INT64S, FLOAT32S, types.int64, FLOAT32S, FLOATS))
def cross_entropy_gradient(
    state: NDArray[np.int16],
    moves: NDArray[np.int16],
    chosen: NDArray[np.int8],
    weights: Floats,
    numbers: NDArray[np.int64],
    parameters: Floats,
    hidden: int,
    gradient: Floats,
    sums: NDArray[np.float64],
) -> None:
    """Do what `cross_entropy` does, and add the gradient of the loss to `gradient`, which has the layout of `parameters`.

    The loss is minus the sum of the logarithms, each times the weight of the decision (`weights`).
    """
    units, scores, odds = np.zeros(6 * hidden, np.float32), np.zeros(5, np.float32), np.zeros(5, np.float32)
    for number in numbers:
        own, done = moves[number], int64(chosen[number])
        move_scores(parameters, state[number], own, units, hidden, scores)
        _score(scores, odds, done, sums)
        for unit in range(hidden):
            units[unit] = 0
        for move in range(5):
            if scores[move] > NO_SCORE:
                slope = float(weights[number]) * (float(odds[move]) - (1.0 if move == done else 0.0))
                add_move(parameters, 0, gradient, own, move, units, (1 + move) * hidden, hidden, slope)
        add_state(0, gradient, state[number], units, hidden)
