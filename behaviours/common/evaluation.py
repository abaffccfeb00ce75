"""Evaluation: the value of a position for a hero, in gold at the end of the game.

It is a linear model. The **net worth** of a hero is its gold, the gold that its mines will still bring, and the value of its
life. The score of a position for a hero has three parts. The first part is the hero's net worth minus the weighted net worths of
its rivals (`position_value`). The second part is added: the value of the tavern, and of the mines that the hero reaches first.
The third part is subtracted: the cost of threats (mines that a rival reaches first, enemies that can strike). The bot file sets
the fields of `Weights`. Scores are whole hundredths of gold, so that comparisons are exact.

With ``leader = 0`` and ``rivals = 1``, the position values of the four heroes add up to 0.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np
from numba import types
from numpy.typing import NDArray
from pydantic import BaseModel, ConfigDict, Field

from behaviours.common.duel import duel_table
from behaviours.common.map_tables import AWAY, MAP_TABLES_ARRAY, MAX_MINES, MapRecord
from sim.game import BEER_COST, BEER_HEALS, BLOW, CELLS, GAMES, MAX_LIFE, MINE, MINE_COST, Games
from sim.kernel_types import GameRecord, array_of, int64, record, uintp
from sim.kernels import entry, kernel
from sim.rules import is_present, tile_at

#: Units of a score in one gold.
UNIT = 100
#: The tables cover at most this number of own plies left. More plies count as this number.
MAX_PLIES = 512

_WORD = uintp


class NetWorthWeights(BaseModel):
    """Weights of the net worth and of the comparison with rivals."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    keep: float = Field(70, ge=1, le=1000, description="rounds that a mine is kept on average; more makes mines worth more")
    life: float = Field(35, ge=0, le=500, description="value of full life early in the game, in gold")
    life_curve: float = Field(
        40, ge=5, le=500, description="scale of the value of life, in life; larger: the points near full life count more"
    )
    life_season: float = Field(25, ge=1, le=500, description="number of last rounds over which the value of life falls to 0")
    frailty: float = Field(
        0.3, ge=0, le=1, description="share of the value of its mines that a hero with 0 life is expected to lose"
    )
    frail: float = Field(25, ge=1, le=200, description="life at which the share in `frailty` falls to about a third")
    rivals: float = Field(1.0, ge=0, le=3, description="factor of the mean net worth of the rivals, which is subtracted")
    leader: float = Field(0.5, ge=0, le=3, description="factor of the largest net worth of a rival, which is also subtracted")


class Weights(NetWorthWeights):
    """Weights of the evaluation. A weight of 0 switches its feature off."""

    reach: float = Field(
        0.3, ge=0, le=3, description="share of a foreign mine's value that counts if we reach it first; less with `step_discount`"
    )
    contested: float = Field(0.3, ge=0, le=1, description="factor of the share in `reach` for a mine that an enemy reaches first")
    step_discount: float = Field(
        0.88, ge=0.3, le=0.99, description="factor per move to a mine or tavern; larger: far mines and taverns count more"
    )
    stamina: float = Field(
        85, ge=25, le=100, description="life at which mines in reach count in full; with less life, taverns count more"
    )
    tavern: float = Field(0.6, ge=0, le=5, description="factor of the value of the life that a beer heals; less far from taverns")
    loss: float = Field(0.1, ge=0, le=2, description="share of an own mine's value, subtracted if an enemy reaches it first")
    danger: float = Field(0.25, ge=0, le=2, description="share of our mines' value, subtracted if an enemy can strike and win")
    prey: float = Field(0.15, ge=0, le=2, description="share of an enemy's mines' value, added if we can strike it and win")
    dead_end: float = Field(
        0.0, ge=0, le=50, description="gold lost per move to the exit of a dead end, with an enemy near; falls to 0 at the end"
    )
    spawn: float = Field(2.0, ge=0, le=100, description="gold lost on an enemy's spawn square; falls to 0 at the end")


#: Weights, and tables computed from them. Two tables have an entry per number of own plies left: `mine_value` is the gold that a
#: mine still brings, and `season` is the factor of the value of life. Three tables have an entry per life. `life_value` is in
#: gold. `safe` is the share of its mines that the hero is expected to keep. `able` is the weight of mines in reach. `pull` has an
#: entry per distance: the discount. `duel` is the result of `behaviours.common.duel.duel_table`.
WEIGHTS = record(
    **dict.fromkeys(Weights.model_fields, "f8"),
    mine_value=("f8", MAX_PLIES + 1),
    season=("f8", MAX_PLIES + 1),
    life_value=("f8", MAX_LIFE + 1),
    safe=("f8", MAX_LIFE + 1),
    able=("f8", MAX_LIFE + 1),
    pull=("f8", 256),
    duel=("u1", (MAX_LIFE + 1) * (MAX_LIFE + 1)),
)
#: numba's type of an array of one `WEIGHTS` record, as kernels take it.
WEIGHT_ARRAY = array_of(WEIGHTS)
#: One record of `WEIGHTS`.
WeightsRecord = Any


@lru_cache(maxsize=64)
def compiled_weights(weights: Weights) -> NDArray[np.void]:
    """Return the weights with their tables: an array of one `WEIGHTS` record, from a cache. Do not change it."""
    compiled = np.zeros(1, WEIGHTS)
    fields = compiled[0]
    for name in Weights.model_fields:
        fields[name] = getattr(weights, name)
    plies = np.arange(MAX_PLIES + 1)
    fields["mine_value"] = weights.keep * (1 - np.exp(-plies / weights.keep))
    fields["season"] = np.minimum(1, plies / weights.life_season)
    life = np.arange(MAX_LIFE + 1)
    fields["life_value"] = weights.life * (1 - np.exp(-life / weights.life_curve)) / (1 - np.exp(-MAX_LIFE / weights.life_curve))
    fields["safe"] = 1 - weights.frailty * np.exp(-life / weights.frail)
    fields["able"] = np.clip((life - MINE_COST) / (weights.stamina - MINE_COST), 0, 1)
    fields["pull"] = weights.step_discount ** np.arange(256)
    fields["pull"][255] = 0
    fields["duel"] = duel_table()
    return compiled


@kernel
def own_plies_left(game: GameRecord, hero: int) -> int:
    """Return the number of plies that `hero` (0..3) still plays, 0..`MAX_PLIES`."""
    first = int64(game.turn) + ((hero - int64(game.turn)) & 3)
    left = (int64(game.max_turns) - first + 3) >> 2
    return min(max(left, 0), MAX_PLIES)


@kernel
def net_worth(game: GameRecord, weights: WeightsRecord, hero: int) -> float:
    """Return the net worth of a hero (0..3) in gold: its gold, the gold that its mines will still bring, and its life."""
    own = game.hero[hero]
    return int64(own.gold) + _life_and_mines(weights, own_plies_left(game, hero), int64(own.mines), int64(own.life))


@kernel
def _life_and_mines(weights: WeightsRecord, left: int, mines: int, life: int) -> float:
    """Return the value in gold of `mines` mines and of `life` together, with `left` own plies left."""
    held: float = mines * weights.mine_value[_WORD(left)] * weights.safe[_WORD(life)]
    alive: float = weights.life_value[_WORD(life)] * weights.season[_WORD(left)]
    return held + alive


@kernel
def _square_value(game: GameRecord, tables: MapRecord, weights: WeightsRecord, me: int) -> float:
    """Return the value in gold of mines and taverns in reach of `me`, minus the value of its mines that enemies reach first."""
    own = game.hero[me]
    pos, life = int64(own.pos), int64(own.life)
    left = own_plies_left(game, me)
    first, second, third = _row(game, (me + 1) & 3), _row(game, (me + 2) & 3), _row(game, (me + 3) & 3)
    mine_row, tavern_row = pos * MAX_MINES, int64(tables.tavern[_WORD(pos)]) * MAX_MINES
    own_pull, tavern_pull, loss = 0.0, 0.0, 0.0
    nearest = int64(AWAY)
    for place in range(tables.mines):
        away = int64(tables.to_mine[_WORD(mine_row + place)])
        rival = min(
            int64(tables.to_mine[_WORD(first + place)]),
            int64(tables.to_mine[_WORD(second + place)]),
            int64(tables.to_mine[_WORD(third + place)]),
        )
        if tile_at(game, int64(tables.mine[_WORD(place)])) == MINE + 1 + me:
            if rival < away:
                loss += weights.pull[_WORD(rival)]
        else:
            nearest = min(nearest, away)
            share = weights.contested if rival < away else 1.0
            own_pull += weights.pull[_WORD(away)] * share
            tavern_pull += weights.pull[_WORD(tables.to_mine[_WORD(tavern_row + place)])] * share
    able = weights.able[_WORD(life - nearest)] if life > nearest else 0.0
    promise, drink = able * own_pull, 0.0
    if own.gold >= BEER_COST or own.mines > 0:
        near = weights.pull[_WORD(tables.to_tavern[_WORD(pos)])]
        promise += (1.0 - able) * near * tavern_pull
        mines, better = int64(own.mines), life + BEER_HEALS if life < MAX_LIFE - BEER_HEALS else MAX_LIFE
        healed = _life_and_mines(weights, left, mines, better) - _life_and_mines(weights, left, mines, life)
        drink = weights.tavern * healed * near
    value: float = weights.mine_value[_WORD(left)] * (weights.reach * promise - weights.loss * loss) + drink
    return value


@kernel
def _row(game: GameRecord, hero: int) -> int:
    """Return the index in `to_mine` at which the row of a hero's square begins. An absent hero is far away from all mines."""
    return int64(game.hero[hero].pos) * MAX_MINES


@kernel
def _fight_value(game: GameRecord, tables: MapRecord, weights: WeightsRecord, me: int) -> float:
    """Return the value, in gold, of fights with enemies at most two moves away, minus the penalties for dead ends and spawns."""
    own = game.hero[me]
    pos, life = int64(own.pos), int64(own.life)
    mover = int64(game.turn) & 3
    score, season = 0.0, weights.season[_WORD(own_plies_left(game, me))]
    for step in range(1, 4):
        enemy = (me + step) & 3
        other = game.hero[enemy]
        there = int64(other.pos)
        if pos == int64(other.spawn):
            score -= weights.spawn * season
        away = int64(tables.to_square[_WORD(pos * CELLS + there)])
        if away > 2:
            if away < 6 and tables.dead_end[_WORD(pos)]:
                score -= weights.dead_end * season * tables.dead_end[_WORD(pos)]
            continue
        mine_value = weights.mine_value[_WORD(own_plies_left(game, me))]
        enemy_life = int64(other.life)
        if ((me - mover) & 3) < ((enemy - mover) & 3):
            if weights.duel[_WORD(life * (MAX_LIFE + 1) + enemy_life)]:
                if tables.to_tavern[_WORD(there)] > 1 or other.gold < BEER_COST or enemy_life <= BLOW:
                    score += weights.prey * mine_value * other.mines
            elif tables.to_tavern[_WORD(pos)] > 1:
                score -= weights.danger * mine_value * own.mines
        elif weights.duel[_WORD(enemy_life * (MAX_LIFE + 1) + life)]:
            if tables.to_tavern[_WORD(pos)] > 1 or own.gold < BEER_COST or life <= BLOW:
                score -= weights.danger * mine_value * (own.mines + 1)
        elif tables.to_tavern[_WORD(there)] > 1:
            score += weights.prey * mine_value * other.mines
    return score


@kernel
def net_worths(game: GameRecord, weights: WeightsRecord, me: int) -> tuple[float, float, float]:
    """Return the net worth of `me`, and the mean and the largest net worth of its rivals (0 without rivals), all in gold."""
    total, best = 0.0, 0.0
    count = 0
    for step in range(1, 4):
        rival = (me + step) & 3
        if is_present(game, rival):
            worth = net_worth(game, weights, rival)
            total += worth
            best = worth if count == 0 else max(best, worth)
            count += 1
    return net_worth(game, weights, me), total / max(count, 1), best


@kernel
def position_value(weights: WeightsRecord, own: float, mean: float, best: float) -> float:
    """Return the part of the score that ignores squares, in gold: `own` minus the weighted `mean` and `best`.

    `own`, `mean` and `best` are the three results of `net_worths`.
    """
    others: float = weights.rivals * mean + weights.leader * best
    return own - others


@kernel
def evaluate(game: GameRecord, tables: MapRecord, weights: WeightsRecord, me: int) -> int:
    """Return the score of hero `me` (0..3) in hundredths of gold (int64). Does not change the game."""
    own, mean, best = net_worths(game, weights, me)
    score = position_value(weights, own, mean, best)
    score += _square_value(game, tables, weights, me) + _fight_value(game, tables, weights, me)
    return int64(np.rint(score * UNIT))


@entry(types.int64(GAMES, types.int64, types.int64, MAP_TABLES_ARRAY, WEIGHT_ARRAY))
def score(games: Games, index: int, me: int, tables_array: NDArray[np.void], weights: NDArray[np.void]) -> int:
    """Return `evaluate` for hero `me` (0..3) in ``games[index]``.

    `tables_array` is the result of `map_tables_of`, and `weights` is the result of `compiled_weights`.
    """
    return evaluate(games[index], tables_array[0], weights[0], me)
