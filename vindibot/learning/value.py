"""``vindibot learn value``: weights of an evaluation (`behaviours.common.evaluation`), fitted to recorded games.

**Target.** The evaluation of a position estimates, in gold, what it says at the end of the game: the gold of the hero minus the
weighted gold of its rivals. The weights of the rivals say what the bot wants, so they stay as they are.

**Features.** The feature of a weight is the change of the evaluation, in gold, if the weight grows by a twentieth of its range.
Weights in which the evaluation is not linear (rounds, discounts, scales) stay as they are.

**Fit.** A ridge regression of what the evaluation misses on these features. Both are divided by the number of rounds left, and
both lose their mean over the positions of a hero in a game. So what a bot gains because it is stronger does not count. The ridge
draws all weights towards those of the bot. A cross-validation on the maps for fitting chooses it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numba import types
from numpy.typing import NDArray

from behaviours.common.evaluation import UNIT, WEIGHT_ARRAY, Weights, compiled_weights, evaluate
from behaviours.common.map_tables import MAP_TABLES_ARRAY, map_tables_of
from sim.game import GAMES, PLIES_PER_ROUND, SEATS, Games
from sim.kernel_types import INT8S, INT64S, int64
from sim.kernels import entry
from sim.rules import play
from vindibot.base.console import plain_table, say, terminal
from vindibot.base.errors import UsageError
from vindibot.base.writing import short
from vindibot.config.bots import Bot, load_bot
from vindibot.config.variants import NewBot
from vindibot.engine.warmup import warm
from vindibot.games.game_record import GameRecord
from vindibot.learning.decisions import RecordedGames, Sample, digest_number, folds_of, read_games

#: The command that fits weights. Its bots name it.
COMMAND = "vindibot learn value"
#: The weights that are fitted.
FITTED = ("life", "frailty", "reach", "tavern", "loss", "danger", "prey", "dead_end", "spawn")
#: The ridges that are tried, per position for fitting.
_RIDGES = (1e-5, 1e-4, 1e-3, 1e-2, 1e-1)

_Doubles = NDArray[np.float64]


class PositionColumns(NamedTuple):
    """The columns of n positions, each for one hero, as the fit uses them.

    - `missed`: what the evaluation misses of its value at the end of the game.
    - `features` (n x `FITTED`): how the evaluation changes with the weights.
    """

    missed: _Doubles
    features: _Doubles


@dataclass(frozen=True)
class Positions(Sample):
    """Positions of recorded games."""

    columns: PositionColumns

    def error(self, changes: Sequence[float]) -> float:
        """Return the root mean squared error of the evaluation, if its weights change by these numbers of units."""
        return float(np.sqrt(((self.columns.missed - self.columns.features @ np.array(changes)) ** 2).mean()))


def run_value(bot: str, records: Sequence[Path], *, trait: str, out: Path | None, every: int, holdout: float) -> None:
    """Do what ``vindibot learn value`` does with these arguments and options."""
    loaded = load_bot(bot)
    weights = weights_of(loaded, trait)
    output = NewBot(out or Path(f"{loaded.name}-fitted.toml"), COMMAND, "--out")
    if output.path.resolve() == Path(loaded.path):
        raise UsageError(f"--out: {short(output.path)} is the bot itself; name another file")
    if missing := [record for record in records if not record.is_file()]:
        raise UsageError(f"there is no file of game records {short(missing[0])}")
    output.check()
    console = terminal()
    warm(console)
    say(console, "reading the games", "dim")
    games = read_games(records, holdout)
    fitting, validation = positions_of(games, weights, every).divided("positions")
    fitted = fit_weights(fitting, weights)
    table = plain_table("weight", "before", "fitted", left=("weight",))
    for name, value in fitted.items():
        table.add_row(name, f"{getattr(weights, name):g}", f"{value:g}")
    console.print(table)
    changes = [(value - getattr(weights, name)) / unit_of(name) for name, value in fitted.items()]
    before, after = validation.error([0.0] * len(FITTED)), validation.error(changes)
    sizes = f"{len(games.games)} games, {len(fitting)} positions for fitting, {len(validation)} for validation"
    quality = f"error on other maps, in gold per round left: {before:.3f} before, {after:.3f} fitted"
    say(console, f"{sizes}\n{quality}")
    comments = [f"The weights of the trait {trait} are fitted to recorded games: {sizes};", f"{quality}."]
    output.write_variant(loaded, "fitted", {trait: {"weights": fitted}}, comments)
    say(console, f"bot: {short(output.path)}")


def weights_of(bot: Bot, trait: str) -> Weights:
    """Return the weights of the trait with this label. Raises `UsageError` if it has none of an evaluation."""
    for spec, behaviour in bot.build():
        if spec.label == trait and isinstance(weights := getattr(behaviour, "weights", None), Weights):
            return weights
    raise UsageError(f"--trait {trait}: {bot.name} has no trait {trait!r} with the weights of an evaluation, as search has")


def _limits(name: str) -> list[float]:
    """Return the smallest and the largest value of a weight."""
    limits = Weights.model_fields[name].metadata
    return [next(float(getattr(limit, side)) for limit in limits if hasattr(limit, side)) for side in ("ge", "le")]


def unit_of(name: str) -> float:
    """Return the unit of the changes of a weight: a twentieth of its range."""
    low, high = _limits(name)
    return (high - low) / 20


def fit_weights(positions: Positions, weights: Weights) -> dict[str, float]:
    """Return the weights of `FITTED` that fit best to positions, which `positions_of` found with `weights`."""
    (missed, features), folds = positions.columns, folds_of(positions.maps)
    parts = [(features[folds == fold], missed[folds == fold]) for fold in range(folds.max() + 1)]
    products, sums = np.array([part.T @ part for part, _ in parts]), np.array([part.T @ target for part, target in parts])

    def solved(ridge: float, left_out: int = -1) -> _Doubles:
        used = np.arange(len(parts)) != left_out
        matrix = products[used].sum(axis=0) + ridge * len(positions) * np.eye(len(FITTED))
        changes: _Doubles = np.linalg.solve(matrix, sums[used].sum(axis=0))
        return changes

    def loss(ridge: float) -> float:
        return sum(float(((target - part @ solved(ridge, fold)) ** 2).sum()) for fold, (part, target) in enumerate(parts))

    changes, fitted = solved(min(_RIDGES, key=loss)).tolist(), {}
    for name, change in zip(FITTED, changes, strict=True):
        low, high = _limits(name)
        fitted[name] = float(f"{min(max(getattr(weights, name) + change * unit_of(name), low), high):.4g}")
    return fitted


def positions_of(games: RecordedGames, weights: Weights, every: int) -> Positions:
    """Return positions of all games with the evaluation by `weights`. `every` is the number of rounds from one to the next.

    Each position counts for all four heroes.
    """
    variants = [weights.model_copy(update={name: getattr(weights, name) + unit_of(name)}) for name in FITTED]
    compiled = np.concatenate([compiled_weights(variant) for variant in (weights, *variants)])
    parts, maps = [], []
    for record, place in games.games:
        scores, left = _scores_in(record, compiled, every)
        if not left.size:  # a short game
            continue
        missed = (scores[-1, :, 0] - scores[:-1, :, 0]) / left[:, None]
        features = (scores[:-1, :, 1:] - scores[:-1, :, :1]) / left[:, None, None]
        columns = (missed - missed.mean(axis=0)).ravel(), (features - features.mean(axis=0)).reshape(-1, len(FITTED))
        parts.append(PositionColumns(*columns))
        maps += [place] * missed.size
    return Positions(PositionColumns._make(map(np.concatenate, zip(*parts, strict=True))), np.array(maps), games.held)


def _scores_in(record: GameRecord, weights: NDArray[np.void], every: int) -> tuple[_Doubles, _Doubles]:
    """Return evaluations in gold (float64[positions + 1, heroes, weights]), and the number of rounds left in each position.

    The last evaluation is that of the end. A digest of the moves selects the first position.
    """
    game, moves = record.first(), np.array(record.moves, np.int8)
    step = PLIES_PER_ROUND * every + 1  # one more, so that each hero is to move at times
    plies = np.arange(digest_number(bytes(record.moves)) % step, len(moves), step)
    left = -((game["turn"].item(0) + plies - game["max_turns"].item(0)) // PLIES_PER_ROUND)
    scores = np.zeros((len(plies) + 1, SEATS, len(weights)))
    find_scores(game, moves, np.append(plies, len(moves)), map_tables_of(record.game_map()), weights, scores)
    return scores, left.astype(np.float64)


@entry(types.void(GAMES, INT8S, INT64S, MAP_TABLES_ARRAY, WEIGHT_ARRAY, types.Array(types.float64, 3, "C")))
def find_scores(
    games: Games,
    moves: NDArray[np.int8],
    plies: NDArray[np.int64],
    tables_array: NDArray[np.void],
    weights: NDArray[np.void],
    scores: _Doubles,
) -> None:
    """Play `moves` in ``games[0]``. Write the evaluations before the plies `plies` (`scores`: as `_scores_in` returns them)."""
    game, row = games[0], int64(0)
    for ply in range(len(moves) + 1):
        if ply == plies[row]:
            for hero in range(SEATS):
                for number in range(len(weights)):
                    scores[row, hero, number] = evaluate(game, tables_array[0], weights[number], hero) / UNIT
            row += 1
        if ply < len(moves):
            play(game, moves[ply], None)
