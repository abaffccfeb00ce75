"""Programs that speak the line protocol of the CodinGame port over standard input and output.

The program is started for each game. Before its first ply it gets the board's size, the board (``.`` empty, ``#`` wall,
``T`` tavern, ``M`` mine, ``0`` to ``3`` the heroes' spawn squares) and its own hero's id, 0 to 3; on each of its plies the
number of entities and a line for each: ``HERO id x y life gold``, ``MINE owner x y -1 -1``. There x is the COLUMN and y the
row. It answers one line: ``WAIT``, ``NORTH``, ``EAST``, ``SOUTH``, ``WEST`` or ``MOVE x y``; what follows is a message. One
that says EXPERT_INPUT gets, from then on and before all else, a line ``id x y`` for each other hero: the square that its
last order was for. The rules are those of the original, not of the port.
"""

from __future__ import annotations

import contextlib
import os
import re
import select
import time
from pathlib import Path

import numpy as np

from sim.board import board_of
from sim.game import (
    AIR,
    DIRECTIONS,
    MINE,
    NO_DIRECTION,
    OFFSET,
    STAY,
    TAVERN,
    TILE_BITS,
    WALL,
    Game,
    row_column,
    square,
)
from sim.maps import map_of
from sim.paths import FAR, distances_from, next_steps
from vindibot.arena.entrants import Entrant
from vindibot.arena.programs import Program
from vindibot.arena.seats import Forfeit
from vindibot.games import Reason

#: An answer, or all that comes between two questions, may have so many bytes.
FLOOD_BYTES = 64 * 1024
#: Coordinates are read up to this many digits; nobody means a square that far away.
_ANSWER = re.compile(
    r"\s*(?P<word>wait|north|east|south|west|move\s+(?P<x>[+-]?\d{1,6})\s+(?P<y>[+-]?\d{1,6}))(?=[\s;,]|$)[\s;,]*(?P<message>.*)",
    re.IGNORECASE | re.DOTALL,
)
_SIGNS = {AIR: ".", WALL: "#", TAVERN: "T"}
EXPERT = "EXPERT_INPUT"


class StdioSeat:
    """The seat of such a program."""

    def __init__(self, entrant: Entrant, log: Path | None = None) -> None:
        self._limits = entrant.limits
        self._program = Program(entrant, log)
        self._me = 0
        self._opening = ""
        self._expert = False
        self._answered = 0
        self._buffer = b""
        self._before: Game | None = None  # the state of our last ply: where the others stood when they moved
        self._spawns: list[int] = []

    def start(self, games: Game, me: int) -> None:
        """Start the program. Raises `Forfeit`."""
        self._me = me
        self._opening = opening(games, me)
        self._spawns = games["hero"]["pos"][0].tolist()
        self._program.start()
        process = self._program.process
        assert process is not None
        assert process.stdin is not None
        assert process.stdout is not None
        self._into, self._from = process.stdin.fileno(), process.stdout.fileno()
        os.set_blocking(self._into, False)
        os.set_blocking(self._from, False)

    def move(self, games: Game) -> int:
        """Ask for an order. Raises `Forfeit` for an answer that is late or cannot be read, for a program that has ended."""
        first = self._answered == 0
        allowed = self._limits.seconds(first=first) + self._limits.grace_ms / 1000
        if first:
            allowed += self._limits.start_s
        question = (self._targets(games) if self._expert else "") + entities(games)
        deadline = time.monotonic() + allowed
        self._forget()
        self._write((self._opening + question).encode(), deadline)
        line = self._read_line(deadline)
        self._opening = ""
        direction, message = read_answer(line, games, self._me)
        self._answered += 1
        self._expert = self._expert or EXPERT in message
        self._before = games.copy()
        return direction

    def close(self) -> None:
        """End the program."""
        self._program.kill()

    # -- bytes --

    def _late(self) -> Forfeit:
        if self._answered:
            return Forfeit(Reason.TIMEOUT, f"no answer in {self._limits.move_ms} ms")
        return Forfeit(Reason.STALL, f"no first answer in {self._limits.start_s:g} s")

    def _forget(self) -> None:
        """Throw away what was said without being asked."""
        self._buffer = b""
        dropped = 0
        with contextlib.suppress(BlockingIOError):
            while data := os.read(self._from, 65536):
                dropped += len(data)
                if dropped > FLOOD_BYTES:
                    raise Forfeit(Reason.FLOOD, f"more than {FLOOD_BYTES} bytes between two plies")

    def _write(self, data: bytes, deadline: float) -> None:
        poll = select.poll()
        poll.register(self._into, select.POLLOUT)
        while data:
            try:
                data = data[os.write(self._into, data) :]
            except BlockingIOError:
                left = deadline - time.monotonic()
                if left <= 0 or not poll.poll(left * 1000):
                    raise self._late() from None
            except OSError:  # nobody is there to read it
                raise self._program.why_it_ended() from None

    def _read_line(self, deadline: float) -> str:
        poll = select.poll()
        poll.register(self._from, select.POLLIN)
        while b"\n" not in self._buffer:
            if len(self._buffer) > FLOOD_BYTES:
                raise Forfeit(Reason.FLOOD, f"a line of more than {FLOOD_BYTES} bytes")
            left = deadline - time.monotonic()
            if left <= 0 or not poll.poll(left * 1000):
                raise self._late()
            try:
                data = os.read(self._from, 65536)
            except BlockingIOError:
                continue
            if not data:
                raise self._program.why_it_ended()
            self._buffer += data
        line, _, self._buffer = self._buffer.partition(b"\n")
        return line.decode(errors="replace")

    # -- what the others were after --

    def _targets(self, games: Game) -> str:
        """For each other hero the square that its last order was for; before its first one, where it stands."""
        now = games["hero"][0]
        before = self._before["hero"]["pos"][0].tolist() if self._before is not None else self._spawns
        lines = []
        for hero in range(4):
            if hero == self._me:
                continue
            last, stood = now["last_dir"].item(hero), before[hero]
            target = stood + int(OFFSET[last]) if last != NO_DIRECTION else now["pos"].item(hero)
            row, column = row_column(target)
            lines.append(f"{hero} {column} {row}\n")
        return "".join(lines)


def opening(games: Game, me: int) -> str:
    """What the program gets once: size, board, its own id."""
    board = board_of(games)
    size = len(board)
    spawns = {row_column(spawn): hero for hero, spawn in enumerate(games["hero"]["spawn"][0].tolist())}
    rows = []
    for row in range(size):
        signs = [_SIGNS.get(int(cell) & TILE_BITS, "M") for cell in board[row]]
        for column in range(size):
            if (row, column) in spawns:
                signs[column] = str(spawns[row, column])
        rows.append("".join(signs))
    return "\n".join([str(size), *rows, str(me), ""])


def entities(games: Game) -> str:
    """What it gets every time: heroes and mines."""
    heroes, cells = games["hero"][0], games["cell"][0]
    lines = []
    for hero in range(4):
        row, column = row_column(heroes["pos"].item(hero))
        lines.append(f"HERO {hero} {column} {row} {heroes['life'].item(hero)} {heroes['gold'].item(hero)}")
    for mine in map_of(games).mines.tolist():
        row, column = row_column(mine)
        owner = (int(cells[mine]) & TILE_BITS) - MINE - 1
        lines.append(f"MINE {owner if 0 <= owner <= 3 else -1} {column} {row} -1 -1")
    return "\n".join([str(len(lines)), *lines, ""])


def read_answer(line: str, games: Game, me: int) -> tuple[int, str]:
    """The direction of an answer, and its message. Raises `Forfeit`."""
    match = _ANSWER.match(line)
    if match is None:
        raise Forfeit(Reason.ILLEGAL, f"answered {line.strip()[:80]!r}")
    word = match["word"].capitalize()
    if match["x"] is not None:
        return towards(games, me, int(match["y"]), int(match["x"])), match["message"]
    return (STAY if word == "Wait" else DIRECTIONS.index(word)), match["message"]


def towards(games: Game, me: int, row: int, column: int) -> int:
    """The first step of a shortest way of hero `me` to a square, or to the square nearest to it (by rows and columns, then
    by steps) that can be reached; Stay when there already. Among equals the first direction counts."""
    size, pos = int(games["size"].item(0)), games["hero"]["pos"].item(me)
    if 0 <= row < size and 0 <= column < size:
        if square(row, column) == pos:
            return STAY
        if step := _step_to(games, me, square(row, column)):
            return step
    steps = distances_from(games, 0, np.array([pos], np.int64))
    best, found = (abs(row_column(pos)[0] - row) + abs(row_column(pos)[1] - column), 0), pos
    cells = games["cell"][0]
    for place in np.flatnonzero(steps < FAR).tolist():
        if place == pos or int(cells[place]) != AIR:
            continue
        there = row_column(place)
        far = (abs(there[0] - row) + abs(there[1] - column), int(steps[place]))
        if far < best:
            best, found = far, place
    return _step_to(games, me, found) if found != pos else STAY


def _step_to(games: Game, me: int, goal: int) -> int:
    """The first direction of a shortest way to a square, 0 if there is none."""
    if int(games["cell"][0][goal]) & TILE_BITS == WALL:
        return 0
    mask = next_steps(games, 0, me, distances_from(games, 0, np.array([goal], np.int64)))
    return next((direction for direction in range(1, 5) if mask >> direction & 1), 0)
