"""The sandbox plays one game in a separate process. If this process dies or hangs, the sandbox finds the seat at fault.

A worker forks a process for each game. So compiled kernels and imported traits are ready immediately. All damage by a trait ends
with the game's process: an endless kernel, a crash of the interpreter, much memory, child processes. Bots with traits of their
own play in further processes (`vindibot.arena.separate`).

If the process dies or hangs, the seat whose turn it was is at fault. Then the game is played again: this seat repeats its moves
so far and then forfeits. If the bots are deterministic, the second game is equal to the first up to this point. A game ends when
it exceeds its limit of wall time.

The operating system or a user may also kill a process (SIGKILL). So if the process of a game is killed for the first time, no
seat is at fault, and the same game is played again.
"""

from __future__ import annotations

import contextlib
import faulthandler
import fcntl
import gc
import os
import resource
import select
import signal
import sys
import time
import traceback
import warnings
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from multiprocessing.connection import Connection, Pipe, wait
from pathlib import Path
from posix import _exit  # not `os._exit`, which is replaced while modules of bots are imported
from typing import NoReturn

from pydantic import TypeAdapter

from sim import kernels
from sim.game import SEATS
from vindibot.arena.entrants import Entrant
from vindibot.arena.journal import NOBODY, Journal
from vindibot.arena.programs import exit_words
from vindibot.arena.referee import GameRun, line_of, play
from vindibot.arena.results import GameLine
from vindibot.arena.schedule import GameTask
from vindibot.arena.seats import Forfeit, ScriptedSeat, Seat, local_seat
from vindibot.arena.separate import SeparateSeat
from vindibot.arena.stdio import StdioSeat
from vindibot.base import VindibotError, adopt_orphans, die_with_parent, end_descendants
from vindibot.games import Reason

#: Seconds between two checks of a running game.
CHECK_SECONDS = 0.1
#: A seat counts as hung `HANG_MARGIN` seconds after its time limit. A seat without time limit counts as hung after
#: `HANG_SECONDS`.
HANG_MARGIN = 2.0
HANG_SECONDS = 60.0
#: Largest number of bytes of a game process's output that the log stores.
OUTPUT_BYTES = 64 * 1024
#: The kinds of entrants that are programs.
_PROGRAMS = ("http", "stdio")

#: The result of a game's process: the game, or the traceback of an error of ours. The largest number of its bytes as JSON.
_RESULT: TypeAdapter[GameRun | str] = TypeAdapter(GameRun | str)
LONGEST_RESULT = 16 << 20

_prepared: set[str] = set()
_adopting = False


@dataclass(frozen=True)
class PlayedGame:
    """A game that was played: its line of results, and its record as a line of JSON."""

    line: GameLine
    record: bytes


class GameError(VindibotError):
    """A game could not be played, although no bot is at fault."""


def become_worker(lifeline: Connection | None = None) -> None:
    """Make this process a worker. A worker ignores Ctrl-C, which its parent handles. It ends processes that bots leave behind.

    `lifeline` is the reading end of a pipe. Only the arena's process has the writing end. If the arena's process ends, the pipe
    breaks, and the worker ends too.
    """
    global _adopting
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})  # the fork server blocks it, but programs of bots may need it
    adopt_orphans()
    _adopting = True
    if lifeline is not None:
        _end_with(lifeline.fileno())


def _end_with(lifeline: int) -> None:
    """End this process and its descendants when a pipe breaks. `lifeline` is the file descriptor of its reading end.

    A signal handler does this and not a thread, because forking is not safe in a process with several threads.
    """

    def broken(number: int, frame: object) -> None:
        end_descendants()
        _exit(1)

    signal.signal(signal.SIGIO, broken)
    # All workers share the open pipe, and only one receiver gets its signal. So each worker opens the pipe anew.
    with contextlib.suppress(OSError):
        lifeline = os.open(f"/proc/self/fd/{lifeline}", os.O_RDONLY | os.O_CLOEXEC)
    fcntl.fcntl(lifeline, fcntl.F_SETOWN, os.getpid())
    fcntl.fcntl(lifeline, fcntl.F_SETFL, fcntl.fcntl(lifeline, fcntl.F_GETFL) | os.O_ASYNC)
    if select.select([lifeline], [], [], 0)[0]:  # the pipe broke before the signal was set up
        os._exit(1)


def play_task(task: GameTask) -> PlayedGame:
    """Play a game to its end, even if bots crash or hang, and return it.

    Raises `GameError` if the game cannot be played although no bot is at fault.
    """
    _prepare(task)
    journal = Journal(SEATS * task.rounds)
    scripts: dict[int, ScriptedSeat] = {}
    deadline = time.monotonic() + task.wall_s
    was_killed = False
    try:
        for _ in range(SEATS + 2):
            journal.clear()
            attempt = _Attempt(task, scripts, journal, deadline)
            attempt.run()
            if attempt.killed and not was_killed:
                was_killed = True
                continue
            result = attempt.judge()
            if isinstance(result, GameRun):
                if task.logs and not task.all_logs and not result.has_forfeits:
                    for path in Path(task.logs).glob(f"{task.name}-*.log"):
                        path.unlink(missing_ok=True)
                return PlayedGame(*line_of(task, result))
            seat, forfeit = result
            scripts[seat] = ScriptedSeat(journal.moves()[seat::SEATS], forfeit)
    finally:
        journal.close()
    raise GameError(f"game {task.name} cannot be played")


def _prepare(task: GameTask) -> None:
    """Import the modules of the game's bots before the worker forks. So each bot is imported only once per worker."""
    fresh = False
    for seat in task.seats:
        entrant = seat.entrant
        key = entrant.bot.path if entrant.bot is not None else entrant.kind
        if key in _prepared:
            continue
        _prepared.add(key)
        fresh = True
        if entrant.bot is not None:
            with contextlib.suppress(Exception):  # the game's process meets the same error, and the seat forfeits
                entrant.bot.build()
        elif entrant.kind == "http":
            import vindibot.arena.hosting  # noqa: F401
    if fresh:
        kernels.warm()
        gc.collect()
        gc.freeze()


def _log_path(task: GameTask, what: str) -> Path | None:
    return Path(task.logs, f"{task.name}-{what}.log") if task.logs else None


class _Attempt:
    """One attempt at a game, in a forked process. The attempt ends when the game ends, or when the process dies or hangs.

    `scripts` replaces seats that were at fault in earlier attempts: it has a scripted seat for each of them, by index. `deadline`
    is the monotonic time in seconds at which the game must end.
    """

    def __init__(self, task: GameTask, scripts: Mapping[int, ScriptedSeat], journal: Journal, deadline: float) -> None:
        self._task, self._scripts, self._journal, self._deadline = task, scripts, journal, deadline
        self._result: GameRun | str | None = None
        self._output = bytearray()
        self._began = time.monotonic()
        self._code = 0
        self._too_late: Forfeit | None = None
        self.killed = False  # whether another process has killed the game's process

    def run(self) -> None:
        """Play the game. Afterwards `judge` returns the result."""
        answer, answer_end = Pipe(duplex=False)
        output, output_end = os.pipe()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)  # it warns of other threads, but a worker has none
            pid = os.fork()
        if pid == 0:
            answer.close()
            os.close(output)
            _play_and_exit(self._task, self._scripts, self._journal, answer_end, output_end)
        answer_end.close()
        os.close(output_end)
        try:
            self._too_late = self._listen(answer, output)
            self.killed = self._result is None and self._too_late is None and _was_killed(pid)
        finally:
            self._code = _kill(pid)
            answer.close()
            os.close(output)
        path = _log_path(self._task, "game")
        if path is not None and self._output:
            with contextlib.suppress(OSError):
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_bytes(self._output)

    def _listen(self, answer: Connection, output: int) -> Forfeit | None:
        """Wait until the game ends, and return None. If a time limit passes first, return the forfeit for it.

        After a forfeit, the caller must kill the game's process. `answer` is the pipe for the result of this process, `output`
        the pipe for its output.
        """
        pipes: list[Connection | int] = [answer, output]
        checked = time.monotonic()
        while True:
            ready = wait(pipes, CHECK_SECONDS)
            if output in ready:
                if data := os.read(output, 65536):
                    self._output += data[: OUTPUT_BYTES - len(self._output)]
                else:
                    pipes.remove(output)
            if answer in ready:
                with contextlib.suppress(Exception):  # the process died before or while it wrote the answer
                    self._result = _RESULT.validate_json(answer.recv_bytes(LONGEST_RESULT))
                return None
            if time.monotonic() - checked > CHECK_SECONDS:
                checked = time.monotonic()
                if forfeit := self._overdue(checked):
                    return forfeit

    def _overdue(self, now: float) -> Forfeit | None:
        seat, waited = self._journal.waiting_for()
        if now > self._deadline:
            return Forfeit(Reason.TIMEOUT, f"the game reached its wall limit of {self._task.wall_s:g} s")
        if seat != NOBODY and seat not in self._scripts and waited > _hang_seconds(self._task.seats[seat].entrant):
            return Forfeit(Reason.TIMEOUT, f"it did not come back in {waited:.1f} s and had to be killed")
        return None

    def judge(self) -> GameRun | tuple[int, Forfeit]:
        """Return the game, or return the index of the seat at fault and its forfeit. Raises `GameError`."""
        code, overdue = self._code, self._too_late
        if isinstance(self._result, GameRun):
            return self._result
        if self._result is not None:
            raise GameError(f"game {self._task.name} failed: {self._result}")
        seat, _ = self._journal.waiting_for()
        if overdue is not None and time.monotonic() > self._deadline:
            run = GameRun(moves=self._journal.moves(), stopped=Reason.TIMEOUT, seconds=time.monotonic() - self._began)
            if seat != NOBODY:
                run.seats[seat].forfeit(overdue)
            return run
        if seat == NOBODY or seat in self._scripts:
            raise GameError(f"the process of game {self._task.name} ended between two plies with {exit_words(code)}")
        if overdue is None and code == -signal.SIGKILL and self._task.seats[seat].entrant.limits.memory_mb is not None:
            return seat, Forfeit(Reason.MEMORY, "its process was killed")
        return seat, overdue or Forfeit(Reason.CRASH, f"its process ended with {exit_words(code)}")


def _hang_seconds(entrant: Entrant) -> float:
    """Return the number of seconds without an answer after which a seat of this entrant counts as hung."""
    limits = entrant.limits
    if entrant.kind != "stdio" and (entrant.kind != "bot" or limits.nodes is not None):
        return HANG_SECONDS
    start = limits.start_s if entrant.kind == "stdio" else 0.0
    return start + max(limits.first_ms, limits.move_ms) / 1000 + limits.grace_ms / 1000 + HANG_MARGIN


def _was_killed(pid: int) -> bool:
    """Return whether the process `pid` was killed by SIGKILL. Wait at most `CHECK_SECONDS` for its end.

    The process has already closed the pipe for its result.
    """
    limit = time.monotonic() + CHECK_SECONDS
    while (ended := os.waitid(os.P_PID, pid, os.WEXITED | os.WNOHANG | os.WNOWAIT)) is None and time.monotonic() < limit:
        time.sleep(0.001)
    return ended is not None and (ended.si_code, ended.si_status) == (os.CLD_KILLED, signal.SIGKILL)


def _kill(pid: int) -> int:
    """Kill the process `pid` of a game and its descendants. Return the exit code of the process, negative for a signal."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(pid, signal.SIGKILL)
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, signal.SIGKILL)
    _, status = os.waitpid(pid, 0)
    if _adopting:
        end_descendants()
    return os.waitstatus_to_exitcode(status)


# ---- In the game's process ----


def _play_and_exit(
    task: GameTask, scripts: Mapping[int, ScriptedSeat], journal: Journal, answer: Connection, output: int
) -> NoReturn:
    result: GameRun | str = "?"
    try:
        signal.signal(signal.SIGIO, signal.SIG_DFL)
        die_with_parent()
        os.setsid()
        _redirect(output)
        result = _play(task, scripts, journal)
    except BaseException:
        result = traceback.format_exc()[-2000:]
    try:
        answer.send_bytes(_RESULT.dump_json(result))
    finally:
        os._exit(0)


def _redirect(output: int) -> None:
    """Give this process an empty standard input. Redirect its standard output and standard error to the pipe `output`."""
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.dup2(output, 1)
    os.dup2(output, 2)
    sys.stdout = os.fdopen(1, "w", buffering=1, errors="replace", closefd=False)
    sys.stderr = os.fdopen(2, "w", buffering=1, errors="replace", closefd=False)
    faulthandler.enable(sys.stderr)


def _limit_memory(entrants: Iterable[Entrant]) -> None:
    """Limit the address space of this process to its present size plus the memory limits of `entrants`.

    If one of these bots has no limit, this function does nothing.
    """
    limits = [entrant.limits.memory_mb for entrant in entrants]
    if not limits or None in limits:
        return
    with contextlib.suppress(OSError, ValueError):
        used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
        limit = used + (sum(filter(None, limits)) << 20)
        resource.setrlimit(resource.RLIMIT_AS, (limit, limit))


def _leave_game(journal: Journal, entrant: Entrant) -> None:
    """Prepare the process of a separate seat: remove the journal from its memory, and limit its memory."""
    journal.close()
    _limit_memory([entrant])


def _play(task: GameTask, scripts: Mapping[int, ScriptedSeat], journal: Journal) -> GameRun:
    logs = [_log_path(task, f"{number}-{seat.entrant.label}") for number, seat in enumerate(task.seats, start=1)]
    seats: list[Seat | None] = [scripts.get(number) for number in range(SEATS)]
    here = [number for number, seat in enumerate(task.seats) if number not in scripts and seat.entrant.kind not in _PROGRAMS]
    own = [number for number in here if (bot := task.seats[number].entrant.bot) is not None and bot.has_own_traits]
    for number in own:  # first, so that the new processes contain no agent of this process
        seat = task.seats[number]
        with journal.asked(number):
            seats[number] = SeparateSeat(seat, partial(_leave_game, journal, seat.entrant))
    together = {number: task.seats[number] for number in here if number not in own}
    _limit_memory(seat.entrant for seat in together.values() if seat.entrant.kind == "bot")
    for number, seat in together.items():
        with journal.asked(number):
            seats[number] = local_seat(seat)
    for number, seat in enumerate(task.seats):
        if number not in scripts and seat.entrant.kind == "stdio":
            seats[number] = StdioSeat(seat.entrant, logs[number])
    asked = [seat for seat in seats if seat is not None]
    if len(asked) == SEATS:
        return play(task, asked, journal)
    from vindibot.arena.hosting import play_hosted

    return play_hosted(task, seats, journal, logs)
