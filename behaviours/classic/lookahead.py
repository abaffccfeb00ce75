"""Look-ahead: what are the next moves worth if nobody disturbs us?

Every sequence of our own moves is tried with the other heroes off the board, and the best is kept for each first move. The
search remembers the positions it has seen and stops where no mine is near enough to be taken any more; both change its time
only, never its result: it is the same as trying every sequence.
"""

from __future__ import annotations

import numpy as np
from numba import types
from numpy.typing import NDArray
from pydantic import Field

from behaviours.base import Behaviour, View, Votes
from behaviours.common.kernel_types import int64, uint64
from sim.game import (
    AIR,
    BEER_COST,
    BEER_HEALS,
    CELLS,
    GAMES,
    MAX_LIFE,
    MINE,
    MINE_COST,
    OFFSET,
    STAY,
    TAVERN,
    TILE_BITS,
    WALL,
    Games,
)
from sim.kernels import entry, kernel
from sim.paths import flood

#: What a sequence is worth at its end.
GOLD_WORTH = 10
MINE_WORTH = 200

#: The deepest look-ahead that the tables below are made for.
MAX_DEPTH = 9
#: Positions remembered; a later one takes the place of an earlier one with the same slot.
_REMEMBERED = 2048
#: Mines in reach that a position's key can tell apart; with more of them nothing is remembered.
_KEY_MINES = 64
_WORD = uint64
_MIX_1, _MIX_2 = uint64(0x9E3779B97F4A7C15), uint64(0xD6E8FEB86659FD93)
_FOLD = uint64(40)
_FAR = 99
#: A position of the search: square, life, gold, mines, era, mask.
_Place = tuple[int, int, int, int, int, int]


@kernel
def _mines_in_reach(
    tiles: NDArray[np.uint8],
    own: int,
    pos: int,
    spawn: int,
    depth: int,
    slots: NDArray[np.int16],
    found: NDArray[np.int64],
    near: NDArray[np.uint8],
    queue: NDArray[np.int16],
) -> tuple[int, int]:
    """Number the mines that can be reached in `depth` moves from `pos` or `spawn`: ``slots[square]``, -1 for all others.

    Returns how many there are; the foreign ones among them (not of tile `own`) come first in `found`, and their number
    is returned as well.
    """
    slots[:] = -1
    found[0], found[1] = pos, spawn
    tail = flood(tiles, found, 2, depth - 1, _FAR, near, queue)
    count, foreign = 0, 0
    for place in range(tail):
        for direction in range(1, 5):
            square = int64(queue[place]) + OFFSET[direction]
            if tiles[square] >= MINE and slots[square] < 0:
                slots[square] = count
                count += 1
                if tiles[square] != own:
                    found[foreign] = square
                    foreign += 1
    return count, foreign


@kernel
def _key_of(place: _Place, left: int) -> tuple[int, int]:
    """What decides the rest of a sequence, in two words; gold counts as far as it buys beers, eras as the first or not."""
    square, life, gold, _, era, mask = place
    rich, died = min(gold, BEER_COST * left), min(era, 2)
    return mask, _WORD(square | life << 10 | rich << 17 | left << 24 | died << 28)


@kernel
def _slot_of(first: int, second: int) -> int:
    word = (first * _MIX_1) ^ (second * _MIX_2)
    return int64((word ^ (word >> _FOLD)) * _MIX_1 >> _WORD(53))


@kernel
def _quiet_value(tiles: NDArray[np.uint8], owner: NDArray[np.uint8], near: NDArray[np.uint8], place: _Place, left: int) -> int:
    """The worth still to come (gold at hand not counted) where no search is needed, else -1.

    That is: after the last move; before it, when only a mine beside us counts; or where no mine is near enough to take.
    """
    square, life, _, mines, era, _ = place
    if left == 0:
        return MINE_WORTH * mines
    if era == 1 and near[square] > left:
        return (left * GOLD_WORTH + MINE_WORTH) * mines
    if left > 1:
        return -1
    if life > MINE_COST:
        for direction in range(1, 5):
            beside = square + OFFSET[direction]
            if tiles[beside] >= MINE and owner[beside] != era:
                mines += 1
                break
    return (GOLD_WORTH + MINE_WORTH) * mines


@kernel
def _move(
    tiles: NDArray[np.uint8], owner: NDArray[np.uint8], slots: NDArray[np.int16], spawn: int, place: _Place, direction: int
) -> tuple[_Place, int]:
    """One move of ours with nobody else on the board: reach, a day of thirst, income.

    `place` and the answer are (square, life, gold, mines, era, mask); the answer's last part is the mine taken (-1 if
    none), which is written into `owner`. The square is -1 if the direction would do nothing.
    """
    here, life, gold, mines, era, mask = place
    taken = -1
    if direction != STAY:
        target = here + OFFSET[direction]
        tile = tiles[target]
        if tile == AIR:
            here = target
        elif tile == WALL or (tile == TAVERN and gold < BEER_COST) or (tile >= MINE and owner[target] == era):
            here = -1
        elif tile == TAVERN:
            gold -= BEER_COST
            life = min(MAX_LIFE, life + BEER_HEALS)
        elif life > MINE_COST:
            life -= MINE_COST
            mines += 1
            taken = target
            mask |= _WORD(1) << _WORD(slots[target] & (_KEY_MINES - 1))
        else:
            here, life, mines, mask = spawn, MAX_LIFE, 0, _WORD(0)
            era += 1
    return (here, max(1, life - 1), gold + mines, mines, era, mask), taken


@kernel
def _search(
    tiles: NDArray[np.uint8],
    owner: NDArray[np.uint8],
    slots: NDArray[np.int16],
    near: NDArray[np.uint8],
    spawn: int,
    start: _Place,
    depth: int,
    remember: bool,
) -> NDArray[np.int64]:
    """The best worth after `depth` moves by first direction (int64[5], -1 for one that does nothing).

    Depth first with its own stack: level k holds the position before move k. `owner` tells in which era a mine became
    ours (the first began before the search; a death begins another one, without mines); it is put back as it was.
    """
    result = np.full(5, -1, np.int64)
    squares, eras, masks = np.empty(depth, np.int64), np.empty(depth, np.int64), np.empty(depth, np.uint64)
    lives, golds, counts = np.empty(depth, np.int64), np.empty(depth, np.int64), np.empty(depth, np.int64)
    best, order = np.full(depth, -1, np.int64), np.zeros(depth, np.int64)
    taken, taken_from = np.empty(depth, np.int64), np.empty(depth, np.uint8)
    keys, worths = np.zeros((_REMEMBERED, 2), np.uint64), np.empty(_REMEMBERED, np.int32)
    level = 0
    squares[0], lives[0], golds[0], counts[0], eras[0], masks[0] = start
    while True:
        if order[level] == 5:
            # Every move has been tried. Remember the rest's worth, and hand the best to the level above.
            worth = best[level]
            if level == 0:
                return result
            if remember:
                place = (squares[level], lives[level], golds[level], counts[level], eras[level], masks[level])
                first, second = _key_of(place, depth - level)
                slot = _slot_of(first, second)
                keys[slot, 0], keys[slot, 1], worths[slot] = first, second, worth - GOLD_WORTH * golds[level]
            level -= 1
        else:
            direction = order[level]
            order[level] += 1
            place = (squares[level], lives[level], golds[level], counts[level], eras[level], masks[level])
            after, mine = _move(tiles, owner, slots, spawn, place, direction)
            if after[0] < 0:
                continue
            taken[level] = mine
            if mine >= 0:
                taken_from[level] = owner[mine]
                owner[mine] = after[4]
            left = depth - level - 1
            worth = _quiet_value(tiles, owner, near, after, left)
            if worth < 0 and remember:
                first, second = _key_of(after, left)
                slot = _slot_of(first, second)
                if keys[slot, 0] == first and keys[slot, 1] == second:
                    worth = int64(worths[slot])
            if worth < 0:
                level += 1
                squares[level], lives[level], golds[level], counts[level], eras[level], masks[level] = after
                best[level], order[level] = -1, 0
                continue
            worth += GOLD_WORTH * after[2]
        # The move before this one is done with: take it back.
        if taken[level] >= 0:
            owner[taken[level]] = taken_from[level]
        best[level] = max(best[level], worth)
        if level == 0:
            result[order[0] - 1] = worth


@entry(types.Array(types.int64, 1, "C")(GAMES, types.int64, types.int64, types.int64))
def _look_ahead(games: Games, index: int, me: int, depth: int) -> NDArray[np.int64]:
    game, hero = games[index], games[index].hero[me]
    own, pos, spawn = MINE + 1 + me, int64(hero.pos), int64(hero.spawn)
    tiles, owner = np.empty(CELLS, np.uint8), np.zeros(CELLS, np.uint8)
    for square in range(CELLS):
        tiles[square] = game.cell[square] & TILE_BITS
    near, queue = np.empty(CELLS, np.uint8), np.empty(CELLS, np.int16)
    slots, found = np.empty(CELLS, np.int16), np.empty(CELLS, np.int64)
    numbered, foreign = _mines_in_reach(tiles, own, pos, spawn, depth, slots, found, near, queue)
    flood(tiles, found, foreign, depth, _FAR, near, queue)
    if tiles[pos] != AIR:
        near[pos] = 0  # odd maps: he stands where nobody can go, so no way was found to him
    mask = _WORD(0)
    for square in range(CELLS):
        if tiles[square] == own:
            owner[square] = 1
            if slots[square] >= 0:
                mask |= _WORD(1) << _WORD(slots[square] & (_KEY_MINES - 1))
    start = (pos, int64(hero.life), int64(hero.gold), int64(hero.mines), 1, mask)
    return _search(tiles, owner, slots, near, spawn, start, depth, numbered <= _KEY_MINES)


def look_ahead(games: Games, me: int, depth: int, index: int = 0) -> NDArray[np.int64]:
    """The best final 10 x gold + 200 x mines of hero `me` (0..3) over all his sequences of `depth` (1..9) moves.

    int64[5] by first direction, -1 for one that would do nothing. The other heroes are taken off the board, the mines stay
    whose they are. Equal to trying every sequence; the game is not changed, and its end is not looked at.
    """
    values: NDArray[np.int64] = _look_ahead(games, index, me, depth)
    return values


class LookAhead(Behaviour):
    """Votes for each direction the best 10 x gold + 200 x mines at the end of `depth` own moves that begin with it.

    The other heroes are taken off the board meanwhile. The votes are large numbers that differ by little. Where the game
    ends sooner, so does the sequence.
    """

    depth: int = Field(7, ge=1, le=MAX_DEPTH, description="own moves to look ahead, the one voted on included")

    def vote(self, view: View) -> Votes:
        """The worth of every direction that does something; nothing once the game is over."""
        depth = min(self.depth, view.plies_left)
        if depth < 1:
            return None
        values = look_ahead(view.games, view.me, depth)
        return {move: float(values[move]) for move in view.moves if values[move] >= 0}
