"""Distances, as numbers of a hero's moves, and the first steps of shortest ways.

Heroes walk over air. A hero uses a mine or a tavern by a move against it. So a way may end at a mine or a tavern, but never leads
across it::

    3  2  ##        distances from the tavern: a hero on a
    2  1  []        square with a 2 drinks with its second
    3  2  1         move

Other kernels call `spread`, `flood` and `descend`. Python code calls `distances_from`, `next_steps`, `all_pairs` and
`step_table`.
"""

from __future__ import annotations

import numpy as np
from numba import types
from numpy.typing import NDArray

from sim.game import AIR, CELLS, GAMES, HERO_SHIFT, OFFSET, STRIDE, TILE_BITS, WALL, Games
from sim.kernel_types import BYTES, INT16S, INT64S, int64
from sim.kernels import entry, kernel

#: The distance of a square that cannot be reached.
FAR = 9999

#: The value of `blocked` if no square is blocked. All callers share this array: never write into it.
NOTHING_BLOCKED: NDArray[np.uint8] = np.zeros(CELLS, np.uint8)


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
    """Write the breadth-first distances from the nearest of `sources` into `distances` (int16[1024]).

    `cells` is the padded board of a game. `queue` is working memory, int16[1024]. The docstring of `distances_from` says what the
    distances mean.
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
        source = int64(queue[head])
        head += 1
        further = distances[source] + 1
        for direction in range(1, 5):
            square = source + OFFSET[direction]
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
    """Write the breadth-first distances from the nearest of ``sources[:count]``, over squares whose value in `cells` is `AIR`.

    The sources may be any squares. A square that is not within `limit` moves gets the distance `far`. Unlike in `spread`, mines
    and taverns get `far`, too. The squares within `limit` moves are written into `queue` in the order of their distances, the
    sources first. Return the number of these squares.
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
        source = int64(queue[head])
        head += 1
        if distances[source] >= limit:
            break
        for direction in range(1, 5):
            square = source + OFFSET[direction]
            if cells[square] == AIR and distances[square] == far:
                distances[square] = distances[source] + 1
                queue[tail] = square
                tail += 1
    return tail


@kernel
def descend(
    cells: NDArray[np.uint8], start: int, distances: NDArray[np.int16], blocked: NDArray[np.uint8], through_heroes: bool
) -> int:
    """Return the directions that begin a shortest way from `start` to a square with distance 0, as a set: bit d is direction d.

    `distances` is the result of `spread` with the same `cells`, `blocked` and `through_heroes`.
    """
    mask = 0
    nearer = int64(distances[start]) - 1
    if nearer < 0 or nearer >= FAR - 1:
        return mask
    for direction in range(1, 5):
        square = start + OFFSET[direction]
        if distances[square] == nearer:
            cell = int64(cells[square])
            if nearer == 0 or _walkable(cell, blocked[square], through_heroes):
                mask |= 1 << direction
    return mask


@entry(INT16S(GAMES, types.int64, INT64S, BYTES, types.boolean))
def _distances_from(
    games: Games, index: int, sources: NDArray[np.int64], blocked: NDArray[np.uint8], through_heroes: bool
) -> NDArray[np.int16]:
    distances, queue = np.empty(CELLS, np.int16), np.empty(CELLS, np.int16)
    spread(games[index].cell, sources, blocked, through_heroes, distances, queue)
    return distances


@entry(types.int64(GAMES, types.int64, types.int64, INT16S, BYTES, types.boolean))
def _next_steps(
    games: Games, index: int, hero: int, distances: NDArray[np.int16], blocked: NDArray[np.uint8], through_heroes: bool
) -> int:
    game = games[index]
    return descend(game.cell, int64(game.hero[hero].pos), distances, blocked, through_heroes)


@entry(BYTES(BYTES, INT16S))
def step_table(cells: NDArray[np.uint8], distances: NDArray[np.int16]) -> NDArray[np.uint8]:
    """Return, for every square, the first step of a shortest way to a square with distance 0, as uint8[1024].

    A step is a direction. If several directions are equally good, the step is the lowest of them. The step is 0 if there is no
    way, or if the distance is 0 already. Heroes do not block. `cells` is a padded board, and `distances` (int16[1024]) are
    distances on this board, such as a row of `all_pairs`. Both arrays must be writable.
    """
    steps, nothing = np.zeros(CELLS, np.uint8), np.zeros(CELLS, np.uint8)
    for square in range(STRIDE, CELLS - STRIDE):
        mask = descend(cells, square, distances, nothing, True)
        for direction in range(4, 0, -1):
            if mask >> direction & 1:
                steps[square] = direction
    return steps


@entry(types.Array(types.int16, 2, "C")(BYTES))
def all_pairs(cells: NDArray[np.uint8]) -> NDArray[np.int16]:
    """Return the distances between all squares of a padded board (writable uint8[1024]), as int16 [1024, 1024].

    The table is symmetric. Heroes do not block. A way may end at a mine or a tavern but never leads across it. Walls and squares
    out of reach are `FAR`. Two neighbouring mines are 1 apart, although no hero can stand on a mine.
    """
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
    """Return the number of moves from every square to the nearest of `sources` (squares), as int16[1024] by square.

    Every source gets 0. Ways lead over squares of air that are not `blocked` (uint8[1024], 1: blocked). Heroes block the way
    unless `through_heroes` is true. Any other square except walls can only end a way: it gets the distance of its best neighbour
    plus 1. For example, if all taverns are sources, a hero's square gets the number of its moves to a beer (1: beside a tavern).
    Walls and squares out of reach are `FAR`.
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
    """Return the directions that begin a shortest way of `hero` (0..3) to a source, as a set: bit d is direction d.

    `distances` is the result of `distances_from` with the same `blocked` and `through_heroes`. The set is empty (0) if no source
    is in reach, or if the hero stands on a source.
    """
    return int(_next_steps(games, index, hero, distances, blocked, through_heroes))
