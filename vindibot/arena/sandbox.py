"""One game in a process of its own, and whoever made it end before its time.

A worker forks for each game: warm kernels and imported traits are there at once, and whatever the traits of a bot do (a
kernel that never comes back, a crash of the interpreter, all memory taken, children started) ends with that process. If the
process dies or hangs, the one who was being asked is to blame: the game is played again with his orders up to there, then he
forfeits. That is the same game for bots that are deterministic. A game that takes longer than its wall limit is ended.
"""

from __future__ import annotations

import contextlib
import faulthandler
import fcntl
import gc
import os
import pickle
import resource
import select
import signal
import sys
import time
import traceback
import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from multiprocessing.connection import Connection
from pathlib import Path
from posix import _exit  # not that of os: while modules of bots are imported, another stands in its place
from typing import NoReturn

from sim import kernels
from vindibot.arena.entrants import Entrant
from vindibot.arena.journal import NOBODY, Journal
from vindibot.arena.referee import GameRun, line_of, play
from vindibot.arena.results import GameLine
from vindibot.arena.schedule import SEATS, GameTask, SeatTask
from vindibot.arena.seats import Forfeit, ScriptedSeat, Seat, local_seat
from vindibot.arena.stdio import StdioSeat
from vindibot.base import VindibotError, adopt_orphans, die_with_parent, end_descendants
from vindibot.games import Reason

#: Seconds between two looks at the diary of a running game.
LOOK = 0.1
#: Seconds beyond its limit after which an answer that is waited for in the game's process has hung; and where nothing is
#: timed, because a bot counts nodes or is built in.
BEYOND = 2.0
HANG_SECONDS = 60.0
#: What the process of a game prints is kept up to so many bytes.
OUTPUT_BYTES = 64 * 1024

_prepared: set[str] = set()
_adopting = False


@dataclass(frozen=True)
class PlayedGame:
    """A game that was played: its line of results, and its record as a line of JSON."""

    line: GameLine
    record: bytes


class GameError(VindibotError):
    """A game that could not be played for a reason that lies with us."""


def become_worker(lifeline: Connection | None = None) -> None:
    """What a process that does nothing but play games does first: Ctrl-C is its parent's to handle, and what the bots leave
    behind is its own to end. `lifeline` is the reading end of a pipe that the arena holds: when it breaks, so do we."""
    global _adopting
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})  # the fork server held it back; a program may want it
    adopt_orphans()
    _adopting = True
    if lifeline is not None:
        _end_with(lifeline.fileno())


def _end_with(lifeline: int) -> None:
    """End this process, and all that came from it, when a pipe breaks. By a signal: a thread would be in the way of forking."""

    def broken(number: int, frame: object) -> None:
        end_descendants()
        _exit(1)

    signal.signal(signal.SIGIO, broken)
    # Opened anew: who gets the signal belongs to the open file, which all workers share.
    with contextlib.suppress(OSError):
        lifeline = os.open(f"/proc/self/fd/{lifeline}", os.O_RDONLY | os.O_CLOEXEC)
    fcntl.fcntl(lifeline, fcntl.F_SETOWN, os.getpid())
    fcntl.fcntl(lifeline, fcntl.F_SETFL, fcntl.fcntl(lifeline, fcntl.F_GETFL) | os.O_ASYNC)
    if select.select([lifeline], [], [], 0)[0]:  # it broke before we heard of it
        os._exit(1)


def play_task(task: GameTask) -> PlayedGame:
    """Play a game, whatever its bots do. Raises `GameError`."""
    _prepare(task)
    journal = Journal(SEATS * task.rounds)
    scripts: dict[int, ScriptedSeat] = {}
    deadline = time.monotonic() + task.wall_s
    try:
        for _ in range(SEATS + 1):
            journal.clear()
            outcome = _Attempt(task, scripts, journal, deadline).run()
            if isinstance(outcome, GameRun):
                _tidy_logs(task, outcome)
                line, record = line_of(task, outcome)
                return PlayedGame(line, record)
            seat, forfeit = outcome
            moves = journal.moves()[seat::SEATS]
            scripts[seat] = ScriptedSeat(moves, forfeit)
    finally:
        journal.close()
    raise GameError(f"game {task.name} cannot be played")


def _prepare(task: GameTask) -> None:
    """Import what the game needs, once per process and before it forks."""
    fresh = False
    for seat in task.seats:
        entrant = seat.entrant
        key = entrant.bot.path if entrant.bot is not None else entrant.kind
        if key in _prepared:
            continue
        _prepared.add(key)
        fresh = True
        if entrant.bot is not None:
            with contextlib.suppress(Exception):  # it is told where it happens again, in the game
                entrant.bot.build()
        elif entrant.kind == "http":
            import vindibot.arena.hosting  # noqa: F401
    if fresh:
        kernels.warm()
        gc.collect()
        gc.freeze()


def _log_path(task: GameTask, what: str) -> Path | None:
    return Path(task.logs, f"{task.name}-{what}.log") if task.logs else None


def _tidy_logs(task: GameTask, course: GameRun) -> None:
    """Keep the logs of games with trouble only, unless all are wanted."""
    if task.logs and not task.all_logs and not course.trouble:
        for path in Path(task.logs).glob(f"{task.name}-*.log"):
            path.unlink(missing_ok=True)


class _Attempt:
    """One try at a game in a forked process: to its end, or until somebody is to blame."""

    def __init__(self, task: GameTask, scripts: Mapping[int, ScriptedSeat], journal: Journal, deadline: float) -> None:
        self._task, self._scripts, self._journal, self._deadline = task, scripts, journal, deadline
        self._answer = bytearray()
        self._output = bytearray()
        self._began = time.monotonic()

    def run(self) -> GameRun | tuple[int, Forfeit]:
        """The course of the game, or who ended it and how."""
        answer, answer_end = os.pipe()
        output, output_end = os.pipe()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)  # of other threads: a worker has none
            pid = os.fork()
        if pid == 0:
            os.close(answer)
            os.close(output)
            _play_and_exit(self._task, self._scripts, self._journal, answer_end, output_end)
        os.close(answer_end)
        os.close(output_end)
        try:
            killed = self._listen(answer, output)
        finally:
            status = _end(pid)
            os.close(answer)
            os.close(output)
        self._keep_output()
        return self._judge(status, killed)

    def _listen(self, answer: int, output: int) -> Forfeit | None:
        """Wait for the end; what the game's process had to be ended for, if it had."""
        poll = select.poll()
        poll.register(answer, select.POLLIN)
        poll.register(output, select.POLLIN)
        looked = time.monotonic()
        while True:
            for ready, _ in poll.poll(LOOK * 1000):
                data = os.read(ready, 65536)
                if ready == answer:
                    if not data:
                        return None
                    self._answer += data
                elif not data:
                    poll.unregister(output)
                elif len(self._output) < OUTPUT_BYTES:
                    self._output += data[: OUTPUT_BYTES - len(self._output)]
            if time.monotonic() - looked > LOOK:
                looked = time.monotonic()
                if forfeit := self._overdue(looked):
                    return forfeit

    def _overdue(self, now: float) -> Forfeit | None:
        seat, waited = self._journal.waiting_for()
        if now > self._deadline:
            return Forfeit(Reason.TIMEOUT, f"the game reached its wall limit of {self._task.wall_s:g} s")
        if seat != NOBODY and seat not in self._scripts and waited > _longest(self._task.seats[seat].entrant):
            return Forfeit(Reason.TIMEOUT, f"it did not come back in {waited:.1f} s and had to be killed")
        return None

    def _judge(self, status: int, killed: Forfeit | None) -> GameRun | tuple[int, Forfeit]:
        if self._answer and killed is None:
            try:
                told = pickle.loads(self._answer)
            except Exception:  # cut off: it died while it wrote
                told = None
            if isinstance(told, GameRun):
                return told
            if isinstance(told, str):
                raise GameError(f"game {self._task.name} failed: {told}")
        seat, _ = self._journal.waiting_for()
        if killed is not None and time.monotonic() > self._deadline:
            return self._ended_at_the_wall(seat, killed)
        if seat == NOBODY or seat in self._scripts:
            raise GameError(f"the process of game {self._task.name} ended in between two plies with {_said(status)}")
        return seat, killed or _why(status, self._task.seats[seat].entrant)

    def _ended_at_the_wall(self, seat: int, killed: Forfeit) -> GameRun:
        """A game that is ended where it stands, whoever is being asked forfeits."""
        course = GameRun(moves=self._journal.moves(), stopped=Reason.TIMEOUT, seconds=time.monotonic() - self._began)
        if seat != NOBODY:
            course.seats[seat].forfeit(killed)
        return course

    def _keep_output(self) -> None:
        path = _log_path(self._task, "game")
        if path is not None and self._output:
            with contextlib.suppress(OSError):
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_bytes(self._output)


def _longest(entrant: Entrant) -> float:
    """Seconds after which an answer that is waited for in the game's process will not come any more."""
    limits = entrant.limits
    if entrant.kind == "stdio":
        return limits.start_s + max(limits.first_ms, limits.move_ms) / 1000 + limits.grace_ms / 1000 + BEYOND
    if entrant.kind == "bot" and limits.nodes is None:
        return max(limits.first_ms, limits.move_ms) / 1000 + limits.grace_ms / 1000 + BEYOND
    return HANG_SECONDS


def _why(status: int, entrant: Entrant) -> Forfeit:
    """What to say of a game's process that died while this entrant was being asked."""
    killed = os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGKILL
    if killed and entrant.limits.memory_mb is not None:
        return Forfeit(Reason.MEMORY, "its process was killed")
    return Forfeit(Reason.CRASH, f"its process ended with {_said(status)}")


def _said(status: int) -> str:
    if os.WIFSIGNALED(status):
        with contextlib.suppress(ValueError):
            return f"signal {signal.Signals(os.WTERMSIG(status)).name}"
    return f"exit code {os.waitstatus_to_exitcode(status)}"


def _end(pid: int) -> int:
    """End a game's process and all that came from it; its exit status."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(pid, signal.SIGKILL)
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, signal.SIGKILL)
    _, status = os.waitpid(pid, 0)
    if _adopting:
        end_descendants()
    return status


# ---- In the game's process ----


def _play_and_exit(task: GameTask, scripts: Mapping[int, ScriptedSeat], journal: Journal, answer: int, output: int) -> NoReturn:
    told: GameRun | str = "?"
    try:
        signal.signal(signal.SIGIO, signal.SIG_DFL)
        die_with_parent()
        os.setsid()
        _redirect(output)
        _limit_memory(task)
        told = _play(task, scripts, journal)
    except BaseException:
        told = traceback.format_exc()[-2000:]
    try:
        data = pickle.dumps(told)
        while data:
            data = data[os.write(answer, data) :]
    finally:
        os._exit(0)


def _redirect(output: int) -> None:
    """Nothing to read, and all that is printed goes to the worker."""
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.dup2(output, 1)
    os.dup2(output, 2)
    sys.stdout = os.fdopen(1, "w", buffering=1, errors="replace", closefd=False)
    sys.stderr = os.fdopen(2, "w", buffering=1, errors="replace", closefd=False)
    faulthandler.enable(sys.stderr)


def _limit_memory(task: GameTask) -> None:
    """The bots in this process share what they may take, beyond what is taken already."""
    allowed = [seat.entrant.limits.memory_mb for seat in task.seats if seat.entrant.kind == "bot"]
    limited = [megabytes for megabytes in allowed if megabytes is not None]
    if not limited or len(limited) < len(allowed):
        return
    with contextlib.suppress(OSError, ValueError):
        taken = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
        limit = taken + (sum(limited) << 20)
        resource.setrlimit(resource.RLIMIT_AS, (limit, limit))


def _play(task: GameTask, scripts: Mapping[int, ScriptedSeat], journal: Journal) -> GameRun:
    seats: list[Seat | None] = []
    logs: list[Path | None] = []
    for number, seat in enumerate(task.seats):
        log = _log_path(task, f"{number + 1}-{seat.entrant.label}")
        logs.append(log)
        if number in scripts:
            seats.append(scripts[number])
        elif seat.entrant.kind == "http":
            seats.append(None)
        elif seat.entrant.kind == "stdio":
            seats.append(StdioSeat(seat.entrant, log))
        else:
            with journal.asked(number):
                seats.append(_local(seat))
    asked = [seat for seat in seats if seat is not None]
    if len(asked) == SEATS:
        return play(task, asked, journal)
    from vindibot.arena.hosting import play_hosted

    return play_hosted(task, seats, journal, logs)


def _local(seat: SeatTask) -> Seat:
    try:
        return local_seat(seat)
    except Forfeit as forfeit:
        return ScriptedSeat((), forfeit)
