"""Kernels that write observations of states into arrays, and the spaces of the observations.

There are four kinds:

- `features`: the one-hot inputs of the nets (`behaviours.net.features`), as numbers of features. First come the slots of the
  position, then the slots of the moves 0..4. The slots of a move without an effect are 0.
- `compact`: numbers from -1 to 1 for a small network: `COMPACT` of them, see `_fill_compact`.
- `planes`: `PLANES` layers of squares around the hero, 0..255, see `_fill_planes`.
- `record`: the bytes of the game (`sim.game.GAME`).

Other heroes are in the order of their turns after the hero that observes.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from gymnasium import spaces
from numba import types
from numpy.typing import NDArray

from behaviours.common.map_tables import AWAY, LISTED, MAP_TABLES_ARRAY, MAX_MINES, NO_MINE, MapRecord
from behaviours.net.features import FEATURES, FOUND, FOUND_ARRAY, MOVE_SLOTS, STATE_SLOTS, find_features
from sim.game import (
    AIR,
    CELLS,
    GAME,
    GAMES,
    HERO_SHIFT,
    LAST_MINE,
    MAX_LIFE,
    MAX_SIZE,
    MINE,
    OFFSET,
    SEATS,
    STRIDE,
    TAVERN,
    TILE_BITS,
    WALL,
    Games,
)
from sim.kernel_types import INT8S, INT64S, GameRecord, int64, tuple_of, uintp
from sim.kernels import entry, kernel
from sim.rules import has_effect, tile_at

#: The kinds of observations.
KINDS = ("features", "compact", "planes", "record")
_FEATURES, _COMPACT, _PLANES, _RECORD = range(len(KINDS))
#: Numbers of `compact` per hero, of the game, and per move.
_PER_HERO, _PER_GAME, _PER_MOVE = 7, 4, 8
#: Number of slots of `features`, of numbers of `compact`, and of layers of `planes`.
SLOTS = STATE_SLOTS + 5 * MOVE_SLOTS
COMPACT = SEATS * _PER_HERO + _PER_GAME + 5 * _PER_MOVE
PLANES = 14
#: Distances of this number of moves and more look the same in `compact`.
_FAR = 32
#: What `observe_games` does with a row: nothing, the mask alone, or the mask and the observation.
NOTHING, MASK, ALL = range(3)
#: A gold of 0..`len - 1`, on a logarithmic scale from 0 to 1.
_WEALTH = np.minimum(np.log1p(np.arange(22026)) / 10, 1.0)

_INT16_ROWS, _FLOAT32_ROWS = types.Array(types.int16, 2, "C"), types.Array(types.float32, 2, "C")
_BYTE_ROWS, _INT8_ROWS = types.Array(types.uint8, 2, "C"), types.Array(types.int8, 2, "C")
#: An array without rows of each type of numbers.
_NO_ROWS = [np.zeros((0, 0), dtype) for dtype in (np.int16, np.float32, np.uint8)]


@kernel
def _near(away: int) -> float:
    """Return a number for a distance: 1 for 0 moves, 0 for `_FAR` moves and more."""
    return 1 - min(away, int64(_FAR)) / _FAR


@kernel
def _wealth(gold: int) -> float:
    return float(_WEALTH[min(max(gold, int64(0)), int64(len(_WEALTH) - 1))])


@kernel
def _mine_from(game: GameRecord, tables: MapRecord, me: int, square: int) -> int:
    """Return the distance of the nearest mine that `me` does not own, in moves; `AWAY` if there is none."""
    for slot in range(LISTED):
        mine = int64(tables.nearest[uintp(square * LISTED + slot)])
        if mine == NO_MINE:
            break
        if tile_at(game, int64(tables.mine[uintp(mine)])) != MINE + 1 + me:
            return int64(tables.to_mine[uintp(square * MAX_MINES + mine)])
    return int64(AWAY)


@kernel
def _fill_compact(game: GameRecord, tables: MapRecord, me: int, out: NDArray[np.float32]) -> None:
    """Write these numbers:

    - per hero, `me` first: life, gold, share of the mines, nearness of a tavern, nearness to `me`, row and column from `me`;
    - of the game: share of the rounds left, share of the mines without an owner, size of the map, number of mines;
    - per move: whether it has an effect, whether it goes to another square, whether it takes a mine, whether it drinks; then on
      the square after the move: nearness of a mine of others, nearness of a tavern, nearness of the nearest enemy, and our lead
      in life over it.
    """
    own, size, total = game.hero[uintp(me)], int64(game["size"]), max(int64(tables.mines), int64(1))
    pos, taken, place = int64(own.pos), int64(0), int64(0)
    for step in range(SEATS):
        hero = game.hero[uintp((me + step) & 3)]
        there = int64(hero.pos)
        taken += int64(hero.mines)
        out[place] = hero.life / MAX_LIFE
        out[place + 1] = _wealth(int64(hero.gold))
        out[place + 2] = min(int64(hero.mines) / total, 1.0)
        out[place + 3] = _near(int64(tables.to_tavern[uintp(there)]))
        out[place + 4] = _near(int64(tables.to_square[uintp(pos * CELLS + there)]))
        out[place + 5] = max(min((there // STRIDE - pos // STRIDE) / size, 1.0), -1.0)
        out[place + 6] = max(min((there % STRIDE - pos % STRIDE) / size, 1.0), -1.0)
        place += _PER_HERO
    out[place] = min(max((int64(game.max_turns) - int64(game.turn)) / max(int64(game.max_turns), int64(1)), 0.0), 1.0)
    out[place + 1] = max(1 - taken / total, 0.0)
    out[place + 2] = size / MAX_SIZE
    out[place + 3] = total / MAX_MINES
    place += _PER_GAME
    for move in range(5):
        target = pos + OFFSET[uintp(move)]
        there = int64(game.cell[uintp(target)])
        walks = there == AIR
        square = target if walks else pos
        effect = bool(has_effect(game, me, move))
        away, lead = int64(AWAY), int64(0)
        for step in range(1, SEATS):
            enemy = game.hero[uintp((me + step) & 3)]
            distance = int64(tables.to_square[uintp(int64(enemy.pos) * CELLS + square)])
            if distance < away:
                away, lead = distance, int64(own.life) - int64(enemy.life)
        out[place] = float(int64(effect))
        out[place + 1] = float(int64(walks))
        out[place + 2] = float(int64(effect and MINE <= there <= LAST_MINE))
        out[place + 3] = float(int64(effect and there == TAVERN))
        out[place + 4] = _near(_mine_from(game, tables, me, square))
        out[place + 5] = _near(int64(tables.to_tavern[uintp(square)]))
        out[place + 6] = _near(away)
        out[place + 7] = lead / MAX_LIFE
        place += _PER_MOVE


@kernel
def _fill_planes(game: GameRecord, me: int, side: int, out: NDArray[np.uint8]) -> None:
    """Write `PLANES` layers of `side` x `side` squares one after the other. `me` stands in the middle.

    - 0..6: walls (also beyond the board), taverns, mines without an owner, own mines, mines of the three others; 255: it is there
    - 7..10: the own hero and the three others. The number is the life, from 0 to 255.
    - 11..13 have one number everywhere: the rounds left, the own gold, and the gold of the richest other hero.
    """
    area, pos = side * side, int64(game.hero[uintp(me)].pos)
    top, left = pos // STRIDE - side // 2, pos % STRIDE - side // 2
    out[: 11 * area] = 0
    for row in range(side):
        for column in range(side):
            place, down, right = row * side + column, top + row, left + column
            cell = int64(WALL)
            if 0 <= down < STRIDE and 0 <= right < STRIDE:
                cell = int64(game.cell[uintp(down * STRIDE + right)])
            if cell == AIR:
                continue
            tile, hero = cell & TILE_BITS, cell >> HERO_SHIFT
            if hero:
                out[(7 + ((hero - 1 - me) & 3)) * area + place] = int64(game.hero[uintp(hero - 1)].life) * 255 // MAX_LIFE
            if tile == WALL:
                out[place] = 255
            elif tile == TAVERN:
                out[area + place] = 255
            elif MINE < tile <= MINE + SEATS:
                out[(3 + ((tile - MINE - 1 - me) & 3)) * area + place] = 255
            elif tile >= MINE:
                out[2 * area + place] = 255
    left_over = max(int64(game.max_turns) - int64(game.turn), int64(0))
    richest = int64(0)
    for step in range(1, SEATS):
        richest = max(richest, int64(game.hero[uintp((me + step) & 3)].gold))
    out[11 * area : 12 * area] = np.uint8(255 * left_over // max(int64(game.max_turns), int64(1)))
    out[12 * area : 13 * area] = np.uint8(255 * _wealth(int64(game.hero[uintp(me)].gold)))
    out[13 * area :] = np.uint8(255 * _wealth(richest))


class Rows(NamedTuple):
    """What to observe: row i is for hero ``heroes[i]`` in the game number ``which[i]``, on the map number ``where[i]``.

    ``wanted[i]`` is `NOTHING`, `MASK` or `ALL`. `order` lists the rows: it is faster if games on one map follow each other.
    """

    order: NDArray[np.int64]
    which: NDArray[np.int64]
    where: NDArray[np.int64]
    heroes: NDArray[np.int64]
    wanted: NDArray[np.int8]


_ROWS = tuple_of([INT64S, INT64S, INT64S, INT64S, INT8S], Rows)


@entry(
    types.void(
        GAMES, MAP_TABLES_ARRAY, _ROWS, types.int64, types.int64, FOUND_ARRAY, _INT16_ROWS, _FLOAT32_ROWS, _BYTE_ROWS, _INT8_ROWS
    )
)
def observe_games(
    games: Games,
    tables_array: NDArray[np.void],
    rows: Rows,
    kind: int,
    side: int,
    found_array: NDArray[np.void],
    indices: NDArray[np.int16],
    numbers: NDArray[np.float32],
    layers: NDArray[np.uint8],
    masks: NDArray[np.int8],
) -> None:
    """Write the masks and the observations of all rows. `tables_array` has the tables of the maps.

    `kind` is a number in `KINDS`; `record` is not written here. Only the array of the kind has rows: `indices` for `features`,
    `numbers` for `compact`, `layers` for `planes`. `masks` (int8, n x 5) has a 1 for each move with an effect, and for Stay.
    """
    features = found_array[0]
    for row in rows.order:
        if rows.wanted[row] == NOTHING:
            continue
        game, tables, hero = games[rows.which[row]], tables_array[rows.where[row]], rows.heroes[row]
        for move in range(5):
            masks[row, move] = has_effect(game, hero, move)
        if rows.wanted[row] == MASK:
            continue
        if kind == _FEATURES:
            find_features(game, tables, hero, features)
            indices[row, :STATE_SLOTS] = features.state
            indices[row, STATE_SLOTS:] = features.moves
            for move in range(5):
                place = STATE_SLOTS + move * MOVE_SLOTS
                indices[row, place] = max(indices[row, place], np.int16(0))
        elif kind == _COMPACT:
            _fill_compact(game, tables, hero, numbers[row])
        elif kind == _PLANES:
            _fill_planes(game, hero, side, layers[row])


@dataclass(frozen=True)
class Lookout:
    """The observations of one environment: their `kind`, and the `side` of the planes in squares (an odd number)."""

    kind: str
    side: int

    def space(self) -> spaces.Box:
        """Return the space of one observation."""
        if self.kind == "features":
            return spaces.Box(0, FEATURES - 1, (SLOTS,), np.int16)
        if self.kind == "compact":
            return spaces.Box(-1, 1, (COMPACT,), np.float32)
        shape = (PLANES, self.side, self.side) if self.kind == "planes" else (GAME.itemsize,)
        return spaces.Box(0, 255, shape, np.uint8)


class Observations:
    """Arrays for `count` observations, which are made once. `observations` has a row per observation, `masks` (int8) its mask."""

    def __init__(self, lookout: Lookout, count: int) -> None:
        space, self._kind, self._side = lookout.space(), KINDS.index(lookout.kind), lookout.side
        self.observations: NDArray[Any] = np.zeros((count, *space.shape), space.dtype)
        self.masks = np.zeros((count, 5), np.int8)
        self._found = np.zeros(1, FOUND)

    def look(self, games: Games, tables: NDArray[np.void], rows: Rows) -> None:
        """Fill the wanted rows, see `observe_games`."""
        if self._kind == _RECORD:
            chosen = np.flatnonzero(rows.wanted == ALL)
            self.observations[chosen] = games.view(np.uint8).reshape(len(games), -1)[rows.which[chosen]]
        # A view of `observations`, made anew: a copy or a pickle of this object would separate a stored view from its array.
        flat = self.observations.reshape(len(self.observations), -1)
        indices, numbers, layers = (flat if flat.dtype == array.dtype else array for array in _NO_ROWS)
        observe_games(games, tables, rows, self._kind, self._side, self._found, indices, numbers, layers, self.masks)

    def one(self, row: int) -> dict[str, NDArray[Any]]:
        """Return a copy of one observation, with its mask, as the environments return it."""
        return {"observation": self.observations[row].copy(), "action_mask": self.masks[row].copy()}
