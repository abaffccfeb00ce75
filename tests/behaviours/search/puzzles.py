"""The puzzles in ``data/puzzles.txt`` for a search, and proofs of their solutions by brute force."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

from sim.board import parse
from sim.game import ABSENT, DIRECTIONS, Games, mover
from tests.support.minimax import Line, moves_of
from tests.support.worlds import DATA

_T = TypeVar("_T")
_KILL = re.compile(r"kill @([1-4]) in (\d+)")
_SURVIVE = re.compile(r"survive (\d+)")


@dataclass(frozen=True)
class Puzzle:
    """A position, the directions that solve it, their proof, and the number of nodes within which a search must find them."""

    name: str
    board: str
    best: frozenset[int]
    proof: str
    nodes: int

    @property
    def games(self) -> Games:
        return parse(self.board)

    def __str__(self) -> str:
        return self.name.replace(" ", "-")


def read_puzzles() -> list[Puzzle]:
    """Return all puzzles of the file; its head describes the format."""
    _, *parts = re.split(r"^== ", (DATA / "puzzles.txt").read_text(), flags=re.MULTILINE)
    return [_read(part) for part in parts]


def _read(part: str) -> Puzzle:
    name, *lines = part.strip().split("\n")
    board = [line for line in lines if re.match(r"\||turn \d|@\d [a-z]", line)]
    facts = dict(line.split(": ", 1) for line in lines if re.match(r"(best|proof|nodes): ", line))
    best = frozenset(DIRECTIONS.index(word) for word in facts["best"].split())
    return Puzzle(name, "\n".join(board), best, facts["proof"], int(facts["nodes"]))


def proven(puzzle: Puzzle) -> frozenset[int]:
    """Return the directions for which the puzzle's proof holds."""
    result = frozenset(range(5))
    for part in puzzle.proof.split(" and "):
        result &= _Prover(puzzle.games).directions(part)
    return result


class _Prover:
    """Brute force from the position of a puzzle."""

    def __init__(self, games: Games) -> None:
        self.line, self.me = Line(games), mover(games)
        self._golds: dict[bytes, int] = {}
        self._others = [hero for hero in range(4) if hero != self.me and games[0]["hero"][hero]["pos"] != ABSENT[hero]]

    def directions(self, claim: str) -> frozenset[int]:
        if kill := _KILL.fullmatch(claim):
            victim, plies = int(kill[1]) - 1, int(kill[2])
            return self._after(lambda died: bool(died >> victim & 1) or self._kills(victim, plies - 1))
        if survive := _SURVIVE.fullmatch(claim):
            plies = int(survive[1])
            return self._after(lambda died: not died >> self.me & 1 and self._lives(plies - 1))
        assert claim == "gold", claim
        values = {move: self._try(move, lambda _: self._gold()) for move in moves_of(self.line.games, self.me)}
        return frozenset(move for move, value in values.items() if value == max(values.values()))

    def _after(self, holds: Callable[[int], bool]) -> frozenset[int]:
        return frozenset(move for move in moves_of(self.line.games, self.me) if self._try(move, holds))

    def _try(self, move: int, then: Callable[[int], _T]) -> _T:
        died = self.line.play(move)
        result = then(died)
        self.line.take_back()
        return result

    def _kills(self, victim: int, left: int) -> bool:
        """Return whether we can kill `victim` within `left` plies."""
        if left == 0 or not self.line.running:
            return False
        return self._any_or_all(lambda died: bool(died >> victim & 1) or self._kills(victim, left - 1))

    def _lives(self, left: int) -> bool:
        """Return whether we can avoid death for `left` plies."""
        if left == 0 or not self.line.running:
            return True
        return self._any_or_all(lambda died: not died >> self.me & 1 and self._lives(left - 1))

    def _any_or_all(self, holds: Callable[[int], bool]) -> bool:
        """Return whether `holds` is true after one of our moves, or after every move of another hero."""
        moves = (self._try(move, holds) for move in moves_of(self.line.games, self.line.hero))
        return any(moves) if self.line.hero == self.me else all(moves)

    def _gold(self) -> int:
        """Return the largest lead in gold over the best rival at the end that we can force against all others."""
        if not self.line.running:
            gold = self.line.games["hero"]["gold"][0].tolist()
            return int(gold[self.me] - max((gold[other] for other in self._others), default=0))
        key = self.line.games.tobytes()
        if key not in self._golds:
            hero = self.line.hero
            values = [self._try(move, lambda _: self._gold()) for move in moves_of(self.line.games, hero)]
            self._golds[key] = max(values) if hero == self.me else min(values)
        return self._golds[key]
