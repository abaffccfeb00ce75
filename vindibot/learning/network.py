"""The networks of a training run: `behaviours.net.network` with floats as weights; and the files of nets.

All weights of a run are one array of float32, the **parameters**. First come the parameters of the network for moves, then those
of the network for the value. Each network has its rows (`FEATURES` x hidden), its output weights (hidden) and its linear part
(`FEATURES`), in this order, and zeros up to a multiple of `LANES`. All parameters of feature 0, which stands for no feature,
are 0.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numba import types
from numpy.typing import NDArray

from behaviours.net.features import FEATURES, MOVE_SLOTS, STATE_SLOTS
from behaviours.net.network import LANES, UNIT, Net, NetError, Network, load_nets, save_nets
from sim.game import STAY
from sim.kernel_types import aligned_zeros, int64, uintp
from sim.kernels import inlined, kernel
from vindibot.base.errors import UsageError, VindibotError
from vindibot.base.writing import replace, short
from vindibot.config.variants import check_ending

Floats = NDArray[np.float32]
Features = NDArray[np.int16]
Six = tuple[int, int, int, int, int, int]

#: numba's types of arrays of float32, and of rows of features.
FLOAT32S, INT16_ROWS = types.Array(types.float32, 1, "C"), types.Array(types.int16, 2, "C")
#: The score of a move without an effect.
NO_SCORE = np.float32(-1e30)


@kernel
def network_size(hidden: int) -> int:
    """Return the number of parameters of one network."""
    return -(-(FEATURES * hidden + hidden + FEATURES) // LANES) * LANES


def aligned(parameters: Floats) -> Floats:
    """Return a copy that begins at a line of a processor's cache."""
    copy = aligned_zeros(len(parameters), np.float32)
    copy[:] = parameters
    return copy


def first_parameters(hidden: int, seed: int) -> Floats:
    """Return the parameters at the beginning of a run. Rows are random, the linear parts are 0, and output weights are small."""
    random = np.random.default_rng([seed, 1])
    parameters = np.zeros(2 * network_size(hidden), np.float32)
    for number in range(2):
        rows, _, out = split(parameters, hidden, number)
        rows[:] = random.normal(0, 1 / np.sqrt(MOVE_SLOTS + STATE_SLOTS), (FEATURES, hidden))
        rows[0] = 0
        out[:] = random.normal(0, 0.1 / np.sqrt(max(hidden, 1)), hidden)
    return parameters


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
    begin, body = number * network_size(hidden), FEATURES * hidden
    rows, out, linear = np.split(parameters[begin : begin + body + hidden + FEATURES], [body, body + hidden])
    return rows.reshape(FEATURES, hidden), linear, out


def rounded(parameters: Floats, hidden: int) -> tuple[Network, Network]:
    """Return the networks for moves and for the value with whole numbers as weights."""
    policy, value = (Network.rounded(*split(parameters, hidden, number)) for number in range(2))
    return policy, value


# ---- Kernels ----


@inlined
def _rows(features: Features, slot: int, base: int, hidden: int) -> Six:
    """Return where the rows of the six features from ``features[slot]`` on begin."""
    a, b = base + int64(features[uintp(slot)]) * hidden, base + int64(features[uintp(slot + 1)]) * hidden
    c, d = base + int64(features[uintp(slot + 2)]) * hidden, base + int64(features[uintp(slot + 3)]) * hidden
    e, f = base + int64(features[uintp(slot + 4)]) * hidden, base + int64(features[uintp(slot + 5)]) * hidden
    return a, b, c, d, e, f


@inlined
def _sum(parameters: Floats, rows: Six, unit: int) -> float:
    """Return the sum of number `unit` of six rows."""
    a, b, c, d, e, f = rows
    total: float = (parameters[uintp(a + unit)] + parameters[uintp(b + unit)]) + parameters[uintp(c + unit)]
    total += (parameters[uintp(d + unit)] + parameters[uintp(e + unit)]) + parameters[uintp(f + unit)]
    return total


@kernel
def _state_units(parameters: Floats, base: int, state: Features, units: Floats, hidden: int) -> None:
    """Set the first `hidden` numbers of `units` to the hidden inputs of a position, by the network that begins at `base`."""
    a, b = _rows(state, 0, base, hidden), _rows(state, 6, base, hidden)
    c, d = _rows(state, 12, base, hidden), _rows(state, 18, base, hidden)
    for unit in range(hidden):  # one loop for all rows: the sums stay in registers
        total = _sum(parameters, a, unit) + _sum(parameters, b, unit)
        units[uintp(unit)] = total + (_sum(parameters, c, unit) + _sum(parameters, d, unit))


@kernel
def _linear(parameters: Floats, linear: int, features: Features, first: int, count: int) -> float:
    """Return the sum of the weights from ``parameters[linear]`` on, over `count` slots from ``features[first]`` on."""
    total = np.float32(0)
    for slot in range(first, first + count, 6):
        total += _sum(parameters, _rows(features, slot, linear, 1), 0)
    return float(total)


@kernel
def _move_output(parameters: Floats, base: int, moves: Features, move: int, units: Floats, hidden: int) -> float:
    """Return the result of a network for the position and a move, without the linear part of the position.

    ``units[:hidden]`` has the hidden inputs of the position. The outputs of the units are written from (1 + move) x hidden on.
    """
    slot, first, out = move * MOVE_SLOTS, (1 + move) * hidden, base + FEATURES * hidden
    a, b = _rows(moves, slot, base, hidden), _rows(moves, slot + 6, base, hidden)
    c, d = _rows(moves, slot + 12, base, hidden), _rows(moves, slot + 18, base, hidden)
    e, f, g = _rows(moves, slot + 24, base, hidden), _rows(moves, slot + 30, base, hidden), _rows(moves, slot + 36, base, hidden)
    for unit in range(hidden):
        total = (units[uintp(unit)] + _sum(parameters, a, unit)) + (_sum(parameters, b, unit) + _sum(parameters, c, unit))
        total += (_sum(parameters, d, unit) + _sum(parameters, e, unit)) + (_sum(parameters, f, unit) + _sum(parameters, g, unit))
        units[uintp(first + unit)] = max(total, np.float32(0))
    even, odd = np.float32(0), np.float32(0)
    for unit in range(0, hidden, 2):
        even += units[uintp(first + unit)] * parameters[uintp(out + unit)]
        odd += units[uintp(first + unit + 1)] * parameters[uintp(out + unit + 1)]
    return _linear(parameters, out + hidden, moves, slot, MOVE_SLOTS) + float(even + odd)


assert (STATE_SLOTS, MOVE_SLOTS) == (4 * 6, 7 * 6)


@kernel
def value_output(parameters: Floats, base: int, state: Features, moves: Features, units: Floats, hidden: int) -> float:
    """Return the value of a position, by the network that begins at `base`. `units`: see `move_scores`."""
    _state_units(parameters, base, state, units, hidden)
    linear = _linear(parameters, base + (FEATURES + 1) * hidden, state, 0, STATE_SLOTS)
    return linear + _move_output(parameters, base, moves, STAY, units, hidden)


@kernel
def move_scores(parameters: Floats, state: Features, moves: Features, units: Floats, hidden: int, scores: Floats) -> None:
    """Write the scores of the five moves into `scores` (float32[5]); `NO_SCORE` for a move without an effect.

    `units` has room for 6 x hidden numbers. The outputs of the hidden units for move m begin at (1 + m) x hidden.
    """
    _state_units(parameters, 0, state, units, hidden)
    for move in range(5):
        scores[move] = NO_SCORE
        if moves[uintp(move * MOVE_SLOTS)] >= 0:
            scores[move] = _move_output(parameters, 0, moves, move, units, hidden)


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
