"""Cases: the short games in which a program is checked, and what happened in them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np

from sim.board import board_of
from sim.game import HERO_SHIFT, LAST_MINE, MINE, SEATS, TILE_BITS, Game
from sim.generator import generate
from sim.rules import step
from vindibot.games.outcome import Outcome

#: The names of the rivals, unless a case has others.
NAMES = ("first", "second", "third", "fourth")
#: Seed of all maps and of all moves of the rivals.
SEED = 20
#: Number of lines that are shown of what a program read and wrote, and largest number of characters of a line.
SHOWN_LINES, SHOWN_LENGTH = 6, 100


@dataclass(frozen=True, eq=False)
class Case:
    """A short game in which a program is checked.

    - `what`: the game in words, for example "a map of 8 x 8, as hero 1".
    - `first`: the first state. It also sets the length of the game.
    - `me`: the hero of the program, 0..3. The other heroes move at random.
    - `names`: the names of heroes 1..4. The program has its own name.
    - `late_s`: seconds by which the rivals join late. They also take this time for one of their moves.
    """

    what: str
    first: Game = field(repr=False)
    me: int = 0
    names: tuple[str, ...] = NAMES
    late_s: float = 0.0

    def turn_of(self, number: int) -> int:
        """Return the turn of the protocol of the program's move `number`, counted from 0."""
        start = int(self.first["turn"].item(0))
        return start + (self.me - start) % SEATS + SEATS * number

    def rival_moves(self, hero: int) -> Iterator[int]:
        """Yield random moves (0..4) of a rival forever."""
        rng = np.random.default_rng([SEED, hero])
        while True:
            yield from rng.integers(0, 5, 64).tolist()


@dataclass
class CaseRun:
    """What happened in a case.

    - `outcome`: the end of the program's part in the game.
    - `times`: the milliseconds of each of its moves.
    - `lines`: what the program read and wrote last, oldest first. A line begins with "<" if the program read it, with ">" if the
      program wrote it.
    - `output`: the last lines of its standard error (and of its standard output, if it speaks HTTP).
    - `surplus`: the first output that belongs to no turn, empty if there is none.
    - `unknown`: the first move that the server did not understand, and took for Stay. Empty if there is none.
    - `refused`: the first request that the server refused, empty if there is none.
    - `ended`: the exit code after the end of the game, None if the program did not end.
    """

    outcome: Outcome = field(default_factory=Outcome)
    times: list[float] = field(default_factory=list)
    lines: list[str] = field(default_factory=list)
    output: list[str] = field(default_factory=list)
    surplus: str = ""
    unknown: str = ""
    refused: str = ""
    ended: int | None = None


def cut(text: str) -> str:
    """Return a text with at most `SHOWN_LENGTH` characters."""
    return text if len(text) <= SHOWN_LENGTH else f"{text[: SHOWN_LENGTH - 3]}..."


def new_game(size: int, rounds: int) -> Game:
    """Return a new game of this number of rounds on a generated map. `size` is 8..28, even."""
    return generate(SEED, size).new_game(SEATS * rounds)


def middle_game(rounds: int, me: int) -> Game:
    """Return a game after 150 rounds of random moves, in which hero `me` is to move next. It lasts `rounds` more rounds."""
    games = new_game(12, 1000)
    for move in np.random.default_rng(SEED).integers(0, 5, 600 + me).tolist():
        step(games, 0, move)
    games["max_turns"] = int(games["turn"].item(0)) + SEATS * rounds
    return games


def owning(games: Game, owner: int | None) -> Game:
    """Return a copy of a game in which one hero (0..3) owns all mines, or nobody owns a mine."""
    games = games.copy()
    board = board_of(games)
    tiles = board & TILE_BITS
    mines = (tiles >= MINE) & (tiles <= LAST_MINE)
    board[mines] = (board[mines] >> HERO_SHIFT << HERO_SHIFT) | (MINE if owner is None else MINE + 1 + owner)
    games["hero"]["mines"] = 0
    if owner is not None:
        games["hero"]["mines"][0, owner] = int(mines.sum())
    return games
