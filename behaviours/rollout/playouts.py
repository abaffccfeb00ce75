"""Playouts: simulations of plans by the exact rules. Each hero moves by its policy.

All plans are simulated in the same scenarios (common random numbers): in scenario k the rivals have the same policies and the
same random numbers for each plan. So the difference between two plans varies less than the value of a plan.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numba
import numpy as np
from numba import types
from numpy.typing import NDArray

from behaviours.common.evaluation import WEIGHT_ARRAY, WeightsRecord, net_worths, position_value
from behaviours.common.map_tables import MAP_TABLES_ARRAY, MAX_MINES, MapRecord
from behaviours.net.features import FOUND, FOUND_ARRAY, FoundRecord, find_features
from behaviours.net.network import NETWORKS, Network, compiled_networks
from behaviours.net.scoring import NetworkRecord, best_move
from behaviours.rollout.plans import GOAL_MOVE
from behaviours.rollout.policy import GOAL_HERO, GOAL_TAVERN, NO_GOAL, POLICY_ARRAY, PolicyRecord, policy_move
from behaviours.rollout.repetition import REPEATS, SITUATIONS, recalled_move, repeated_move
from sim.game import GAMES, MINE, MINE_COST, OFFSET, RUNNING, TAVERN, Games
from sim.kernel_types import GameRecord, int64, tuple_of, uint64, uintp
from sim.kernels import entry, inlined, kernel
from sim.playout import below, next_random, random_state
from sim.rules import play, tile_at

#: Number of our plies after which our hero gives up any goal, and after which it gives up a goal that is an enemy.
MAX_GOAL_PLIES, MAX_CHASE_PLIES = 40, 12
#: Number of policy numbers per hero. Each scenario draws one of them.
DRAWS = 64
#: Unit of `epsilon` in kernels: 1/1000.
EPSILON_UNIT = 1000

#: Parameters of playouts: our hero `me` (0..3), the length of a playout in `plies`, `epsilon` in units of 1/`EPSILON_UNIT`, the
#: `seed`, `recalled_moves` (0 or 1), and `follows_net`: whether our hero follows a net after its goals (0 or 1). All other fields
#: are as in `behaviours.rollout.trait.Rollout`; `death` and `lead_scale` are in gold.
ROLLOUT_PARAMS = np.dtype(
    (
        np.record,
        [(name, "i8") for name in ("me", "plies", "epsilon", "seed", "recalled_moves", "follows_net")]
        + [(name, "f8") for name in ("round_discount", "death", "late_kill_penalty", "lead_weight", "lead_scale")],
    )
)
#: Statistics of a plan: the sum of its outcomes in gold (`total`), the number of its playouts (`count`), its `first` move (0..4),
#: and the number of `plies` played.
PLAN_STATS = np.dtype((np.record, [("total", "f8"), ("count", "i8"), ("first", "i8"), ("plies", "i8")]))

#: Types of one record of `ROLLOUT_PARAMS` and of one record of `PLAN_STATS`.
RolloutParamsRecord = Any
PlanStatsRecord = Any
#: The network of a hero that follows no net.
NO_NET = compiled_networks([Network.linear_only(np.zeros(0, np.int16))])


class Players(NamedTuple):
    """Policies of all heroes.

    ``policies[0]`` is our policy. The others are policies that rivals may have. ``draws[hero]`` has `DRAWS` policy numbers of a
    rival (int64[4, `DRAWS`]); each scenario draws one of them. `repeats` has the rivals' repeated moves
    (`behaviours.rollout.repetition`), and `situations` the moves of their situations (`behaviours.rollout.repetition`).

    ``net[0]`` is the network that our hero follows after its goals, if the playouts have `follows_net`. `found` is its
    memory: an array of one `behaviours.net.features.FOUND` record.
    """

    policies: NDArray[np.void]
    draws: NDArray[np.int64]
    repeats: NDArray[np.int8]
    situations: NDArray[np.int64]
    net: NDArray[np.void] = NO_NET
    found: NDArray[np.void] = np.zeros(1, FOUND)


class Batch(NamedTuple):
    """The playouts of one call of `play_plans`.

    `chosen` has the numbers of the plans to play. A plan is a row of `plans` (int16[n, `GOALS`]). Each chosen plan is played in
    the scenarios `begin` to `end` - 1. After `limit` plies, the call finishes the current scenario and ends.
    """

    plans: NDArray[np.int16]
    chosen: NDArray[np.int64]
    begin: int
    end: int
    limit: int


class Scene(NamedTuple):
    """Data that does not change in a playout. All fields are records, because arrays in a tuple make each call slower."""

    tables: MapRecord
    weights: WeightsRecord
    params: PolicyRecord
    setup: RolloutParamsRecord
    net: NetworkRecord
    found: FoundRecord


_INT64S = types.Array(types.int64, 1, "C")
PLAYERS = tuple_of([POLICY_ARRAY, types.Array(types.int64, 2, "C"), REPEATS, SITUATIONS, NETWORKS, FOUND_ARRAY], Players)
BATCH = tuple_of([types.Array(types.int16, 2, "C"), _INT64S, types.int64, types.int64, types.int64], Batch)
ROLLOUT_PARAMS_ARRAY = types.Array(numba.from_dtype(ROLLOUT_PARAMS), 1, "C")
_PLAN_STATS = types.Array(numba.from_dtype(PLAN_STATS), 1, "C")


@kernel
def _reached(game: GameRecord, tables: MapRecord, me: int, goal: int, spent: int) -> bool:
    """Return whether our hero has reached a goal, or gives the goal up after `spent` plies."""
    if spent > MAX_GOAL_PLIES:
        return True
    if goal >= GOAL_HERO:
        return spent > MAX_CHASE_PLIES
    if goal == GOAL_TAVERN:
        return False
    if tile_at(game, int64(tables.mine[uintp(goal)])) == MINE + 1 + me:
        return True
    hero = game.hero[me]
    return bool(hero.life <= MINE_COST and tables.to_mine[uintp(int64(hero.pos) * MAX_MINES + goal)] == 1)


@inlined
def opponent_move(
    game: GameRecord, tables: MapRecord, weights: WeightsRecord, params: PolicyRecord, repeats: NDArray[np.int8], hero: int
) -> int:
    """Return the move (0..4) of a rival by its policy.

    If the policy has `repeat_moves` and the rival has a repeated move on its square, return the repeated move.
    """
    if params.repeat_moves:
        move: int = repeated_move(game, tables, repeats, hero)
        if move >= 0:
            return move
    return int64(policy_move(game, tables, weights, params, hero, int64(NO_GOAL)))


@kernel
def _value_of(game: GameRecord, weights: WeightsRecord, setup: RolloutParamsRecord) -> float:
    """Return the value of a position for us, in gold: `position_value` plus the endgame lead utility."""
    own, mean, best = net_worths(game, weights, int64(setup.me))
    value: float = position_value(weights, own, mean, best)
    if setup.lead_weight > 0:
        value += setup.lead_weight * setup.lead_scale * np.arcsinh((own - best) / setup.lead_scale)
    return value


@inlined
def _goal_of(plan: NDArray[np.int16], part: int) -> int:
    """Return goal number `part` of a plan, or `NO_GOAL` after the last goal."""
    return int64(plan[uintp(part)]) if part < len(plan) else int64(NO_GOAL)


@inlined
def _follow_net(game: GameRecord, scene: Scene) -> int:
    """Return the move of our hero by its net."""
    find_features(game, scene.tables, int64(scene.setup.me), scene.found)
    return int64(best_move(scene.net, scene.found, scene.found.scores))


@inlined
def own_move(game: GameRecord, scene: Scene, plan: NDArray[np.int16], part: int, spent: int) -> tuple[int, int, int, int]:
    """Return our next move by a plan: (move, tile, part, spent).

    `part` is the number of the current goal of the plan, and `spent` the number of our plies on this goal. The result has their
    new values. `tile` is the tile on the square toward which the move goes.
    """
    me = int64(scene.setup.me)
    goal = _goal_of(plan, part)
    while goal != NO_GOAL and goal < GOAL_MOVE and _reached(game, scene.tables, me, goal, spent):
        part, spent = part + 1, int64(0)
        goal = _goal_of(plan, part)
    if goal >= GOAL_MOVE:
        move = goal - GOAL_MOVE
    elif goal == NO_GOAL and scene.setup.follows_net:
        move = _follow_net(game, scene)
    else:
        move = int64(policy_move(game, scene.tables, scene.weights, scene.params, me, goal))
    spent += 1
    tile: int = tile_at(game, int64(game.hero[me].pos) + OFFSET[uintp(move)])
    if goal >= GOAL_MOVE or (goal == GOAL_TAVERN and tile == TAVERN):
        part, spent = part + 1, int64(0)
    return move, tile, part, spent


@inlined
def rival_move(
    game: GameRecord,
    scene: Scene,
    policies: NDArray[np.void],
    drawn: NDArray[np.int64],
    repeats: NDArray[np.int8],
    situations: NDArray[np.int64],
    state: int,
) -> tuple[int, int]:
    """Return the move of the rival to move in a playout, and the next state of the random generator.

    ``drawn[hero]`` is the policy number of a rival, `state` the state of the random generator.
    """
    mover = int64(game.turn) & 3
    state = next_random(state)
    if below(state, EPSILON_UNIT) < scene.setup.epsilon:
        state = next_random(state)
        return below(state, 5), state
    if scene.setup.recalled_moves:
        move: int = recalled_move(situations, game, scene.tables, mover)
        if move >= 0:
            return move, state
    return opponent_move(game, scene.tables, scene.weights, policies[uintp(drawn[uintp(mover)])], repeats, mover), state


@kernel
def draw_policies(draws: NDArray[np.int64], drawn: NDArray[np.int64], seed: int, scenario: int) -> int:
    """Write the policy numbers of all heroes in a scenario into `drawn`, and return the state of the random generator."""
    state = uint64(random_state(seed, scenario))
    for hero in range(4):
        state = next_random(state)
        drawn[hero] = draws[hero, below(state, DRAWS)]
    return state


@kernel
def _play_out(
    game: GameRecord,
    scene: Scene,
    plan: NDArray[np.int16],
    policies: NDArray[np.void],
    drawn: NDArray[np.int64],
    repeats: NDArray[np.int8],
    situations: NDArray[np.int64],
    state: int,
    stat: PlanStatsRecord,
) -> None:
    """Play out a plan from the position in `game`, which changes, and add the outcome to `stat`.

    ``drawn[hero]`` is the policy number of a rival, `state` the state of the random generator.
    """
    setup = scene.setup
    me = int64(setup.me)
    part, spent = int64(0), int64(0)
    share, gained, value = 1.0, 0.0, 0.0
    first = True
    for _ in range(setup.plies):
        if game.status != RUNNING:
            break
        mover = int64(game.turn) & 3
        drinks, hunts, mines = False, False, int64(game.hero[me].mines)
        if mover == me:
            if not first:
                value = _value_of(game, scene.weights, setup)
                gained += share * (1.0 - setup.round_discount) * value
                share *= setup.round_discount
            move, tile, part, spent = own_move(game, scene, plan, part, spent)
            drinks, hunts = tile == TAVERN, not first and tile <= TAVERN
            if first:
                stat.first, first = move, False
        else:
            move, state = rival_move(game, scene, policies, drawn, repeats, situations, state)
        life = int64(game.hero[me].life)
        play(game, move, None)
        if hunts and int64(game.hero[me].mines) > mines:
            gained -= share * setup.late_kill_penalty * (_value_of(game, scene.weights, setup) - value)
        stat.plies += 1
        if int64(game.hero[me].life) > life and not drinks:  # apart from beers, only respawning heals
            gained -= setup.death
    stat.total += gained + share * _value_of(game, scene.weights, setup)
    stat.count += 1


@entry(types.void(GAMES, MAP_TABLES_ARRAY, WEIGHT_ARRAY, PLAYERS, ROLLOUT_PARAMS_ARRAY, BATCH, _PLAN_STATS, _INT64S))
def play_plans(
    games: Games,
    tables_array: NDArray[np.void],
    weights: NDArray[np.void],
    players: Players,
    setups: NDArray[np.void],
    batch: Batch,
    stats: NDArray[np.void],
    stop: NDArray[np.int64],
) -> None:
    """Play out a batch of plans from ``games[0]``, which does not change, and add the outcomes to `stats`, one record per plan.

    The value of a position in gold is our `behaviours.common.evaluation.position_value`, plus `lead_weight` x `lead_scale` x
    asinh(m / `lead_scale`). Here m is our net worth minus the net worth of the richest rival. The outcome of a playout is a
    weighted mean of the values after its rounds. Round r has the weight (1 - d) d^r, where d is `round_discount`. The last round
    also has the weights of all later rounds. So early income counts more.

    Each death of ours costs `death` gold. The gain of our kills is reduced by the share `late_kill_penalty`, except for kills in
    our first ply. The reason is that a hunted hero changes its play, so later kills are less certain. The call ends early when
    ``stop[0]`` is set, or after ``batch.limit`` plies.
    """
    setup, net = setups[0], players.net[0]
    scene = Scene(tables_array[0], weights[0], players.policies[0], setup, net, players.found[0])
    policies, draws, repeats, situations = players.policies, players.draws, players.repeats, players.situations
    scratch, drawn = games[:1].copy(), np.zeros(4, np.int64)
    spent = int64(0)
    for scenario in range(batch.begin, batch.end):
        if stop[0] or spent >= batch.limit:
            return
        for number in batch.chosen:
            state = draw_policies(draws, drawn, setup.seed, scenario)
            scratch[0] = games[0]
            stat = stats[number]
            before = stat.plies
            _play_out(scratch[0], scene, batch.plans[number], policies, drawn, repeats, situations, state, stat)
            spent += stat.plies - before
