"""The value of every move of a turn by playouts, in gold at the end of the game.

The value of a move is the value of the best plan that begins with this move. So the review of a turn has two parts. The first
part compares the plans that begin with the same move, and keeps one plan per move. The second part plays these plans in new
scenarios, so the choice of the plans does not bias the values. All plans are played in the same scenarios. The difference of two
moves is the mean of their differences in each scenario.

A playout may end before the game ends. Then `final_gold` estimates the gold at the end of the game. The estimate is linear in the
mines and in the life of a hero. Its constants are fitted to playouts to the end of the game (docs/review.md).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from behaviours.base import View
from behaviours.common.evaluation import Weights, compiled_weights
from behaviours.common.map_tables import map_tables_of
from behaviours.rollout.outcomes import play_outcomes
from behaviours.rollout.plans import plans_of_moves
from behaviours.rollout.playouts import EPSILON_UNIT, ROLLOUT_PARAMS, Batch
from behaviours.rollout.trait import Rollout
from sim.game import PLIES_PER_ROUND
from vindibot.base.errors import UsageError
from vindibot.config.bots import Bot
from vindibot.review.mistakes import FAR

#: Default number of plies that are played out per turn, and default length of a playout in rounds.
NODES, ROUNDS = 750_000, 40
#: Share of the nodes for the choice of a plan per move, number of stages of this choice, and divisor of the number of plans after
#: each stage. The last stage keeps one plan per move.
CHOICE, STAGES, BEST_SHARE = 0.6, 3, 3
#: Smallest and largest number of scenarios in which the chosen plans are compared.
LEAST, MOST = 16, 20_000
#: Largest value in gold of one more mine at the end of a playout, and the number of remaining rounds for which its value is 63 %
#: of the largest value.
MINE, MINE_ROUNDS = 17.0, 18.0
#: Largest value in gold of one more point of life at the end of a playout, and the number of remaining rounds for which its value
#: is 63 % of the largest value.
LIFE, LIFE_ROUNDS = 0.2, 15.0
#: Number of plies of a playout that are kept for the rules of the kinds.
LINE_PLIES = PLIES_PER_ROUND * FAR.rounds
#: Seed of the scenarios. It is constant, so a repeated review gives the same numbers.
SEED = 1_000_003
_GOLD, _MINES, _LIFE, _STOLEN = range(4)


@dataclass(frozen=True, eq=False)
class Outcomes:
    """The outcomes of one plan per move in the same scenarios.

    - `moves`: the first move of each plan (0..4), ascending.
    - `gold`: the expected gold of heroes 1..4 at the end of the game: float64[scenarios, moves, 4].
    - `lines`: the first moves of each playout, one per ply: int8[scenarios, moves, `LINE_PLIES`], -1 after its end.
    - `nodes`: the number of plies that were played out.
    """

    moves: tuple[int, ...]
    gold: NDArray[np.float64]
    lines: NDArray[np.int8]
    nodes: int


def rollout_of(bot: Bot) -> Rollout:
    """Return the first trait `rollout` of a bot. Raises `UsageError` if it has none."""
    rollout = next((trait for _, trait in bot.build() if isinstance(trait, Rollout)), None)
    if rollout is None:
        raise UsageError(f"the bot {bot.name} has no trait rollout, whose playouts value the moves: name another with --bot")
    return rollout


def final_gold(ends: NDArray[np.int64], rounds_left: int, late_kill_penalty: float = 0.0) -> NDArray[np.float64]:
    """Return the expected gold at the end of the game after playouts that end `rounds_left` rounds before it.

    `ends` are the ends of playouts, see `play_outcomes`: int64[playouts, heroes, 4]. The result is float64[playouts, heroes].
    After the end of a playout, a hero is expected to own its mean number of mines over all playouts. A mine above this mean adds
    at most `MINE` gold. A point of life above the mean life adds at most `LIFE` gold. The share `late_kill_penalty` (0..1) of the
    gold from stolen mines does not count.
    """
    if rounds_left <= 0:
        return ends[..., _GOLD] - late_kill_penalty * ends[..., _STOLEN]
    mines, life = ends[..., _MINES], ends[..., _LIFE]
    mean_mines, mean_life = mines.mean(axis=0), life.mean(axis=0)
    per_mine = MINE * (1 - np.exp(-rounds_left / MINE_ROUNDS))
    per_life = LIFE * (1 - np.exp(-rounds_left / LIFE_ROUNDS))
    gold: NDArray[np.float64] = (
        ends[..., _GOLD] + rounds_left * mean_mines + per_mine * (mines - mean_mines) + per_life * (life - mean_life)
    )
    return gold - late_kill_penalty * ends[..., _STOLEN]


class Valuer:
    """Values the moves of a turn by the playouts of a trait `rollout`.

    `nodes` is the number of plies that are played out per turn. `rounds` is the length of a playout (0: to the end of the game).
    The trait gives our policy, the policies that rivals may have, the plans and the share of random moves.
    """

    def __init__(self, trait: Rollout, nodes: int = NODES, rounds: int = ROUNDS, seed: int = SEED) -> None:
        self._trait, self._nodes, self._rounds, self._seed = trait, nodes, rounds, seed
        self._weights = compiled_weights(Weights(**trait.weights.model_dump()))
        self._policies = trait.policies()

    def outcomes(self, view: View) -> Outcomes:
        """Return the outcomes of the best plan of each move that has an effect. The view's hero must be to move."""
        trait, plies_left = self._trait, int(view.game.max_turns) - view.turn
        rounds = self._rounds or plies_left
        plies = max(1, min(PLIES_PER_ROUND * rounds, plies_left))
        rounds_left = (plies_left - plies) // PLIES_PER_ROUND
        by_move = plans_of_moves(view, trait.mines, trait.uncontested_mines)
        moves = sorted(by_move)
        plans = np.concatenate([by_move[move] for move in moves])
        firsts = np.repeat(moves, [len(by_move[move]) for move in moves])
        players = trait.players(view, self._weights, self._policies)
        setup = np.zeros(1, ROLLOUT_PARAMS)
        setup["me"], setup["plies"], setup["seed"] = view.me, plies, self._seed
        setup["epsilon"], setup["follows_net"] = round(EPSILON_UNIT * trait.epsilon), trait.net is not None
        tables = map_tables_of(view.map)

        def play(chosen: NDArray[np.int64], begin: int, count: int, length: int) -> tuple[Any, Any]:
            ends = np.zeros((count, len(chosen), PLIES_PER_ROUND, 4), np.int64)
            lines = np.zeros((count, len(chosen), length), np.int8)
            batch = Batch(plans, chosen, begin, begin + count, 1 << 62)
            play_outcomes(view.games, tables, self._weights, players, setup, batch, ends, lines)
            gold = final_gold(ends.reshape(-1, PLIES_PER_ROUND, 4), rounds_left, trait.late_kill_penalty)
            return gold.reshape(count, len(chosen), PLIES_PER_ROUND), lines

        chosen, scenario, nodes = np.arange(len(plans)), 0, 0
        totals, counts = np.zeros(len(plans)), np.zeros(len(plans))
        for stage in range(STAGES):
            count = max(2, round(CHOICE / STAGES * self._nodes / (len(chosen) * plies)))
            gold, _ = play(chosen, scenario, count, 0)
            scenario, nodes = scenario + count, nodes + count * len(chosen) * plies
            totals[chosen] += gold[:, :, view.me].sum(axis=0)
            counts[chosen] += count
            chosen = _best_of_each(chosen, firsts, totals[chosen] / counts[chosen], BEST_SHARE if stage < STAGES - 1 else 0)
        count = min(MOST, max(LEAST, round((1 - CHOICE) * self._nodes / (len(chosen) * plies))))
        gold, lines = play(chosen, scenario, count, LINE_PLIES)
        return Outcomes(tuple(moves), gold, lines, nodes + count * len(chosen) * plies)


def _best_of_each(
    plans: NDArray[np.int64], firsts: NDArray[np.int64], means: NDArray[np.float64], share: int
) -> NDArray[np.int64]:
    """Return the numbers of the best plans of each first move, in ascending order.

    Of n plans with the same first move, n / `share` are kept, rounded up; only one if `share` is 0. ``firsts[p]`` is the first
    move of plan p. ``means[i]`` is the mean gold of plan ``plans[i]``.
    """
    chosen: list[int] = []
    for move in np.unique(firsts[plans]):
        group = firsts[plans] == move
        order = plans[group][np.argsort(-means[group], kind="stable")]
        chosen += order[: -(-len(order) // share) if share else 1].tolist()
    return np.array(sorted(chosen), np.int64)
