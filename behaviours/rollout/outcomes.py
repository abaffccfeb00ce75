"""Outcomes of plans: the gold, mines and life of all four heroes in each scenario, without discounts and penalties.

The trait `rollout` needs one number per plan. A review of a game needs more. It needs the result of every single scenario, for
standard errors and paired differences. It also needs the moves of the playouts, to show what happens.
"""

from __future__ import annotations

import numpy as np
from numba import types
from numpy.typing import NDArray

from behaviours.common.evaluation import WEIGHT_ARRAY
from behaviours.common.map_tables import MAP_TABLES_ARRAY
from behaviours.rollout.playouts import (
    BATCH,
    PLAYERS,
    ROLLOUT_PARAMS_ARRAY,
    Batch,
    Players,
    Scene,
    draw_policies,
    own_move,
    rival_move,
)
from sim.game import GAMES, RUNNING, TAVERN, Games
from sim.kernel_types import GameRecord, int64
from sim.kernels import entry, kernel
from sim.rules import play

#: Largest number of rounds that a mine from a kill is expected to stay ours.
STOLEN_ROUNDS = 18


@kernel
def _play_on(
    game: GameRecord,
    scene: Scene,
    plan: NDArray[np.int16],
    policies: NDArray[np.void],
    drawn: NDArray[np.int64],
    repeats: NDArray[np.int8],
    situations: NDArray[np.int64],
    state: int,
    moves: NDArray[np.int8],
) -> tuple[int, int]:
    """Play out a plan from the position in `game`, which changes. Return the number of plies, and the sum for stolen mines.

    The sum for stolen mines is the fourth number in the results of `play_outcomes`. The first moves are written to `moves`.
    """
    me = int64(scene.setup.me)
    part, spent, plies, stolen = int64(0), int64(0), int64(0), int64(0)
    for _ in range(scene.setup.plies):
        if game.status != RUNNING:
            break
        hunts, mines = False, int64(game.hero[me].mines)
        if int64(game.turn) & 3 == me:
            move, tile, part, spent = own_move(game, scene, plan, part, spent)
            hunts = plies > 0 and tile <= TAVERN
        else:
            move, state = rival_move(game, scene, policies, drawn, repeats, situations, state)
        if plies < len(moves):
            moves[plies] = move
        play(game, move, None)
        gained = int64(game.hero[me].mines) - mines
        if hunts and gained > 0:
            stolen += gained * min(STOLEN_ROUNDS, (int64(game.max_turns) - int64(game.turn)) >> 2)
        plies += 1
    return plies, stolen


@entry(
    types.int64(
        GAMES,
        MAP_TABLES_ARRAY,
        WEIGHT_ARRAY,
        PLAYERS,
        ROLLOUT_PARAMS_ARRAY,
        BATCH,
        types.Array(types.int64, 4, "C"),
        types.Array(types.int8, 3, "C"),
    )
)
def play_outcomes(
    games: Games,
    tables_array: NDArray[np.void],
    weights: NDArray[np.void],
    players: Players,
    setups: NDArray[np.void],
    batch: Batch,
    ends: NDArray[np.int64],
    moves: NDArray[np.int8],
) -> int:
    """Play out a batch of plans from ``games[0]``, which does not change, and return the number of scenarios played.

    Row s of the results belongs to scenario ``batch.begin + s``, column p to the plan ``batch.chosen[p]``. ``ends[s, p]`` has a
    row per hero: its gold, mines and life at the end of the playout. The fourth number is 0 for rivals. For our hero it is a sum
    over its stolen mines: the number of rounds that each mine is expected to stay ours (at most `STOLEN_ROUNDS`). A stolen mine
    is a mine that we got by a kill, except by a kill in our first ply. ``moves[s, p]`` are the first moves of the playout, -1
    after its end. After ``batch.limit`` plies the call finishes the current scenario and ends.
    """
    setup, net = setups[0], players.net[0]
    scene = Scene(tables_array[0], weights[0], players.policies[0], setup, net, players.found[0])
    policies, repeats, situations = players.policies, players.repeats, players.situations
    scratch, drawn = games[:1].copy(), np.zeros(4, np.int64)
    game: GameRecord = scratch[0]
    spent, met = int64(0), int64(0)
    for scenario in range(batch.begin, batch.end):
        if spent >= batch.limit:
            break
        for place, number in enumerate(batch.chosen):
            state = draw_policies(players.draws, drawn, setup.seed, scenario)
            scratch[0] = games[0]
            moves[met, place] = -1
            plan = batch.plans[number]
            line = moves[met, place]
            plies, stolen = _play_on(game, scene, plan, policies, drawn, repeats, situations, state, line)
            spent += plies
            ends[met, place, int64(setup.me), 3] = stolen
            for hero in range(4):
                own = game.hero[hero]
                ends[met, place, hero, 0], ends[met, place, hero, 1] = int64(own.gold), int64(own.mines)
                ends[met, place, hero, 2] = int64(own.life)
        met += 1
    return met
