"""Fits nets to the recorded moves of bots, or to the votes of an expert (`vindibot.learning.experts`).

The fit makes the wanted moves as likely as possible. Without hidden units, a net has only the features of
`behaviours.net.move_features`: a conditional logit (McFadden 1974), fitted by L-BFGS with a penalty on large weights (ridge).
With hidden units, a net has all features. The fit begins with the net without hidden units, and goes on with Adam. After each
pass it measures the net on decisions that it does not fit, and it stops when the net gets no better (early stopping).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from behaviours.net.features import MOVE_SLOTS
from behaviours.net.move_features import FEATURES, SLOTS
from behaviours.net.network import LANES, MAX_HIDDEN, MOST as LARGEST, UNIT, Net, Network
from vindibot import __version__
from vindibot.base.errors import UsageError
from vindibot.base.output.console import plain_table
from vindibot.learning.cross_entropy import SUMS, cross_entropy, cross_entropy_gradient
from vindibot.learning.decisions import MoveDecisions
from vindibot.learning.gradient import adam_step
from vindibot.learning.network import Floats, first_parameters, network_size, parameters_of, split

if TYPE_CHECKING:
    from rich.table import Table

#: The command that makes these nets. Their files name it, so that the command recognises its own files.
COMMAND = "vindibot learn imitate"
#: Largest number of iterations of L-BFGS, and the factor of the sum of squares of all weights in its loss.
_ITERATIONS, _RIDGE = 150, 0.25
#: Adam: largest number of passes, number of passes without a gain after which the fit stops, number of decisions per step, and
#: the first step size.
_PASSES, _FUTILE_PASSES, _BATCH, _STEP = 40, 3, 256, 1e-3
#: Number of folds of the maps for fitting. The first fold is only for early stopping.
_FOLDS = 5

_Doubles = NDArray[np.float64]


@dataclass(frozen=True)
class Fit:
    """A net that was fitted to the moves of a bot, and how well it predicts the decisions for validation.

    - `fitted`, `held`: number of decisions for fitting, and for validation.
    - `accuracy`: share of the decisions in which the bot made the likeliest move.
    - `likelihood`: mean logarithm of the probability of the bot's move.
    - `library`: the largest accuracy of a policy of `behaviours.rollout.policy_params.LIBRARY`.
    """

    net: Net
    fitted: int
    held: int
    accuracy: float
    likelihood: float
    library: float


def check_hidden(hidden: int) -> None:
    """Raise `UsageError` if a net cannot have this number of hidden units."""
    if not 0 <= hidden <= MAX_HIDDEN or hidden % LANES:
        raise UsageError(f"--hidden {hidden}: 0, or a multiple of {LANES} up to {MAX_HIDDEN} is possible")


def fit_net(
    bot: str,
    decisions: MoveDecisions,
    hidden: int = 0,
    near: float = 1.0,
    note: Callable[[str], None] = lambda text: None,
    *,
    start: Net | None = None,
    about: Mapping[str, Any] | None = None,
) -> Fit:
    """Fit a net with `hidden` hidden units to the decisions of a bot. `note` is told about the progress.

    Decisions near an enemy have the weight `near`, all others 1. The fit begins with the net `start`, which has at most `hidden`
    hidden units; None: with a net without hidden units. `about` has further facts about the net. Raises `UsageError` if there are
    too few decisions.
    """
    fitting, validation = decisions.divided(f"decisions of {bot}")
    weights = np.where(fitting.columns.near, near, 1.0)
    weights /= weights.mean()
    if start is not None:
        parameters = parameters_of(start, hidden, 1)[: network_size(hidden)].copy()
    else:
        linear = _fit_linear(fitting, weights, lambda rounds: note(f"{bot}: {rounds} iterations of at most {_ITERATIONS}"))
        parameters = first_parameters(hidden, 1)[: network_size(hidden)].copy()
        _, begin, out = split(parameters, hidden, 0)
        begin[: len(linear)], out[:] = linear, 0
    if hidden:
        parameters = _fit_hidden(fitting, weights, parameters, hidden, lambda text: note(f"{bot}: {text}"))
    network = Network.rounded(*split(parameters, hidden, 0))
    likelihood, accuracy = measure(network, validation)
    facts: dict[str, Any] = {
        "vindibot": __version__,
        "command": COMMAND,
        "moves": len(fitting),
        "near": near,
        "predicted": round(accuracy, 4),
        **(about or {}),
    }
    best = validation.columns.wanted == validation.columns.wanted.max(axis=1, keepdims=True)
    library = float(np.take_along_axis(best, validation.columns.library, axis=1).mean(axis=0).max())
    return Fit(Net(network, None, bot, facts), len(fitting), len(validation), accuracy, likelihood, library)


def fit_table(fits: Sequence[Fit]) -> Table:
    """Return the table of fits, with a row for each net."""
    heads = "bot", "for fitting", "for validation", "predicted", "by the library", "log likelihood"
    table = plain_table(*heads, left=("bot",))
    for fit in fits:
        shares = f"{fit.accuracy:.1%}", f"{fit.library:.1%}", f"{fit.likelihood:.3f}"
        table.add_row(fit.net.name, str(fit.fitted), str(fit.held), *shares)
    return table


def measure(network: Network, decisions: MoveDecisions) -> tuple[float, float]:
    """Return the mean logarithm of the probability of the recorded moves, and the share of likeliest moves among them."""
    parameters = np.concatenate([network.rows.ravel(), network.linear, network.out]).astype(np.float32) / np.float32(UNIT)
    return _means(parameters, network.hidden, decisions)


def _means(parameters: Floats, hidden: int, decisions: MoveDecisions) -> tuple[float, float]:
    sums = np.zeros(len(SUMS))
    state, moves, wanted, *_ = decisions.columns
    cross_entropy(state, moves, wanted, np.arange(len(decisions)), parameters, hidden, sums)
    logarithm, predicted = (sums / len(decisions)).tolist()
    return logarithm, predicted


def _fit_linear(decisions: MoveDecisions, weights: _Doubles, progress: Callable[[int], None]) -> _Doubles:
    """Return the weights of the features of `behaviours.net.move_features` that fit best, float64[`FEATURES`]."""
    from scipy.optimize import minimize

    features = decisions.columns.moves.reshape(-1, 5, MOVE_SLOTS)[:, :, :SLOTS]
    allowed, seen = features[:, :, 0] >= 0, np.maximum(features, 0).astype(np.int32)
    flat, wanted = seen.ravel(), decisions.columns.wanted.astype(np.float64)
    rounds = 0

    def loss(scores: _Doubles) -> tuple[float, _Doubles]:
        odds = _probabilities(scores, seen, allowed)
        likelihood = (weights[:, None] * wanted * np.log(odds + 1e-12)).sum()
        odds -= wanted
        odds *= weights[:, None]
        gradient = np.bincount(flat, np.repeat(odds.ravel(), SLOTS), minlength=FEATURES)
        gradient[0] = 0
        return _RIDGE * (scores**2).sum() - likelihood, gradient + 2 * _RIDGE * scores

    def count(_: _Doubles) -> None:
        nonlocal rounds
        rounds += 1
        if rounds % 25 == 0:
            progress(rounds)

    limits = [(-LARGEST / UNIT, LARGEST / UNIT)] * FEATURES
    options = {"maxiter": _ITERATIONS}
    start = np.zeros(FEATURES)
    found: _Doubles = minimize(loss, start, jac=True, bounds=limits, method="L-BFGS-B", callback=count, options=options).x
    return found


def _probabilities(scores: _Doubles, features: NDArray[np.int32], allowed: NDArray[np.bool_]) -> _Doubles:
    """Return the probability of each move: float64[n, 5].

    `features` is int32[n, 5, `SLOTS`], at least 0. `allowed` (bool[n, 5]) says which moves have an effect.
    """
    sums = np.where(allowed, scores[features].sum(axis=2), -np.inf)
    odds: _Doubles = np.exp(sums - sums.max(axis=1, keepdims=True))
    odds /= odds.sum(axis=1, keepdims=True)
    return odds


def _fit_hidden(
    decisions: MoveDecisions, weights: _Doubles, parameters: Floats, hidden: int, note: Callable[[str], None]
) -> Floats:
    """Return the parameters with hidden units that fit best. `parameters`, with which the fit begins, are changed."""
    stopping = folds_of(decisions.maps) == 0
    used, others = np.flatnonzero(~stopping), decisions.part(stopping)
    state, moves, wanted, *_ = decisions.columns
    factors = weights.astype(np.float32)
    mean, square, gradient = (np.zeros_like(parameters) for _ in range(3))
    best, stored, waited, steps = _means(parameters, hidden, others)[0], parameters.copy(), 0, 0
    for passed in range(_PASSES):
        order, size = np.random.default_rng([1, passed]).permutation(used), _STEP * (1 - 0.9 * passed / _PASSES)
        sums = np.zeros(len(SUMS))
        for numbers in np.array_split(order, -(-len(order) // _BATCH)):
            gradient[:] = 0
            cross_entropy_gradient(state, moves, wanted, factors, numbers, parameters, hidden, gradient, sums)
            steps += 1
            adam_step(parameters, mean, square, gradient / np.float32(len(numbers)), size, steps)
        found = _means(parameters, hidden, others)[0]
        note(f"pass {passed + 1} of at most {_PASSES}, log likelihood {sums[0] / len(order):.3f}, on other maps {found:.3f}")
        waited += 1
        if found > best:
            best, stored, waited = found, parameters.copy(), 0
        if waited == _FUTILE_PASSES:
            break
    return stored


def folds_of(places: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the number of the fold of each decision (int64[n]). `places` has the number of its map. A map is in one fold.

    There are `_FOLDS` folds, or one per map, but at least two. If there is only one map, all folds have decisions on it.
    """
    maps, ranks = np.unique(places, return_inverse=True)
    return ranks % max(2, min(_FOLDS, len(maps))) if len(maps) > 1 else np.arange(len(places)) % _FOLDS
