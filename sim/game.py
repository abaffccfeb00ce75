"""A game: one flat structured record that holds all that changes from ply to ply.

In Python a game is an array of one record (`Game`), and N games are an array of N records (`Games`); kernels take the array
and an index, because a record that crosses from Python into a kernel costs microseconds. Copying is one memcpy, equality
is a comparison of the fields, and the bytes of the array are what other processes get.

The board has a border of wall and a fixed row length of 32 squares, whatever the size of the map, so that a step never
leaves the array and the same square number means the same place everywhere::

    square = (row + 1) * 32 + column + 1          north = square - 32, south + 32, east + 1, west - 1

On the wire ``x`` is the ROW and ``y`` the column. One byte per square answers "what is there": the tile in the low four
bits, the hero on it (1..4, 0 for nobody) in the high four.
"""

from __future__ import annotations

import numba
import numpy as np
from numpy.typing import NDArray

# Directions. The order is used everywhere: votes, kernels, recordings.
STAY, NORTH, SOUTH, EAST, WEST = range(5)
#: The server's own order for a hero whose answer was late. No client can send it.
CRASH = 5
#: Names of the directions as on the wire; the index is the direction.
DIRECTIONS = ("Stay", "North", "South", "East", "West")
#: `last_dir` of a hero that has not been given an order yet.
NO_DIRECTION = -1

# Tiles. `MINE` is nobody's, `MINE + id` belongs to hero `id` (1..4); 5..9 and `MINE + 10` (written ``$0``) are owners who
# are no heroes, which only hand-made maps have.
AIR, WALL, TAVERN, MINE = range(4)
LAST_MINE = MINE + 10
#: The low bits of a cell are the tile, the high bits (cell >> HERO_SHIFT) the id of the hero on it.
TILE_BITS = 15
HERO_SHIFT = 4

# Status of a game.
RUNNING, ALL_CRASHED, TURN_MAX = range(3)

#: Length of a row of the padded board.
STRIDE = 32
#: Squares of the padded board.
CELLS = STRIDE * STRIDE
#: The largest board that fits with its border, and a row to spare for heroes who are absent.
MAX_SIZE = 28
#: Heroes who are not on the board (drawn boards in tests may show fewer than four) stand here, walled in, for ever.
ABSENT = tuple(30 * STRIDE + 6 + 6 * hero for hero in range(4))

#: What a direction adds to a square.
OFFSET = np.array([0, -STRIDE, STRIDE, 1, -1], dtype=np.int64)

# Rules, in one place for those who evaluate or print them (RULES: a blow and a mine cost 20, a beer costs 2 and heals 50).
MAX_LIFE = 100
BLOW = 20
MINE_COST = 20
BEER_COST = 2
BEER_HEALS = 50
PLIES_PER_ROUND = 4

#: One hero: 16 bytes. `life` is 0..100 (1..100 between plies), `last_dir` -1..4, `pos` and `spawn` are squares.
HERO = np.dtype(
    (
        np.record,
        [
            ("gold", "i4"),
            ("pos", "i2"),
            ("life", "i2"),
            ("mines", "i2"),
            ("spawn", "i2"),
            ("last_dir", "i1"),
            ("crashed", "u1"),
            ("unused", "u1", 2),
        ],
    )
)

#: One game. `turn` counts plies; the hero to move is `turn & 3` (0-based). `shared` is 1 where spawn squares coincide, so
#: that two heroes can stand on one square (odd hand-made maps only). Write ``game["size"]``: ``game.size`` is numpy's own,
#: the number of elements, wherever the code is not compiled.
GAME = np.dtype(
    (
        np.record,
        [
            ("hero", HERO, 4),
            ("turn", "i4"),
            ("max_turns", "i4"),
            ("status", "u1"),
            ("training", "u1"),
            ("size", "u1"),
            ("shared", "u1"),
            ("unused", "u1", 4),
            ("cell", "u1", CELLS),
        ],
    )
)

#: What one ply destroyed: the heroes; where the mover's step led (`reached`); the mine taken (0 if none) and its tile before;
#: who died (`deaths`, a bit per hero), and only then the board as it was before the first death.
UNDO = np.dtype(
    (
        np.record,
        [
            ("hero", HERO, 4),
            ("reached", "i2"),
            ("mine", "i2"),
            ("mine_was", "u1"),
            ("deaths", "u1"),
            ("status", "u1"),
            ("unused", "u1"),
            ("cell", "u1", CELLS),
        ],
    )
)

#: numba's names for the arrays that kernels take.
GAMES = numba.types.Array(numba.from_dtype(GAME), 1, "C")
UNDOS = numba.types.Array(numba.from_dtype(UNDO), 1, "C")

#: Games: an array of dtype `GAME`, of any length.
Games = NDArray[np.void]
#: One game: an array of shape (1,) of dtype `GAME`. Kernels take it as they take `Games`, with the index 0.
Game = NDArray[np.void]


def square(row: int, column: int) -> int:
    """The square at `row` and `column` (both from 0 at the top left; the wire calls them x and y)."""
    return (row + 1) * STRIDE + column + 1


def row_column(square: int) -> tuple[int, int]:
    """Row and column of a square; the inverse of `square`."""
    return square // STRIDE - 1, square % STRIDE - 1


def mirrored(row: int, column: int, size: int) -> list[tuple[int, int]]:
    """The spawn squares of heroes 1..4 that follow from hero 1's (RULES section 1): 2 below 1, 4 right of 1, 3 across::

    1 . . 4
    . . . .
    2 . . 3
    """
    last = size - 1
    return [(row, column), (last - row, column), (last - row, last - column), (row, last - column)]


def new_game(
    tiles: NDArray[np.uint8],
    starts: list[tuple[int, int] | None],
    spawns: list[tuple[int, int] | None],
    *,
    max_turns: int = 1200,
    training: bool = False,
) -> Game:
    """A game before its first ply.

    `tiles` is a (size, size) array of tile codes without heroes; `starts` and `spawns` give (row, column) for heroes
    1..4, or None for a hero who is absent. Lives are 100, gold 0; mines are counted from the tiles.
    """
    size = len(tiles)
    if not 1 <= size <= MAX_SIZE or tiles.shape != (size, size):
        raise ValueError(f"a board is square with at most {MAX_SIZE} rows, this one has the shape {tiles.shape}")
    games = np.zeros(1, GAME)
    game = games[0]
    cell = np.full((STRIDE, STRIDE), WALL, np.uint8)
    cell[1 : size + 1, 1 : size + 1] = tiles
    game["cell"] = cell.ravel()
    game["max_turns"], game["training"], game["size"] = max_turns, training, size
    for index in range(4):
        hero, start, spawn = game["hero"][index], starts[index], spawns[index]
        hero["pos"] = square(*start) if start is not None else ABSENT[index]
        hero["spawn"] = square(*spawn) if spawn is not None else ABSENT[index]
        hero["life"], hero["last_dir"] = MAX_LIFE, NO_DIRECTION
        hero["mines"] = np.count_nonzero(tiles == MINE + 1 + index)
    place_heroes(games)
    return games


def place_heroes(games: Games, index: int = 0) -> None:
    """Write the heroes' ids into the cells from their positions, the lowest id on top, and note whether squares are shared."""
    game = games[index]
    game["cell"] &= TILE_BITS
    for hero in reversed(range(4)):
        pos = int(game["hero"][hero]["pos"])
        game["cell"][pos] = (int(game["cell"][pos]) & TILE_BITS) | (hero + 1) << HERO_SHIFT
    places = game["hero"]["pos"], game["hero"]["spawn"]
    game["shared"] = any(len(set(place.tolist())) < 4 for place in places)


def copy_of(games: Games) -> Games:
    """A copy of an array of games: one memcpy. numpy's own copies records field by field, which costs microseconds."""
    return np.frombuffer(bytearray(games.tobytes()), GAME)


def equal(one: Games, other: Games) -> bool:
    """Whether two arrays hold the same games, field by field."""
    return one.shape == other.shape and one.tobytes() == other.tobytes()


def mover(games: Games, index: int = 0) -> int:
    """The hero to move, 0..3."""
    return int(games[index]["turn"]) % 4
