"""Workers: processes that play one game after another.

A worker has no code of bots but the traits of this project. A bot with other traits plays in a child process
(`vindibot.arena.seats.child_seat`), and a program in a process of its own (`vindibot.arena.seats.programs`). So a bot that dies
or hangs forfeits, and its game goes on. An error in a worker, or its end, is never the fault of a bot.

The operating system or a user may kill a process (SIGKILL). So if the process of a seat is killed for the first time, no seat is
at fault, and the same game is played again.
"""

from __future__ import annotations

import contextlib
import pickle
import struct
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future
from functools import partial
from pathlib import Path
from typing import Any

from sim.game import SEATS
from vindibot.arena.referee import GameRun, line_of, play
from vindibot.arena.results import PlayedGame
from vindibot.arena.schedule import GameTask
from vindibot.arena.seats import child_seat
from vindibot.arena.seats.child_seat import ChildSeat, SeatKilled, needs_child, needs_of
from vindibot.arena.seats.entrants import Entrant
from vindibot.arena.seats.seat import Seat, local_seat
from vindibot.arena.seats.stdio import StdioSeat
from vindibot.base.errors import VindibotError
from vindibot.base.orphans import end_descendants
from vindibot.processes.child import Child
from vindibot.processes.inside import Owner, from_owner
from vindibot.processes.requests import ChildLimits, Needs
from vindibot.processes.server import ForkServer, loading_beside
from vindibot.processes.tasks import Tasks, serve_tasks

#: What a worker runs, and the name of its process.
RUN, NAME = "vindibot.arena.worker:serve", "vindibot-games"
#: A worker is killed this number of seconds after the wall limit of its game.
WALL_MARGIN = 10.0
#: Largest number of bytes of a played game.
LONGEST_GAME = 16 << 20

#: The wall limit of a game in seconds, before its pickled task.
_WALL = struct.Struct("<d")


class LocalGames:
    """Plays games in `workers` processes of this machine, which have loaded the bots of `entrants`."""

    def __init__(self, entrants: Sequence[Entrant], workers: int) -> None:
        prepare_children(entrants)
        self._tasks = Tasks(workers, new_worker, lambda task: _WALL.unpack_from(task)[0] + WALL_MARGIN)

    def submit(self, task: GameTask) -> Future[PlayedGame]:
        """Play a game. The future fails with `GameNotBegunError` if the game has to be played again, with another worker.

        It fails with `ChildEnded` if the worker ends, and with `TaskError` if it raises an error.
        """
        return self._tasks.submit(_WALL.pack(task.wall_s) + pickle.dumps(task), read_answer)

    def kill(self) -> None:
        """End all workers and their games now."""
        self._tasks.kill()

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """End the workers after the last game. For the arguments see `Tasks.shutdown`."""
        self._tasks.shutdown(wait, cancel_futures=cancel_futures)


class GameNotBegunError(VindibotError):
    """A game has not begun, because its worker can start no processes any more."""


def prepare_children(entrants: Sequence[Entrant]) -> None:
    """Let the fork server load what the games of these entrants need, as soon as it runs."""
    server, modules = ForkServer.of_process(), list[str]()
    if any(entrant.kind == "http" for entrant in entrants):
        modules.append("vindibot.arena.seats.hosting")
    for entrant in entrants:
        if entrant.bot is not None and not needs_child(entrant):
            modules += entrant.bot.modules
    server.prepare(RUN, Needs(modules=tuple(dict.fromkeys(modules))))
    for entrant in entrants:
        if entrant.bot is not None and needs_child(entrant):
            server.prepare(child_seat.RUN, needs_of(entrant.bot))


@contextlib.contextmanager
def preparing(entrants: Sequence[Entrant]) -> Iterator[None]:
    """Do the same as `prepare_children`, and start the fork server. It loads what it needs while the ``with`` block runs."""
    prepare_children(entrants)
    with loading_beside(RUN):
        yield


def new_worker() -> Child:
    """Return a worker that has not started yet."""
    return Child(RUN, limits=ChildLimits(frame=LONGEST_GAME), spawns=True, name=NAME)


def read_answer(answer: bytes) -> PlayedGame:
    """Return the game in the answer of a worker. Raises `GameNotBegunError`, and ValueError if it is no game."""
    if not answer:
        raise GameNotBegunError("the process that starts processes has ended")
    return PlayedGame.decode(answer)


def play_task(task: GameTask) -> PlayedGame:
    """Play a game to its end, even if bots crash or hang, and return it."""
    deadline = time.monotonic() + task.wall_s
    try:
        run = play_seats(task, deadline)
    except SeatKilled:
        run = play_seats(task, deadline, last_attempt=True)
    if task.logs and not task.all_logs and not run.has_forfeits:
        for path in Path(task.logs).glob(f"{task.name}-*.log"):
            path.unlink(missing_ok=True)
    return PlayedGame(*line_of(task, run))


def play_seats(task: GameTask, deadline: float, *, last_attempt: bool = False) -> GameRun:
    """Play a game that must end at the monotonic time `deadline`.

    Raises `SeatKilled` if somebody kills the process of a seat. With `last_attempt`, this seat forfeits.
    """
    names = [f"{task.name}-{number}-{seat.entrant.label}.log" for number, seat in enumerate(task.seats, start=1)]
    logs = [Path(task.logs, name) if task.logs else None for name in names]
    seats: list[Seat | None] = [None] * SEATS
    with contextlib.ExitStack() as stack:
        for number, seat in enumerate(task.seats):
            found: Seat | None = None
            if needs_child(seat.entrant):
                found = ChildSeat(seat, logs[number], forfeits_if_killed=last_attempt)
            elif seat.entrant.kind == "stdio":
                found = StdioSeat(seat.entrant, logs[number])
            elif seat.entrant.kind != "http":
                found = local_seat(seat)
            if found is not None:
                found.deadline = deadline
                stack.callback(found.close)
            seats[number] = found
        asked = [seat for seat in seats if seat is not None]
        if len(asked) == SEATS:
            return play(task, asked, deadline)
        from vindibot.arena.seats.hosting import play_hosted

        return play_hosted(task, seats, logs, deadline)


# ---- In a worker ----


def serve(owner: Owner) -> None:
    """Play games until the owner ends. See `vindibot.processes.tasks.serve_tasks`, and `read_answer` for the answers."""
    serve_tasks(owner, partial(guarded, lambda task: play_task(from_owner(task[_WALL.size :])).encode()))


def guarded(play: Callable[[Any], bytes], task: Any) -> bytes:
    """Return the answer of `play` to a task. If this process can start no processes any more, return b"" instead of an error."""
    try:
        return play(task)
    except VindibotError:
        if ForkServer.of_process().is_running():
            raise
        return b""
    finally:
        end_descendants()  # processes that programs have left behind
