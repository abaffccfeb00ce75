"""The games of a tournament on this machine: processes play one game after another.

A process of games runs no code of bots but the traits of this project. A bot with other traits plays in a worker process of the
game's process (`vindibot.arena.seats.bots`), a program in a process of its own (`vindibot.arena.seats.programs`). So a bot that
dies or hangs forfeits, and its game goes on. An error in the game's process, or its end, is never the fault of a bot.

The operating system or a user may kill a process (SIGKILL). So if the process of a seat is killed for the first time, no seat is
at fault, and the same game is played again.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterable
from concurrent.futures import Future
from pathlib import Path

from sim.game import SEATS
from vindibot.arena.referee import GameRun, line_of, play
from vindibot.arena.results import PlayedGame
from vindibot.arena.schedule import GameTask
from vindibot.arena.seats.bots import SeatKilledError, bot_seat
from vindibot.arena.seats.entrants import Entrant
from vindibot.arena.seats.seat import Seat
from vindibot.arena.seats.stdio import StdioSeat
from vindibot.engine import forkserver
from vindibot.engine.jobs import JobPool

#: A process is killed this number of seconds after the wall limit of its game.
WALL_MARGIN = 10.0


class LocalGames:
    """Plays games in `workers` processes of this machine. See `vindibot.arena.dispatch.GamePlayers`."""

    def __init__(self, entrants: Iterable[Entrant], workers: int) -> None:
        load_games(entrants)
        self._pool = JobPool(workers)

    def submit(self, task: GameTask) -> Future[PlayedGame]:
        """Play a game. For the errors see `JobPool.submit`."""
        return self._pool.submit(play_task, task, task.wall_s + WALL_MARGIN)

    def kill(self) -> None:
        """End all processes and their games now."""
        self._pool.kill()

    def shutdown(self) -> None:
        """End the processes after the last game."""
        self._pool.close()


def load_games(entrants: Iterable[Entrant]) -> None:
    """Start the fork server, which loads what the games of these entrants need, beside this process."""
    modules = [__name__]
    for entrant in entrants:
        if entrant.kind == "http":
            modules.append("vindibot.arena.seats.hosting")
        elif entrant.bot is not None:
            modules += set(entrant.bot.modules) - set(entrant.bot.own_modules)
    forkserver.start(dict.fromkeys(modules))


def play_task(task: GameTask) -> PlayedGame:
    """Play a game to its end, even if bots crash or hang, and return it."""
    deadline = time.monotonic() + task.wall_s
    try:
        run = play_seats(task, deadline)
    except SeatKilledError:
        run = play_seats(task, deadline, last_attempt=True)
    if task.logs and not task.all_logs and not run.has_forfeits:
        for path in Path(task.logs).glob(f"{task.name}-*.log"):
            path.unlink(missing_ok=True)
    return PlayedGame(*line_of(task, run))


def play_seats(task: GameTask, deadline: float, *, last_attempt: bool = False) -> GameRun:
    """Play a game that must end at the monotonic time `deadline`.

    Raises `SeatKilledError` if somebody kills the process of a seat. With `last_attempt`, this seat forfeits.
    """
    names = [f"{task.name}-{number}-{seat.entrant.label}.log" for number, seat in enumerate(task.seats, start=1)]
    logs = [Path(task.logs, name) if task.logs else None for name in names]
    seats: list[Seat | None] = [None] * SEATS
    with contextlib.ExitStack() as stack:
        for number, (seat_task, log) in enumerate(zip(task.seats, logs, strict=True)):
            entrant = seat_task.entrant
            if entrant.kind == "http":
                continue
            seat = (
                StdioSeat(entrant, log) if entrant.kind == "stdio" else bot_seat(seat_task, log, forfeits_if_killed=last_attempt)
            )
            seat.deadline = deadline
            stack.callback(seat.close)
            seats[number] = seat
        local = [seat for seat in seats if seat is not None]
        if len(local) == SEATS:
            return play(task, local, deadline)
        from vindibot.arena.seats.hosting import play_hosted

        return play_hosted(task, seats, logs, deadline)
