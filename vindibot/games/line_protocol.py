"""The player's side of the line protocol: it reads the states of one game from lines of text.

The protocol (see docs/arena.md) does not state the turn, the last moves and the number of rounds. The turn follows from our
hero's id, because our plies are four turns apart. The last moves are the moves that lead by the rules from our previous state to
the new state. Several moves may have the same effect. After the message EXPERT_INPUT, a referee sends further lines with the
targets of the moves, and these lines decide between such moves.
"""

from __future__ import annotations

import re
from collections.abc import Generator, Sequence

import numpy as np
from numpy.typing import NDArray

from sim.game import (
    AIR,
    CELLS,
    DIRECTIONS,
    MAX_LIFE,
    MAX_SIZE,
    MINE,
    OFFSET,
    PLIES_PER_ROUND,
    STAY,
    TAVERN,
    WALL,
    Game,
    copy_of,
    new_game,
    row_column,
    square,
)
from sim.rules import effective_moves, step
from vindibot.base.errors import UsageError
from vindibot.base.output.text import counted

#: A message that asks the referee for the targets of the other heroes' last moves.
EXPERT = "EXPERT_INPUT"
#: The largest number that a line may contain.
LARGEST = 2**31 - 1
_TILES = {".": AIR, "#": WALL, "T": TAVERN, "M": MINE, "0": AIR, "1": AIR, "2": AIR, "3": AIR}
_HEROES = range(4)
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
    found: list[int] = before["hero"]["last_dir"][0].tolist()
    before = copy_of(before)
    before["max_turns"] = LARGEST  # the referee has sent another state, so the game has not ended
    count = int(after["turn"].item(0)) - int(before["turn"].item(0))
    movers = [(int(before["turn"].item(0)) + number) % 4 for number in range(count)]
    guess = {hero: _aimed(before, hero, targets) for hero in movers}
    if movers and own is not None:
        guess[movers[0]] = own
    moves = _moves_to(before, after, guess, targets, own)
    if moves is None:
        guessed = [(hero, guess[hero]) for hero in movers]
        moves = [_apparent(before, after, hero) if move is None else move for hero, move in guessed]
    for hero, move in zip(movers, moves, strict=True):
        found[hero] = move
    return found


def _moves_to(
    games: Game, after: Game, guess: dict[int, int | None], targets: dict[int, int], own: int | None
) -> list[int] | None:
    """Return moves that lead from state `games` to state `after`, or None if there are none. Try the moves in `guess` first."""
    turn = int(games["turn"].item(0))
    if turn == int(after["turn"].item(0)):
        return [] if _alike(games, after) else None
    hero = turn % 4
    mask = effective_moves(games, 0, hero)
    moves = [guess[hero], _aimed(games, hero, targets), *(move for move in range(5) if mask >> move & 1)]
    if own is not None:
        moves = [own]
    for move in dict.fromkeys(moves):
        if move is not None:
            later = copy_of(games)
            if step(later, 0, move) and (rest := _moves_to(later, after, guess, targets, None)) is not None:
                return [move, *rest]
    return None


def _alike(one: Game, other: Game) -> bool:
    """Return whether two states are equal in everything that the line protocol shows."""
    heroes = all((one["hero"][name] == other["hero"][name]).all() for name in ("pos", "life", "gold"))
    return heroes and bool((one["cell"] == other["cell"]).all())


def _aimed(games: Game, hero: int, targets: dict[int, int]) -> int | None:
    """Return the direction from a hero to its target. Return None if it has no target, or if the target is not beside it."""
    if hero not in targets:
        return None
    difference = targets[hero] - games["hero"]["pos"].item(hero)
    return next((direction for direction in range(len(DIRECTIONS)) if OFFSET[direction] == difference), None)


def _apparent(before: Game, after: Game, hero: int) -> int:
    """Return the direction in which a hero seems to have moved. It is Stay if the hero has not moved, or is far away."""
    target = {hero: after["hero"]["pos"].item(hero)}
    move = _aimed(before, hero, target)
    return STAY if move is None else move
