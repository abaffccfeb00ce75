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
def features_of_move(game: GameRecord, tables: MapRecord, hero: int, move: int, found: NDArray[np.int16]) -> bool:
    """Write the features of a move (0..4) of `hero` (0..3) into `found` (int16[`SLOTS`]).

    Return whether the move has an effect or is a stay. If not, `found` does not change.
    """
    if move != STAY and not has_effect(game, hero, move):
        return False
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
    for slot in range(SLOTS):
        found[uintp(slot)] = 0
    found[0] = _KIND + kind * _LIVES + tenth
    away = int64(AWAY)
    if kind == TAKES:
        away, owner = int64(0), tile - MINE - 1
        richer = 0 <= owner < 4 and int64(game.hero[uintp(owner & 3)].mines) > mines
        found[1] = _OWNER + (0 if owner < 0 else (2 if richer else 1))
    else:
        mine = int64(nearest_foreign(game, tables, hero, square))
        if mine != NO_MINE:
            away = int64(tables.to_mine[uintp(square * MAX_MINES + mine)])
    found[2] = _TO_MINE + _bin(away, 4, 9) * _BLOWS + min(max(life - 1, int64(0)) // BLOW, int64(_BLOWS - 1))
    tavern = int64(0) if kind == DRINKS else int64(tables.to_tavern[uintp(square)])
    found[3] = _TO_TAVERN + (_bin(tavern, 3, 8) * _LIVES + tenth) * 2 + pays
    beside = int64(pays == 1 and tables.to_tavern[uintp(square)] == 1)
    close, killed, kill = int64(0), int64(0), int64(-1)
    for step in range(1, 4):
        other = game.hero[uintp((hero + step) & 3)]
        distance = int64(tables.to_square[uintp(square * CELLS + int64(other.pos))])
        if other.crashed or distance > NEAR or distance == 0:
            continue
        other_life, wealth = int64(other.life), _wealth(int64(other.mines))
        dies = distance == 1 and other_life <= BLOW
        if dies:
            kill = max(kill, wealth)
        if distance <= 2 and then <= BLOW and not dies:
            killed = max(killed, 3 - distance)
        if distance <= CLOSE:
            close = int64(1)
        blows = (max(then, int64(1)) + BLOW - 1) // BLOW - (other_life + BLOW - 1) // BLOW
        fight = (_bin(distance, 3, NEAR) - 1) * _BLOWS + min(max(blows, int64(-2)), int64(2)) + 2
        guarded = int64(other.gold >= BEER_COST and tables.to_tavern[uintp(int64(other.pos))] == 1)
        found[uintp(3 + step)] = _ENEMY + (fight * _WEALTH + wealth) * _WEALTH + _wealth(mines)
        found[uintp(6 + step)] = _GUARD + (fight * 2 + guarded) * 2 + beside
    if kill >= 0:
        found[10] = _KILL + kill
    found[11] = _KILLED + killed
    found[12] = _turn(int64(me.last_dir), move)
    found[13] = _DEAD_END + min(int64(tables.dead_end[uintp(square)]), int64(3)) * 2 + close
    if kind == STAYS:
        found[14] = _STAY + beside * 2 + close
    return True


@entry(types.void(GAMES, MAP_TABLES_ARRAY, types.int64, types.Array(types.int16, 2, "C")))
def features_of_moves(games: Games, tables_array: NDArray[np.void], hero: int, found: NDArray[np.int16]) -> None:
    """Write the features of all five moves of `hero` (0..3) in ``games[0]`` into `found` (int16[5, `SLOTS`]).

    A move without an effect gets -1 in slot 0, except a stay. It must be the turn of `hero`.
    """
    for move in range(5):
        if not features_of_move(games[0], tables_array[0], hero, move, found[move]):
            found[move, 0] = -1
