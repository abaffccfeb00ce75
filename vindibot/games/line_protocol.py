"""The line protocol of Vindinium on CodinGame: both sides write and read its lines here (docs/other-languages.md).

Before its first ply, a player gets the board's size, the board, and the id of its hero, 0 to 3. In the board, ``.`` is empty,
``#`` a wall, ``T`` a tavern, ``M`` a mine, and ``0`` to ``3`` are the heroes' spawn squares. On each of its plies it gets the
number of entities and a line per entity: ``HERO id x y life gold`` or ``MINE owner x y -1 -1``. Here x is the COLUMN and y the
row. It answers with one line: ``WAIT``, ``NORTH``, ``EAST``, ``SOUTH``, ``WEST`` or ``MOVE x y``. Any text after it is a message.

If a message contains EXPERT_INPUT, each later state begins with a line ``id x y`` for every other hero. There x and y are the
square that the hero wanted to enter with its last move. The rules are those of the original game, not those on CodinGame.

The protocol does not state the turn, the last moves and the number of rounds. The turn follows from our hero's id, because our
plies are four turns apart. The last moves are the moves that lead by the rules from our previous state to the new state. Several
moves may have the same effect. The targets decide between such moves.
"""

from __future__ import annotations

import re
from collections.abc import Generator, Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from sim.board import board_of
from sim.game import (
    AIR,
    CELLS,
    DIRECTIONS,
    MAX_LIFE,
    MAX_SIZE,
    MINE,
    NO_DIRECTION,
    OFFSET,
    PLIES_PER_ROUND,
    STAY,
    TAVERN,
    TILE_BITS,
    WALL,
    Game,
    Games,
    copy_of,
    new_game,
    row_column,
    square,
)
from sim.maps import map_of
from sim.paths import FAR, distances_from, next_steps
from sim.rules import effective_moves
from vindibot.base.errors import UsageError
from vindibot.base.text import counted
from vindibot.games.position import moves_between

#: A message that asks the referee for the targets of the other heroes' last moves.
EXPERT = "EXPERT_INPUT"
#: The largest number that a line may contain.
LARGEST = 2**31 - 1
_TILES = {".": AIR, "#": WALL, "T": TAVERN, "M": MINE, "0": AIR, "1": AIR, "2": AIR, "3": AIR}
_SIGNS = {AIR: ".", WALL: "#", TAVERN: "T"}
_HEROES = range(4)
#: An answer of a player. Coordinates have at most six digits, which is enough for every square.
_ANSWER = re.compile(
    r"\s*(?P<word>wait|north|east|south|west|move\s+(?P<x>[+-]?\d{1,6})\s+(?P<y>[+-]?\d{1,6}))(?=[\s;,]|$)[\s;,]*(?P<message>.*)",
    re.IGNORECASE | re.DOTALL,
)
#: A number, with at most as many digits as `LARGEST`.
_NUMBER = re.compile(r"[+-]?\d{1,10}")

#: The data of a hero in a line: square, life, gold.
_Hero = tuple[int, int, int]
#: A generator that takes lines. It yields a state after the last line of each turn, and None after any other line.
_Reader = Generator[Game | None, str, None]


class LineGame:
    """A reader of one game in the line protocol. `rounds` is the assumed number of rounds. If the game lasts longer, this number
    grows with each further turn.

    `me` is our hero (0..3), or -1 until the line with the id of our hero is read.
    """

    def __init__(self, rounds: int) -> None:
        self.me = -1
        self._max_turns = PLIES_PER_ROUND * rounds
        self._number = 0  # of the last line, from 1
        self._move: int | None = None
        self._reader = self._read()
        next(self._reader)

    @property
    def begins(self) -> bool:
        """Whether the next line is the first line of a turn or of the game."""
        return self._begins

    def feed(self, line: str) -> Game | None:
        """Take the next line. Return the state of our turn if this line is the last line of the turn, else None.

        Raises `UsageError` for a line that does not follow the protocol.
        """
        self._number += 1
        self._begins = False
        return self._reader.send(line.strip())

    def moved(self, direction: int) -> None:
        """Store our move (0..4) in the state that `feed` returned last."""
        self._move = direction

    # -- lines --

    def _read(self) -> _Reader:
        self._begins = True
        size = self._integer((yield None), "the board's size", 1, MAX_SIZE)
        tiles, spawns = yield from self._read_board(size)
        self.me = self._integer((yield None), "the id of our hero", 0, 3)
        mines = [(row, column) for row, column in np.argwhere(tiles == MINE).tolist()]
        before, turn = new_game(tiles, spawns, spawns), self.me
        games: Game | None = None
        while True:
            self._begins = True
            line = yield games
            targets: dict[int, int] = {}
            while len(words := line.split()) == 3:
                hero = self._integer(words[0], "the id of a hero", 0, 3)
                targets[hero] = square(*self._place(words[1:], 10**6))
                line = yield None
            heroes, owners = yield from self._read_entities(line, tiles, len(mines))
            for mine in mines:
                tiles[mine] = MINE + 1 + owners[mine]
            places: list[tuple[int, int] | None] = [row_column(pos) for pos, _, _ in heroes]
            games = new_game(tiles, places, spawns, max_turns=max(self._max_turns, turn - self.me + PLIES_PER_ROUND))
            games["turn"] = turn
            for hero, (_, life, gold) in enumerate(heroes):
                games["hero"]["life"][0, hero], games["hero"]["gold"][0, hero] = life, gold
            games["hero"]["last_dir"] = last_moves(before, games, self._move, targets)
            before, turn, self._move = games, turn + PLIES_PER_ROUND, None

    def _read_board(self, size: int) -> Generator[None, str, tuple[NDArray[np.uint8], list[tuple[int, int] | None]]]:
        tiles = np.zeros((size, size), np.uint8)
        spawns: list[tuple[int, int] | None] = [None] * 4
        for row in range(size):
            line = yield None
            if len(line) != size:
                raise self._wrong(f"a row of the board must have {size} characters, not {len(line)}: {line[:40]!r}")
            for column, sign in enumerate(line):
                if sign not in _TILES:
                    raise self._wrong(f"the board has {sign!r} in column {column}; known are . # T M 0 1 2 3")
                tiles[row, column] = _TILES[sign]
                if sign.isdigit():
                    if spawns[int(sign)] is not None:
                        raise self._wrong(f"the board has a second spawn square {sign}")
                    spawns[int(sign)] = row, column
        if None in spawns:
            raise self._wrong(f"the board has no spawn square {spawns.index(None)}; a game needs four heroes, 0 to 3")
        return tiles, spawns

    def _read_entities(
        self, line: str, tiles: NDArray[np.uint8], mines: int
    ) -> Generator[None, str, tuple[list[_Hero], dict[tuple[int, int], int]]]:
        """Read the number of entities and the entities. Return the heroes, and the owner of each mine (-1 if it has none)."""
        count = self._integer(line, "the number of entities", 0, CELLS)
        if count != 4 + mines:
            raise self._wrong(f"there must be {4 + mines} entities, four heroes and {counted(mines, 'mine')}, not {count}")
        heroes: dict[int, _Hero] = {}
        owners: dict[tuple[int, int], int] = {}
        for _ in range(count):
            line = yield None
            kind, *words = line.split() or [""]
            if kind.upper() not in ("HERO", "MINE") or len(words) != 5:
                raise self._wrong(f"an entity is HERO id x y life gold, or MINE owner x y -1 -1, not {line[:40]!r}")
            row, column = place = self._place(words[1:3], len(tiles) - 1)
            if kind.upper() == "HERO":
                hero = self._integer(words[0], "the id of a hero", 0, 3)
                life, gold = self._integer(words[3], "life", 0, MAX_LIFE), self._integer(words[4], "gold", 0, LARGEST)
                if hero in heroes or tiles[place] != AIR:
                    raise self._wrong(
                        f"hero {hero} {'occurs twice' if hero in heroes else 'is not on an empty square'}: {line[:40]!r}"
                    )
                heroes[hero] = square(row, column), life, gold
            else:
                owner = self._integer(words[0], "the owner of a mine", -1, 3)
                if place in owners or tiles[place] < MINE:
                    raise self._wrong(f"the mine {'occurs twice' if place in owners else 'is not on the board'}: {line[:40]!r}")
                owners[place] = owner
        return [heroes[hero] for hero in _HEROES], owners

    def _place(self, words: Sequence[str], largest: int) -> tuple[int, int]:
        """Return the row and the column that two words of a line state as x and y. In the line protocol, x is the column."""
        lowest = 0 if largest < MAX_SIZE else -largest
        column, row = self._integer(words[0], "x", lowest, largest), self._integer(words[1], "y", lowest, largest)
        return row, column

    def _integer(self, text: str, what: str, lowest: int, largest: int) -> int:
        value = int(text) if _NUMBER.fullmatch(text) else None
        if value is None or not lowest <= value <= largest:
            raise self._wrong(f"{what} must be a whole number from {lowest} to {largest}, not {text[:40]!r}")
        return value

    def _wrong(self, words: str) -> UsageError:
        return UsageError(f"line {self._number}: {words}")


# ---- The last moves ----


def last_moves(before: Game, after: Game, own: int | None, targets: dict[int, int]) -> list[int]:
    """Return the last direction (0..4) of each hero in the state `after`, which is at most four plies after `before`.

    `own` is the move of the hero that moves first, None if unknown. `targets` holds, by hero, the square to which the hero's move
    pointed, even if the hero could not enter this square. If no moves lead from `before` to `after` by the rules, the directions
    are derived from `targets` and the heroes' squares.
    """
    directions: list[int] = before["hero"]["last_dir"][0].tolist()
    before = copy_of(before)
    before["max_turns"] = LARGEST  # the referee has sent another state, so the game has not ended
    begin, end = int(before["turn"].item(0)), int(after["turn"].item(0))
    movers = [turn % PLIES_PER_ROUND for turn in range(begin, end)]

    def candidates(games: Games, hero: int) -> Iterable[int]:
        if own is not None and int(games["turn"].item(0)) == begin:
            return (own,)
        mask = effective_moves(games, 0, hero)
        aimed = _aimed(before, hero, targets), _aimed(games, hero, targets)
        return dict.fromkeys([*(move for move in aimed if move is not None), *(move for move in range(5) if mask >> move & 1)])

    between = moves_between(before, after, candidates, same=_alike)
    if between is not None:
        moves = between[0]
    else:
        moves = [_apparent(before, after, hero, targets) for hero in movers]
        moves[:1] = [own] if own is not None and movers else moves[:1]
    for hero, move in zip(movers, moves, strict=True):
        directions[hero] = move
    return directions


def _alike(state: Games, other: Games) -> bool:
    """Return whether two states are equal in everything that the line protocol shows."""
    heroes = all((state["hero"][name] == other["hero"][name]).all() for name in ("pos", "life", "gold"))
    return heroes and bool((state["cell"] == other["cell"]).all())


def _aimed(games: Games, hero: int, targets: dict[int, int]) -> int | None:
    """Return the direction from a hero to its target. Return None if it has no target, or if the target is not beside it."""
    if hero not in targets:
        return None
    difference = targets[hero] - games["hero"]["pos"].item(hero)
    return next((direction for direction in range(len(DIRECTIONS)) if OFFSET[direction] == difference), None)


def _apparent(before: Game, after: Game, hero: int, targets: dict[int, int]) -> int:
    """Return the direction of a hero's target, else the direction in which the hero seems to have moved. It is Stay if the hero
    has not moved, or is far away."""
    moves = _aimed(before, hero, targets), _aimed(before, hero, {hero: after["hero"]["pos"].item(hero)})
    return next((move for move in moves if move is not None), STAY)


# ---- The referee's side ----


def write_opening(games: Games, me: int) -> str:
    """Return the text that a player gets once, before its first ply: the board's size, the board, and its hero's id."""
    board = board_of(games)
    rows = [[_SIGNS.get(int(cell) & TILE_BITS, "M") for cell in line] for line in board]
    for hero, spawn in enumerate(games["hero"]["spawn"][0].tolist()):
        row, column = row_column(spawn)
        rows[row][column] = str(hero)
    return "\n".join([str(len(board)), *map("".join, rows), str(me), ""])


def write_state(games: Games) -> str:
    """Return the text that a player gets on each of its plies: the heroes and the mines."""
    heroes, cells = games["hero"][0], games["cell"][0]
    lines = []
    for hero in _HEROES:
        row, column = row_column(heroes["pos"].item(hero))
        lines.append(f"HERO {hero} {column} {row} {heroes['life'].item(hero)} {heroes['gold'].item(hero)}")
    for mine in map_of(games).mines.tolist():
        row, column = row_column(mine)
        owner = (int(cells[mine]) & TILE_BITS) - MINE - 1
        lines.append(f"MINE {owner if owner in _HEROES else -1} {column} {row} -1 -1")
    return "\n".join([str(len(lines)), *lines, ""])


def write_targets(games: Games, me: int, positions: Sequence[int]) -> str:
    """Return a line for each hero but `me` (0..3), with the square that it wanted to enter with its last move.

    `positions` are the squares of the heroes before these moves. Before a hero's first move, its line has its own square.
    """
    heroes = games["hero"][0]
    lines = []
    for hero, before in enumerate(positions):
        last = heroes["last_dir"].item(hero)
        target = before + int(OFFSET[last]) if last != NO_DIRECTION else heroes["pos"].item(hero)
        row, column = row_column(target)
        if hero != me:
            lines.append(f"{hero} {column} {row}\n")
    return "".join(lines)


def write_answer(direction: int, message: str = "") -> str:
    """Return a player's answer: a line with a move (0..4) and a message."""
    word = "WAIT" if direction == STAY else DIRECTIONS[direction].upper()
    return f"{word} {message}".rstrip() + "\n"


def read_answer(line: str, games: Games, me: int) -> tuple[int, str]:
    """Return the direction (0..4) and the message in a player's answer. Raises `UsageError` if the line is no valid answer."""
    match = _ANSWER.match(line)
    if match is None:
        raise UsageError(f"answered {line.strip()[:80]!r}")
    word = match["word"].capitalize()
    if match["x"] is not None:
        return towards(games, me, int(match["y"]), int(match["x"])), match["message"]
    return (STAY if word == "Wait" else DIRECTIONS.index(word)), match["message"]


def towards(games: Games, me: int, row: int, column: int) -> int:
    """Return the first direction on a shortest path of hero `me` to a square. Return Stay if the hero is already on the square.

    If the hero cannot reach the square, the path leads to the reachable square that is nearest to it, in rows plus columns. Of
    several such squares, the one with the fewest steps for the hero counts. If shortest paths begin with different directions,
    the lowest direction is returned.
    """
    size, pos = int(games["size"].item(0)), games["hero"]["pos"].item(me)
    if 0 <= row < size and 0 <= column < size:
        if square(row, column) == pos:
            return STAY
        if step := _step_to(games, me, square(row, column)):
            return step
    steps = distances_from(games, 0, np.array([pos], np.int64))
    reachable = np.flatnonzero((steps < FAR) & (games["cell"][0] == AIR)).tolist()

    def distance(where: int) -> tuple[int, int]:
        there = row_column(where)
        return abs(there[0] - row) + abs(there[1] - column), int(steps[where])

    nearest = min([pos, *reachable], key=distance)
    return _step_to(games, me, nearest) if nearest != pos else STAY


def _step_to(games: Games, me: int, goal: int) -> int:
    """Return the first direction on a shortest path of hero `me` to a square, 0 if there is no path."""
    if int(games["cell"][0][goal]) & TILE_BITS == WALL:
        return 0
    mask = next_steps(games, 0, me, distances_from(games, 0, np.array([goal], np.int64)))
    return next((direction for direction in range(1, 5) if mask >> direction & 1), 0)
