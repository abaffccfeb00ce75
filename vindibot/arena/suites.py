"""Suites of positions: a tournament may begin its games in positions instead of at the start of a map.

A suite is a file of JSON lines, one position per line. `vindibot positions make` writes suites, and two come with vindibot.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from sim.board import BoardError, draw
from sim.game import ABSENT, RUNNING, SEATS
from vindibot.base.errors import UsageError
from vindibot.base.writing import Output, given_path
from vindibot.config.files import shipped, shipped_folder, short
from vindibot.config.signature import digest_of
from vindibot.games.files.lines import fault, read_lines
from vindibot.games.position import Moves, Position, write_moves

#: The version of the format of lines.
VERSION: Literal[2] = 2
#: The beginning of each line, by which a file of positions is known.
MARK = '{"positions":2,'
#: The folder of the suites that come with vindibot, and the end of their names.
_FOLDER, _SUFFIX = "positions", ".jsonl"


class SuitePosition(BaseModel):
    """A position of a suite, at the start of a round.

    - `id`: unique in the suite. `start`, `moves`: the position and its history (`vindibot.games.position`).
    - `size`: rows of the board. `phase`: the third of the earlier game.
    - `gold`: the expected gold of heroes 1..4 at the end of the new game, as far as it is more than their gold now.
    - `source`: the earlier game and its turn.
    """

    model_config = ConfigDict(frozen=True, extra="ignore", allow_inf_nan=False)

    positions: Literal[2] = VERSION
    id: str = Field(min_length=1, max_length=100)
    size: int
    phase: str = ""
    gold: tuple[float, float, float, float]
    source: str = ""
    start: Annotated[str, Field(max_length=10_000)]
    moves: Moves = ()

    @property
    def position(self) -> Position:
        """The position with its history. It has the length of the earlier game."""
        return Position(self.start, self.moves)

    def opening(self, rounds: int) -> Position:
        """Return the opening of a game that goes on for `rounds` rounds from this position."""
        games = self.position.first()
        games["max_turns"] = int(self.position.last()["turn"].item(0)) + SEATS * rounds
        return Position(draw(games), self.moves)

    def problem(self) -> str:
        """Return what is wrong with the position, empty if games can begin in it."""
        try:
            game = self.position.last()[0]
        except BoardError as problem:
            return f"start: {problem}"
        if any(game["hero"]["pos"][hero] == ABSENT[hero] for hero in range(SEATS)):
            return "a hero is missing"
        if game["hero"]["crashed"].any() or game["status"] != RUNNING:
            return "a hero has crashed, or the game is over"
        if game["turn"] % SEATS:
            return f"a position is at the start of a round, and turn {game['turn']} is not"
        return ""


@dataclass(frozen=True)
class Suite:
    """A suite: its positions."""

    positions: tuple[SuitePosition, ...]

    def of_block(self, block: int) -> SuitePosition:
        """Return the position of a block. Blocks are numbered from 0."""
        return self.positions[block % len(self.positions)]

    @cached_property
    def digest(self) -> str:
        """A digest of the positions."""
        return digest_of([[position.start, write_moves(position.moves)] for position in self.positions])


def find_suite(name: str) -> Path:
    """Return the path of the suite that `name` means: a file, or a suite that comes with vindibot. Raises `UsageError`."""
    path = given_path(name)
    if path.is_file():
        return path
    file = shipped(f"{_FOLDER}/{name}{_SUFFIX}")
    if "/" not in name and file.is_file():
        return file
    known = ", ".join(sorted(suite.stem for suite in (shipped_folder() / _FOLDER).glob(f"*{_SUFFIX}")))
    raise UsageError(f"there is no suite of positions {name!r:.60}: name a file, or a suite that comes with vindibot: {known}")


def read_suite(name: str) -> Suite:
    """Return the suite that `name` means. Raises `UsageError` if there is none, or if a position in it is faulty."""
    path, positions = find_suite(name), dict[str, SuitePosition]()
    for number, line in read_lines(path, UsageError):
        where = f"{short(path)}, line {number}"
        try:
            position = SuitePosition.model_validate_json(line)
        except ValidationError as problem:
            raise UsageError(f"{where}: this is no position of a suite: {fault(problem, VERSION)}") from None
        if fault_of_board := position.problem():
            raise UsageError(f"{where}: {fault_of_board}")
        if position.id in positions:
            raise UsageError(f"{where}: the position {position.id:.60} is there twice")
        positions[position.id] = position
    if not positions:
        raise UsageError(f"{short(path)}: there is no position in it")
    return Suite(tuple(positions.values()))


def suite_output(path: Path) -> Output:
    """Return an `Output` that writes a suite. It replaces an existing file only if this file is a suite."""
    return Output(path, MARK, "vindibot positions", "name another file")


def write_suite(path: Path, positions: Iterable[SuitePosition]) -> None:
    """Write a suite. Raises `UsageError` if the file exists and is no suite."""
    suite_output(path).write("".join(f"{position.model_dump_json()}\n" for position in positions))
