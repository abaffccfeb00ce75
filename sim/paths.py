"""Distances in hero moves, and the steps that shorten them.

Heroes walk over air; a mine or a tavern is reached by bumping into it, so it ends a way and never lies on one::

    3  2  ##        distances from the tavern: the hero two
    2  1  []        squares from it drinks with his second move
    3  2  1

The kernels (`spread`, `flood`, `descend`) are for other kernels; `distances_from`, `next_steps`, `all_pairs` and `step_table`
are for Python.
"""

from __future__ import annotations

import numpy as np
from numba import types
from numpy.typing import NDArray

from sim.game import AIR, CELLS, GAMES, HERO_SHIFT, OFFSET, STRIDE, TILE_BITS, WALL, Games
from sim.kernel_types import int64
from sim.kernels import entry, kernel

#: The distance of what cannot be reached.
FAR = 9999

#: Nothing is blocked. Shared: never write into it.
NOTHING_BLOCKED: NDArray[np.uint8] = np.zeros(CELLS, np.uint8)

_INT16S = types.Array(types.int16, 1, "C")
_TABLE = types.Array(types.int16, 2, "C")
_INT64S = types.Array(types.int64, 1, "C")
_BYTES = types.Array(types.uint8, 1, "C")


@kernel
def _walkable(cell: int, block: int, through_heroes: bool) -> bool:
    return (cell & TILE_BITS) == AIR and block == 0 and (through_heroes or cell >> HERO_SHIFT == 0)


@kernel
def spread(
    cells: NDArray[np.uint8],
    sources: NDArray[np.int64],
    blocked: NDArray[np.uint8],
    through_heroes: bool,
    distances: NDArray[np.int16],
    queue: NDArray[np.int16],
) -> None:
    """Breadth-first distances from all `sources` at once, into `distances` (int16[1024], overwritten).

    `cells` is the padded board of a game, `queue` any int16[1024]. For the meaning see `distances_from`.
    """
    distances[:] = FAR
    head, tail = 0, 0
    for place in range(len(sources)):
        square = sources[place]
        if STRIDE <= square < CELLS - STRIDE and distances[square] == FAR:
            distances[square] = 0
            queue[tail] = square
            tail += 1
    while head < tail:
        here = int64(queue[head])
        head += 1
        further = distances[here] + 1
        for direction in range(1, 5):
            square = here + OFFSET[direction]
            cell = int64(cells[square])
            if (cell & TILE_BITS) == WALL or distances[square] != FAR:
                continue
            distances[square] = further
            if _walkable(cell, blocked[square], through_heroes):
                queue[tail] = square
                tail += 1


@kernel
def flood(
    cells: NDArray[np.uint8],
    sources: NDArray[np.int64],
    count: int,
    limit: int,
    far: int,
    distances: NDArray[np.uint8] | NDArray[np.int16],
    queue: NDArray[np.int16],
) -> int:
    """Breadth-first distances over the squares where `cells` is `AIR`, from ``sources[:count]``, whatever these are.

    `distances` is overwritten: `far` marks what cannot be reached in `limit` moves. `queue` gets the squares that can, the
    sources first, in the order of their distances. Returns how many they are. Unlike `spread` it gives no distance to mines
    and taverns.
    """
    distances[:] = far
    head, tail = 0, 0
    for place in range(count):
        square = sources[place]
        if distances[square] == far:
            distances[square] = 0
            queue[tail] = square
            tail += 1
    while head < tail:
        here = int64(queue[head])
        head += 1
        if distances[here] >= limit:
            break
        for direction in range(1, 5):
            square = here + OFFSET[direction]
            if cells[square] == AIR and distances[square] == far:
                distances[square] = distances[here] + 1
                queue[tail] = square
                tail += 1
    return tail


@kernel
def descend(
    cells: NDArray[np.uint8], start: int, distances: NDArray[np.int16], blocked: NDArray[np.uint8], through_heroes: bool
) -> int:
    """The directions (bit d is direction d) from the square `start` that begin a shortest way down to distance 0."""
    mask = 0
    wanted = int64(distances[start]) - 1
    if wanted < 0 or wanted >= FAR - 1:
        return mask
    for direction in range(1, 5):
        square = start + OFFSET[direction]
        if distances[square] == wanted:
            cell = int64(cells[square])
            if wanted == 0 or _walkable(cell, blocked[square], through_heroes):
                mask |= 1 << direction
    return mask


@entry(_INT16S(GAMES, types.int64, _INT64S, _BYTES, types.boolean))
def _distances_from(
    games: Games, index: int, sources: NDArray[np.int64], blocked: NDArray[np.uint8], through_heroes: bool
) -> NDArray[np.int16]:
    distances, queue = np.empty(CELLS, np.int16), np.empty(CELLS, np.int16)
    spread(games[index].cell, sources, blocked, through_heroes, distances, queue)
    return distances


@entry(types.int64(GAMES, types.int64, types.int64, _INT16S, _BYTES, types.boolean))
def _next_steps(
    games: Games, index: int, hero: int, distances: NDArray[np.int16], blocked: NDArray[np.uint8], through_heroes: bool
) -> int:
    game = games[index]
    return descend(game.cell, int64(game.hero[hero].pos), distances, blocked, through_heroes)


@entry(_BYTES(_BYTES, _INT16S))
def _step_table(cells: NDArray[np.uint8], distances: NDArray[np.int16]) -> NDArray[np.uint8]:
    steps, nothing = np.zeros(CELLS, np.uint8), np.zeros(CELLS, np.uint8)
    for square in range(STRIDE, CELLS - STRIDE):
        mask = descend(cells, square, distances, nothing, True)
        for direction in range(4, 0, -1):
            if mask >> direction & 1:
                steps[square] = direction
    return steps


@entry(_TABLE(_BYTES))
def _all_pairs(cells: NDArray[np.uint8]) -> NDArray[np.int16]:
    table = np.empty((CELLS, CELLS), np.int16)
    table[:, :] = FAR
    source, queue = np.empty(1, np.int64), np.empty(CELLS, np.int16)
    nothing = np.zeros(CELLS, np.uint8)
    for square in range(STRIDE, CELLS - STRIDE):
        if (cells[square] & TILE_BITS) != WALL:
            source[0] = square
            spread(cells, source, nothing, True, table[square], queue)
    return table


def distances_from(
    games: Games,
    index: int,
    sources: NDArray[np.int64],
    blocked: NDArray[np.uint8] = NOTHING_BLOCKED,
    through_heroes: bool = False,
) -> NDArray[np.int16]:
    """How many moves every square is away from the nearest of `sources` (squares), as int16[1024] by square.

    Sources get 0 whatever they are. Ways lead over air that is not `blocked` (uint8[1024], 1 = keep out) and, unless
    `through_heroes`, not occupied. Any other square that is no wall gets a distance from its neighbours, but no way leads
    on from it: run it from all taverns and read the distance at a hero's own square (1 = beside one). Walls and what
    cannot be reached are `FAR`.
    """
    return _distances_from(games, index, np.array(sources, np.int64, ndmin=1), blocked, through_heroes)


def next_steps(
    games: Games,
    index: int,
    hero: int,
    distances: NDArray[np.int16],
    blocked: NDArray[np.uint8] = NOTHING_BLOCKED,
    through_heroes: bool = False,
) -> int:
    """The directions that begin a shortest way of `hero` (0..3) down to a source, as a set: bit d is direction d.

    `distances` came from `distances_from` with the same `blocked` and `through_heroes`. The set is empty (0) where no
    source can be reached, or the hero stands on one.
    """
    return int(_next_steps(games, index, hero, distances, blocked, through_heroes))


def all_pairs(cells: NDArray[np.uint8]) -> NDArray[np.int16]:
    """Distances between all squares of a padded board (uint8[1024]), as int16 [1024, 1024]; heroes are not in the way.

    Symmetric. Mines and taverns are ends of ways only; walls and what cannot be reached are `FAR`. Two neighbouring mines
    are 1 apart although nobody can stand on either.
    """
    return _all_pairs(cells)


def step_table(cells: NDArray[np.uint8], distances: NDArray[np.int16]) -> NDArray[np.uint8]:
    """The first step of a shortest way from every square down to distance 0, as uint8[1024]: a direction, the lowest of equally
    good ones; 0 where there is no way, or none is needed. Heroes are not in the way.

    `cells` is a padded board, `distances` (int16[1024]) those from some squares on it, such as a row of `all_pairs`.
    """
    return _step_table(cells, distances)
