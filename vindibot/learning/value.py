"""Fits the value of a net to the results of recorded games, and measures how well it predicts them.

The fit is least squares: the error of a predicted lead at the end counts divided by the number of rounds left. So a squared error
of the value (`Positions.target`) has a weight: the square of `Positions.unit`. Without hidden units, the value is a sum of one
weight per feature: a ridge regression, solved by the normal equations. With hidden units, the fit begins with these weights, and
goes on with Adam. The maps for fitting are divided into folds. They choose the ridge, and the first fold decides when Adam stops
(early stopping).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numba import types
from numpy.typing import NDArray

from behaviours.common.kernel_types import int64, uintp
from behaviours.net.features import FEATURES, MOVE_SLOTS, STATE_SLOTS
from behaviours.net.network import LEAD, MOST, NO_POLICY, UNIT, Net, Network
from sim.kernel_types import FLOATS, INT64S
from sim.kernels import entry
from vindibot import __version__
from vindibot.learning.gradient import adam_step, add_value
from vindibot.learning.imitation import folds_of
from vindibot.learning.network import FLOAT32S, INT16_ROWS, Floats, first_parameters, network_size, split, value_output
from vindibot.learning.positions import Positions

#: The command that fits values. Their files name it, so that the command recognises its own files.
VALUE_COMMAND = "vindibot learn value"
#: First rounds of the phases of a game. The quality is measured for each phase.
PHASES = (0, 50, 100, 150, 200, 250)
#: The heads of the table of `quality_rows`.
QUALITY_HEADS = ("round", "positions", "R2", "rank")
#: The ridges that are tried: the fit of each weight gets this number of further positions in which the feature has no effect.
_RIDGES = (10.0, 30.0, 100.0, 300.0, 1000.0, 3000.0)
#: Adam: largest number of passes, number of passes without a gain after which the fit stops, number of positions per step, and
#: the first step size.
_PASSES, _FUTILE_PASSES, _BATCH, _STEP = 60, 6, 256, 1e-3

_Doubles = NDArray[np.float64]


@dataclass(frozen=True)
class Quality:
    """The quality of predictions on positions for validation.

    - `r2`: the share of the variance of the targets that the value explains. The gold that a hero already has does not count.
    - `rank`: the rank correlation (Spearman) of the predicted and the true lead at the end.
    - `count`: number of positions.
    """

    r2: float
    rank: float
    count: int


@dataclass(frozen=True)
class ValueFit:
    """A net with a fitted value, and the numbers of positions for fitting and for validation.

    `quality` has an entry per phase of the game. Its key is the first round of the phase, or -1 for all rounds.
    """

    net: Net
    fitted: int
    held: int
    quality: Mapping[int, Quality]


def fit_value(
    positions: Positions, hidden: int = 0, policy: Net | None = None, note: Callable[[str], None] = lambda text: None
) -> ValueFit:
    """Fit the value of a net to positions, with `hidden` hidden units. `note` is told about the progress.

    The net has the policy and the name of the net `policy`. Raises `UsageError` if there are too few positions.
    """
    fitting, validation = positions.divided("positions")
    folds = folds_of(fitting.maps)
    start, linear = _fit_linear(fitting, folds, note)
    parameters = _fit_hidden(fitting, folds == 0, start, hidden, note) if hidden else linear.astype(np.float32)
    network = Network.rounded(*split(parameters, hidden, 0))
    quality = qualities(values_of(network, validation), validation)
    about: dict[str, Any] = {
        "vindibot": __version__,
        "command": VALUE_COMMAND,
        "positions": len(fitting),
        "r2": round(quality[-1].r2, 4),
        "rank": round(quality[-1].rank, 4),
    }
    net = Net(NO_POLICY if policy is None else policy.policy, network, "" if policy is None else policy.name, about, LEAD)
    return ValueFit(net, len(fitting), len(validation), quality)


def values_of(network: Network, positions: Positions) -> Floats:
    """Return the values of positions by a network, as a net has them: `LEAD` (float32[n])."""
    parameters = np.concatenate([network.rows.ravel(), network.linear, network.out]).astype(np.float32) / np.float32(UNIT)
    return _predictions(parameters, network.hidden, positions)


def _predictions(parameters: Floats, hidden: int, positions: Positions) -> Floats:
    found = np.zeros(len(positions), np.float32)
    find_values(positions.columns.state, positions.columns.stay, parameters, hidden, found)
    return found


def qualities(values: Floats, positions: Positions) -> dict[int, Quality]:
    """Return the quality of predicted values, by phase of the game (see `ValueFit`). Phases with few positions are left out."""
    columns, found = positions.columns, {}
    for number, begin in enumerate((-1, *PHASES)):
        end = PHASES[number] if 0 < number < len(PHASES) else np.inf
        chosen = (columns.round >= begin) & (columns.round < end)
        if chosen.sum() >= 10:
            gain, predicted = positions.gain[chosen].astype(float), positions.gains(values)[chosen].astype(float)
            leads = columns.lead[chosen] + predicted * columns.left[chosen]
            r2 = 1 - ((gain - predicted) ** 2).sum() / max(1e-12, float((gain**2).sum()))
            found[begin] = Quality(float(r2), rank_correlation(leads, columns.final[chosen]), int(chosen.sum()))
    return found


def rank_correlation(one: _Doubles | Floats, other: _Doubles | Floats) -> float:
    """Return Spearman's rank correlation. Equal numbers share the mean of their ranks."""
    ranked = []
    for numbers in (one, other):
        _, group, counts = np.unique(numbers, return_inverse=True, return_counts=True)
        ranks = (np.cumsum(counts) - counts / 2)[group]
        ranked.append((ranks - ranks.mean()) / max(1e-12, float(ranks.std())))
    return float(np.mean(ranked[0] * ranked[1]))


def quality_rows(fit: ValueFit) -> list[list[str]]:
    """Return the rows of the table of the quality on validation. `QUALITY_HEADS` are the heads of its columns."""
    return [
        ["all" if begin < 0 else str(begin), str(one.count), f"{one.r2:.3f}", f"{one.rank:.3f}"]
        for begin, one in fit.quality.items()
    ]


def _targets(positions: Positions) -> tuple[Floats, Floats]:
    """Return the targets of positions, and the weights of their squared errors (each float32[n]). The mean weight is 1."""
    weights = positions.unit**2
    return positions.target, weights / weights.mean(dtype=np.float64).astype(np.float32)


def _fit_linear(positions: Positions, folds: NDArray[np.int64], note: Callable[[str], None]) -> tuple[_Doubles, _Doubles]:
    """Return the weights of all features (float64[`FEATURES`]) that fit best: without the first fold, and for all positions.

    The ridge is the one with the smallest error in a cross-validation: each fold is predicted from the others. The time grows
    with the third power of the number of features that the positions have. The weights of all other features are 0.
    """
    state, stay, *_ = positions.columns
    targets, weights = _targets(positions)
    parts = []
    for fold in range(folds.max() + 1):
        products, sums = np.zeros((FEATURES, FEATURES)), np.zeros(FEATURES)
        add_products(state, stay, targets, weights, np.flatnonzero(folds == fold), products, sums)
        parts.append((products, sums))
    seen = np.flatnonzero(sum(part[0].diagonal() for part in parts))
    parts = [(part[0][np.ix_(seen, seen)], part[1][seen]) for part in parts]
    products, sums = np.sum([part[0] for part in parts], axis=0), np.sum([part[1] for part in parts], axis=0)

    def without(fold: int, ridge: float) -> _Doubles:
        return _solved(products - parts[fold][0], sums - parts[fold][1], ridge)

    def loss(found: _Doubles, fold: int) -> float:
        """The sum of squared errors in a fold, less that of the value 0."""
        return float(found @ parts[fold][0] @ found - 2 * found @ parts[fold][1])

    losses = {ridge: sum(loss(without(fold, ridge), fold) for fold in range(len(parts))) for ridge in _RIDGES}
    best = min(losses, key=lambda ridge: losses[ridge])
    note(f"ridge regression with ridge {best:g}")
    fits = np.zeros((2, FEATURES))
    fits[:, seen] = without(0, best), _solved(products, sums, best)
    return fits[0], fits[1]


def _solved(products: _Doubles, sums: _Doubles, ridge: float) -> _Doubles:
    found = np.linalg.solve(products + ridge * np.eye(len(sums)), sums)
    limited: _Doubles = np.clip(found, -MOST / UNIT, MOST / UNIT)
    return limited


def _fit_hidden(
    positions: Positions, stopping: NDArray[np.bool_], linear: _Doubles, hidden: int, note: Callable[[str], None]
) -> Floats:
    """Return the parameters of the network with hidden units that fits best. The fit begins with the weights `linear`."""
    parameters = first_parameters(hidden, 1)[: network_size(hidden)].copy()
    _, begin, out = split(parameters, hidden, 0)
    begin[:], out[:] = linear, 0
    used, others = np.flatnonzero(~stopping), positions.part(stopping)
    state, stay, *_ = positions.columns
    targets, weights = _targets(positions)
    mean, square, gradient = (np.zeros_like(parameters) for _ in range(3))
    best, stored, waited, steps = _error(parameters, hidden, others), parameters.copy(), 0, 0
    for passed in range(_PASSES):
        order, size = np.random.default_rng([1, passed]).permutation(used), _STEP * (1 - 0.9 * passed / _PASSES)
        total = 0.0
        for numbers in np.array_split(order, -(-len(order) // _BATCH)):
            gradient[:] = 0
            total += value_gradient(state, stay, targets, weights, numbers, parameters, hidden, gradient)
            steps += 1
            adam_step(parameters, mean, square, gradient / np.float32(len(numbers)), size, steps)
        found = _error(parameters, hidden, others)
        errors = f"error {np.sqrt(total / len(order)):.4f}, on other maps {np.sqrt(found):.4f}"
        note(f"pass {passed + 1} of at most {_PASSES}, {errors}")
        waited += 1
        if found < best:
            best, stored, waited = found, parameters.copy(), 0
        if waited == _FUTILE_PASSES:
            break
    return stored


def _error(parameters: Floats, hidden: int, positions: Positions) -> float:
    """Return the mean squared error of the values of positions, with their weights."""
    targets, weights = _targets(positions)
    return float((weights * (_predictions(parameters, hidden, positions) - targets) ** 2).mean(dtype=np.float64))


# ---- Kernels ----


@entry(types.void(INT16_ROWS, INT16_ROWS, FLOAT32S, FLOAT32S, INT64S, types.Array(types.float64, 2, "C"), FLOATS))
def add_products(
    state: NDArray[np.int16],
    stay: NDArray[np.int16],
    targets: Floats,
    weights: Floats,
    numbers: NDArray[np.int64],
    products: _Doubles,
    sums: _Doubles,
) -> None:
    """Add to `products` the weights of the positions `numbers` in which a pair of features occurs, and weight x target to `sums`.

    `products` has `FEATURES` x `FEATURES` entries, and `sums` has an entry per feature.
    """
    features = np.zeros(STATE_SLOTS + MOVE_SLOTS, np.int64)
    for number in numbers:
        count = int64(0)
        for slot in range(STATE_SLOTS + MOVE_SLOTS):
            feature = int64(state[number, slot] if slot < STATE_SLOTS else stay[number, slot - STATE_SLOTS])
            if feature > 0:
                features[count] = feature
                count += 1
        for one in features[:count]:
            sums[uintp(one)] += weights[number] * targets[number]
            for other in features[:count]:
                products[uintp(one), uintp(other)] += weights[number]


@entry(types.void(INT16_ROWS, INT16_ROWS, FLOAT32S, types.int64, FLOAT32S))
def find_values(state: NDArray[np.int16], stay: NDArray[np.int16], parameters: Floats, hidden: int, found: Floats) -> None:
    """Write the values of all positions into `found` (float32[n])."""
    units = np.zeros(2 * hidden, np.float32)
    for number in range(len(state)):
        found[number] = value_output(parameters, int64(0), state[number], stay[number], units, hidden)


@entry(types.float64(INT16_ROWS, INT16_ROWS, FLOAT32S, FLOAT32S, INT64S, FLOAT32S, types.int64, FLOAT32S))
def value_gradient(
    state: NDArray[np.int16],
    stay: NDArray[np.int16],
    targets: Floats,
    weights: Floats,
    numbers: NDArray[np.int64],
    parameters: Floats,
    hidden: int,
    gradient: Floats,
) -> float:
    """Return the weighted sum of squared errors of the positions `numbers`, and add the gradient of half of it to `gradient`."""
    units, total = np.zeros(2 * hidden, np.float32), 0.0
    for number in numbers:
        miss = value_output(parameters, int64(0), state[number], stay[number], units, hidden) - targets[number]
        add_value(parameters, int64(0), gradient, state[number], stay[number], units, hidden, weights[number] * miss)
        total += weights[number] * miss * miss
    return total
