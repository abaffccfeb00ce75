"""``vindibot learn value``: the weights of an evaluation (`behaviours.common.evaluation`), fitted to recorded games.

**Target.** The evaluation of a position estimates, in gold, what it says at the end of the game: the gold of the hero minus the
weighted gold of its rivals. The weights of the rivals say what the bot wants, so they stay as they are.

**Features.** The feature of a weight is the change of the evaluation, in gold, if the weight grows by its spread (`_spread`). For
most weights the evaluation is linear, so the change is exact. For the others it is a difference, and the fit is done again at the
weights found.

**Fit.** A ridge regression of what the evaluation misses on these features, with errors in gold per round left. It draws all
weights towards those of the bot. A cross-validation on the maps for fitting chooses the ridge.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np
import tomli_w
from numba import types
from numpy.typing import NDArray

from behaviours.common.evaluation import UNIT, WEIGHT_ARRAY, Weights, compiled_weights, evaluate
from behaviours.common.map_tables import MAP_TABLES_ARRAY, map_tables_of
from sim.game import GAMES, PLIES_PER_ROUND, RUNNING, SEATS, Games
from sim.kernel_types import INT8S, int64
from sim.kernels import entry
from sim.rules import play
from vindibot.base.errors import UsageError
from vindibot.base.output.console import plain_table, say, terminal
from vindibot.base.output.text import counted
from vindibot.base.writing import Output, short
from vindibot.config.bots import LONGEST_NAME, Bot, load_bot
from vindibot.engine.warmup import warm
from vindibot.games.game_record import GameRecord
from vindibot.learning.decisions import RecordedGames, Sample, digest_number, folds_of, read_games
from vindibot.learning.net_files import MARK
from vindibot.tuning.bot_files import head, reference

#: The command that fits weights. Its bots name it.
COMMAND = "vindibot learn value"
#: The weights that are fitted.
FITTED = tuple(name for name in Weights.model_fields if name not in ("rivals", "leader"))
#: Number of times that the fit is done.
_PASSES = 3
#: The ridges that are tried, as shares of the positions for fitting.
_RIDGES = (1e-5, 1e-4, 1e-3, 1e-2, 1e-1)

_Doubles = NDArray[np.float64]


class PositionColumns(NamedTuple):
    """The columns of n positions, each for one hero. Gold is gold minus the weighted gold of the rivals.

    - `missed`: what the evaluation misses of the gold at the end. `gained`: the gold at the end minus the gold in the position.
    - `features` (n x `FITTED`): how the evaluation changes if a weight grows by its spread.

    All of them are in gold per round left.
    """

    missed: _Doubles
    gained: _Doubles
    features: NDArray[np.float32]


@dataclass(frozen=True)
class Positions(Sample):
    """Positions of recorded games."""

    columns: PositionColumns

    @property
    def r2(self) -> float:
        """The share of the variance of the gains until the end of the game that the evaluation explains."""
        return float(1 - (self.columns.missed**2).sum() / max(1e-12, (self.columns.gained**2).sum()))


@dataclass(frozen=True)
class WeightsFit:
    """Weights fitted to positions. `before` and `after` have the positions for validation, by the old and the new weights."""

    weights: Weights
    before: Positions
    after: Positions
    fitted: int


def run_value(bot: str, records: Sequence[Path], trait: str, out: Path | None, every: int, holdout: float) -> None:
    """Do what ``vindibot learn value`` does with these arguments and options."""
    loaded = load_bot(bot)
    weights = weights_of(loaded, trait)
    output = Output(out or Path(f"{loaded.name}-fitted.toml"), MARK, COMMAND, "--out names another file")
    if output.path.suffix != ".toml":
        raise UsageError("--out: the name of the file must end in .toml")
    if output.path.resolve() == Path(loaded.path):
        raise UsageError(f"--out: {short(output.path)} is the bot itself; name another file")
    if missing := [record for record in records if not record.is_file()]:
        raise UsageError(f"there is no file of game records {short(missing[0])}")
    output.check()
    console = terminal()
    warm(console)
    say(console, "reading the games", "dim")
    games = read_games(records, holdout)
    fit = fit_value(games, weights, every)
    table = plain_table("weight", "before", "fitted", left=("weight",))
    for name in FITTED:
        table.add_row(name, f"{getattr(weights, name):g}", f"{getattr(fit.weights, name):g}")
    console.print(table)
    sizes = f"{counted(len(games.games), 'game')}, {fit.fitted} positions for fitting, {len(fit.before)} for validation"
    quality = f"R2 on maps that the fit did not use: {fit.before.r2:.3f} before, {fit.after.r2:.3f} fitted"
    say(console, f"{sizes}\n{quality}")
    content = {
        "name": f"{loaded.name}-fitted"[:LONGEST_NAME],
        "version": loaded.version,
        "extends": reference(loaded, output.path),
        "traits": {trait: {"weights": {name: getattr(fit.weights, name) for name in FITTED}}},
    }
    comments = [f"The weights of the trait {trait} are fitted to recorded games: {sizes}.", f"{quality}."]
    output.write(head(comments, MARK) + tomli_w.dumps(content))
    say(console, f"bot: {short(output.path)}")


def fit_value(games: RecordedGames, weights: Weights, every: int) -> WeightsFit:
    """Fit weights to games, beginning with `weights`. For `every` see `positions_of`. Raises `UsageError` for too few games."""
    fitted, (fitting, before) = weights, positions_of(games, weights, every).divided("positions")
    after = before
    for _ in range(_PASSES):
        fitted = fit_weights(fitting, fitted)
        fitting, after = positions_of(games, fitted, every).divided("positions")
    return WeightsFit(fitted, before, after, len(fitting))


def weights_of(bot: Bot, trait: str) -> Weights:
    """Return the weights of the trait with this label. Raises `UsageError` if it has none of an evaluation."""
    for spec, behaviour in bot.build():
        if spec.label == trait and isinstance(weights := getattr(behaviour, "weights", None), Weights):
            return weights
    raise UsageError(f"--trait {trait}: {bot.name} has no trait {trait!r} with the weights of an evaluation, as search has")


def fit_weights(positions: Positions, weights: Weights) -> Weights:
    """Return the weights that fit best to positions, which `positions_of` found with `weights`."""
    columns, folds = positions.columns, folds_of(positions.maps)
    features = columns.features.astype(np.float64)
    parts = [(features[folds == fold], columns.missed[folds == fold]) for fold in range(folds.max() + 1)]
    products, sums = [part.T @ part for part, _ in parts], [part.T @ missed for part, missed in parts]

    def solved(ridge: float, left_out: int | None = None) -> _Doubles:
        used = [fold for fold in range(len(parts)) if fold != left_out]
        matrix = sum(products[fold] for fold in used) + ridge * len(positions) * np.eye(len(FITTED))
        changes: _Doubles = np.linalg.solve(matrix, sum(sums[fold] for fold in used))
        return changes

    def loss(ridge: float) -> float:
        return sum(float(((missed - part @ solved(ridge, fold)) ** 2).sum()) for fold, (part, missed) in enumerate(parts))

    changes = dict(zip(FITTED, solved(min(_RIDGES, key=loss)).tolist(), strict=True))
    return weights.model_copy(update={name: _moved(weights, name, change) for name, change in changes.items()})


def _limits(name: str) -> tuple[float, float]:
    """Return the smallest and the largest value of a weight."""
    low, high = (
        next(getattr(limit, side) for limit in Weights.model_fields[name].metadata if hasattr(limit, side))
        for side in ("ge", "le")
    )
    return float(low), float(high)


def _spread(weights: Weights, name: str) -> float:
    """Return the unit in which a weight is fitted: a fifth of its value, at least 1 % and at most 10 % of its range."""
    low, high = _limits(name)
    value: float = getattr(weights, name)
    return min(max(value / 5, (high - low) / 100), (high - low) / 10)


def _moved(weights: Weights, name: str, change: float) -> float:
    """Return a weight changed by a number of spreads, within its limits."""
    low, high = _limits(name)
    return float(f"{min(max(getattr(weights, name) + change * _spread(weights, name), low), high):.4g}")


def positions_of(games: RecordedGames, weights: Weights, every: int) -> Positions:
    """Return positions of all games with the evaluation by `weights`. `every` is the number of rounds from one to the next.

    Each position counts for all four heroes. A digest of the game selects the first position.
    """
    ends = [(_moved(weights, name, -1), _moved(weights, name, 1)) for name in FITTED]
    variants = [weights]
    for name, pair in zip(FITTED, ends, strict=True):
        variants += [weights.model_copy(update={name: value}) for value in pair]
    spans = np.array([(high - low) / _spread(weights, name) for name, (low, high) in zip(FITTED, ends, strict=True)])
    compiled = np.concatenate([compiled_weights(variant) for variant in variants])
    parts, maps = [], []
    for record, place in games.games:
        scores, gold, left = _scores_in(record, compiled, every)
        final = gold[-1]
        values = scores[:-1].reshape(-1, len(variants)) / UNIT
        rounds = np.repeat(left[:-1], SEATS)
        gained = (np.tile(final, len(left) - 1) - gold[:-1].ravel()) / UNIT
        missed = np.tile(final, len(left) - 1) / UNIT - values[:, 0]
        features = (values[:, 2::2] - values[:, 1::2]) / spans / rounds[:, None]
        parts.append(PositionColumns(missed / rounds, gained / rounds, features.astype(np.float32)))
        maps += [place] * len(rounds)
    return Positions(PositionColumns._make(map(np.concatenate, zip(*parts, strict=True))), np.array(maps), games.held)


def _scores_in(
    record: GameRecord, weights: NDArray[np.void], every: int
) -> tuple[NDArray[np.int64], NDArray[np.int64], _Doubles]:
    """Return the evaluations of positions, their gold, and their numbers of rounds left. The last position is the end.

    Scores are int64[positions, heroes, weights], and gold is int64[positions, heroes], both in hundredths of gold.
    """
    moves, step = np.array(record.moves, np.int8), PLIES_PER_ROUND * every + 1  # one more, so that each hero is to move at times
    first = digest_number(bytes(record.moves)) % step
    count = len(range(first, len(moves), step)) + 1
    scores, gold = np.zeros((count, SEATS, len(weights)), np.int64), np.zeros((count, SEATS), np.int64)
    left = np.zeros(count)
    find_scores(record.first(), moves, first, step, map_tables_of(record.game_map()), weights, scores, gold, left)
    return scores, gold, left


@entry(
    types.void(
        GAMES, INT8S, types.int64, types.int64, MAP_TABLES_ARRAY, WEIGHT_ARRAY, types.Array(types.int64, 3, "C"),
        types.Array(types.int64, 2, "C"), types.Array(types.float64, 1, "C"),
    )
)  # fmt: skip
def find_scores(
    games: Games,
    moves: NDArray[np.int8],
    first: int,
    step: int,
    tables_array: NDArray[np.void],
    weights: NDArray[np.void],
    scores: NDArray[np.int64],
    gold: NDArray[np.int64],
    left: _Doubles,
) -> None:
    """Play `moves` in ``games[0]``. Write the scores of every `step`-th position, from `first` on, and of the end.

    `scores`, `gold` and `left` are those of `_scores_in`.
    """
    game, tables, row = games[0], tables_array[0], int64(0)
    for ply in range(len(moves) + 1):
        if ply == len(moves) or (ply >= first and (ply - first) % step == 0):
            turn = int64(game.turn)
            left[row] = (int64(game.max_turns) - turn + PLIES_PER_ROUND - 1) // PLIES_PER_ROUND
            for hero in range(SEATS):
                for number in range(len(weights)):
                    scores[row, hero, number] = evaluate(game, tables, weights[number], hero)
                game.turn = game.max_turns  # with no round left, only gold counts
                gold[row, hero] = evaluate(game, tables, weights[0], hero)
                game.turn = turn
            row += 1
        if ply < len(moves) and game.status == RUNNING:
            play(game, moves[ply], None)
