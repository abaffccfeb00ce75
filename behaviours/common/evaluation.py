"""Evaluation: what a position is worth to a hero, in gold by the end of the game.

A linear model. Each hero has an **estate**: his gold, the gold that his mines will still bring, what his life is worth. A
position's score for a hero is his estate less what his rivals have, plus what his place on the board promises (mines he can
reach first, the tavern) or threatens (mines that others reach first, enemies who can strike). The weights are fields of
`Weights`; a bot's TOML sets them. Scores are whole hundredths of gold, so that searching and comparing are exact.

The part of the net worths is antisymmetric: with ``leader = 0`` and ``rivals = 1`` the four heroes' scores add up to nothing.
"""

from __future__ import annotations

from functools import lru_cache

import numba
import numpy as np
from numba import types
from numpy.typing import NDArray
from pydantic import BaseModel, ConfigDict, Field

from behaviours.common.duel import duel_table
from behaviours.common.kernel_types import GameRecord, MapRecord, WeightsRecord, int64, uintp
from behaviours.common.map_tables import AWAY, MAP_TABLES_ARRAY, MAX_MINES
from sim.game import BEER_COST, BEER_HEALS, BLOW, CELLS, GAMES, MAX_LIFE, MINE, MINE_COST, STRIDE, Games
from sim.kernels import entry, kernel
from sim.rules import tile_at

#: Hundredths of gold in one gold: the unit of scores.
UNIT = 100
#: Longest rest of a game, in a hero's own plies, that the tables tell apart.
LONGEST = 512

_WORD = uintp


class NetWorthWeights(BaseModel):
    """Weights of the net worth, and of the comparison with the rivals."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    keep: float = Field(70, ge=1, le=1000, description="rounds that a mine is kept on average: what it brings is discounted so")
    life: float = Field(35, ge=0, le=500, description="gold that full life is worth, early in the game")
    life_curve: float = Field(
        40, ge=5, le=500, description="life at which most of its worth is reached (smaller: the last points matter)"
    )
    life_season: float = Field(25, ge=1, le=500, description="rounds left below which life loses its worth")
    frailty: float = Field(0.3, ge=0, le=1, description="share of his mines' worth that a hero without life is expected to lose")
    frail: float = Field(25, ge=1, le=200, description="life over which that expectation falls to a third")
    rivals: float = Field(1.0, ge=0, le=3, description="how much of the rivals' mean estate is taken off")
    leader: float = Field(0.5, ge=0, le=3, description="how much of the best rival's estate is taken off besides")


class Weights(NetWorthWeights):
    """The weights of the evaluation. Each says what it multiplies; 0 switches a feature off."""

    reach: float = Field(
        0.3, ge=0, le=3, description="share of a mine's worth that reaching it first promises, before the distance"
    )
    contested: float = Field(0.3, ge=0, le=1, description="what is left of that promise where an enemy is nearer")
    step_discount: float = Field(0.88, ge=0.3, le=0.99, description="how much a promise keeps per move of distance")
    stamina: float = Field(
        85, ge=25, le=100, description="life from which on all mines in reach count; below, the way by a tavern does"
    )
    tavern: float = Field(0.6, ge=0, le=5, description="share of the life a beer would bring that nearness of a tavern promises")
    loss: float = Field(0.1, ge=0, le=2, description="share of a mine's worth that is lost where an enemy reaches it before us")
    danger: float = Field(0.25, ge=0, le=2, description="share of our mines' worth at stake where an enemy can strike and win")
    prey: float = Field(0.15, ge=0, le=2, description="share of his mines' worth to win where we can strike an enemy and win")
    dead_end: float = Field(
        0.0,
        ge=0,
        le=50,
        description="gold off for each move that leads out of a dead end, an enemy near; fades as life does",
    )
    spawn: float = Field(2.0, ge=0, le=100, description="gold off for standing on an enemy's spawn square; fades as life does")


#: Weights and the tables made of them: `kept` the gold that a mine still brings by own plies left, `season` the share of its
#: worth that life has then, `vigour` what life is worth by life, `pull` the promise by distance, `duel` whether the one who
#: strikes first wins, by his life and the other's.
WEIGHTS = np.dtype(
    (
        np.record,
        [(name, "f8") for name in Weights.model_fields]
        + [
            ("kept", "f8", LONGEST + 1),
            ("season", "f8", LONGEST + 1),
            ("vigour", "f8", MAX_LIFE + 1),
            ("safe", "f8", MAX_LIFE + 1),
            ("able", "f8", MAX_LIFE + 1),
            ("pull", "f8", 256),
            ("duel", "u1", (MAX_LIFE + 1) * (MAX_LIFE + 1)),
        ],
    )
)
#: numba's name for an array of weights: kernels take an array of one.
WEIGHT_ARRAY = numba.types.Array(numba.from_dtype(WEIGHTS), 1, "C")


@lru_cache(maxsize=64)
def compiled_weights(weights: Weights) -> NDArray[np.void]:
    """The weights with their tables: an array of one `WEIGHTS` record. Kept for equal weights: do not change it."""
    compiled = np.zeros(1, WEIGHTS)
    record = compiled[0]
    for name in Weights.model_fields:
        record[name] = getattr(weights, name)
    plies = np.arange(LONGEST + 1)
    record["kept"] = weights.keep * (1 - np.exp(-plies / weights.keep))
    record["season"] = np.minimum(1, plies / weights.life_season)
    life = np.arange(MAX_LIFE + 1)
    record["vigour"] = weights.life * (1 - np.exp(-life / weights.life_curve)) / (1 - np.exp(-MAX_LIFE / weights.life_curve))
    record["safe"] = 1 - weights.frailty * np.exp(-life / weights.frail)
    record["able"] = np.clip((life - MINE_COST) / (weights.stamina - MINE_COST), 0, 1)
    record["pull"] = weights.step_discount ** np.arange(256)
    record["pull"][255] = 0
    record["duel"] = duel_table()
    return compiled


@kernel
def own_plies_left(game: GameRecord, hero: int) -> int:
    """Plies that `hero` (0..3) still plays, 0..`LONGEST`."""
    first = int64(game.turn) + ((hero - int64(game.turn)) & 3)
    left = (int64(game.max_turns) - first + 3) >> 2
    return min(max(left, 0), LONGEST)


@kernel
def is_present(game: GameRecord, hero: int) -> bool:
    """Whether the hero is on the board: absent ones stand below it."""
    return int64(game.hero[hero].pos) < (int64(game["size"]) + 1) * STRIDE


@kernel
def net_worth(game: GameRecord, weights: WeightsRecord, hero: int) -> float:
    """Gold, the gold that his mines will still bring, and what his life is worth."""
    who = game.hero[hero]
    return int64(who.gold) + _worth_of_life(weights, own_plies_left(game, hero), int64(who.mines), int64(who.life))


@kernel
def _worth_of_life(weights: WeightsRecord, left: int, mines: int, life: int) -> float:
    """What `mines` mines and this much life are worth together, `left` own plies before the end."""
    held: float = mines * weights.kept[_WORD(left)] * weights.safe[_WORD(life)]
    alive: float = weights.vigour[_WORD(life)] * weights.season[_WORD(left)]
    return held + alive


@kernel
def _places(game: GameRecord, tables: MapRecord, weights: WeightsRecord, me: int) -> float:
    """What mines and taverns promise the hero from where he stands, less what enemies threaten to take."""
    who = game.hero[me]
    pos, life = int64(who.pos), int64(who.life)
    left = own_plies_left(game, me)
    first, second, third = _row(game, (me + 1) & 3), _row(game, (me + 2) & 3), _row(game, (me + 3) & 3)
    mine_row, tavern_row = pos * MAX_MINES, int64(tables.tavern[_WORD(pos)]) * MAX_MINES
    here, there, loss = 0.0, 0.0, 0.0
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
            here += weights.pull[_WORD(away)] * share
            there += weights.pull[_WORD(tables.to_mine[_WORD(tavern_row + place)])] * share
    worth = weights.kept[_WORD(left)]
    able = weights.able[_WORD(life - nearest)] if life > nearest else 0.0
    promise = able * here
    if who.gold >= BEER_COST or who.mines > 0:
        near = weights.pull[_WORD(tables.to_tavern[_WORD(pos)])]
        promise += (1.0 - able) * near * there
        mines, better = int64(who.mines), life + BEER_HEALS if life < MAX_LIFE - BEER_HEALS else MAX_LIFE
        healed = _worth_of_life(weights, left, mines, better) - _worth_of_life(weights, left, mines, life)
        places: float = worth * (weights.reach * promise - weights.loss * loss) + weights.tavern * healed * near
    else:
        places = worth * (weights.reach * promise - weights.loss * loss)
    return places


@kernel
def _row(game: GameRecord, hero: int) -> int:
    """Where the row of a hero's distances to the mines begins (absent heroes: a row that is far from everything)."""
    return int64(game.hero[hero].pos) * MAX_MINES


@kernel
def _fights(game: GameRecord, tables: MapRecord, weights: WeightsRecord, me: int) -> float:
    """What is at stake between the hero and enemies one or two moves away: who strikes first, and does he win?"""
    who = game.hero[me]
    pos, life = int64(who.pos), int64(who.life)
    mover = int64(game.turn) & 3
    score, season = 0.0, weights.season[_WORD(own_plies_left(game, me))]
    for step in range(1, 4):
        enemy = (me + step) & 3
        other = game.hero[enemy]
        his = int64(other.pos)
        if pos == int64(other.spawn):
            score -= weights.spawn * season
        away = int64(tables.to_square[_WORD(pos * CELLS + his)])
        if away > 2:
            if away < 6 and tables.dead_end[_WORD(pos)]:
                score -= weights.dead_end * season * tables.dead_end[_WORD(pos)]
            continue
        left = weights.kept[_WORD(own_plies_left(game, me))]
        his_life = int64(other.life)
        if ((me - mover) & 3) < ((enemy - mover) & 3):
            if weights.duel[_WORD(life * (MAX_LIFE + 1) + his_life)]:
                if tables.to_tavern[_WORD(his)] > 1 or other.gold < BEER_COST or his_life <= BLOW:
                    score += weights.prey * left * other.mines
            elif tables.to_tavern[_WORD(pos)] > 1:
                score -= weights.danger * left * who.mines
        elif weights.duel[_WORD(his_life * (MAX_LIFE + 1) + life)]:
            if tables.to_tavern[_WORD(pos)] > 1 or who.gold < BEER_COST or life <= BLOW:
                score -= weights.danger * left * (who.mines + 1)
        elif tables.to_tavern[_WORD(his)] > 1:
            score += weights.prey * left * other.mines
    return score


@kernel
def net_worths(game: GameRecord, weights: WeightsRecord, me: int) -> tuple[float, float, float]:
    """The hero's estate, the mean of his rivals' and the largest of them, in gold; 0 for both without rivals."""
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
def standing(weights: WeightsRecord, own: float, mean: float, best: float) -> float:
    """The net worth of a hero less those of its rivals (`net_worths`), in gold: what is sure, without what places promise."""
    others: float = weights.rivals * mean + weights.leader * best
    return own - others


@kernel
def evaluate(game: GameRecord, tables: MapRecord, weights: WeightsRecord, me: int) -> int:
    """The score of hero `me` (0..3) in hundredths of gold: int64. Never changes the game."""
    own, mean, best = net_worths(game, weights, me)
    score = standing(weights, own, mean, best)
    score += _places(game, tables, weights, me) + _fights(game, tables, weights, me)
    return int64(np.rint(score * UNIT))


@entry(types.int64(GAMES, types.int64, types.int64, MAP_TABLES_ARRAY, WEIGHT_ARRAY))
def score(games: Games, index: int, me: int, tables_array: NDArray[np.void], weights: NDArray[np.void]) -> int:
    """`evaluate` for Python: the score of hero `me` (0..3) in ``games[index]``; see `map_tables_of`, `compiled_weights`."""
    return evaluate(games[index], tables_array[0], weights[0], me)
