"""Features of a move: a few whole numbers that say what the move leads to.

A learned policy (`behaviours.rollout.learned`) chooses a move by its features. All features are one-hot: each of `SLOTS` slots
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

import numpy as np
from numba import types
from numpy.typing import NDArray

from behaviours.common.kernel_types import GameRecord, MapRecord, int64, uintp
from behaviours.common.map_tables import AWAY, MAP_TABLES_ARRAY, MAX_MINES, NO_MINE
from behaviours.common.policy import nearest_foreign
from sim.game import AIR, BEER_COST, BEER_HEALS, BLOW, CELLS, GAMES, MAX_LIFE, MINE, MINE_COST, OFFSET, STAY, TAVERN, Games
from sim.kernels import entry, kernel
from sim.rules import has_effect, tile_at

#: Number of features of one move.
SLOTS = 15
#: Kinds of moves.
STAYS, STEPS, TAKES, DRINKS = range(4)
#: Largest distances of an enemy for the slots 4 to 9, and for the slots 13 and 14, in moves.
NEAR, CLOSE = 8, 3
#: Number of bins of life (0 to 9, 10 to 19, ...), and of life in steps of a blow (1 to 20, 21 to 40, ...).
_LIVES, _BLOWS = 10, 5
#: Number of bins of the distance to a mine, to a tavern and to an enemy.
_MINE_BINS, _TAVERN_BINS, _ENEMY_BINS = 8, 7, 5
#: Number of bins of a hero's mines: none, one or two, more.
_WEALTH = 3

#: The features of a move, a number per slot.
MoveFeatures = tuple[int, int, int, int, int, int, int, int, int, int, int, int, int, int, int]

#: The first feature of each group. Feature 0 means no feature.
_KIND = 1
_OWNER = _KIND + 4 * _LIVES
_TO_MINE = _OWNER + 3
_TO_TAVERN = _TO_MINE + _MINE_BINS * _BLOWS
_ENEMY = _TO_TAVERN + _TAVERN_BINS * _LIVES * 2
_GUARD = _ENEMY + _ENEMY_BINS * _BLOWS * _WEALTH * _WEALTH
_KILL = _GUARD + _ENEMY_BINS * _BLOWS * 2 * 2
_KILLED = _KILL + _WEALTH
_DIRECTION = _KILLED + 3
_DEAD_END = _DIRECTION + 4
_STAY = _DEAD_END + 4 * 2
#: Number of features, including feature 0.
FEATURES = _STAY + 2 * 2


def kind_of(feature: int) -> int:
    """Return the kind of a move from the feature in its slot 0. For -1 (no effect) the result is negative."""
    return (feature - _KIND) // _LIVES


@kernel
def _bin(distance: int, singles: int, wide: int) -> int:
    """Return the bin of a distance: a bin for each of 0 to `singles`, then bins up to `singles` + 2, `wide`, and beyond."""
    if distance <= singles:
        return distance
    if distance <= singles + 2:
        return singles + 1
    return singles + 2 if distance <= wide else singles + 3


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


@kernel
def near_enemies(game: GameRecord, tables: MapRecord, hero: int) -> int:
    """Return a bit mask of the enemies that may be within `NEAR` moves after a move: bit s for hero (`hero` + s) & 3."""
    mask, pos = int64(0), int64(game.hero[uintp(hero)].pos)
    for step in range(1, 4):
        other = game.hero[uintp((hero + step) & 3)]
        if not other.crashed and tables.to_square[uintp(pos * CELLS + int64(other.pos))] <= NEAR + 1:
            mask |= int64(1) << step
    return mask


@kernel
def _enemy_features(
    game: GameRecord, tables: MapRecord, enemy: int, square: int, life: int, wealth: int, beside: int
) -> tuple[int, int, int, int, int]:
    """Return facts about an enemy after a move to `square` with `life`: features of the slots 4 and 7, then dies, kills, close.

    - dies: the bin of its mines if our blow kills it, otherwise -1.
    - kills: 2 if it is beside us and its blow kills us, 1 if it is two moves away and its blow kills us, otherwise 0.
    - close: 1 if it is within `CLOSE` moves, otherwise 0.

    `wealth` is the bin of our mines. `beside` is 1 if we are beside a tavern and can pay for a beer.
    """
    other = game.hero[uintp(enemy)]
    distance = int64(tables.to_square[uintp(square * CELLS + int64(other.pos))])
    if distance > NEAR or distance == 0:
        return int64(0), int64(0), int64(-1), int64(0), int64(0)
    other_life, other_wealth = int64(other.life), _wealth(int64(other.mines))
    dies = distance == 1 and other_life <= BLOW
    kills = 3 - distance if distance <= 2 and life <= BLOW and not dies else int64(0)
    blows = (max(life, int64(1)) + BLOW - 1) // BLOW - (other_life + BLOW - 1) // BLOW
    fight = (_bin(distance, 3, NEAR) - 1) * _BLOWS + min(max(blows, int64(-2)), int64(2)) + 2
    guarded = int64(other.gold >= BEER_COST and tables.to_tavern[uintp(int64(other.pos))] == 1)
    return (
        _ENEMY + (fight * _WEALTH + other_wealth) * _WEALTH + wealth,
        _GUARD + (fight * 2 + guarded) * 2 + beside,
        other_wealth if dies else int64(-1),
        kills,
        int64(distance <= CLOSE),
    )


@kernel
def features_of_move(game: GameRecord, tables: MapRecord, hero: int, move: int, near: int) -> MoveFeatures:
    """Return the features of a move (0..4) of `hero` (0..3): a tuple of `SLOTS` numbers. `near` is from `near_enemies`.

    The first number is -1 if the move has no effect and is not a stay.
    """
    zero = int64(0)
    if move != STAY and not has_effect(game, hero, move):
        return (int64(-1), zero, zero, zero, zero, zero, zero, zero, zero, zero, zero, zero, zero, zero, zero)
    me = game.hero[uintp(hero)]
    square, life, mines = int64(me.pos), int64(me.life), int64(me.mines)
    pays = int64(me.gold >= BEER_COST)
    target = square + OFFSET[uintp(move)]
    tile = int64(AIR) if move == STAY else int64(tile_at(game, target))
    kind, then = int64(STAYS), life
    if move != STAY and tile == AIR:
        kind, square = int64(STEPS), target
    elif tile == TAVERN:
        kind, then = int64(DRINKS), min(life + BEER_HEALS, int64(MAX_LIFE))
    elif tile >= MINE:
        kind, then = int64(TAKES), life - MINE_COST
    tenth = min(life // 10, int64(_LIVES - 1))
    away, taken = int64(AWAY), zero
    if kind == TAKES:
        away, owner = zero, tile - MINE - 1
        richer = 0 <= owner < 4 and int64(game.hero[uintp(owner & 3)].mines) > mines
        taken = _OWNER + (zero if owner < 0 else (int64(2) if richer else int64(1)))
    else:
        mine = int64(nearest_foreign(game, tables, hero, square))
        if mine != NO_MINE:
            away = int64(tables.to_mine[uintp(square * MAX_MINES + mine)])
    tavern = zero if kind == DRINKS else int64(tables.to_tavern[uintp(square)])
    beside = int64(pays == 1 and tables.to_tavern[uintp(square)] == 1)
    wealth = _wealth(mines)
    first, first_guard, second, second_guard, third, third_guard = zero, zero, zero, zero, zero, zero
    kill, killed, close = int64(-1), zero, zero
    if near & 2:
        first, first_guard, dies, kills, here = _enemy_features(game, tables, (hero + 1) & 3, square, then, wealth, beside)
        kill, killed, close = max(kill, dies), max(killed, kills), max(close, here)
    if near & 4:
        second, second_guard, dies, kills, here = _enemy_features(game, tables, (hero + 2) & 3, square, then, wealth, beside)
        kill, killed, close = max(kill, dies), max(killed, kills), max(close, here)
    if near & 8:
        third, third_guard, dies, kills, here = _enemy_features(game, tables, (hero + 3) & 3, square, then, wealth, beside)
        kill, killed, close = max(kill, dies), max(killed, kills), max(close, here)
    return (
        _KIND + kind * _LIVES + tenth,
        taken,
        _TO_MINE + _bin(away, 4, 9) * _BLOWS + min(max(life - 1, zero) // BLOW, int64(_BLOWS - 1)),
        _TO_TAVERN + (_bin(tavern, 3, 8) * _LIVES + tenth) * 2 + pays,
        first,
        second,
        third,
        first_guard,
        second_guard,
        third_guard,
        _KILL + kill if kill >= 0 else zero,
        _KILLED + killed,
        _turn(int64(me.last_dir), move),
        _DEAD_END + min(int64(tables.dead_end[uintp(square)]), int64(3)) * 2 + close,
        _STAY + beside * 2 + close if kind == STAYS else zero,
    )


@entry(types.void(GAMES, MAP_TABLES_ARRAY, types.int64, types.Array(types.int16, 2, "C")))
def features_of_moves(games: Games, tables_array: NDArray[np.void], hero: int, found: NDArray[np.int16]) -> None:
    """Write the features of all five moves of `hero` (0..3) in ``games[0]`` into `found` (int16[5, `SLOTS`]).

    A move without an effect gets -1 in slot 0 and 0 in the others, except a stay. It must be the turn of `hero`.
    """
    near = near_enemies(games[0], tables_array[0], hero)
    for move in range(5):
        features = features_of_move(games[0], tables_array[0], hero, move, near)
        for slot in range(SLOTS):
            found[move, slot] = features[slot]
