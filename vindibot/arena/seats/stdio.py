"""Programs that speak the line protocol (`vindibot.games.line_protocol`) over standard input and output.

The arena starts the program for each game. The game record keeps the messages and the lines of the program's standard error.
"""

from __future__ import annotations

import contextlib
import os
import select
import time
from pathlib import Path

from behaviours.notes import Notes
from sim.game import PLIES_PER_ROUND, Games
from vindibot.arena.seats.entrants import Entrant
from vindibot.arena.seats.programs import Program
from vindibot.arena.seats.seat import Forfeit, Seat, TurnNotes
from vindibot.base.errors import UsageError
from vindibot.base.text import Redactor
from vindibot.games.line_protocol import EXPERT, read_answer, write_opening, write_state, write_targets
from vindibot.games.notes import MESSAGE, STANDARD_ERROR
from vindibot.games.outcome import Reason

#: Largest number of bytes in an answer, and of all output of a program between two of its plies.
FLOOD_BYTES = 64 * 1024


class StdioSeat(Seat):
    """The seat of a program that speaks the line protocol. `log` is the file for the program's standard error, None for none."""

    def __init__(self, entrant: Entrant, log: Path | None = None) -> None:
        super().__init__()
        self._limits = entrant.limits
        self._program = Program(entrant, log)
        self._me = 0
        self._turn = 0  # of our last move; before it, the first turn of the game
        self._opening = ""
        self._expert = False
        self._answered = False
        self._buffer = b""
        self._positions: list[int] = []  # the heroes' squares before our last move; at the start their spawn squares

    def start(self, games: Games, me: int) -> None:
        """Start the program. Raises `Forfeit` if it cannot be started.

        The numbers of this game replace ``{rounds}``, ``{move_ms}`` and ``{first_ms}`` in its command.
        """
        self._me, self._turn = me, int(games["turn"].item(0))
        self._opening = write_opening(games, me)
        self._positions = games["hero"]["pos"][0].tolist()
        rounds = int(games["max_turns"].item(0)) // PLIES_PER_ROUND
        values = {"rounds": rounds, "move_ms": self._limits.move_ms, "first_ms": self._limits.first_ms}
        self._program.start({name: str(value) for name, value in values.items()})
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
            self._add_output()
        self._turn = int(games["turn"].item(0))
        allowed = self._limits.seconds(first=not self._answered) + self._limits.grace_ms / 1000
        allowed += 0.0 if self._answered else self._limits.start_s
        state = self._opening + (write_targets(games, self._me, self._positions) if self._expert else "") + write_state(games)
        deadline = min(time.monotonic() + allowed, self.deadline)
        self._discard_output()
        self._write(state.encode(), deadline)
        line = self._read_line(deadline)
        try:
            direction, message = read_answer(line, games, self._me)
        except UsageError as problem:
            raise Forfeit(Reason.ILLEGAL, problem.message) from None
        self._opening, self._answered = "", True
        self._expert = self._expert or EXPERT in message
        if text := message.replace(EXPERT, "").strip():
            notes = Notes()
            notes.add(Redactor()(text))
            self._notes.append(TurnNotes(self._turn, MESSAGE, notes.taken()))
        self._positions = games["hero"]["pos"][0].tolist()
        return direction

    def close(self) -> None:
        """Kill the program."""
        self._program.kill()
        self._add_output()

    def _add_output(self) -> None:
        """Take the lines that the program has written to its standard error since its last turn began."""
        if notes := self._program.take_notes():
            self._notes.append(TurnNotes(self._turn, STANDARD_ERROR, notes))

    # -- bytes --

    def _late(self) -> Forfeit:
        if self._answered:
            return Forfeit(Reason.TIMEOUT, f"no answer in {self._limits.move_ms} ms")
        return Forfeit(Reason.STALL, f"no answer within {self._limits.start_s:g} s on its first turn")

    def _discard_output(self) -> None:
        """Discard all output of the program since its last answer. Raises `Forfeit` if it is more than `FLOOD_BYTES`."""
        discarded, self._buffer = self._buffer, b""
        with contextlib.suppress(BlockingIOError):
            while data := os.read(self._output, 65536):
                discarded += data
                if len(discarded) > FLOOD_BYTES:
                    raise Forfeit(Reason.FLOOD, f"more than {FLOOD_BYTES} bytes between two plies")
        self.surplus = self.surplus or discarded.decode(errors="replace").strip()[:100]

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
