"""Programs that speak the line protocol of Vindinium on CodinGame over standard input and output.

The arena starts the program for each game. Before its first ply the program gets the board's size, the board, and the id of its
hero, 0 to 3. In the board, ``.`` is empty, ``#`` a wall, ``T`` a tavern, ``M`` a mine, and ``0`` to ``3`` are the heroes' spawn
squares. On each of its plies it gets the number of entities and a line per entity: ``HERO id x y life gold`` or
``MINE owner x y -1 -1``. Here x is the COLUMN and y the row. The program answers with one line: ``WAIT``, ``NORTH``, ``EAST``,
``SOUTH``, ``WEST`` or ``MOVE x y``. Any text after it is a message. The game record keeps the messages and the lines of the
program's standard error.

If a message contains EXPERT_INPUT, each later state begins with a line ``id x y`` for every other hero. There x and y are the
square that the hero wanted to enter with its last move. The rules are those of the original game, not those on CodinGame.
"""

from __future__ import annotations

import contextlib
import os
import re
import select
import time
from pathlib import Path

import numpy as np

from behaviours.notes import Notes
from sim.board import board_of
from sim.game import (
    AIR,
    DIRECTIONS,
    MINE,
    NO_DIRECTION,
    OFFSET,
    PLIES_PER_ROUND,
    STAY,
    TAVERN,
    TILE_BITS,
    WALL,
    Games,
    row_column,
    square,
)
from sim.maps import map_of
from sim.paths import FAR, distances_from, next_steps
from vindibot.arena.seats.entrants import Entrant
from vindibot.arena.seats.programs import Program
from vindibot.arena.seats.seat import Forfeit, Said, Seat
from vindibot.base.output.redaction import Redactor
from vindibot.games.line_protocol import EXPERT
from vindibot.games.notes import MESSAGE, STANDARD_ERROR
from vindibot.games.outcome import Reason

#: Largest number of bytes in an answer, and of all output of a program between two of its plies.
FLOOD_BYTES = 64 * 1024
#: An answer of a program. Coordinates have at most six digits, which is enough for every square.
_ANSWER = re.compile(
    r"\s*(?P<word>wait|north|east|south|west|move\s+(?P<x>[+-]?\d{1,6})\s+(?P<y>[+-]?\d{1,6}))(?=[\s;,]|$)[\s;,]*(?P<message>.*)",
    re.IGNORECASE | re.DOTALL,
)
_SIGNS = {AIR: ".", WALL: "#", TAVERN: "T"}


class StdioSeat(Seat):
    """The seat of a program that speaks the line protocol. `log` is the file for the program's standard error, None for none."""

    def __init__(self, entrant: Entrant, log: Path | None = None) -> None:
        self._limits = entrant.limits
        self._program = Program(entrant, log)
        self._me = 0
        self._turn = 0  # of our last move; before it, the first turn of the game
        self._said: list[Said] = []
        self._opening = ""
        self._expert = False
        self._answered = False
        self._buffer = b""
        self.discarded = b""  # the output that belonged to no turn, before our last move
        self._positions: list[int] = []  # the heroes' squares before our last move; at the start their spawn squares

    def start(self, games: Games, me: int) -> None:
        """Start the program. Raises `Forfeit` if it cannot be started.

        The numbers of this game replace ``{rounds}``, ``{move_ms}`` and ``{first_ms}`` in its command.
        """
        self._me, self._turn = me, int(games["turn"].item(0))
        self._opening = opening(games, me)
        self._positions = games["hero"]["pos"][0].tolist()
        rounds = int(games["max_turns"].item(0)) // PLIES_PER_ROUND
        told = {"rounds": rounds, "move_ms": self._limits.move_ms, "first_ms": self._limits.first_ms}
        self._program.start({name: str(value) for name, value in told.items()})
        process = self._program.process
        assert process is not None
        assert process.stdin is not None
        assert process.stdout is not None
        self._input, self._output = process.stdin.fileno(), process.stdout.fileno()
        os.set_blocking(self._input, False)
        os.set_blocking(self._output, False)

    def move(self, games: Games) -> int:
        """Return the program's move. Raises `Forfeit` if the answer is late or illegal, or if the program has ended."""
        if self._answered:
            self._hear()
        self._turn = int(games["turn"].item(0))
        allowed = self._limits.seconds(first=not self._answered) + self._limits.grace_ms / 1000
        allowed += 0.0 if self._answered else self._limits.start_s
        state = self._opening + (self._targets(games) if self._expert else "") + entities(games)
        deadline = min(time.monotonic() + allowed, self.deadline)
        self._discard_output()
        self._write(state.encode(), deadline)
        direction, message = read_answer(self._read_line(deadline), games, self._me)
        self._opening, self._answered = "", True
        self._expert = self._expert or EXPERT in message
        if said := message.replace(EXPERT, "").strip():
            notes = Notes()
            notes.add(Redactor()(said))
            self._said.append(Said(self._turn, MESSAGE, notes.taken()))
        self._positions = games["hero"]["pos"][0].tolist()
        return direction

    def close(self) -> None:
        """Kill the program."""
        self._program.kill()
        self._hear()

    def said(self) -> list[Said]:
        """Return the messages and the lines of standard error since the last call. The lines of a turn come after the turn."""
        said, self._said = self._said, []
        return said

    def _hear(self) -> None:
        """Take the lines that the program has written to its standard error since its last turn began."""
        if notes := self._program.take_notes():
            self._said.append(Said(self._turn, STANDARD_ERROR, notes))

    # -- bytes --

    def _late(self) -> Forfeit:
        if self._answered:
            return Forfeit(Reason.TIMEOUT, f"no answer in {self._limits.move_ms} ms")
        return Forfeit(Reason.STALL, f"no first answer in {self._limits.start_s:g} s")

    def _discard_output(self) -> None:
        """Discard all output of the program since its last answer. Raises `Forfeit` if it is more than `FLOOD_BYTES`."""
        self.discarded, self._buffer = self._buffer, b""
        with contextlib.suppress(BlockingIOError):
            while data := os.read(self._output, 65536):
                self.discarded += data
                if len(self.discarded) > FLOOD_BYTES:
                    raise Forfeit(Reason.FLOOD, f"more than {FLOOD_BYTES} bytes between two plies")

    def _wait(self, pipe: int, event: int, deadline: float) -> None:
        """Wait until a pipe is ready for `event`. Raises `Forfeit` if the pipe is not ready at the deadline."""
        poll = select.poll()
        poll.register(pipe, event)
        left = deadline - time.monotonic()
        if left <= 0 or not poll.poll(left * 1000):
            raise self._late()

    def _write(self, data: bytes, deadline: float) -> None:
        while data:
            try:
                data = data[os.write(self._input, data) :]
            except BlockingIOError:
                self._wait(self._input, select.POLLOUT, deadline)
            except OSError:  # the program has closed its input
                raise self._program.why_it_ended() from None

    def _read_line(self, deadline: float) -> str:
        while b"\n" not in self._buffer:
            if len(self._buffer) > FLOOD_BYTES:
                raise Forfeit(Reason.FLOOD, f"a line of more than {FLOOD_BYTES} bytes")
            self._wait(self._output, select.POLLIN, deadline)
            try:
                data = os.read(self._output, 65536)
            except BlockingIOError:
                continue
            if not data:
                raise self._program.why_it_ended()
            self._buffer += data
        line, _, self._buffer = self._buffer.partition(b"\n")
        return line.decode(errors="replace")

    # -- the targets of the other heroes --

    def _targets(self, games: Games) -> str:
        """Return a line for each other hero, with the square that it wanted to enter with its last move.

        Before the hero's first move, the line has the hero's own square.
        """
        heroes = games["hero"][0]
        lines = []
        for hero, before in enumerate(self._positions):
            last = heroes["last_dir"].item(hero)
            target = before + int(OFFSET[last]) if last != NO_DIRECTION else heroes["pos"].item(hero)
            row, column = row_column(target)
            if hero != self._me:
                lines.append(f"{hero} {column} {row}\n")
        return "".join(lines)


def opening(games: Games, me: int) -> str:
    """Return the text that the program gets once, before its first ply: the board's size, the board, and its hero's id."""
    board = board_of(games)
    rows = [[_SIGNS.get(int(cell) & TILE_BITS, "M") for cell in line] for line in board]
    for hero, spawn in enumerate(games["hero"]["spawn"][0].tolist()):
        row, column = row_column(spawn)
        rows[row][column] = str(hero)
    return "\n".join([str(len(board)), *map("".join, rows), str(me), ""])


def entities(games: Games) -> str:
    """Return the text that the program gets in each of its plies: the heroes and the mines."""
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


def read_answer(line: str, games: Games, me: int) -> tuple[int, str]:
    """Return the direction (0..4) and the message in an answer. Raises `Forfeit` if the line is not a valid answer."""
    match = _ANSWER.match(line)
    if match is None:
        raise Forfeit(Reason.ILLEGAL, f"answered {line.strip()[:80]!r}")
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
