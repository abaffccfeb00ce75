"""A referee of the line protocol, written from the protocol's text alone. It shares no code with the arena.

It plays one game: a command has one seat, and the other heroes move at random. x is the column and y the row. After a message
with EXPERT_INPUT, each turn begins with the square that the last move of each other hero aimed at.
"""

from __future__ import annotations

import os
import select
import subprocess
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from sim.game import OFFSET, RUNNING, STRIDE, Game, copy_of
from sim.maps import Map
from sim.rules import step
from tests.support.commands import environment

WORDS = {"WAIT": 0, "NORTH": 1, "SOUTH": 2, "EAST": 3, "WEST": 4}
SIGNS = {0: ".", 1: "#", 2: "T"}


class Dismissed(Exception):  # noqa: N818
    """The program answered late, gave an answer that is no move, or ended."""


@dataclass
class LineReferee:
    """Plays a game on a map. `states` are the states in which the program was asked, `answers` its lines."""

    where: Map
    seat: int
    rounds: int
    first_seconds: float = 60.0
    seconds: float = 20.0
    seed: int = 1
    states: list[Game] = field(default_factory=list)
    moves: list[int] = field(default_factory=list)
    answers: list[str] = field(default_factory=list)
    errors: str = ""
    exit_code: int | None = None

    def play(self, command: Sequence[str], folder: Path, turns: int | None = None, **more: str) -> None:
        """Play the game, or only this number of turns of the program, then close its input and wait for its end."""
        with (folder / "errors").open("w+b") as errors:
            self._process = subprocess.Popen(
                command,
                cwd=folder,
                env=environment(**more),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=errors,
                bufsize=0,
            )
            try:
                self._play(turns)
                assert self._process.stdin is not None
                assert self._process.stdout is not None
                self._process.stdin.close()
                rest = self._process.stdout.read()
                self.exit_code = self._process.wait(60)
                assert rest == b"", f"not only moves: {rest!r}"
            finally:
                self._process.kill()
                for pipe in (self._process.stdin, self._process.stdout):
                    assert pipe is not None
                    pipe.close()
                self._process.wait()
                errors.seek(0)
                self.errors = errors.read().decode()

    def _play(self, turns: int | None) -> None:
        games = self.where.new_game(4 * self.rounds)
        rng = np.random.default_rng(self.seed)
        targets: dict[int, int] = {}
        expert = False
        while games["status"].item(0) == RUNNING and (turns is None or len(self.answers) < turns):
            mover = games["turn"].item(0) % 4
            if mover == self.seat:
                lines = [] if self.states else self._opening(games)
                others = [hero for hero in range(4) if hero != self.seat]
                lines += [f"{hero} {_xy(targets[hero])}" for hero in others] if expert else []
                answer = self._ask([*lines, *_entities(games)])
                word, _, message = answer.partition(" ")
                if word.upper() not in WORDS:
                    raise Dismissed(f"no move: {answer!r}")
                move = WORDS[word.upper()]
                expert |= "EXPERT_INPUT" in message
                self.states.append(copy_of(games))
                self.moves.append(move)
                self.answers.append(answer)
            else:
                move = int(rng.integers(0, 5))
            targets[mover] = games["hero"]["pos"].item(mover) + int(OFFSET[move])
            step(games, 0, move)

    def _opening(self, games: Game) -> list[str]:
        size = games["size"].item(0)
        rows = [
            [SIGNS.get(games["cell"].item((row + 1) * STRIDE + 1 + column) & 15, "M") for column in range(size)]
            for row in range(size)
        ]
        for hero, spawn in enumerate(self.where.spawns):
            assert spawn is not None
            rows[spawn[0]][spawn[1]] = str(hero)
        return [str(size), *map("".join, rows), str(self.seat)]

    def _ask(self, lines: list[str]) -> str:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        deadline = time.monotonic() + (self.seconds if self.answers else self.first_seconds)
        self._process.stdin.write("".join(f"{line}\n" for line in lines).encode())
        answer = b""
        while not answer.endswith(b"\n"):
            if not select.select([self._process.stdout], [], [], max(0.0, deadline - time.monotonic()))[0]:
                raise Dismissed("late")
            data = os.read(self._process.stdout.fileno(), 1 << 16)
            if not data:
                raise Dismissed("it has ended")
            answer += data
        if answer.count(b"\n") != 1:
            raise Dismissed(f"more than a line: {answer!r}")
        return answer.decode().rstrip("\n")


def _xy(square: int) -> str:
    return f"{square % STRIDE - 1} {square // STRIDE - 1}"


def _entities(games: Game) -> list[str]:
    heroes, cells = games["hero"][0], games["cell"][0]
    lines = [f"HERO {hero} {_xy(one['pos'].item())} {one['life'].item()} {one['gold'].item()}" for hero, one in enumerate(heroes)]
    for square in np.flatnonzero((cells & 15) >= 3).tolist():
        owner = (int(cells[square]) & 15) - 4
        lines.append(f"MINE {owner} {_xy(square)} -1 -1")
    return [str(len(lines)), *lines]
