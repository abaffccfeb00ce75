"""Maps: everything on a board that never changes during a game.

These functions return a `Map`: `parse_map` (from a drawn map), `named_map` (from the name of a built-in map), `read_map` (from
either of them), `sim.generator.generate` (at random), `map_of` (from a running game).

Choke points and dead ends are properties of the graph of air squares. Heroes do not matter. Mines and taverns count as walls::

    .  .  .  ## .  .  ##        .  .  .  ## 4  5  ##
    .  .  *  *  *  *  .         .  .  .  1  2  3  4          * a choke point
    .  .  .  ## .  .  ##        .  .  .  ## 4  5  ##         1 and more: the depth of a dead end

The **component** of a square is the set of squares that can be reached from it. A **choke point** is a square of air that splits
its component into at least two **branches** when it is removed. A **dead end** is a branch with less than half of the component's
squares and without a tavern beside it. A hero can leave it only through the choke point, and cannot drink inside. This choke
point is the exit of the dead end and does not belong to it. A square in several dead ends belongs to the largest of them.
"""

from __future__ import annotations

import hashlib
import re
from functools import cached_property, lru_cache

import numpy as np
from numpy.typing import NDArray

from sim.atlas import ATLAS
from sim.board import TILE_CODES, TILE_NAMES, Place
from sim.game import (
    ABSENT,
    AIR,
    CELLS,
    MAX_SIZE,
    MINE,
    OFFSET,
    STRIDE,
    TAVERN,
    TILE_BITS,
    WALL,
    Game,
    Games,
    mirrored,
    new_game,
    row_column,
)
from sim.kernel_types import BYTES, tuple_of
from sim.kernels import entry, kernel
from sim.paths import FAR, all_pairs, flood

#: The largest depth of a dead end that fits into a byte.
_DEEPEST = 255


@kernel
def _is_beside_tavern(cells: NDArray[np.uint8], squares: NDArray[np.int16]) -> bool:
    """Return whether one of `squares` is beside a tavern."""
    for place in range(len(squares)):
        for direction in range(1, 5):
            if cells[squares[place] + OFFSET[direction]] == TAVERN:
                return True
    return False


@entry(tuple_of((BYTES, BYTES))(BYTES))
def chokes_and_dead_ends(cells: NDArray[np.uint8]) -> tuple[NDArray[np.uint8], NDArray[np.uint8]]:
    """Return the choke points (1, else 0) and the depths of dead ends of a map, both uint8[1024] by square.

    `cells` is a padded board (uint8[1024]) without heroes. The depth of a square in a dead end is the number of moves to the
    exit, 1 to 255 (255: 255 or more moves). The depth is 0 for all other squares. The kernel removes each square in turn and
    looks at the branches that are left. This takes about as long as `sim.paths.all_pairs`.
    """
    choke, dead_end, size_of = np.zeros(CELLS, np.uint8), np.zeros(CELLS, np.uint8), np.zeros(CELLS, np.int64)
    rest, seen_from, source = cells.copy(), np.zeros(CELLS, np.int64), np.empty(1, np.int64)
    distances, squares, queue = np.empty(CELLS, np.int16), np.empty(CELLS, np.int16), np.empty(CELLS, np.int16)
    ends = np.zeros(5, np.int64)
    for square in range(STRIDE, CELLS - STRIDE):
        if cells[square] != AIR:
            continue
        # Branch k is squares[ends[k]:ends[k + 1]].
        branches = 0
        rest[square] = WALL
        for direction in range(1, 5):
            source[0] = square + OFFSET[direction]
            if rest[source[0]] == AIR and seen_from[source[0]] != square:
                branch = squares[ends[branches] :]
                count = flood(rest, source, 1, FAR, FAR, distances, branch)
                for place in range(count):
                    seen_from[branch[place]] = square
                branches += 1
                ends[branches] = ends[branches - 1] + count
        rest[square] = AIR
        if branches < 2:
            continue
        choke[square] = 1
        source[0] = square
        flood(cells, source, 1, FAR, FAR, distances, queue)
        for number in range(branches):
            branch = squares[ends[number] : ends[number + 1]]
            if 2 * len(branch) > ends[branches] or _is_beside_tavern(cells, branch):
                continue
            for place in range(len(branch)):
                inside = branch[place]
                if len(branch) > size_of[inside]:
                    dead_end[inside], size_of[inside] = min(_DEEPEST, distances[inside]), len(branch)
    return choke, dead_end


#: Largest number of maps of running games in the cache. Each map may hold two megabytes of distances.
MAX_CACHED_MAPS = 16


class MapError(ValueError):
    """A text is not a map. The message begins with the `line` and the `column` (in characters), which count from 1."""

    def __init__(self, message: str, line: int, column: int) -> None:
        super().__init__(f"line {line}, column {column}: {message}")
        self.line = line
        self.column = column


class UnknownMapError(KeyError):
    """No map has this name. The message lists the known names."""

    def __str__(self) -> str:
        return str(self.args[0])


class Map:
    """A map. It is immutable: do not write into its arrays.

    `size` is 1..28. `tiles` is a (size, size) uint8 array of tile codes without heroes. Its mines have the owners that they had
    in the source of the map. `starts` and `spawns` hold the (row, column) of heroes 1..4, None for an absent hero. Two maps are
    equal if their tiles, their starts and their spawns are equal. Names do not matter.
    """

    def __init__(self, tiles: NDArray[np.uint8], starts: list[Place], spawns: list[Place], name: str = "") -> None:
        self.tiles: NDArray[np.uint8] = np.array(tiles, np.uint8)
        self.size: int = len(self.tiles)
        if not 1 <= self.size <= MAX_SIZE or self.tiles.shape != (self.size, self.size):
            raise ValueError(f"a map is square with at most {MAX_SIZE} rows, this one has the shape {self.tiles.shape}")
        self.starts, self.spawns = list(starts), list(spawns)
        self.name = name

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Map) and self.digest == other.digest

    def __hash__(self) -> int:
        return hash(self.digest)

    def __reduce__(self) -> tuple[object, ...]:
        return Map, (self.tiles, self.starts, self.spawns, self.name)  # without the megabytes of distances

    def __deepcopy__(self, memo: object) -> Map:
        return self

    def __repr__(self) -> str:
        return f"<Map {self.name or self.digest} {self.size}x{self.size}>"

    def text(self) -> str:
        """Return the map as text, one line per row, with the heroes on their starts.

        `parse_map` reads this text, and computes the spawns from the start of hero 1.
        """
        rows = [[TILE_NAMES[tile] for tile in row] for row in self.tiles.tolist()]
        for hero, start in enumerate(self.starts, 1):
            if start is not None:
                rows[start[0]][start[1]] = f"@{hero}"
        return "\n".join("".join(row) for row in rows) + "\n"

    def new_game(self, max_turns: int = 1200, training: bool = False) -> Game:
        """Return a game on this map before its first ply. `max_turns` is the length of the game in plies."""
        return new_game(self.tiles, self.starts, self.spawns, max_turns=max_turns, training=training)

    @cached_property
    def digest(self) -> str:
        """A digest of the map's size, tiles, starts and spawns: 16 hexadecimal digits."""
        places = repr((self.size, self.starts, self.spawns)).encode()
        return hashlib.sha256(places + self.tiles.tobytes()).hexdigest()[:16]

    @cached_property
    def cells(self) -> NDArray[np.uint8]:
        """The padded board (uint8[1024], see `sim.game`) without heroes and without owners of mines."""
        cells = np.full((STRIDE, STRIDE), WALL, np.uint8)
        cells[1 : self.size + 1, 1 : self.size + 1] = np.minimum(self.tiles, MINE)
        return cells.ravel()

    def _squares(self, tile: int) -> NDArray[np.int64]:
        return np.flatnonzero(self.cells == tile).astype(np.int64)

    @cached_property
    def mines(self) -> NDArray[np.int64]:
        """The squares of all mines, row by row: int64."""
        return self._squares(MINE)

    @cached_property
    def taverns(self) -> NDArray[np.int64]:
        """The squares of all taverns, row by row: int64."""
        return self._squares(TAVERN)

    @cached_property
    def open(self) -> NDArray[np.int64]:
        """The squares of air, row by row: int64."""
        return self._squares(AIR)

    @cached_property
    def distances(self) -> NDArray[np.int16]:
        """The number of moves between any two squares: int16[1024, 1024] (`sim.paths.all_pairs`), computed at the first use."""
        return all_pairs(self.cells)

    @cached_property
    def _structure(self) -> tuple[NDArray[np.uint8], NDArray[np.uint8]]:
        return chokes_and_dead_ends(self.cells)

    @property
    def choke(self) -> NDArray[np.uint8]:
        """An array by square, uint8[1024]: 1 for a choke point (see `sim.maps`), 0 for other squares."""
        return self._structure[0]

    @property
    def dead_end(self) -> NDArray[np.uint8]:
        """For each square of a dead end (`sim.maps`), the number of moves to its exit: uint8[1024], 0 for other squares."""
        return self._structure[1]


# ---- The map of a running game ----

# Table from a cell to the same cell without its hero, and without the owner if it is a mine.
_NEUTRAL = np.array([min(cell & TILE_BITS, MINE) for cell in range(256)], np.uint8)


def map_of(games: Games, index: int = 0) -> Map:
    """Return the map of a running game, from a cache. Its mines have no owners, and its heroes start on their spawns."""
    game = games[index]
    return _map_for(int(game["size"]), _NEUTRAL.take(game["cell"]).tobytes(), game["hero"]["spawn"].tobytes())


@lru_cache(maxsize=MAX_CACHED_MAPS)
def _map_for(size: int, cells: bytes, spawns: bytes) -> Map:
    board = np.frombuffer(cells, np.uint8).reshape(STRIDE, STRIDE)[1 : size + 1, 1 : size + 1]
    squares = np.frombuffer(spawns, np.int16).tolist()
    places: list[Place] = [None if spawn == ABSENT[hero] else row_column(spawn) for hero, spawn in enumerate(squares)]
    return Map(board, places, places)


# ---- Maps given as text ----

_LINE_END = re.compile("\r\n|\n|\f")


def parse_map(text: str, name: str = "") -> Map:
    """Read a custom square map, in the same way as the original server.

    A line is a row of pairs of characters. Short lines are filled up with air, and missing lines are air. ``$`` with a digit is a
    mine that the hero with this digit owns. ``$`` with another character is a mine without an owner. ``@`` with a digit is the
    start of a hero. The heroes of a map must have exactly four different digits. In ascending order of their digits, they become
    heroes 1..4. If a digit occurs twice, the later place counts. Hero 1 spawns on its start. The spawns of the other heroes are
    the mirror images of this square, wherever these heroes start. Raises `MapError` with line and column.
    """
    lines = _LINE_END.split(text)
    dropped = 0
    while lines and not lines[-1]:
        del lines[-1]
    while lines and not lines[0]:
        del lines[0]
        dropped += 1
    size = _size_of(lines, dropped)
    tiles = np.zeros((size, size), np.uint8)
    heroes: dict[str, tuple[int, int]] = {}
    for row, line in enumerate(lines):
        padded = line.ljust(2 * size)
        for column in range(size):
            pair = padded[2 * column : 2 * column + 2]
            if pair[0] == "@" and pair[1] in "0123456789":
                if pair[1] not in heroes and len(heroes) == 4:
                    raise MapError(f"{pair} is a fifth hero; a map has four", row + dropped + 1, 2 * column + 1)
                heroes[pair[1]] = (row, column)
            elif pair in TILE_CODES:
                tiles[row, column] = TILE_CODES[pair]
            elif pair[0] == "$":
                tiles[row, column] = MINE
            else:
                known = "two blanks, ##, [], $- or $ and a digit, @ and a digit"
                raise MapError(f"{pair!r} is no square (known are {known})", row + dropped + 1, 2 * column + 1)
    if len(heroes) != 4:
        seen = ", ".join(f"@{digit}" for digit in sorted(heroes)) or "none"
        raise MapError(f"a map has four heroes, here is {seen}", dropped + len(lines), len(lines[-1]) + 1)
    starts: list[Place] = [heroes[digit] for digit in sorted(heroes)]
    first = heroes[min(heroes)]
    spawns: list[Place] = [*mirrored(*first, size)]
    return Map(tiles, starts, spawns, name)


def _size_of(lines: list[str], dropped: int) -> int:
    """Return the size of the square map with these `lines`, which follow `dropped` empty lines. Raises `MapError`."""
    if not lines:
        raise MapError("the map is empty", 1, 1)
    longest = max(range(len(lines)), key=lambda row: len(lines[row]))
    width = len(lines[longest])
    if width % 2:
        message = f"the longest line has {width} characters, an odd number: a square is two"
        raise MapError(message, longest + dropped + 1, width)
    size = width // 2
    if size > MAX_SIZE:
        raise MapError(f"{size} columns; a map has at most {MAX_SIZE}", longest + dropped + 1, 2 * MAX_SIZE + 1)
    if len(lines) > size:
        message = f"there are {len(lines)} lines for {size} columns; a map is square"
        raise MapError(message, size + dropped + 1, 1)
    return size


# ---- The built-in maps ----


def named_map(name: str) -> Map:
    """Return the map with this name, one of `NAMES` or `ALIASES` (``m1`` .. ``m6``). Raise `UnknownMapError` for other names."""
    full = ALIASES.get(name, name)
    if full not in ATLAS:
        raise UnknownMapError(f"there is no map named {name[:40]!r}; there are {', '.join([*ALIASES, *NAMES])}")
    return parse_map(ATLAS[full], full)


def read_map(text: str) -> Map:
    """Return the map that a text from the network means. The text is the name of a built-in map or a drawn map (see `parse_map`).

    The function opens no file. It raises `UnknownMapError` if a text of letters and digits is not a known name. It raises
    `MapError` if any other text is not a map.
    """
    if text in ALIASES or text in NAMES or text.replace("-", "").replace("_", "").isalnum():
        return named_map(text)
    return parse_map(text)


#: The names of the built-in maps.
NAMES: tuple[str, ...] = tuple(ATLAS)
#: The original server has six maps, named m1 to m6. Here these names stand for the first six maps.
ALIASES = {f"m{number}": name for number, name in enumerate(NAMES[:6], 1)}
