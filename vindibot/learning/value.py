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
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from behaviours.common.evaluation import UNIT, Weights, compiled_weights, score
from behaviours.common.map_tables import map_tables_of
from sim.game import PLIES_PER_ROUND, SEATS
from vindibot.base.console import plain_table, say, terminal
from vindibot.base.errors import UsageError
from vindibot.base.text import counted
from vindibot.base.writing import short
from vindibot.config.bots import Bot, load_bot
from vindibot.config.variants import NewBot
from vindibot.engine.warmup import warm
from vindibot.games.history import GameHistory
from vindibot.learning.decisions import RecordedGames, Sample, digest_number, folds_of, read_games

#: The command that fits weights. Its bots name it.
COMMAND = "vindibot learn value"
#: The weights that are fitted.
FITTED = ("life", "frailty", "reach", "tavern", "loss", "danger", "prey", "dead_end", "spawn")
_FIELDS = Weights.model_json_schema()["properties"]
#: The smallest and the largest value of each.
LIMITS = {name: (float(_FIELDS[name]["minimum"]), float(_FIELDS[name]["maximum"])) for name in FITTED}
#: The ridges that are tried, per position for fitting.
_RIDGES = (1e-5, 1e-4, 1e-3, 1e-2, 1e-1)

_Doubles = NDArray[np.float64]


class PositionColumns(NamedTuple):
    """The columns of n positions, each for one hero, as the fit uses them.

    `missed` is what the evaluation misses of its value at the end of the game, `features` (n x `FITTED`) how it changes with the
    weights.
    """

    missed: _Doubles
    features: _Doubles

    def errors(self, changes: _Doubles) -> _Doubles:
        """Return what the evaluation still misses if its weights change by these numbers of units."""
        return self.missed - self.features @ changes


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
    changes = np.array([(value - getattr(weights, name)) / unit_of(name) for name, value in fitted.items()])
    before, after = (np.sqrt((validation.columns.errors(units) ** 2).mean()) for units in (0 * changes, changes))
    sizes = f"{counted(len(games.games), 'game')}, {len(fitting)} positions for fitting, {len(validation)} for validation"
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


def unit_of(name: str) -> float:
    """Return the unit of the changes of a weight: a twentieth of its range."""
    low, high = LIMITS[name]
    return (high - low) / 20


def fit_weights(positions: Sample, weights: Weights) -> dict[str, float]:
    """Return the weights of `FITTED` that fit best to positions, which `positions_of` found with `weights`."""
    folds = folds_of(positions.maps)

    def loss(ridge: float) -> float:
        parts = [(positions.part(folds != fold), positions.part(folds == fold)) for fold in range(folds.max() + 1)]
        return sum(float((other.columns.errors(_changes(part, ridge)) ** 2).sum()) for part, other in parts)

    fitted = {}
    for name, change in zip(FITTED, _changes(positions, min(_RIDGES, key=loss)).tolist(), strict=True):
        low, high = LIMITS[name]
        fitted[name] = float(f"{min(max(getattr(weights, name) + change * unit_of(name), low), high):.4g}")
    return fitted


def _changes(positions: Sample, ridge: float) -> _Doubles:
    """Return the changes of the weights, in units, that fit best."""
    missed, features = positions.columns
    changes: _Doubles = np.linalg.solve(features.T @ features + ridge * len(missed) * np.eye(len(FITTED)), features.T @ missed)
    return changes


def positions_of(games: RecordedGames, weights: Weights, every: int) -> Sample:
    """Return positions of all games with the evaluation by `weights`. `every` is the number of rounds from one to the next.
    Each position
       counts for all four heroes. A digest of the moves selects the first position of a game.
    """
    variants = [weights.model_copy(update={name: getattr(weights, name) + unit_of(name)}) for name in FITTED]
    compiled = [compiled_weights(variant) for variant in (weights, *variants)]
    step = PLIES_PER_ROUND * every + 1  # one more, so that each hero is to move at times
    parts, maps = [], []
    for record, place in games.games:
        history, tables = GameHistory.of(record), map_tables_of(record.game_map())
        numbers = range(digest_number(bytes(record.moves)) % step, len(history), step)
        if not numbers:  # a short game
            continue
        states = [history.state(number) for number in (*numbers, len(history))]
        scores = np.array(
            [[[score(state, 0, hero, tables, each) for each in compiled] for hero in range(SEATS)] for state in states]
        )
        left = np.array([[-((history.turn(number) - record.max_turns) // PLIES_PER_ROUND)] for number in numbers])
        missed = (scores[-1, :, 0] - scores[:-1, :, 0]) / UNIT / left
        features = (scores[:-1, :, 1:] - scores[:-1, :, :1]) / UNIT / left[:, :, None]
        columns = (missed - missed.mean(axis=0)).ravel(), (features - features.mean(axis=0)).reshape(-1, len(FITTED))
        parts.append(PositionColumns(*columns))
        maps += [place] * missed.size
    return Sample(PositionColumns._make(map(np.concatenate, zip(*parts, strict=True))), np.array(maps), games.held)
