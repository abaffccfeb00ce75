"""The map generator of the original server: a random quarter, mirrored, without unreachable parts.

Equal seeds and arguments give equal maps on every machine. Versions of numpy make no difference, because this project has its own
random number generator. The maps have the same distribution as the maps of the original server. The original server chooses the
places for taverns in an odd way, and so does this module (see `_tavern_places`).
"""

from __future__ import annotations

import hashlib

import numpy as np
from numba import types
from numpy.typing import NDArray

from sim.game import AIR, CELLS, MAX_SIZE, MINE, STRIDE, TAVERN, WALL, mirrored, row_column
from sim.kernel_types import BYTES, INT64S, int64, uint64
from sim.kernels import entry, kernel
from sim.maps import Map
from sim.paths import FAR, flood
from sim.playout import below, next_random, random_state

#: The smallest size of a map.
MIN_SIZE = 8
#: Largest number of attempts to draw a map, and of attempts to draw a spawn on one map.
ATTEMPTS = 100

_DONE, _NO_SPAWN, _NO_MINE, _NO_TAVERN = range(4)
_MESSAGES = {
    _NO_SPAWN: "Can't find a good starting position",
    _NO_MINE: "Board has no mine",
    _NO_TAVERN: "No place found for a tavern",
}


class GeneratorError(ValueError):
    """A map cannot be generated. Most messages begin like the messages of the original server."""


@kernel
def _draw(state: NDArray[np.uint64], bound: int) -> int:
    """Return a random number in 0..bound-1; `state` (uint64[1]) is the state of the random generator."""
    state[0] = next_random(state[0])
    return below(state[0], bound)


@kernel
def _at(row: int, column: int) -> int:
    return (row + 1) * STRIDE + column + 1


@kernel
def _put_mirrored(cells: NDArray[np.uint8], row: int, column: int, last: int, tile: int) -> None:
    cells[_at(row, column)] = tile
    cells[_at(last - row, column)] = tile
    cells[_at(row, last - column)] = tile
    cells[_at(last - row, last - column)] = tile


@kernel
def _reach(cells: NDArray[np.uint8], start: int, reached: NDArray[np.uint8]) -> int:
    """Write 1 into `reached` (uint8[1024]) for the squares of air in reach of `start`, `start` included. Return their number."""
    source, queue, distances = np.empty(1, np.int64), np.empty(CELLS, np.int16), np.empty(CELLS, np.int16)
    source[0] = start
    count = flood(cells, source, 1, FAR, FAR, distances, queue)
    reached[:] = 0
    for place in range(count):
        reached[queue[place]] = 1
    return count


@kernel
def _touches(cells: NDArray[np.uint8], square: int, tile: int) -> bool:
    """Return whether one of the four neighbours of a square is `tile`."""
    north, south, east, west = cells[square - STRIDE], cells[square + STRIDE], cells[square + 1], cells[square - 1]
    touches: bool = north == tile or south == tile or east == tile or west == tile
    return touches


@kernel
def _mines_at_air(cells: NDArray[np.uint8]) -> int:
    """Return the number of mines with air beside them."""
    count = 0
    for square in range(STRIDE, CELLS - STRIDE):
        if cells[square] == MINE and _touches(cells, square, AIR):
            count += 1
    return count


@kernel
def _find_spawn(cells: NDArray[np.uint8], size: int, state: NDArray[np.uint64], reached: NDArray[np.uint8]) -> int:
    """Return a random spawn square for hero 1, or 0 if `ATTEMPTS` squares fail.

    From the spawn square, a hero must be able to reach the two squares that mirror it downwards and to the right. `reached` marks
    all squares in reach of the last square tried.
    """
    half, last = size // 2, size - 1
    for _ in range(ATTEMPTS):
        row, column = _draw(state, half - 2), _draw(state, half - 2)
        spawn = _at(row, column)
        if cells[spawn] == AIR:
            _reach(cells, spawn, reached)
            if reached[_at(last - row, column)] and reached[_at(row, last - column)]:
                return spawn
    return 0


@kernel
def _tavern_places(cells: NDArray[np.uint8], size: int, spawn: int, places: NDArray[np.int64]) -> int:
    """Write the squares that are candidates for a tavern into `places`. Return their number.

    The original server joins the left halves of all rows, and reads the result as a square board. The rows of this second board
    have another length. On the second board, the server finds all squares in reach of the square with the spawn's coordinates.
    The squares with the same coordinates on the real board are the candidates.
    """
    half = size // 2
    width = int64(np.sqrt(size * half))
    folded, reached = np.full(CELLS, WALL, np.uint8), np.zeros(CELLS, np.uint8)
    for place in range(width * width):
        folded[_at(place // width, place % width)] = cells[_at(place // half, place % half)]
    _reach(folded, spawn, reached)
    count = 0
    for square in range(CELLS):
        if reached[square]:
            places[count] = square
            count += 1
    return count


@kernel
def _place_taverns(cells: NDArray[np.uint8], size: int, spawn: int, open_squares: int, state: NDArray[np.uint64]) -> bool:
    """Put four mirrored taverns on squares where they block no way. Return False if there are no such squares."""
    last = size - 1
    places, reached = np.empty(CELLS, np.int64), np.empty(CELLS, np.uint8)
    count = _tavern_places(cells, size, spawn, places)
    mines = _mines_at_air(cells)
    while count:
        pick = _draw(state, count)
        square = places[pick]
        count -= 1
        places[pick] = places[count]
        row, column = square // STRIDE - 1, square % STRIDE - 1
        spawn_row, spawn_column = spawn // STRIDE - 1, spawn % STRIDE - 1
        on_spawn = (row == spawn_row or row == last - spawn_row) and (column == spawn_column or column == last - spawn_column)
        if cells[square] != AIR or on_spawn:
            continue
        _put_mirrored(cells, row, column, last, TAVERN)
        if _reach(cells, spawn, reached) == open_squares - 4 and _mines_at_air(cells) == mines:
            return True
        _put_mirrored(cells, row, column, last, AIR)
    return False


@kernel
def _attempt(cells: NDArray[np.uint8], size: int, walls: int, mines: int, state: NDArray[np.uint64]) -> tuple[int, int]:
    """Try once to draw a map into `cells` (uint8[1024]). Return (outcome, spawn square of hero 1).

    `walls` and `mines` are percentages of the squares. The outcome is `_DONE`, or a code for the reason of the failure.
    """
    half, last = size // 2, size - 1
    cells[:] = WALL
    for row in range(half):
        for column in range(half):
            number = _draw(state, 100)
            tile = MINE if number < mines else (WALL if number < mines + walls else AIR)
            _put_mirrored(cells, row, column, last, tile)
    reached = np.empty(CELLS, np.uint8)
    spawn = _find_spawn(cells, size, state, reached)
    if spawn == 0:
        return _NO_SPAWN, 0
    open_squares, mines_in_reach = 0, 0
    for square in range(STRIDE, CELLS - STRIDE):
        if reached[square]:
            open_squares += 1
        elif cells[square] == MINE and _touches(reached, square, 1):
            mines_in_reach += 1
        else:
            cells[square] = WALL
    if mines_in_reach == 0:
        return _NO_MINE, 0
    if not _place_taverns(cells, size, spawn, open_squares, state):
        return _NO_TAVERN, 0
    return _DONE, spawn


@entry(types.int64(BYTES, types.uint64, INT64S, INT64S))
def _fill(cells: NDArray[np.uint8], seed: int, sizes: NDArray[np.int64], drawn: NDArray[np.int64]) -> int:
    """Draw a map into `cells` (uint8[1024]), and return hero 1's spawn square.

    If all attempts fail, return the negative outcome of the last attempt (see `_attempt`).

    `sizes` holds the size, the percentage of walls and the percentage of mines. A number below 0 is replaced by a random number.
    The three numbers that are used are written into `drawn`.
    """
    state = np.empty(1, np.uint64)
    state[0] = random_state(seed, 0)
    drawn[0] = 10 + 2 * _draw(state, 10)
    drawn[1] = 10 + _draw(state, 32)
    drawn[2] = 3 + _draw(state, 7)
    for place in range(3):
        if sizes[place] >= 0:
            drawn[place] = sizes[place]
    outcome = _NO_SPAWN
    for _ in range(ATTEMPTS):
        outcome, spawn = _attempt(cells, drawn[0], drawn[1], drawn[2], state)
        if outcome == _DONE:
            return spawn
    return -outcome


def generate(seed: int, size: int | None = None, walls: int | None = None, mines: int | None = None) -> Map:
    """Return the map of a seed (an int, of which only the low 64 bits are used).

    `size` is even, 8..28. `walls` and `mines` are percentages of the squares, 0..100, before unreachable parts become wall.
    Numbers that are not given are drawn uniformly and independently, as in the original server's arena: size 10 to 28, walls 10
    to 41, mines 3 to 9. Heroes start on their spawns. Raise `GeneratorError` for a wrong size or percentage, or after 100 failed
    attempts.
    """
    if size is not None and size < MIN_SIZE:
        raise GeneratorError(f"Board is too small: size {size}, at least {MIN_SIZE}")
    if size is not None and size % 2:
        raise GeneratorError(f"Board size is odd: {size}")
    if size is not None and size > MAX_SIZE:
        raise GeneratorError(f"Board is too large: size {size}, at most {MAX_SIZE}")
    for what, percent in (("walls", walls), ("mines", mines)):
        if percent is not None and not 0 <= percent <= 100:
            raise GeneratorError(f"{percent} percent of {what}: 0 to 100 are possible")
    sizes = np.array([-1 if number is None else number for number in (size, walls, mines)], np.int64)
    cells, drawn = np.empty(CELLS, np.uint8), np.empty(3, np.int64)
    spawn = _fill(cells, uint64(seed & 0xFFFFFFFFFFFFFFFF), sizes, drawn)
    if spawn < 0:
        raise GeneratorError(_MESSAGES[-spawn])
    size, walls, mines = drawn.tolist()
    places = mirrored(*row_column(spawn), size)
    tiles = cells.reshape(STRIDE, STRIDE)[1 : size + 1, 1 : size + 1]
    return Map(tiles, [*places], [*places], f"seed {seed}, size {size}, walls {walls}, mines {mines}")


def derive_seed(seed: int, *purpose: str | int) -> int:
    """Return a seed (0 .. 2**63 - 1) for a purpose. Equal arguments give equal seeds, different arguments give unrelated ones."""
    text = "\0".join(f"{type(part).__name__}:{part}" for part in (seed, *purpose))
    return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8).digest(), "big") >> 1
