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
from sim.kernels import entry, kernel
from vindibot.learning.collecting import PIECE_TYPE, Piece
from vindibot.learning.network import (
    FLOAT32S,
    INT16_ROWS,
    NO_SCORE,
    Floats,
    add_scaled,
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


def adam_step(parameters: Floats, mean: Floats, square: Floats, gradient: Floats, size: float, steps: int) -> None:
    """Change `parameters` by one step against the gradient of a loss, and update the means `mean` and `square`.

    `size` is the step size. `steps` is the number of steps with these means, this one included.
    """
    mean += np.float32(1 - _MEAN) * (gradient - mean)
    square += np.float32(1 - _SQUARE) * (gradient * gradient - square)
    scale = np.float32(size * np.sqrt(1 - _SQUARE**steps) / (1 - _MEAN**steps))
    parameters -= scale * mean / (np.sqrt(square) + np.float32(_TINY))


@kernel
def add_move(
    parameters: Floats,
    base: int,
    gradient: Floats,
    moves: NDArray[np.int16],
    move: int,
    units: Floats,
    first: int,
    hidden: int,
    slope: float,
) -> None:
    """Add the gradient of the output for one move, times `slope`, to `gradient`.

    The outputs of the hidden units begin at ``units[first]``. They are replaced by the gradient of their inputs, which is also
    added to ``units[:hidden]``: there, it is summed over the moves.
    """
    linear = base + FEATURES * hidden
    out, factor = linear + FEATURES, np.float32(slope)
    for unit in range(hidden):
        active = units[uintp(first + unit)]
        gradient[uintp(out + unit)] += factor * active
        inner = factor * parameters[uintp(out + unit)] if active > 0 else np.float32(0)
        units[uintp(first + unit)] = inner
        units[uintp(unit)] += inner
    for slot in range(MOVE_SLOTS):
        feature = int64(moves[uintp(move * MOVE_SLOTS + slot)])
        if feature > 0:
            gradient[uintp(linear + feature)] += factor
            add_scaled(gradient, base + feature * hidden, units, first, hidden)


@kernel
def add_state(base: int, gradient: Floats, state: NDArray[np.int16], units: Floats, hidden: int) -> None:
    """Add the gradient of the hidden inputs in ``units[:hidden]`` to the rows of the features of the position."""
    for slot in range(STATE_SLOTS):
        add_scaled(gradient, base + int64(state[uintp(slot)]) * hidden, units, 0, hidden)


@kernel
def add_value(
    parameters: Floats,
    base: int,
    gradient: Floats,
    state: NDArray[np.int16],
    moves: NDArray[np.int16],
    units: Floats,
    hidden: int,
    slope: float,
) -> None:
    """Add the gradient of the value of a position, times `slope`, to `gradient`.

    The network for the value begins at `base`. `units` are those of `vindibot.learning.network.value_output` for this position.
    """
    for unit in range(hidden):
        units[unit] = 0
    add_move(parameters, base, gradient, moves, STAY, units, hidden, hidden, slope)
    add_state(base, gradient, state, units, hidden)
    for slot in range(STATE_SLOTS):
        gradient[uintp(base + FEATURES * hidden + int64(state[uintp(slot)]))] += np.float32(slope)


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
    units, scores, odds = np.zeros(6 * hidden, np.float32), np.zeros(5, np.float32), np.zeros(5, np.float32)
    base = network_size(hidden)
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
        for unit in range(hidden):
            units[unit] = 0
        for move in range(5):
            if scores[move] > NO_SCORE:
                odd = odds[move]
                slope = pull * ((1.0 if move == chosen else 0.0) - odd)
                if odd > 0:
                    slope += loss.entropy * odd * (np.log(odd) + entropy)
                add_move(parameters, 0, gradient, moves, move, units, (1 + move) * hidden, hidden, slope)
        add_state(0, gradient, state, units, hidden)

        value = value_output(parameters, base, state, moves, units, hidden)
        miss = value - piece.target[number]
        add_value(parameters, base, gradient, state, moves, units, hidden, loss.value * miss)

        errors[0] += miss * miss
        errors[1] += int64(clipped)


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
    units, scores, odds = np.zeros(6 * hidden, np.float32), np.zeros(5, np.float32), np.zeros(5, np.float32)
    for number in numbers:
        own = moves[number]
        move_scores(parameters, state[number], own, units, hidden, scores)
        _score(scores, odds, int64(chosen[number]), sums)
        for unit in range(hidden):
            units[unit] = 0
        for move in range(5):
            if scores[move] > NO_SCORE:
                slope = float(weights[number]) * (float(odds[move]) - (1.0 if move == chosen[number] else 0.0))
                add_move(parameters, 0, gradient, own, move, units, (1 + move) * hidden, hidden, slope)
        add_state(0, gradient, state[number], units, hidden)
