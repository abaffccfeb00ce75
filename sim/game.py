"""A game: one flat structured record with everything that changes from ply to ply.

In Python, a game is an array of one record (`Game`), and N games are an array of N records (`Games`). Kernels (compiled
functions, see `sim.kernels`) take the array and an index, because passing a record from Python to a kernel costs microseconds.
Copying an array takes one memcpy. A game is sent to another process as the bytes of its array.

The board has a border of wall, and each row has 32 squares for every map size. A step therefore never leaves the array, and
a square has the same number in all maps::

    square = (row + 1) * 32 + column + 1          north = square - 32, south + 32, east + 1, west - 1

In the protocol, ``x`` is the ROW and ``y`` the column. Each square of the board is one byte, a **cell**. The low four bits hold
the tile. The high four bits hold the id of the hero on the square (1..4, 0 for none).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sim.kernel_types import array_of, record

# Directions. The order is the same everywhere: votes, kernels, recordings.
STAY, NORTH, SOUTH, EAST, WEST = range(5)
#: The move that the server makes for a hero whose answer was late. No client can send it.
CRASH = 5
#: The names of the directions in the protocol. The index is the direction.
DIRECTIONS = ("Stay", "North", "South", "East", "West")
#: `last_dir` of a hero that has not moved yet.
NO_DIRECTION = -1

# Tiles. A mine without an owner is `MINE`, a mine of hero `id` (1..4) is `MINE + id`. Owners 5..9 and 10 (written ``$0``) are
# not heroes; only hand-made maps have them.
AIR, WALL, TAVERN, MINE = range(4)
LAST_MINE = MINE + 10
#: ``cell & TILE_BITS`` is the tile, ``cell >> HERO_SHIFT`` the id of the hero on it.
TILE_BITS = 15
HERO_SHIFT = 4

# Status of a game.
RUNNING, ALL_CRASHED, TURN_MAX = range(3)

#: Number of squares in a row of the padded board.
STRIDE = 32
#: Number of squares of the padded board.
CELLS = STRIDE * STRIDE
#: Largest number of rows and columns of a board. The padded board has room for its border, and for a row of absent heroes.
MAX_SIZE = 28
#: The squares of heroes 1..4 while they are absent (a drawn board may show fewer than four heroes). These squares lie south of
#: the board, between walls.
ABSENT = tuple(30 * STRIDE + 6 + 6 * hero for hero in range(4))

#: For each direction, the difference between the numbers of the reached square and of the present square.
OFFSET = np.array([0, -STRIDE, STRIDE, 1, -1], dtype=np.int64)

# Constants of the rules: the life that a blow costs, the life that a mine costs, the gold that a beer costs, the life that a beer
# heals.
MAX_LIFE = 100
BLOW = 20
MINE_COST = 20
BEER_COST = 2
BEER_HEALS = 50
PLIES_PER_ROUND = 4
#: Number of heroes in a game.
SEATS = 4

#: One hero: 16 bytes. `life` is 0..100 (1..100 between plies), `last_dir` -1..4, `pos` and `spawn` are squares.
HERO = record(gold="i4", pos="i2", life="i2", mines="i2", spawn="i2", last_dir="i1", crashed="u1", unused=("u1", 2))

#: One game. `turn` counts plies; the hero to move is `turn & 3` (0-based). `shared` is 1 if two spawn squares are the same, so
#: that two heroes can stand on one square (only on unusual hand-made maps). Write ``game["size"]``: in code that is not compiled,
#: ``game.size`` is numpy's number of elements.
GAME = record(
    hero=(HERO, 4),
    turn="i4",
    max_turns="i4",
    status="u1",
    training="u1",
    size="u1",
    shared="u1",
    unused=("u1", 4),
    cell=("u1", CELLS),
)

#: The data that `sim.rules.undo` needs to take back one ply: the heroes before the ply, the square that the mover reached, the
#: mine taken (0 if none), and the tile of this mine before the ply. `deaths` has a bit per hero that died. `cell` is the board
#: before the first death, and is set only if `deaths` is not 0.
UNDO = record(
    hero=(HERO, 4),
    reached="i2",
    mine="i2",
    mine_was="u1",
    deaths="u1",
    status="u1",
    unused="u1",
    cell=("u1", CELLS),
)

#: numba's types of arrays of games, and of `UNDO` records.
GAMES = array_of(GAME)
UNDOS = array_of(UNDO)

#: Games: an array of dtype `GAME`, of any length.
Games = NDArray[np.void]
#: One game: an array of shape (1,) of dtype `GAME`. It is a valid `Games` argument of a kernel, with the index 0.
Game = NDArray[np.void]


def square(row: int, column: int) -> int:
    """Return the number of the square at `row` and `column`, both from 0 at the top left (in the protocol: x and y)."""
    return (row + 1) * STRIDE + column + 1


def row_column(square: int) -> tuple[int, int]:
    """Return the row and the column of a square. This is the inverse of `square`."""
    return square // STRIDE - 1, square % STRIDE - 1


def mirrored(row: int, column: int, size: int) -> list[tuple[int, int]]:
    """Return the (row, column) of the spawns of heroes 1..4.

    `row` and `column` are the spawn of hero 1. The other spawns are its mirror images::

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
    """Return a game before its first ply.

    `tiles` is a (size, size) array of tile codes without heroes. `starts` and `spawns` are (row, column) of heroes 1..4, or None
    for an absent hero. Every hero has 100 life, 0 gold, and the mines that `tiles` assigns to it. Raises ValueError for a wrong
    shape.
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
    """Write the id of each hero into its cell (on a shared square, the lowest of the two ids), and set `shared`."""
    game = games[index]
    game["cell"] &= TILE_BITS
    for hero in reversed(range(4)):
        pos = int(game["hero"][hero]["pos"])
        game["cell"][pos] = (int(game["cell"][pos]) & TILE_BITS) | (hero + 1) << HERO_SHIFT
    places = game["hero"]["pos"], game["hero"]["spawn"]
    game["shared"] = any(len(set(place.tolist())) < 4 for place in places)


def copy_of(games: Games) -> Games:
    """Return a copy of an array of games by one memcpy. ``games.copy()`` copies field by field, which costs microseconds."""
    return np.frombuffer(bytearray(games.tobytes()), GAME)


def equal(first: Games, other: Games) -> bool:
    """Return whether two arrays hold the same games."""
    return first.shape == other.shape and first.tobytes() == other.tobytes()


def mover(games: Games, index: int = 0) -> int:
    """Return the hero (0..3) that moves next in ``games[index]``."""
    return int(games[index]["turn"]) % 4
