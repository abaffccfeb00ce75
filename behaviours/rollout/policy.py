"""The rollout policy, which computes the move of a hero from `PolicyParams` and an optional goal.

The rules, in this order:

1. If one blow kills an enemy beside the hero, the hero strikes it.
2. If the hero is beside an enemy and a tavern, it drinks.
3. If the hero wins the duel with an enemy beside it, it stays and fights. Otherwise it flees to a tavern in reach.
4. With `shy`, the hero keeps away from enemies that would win a duel.
5. Otherwise the hero goes to its goal. Without a goal it goes to a prey (an enemy worth killing), the nearest mine or a tavern.
   It avoids squares where an enemy would strike first and win.

A learned policy (`behaviours.net.network`) does not use these rules.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numba
import numpy as np
from numba import types
from numpy.typing import NDArray
from pydantic import BaseModel, ConfigDict, Field

from behaviours.common.evaluation import WEIGHT_ARRAY, WeightsRecord
from behaviours.common.map_tables import AWAY, MAP_TABLES_ARRAY, MAX_MINES, NO_MINE, MapRecord
from behaviours.common.policy import nearest_foreign
from behaviours.net.move_features import FEATURES, best_basic_move
from behaviours.net.network import Net, NetError
from sim.game import AIR, BEER_COST, BEER_HEALS, BLOW, CELLS, GAMES, MAX_LIFE, MINE_COST, OFFSET, STAY, TAVERN, Games
from sim.kernel_types import GameRecord, int64, uintp
from sim.kernels import entry, kernel
from sim.rules import has_effect

#: Values of `PolicyParams.fear`.
FEARLESS, FEARS_DEFEAT, FEARS_ALL = range(3)


class PolicyParams(BaseModel):
    """Parameters of the rollout policy."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    reserve: int = Field(2, ge=0, le=79, description="smallest life that must be left after the hero takes the nearest mine")
    drink: int = Field(60, ge=0, le=99, description="largest life with which the hero drinks beside a tavern")
    thirst: int = Field(35, ge=0, le=MAX_LIFE, description="largest life with which the hero goes to a near tavern")
    hunt: int = Field(
        2, ge=2, le=99, description="largest distance of a prey that the hero follows, in moves (2: one step, then a blow)"
    )
    margin: int = Field(10, ge=-99, le=99, description="smallest lead in life over a prey that is more than 2 moves away")
    greed: int = Field(2, ge=0, le=99, description="smallest number of mines of a prey that is more than 2 moves away")
    fear: int = Field(
        FEARS_DEFEAT,
        ge=FEARLESS,
        le=FEARS_ALL,
        description="avoided squares: 0 none, 1 where an enemy strikes first and wins, 2 where any enemy strikes first",
    )
    shy: int = Field(
        0,
        ge=0,
        le=12,
        description="distance in moves that the hero keeps from enemies that would win a duel (0: only `fear` counts)",
    )
    freeze: bool = Field(False, description="whether a hero in danger stays instead of making a detour or going to a tavern")
    repeat_moves: bool = Field(
        False, description="for opponent models: the hero repeats a move that it made twice on its square, if no hero is near"
    )


#: A policy as a record for kernels: the fields of `PolicyParams`, or a learned policy. `learned` is 1 for a net without hidden
#: units, and `scores` has its linear part (`behaviours.net.network`).
POLICY_PARAMS = np.dtype(
    (np.record, [*((name, "i4") for name in (*PolicyParams.model_fields, "learned")), ("scores", "i2", FEATURES)])
)
#: numba's type of an array of policies.
POLICY_ARRAY = numba.types.Array(numba.from_dtype(POLICY_PARAMS), 1, "C")
#: One record of `POLICY_PARAMS`.
PolicyRecord = Any

#: Policies that rivals may have: some fight duels that they win, avoid every fight, fear no enemy, hunt or dodge; some play
#: carefully, wait, stay near taverns or repeat moves. No policy is a copy of a known bot. `behaviours.rollout.opponents` finds
#: the policies that predict a rival's moves.
LIBRARY = (
    PolicyParams(drink=75),
    PolicyParams(drink=30, thirst=20, fear=FEARS_ALL, freeze=True),
    PolicyParams(drink=50, thirst=25, hunt=5, margin=0, greed=1, fear=FEARLESS),
    PolicyParams(reserve=5, drink=75, thirst=40, hunt=10, margin=0, greed=1),
    PolicyParams(reserve=15, drink=80, thirst=50, margin=20),
    PolicyParams(drink=50, thirst=25, fear=FEARLESS),
    PolicyParams(drink=75, freeze=True),
    PolicyParams(drink=80, thirst=100),
    PolicyParams(drink=75, repeat_moves=True),
    PolicyParams(drink=75, shy=4),
)


@lru_cache(maxsize=64)
def compiled_policies(policies: tuple[PolicyParams, ...], nets: tuple[Net, ...] = ()) -> NDArray[np.void]:
    """Return policies as an array of `POLICY_PARAMS` records: first `policies`, then `nets`.

    The array comes from a cache: do not change it. Raises `NetError` for a net with hidden units or with other features than
    those of `behaviours.net.move_features`.
    """
    compiled = np.zeros(len(policies) + len(nets), POLICY_PARAMS)
    for name in PolicyParams.model_fields:
        compiled[name][: len(policies)] = [int(getattr(params, name)) for params in policies]
    for record, net in zip(compiled[len(policies) :], nets, strict=True):
        if not net.policy.is_basic:
            raise NetError(
                f"the net {net.name!r} cannot be an opponent model: it has hidden units, or features of whole positions"
            )
        record["learned"], record["scores"] = 1, net.policy.linear[:FEATURES]
    return compiled


#: A goal is the number of a mine (`behaviours.common.map_tables`), `GOAL_TAVERN`, `GOAL_HERO` + an enemy (0..3), or `NO_GOAL`.
NO_GOAL, GOAL_TAVERN, GOAL_HERO = -1, 128, 130

#: Largest distance of a tavern to which a hero flees from an enemy beside it, in moves.
FLIGHT = 3
#: A hero whose life is at most `thirst` goes to a tavern if it is nearer than this number of moves.
NEAR_TAVERN = 5
#: Largest distance of an enemy at which a hero avoids dangerous squares, in moves.
CLOSE = 4
#: Largest life with which a hero beside a tavern drinks instead of staying if its next blow kills an enemy. Both moves strike the
#: enemy.
_DRINK_BELOW = MAX_LIFE - 30


@kernel
def _away(tables: MapRecord, start: int, end: int) -> int:
    """Return the number of moves from one square to another."""
    return int64(tables.to_square[uintp(start * CELLS + end)])


@kernel
def _wins(weights: WeightsRecord, striker: int, other: int) -> bool:
    """Return whether a hero with `striker` life wins a duel against a hero with `other` life if it strikes first."""
    return bool(weights.duel[uintp(striker * (MAX_LIFE + 1) + other)] != 0)


@kernel
def _beside_tavern(game: GameRecord, tables: MapRecord, hero: int) -> bool:
    """Return whether the hero stands beside a tavern and can pay for a beer."""
    return bool(tables.to_tavern[uintp(int64(game.hero[uintp(hero)].pos))] == 1 and game.hero[uintp(hero)].gold >= BEER_COST)


@kernel
def _around(
    game: GameRecord, tables: MapRecord, weights: WeightsRecord, params: PolicyRecord, hero: int
) -> tuple[bool, bool, int, int, int, int]:
    """Return facts about the enemies of a hero: (close, kill, beside, strongest, prey, prey_away).

    - close: whether an enemy is within `CLOSE` moves.
    - kill: whether the next blow kills an enemy.
    - beside: the number of enemies beside the hero.
    - strongest: the largest life of an enemy beside the hero.
    - prey, prey_away: the enemy to attack (0..3, or -1) and its distance in moves.

    Crashed enemies count only for `kill` and `prey`.
    """
    me = game.hero[hero]
    pos, life = int64(me.pos), int64(me.life)
    close, kill = False, False
    beside, strongest = int64(0), int64(0)
    prey, prey_away, best = int64(-1), int64(AWAY), int64(0)
    for step in range(1, 4):
        enemy = (hero + step) & 3
        other = game.hero[uintp(enemy)]
        away = _away(tables, pos, int64(other.pos))
        if away > CLOSE and away > params.hunt:
            continue
        other_life, mines, alert = int64(other.life), int64(other.mines), other.crashed == 0
        close = close or (alert and away <= CLOSE)
        if away == 1:
            if other_life <= BLOW:
                kill = True
            elif alert:
                strongest = max(strongest, other_life)
            if alert:
                beside += 1
        guarded = alert and _beside_tavern(game, tables, enemy)
        gain = int64(0)
        if away <= 2:
            if (mines > 0 or away == 1) and (other_life <= BLOW or (not guarded and _wins(weights, life, other_life))):
                gain = 4 * mines + 3 - away
        elif (
            away <= params.hunt
            and prey < 0
            and mines >= params.greed
            and not guarded
            and life >= other_life + params.margin + away
        ):
            gain = mines
        if gain > best:
            best, prey, prey_away = gain, enemy, away
    return close, kill, beside, strongest, prey, prey_away


@kernel
def toward(game: GameRecord, tables: MapRecord, pos: int, there: int) -> int:
    """Return the direction of the best step from `pos` toward `there`, or `STAY` if no step is possible.

    A step leads to a free square or to `there` itself. The best step leads to the square nearest to `there`.
    """
    best, choice = int64(AWAY), int64(STAY)
    for move in range(1, 5):
        square = pos + OFFSET[uintp(move)]
        if int64(game.cell[uintp(square)]) == AIR or square == there:
            away = _away(tables, square, there)
            if away < best:
                best, choice = away, int64(move)
    return choice


@kernel
def _to_goal(game: GameRecord, tables: MapRecord, pos: int, goal: int) -> int:
    """Return the first move of the way to a goal."""
    if goal < GOAL_TAVERN:
        return int64(tables.mine_step[uintp(goal * CELLS + pos)])
    if goal == GOAL_TAVERN:
        return int64(tables.tavern_step[uintp(pos)])
    return int64(toward(game, tables, pos, int64(game.hero[uintp(goal - GOAL_HERO)].pos)))


@kernel
def _target(game: GameRecord, tables: MapRecord, params: PolicyRecord, hero: int, prey: int) -> int:
    """Return the move of a hero without a goal: drink, or go to a prey, the nearest mine or a tavern."""
    me = game.hero[hero]
    pos, life, pays = int64(me.pos), int64(me.life), me.gold >= BEER_COST
    tavern = int64(tables.to_tavern[uintp(pos)])
    if pays and tavern == 1 and life <= params.drink:
        return int64(tables.tavern_step[uintp(pos)])
    if prey >= 0:
        return int64(toward(game, tables, pos, int64(game.hero[uintp(prey)].pos)))
    mine = nearest_foreign(game, tables, hero, pos)
    strong = mine != NO_MINE and life - int64(tables.to_mine[uintp(pos * MAX_MINES + mine)]) >= MINE_COST + params.reserve
    if strong and not (pays and life <= params.thirst and tavern < NEAR_TAVERN):
        return int64(tables.mine_step[uintp(mine * CELLS + pos)])
    if tavern != AWAY and (tavern > 1 or (pays and life <= MAX_LIFE - BLOW)):
        return int64(tables.tavern_step[uintp(pos)])
    return int64(STAY)


@kernel
def _danger(
    game: GameRecord, tables: MapRecord, weights: WeightsRecord, params: PolicyRecord, hero: int, square: int, life: int
) -> int:
    """Return the weighted number of enemies that would win a duel against the hero on `square` with this `life`.

    `life` is the life after the hero's ply. An enemy beside the square counts 2, an enemy two moves away counts 1. With
    `FEARS_ALL`, every enemy two moves away counts, even if it would lose. If the hero can drink on `square` and survives a blow,
    the result is one less.
    """
    danger = int64(0)
    for step in range(1, 4):
        other = game.hero[uintp((hero + step) & 3)]
        away = _away(tables, square, int64(other.pos))
        if away > 2 or other.crashed:
            continue
        other_life = int64(other.life) - (BLOW if away == 1 else 0)
        if other_life > 0 and ((params.fear == FEARS_ALL and away == 2) or _wins(weights, other_life, max(life - 1, 1))):
            danger += 3 - away
    if danger and life > BLOW + 1 and tables.to_tavern[uintp(square)] == 1 and game.hero[hero].gold >= BEER_COST:
        danger -= 1
    return danger


@kernel
def _careful(game: GameRecord, tables: MapRecord, weights: WeightsRecord, params: PolicyRecord, hero: int, want: int) -> int:
    """Return the least dangerous move of a hero.

    If moves are equally dangerous, `want` is the first choice. The second choice is a beer or a move toward a tavern, or `STAY`
    with `freeze`.
    """
    me = game.hero[hero]
    pos, life = int64(me.pos), int64(me.life)
    tavern = tables.to_tavern[uintp(pos)]
    least, choice = int64(1 << 40), want
    for move in range(5):
        if not has_effect(game, hero, move):
            continue
        target = pos + OFFSET[uintp(move)]
        there = int64(game.cell[uintp(target)])
        square, then = pos, life
        if move == STAY or there == AIR:
            square = target
        elif there == TAVERN:
            then = min(life + BEER_HEALS, int64(MAX_LIFE))
        elif move == want:
            then = life - MINE_COST
        else:
            continue
        cost = 16 * _danger(game, tables, weights, params, hero, square, then)
        if move != want:
            cost += 4
            if params.freeze:
                cost -= 3 if move == STAY else 0
            elif tables.to_tavern[uintp(square)] < tavern or then > life:
                cost -= 2
        if cost < least:
            least, choice = cost, int64(move)
    return choice


@kernel
def policy_move(game: GameRecord, tables: MapRecord, weights: WeightsRecord, params: PolicyRecord, hero: int, goal: int) -> int:
    """Return the move (0..4) of `hero` (0..3), which must be to move, by `params` on the way to `goal`."""
    me = game.hero[hero]
    if me.crashed:
        return int64(STAY)
    if params.learned and goal == NO_GOAL:
        return int64(best_basic_move(game, tables, params.scores, hero))
    pos, life = int64(me.pos), int64(me.life)
    tavern, beside_tavern = int64(tables.to_tavern[uintp(pos)]), _beside_tavern(game, tables, hero)
    close, kill, beside, strongest, prey, prey_away = _around(game, tables, weights, params, hero)
    if kill:
        return int64(tables.tavern_step[uintp(pos)]) if beside_tavern and life <= _DRINK_BELOW else int64(STAY)
    if beside:
        if beside_tavern and life <= MAX_LIFE - BLOW:
            return int64(tables.tavern_step[uintp(pos)])
        if beside == 1 and prey_away == 1:
            return int64(STAY)
        if beside > 1 or not _wins(weights, life, strongest):
            if tavern <= FLIGHT and me.gold >= BEER_COST and life > BLOW * (tavern - 1):
                return int64(tables.tavern_step[uintp(pos)])
            if goal == NO_GOAL:
                return int64(STAY)
    if goal == NO_GOAL and params.shy and not beside_tavern:
        move = _dodge(game, tables, weights, params, hero)
        if move >= 0:
            return int64(move)
    want = _to_goal(game, tables, pos, goal) if goal != NO_GOAL else _target(game, tables, params, hero, prey)
    if close and params.fear and not (goal == NO_GOAL and beside_tavern and life <= params.drink):
        return int64(_careful(game, tables, weights, params, hero, want))
    return int64(want)


@kernel
def _dodge(game: GameRecord, tables: MapRecord, weights: WeightsRecord, params: PolicyRecord, hero: int) -> int:
    """Return the move that leads farthest from enemies that would win a duel; -1 if no such enemy is within `shy` moves."""
    pos, life = int64(game.hero[hero].pos), int64(game.hero[hero].life)
    choice, most = int64(-1), int64(-1000)
    for move in range(5):
        square = pos + OFFSET[uintp(move)]
        if move != STAY and int64(game.cell[uintp(square)]) != AIR:
            continue
        nearest = int64(params.shy + 1)
        for step in range(1, 4):
            other = game.hero[uintp((hero + step) & 3)]
            if other.crashed == 0 and _wins(weights, int64(other.life), life):
                away = _away(tables, int64(other.pos), square)
                nearest = away if away < nearest else nearest
        if move == STAY and nearest > params.shy:
            return int64(-1)
        tavern, dead_end = int64(tables.to_tavern[uintp(square)]), int64(tables.dead_end[uintp(square)])
        score = 8 * nearest - (tavern if tavern < 7 else 7) - 12 * (dead_end if dead_end < 2 else 2)
        if score > most:
            most, choice = score, int64(move)
    return choice


@entry(types.int64(GAMES, types.int64, types.int64, MAP_TABLES_ARRAY, WEIGHT_ARRAY, POLICY_ARRAY, types.int64, types.int64))
def follow(
    games: Games,
    index: int,
    hero: int,
    tables_array: NDArray[np.void],
    weights: NDArray[np.void],
    policies: NDArray[np.void],
    number: int,
    goal: int,
) -> int:
    """Return `policy_move` of `hero` (0..3) in ``games[index]`` by ``policies[number]`` and with `goal`, for Python code.

    `tables_array` is the result of `behaviours.common.map_tables.map_tables_of`. `weights` is the result of
    `behaviours.common.evaluation.compiled_weights`; only its table of duels is used. `policies` is the result of
    `compiled_policies`.
    """
    return int64(policy_move(games[index], tables_array[0], weights[0], policies[number], hero, goal))
