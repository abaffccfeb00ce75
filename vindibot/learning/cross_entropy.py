"""The cross entropy of decisions: how near the probabilities of a network are to the wanted ones, and the gradient."""

from __future__ import annotations

import numpy as np
from numba import types
from numpy.typing import NDArray

from behaviours.common.kernel_types import int64
from sim.kernel_types import FLOATS, INT64S
from sim.kernels import entry, kernel
from vindibot.learning.gradient import add_move, add_state
from vindibot.learning.network import FLOAT32_ROWS, FLOAT32S, INT16_ROWS, NO_SCORE, Floats, move_scores, probabilities

#: The sums that `cross_entropy` adds up: the logarithms of the probabilities of the moves, each times the wanted probability, and
#: the number of decisions in which the likeliest move is a move with the largest wanted probability.
SUMS = ("logarithm", "predicted")

#: The smallest probability of a move that counts.
_LEAST = 1e-12


@kernel
def _score(scores: Floats, odds: Floats, wanted: Floats, sums: NDArray[np.float64]) -> None:
    """Set `odds` to the probabilities of the moves, and add to `sums` (see `SUMS`)."""
    probabilities(scores, odds)
    best, most = int64(0), wanted[0]
    for move in range(5):
        if scores[move] > scores[best]:
            best = int64(move)
        most = max(most, wanted[move])
        if wanted[move] > 0:
            sums[0] += float(wanted[move]) * np.log(max(float(odds[move]), _LEAST))
    sums[1] += int64(wanted[best] == most)


@entry(types.void(INT16_ROWS, INT16_ROWS, FLOAT32_ROWS, INT64S, FLOAT32S, types.int64, FLOATS))
def cross_entropy(
    state: NDArray[np.int16],
    moves: NDArray[np.int16],
    wanted: Floats,
    numbers: NDArray[np.int64],
    parameters: Floats,
    hidden: int,
    sums: NDArray[np.float64],
) -> None:
    """Add to `sums` (float64, see `SUMS`) for the decisions `numbers`.

    `state`, `moves` and `wanted` are those of `vindibot.learning.decisions.Columns`. `parameters` are those of the network for
    moves (`vindibot.learning.network`).
    """
    units, scores, odds = np.zeros(6 * hidden, np.float32), np.zeros(5, np.float32), np.zeros(5, np.float32)
    for number in numbers:
        move_scores(parameters, state[number], moves[number], units, hidden, scores)
        _score(scores, odds, wanted[number], sums)


@entry(types.void(INT16_ROWS, INT16_ROWS, FLOAT32_ROWS, FLOAT32S, INT64S, FLOAT32S, types.int64, FLOAT32S, FLOATS))
def cross_entropy_gradient(
    state: NDArray[np.int16],
    moves: NDArray[np.int16],
    wanted: Floats,
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
        own = moves[number]
        move_scores(parameters, state[number], own, units, hidden, scores)
        _score(scores, odds, wanted[number], sums)
        for unit in range(hidden):
            units[unit] = 0
        for move in range(5):
            if scores[move] > NO_SCORE:
                slope = float(weights[number]) * (float(odds[move]) - float(wanted[number, move]))
                add_move(parameters, 0, gradient, own, move, units, (1 + move) * hidden, hidden, slope)
        add_state(0, gradient, state[number], units, hidden)


@entry(types.void(INT16_ROWS, INT16_ROWS, FLOAT32S, types.int64, FLOAT32_ROWS))
def find_scores(state: NDArray[np.int16], moves: NDArray[np.int16], parameters: Floats, hidden: int, found: Floats) -> None:
    """Write the scores of the moves of all decisions into `found` (float32[n, 5]); `NO_SCORE` for a move without an effect."""
    units = np.zeros(6 * hidden, np.float32)
    for number in range(len(state)):
        move_scores(parameters, state[number], moves[number], units, hidden, found[number])
