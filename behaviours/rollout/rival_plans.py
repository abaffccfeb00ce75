"""Plans of rivals: the goals that each rival probably has.

The playouts of `behaviours.rollout.playouts` simulate the plans of a rival from its seat, as they simulate our plans. There a
rival plays by our policy, and its rivals play by their opponent models. So this is one step of level-k thinking: we answer to
rivals that answer to the models. When we simulate our own plans, a rival on the way to its goal is bold: it avoids no enemy.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from behaviours.base import View
from behaviours.rollout.plans import goals_of
from behaviours.rollout.playouts import DRAWS, PLAN_STATS, Batch, Players, play_plans
from behaviours.rollout.policy import NO_GOAL
from sim.game import PLIES_PER_ROUND

#: Number of nearest mines that may be goals of a rival.
MINES = 4
#: Length of the playouts of rivals, in rounds.
ROUNDS = 15
#: Largest number of scenarios per plan.
SCENARIOS = 6


def rival_goals(
    view: View,
    tables: NDArray[np.void],
    weights: NDArray[np.void],
    players: Players,
    setup: NDArray[np.void],
    limit: int,
    share: float,
    heat: float,
) -> tuple[NDArray[np.int64], int]:
    """Return `DRAWS` goals per rival (int64[4, `DRAWS`]), and the number of plies played.

    A share `share` of the goals are goals of plans. The probability of a plan is proportional to exp(v / `heat`), where v is its
    mean outcome in gold. `NO_GOAL` takes the other places, and is one of the plans. All goals are `NO_GOAL` if `limit` plies are
    not enough for one scenario, or if the time is over.

    `setup` has the parameters for our own playouts. `players` has the opponent models.
    """
    goals, spent = np.full((4, DRAWS), NO_GOAL, np.int64), 0
    setup = setup.copy()
    setup["plies"] = ROUNDS * PLIES_PER_ROUND
    for rival in view.enemies:
        near, _ = goals_of(View(view.games, rival, map=view.map), MINES, 0)
        plans = np.array([(NO_GOAL, NO_GOAL), *((goal, NO_GOAL) for goal in near)], np.int16)
        stats, count = np.zeros(len(plans), PLAN_STATS), np.arange(len(plans))
        scenarios = min(SCENARIOS, limit // (len(view.enemies) * len(plans) * int(setup["plies"][0])))
        setup["me"] = rival
        batch = Batch(plans, count, 0, scenarios, 1 << 62)
        play_plans(view.games, tables, weights, players, setup, batch, stats, view.budget.stop)
        spent += int(stats["plies"].sum())
        if stats["count"].min() == 0:
            continue
        values = stats["total"] / stats["count"]
        odds = np.exp((values - values.max()) / heat)
        chances = share * odds / odds.sum()
        chances[0] += 1 - share
        numbers = np.searchsorted(np.cumsum(chances)[:-1], (np.arange(DRAWS) + 0.5) / DRAWS)
        goals[rival] = plans[numbers, 0]
    return goals, spent
