"""Boards as text: the two-character tiles of the protocol, and drawings of a whole game for people.

In the protocol, the rows follow each other, and each square is two characters: two blanks for air, ``##`` for a wall, ``[]`` for
a tavern, ``$-`` for a mine without an owner, ``$1`` for a mine of hero 1, ``@1`` for hero 1 (on any tile). A drawing is a picture
of the board, followed by lines about the turn and the heroes::

    +------+
    |@1  $-|
    |##  []|
    |  @2$1|
    +------+
    turn 5 of 1200
    @1 life 99 gold 3 mines 1 spawn 0,0 last Stay
    @2 life 20 gold 0 mines 0 spawn 2,1 last East

`draw` always writes the whole drawing. `parse` also reads a picture alone, with or without the frame::

    @1  $-
    ##  []

The docstring of `parse` lists the default values.
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sim.game import (
    ABSENT,
    AIR,
    CELLS,
    DIRECTIONS,
    HERO_SHIFT,
    LAST_MINE,
    MAX_LIFE,
    MAX_SIZE,
    MINE,
    NO_DIRECTION,
    RUNNING,
    STRIDE,
    TILE_BITS,
    Game,
    Games,
    new_game,
    place_heroes,
    row_column,
    square,
)

#: (row, column) of a hero, or None for an absent hero.
Place = tuple[int, int] | None

#: The text of every tile; the index is the tile code.
TILE_NAMES = ("  ", "##", "[]", "$-", *(f"${owner}" for owner in range(1, 10)), "$0")
#: The tile code of every text; the inverse of `TILE_NAMES`.
TILE_CODES = {name: code for code, name in enumerate(TILE_NAMES)}

_UNREADABLE = 255
#: The name of every status of a game; the index is the status.
_STATUS_NAMES = ("running", "AllCrashed", "TurnMax")


class BoardError(ValueError):
    """The text of a board cannot be read. The message says what is wrong and where (rows and columns count from 0)."""


def _cell_text(cell: int) -> str:
    """Return the two characters of a cell: the hero on it, or the tile if there is no hero."""
    hero = cell >> HERO_SHIFT
    return f"@{hero}" if 1 <= hero <= 4 else TILE_NAMES[min(cell & TILE_BITS, LAST_MINE)]


# The characters of every cell as a 16-bit word, and the cell of every word.
_WRITE = np.frombuffer("".join(map(_cell_text, range(256))).encode("ascii"), np.uint16)
_READABLE = np.array([*range(len(TILE_NAMES)), *(hero << HERO_SHIFT for hero in range(1, 5))], np.uint8)
_READ = np.full(1 << 16, _UNREADABLE, np.uint8)
_READ[_WRITE[_READABLE]] = _READABLE


def _unreadable(text: str, size: int) -> BoardError:
    for place in range(size * size):
        pair = text[2 * place : 2 * place + 2]
        if pair not in TILE_CODES and pair not in ("@1", "@2", "@3", "@4"):
            return BoardError(f"row {place // size}, column {place % size}: {pair!r} is no tile")
    return BoardError("the tiles cannot be read")


def read_tiles(text: str, size: int) -> tuple[NDArray[np.uint8], list[Place]]:
    """Return the tiles and the heroes of a board in the format of the protocol: 2 * size * size characters in `text`.

    The tiles are a (size, size) array of tile codes, with air where a hero stands. The heroes are a list with the (row, column)
    of heroes 1..4, None for a hero that is not shown. Raise `BoardError` if the text is no board.
    """
    if len(text) != 2 * size * size:
        raise BoardError(f"a board of size {size} has {2 * size * size} characters of tiles, not {len(text)}")
    try:
        words = np.frombuffer(text.encode("ascii"), np.uint16)
    except UnicodeEncodeError:
        raise _unreadable(text, size) from None
    tiles = _READ.take(words)
    heroes: list[Place] = [None, None, None, None]
    for place in (tiles > TILE_BITS).nonzero()[0].tolist():
        code = int(tiles[place])
        if code == _UNREADABLE:
            raise _unreadable(text, size)
        hero = (code >> HERO_SHIFT) - 1
        if heroes[hero] is not None:
            raise BoardError(f"row {place // size}, column {place % size}: hero {hero + 1} is shown twice")
        heroes[hero] = (place // size, place % size)
        tiles[place] = AIR
    return tiles.reshape(size, size), heroes


def board_of(games: Games, index: int = 0) -> NDArray[np.uint8]:
    """Return the cells of the board of ``games[index]`` without its border, as a (size, size) array.

    Each byte holds the tile and the hero of a square. The array is a view: a change of the array changes the game.
    """
    size = int(games[index]["size"])
    cells: NDArray[np.uint8] = games[index]["cell"].reshape(STRIDE, STRIDE)
    return cells[1 : size + 1, 1 : size + 1]


def tile_text(games: Games, index: int = 0) -> str:
    """Return the board of ``games[index]`` as text in the format of the protocol: 2 * size * size characters.

    A hero hides the tile on which it stands.
    """
    return _WRITE.take(board_of(games, index)).tobytes().decode("ascii")


# ---- Drawing ----


def picture(games: Games, index: int = 0) -> str:
    """Return the board of ``games[index]`` as text in a frame, without the lines about the turn and the heroes."""
    size = int(games[index]["size"])
    text = tile_text(games, index)
    edge = "+" + "-" * 2 * size + "+"
    rows = [f"|{text[2 * size * row : 2 * size * (row + 1)]}|" for row in range(size)]
    return "\n".join([edge, *rows, edge])


def _turn_line(game: Any) -> str:
    line = f"turn {game['turn']} of {game['max_turns']}"
    if game["training"]:
        line += " training"
    if game["status"] != RUNNING:
        line += f" over {_STATUS_NAMES[int(game['status'])]}"
    return line


def _hero_line(game: Any, index: int) -> str:
    """Return the line about the hero with this index (0..3) in a drawing.

    The line omits the hero's square, and the tile on which the hero stands, if the drawn board shows them.
    """
    hero = game["hero"][index]
    pos, spawn = int(hero["pos"]), int(hero["spawn"])
    cell = int(game["cell"][pos])
    words = [f"@{index + 1}"]
    if pos == ABSENT[index]:
        words.append("away")
    elif cell >> HERO_SHIFT != index + 1:
        words.append("at {},{}".format(*row_column(pos)))
    elif cell & TILE_BITS != AIR:
        words.append(f"on {TILE_NAMES[cell & TILE_BITS]}")
    words.append(f"life {hero['life']} gold {hero['gold']} mines {hero['mines']}")
    words.append("spawn away" if spawn == ABSENT[index] else "spawn {},{}".format(*row_column(spawn)))
    if hero["last_dir"] != NO_DIRECTION:
        words.append(f"last {DIRECTIONS[hero['last_dir']]}")
    if hero["crashed"]:
        words.append("crashed")
    return " ".join(words)


def draw(games: Games, index: int = 0) -> str:
    """Return ``games[index]`` as a drawing for people: the board, the turn, the heroes. `parse` makes an equal game from it.

    There is no line about a hero that was absent from the start and never moved.
    """
    game = games[index]
    lines = [picture(games, index), _turn_line(game)]
    for hero in range(4):
        line = _hero_line(game, hero)
        if line != f"@{hero + 1} away life 100 gold 0 mines 0 spawn away":
            lines.append(line)
    return "\n".join(lines) + "\n"


# ---- Parsing ----

_FRAME = re.compile(r"\s*\+-*\+\s*")
_FACT = re.compile(r"\s*(turn\b|@[1-4]\s+[a-z])")
# The words of the lines that follow a picture, with the number of values after each word.
_TURN_WORDS = {"turn": 1, "of": 1, "training": 0, "over": 1}
_HERO_WORDS = {"at": 1, "on": 1, "life": 1, "gold": 1, "mines": 1, "spawn": 1, "last": 1, "away": 0, "crashed": 0}
_MAX_INT = 2**31 - 1


def parse(text: str) -> Game:
    """Return the game that a drawing shows. The drawing is a text such as `draw` writes.

    - If the rows have bars at the left (and, optionally, at the right), every character between the bars counts. Without bars,
      these blanks do not count: the indentation that all lines of the picture share, blanks at the ends of lines, and empty lines
      before and after the picture. A picture with a rim of air needs the bars.
    - Short lines are filled up with air to the length of the longest line. If the picture is not a square, the missing rows at
      the bottom or columns at the right become wall.
    - A hero that is not shown is absent for the whole game.
    - The spawn of a hero is the square where the hero is drawn, unless the hero's line says otherwise. By default a hero has 100
      life and 0 gold. The hero's mines are counted on the board, and a line with another number of mines is an error. The default
      turn is 0 of 1200.

    Raise `BoardError` with the line of the text (from 1), or the row and column.
    """
    numbered = [(number, line.rstrip("\r")) for number, line in enumerate(text.split("\n"), 1)]
    first_fact = next((place for place, (_, line) in enumerate(numbered) if _FACT.match(line)), len(numbered))
    rows = _picture_rows(numbered[:first_fact])
    width = max((len(row) for row in rows), default=0)
    if width == 0:
        raise BoardError("there is no board in the text")
    if width % 2:
        raise BoardError(f"the longest row has {width} characters, an odd number: a square is two")
    size = max(len(rows), width // 2)
    if size > MAX_SIZE:
        raise BoardError(f"the board has {len(rows)} rows and {width // 2} columns; at most {MAX_SIZE} are possible")
    full = [row.ljust(width) + "##" * (size - width // 2) for row in rows]
    full += ["##" * size] * (size - len(rows))
    tiles, heroes = read_tiles("".join(full), size)
    games = new_game(tiles, heroes, heroes)
    claims: list[tuple[int, int, int]] = []
    for number, line in numbered[first_fact:]:
        if line.strip():
            _read_fact(games[0], line.split(), number, claims)
    for number, index, mines in claims:  # after all lines have been read, because each line may put a hero on a mine
        owned = int(games[0]["hero"][index]["mines"])
        if mines != owned:
            raise BoardError(f"line {number}: hero {index + 1} owns {owned} mines on this board, not {mines}")
    place_heroes(games)
    return games


def _picture_rows(numbered: list[tuple[int, str]]) -> list[str]:
    """Return the rows of the picture, without frame, bars, shared indentation and empty lines around it."""
    lines = [line for _, line in numbered if not _FRAME.fullmatch(line)]
    if any(line.lstrip().startswith("|") for line in lines):
        rows = []
        for line in lines:
            inside = line.strip()
            if inside.startswith("|"):
                rows.append(inside[1:].removesuffix("|"))
            elif inside:
                raise BoardError(f"{line.strip()!r}: this row does not begin with a bar, others do")
        return rows
    return [line.rstrip() for line in textwrap.dedent("\n".join(lines)).strip("\n").split("\n")]


def _read_fact(game: Any, words: list[str], number: int, claims: list[tuple[int, int, int]]) -> None:
    """Read one line that follows the picture. If the line states a number of mines, add (line, hero, mines) to `claims`."""
    try:
        if words[0] == "turn":
            _read_turn(game, words)
        elif re.fullmatch("@[1-4]", words[0]):
            index = int(words[0][1]) - 1
            mines = _read_hero(game, index, words[1:])
            if mines is not None:
                claims.append((number, index, mines))
        else:
            raise BoardError(f"{words[0]!r} is neither 'turn' nor a hero")
    except BoardError as problem:
        raise BoardError(f"line {number}: {problem}") from None


def _pairs(words: list[str], known: dict[str, int], example: str) -> Iterator[tuple[str, str]]:
    """Yield each word of a line with its value, or with "" if the word takes no value.

    `known` has the number of values (0 or 1) of each allowed word. `example` is a correct line, for the message of a
    `BoardError`.
    """
    rest = iter(words)
    for word in rest:
        value = next(rest, None) if known.get(word) else ""
        if word not in known or value is None:
            raise BoardError(f"{word!r} is not understood here; write it like {example!r}")
        yield word, value


def _number(word: str, least: int, most: int) -> int:
    if re.fullmatch("-?[0-9]+", word) and least <= int(word) <= most:
        return int(word)
    raise BoardError(f"{word!r} is no number from {least} to {most}")


def _read_turn(game: Any, words: list[str]) -> None:
    """Read the line ``turn 5 [of 1200] [training] [over TurnMax|AllCrashed]`` into `game`."""
    for word, value in _pairs(words, _TURN_WORDS, "turn 5 of 1200 training over TurnMax"):
        if word == "turn":
            game["turn"] = _number(value, 0, _MAX_INT)
        elif word == "of":
            game["max_turns"] = _number(value, -_MAX_INT - 1, _MAX_INT)
        elif word == "training":
            game["training"] = 1
        elif value in _STATUS_NAMES[1:]:
            game["status"] = _STATUS_NAMES.index(value)
        else:
            raise BoardError(f"{value!r} is no end of a game ({', '.join(_STATUS_NAMES[1:])})")


def _read_hero(game: Any, index: int, words: list[str]) -> int | None:
    """Read the line ``@1 life 20 gold 3 ...``, without its ``@1``, into `game`. Return the number of mines in the line."""
    mines = None
    hero, shown = game["hero"][index], int(game["hero"][index]["pos"]) != ABSENT[index]
    for word, value in _pairs(words, _HERO_WORDS, "@1 life 20 gold 3 spawn 0,4 last East crashed"):
        if word in ("at", "away") and shown:
            raise BoardError(f"hero {index + 1} is shown in the picture: leave out {word!r}")
        if word == "at":
            hero["pos"] = _place(value, int(game["size"]))
            if hero["spawn"] == ABSENT[index]:
                hero["spawn"] = hero["pos"]
        elif word == "on":
            if not shown or value not in TILE_CODES:
                raise BoardError(f"{value!r} is no tile that hero {index + 1} can be shown on")
            _stand_on(game, int(hero["pos"]), TILE_CODES[value])
        elif word == "spawn":
            hero["spawn"] = ABSENT[index] if value == "away" else _place(value, int(game["size"]))
        elif word == "last":
            if value not in DIRECTIONS:
                raise BoardError(f"{value!r} is no direction ({', '.join(DIRECTIONS)})")
            hero["last_dir"] = DIRECTIONS.index(value)
        elif word == "life":
            hero["life"] = _number(value, 1, MAX_LIFE)
        elif word == "gold":
            hero["gold"] = _number(value, 0, _MAX_INT)
        elif word == "crashed":
            hero["crashed"] = 1
        elif word == "mines":
            mines = _number(value, 0, CELLS)
    return mines


def _place(word: str, size: int) -> int:
    match = re.fullmatch("([0-9]+),([0-9]+)", word)
    if not match or not all(int(number) < size for number in match.groups()):
        raise BoardError(f"{word!r} is no row,column from 0,0 to {size - 1},{size - 1}")
    return square(int(match[1]), int(match[2]))


def _stand_on(game: Any, pos: int, tile: int) -> None:
    """Put a tile under the hero on square `pos` (only on unusual hand-made maps). The owner of a mine gets one mine more."""
    game["cell"][pos] = (int(game["cell"][pos]) & ~TILE_BITS) | tile
    if MINE < tile <= MINE + 4:
        game["hero"][tile - MINE - 1]["mines"] += 1
