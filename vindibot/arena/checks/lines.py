"""Cases of programs that speak the line protocol: the program is played as in the arena, and its lines are kept."""

from __future__ import annotations

import contextlib
import os
import select
import subprocess
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

from sim.game import RUNNING, SEATS, Games, copy_of
from sim.rules import step
from vindibot.arena.checks.case import SHOWN_LINES, Case, CaseRun, cut
from vindibot.arena.seats.entrants import Entrant
from vindibot.arena.seats.seat import Forfeit
from vindibot.arena.seats.stdio import StdioSeat

#: Seconds that a program has to end after the end of its input.
EXIT_SECONDS = 2.0


class WatchedLines(StdioSeat):
    """The seat of a program whose lines are kept in `lines`: "<" for lines that it gets, ">" for lines that it writes."""

    def __init__(self, entrant: Entrant, log: Path) -> None:
        super().__init__(entrant, log)
        self.lines: list[str] = []

    def _write(self, data: bytes, deadline: float) -> None:
        super()._write(data, deadline)
        self._keep(*(f"< {line}" for line in data.decode().splitlines()))

    def _read_line(self, deadline: float) -> str:
        try:
            line = super()._read_line(deadline)
        except Forfeit:
            if self._buffer:
                self._keep(f"> {self._buffer.decode(errors='replace')} (without a line end)")
            raise
        self._keep(f"> {line}")
        return line

    def _keep(self, *lines: str) -> None:
        self.lines = [*self.lines, *map(cut, lines)][-SHOWN_LINES:]

    def end_input(self) -> int | None:
        """End the input of the program. Return its exit code, or None if it did not end within `EXIT_SECONDS`.

        `discarded` then has its output since its last move.
        """
        process = self._program.process
        assert process is not None
        assert process.stdin is not None
        with contextlib.suppress(OSError):
            process.stdin.close()
        self.discarded, self._buffer = self._buffer, b""
        end = time.monotonic() + EXIT_SECONDS
        poll = select.poll()
        poll.register(self._output, select.POLLIN)
        while (left := end - time.monotonic()) > 0 and poll.poll(left * 1000):
            data = os.read(self._output, 65536)
            if not data:
                break
            self.discarded = (self.discarded + data)[:1000]
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(max(0.0, end - time.monotonic()))
        return self._program.exit_code()


def play_lines(entrant: Entrant, case: Case, log: Path) -> CaseRun:
    """Play a case with a program that speaks the line protocol, and return what happened. `log` is for its standard error."""
    run, games = CaseRun(), copy_of(case.first)
    seat = WatchedLines(entrant, log)
    rivals = [case.rival_moves(hero) for hero in range(SEATS)]
    try:
        seat.start(games, case.me)
        time.sleep(case.late_s)
        _play(seat, games, case, run, rivals)
        run.ended = seat.end_input()
        run.surplus = run.surplus or _first_line(seat.discarded)
    except Forfeit as forfeit:
        run.outcome = forfeit.outcome
    finally:
        seat.close()
    run.lines = seat.lines
    return run


def _play(seat: WatchedLines, games: Games, case: Case, run: CaseRun, rivals: Sequence[Iterator[int]]) -> None:
    """Play the game to its end. Raises `Forfeit`."""
    while games["status"].item(0) == RUNNING:
        hero = games["turn"].item(0) % SEATS
        if hero != case.me:
            step(games, 0, next(rivals[hero]))
            continue
        if len(run.times) == 2:
            time.sleep(case.late_s)
        began = time.perf_counter()
        move = seat.move(games)
        run.times.append((time.perf_counter() - began) * 1000)
        run.surplus = run.surplus or _first_line(seat.discarded)
        step(games, 0, move)


def _first_line(output: bytes) -> str:
    """Return the first line of an output that is not empty, "" if there is none."""
    return next((cut(line.strip()) for line in output.decode(errors="replace").splitlines() if line.strip()), "")
