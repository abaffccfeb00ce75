"""Features of a move: a few whole numbers that say what the move leads to.

A learned policy (`behaviours.net.network`) chooses a move by its features. All features are one-hot: each of `SLOTS` slots
has the number of one feature, or 0 for no feature. So the score of a move is a sum of `SLOTS` entries of a table.

=====  ==========================================================================================
slot   the feature depends on
=====  ==========================================================================================
0      the kind of the move (`STAYS`, `STEPS`, `TAKES` or `DRINKS`), and the hero's life
1      for a move that takes a mine: its owner (none, a hero, a hero with more mines than ours)
2      the distance of the nearest mine of others after the move (0: the move takes it), and life
3      the distance of the nearest tavern after the move (0: the move drinks), life, money for a beer
4-6    per enemy within `NEAR` moves: its distance after the move, who would win, the mines of both
7-9    per enemy within `NEAR` moves: its distance, who would win, whether either is beside a tavern
10     whether the move kills an enemy, and the mines of this enemy
11     whether an enemy can kill the hero after the move, and how near it is
12     the direction relative to the hero's last move: the same, back, or a stay
13     the depth of the dead end after the move, and whether an enemy is within `CLOSE` moves
14     for a stay: whether the hero is beside a tavern, and whether an enemy is within `CLOSE` moves
=====  ==========================================================================================

Distances are numbers of moves on the board without heroes. The thirst of the turn is left out.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from behaviours.common.map_tables import AWAY, MAX_MINES, NO_MINE, MapRecord
from behaviours.common.policy import nearest_foreign
from sim.game import (
    AIR,
    BEER_COST,
    BEER_HEALS,
    BLOW,
    CELLS,
    LAST_MINE,
    MAX_LIFE,
    MINE,
    MINE_COST,
    OFFSET,
    STAY,
    TAVERN,
)
from sim.kernel_types import GameRecord, int64, uintp
from sim.kernels import inlined, kernel

#: Number of features of one move.
SLOTS = 15
#: Kinds of moves.
STAYS, STEPS, TAKES, DRINKS = range(4)
#: Largest distances of an enemy for the slots 4 to 9, and for the slots 13 and 14, in moves.
NEAR, CLOSE = 8, 3
#: Number of bins of life (0 to 9, 10 to 19, ...), and of life in steps of a blow (1 to 20, 21 to 40, ...).
_LIVES, _BLOWS = 10, 5
#: The largest distance of each bin but the last, for the distance to a mine, to a tavern and to an enemy.
_MINE_ENDS, _TAVERN_ENDS, _ENEMY_ENDS = (0, 1, 2, 3, 4, 6, 9), (0, 1, 2, 3, 5, 8), (1, 2, 3, 5)
#: Number of bins of these distances.
_MINE_BINS, _TAVERN_BINS, _ENEMY_BINS = len(_MINE_ENDS) + 1, len(_TAVERN_ENDS) + 1, len(_ENEMY_ENDS) + 1
#: Number of bins of a hero's mines: none, one or two, more.
_WEALTH = 3

#: The features of a move, a number per slot.
MoveFeatures = tuple[int, int, int, int, int, int, int, int, int, int, int, int, int, int, int]

#: The first feature of each group, and the number of all features. Feature 0 means no feature.
_FIGHTS = _ENEMY_BINS * _BLOWS
_SIZES = (4 * _LIVES, 3, _MINE_BINS * _BLOWS, _TAVERN_BINS * _LIVES * 2, _FIGHTS * _WEALTH**2, _FIGHTS * 4, _WEALTH, 3, 4, 8, 4)
_FIRST: list[int] = np.cumsum([1, *_SIZES]).tolist()
_KIND, _OWNER, _TO_MINE, _TO_TAVERN, _ENEMY, _GUARD, _KILL, _KILLED, _DIRECTION, _DEAD_END, _STAY, FEATURES = _FIRST
#: Ranges of features, as (first feature, number of slots that have a feature of this range).
RANGES = [(first, 3 if first in {_ENEMY, _GUARD} else 1) for first in _FIRST[:-1]]

# Tables are faster than comparisons: the bin of each distance (0..`AWAY`), and the number of blows that kill a hero with a life.
_MINE_BIN, _TAVERN_BIN, _FIGHT_BIN = (
    np.searchsorted(ends, np.arange(AWAY + 1)).astype(np.uint8) for ends in (_MINE_ENDS, _TAVERN_ENDS, _ENEMY_ENDS)
)
_BLOWS_TO_KILL = np.maximum(-(-np.arange(MAX_LIFE + 1) // BLOW), 1).astype(np.uint8)
#: The square of a crashed enemy. It is a wall, so the distances to all squares are `AWAY`.
NOWHERE = 0
#: The kind of a move toward a cell, if the hero can pay for a beer and does not own the mine. -1: the move has no effect.
_KIND_TOWARD = np.full(256, -1, np.int8)
_KIND_TOWARD[AIR], _KIND_TOWARD[TAVERN], _KIND_TOWARD[MINE : LAST_MINE + 1] = STEPS, DRINKS, TAKES


class Enemy(NamedTuple):
    """What the features of all moves of a hero need to know about one of its enemies.

    - `pos`: its square, or `NOWHERE` if it has crashed.
    - `life`, `mines`, `spawn`: as in the game.
    - `drinks`: 1 if it is beside a tavern and can pay for a beer.
    - `blows`: the number of blows that kill it.
    - `wealth`: the bin of its mines.
    - `fight`: its first feature in the slots 4 to 6.
    """

    pos: int
    life: int
    mines: int
    spawn: int
    drinks: int
    blows: int
    wealth: int
    fight: int


class Mover(NamedTuple):
    """What the features of all moves of a hero have in common: its state, and its enemies in the order of their moves.

    `pays` is 1 if it can pay for a beer, `last` is its last direction (-1: none).
    """

    pos: int
    life: int
    mines: int
    pays: int
    last: int
    first: Enemy
    second: Enemy
    third: Enemy


@inlined
def kind_of(feature: int) -> int:
    """Return the kind of a move from the feature in its slot 0. For -1 (no effect) the result is negative."""
    return (feature - _KIND) // _LIVES


@kernel
def _wealth(mines: int) -> int:
    """Return the bin of a hero's mines: 0 for none, 1 for one or two, 2 for more."""
    return int64(0) if mines == 0 else (int64(1) if mines <= 2 else int64(2))


@kernel
def _turn(last: int, move: int) -> int:
    """Return the feature of the direction `move` after the direction `last` (-1: none)."""
    if last < 0:
        return int64(0)
    if last == STAY or move == STAY:
        return int64(_DIRECTION + (2 if last == move else 3))
    if last == move:
        return int64(_DIRECTION)
    return int64(_DIRECTION + 1) if (last - 1) ^ 1 == move - 1 else int64(0)  # directions 1, 2 and 3, 4 are opposite


@inlined
def _enemy(game: GameRecord, tables: MapRecord, wealth: int, enemy: int) -> Enemy:
    """Return what the features need to know about the hero `enemy` (0..3). `wealth` is the bin of our mines."""
    other = game.hero[uintp(enemy)]
    there, life, mines = int64(other.pos), int64(other.life), int64(other.mines)
    its, drinks = _wealth(mines), int64((other.gold >= BEER_COST) & (tables.to_tavern[uintp(there)] == 1))
    pos = int64(NOWHERE) if other.crashed else there
    fight = _ENEMY + its * _WEALTH + wealth
    return Enemy(pos, life, mines, int64(other.spawn), drinks, int64(_BLOWS_TO_KILL[uintp(life)]), its, fight)


@inlined
def mover_of(game: GameRecord, tables: MapRecord, hero: int) -> Mover:
    """Return what the features of all moves of `hero` (0..3) have in common."""
    me = game.hero[uintp(hero)]
    wealth = _wealth(int64(me.mines))
    return Mover(
        int64(me.pos),
        int64(me.life),
        int64(me.mines),
        int64(me.gold >= BEER_COST),
        int64(me.last_dir),
        _enemy(game, tables, wealth, (hero + 1) & 3),
        _enemy(game, tables, wealth, (hero + 2) & 3),
        _enemy(game, tables, wealth, (hero + 3) & 3),
    )


@inlined
def away_from(tables: MapRecord, enemy: Enemy, square: int) -> int:
    """Return the number of moves from an enemy to a square."""
    return int64(tables.to_square[uintp(enemy.pos * CELLS + square)])


@inlined
def rival_away(tables: MapRecord, mover: Mover, mine: int) -> int:
    """Return the number of moves from the nearest enemy to the mine with this number."""
    first = int64(tables.to_mine[uintp(mover.first.pos * MAX_MINES + mine)])
    second = int64(tables.to_mine[uintp(mover.second.pos * MAX_MINES + mine)])
    return min(first, second, int64(tables.to_mine[uintp(mover.third.pos * MAX_MINES + mine)]))


@inlined
def _enemy_features(tables: MapRecord, enemy: Enemy, square: int, life: int, beside: int) -> tuple[int, int, int, int, int]:
    """Return facts about an enemy after a move to `square` with `life`: features of the slots 4 and 7, then dies, kills, close.

    - dies: the bin of its mines if our blow kills it, otherwise -1.
    - kills: 2 if it is beside us and its blow kills us, 1 if it is two moves away and its blow kills us, otherwise 0.
    - close: 1 if it is within `CLOSE` moves, otherwise 0.

    `beside` is 1 if we are beside a tavern and can pay for a beer.
    """
    zero, distance = int64(0), away_from(tables, enemy, square)
    near = (distance <= NEAR) & (distance > 0)
    dies = (distance == 1) & (enemy.blows == 1)
    kills = near & (distance <= 2) & (life <= BLOW) & (not dies)
    more = int64(_BLOWS_TO_KILL[uintp(life)]) - enemy.blows
    fight = int64(_FIGHT_BIN[uintp(distance)]) * _BLOWS + min(max(more, int64(-2)), int64(2)) + 2
    return (
        enemy.fight + fight * (_WEALTH * _WEALTH) if near else zero,
        _GUARD + enemy.drinks * 2 + fight * 4 + beside if near else zero,
        enemy.wealth if dies else int64(-1),
        3 - distance if kills else zero,
        int64(near & (distance <= CLOSE)),
    )


@inlined
def effect_of_move(game: GameRecord, hero: int, mover: Mover, move: int) -> tuple[int, int, int]:
    """Return the kind of a move (0..4), or -1 if it has no effect; the square where the hero is then, and its life then.

    `mover` is ``mover_of(.., hero)``.
    """
    target = mover.pos + OFFSET[uintp(move)]
    there = int64(game.cell[uintp(target)])
    kind = int64(_KIND_TOWARD[uintp(there)])
    if move == STAY:
        kind = int64(STAYS)
    elif (there == MINE + 1 + hero) | ((kind == DRINKS) & (mover.pays == 0)):
        kind = int64(-1)
    life = mover.life
    if kind == DRINKS:
        life = min(life + BEER_HEALS, int64(MAX_LIFE))
    elif kind == TAKES:
        life = max(life - MINE_COST, int64(0))
    return kind, target if kind == STEPS else mover.pos, life


@inlined
def features_of_move(
    game: GameRecord, tables: MapRecord, mover: Mover, move: int, kind: int, square: int, then: int, away: int
) -> MoveFeatures:
    """Return the features of a move with an effect: a tuple of `SLOTS` numbers.

    `kind`, `square` and `then` are the results of `effect_of_move`. `away` is the distance of the nearest mine of others from
    `square`.
    """
    zero, life, pays = int64(0), mover.life, mover.pays
    taken = zero
    if kind == TAKES:
        owner = int64(game.cell[uintp(mover.pos + OFFSET[uintp(move)])]) - MINE - 1
        richer = 0 <= owner < 4 and int64(game.hero[uintp(owner & 3)].mines) > mover.mines
        taken = _OWNER + (zero if owner < 0 else (int64(2) if richer else int64(1)))
        away = zero
    to_tavern = int64(tables.to_tavern[uintp(square)])
    beside = int64((pays == 1) & (to_tavern == 1))
    first, first_guard, dies_1, kills_1, close_1 = _enemy_features(tables, mover.first, square, then, beside)
    second, second_guard, dies_2, kills_2, close_2 = _enemy_features(tables, mover.second, square, then, beside)
    third, third_guard, dies_3, kills_3, close_3 = _enemy_features(tables, mover.third, square, then, beside)
    kill, killed, close = max(dies_1, dies_2, dies_3), max(kills_1, kills_2, kills_3), close_1 | close_2 | close_3
    tenth, blows = min(life // 10, int64(_LIVES - 1)), min(max(life - 1, zero) // BLOW, int64(_BLOWS - 1))
    return (
        _KIND + kind * _LIVES + tenth,
        taken,
        _TO_MINE + int64(_MINE_BIN[uintp(away)]) * _BLOWS + blows,
        _TO_TAVERN + (int64(_TAVERN_BIN[uintp(zero if kind == DRINKS else to_tavern)]) * _LIVES + tenth) * 2 + pays,
        first,
        second,
        third,
        first_guard,
        second_guard,
        third_guard,
        _KILL + kill if kill >= 0 else zero,
        _KILLED + killed,
        _turn(mover.last, move),
        _DEAD_END + min(int64(tables.dead_end[uintp(square)]), int64(3)) * 2 + close,
        _STAY + beside * 2 + close if kind == STAYS else zero,
    )


@inlined
def _mine_away(game: GameRecord, tables: MapRecord, hero: int, square: int) -> int:
    """Return the distance of the nearest mine that `hero` does not own."""
    mine = int64(nearest_foreign(game, tables, hero, square))
    return int64(AWAY) if mine == NO_MINE else int64(tables.to_mine[uintp(square * MAX_MINES + mine)])


@kernel
def best_basic_move(game: GameRecord, tables: MapRecord, linear: NDArray[np.int16], hero: int) -> int:
    """Return the move (0..4) of `hero` (0..3) with the largest score by a network without hidden units.

    `linear` (int16[`FEATURES`]) is the linear part of the network, which must have no other features. Of several best
    moves, the first is returned.
    """
    best, choice = int64(-(1 << 40)), int64(STAY)
    mover = mover_of(game, tables, hero)
    for move in range(5):
        kind, square, then = effect_of_move(game, hero, mover, move)
        if kind < 0:
            continue
        features = features_of_move(game, tables, mover, move, kind, square, then, _mine_away(game, tables, hero, square))
        score = int64(0)
        for slot in range(SLOTS):
            score += int64(linear[uintp(features[slot])])
        if score > best:
            best, choice = score, int64(move)
    return choice
