"""Look-ahead: the value of our next moves if no other hero interferes.

The search tries all sequences of our own moves. The other heroes are off the board. The search keeps the best value per first
move. To save time, it stores positions in a table, and it stops a sequence when no mine is near enough to be taken. The table and
the early stops do not change the result.
"""

from __future__ import annotations

import numpy as np
from numba import types
from numpy.typing import NDArray
from pydantic import Field

from behaviours.base import Behaviour, View, Votes
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
from sim.kernel_types import INT64S, int64, uint64
from sim.kernels import entry, kernel
from sim.paths import flood

#: The value of one gold, and the value of one mine, at the end of a sequence of moves.
GOLD_VALUE = 10
MINE_VALUE = 200

#: Largest depth: the fields of a position's key have no room for more.
MAX_DEPTH = 9
#: Slots of the table of positions; a later position replaces an earlier one in the same slot.
_SLOTS = 2048
#: The table is used for at most this number of mines in reach, because a key has one bit per mine.
_KEY_MINES = 64
_WORD = uint64
_MIX_1, _MIX_2 = uint64(0x9E3779B97F4A7C15), uint64(0xD6E8FEB86659FD93)
_FOLD = uint64(40)
_FAR = 99
#: A position of the search: square, life, gold, mines, era (1 plus the number of deaths), mask (the mines taken, a bit per mine).
_Position = tuple[int, int, int, int, int, int]


@kernel
def _mines_in_reach(
    tiles: NDArray[np.uint8],
    own: int,
    pos: int,
    spawn: int,
    depth: int,
    slots: NDArray[np.int16],
    foreign_mines: NDArray[np.int64],
    near: NDArray[np.uint8],
    queue: NDArray[np.int16],
) -> tuple[int, int]:
    """Number the mines within `depth` moves of `pos` or `spawn`. Return the number of mines, and the number of foreign mines.

    ``slots[square]`` gets the number of the mine on a square, -1 for all other squares. `foreign_mines` gets the squares of
    the mines whose tile is not `own`.
    """
    slots[:] = -1
    foreign_mines[0], foreign_mines[1] = pos, spawn
    tail = flood(tiles, foreign_mines, 2, depth - 1, _FAR, near, queue)
    count, foreign = 0, 0
    for place in range(tail):
        for direction in range(1, 5):
            square = int64(queue[place]) + OFFSET[direction]
            if tiles[square] >= MINE and slots[square] < 0:
                slots[square] = count
                count += 1
                if tiles[square] != own:
                    foreign_mines[foreign] = square
                    foreign += 1
    return count, foreign


@kernel
def _key_of(position: _Position, left: int) -> tuple[int, int]:
    """Return the key of a position with `left` moves to go: two integers that determine the value of these moves.

    Gold counts only up to the price of `left` beers, because the hero cannot spend more. Each death begins a new era. All eras
    from 2 on count as one era, because the hero then owns only the mines in `mask`.
    """
    square, life, gold, _, era, mask = position
    rich, died = min(gold, BEER_COST * left), min(era, 2)
    return mask, _WORD(square | life << 10 | rich << 17 | left << 24 | died << 28)


@kernel
def _slot_of(first: int, second: int) -> int:
    word = (first * _MIX_1) ^ (second * _MIX_2)
    return int64((word ^ (word >> _FOLD)) * _MIX_1 >> _WORD(53))


@kernel
def _quiet_value(
    tiles: NDArray[np.uint8], owner: NDArray[np.uint8], near: NDArray[np.uint8], position: _Position, left: int
) -> int:
    """Return the value that the remaining moves add to the value of the present gold, or -1 if only a search can tell.

    No search is needed in three cases: no move is left; only one move is left, so only a mine beside us counts; or no mine is in
    reach.
    """
    square, life, _, mines, era, _ = position
    if left == 0:
        return MINE_VALUE * mines
    if era == 1 and near[square] > left:
        return (left * GOLD_VALUE + MINE_VALUE) * mines
    if left > 1:
        return -1
    if life > MINE_COST:
        for direction in range(1, 5):
            beside = square + OFFSET[direction]
            if tiles[beside] >= MINE and owner[beside] != era:
                mines += 1
                break
    return (GOLD_VALUE + MINE_VALUE) * mines


@kernel
def _move(
    tiles: NDArray[np.uint8], owner: NDArray[np.uint8], slots: NDArray[np.int16], spawn: int, position: _Position, direction: int
) -> tuple[_Position, int]:
    """Return the position after one move of ours with no other hero on the board, and the mine taken (-1 for none).

    The square of the position is -1 if the move has no effect.
    """
    square, life, gold, mines, era, mask = position
    taken = -1
    if direction != STAY:
        target = square + OFFSET[direction]
        tile = tiles[target]
        if tile == AIR:
            square = target
        elif tile == WALL or (tile == TAVERN and gold < BEER_COST) or (tile >= MINE and owner[target] == era):
            square = -1
        elif tile == TAVERN:
            gold -= BEER_COST
            life = min(MAX_LIFE, life + BEER_HEALS)
        elif life > MINE_COST:
            life -= MINE_COST
            mines += 1
            taken = target
            mask |= _WORD(1) << _WORD(slots[target] & (_KEY_MINES - 1))
        else:
            square, life, mines, mask = spawn, MAX_LIFE, 0, _WORD(0)
            era += 1
    return (square, max(1, life - 1), gold + mines, mines, era, mask), taken


@kernel
def _search(
    tiles: NDArray[np.uint8],
    owner: NDArray[np.uint8],
    slots: NDArray[np.int16],
    near: NDArray[np.uint8],
    spawn: int,
    start: _Position,
    depth: int,
    use_table: bool,
) -> NDArray[np.int64]:
    """Return the best value after `depth` moves by first direction: int64[5], -1 for a direction without an effect.

    The search is depth first with a stack: level k holds the position before move k. The first era begins before the search. Each
    death begins a new era, without mines. `owner` holds for each mine the era in which it became ours, or 0. The search restores
    `owner` at the end.
    """
    result = np.full(5, -1, np.int64)
    squares, eras, masks = np.empty(depth, np.int64), np.empty(depth, np.int64), np.empty(depth, np.uint64)
    lives, golds, counts = np.empty(depth, np.int64), np.empty(depth, np.int64), np.empty(depth, np.int64)
    best, cursor = np.full(depth, -1, np.int64), np.zeros(depth, np.int64)
    taken, taken_from = np.empty(depth, np.int64), np.empty(depth, np.uint8)
    keys, known = np.zeros((_SLOTS, 2), np.uint64), np.empty(_SLOTS, np.int32)
    level = 0
    squares[0], lives[0], golds[0], counts[0], eras[0], masks[0] = start
    while True:
        if cursor[level] == 5:
            # All moves are tried: store the value of the rest in the table, and pass the best value to the level above.
            value = best[level]
            if level == 0:
                return result
            if use_table:
                position = (squares[level], lives[level], golds[level], counts[level], eras[level], masks[level])
                first, second = _key_of(position, depth - level)
                slot = _slot_of(first, second)
                keys[slot, 0], keys[slot, 1], known[slot] = first, second, value - GOLD_VALUE * golds[level]
            level -= 1
        else:
            direction = cursor[level]
            cursor[level] += 1
            position = (squares[level], lives[level], golds[level], counts[level], eras[level], masks[level])
            after, mine = _move(tiles, owner, slots, spawn, position, direction)
            if after[0] < 0:
                continue
            taken[level] = mine
            if mine >= 0:
                taken_from[level] = owner[mine]
                owner[mine] = after[4]
            left = depth - level - 1
            value = _quiet_value(tiles, owner, near, after, left)
            if value < 0 and use_table:
                first, second = _key_of(after, left)
                slot = _slot_of(first, second)
                if keys[slot, 0] == first and keys[slot, 1] == second:
                    value = int64(known[slot])
            if value < 0:
                level += 1
                squares[level], lives[level], golds[level], counts[level], eras[level], masks[level] = after
                best[level], cursor[level] = -1, 0
                continue
            value += GOLD_VALUE * after[2]
        # Take back the move of this level.
        if taken[level] >= 0:
            owner[taken[level]] = taken_from[level]
        best[level] = max(best[level], value)
        if level == 0:
            result[cursor[0] - 1] = value


@entry(INT64S(GAMES, types.int64, types.int64, types.int64))
def _look_ahead(games: Games, index: int, me: int, depth: int) -> NDArray[np.int64]:
    game, hero = games[index], games[index].hero[me]
    own, pos, spawn = MINE + 1 + me, int64(hero.pos), int64(hero.spawn)
    tiles, owner = np.empty(CELLS, np.uint8), np.zeros(CELLS, np.uint8)
    for square in range(CELLS):
        tiles[square] = game.cell[square] & TILE_BITS
    near, queue = np.empty(CELLS, np.uint8), np.empty(CELLS, np.int16)
    slots, foreign_mines = np.empty(CELLS, np.int16), np.empty(CELLS, np.int64)
    numbered, foreign = _mines_in_reach(tiles, own, pos, spawn, depth, slots, foreign_mines, near, queue)
    flood(tiles, foreign_mines, foreign, depth, _FAR, near, queue)
    if tiles[pos] != AIR:
        near[pos] = 0  # odd maps: no way leads to the square on which the hero stands
    mask = _WORD(0)
    for square in range(CELLS):
        if tiles[square] == own:
            owner[square] = 1
            if slots[square] >= 0:
                mask |= _WORD(1) << _WORD(slots[square] & (_KEY_MINES - 1))
    start = (pos, int64(hero.life), int64(hero.gold), int64(hero.mines), 1, mask)
    return _search(tiles, owner, slots, near, spawn, start, depth, numbered <= _KEY_MINES)


def look_ahead(games: Games, me: int, depth: int, index: int = 0) -> NDArray[np.int64]:
    """Return the best value of hero `me` (0..3) over all its sequences of `depth` (1..9) moves.

    The value is 10 x gold + 200 x mines after the last move. The result is int64[5] by first direction, -1 for a direction
    without an effect. The other heroes are off the board, but they keep their mines. The end of the game is ignored. The game
    does not change.
    """
    values: NDArray[np.int64] = _look_ahead(games, index, me, depth)
    return values


class LookAhead(Behaviour):
    """Vote, for each move, the largest 10 x gold + 200 x mines that we can reach with `depth` moves, this move included.

    The search ignores the other heroes. The votes are large numbers with small differences. No sequence goes beyond the end of
    the game.
    """

    depth: int = Field(7, ge=1, le=MAX_DEPTH, description="number of our moves to look ahead, this turn's move included")

    def vote(self, view: View) -> Votes:
        """Return the value of each move with an effect, or None after the end of the game."""
        depth = min(self.depth, view.moves_left)
        if depth < 1:
            return None
        values = look_ahead(view.games, view.me, depth)
        return {move: float(values[move]) for move in view.moves if values[move] >= 0}
