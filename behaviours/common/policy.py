"""The cheap policy: a move of a hero by a few fixed rules. Searches use it for heroes whose moves they do not try out.

If the hero's next blow kills an enemy beside it, the hero stays. It also stays to strike other enemies beside it, unless one of
them is much stronger. The hero drinks if it is hurt and beside a tavern. With enough life it goes to the nearest mine that it
does not own, else to the nearest tavern. A crashed hero stays. The policy makes about a dozen look-ups in
`behaviours.common.map_tables`, and nothing is random.
"""

from __future__ import annotations

import numpy as np
from numba import types
from numpy.typing import NDArray

from behaviours.common.map_tables import AWAY, LISTED, MAP_TABLES_ARRAY, MAX_MINES, NO_MINE, MapRecord
from sim.game import BEER_COST, BLOW, CELLS, GAMES, HERO_SHIFT, MAX_LIFE, MINE, MINE_COST, OFFSET, STAY, STRIDE, Games
from sim.kernel_types import GameRecord, int64, uintp
from sim.kernels import entry, kernel
from sim.rules import tile_at

#: Largest life with which a hero beside a tavern drinks.
DRINK = 50
#: A hero goes for a mine only if it has more than this life left after it has taken the mine.
RESERVE = 8

_WORD = uintp


@kernel
def _strongest_beside(game: GameRecord, pos: int) -> int:
    """Return the highest life of the enemies beside `pos`, or 0 if the next blow kills one of these enemies."""
    strongest = int64(0)
    for direction in range(1, 5):
        there = int64(game.cell[_WORD(pos + OFFSET[direction])]) >> HERO_SHIFT
        if there:
            life = int64(game.hero[_WORD(there - 1)].life)
            if life <= BLOW:
                return int64(0)
            strongest = max(strongest, life)
    return strongest


@kernel
def nearest_foreign(game: GameRecord, tables: MapRecord, hero: int, pos: int) -> int:
    """Return the index of the nearest mine that the hero (0..3) does not own, or `NO_MINE` if `tables.nearest` lists none."""
    for slot in range(LISTED):
        mine = int64(tables.nearest[_WORD(pos * LISTED + slot)])
        if mine == NO_MINE or tile_at(game, int64(tables.mine[_WORD(mine)])) != MINE + 1 + hero:
            return mine
    return NO_MINE


@kernel
def cheap_move(game: GameRecord, tables: MapRecord, hero: int) -> int:
    """Return the move (0..4) of `hero` (0..3) by the policy of this module. It must be the turn of `hero`."""
    if game.hero[hero].crashed:
        return STAY
    pos, life = int64(game.hero[hero].pos), int64(game.hero[hero].life)
    near = game.cell[_WORD(pos - STRIDE)] | game.cell[_WORD(pos + 1)]
    near |= game.cell[_WORD(pos + STRIDE)] | game.cell[_WORD(pos - 1)]
    pays = game.hero[hero].gold >= BEER_COST
    away = int64(tables.to_tavern[_WORD(pos)])
    if near >> HERO_SHIFT:
        strongest = _strongest_beside(game, pos)
        if strongest == 0:
            return STAY
        if pays and away == 1 and life <= MAX_LIFE - BLOW:
            return int64(tables.tavern_step[_WORD(pos)])
        if life > strongest - BLOW:
            return STAY
        if away != AWAY:
            return int64(tables.tavern_step[_WORD(pos)])
    if pays and life <= DRINK and away == 1:
        return int64(tables.tavern_step[_WORD(pos)])
    mine = nearest_foreign(game, tables, hero, pos)
    if mine != NO_MINE and (life > MINE_COST + RESERVE + int64(tables.to_mine[_WORD(pos * MAX_MINES + mine)])):
        return int64(tables.mine_step[_WORD(mine * CELLS + pos)])
    if away != AWAY and (away > 1 or (pays and life <= 100 - BLOW)):
        return int64(tables.tavern_step[_WORD(pos)])
    return STAY


@entry(types.int64(GAMES, types.int64, types.int64, MAP_TABLES_ARRAY))
def policy(games: Games, index: int, hero: int, tables_array: NDArray[np.void]) -> int:
    """Return `cheap_move` of `hero` (0..3) in ``games[index]``. `tables_array` is the result of `map_tables_of`."""
    return cheap_move(games[index], tables_array[0], hero)
