"""``vindibot learn imitate``: nets that move like the bots in recorded games.

The fit makes the recorded moves as likely as possible. Without hidden units, a net has only the features of
`behaviours.net.move_features`: a conditional logit (McFadden 1974), fitted by L-BFGS with a penalty on large weights (ridge).
With hidden units, a net has all features. The fit begins with the net without hidden units, and goes on with Adam. After each
pass it measures the net on decisions that it does not fit, and it stops when the net gets no better (early stopping).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from rich.table import Table

from behaviours.net.features import MOVE_SLOTS
from behaviours.net.move_features import FEATURES, SLOTS
from behaviours.net.network import LANES, MAX_HIDDEN, MOST as LARGEST, UNIT, Net, Network
from vindibot import __version__
from vindibot.base import interrupts
from vindibot.base.console import plain_table, say, terminal
from vindibot.base.errors import UsageError
from vindibot.base.startup import require_extra
from vindibot.base.writing import short
from vindibot.config.bots import Bot, load_bot
from vindibot.config.traits import name_of_file
from vindibot.config.variants import NewBot
from vindibot.engine.warmup import warm
from vindibot.learning.decisions import MoveDecisions, decisions_of, folds_of
from vindibot.learning.gradient import SUMS, adam_step, cross_entropy, cross_entropy_gradient
from vindibot.learning.network import Floats, NetFile, first_parameters, network_size, parameters_of, split

#: The command that makes these nets. Their files name it, so that the command recognises its own files.
COMMAND = "vindibot learn imitate"
#: Largest number of iterations of L-BFGS, and the factor of the sum of squares of all weights in its loss.
_ITERATIONS, _RIDGE = 150, 0.25
#: Adam: largest number of passes, number of passes without a gain after which the fit stops, number of decisions per step, and
#: the first step size.
_PASSES, _FUTILE_PASSES, _BATCH, _STEP = 40, 3, 256, 1e-3

_Doubles = NDArray[np.float64]


@dataclass(frozen=True)
class Fit:
    """A net that was fitted to the moves of a bot, and how well it predicts the decisions for validation.

    - `fitted`, `held`: number of decisions for fitting, and for validation.
    - `accuracy`: share of the decisions in which the bot made the likeliest move.
    - `likelihood`: mean logarithm of the probability of the bot's move.
    - `library`: the largest accuracy of a policy of `behaviours.rollout.policy.LIBRARY`.
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


def run_imitation(
    bot: str,
    records: tuple[Path, ...],
    *,
    only: tuple[str, ...],
    trait: str | None,
    holdout: float,
    near: float,
    hidden: int,
    out: Path | None,
    net: Path | None,
) -> int:
    """Do what ``vindibot learn imitate`` does with these arguments and options, and return its exit code."""
    require_extra()
    check_hidden(hidden)
    if net is None:
        if hidden:
            raise UsageError(f"--hidden {hidden}: opponent models have no hidden units; --net FILE writes nets that play alone")
        loaded, label = load_bot(bot), trait or "rollout"
        path, option = out or Path(f"{loaded.name}-learned.toml"), "--out"
    else:
        if out is not None or trait is not None:
            raise UsageError("--net writes no opponent models: leave out --out and --trait")
        loaded, label, records = None, "", (Path(bot), *records)
        path, option = net.with_suffix(".toml"), "--net"
    new_bot, file = NewBot(path, COMMAND, option), NetFile(net or path.with_suffix(".npz"), COMMAND, option)
    if not records:
        raise UsageError("name the files of game records after BOT, for example results/cup.games.jsonl")
    if missing := [record for record in records if not record.is_file()]:
        hint = "; with --net, leave out BOT" if net is not None and missing[0] == Path(bot) else ""
        raise UsageError(f"there is no file of game records {short(missing[0])}{hint}")
    known = models_of(loaded, label, new_bot, file) if loaded is not None else []
    new_bot.check()
    file.check()
    console = terminal()
    warm(console)
    say(console, "reading the games", "dim")
    decisions = decisions_of(records, holdout, only)
    fits = fit_all(decisions, hidden, near, lambda text: say(console, text, "dim"))
    if fits:
        console.print(fit_table(fits))
        file.write([fit.net for fit in fits])
        if loaded is None:
            about = f"It plays the net of {fits[0].net.name} in {file.path.name}."
            new_bot.write({"traits": {"learned": {"net": file.path.name}}}, [about, *_accuracies(fits)])
        else:
            about = f"{file.path.name} has opponent models fitted to recorded moves, one for each bot below."
            traits = {label: {"learned": [*known, file.path.name]}}
            new_bot.write_variant(loaded, "learned", traits, [about, *_accuracies(fits)])
        say(console, f"nets: {short(file.path)}", "dim")
        say(console, f"bot: {short(new_bot.path)}")
    if len(fits) < len(decisions):
        say(console, "interrupted: the other bots have no net", "yellow")
        return interrupts.INTERRUPTED
    return 0


def fit_all(decisions: Mapping[str, MoveDecisions], hidden: int, near: float, note: Callable[[str], None]) -> list[Fit]:
    """Return a fit per bot, as `fit_net` does. After Ctrl-C, only those that are ready."""
    fits: list[Fit] = []
    try:
        for name, part in decisions.items():
            fit = fit_net(name, part, hidden, near, note)
            fits.append(fit)
    except KeyboardInterrupt:
        pass
    return fits


def models_of(bot: Bot, trait: str, new_bot: NewBot, file: NetFile) -> list[str]:
    """Return the files of nets that the trait with the label `trait` has as opponent models, as the file of `new_bot` names them.

    Raises `UsageError` if the bot has no trait with this label and the parameter `learned`, and if one of the two files is a file
    of the bot.
    """
    traits = {spec.label: behaviour for spec, behaviour in bot.build() if "learned" in type(behaviour).model_fields}
    if trait not in traits:
        raise UsageError(f"--trait {trait}: {bot.name} has no trait {trait!r} with the parameter learned")
    known = [Path(path) for path in getattr(traits[trait], "learned", ())]
    if new_bot.path.resolve() == Path(bot.path) or file.path.resolve() in known:
        uses = f"{bot.name} uses {short(new_bot.path)} or {short(file.path)} itself"
        raise UsageError(f"{new_bot.option}: {uses}; name another file")
    return [name_of_file(path, new_bot.path.parent) for path in known]


def _accuracies(fits: Sequence[Fit]) -> list[str]:
    return [
        "The percentage is the share of the bot's moves that its net predicts, on maps that the fit did not use.",
        *(f"  {fit.net.name}: {fit.accuracy:.1%} of {fit.held} moves" for fit in fits),
    ]


def fit_net(
    bot: str,
    decisions: MoveDecisions,
    hidden: int = 0,
    near: float = 1.0,
    note: Callable[[str], None] = lambda text: None,
) -> Fit:
    """Fit a net with `hidden` hidden units to the decisions of a bot. `note` is told about the progress.

    Decisions near an enemy have the weight `near`, all others 1. Raises `UsageError` if there are too few decisions.
    """
    fitting, validation = decisions.divided(f"decisions of {bot}")
    weights = np.where(fitting.columns.near, near, 1.0)
    weights /= weights.mean()
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
    }
    library = float((validation.columns.library == validation.columns.chosen[:, None]).mean(axis=0).max())
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
    parameters = parameters_of(Net(network), network.hidden, 1)[: network_size(network.hidden)]
    return _means(parameters, network.hidden, decisions)


def _means(parameters: Floats, hidden: int, decisions: MoveDecisions) -> tuple[float, float]:
    sums = np.zeros(len(SUMS))
    state, moves, chosen, *_ = decisions.columns
    cross_entropy(state, moves, chosen, np.arange(len(decisions)), parameters, hidden, sums)
    logarithm, predicted = (sums / len(decisions)).tolist()
    return logarithm, predicted


def _fit_linear(decisions: MoveDecisions, weights: _Doubles, progress: Callable[[int], None]) -> _Doubles:
    """Return the weights of the features of `behaviours.net.move_features` that fit best, float64[`FEATURES`]."""
    from scipy.optimize import minimize

    features = decisions.columns.moves.reshape(-1, 5, MOVE_SLOTS)[:, :, :SLOTS]
    allowed, seen = features[:, :, 0] >= 0, np.maximum(features, 0).astype(np.int32)
    flat, chosen = seen.ravel(), np.eye(5)[decisions.columns.chosen]
    rounds = 0

    def loss(scores: _Doubles) -> tuple[float, _Doubles]:
        odds = _probabilities(scores, seen, allowed)
        likelihood = (weights[:, None] * chosen * np.log(odds + 1e-12)).sum()
        odds -= chosen
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
    best: _Doubles = minimize(loss, start, jac=True, bounds=limits, method="L-BFGS-B", callback=count, options=options).x
    return best


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
    state, moves, chosen, *_ = decisions.columns
    factors = weights.astype(np.float32)
    mean, square, gradient = (np.zeros_like(parameters) for _ in range(3))
    best, stored, waited, steps = _means(parameters, hidden, others)[0], parameters.copy(), 0, 0
    for passed in range(_PASSES):
        order, size = np.random.default_rng([1, passed]).permutation(used), _STEP * (1 - 0.9 * passed / _PASSES)
        sums = np.zeros(len(SUMS))
        for numbers in np.array_split(order, -(-len(order) // _BATCH)):
            gradient[:] = 0
            cross_entropy_gradient(state, moves, chosen, factors, numbers, parameters, hidden, gradient, sums)
            steps += 1
            adam_step(parameters, mean, square, gradient / np.float32(len(numbers)), size, steps)
        likelihood = _means(parameters, hidden, others)[0]
        note(f"pass {passed + 1} of at most {_PASSES}, log likelihood {sums[0] / len(order):.3f}, on other maps {likelihood:.3f}")
        waited += 1
        if likelihood > best:
            best, stored, waited = likelihood, parameters.copy(), 0
        if waited == _FUTILE_PASSES:
            break
    return stored
