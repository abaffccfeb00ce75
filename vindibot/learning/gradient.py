"""The gradients of the losses of self-play and of imitation for a list of decisions, and the steps of Adam.

The loss of self-play is that of PPO (proximal policy optimisation, Schulman et al. 2017). It has three parts for each decision:
the clipped objective, the entropy of the moves times -`entropy`, and the squared error of the value times `value` / 2. The loss
of imitation is the cross entropy: minus the logarithm of the probability of the recorded move. The backward pass is written out,
because the inputs are one-hot: only the rows of the features that occur change.

Adam (Kingma and Ba 2015) changes parameters by the mean of the last gradients, relative to the size of each.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import types
from numpy.typing import NDArray

from behaviours.net.features import FEATURES, MOVE_SLOTS, STATE_SLOTS
from sim.game import STAY
from sim.kernel_types import FLOATS, INT8S, INT64S, int64, tuple_of, uintp
from sim.kernels import entry, inlined, kernel
from vindibot.learning.collecting import PIECE_TYPE, Piece
from vindibot.learning.network import (
    FLOAT32S,
    INT16_ROWS,
    NO_SCORE,
    Floats,
    move_scores,
    network_size,
    probabilities,
    value_output,
)

#: What `ppo_gradient` adds up: the squared error of the value, and the number of clipped decisions.
ERRORS = ("value", "clipped")
#: The sums that `cross_entropy` adds up: the logarithms of the probabilities of the recorded moves, and the number of decisions
#: in which the recorded move is the likeliest one.
SUMS = ("logarithm", "predicted")
#: The smallest probability of a move that counts.
_LEAST = 1e-12


class Loss(NamedTuple):
    """The constants of the loss: the range of PPO (`clip`), and the factors of the entropy and of the error of the value."""

    clip: float
    entropy: float
    value: float


_LOSS = tuple_of([types.float64] * 3, Loss)
#: Adam: the decay of the means of the gradient and of its square, and the number that is added to the root of the second.
_MEAN, _SQUARE, _TINY = 0.9, 0.999, 1e-8


@entry(types.void(FLOAT32S, FLOAT32S, FLOAT32S, FLOAT32S, types.float64, types.int64))
def adam_step(parameters: Floats, mean: Floats, square: Floats, gradient: Floats, size: float, steps: int) -> None:
    """Change `parameters` by one step against the gradient of a loss, and update the means `mean` and `square`.

    `size` is the step size. `steps` is the number of steps with these means, this one included.
    """
    scale, tiny = np.float32(size * np.sqrt(1 - _SQUARE**steps) / (1 - _MEAN**steps)), np.float32(_TINY)
    for place in range(len(parameters)):
        slope = gradient[place]
        mean[place] += np.float32(1 - _MEAN) * (slope - mean[place])
        square[place] += np.float32(1 - _SQUARE) * (slope * slope - square[place])
        parameters[place] -= scale * mean[place] / (np.sqrt(square[place]) + tiny)


@inlined
def _add_row(gradient: Floats, start: int, units: Floats, first: int, hidden: int) -> None:
    """Add the `hidden` numbers from ``units[first]`` on to the row that begins at ``gradient[start]``."""
    for unit in range(hidden):
        gradient[uintp(start + unit)] += units[uintp(first + unit)]


@kernel
def _add_hidden(parameters: Floats, out: int, gradient: Floats, units: Floats, hidden: int, slopes: Floats) -> None:
    """Add the gradient of the output weights, which begin at `out`, for all five moves.

    The outputs of the hidden units are replaced by the gradient of their inputs, and ``units[:hidden]`` by its sum over moves.
    """
    units[:hidden] = 0
    for move in range(5):
        slope, first = slopes[move], (1 + move) * hidden
        for unit in range(hidden if slope != 0 else 0):
            active = units[uintp(first + unit)]
            gradient[uintp(out + unit)] += slope * active
            inner = slope * parameters[uintp(out + unit)] if active > 0 else np.float32(0)
            units[uintp(first + unit)] = inner
            units[uintp(unit)] += inner


@kernel
def _add_gradient(
    parameters: Floats,
    base: int,
    gradient: Floats,
    state: NDArray[np.int16],
    moves: NDArray[np.int16],
    units: Floats,
    hidden: int,
    slopes: Floats,
) -> None:
    """Add the gradient of the outputs for the five moves, each times its slope (float32[5]), to `gradient`.

    The network begins at `base`. `units` are those of `vindibot.learning.network.move_scores` or `value_output`, and are
    overwritten. The linear part of the position is left out.
    """
    out = base + FEATURES * hidden
    linear = out + hidden
    _add_hidden(parameters, out, gradient, units, hidden, slopes)
    for move in range(5):
        if slopes[move] != 0:
            for slot in range(move * MOVE_SLOTS, (move + 1) * MOVE_SLOTS):
                feature = int64(moves[uintp(slot)])
                if feature > 0:
                    gradient[uintp(linear + feature)] += slopes[move]
                    _add_row(gradient, base + feature * hidden, units, (1 + move) * hidden, hidden)
    for slot in range(STATE_SLOTS):
        _add_row(gradient, base + int64(state[uintp(slot)]) * hidden, units, 0, hidden)


@entry(types.void(PIECE_TYPE, INT64S, FLOAT32S, types.int64, FLOAT32S, _LOSS, FLOATS))
def ppo_gradient(
    piece: Piece,
    numbers: NDArray[np.int64],
    parameters: Floats,
    hidden: int,
    gradient: Floats,
    loss: Loss,
    errors: NDArray[np.float64],
) -> None:
    """Add the gradient of the loss of the decisions `numbers` of a piece to `gradient`, and to `errors` (float64, see `ERRORS`).

    The gradient is a sum, not a mean. The advantages must be normalised. `parameters` and `gradient` have the same layout.
    """
    units, slopes, base = np.zeros(6 * hidden, np.float32), np.zeros(5, np.float32), network_size(hidden)
    scores, odds = np.zeros(5, np.float32), np.zeros(5, np.float32)
    for number in numbers:
        state, moves, chosen = piece.state[number], piece.moves[number], int64(piece.chosen[number])
        move_scores(parameters, state, moves, units, hidden, scores)
        probabilities(scores, odds)
        ratio, advantage = np.exp(np.log(odds[chosen]) - piece.logarithm[number]), piece.advantage[number]
        clipped = (advantage > 0 and ratio > 1 + loss.clip) or (advantage < 0 and ratio < 1 - loss.clip)
        pull = 0.0 if clipped else -advantage * ratio
        entropy = 0.0
        for move in range(5):
            if odds[move] > 0:
                entropy -= odds[move] * np.log(odds[move])
        for move in range(5):
            odd = odds[move]
            slope = pull * ((1.0 if move == chosen else 0.0) - odd)
            if odd > 0:
                slope += loss.entropy * odd * (np.log(odd) + entropy)
            slopes[move] = slope if scores[move] > NO_SCORE else 0.0
        _add_gradient(parameters, 0, gradient, state, moves, units, hidden, slopes)
        errors[1] += int64(clipped)
    slopes[:] = 0
    for number in numbers:  # a second loop: the rows of one network fit into a processor's cache
        state, moves = piece.state[number], piece.moves[number]
        miss = value_output(parameters, base, state, moves, units, hidden) - piece.target[number]
        slopes[STAY] = loss.value * miss
        _add_gradient(parameters, base, gradient, state, moves, units, hidden, slopes)
        for slot in range(STATE_SLOTS):
            gradient[uintp(base + (FEATURES + 1) * hidden + int64(state[uintp(slot)]))] += slopes[STAY]
        errors[0] += miss * miss


@kernel
def _score(scores: Floats, odds: Floats, chosen: int, sums: NDArray[np.float64]) -> None:
    """Set `odds` to the probabilities of the moves, and add to `sums` (see `SUMS`)."""
    probabilities(scores, odds)
    best = int64(0)
    for move in range(5):
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
    units, slopes = np.zeros(6 * hidden, np.float32), np.zeros(5, np.float32)
    scores, odds = np.zeros(5, np.float32), np.zeros(5, np.float32)
    for number in numbers:
        own = moves[number]
        move_scores(parameters, state[number], own, units, hidden, scores)
        _score(scores, odds, int64(chosen[number]), sums)
        for move in range(5):
            slope = float(weights[number]) * (float(odds[move]) - (1.0 if move == chosen[number] else 0.0))
            slopes[move] = slope if scores[move] > NO_SCORE else 0.0
        _add_gradient(parameters, 0, gradient, state[number], own, units, hidden, slopes)
