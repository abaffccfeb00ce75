"""The networks of a training run: `behaviours.net.network` with floats as weights; and the files of nets.

All weights of a run are one array of float32, the **parameters**. First come the parameters of the network for moves, then those
of the network for the value. Each network has its rows (`FEATURES` x hidden), its linear part (`FEATURES`) and its output weights
(hidden), in this order. All parameters of feature 0, which stands for no feature, are 0.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numba import types
from numpy.typing import NDArray

from behaviours.net.features import FEATURES, MOVE_SLOTS, STATE_SLOTS
from behaviours.net.network import UNIT, Net, NetError, Network, load_nets, save_nets
from sim.game import STAY
from sim.kernel_types import int64, uintp
from sim.kernels import inlined, kernel
from vindibot.base.errors import UsageError, VindibotError
from vindibot.base.writing import replace, short
from vindibot.config.variants import check_ending

Floats = NDArray[np.float32]

#: numba's types of arrays of float32, and of rows of features.
FLOAT32S, INT16_ROWS = types.Array(types.float32, 1, "C"), types.Array(types.int16, 2, "C")
#: Number of rows that are added in one loop. It divides `MOVE_SLOTS` and `STATE_SLOTS`.
TOGETHER = 6
#: The score of a move without an effect.
NO_SCORE = np.float32(-1e30)


@kernel
def network_size(hidden: int) -> int:
    """Return the number of parameters of one network."""
    return FEATURES * hidden + FEATURES + hidden


def first_parameters(hidden: int, seed: int) -> Floats:
    """Return the parameters at the beginning of a run. Rows are random, the linear parts are 0, and output weights are small."""
    random = np.random.default_rng([seed, 1])
    parts = []
    for _ in range(2):
        rows = random.normal(0, 1 / np.sqrt(MOVE_SLOTS + STATE_SLOTS), (FEATURES, hidden))
        rows[0] = 0
        parts += [rows.ravel(), np.zeros(FEATURES), random.normal(0, 0.1 / np.sqrt(max(hidden, 1)), hidden)]
    return np.concatenate(parts).astype(np.float32)


def parameters_of(net: Net, hidden: int, seed: int) -> Floats:
    """Return the parameters for going on from a net with as many hidden units, or fewer: further units begin at random."""
    parameters = first_parameters(hidden, seed)
    for number, network in enumerate((net.policy, net.value)):
        if network is not None:
            rows, linear, out = split(parameters, hidden, number)
            old = network.hidden
            rows[:, :old], linear[:], out[:old] = network.rows / UNIT, network.linear / UNIT, network.out / UNIT
            out[old:] = 0
    return parameters


def split(parameters: Floats, hidden: int, number: int) -> tuple[Floats, Floats, Floats]:
    """Return views of the rows (`FEATURES` x hidden), the linear part and the output weights of network `number` (0 or 1)."""
    size, body = network_size(hidden), FEATURES * hidden
    own = parameters[number * size : (number + 1) * size]
    return own[:body].reshape(FEATURES, hidden), own[body : body + FEATURES], own[body + FEATURES :]


def rounded(parameters: Floats, hidden: int) -> tuple[Network, Network]:
    """Return the networks for moves and for the value with whole numbers as weights."""
    policy, value = (Network.rounded(*split(parameters, hidden, number)) for number in range(2))
    return policy, value


# ---- Kernels ----


@inlined
def _add_rows(
    parameters: Floats, base: int, features: NDArray[np.int16], slot: int, units: Floats, first: int, hidden: int
) -> None:
    """Add the rows of the `TOGETHER` features from ``features[slot]`` on to the `hidden` numbers from ``units[first]`` on."""
    a, b = base + int64(features[uintp(slot)]) * hidden, base + int64(features[uintp(slot + 1)]) * hidden
    c, d = base + int64(features[uintp(slot + 2)]) * hidden, base + int64(features[uintp(slot + 3)]) * hidden
    e, f = base + int64(features[uintp(slot + 4)]) * hidden, base + int64(features[uintp(slot + 5)]) * hidden
    for unit in range(hidden):
        total = (parameters[uintp(a + unit)] + parameters[uintp(b + unit)]) + parameters[uintp(c + unit)]
        total += (parameters[uintp(d + unit)] + parameters[uintp(e + unit)]) + parameters[uintp(f + unit)]
        units[uintp(first + unit)] += total


@inlined
def add_scaled(target: Floats, start: int, units: Floats, first: int, hidden: int) -> None:
    """Add the `hidden` numbers from ``units[first]`` on to the row that begins at ``target[start]``."""
    for unit in range(hidden):
        target[uintp(start + unit)] += units[uintp(first + unit)]


@kernel
def state_units(parameters: Floats, base: int, state: NDArray[np.int16], units: Floats, hidden: int) -> None:
    """Set the first `hidden` numbers of `units` to the hidden inputs of a position, by the network that begins at `base`."""
    for unit in range(hidden):
        units[unit] = 0
    for slot in range(0, STATE_SLOTS, TOGETHER):
        _add_rows(parameters, base, state, slot, units, 0, hidden)


@kernel
def move_output(
    parameters: Floats, base: int, moves: NDArray[np.int16], move: int, units: Floats, first: int, hidden: int
) -> float:
    """Return the result of a network for the position and a move.

    ``units[:hidden]`` has the hidden inputs of the position. The outputs of the units are written from ``units[first]`` on.
    The linear part of the position is left out.
    """
    linear = base + FEATURES * hidden
    total = np.float32(0)
    for unit in range(hidden):
        units[uintp(first + unit)] = units[uintp(unit)]
    begin = move * MOVE_SLOTS
    for slot in range(begin, begin + MOVE_SLOTS):
        total += parameters[uintp(linear + int64(moves[uintp(slot)]))]
    for slot in range(begin, begin + MOVE_SLOTS, TOGETHER):
        _add_rows(parameters, base, moves, slot, units, first, hidden)
    out = linear + FEATURES
    a, b, c, d = np.float32(0), np.float32(0), np.float32(0), np.float32(0)
    for unit in range(0, hidden, 4):
        for lane in range(4):
            place = uintp(first + unit + lane)
            units[place] = max(units[place], np.float32(0))
        a += units[uintp(first + unit)] * parameters[uintp(out + unit)]
        b += units[uintp(first + unit + 1)] * parameters[uintp(out + unit + 1)]
        c += units[uintp(first + unit + 2)] * parameters[uintp(out + unit + 2)]
        d += units[uintp(first + unit + 3)] * parameters[uintp(out + unit + 3)]
    return float(total + ((a + b) + (c + d)))


@kernel
def state_linear(parameters: Floats, base: int, state: NDArray[np.int16], hidden: int) -> float:
    """Return the linear part of a position."""
    total = np.float32(0)
    for slot in range(STATE_SLOTS):
        total += parameters[uintp(base + FEATURES * hidden + int64(state[uintp(slot)]))]
    return float(total)


@kernel
def value_output(
    parameters: Floats, base: int, state: NDArray[np.int16], moves: NDArray[np.int16], units: Floats, hidden: int
) -> float:
    """Return the value of a position, by the network that begins at `base`. The outputs of the units follow ``units[hidden]``."""
    state_units(parameters, base, state, units, hidden)
    return move_output(parameters, base, moves, STAY, units, hidden, hidden) + state_linear(parameters, base, state, hidden)


@kernel
def move_scores(
    parameters: Floats, state: NDArray[np.int16], moves: NDArray[np.int16], units: Floats, hidden: int, scores: Floats
) -> None:
    """Write the scores of the five moves into `scores` (float32[5]); `NO_SCORE` for a move without an effect.

    `units` has room for 6 x hidden numbers. The outputs of the hidden units for move m begin at (1 + m) x hidden.
    """
    state_units(parameters, 0, state, units, hidden)
    for move in range(5):
        scores[move] = NO_SCORE
        if moves[uintp(move * MOVE_SLOTS)] >= 0:
            scores[move] = move_output(parameters, 0, moves, move, units, (1 + move) * hidden, hidden)


@kernel
def probabilities(scores: Floats, odds: Floats) -> None:
    """Write the softmax of `scores` (float32[5]) into `odds` (float32[5])."""
    most = scores[0]
    for move in range(1, 5):
        most = max(most, scores[move])
    total = np.float32(0)
    for move in range(5):
        odds[move] = np.exp(scores[move] - most) if scores[move] > NO_SCORE else np.float32(0)
        total += odds[move]
    for move in range(5):
        odds[move] /= total


# ---- Files ----


def read_nets(path: Path) -> tuple[Net, ...]:
    """Return the nets of a file. Raises `UsageError` if it cannot be read."""
    try:
        return load_nets(path)
    except NetError as problem:
        raise UsageError(str(problem)) from None


@dataclass(frozen=True)
class NetFile:
    """A file of nets that the command `command` writes. `option` is the option of the command that names another file."""

    path: Path
    command: str
    option: str

    def check(self) -> None:
        """Raise `UsageError` if the name has another ending, or if there is a folder or a file that this command did not make."""
        check_ending(self.path, ".npz", self.option)
        if self.path.is_dir():
            raise UsageError(f"{short(self.path)} is a folder: {self.option} names another file")
        if self.path.exists() and not self._is_ours():
            words = f"is there already and was not made by {self.command}: move it away, or {self.option} names another file"
            raise UsageError(f"{short(self.path)} {words}")

    def _is_ours(self) -> bool:
        try:
            return all(net.about.get("command") == self.command for net in load_nets(self.path))
        except NetError:
            return False

    def write(self, nets: Sequence[Net]) -> None:
        """Write the nets. Raises `UsageError` or `VindibotError` if this is impossible."""
        self.check()
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            replace(self.path, save_nets(nets))
        except OSError as problem:
            raise VindibotError(f"{short(self.path)}: cannot be written: {problem.strerror or problem}") from None
