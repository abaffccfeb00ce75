"""The dispatcher gives games to an executor of `concurrent.futures`, and collects the played games.

A factory makes the executors. The factory decides where games are played: in processes of this machine
(`vindibot.arena.local`) or elsewhere. If a worker dies, its executor takes no more games, and all running games are lost. Then
the dispatcher makes a new executor, and plays the lost games again, one at a time. So it finds a game that kills its worker, and
gives this game up.
"""

from __future__ import annotations

import contextlib
from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import BrokenExecutor, CancelledError, Executor, Future
from dataclasses import dataclass, field
from queue import Empty, SimpleQueue

import structlog

from vindibot.arena.hosts import MachineStatus
from vindibot.arena.referee import GameRun, line_of
from vindibot.arena.sandbox import PlayedGame, play_task
from vindibot.arena.schedule import GameTask
from vindibot.arena.seats import Forfeit
from vindibot.base import VindibotError
from vindibot.games import Reason

#: Number of failed attempts after which the dispatcher gives a game up. An attempt counts only if the game itself is at fault.
ATTEMPTS = 2
#: Largest number of new executors in a row without a finished game. If one more is needed, the tournament ends with an error.
MAX_RESTARTS = 12
#: Seconds between two checks of `Stop`.
CHECK_SECONDS = 0.2

_log = structlog.get_logger("vindibot.arena")


@dataclass
class Stop:
    """A request to stop the games.

    If `soon` is true, no more games start, but the running games are played to their end. If `now` is true, the running games end
    at once. `asked` says that a person has asked, and should know that games are still played.
    """

    soon: bool = False
    now: bool = False
    asked: bool = False


@dataclass(frozen=True)
class Elsewhere:
    """Functions to play games on other machines. The results of `slots` and `machines` may change between two calls.

    `factory` returns a new executor. `slots` returns the number of games that the machines can play at once. `machines` returns
    the present state of each machine.
    """

    factory: Callable[[], Executor]
    slots: Callable[[], int]
    machines: Callable[[], Sequence[MachineStatus]]


@dataclass
class Dispatcher:
    """Plays games on the executors that `factory` makes. At most `slots` games run at a time.

    If `slots` is a function, the number that it returns may change during the tournament. The executors call `play` for each
    game. If something fails, the dispatcher calls `notify` with a line of text for people.

    A game is lost if its worker dies. If `alone` is true, each lost game is played again while no other game runs. So it is known
    whether this game kills its worker. Set `alone` to False if each game has a process of its own, so that no game can end
    another game.
    """

    factory: Callable[[], Executor]
    slots: int | Callable[[], int]
    play: Callable[[GameTask], PlayedGame] = play_task
    notify: Callable[[str], None] = lambda text: None
    stop: Stop = field(default_factory=Stop)
    alone: bool = True
    _lost: deque[GameTask] = field(default_factory=deque)
    _failures: Counter[str] = field(default_factory=Counter)
    _given_up: list[PlayedGame] = field(default_factory=list)
    _done: SimpleQueue[Future[PlayedGame]] = field(default_factory=SimpleQueue)
    _executor: Executor | None = None
    _restarts: int = 0

    def run(self, tasks: Iterable[GameTask]) -> Iterator[PlayedGame]:
        """Play all games, and yield each game when it ends. Return early if `stop` is requested.

        Raises `VindibotError` if more than `MAX_RESTARTS` executors in a row break without a finished game. Errors of `factory`
        are not caught.
        """
        remaining = iter(tasks)
        running: dict[Future[PlayedGame], GameTask] = {}
        try:
            while not self.stop.now:
                if self.stop.soon:
                    _cancel_waiting(running)
                    if running and self.stop.asked:
                        self.stop.asked = False
                        self.notify("finishing the games that are running; once more to stop at once")
                else:
                    self._submit(remaining, running)
                if running:
                    yield from self._collect(self._wait(), running)
                elif self.stop.soon or not self._lost:
                    yield from self._given_up
                    return
        finally:
            self._close()

    def _submit(self, remaining: Iterator[GameTask], running: dict[Future[PlayedGame], GameTask]) -> None:
        slots = self.slots() if callable(self.slots) else self.slots
        while len(running) < slots and not self.stop.soon:
            if self._lost and running and self.alone:
                return  # a lost game is played alone, so it waits until no other game runs
            task = self._lost.popleft() if self._lost else next(remaining, None)
            if task is None:
                return
            alone = self.alone and task.name in self._failures
            if self._executor is None:
                self._executor = self.factory()
            try:
                future = self._executor.submit(self.play, task)
            except BrokenExecutor as problem:
                self._lost.appendleft(task)
                self._failures.setdefault(task.name, 0)
                self.notify(f"{problem}; trying again")
                self._restart(str(problem))
                return
            running[future] = task
            future.add_done_callback(self._done.put)
            if alone:
                return

    def _wait(self) -> list[Future[PlayedGame]]:
        """Return the games that have ended since the last call. Wait for the first one, at most `CHECK_SECONDS`."""
        found = []
        with contextlib.suppress(Empty):
            found.append(self._done.get(timeout=CHECK_SECONDS))
            while True:
                found.append(self._done.get_nowait())
        return found

    def _collect(self, ended: Iterable[Future[PlayedGame]], running: dict[Future[PlayedGame], GameTask]) -> Iterator[PlayedGame]:
        broken: list[GameTask] = []
        for future in ended:
            task = running.pop(future, None)
            if task is None:  # the game was cancelled, or it is played again
                continue
            try:
                played = future.result()
            except (BrokenExecutor, CancelledError):
                broken.append(task)
            except Exception as problem:
                self._fail(task, str(problem) or type(problem).__name__)
            else:
                self._restarts = 0
                # The workers can play games. So the games that were given up are at fault themselves, and can be yielded now.
                yield from self._given_up
                self._given_up.clear()
                yield played
        if broken:
            broken += running.values()
            running.clear()
            self._replay(broken)

    def _replay(self, lost: list[GameTask]) -> None:
        """Play the lost games of a broken executor again, one at a time. If only one game was lost, count it as failed."""
        if self.stop.soon:
            self._close()
            return
        self._restart()
        for task in lost:
            self._failures.setdefault(task.name, 0)
        if not self.alone:
            self._lost.extend(lost)
        elif len(lost) > 1:
            self.notify(f"a worker died: {len(lost)} games are played again, one at a time")
            self._lost.extend(sorted(lost, key=lambda task: task.name))
        else:
            self._fail(lost[0], "its worker died")

    def _fail(self, task: GameTask, why: str) -> None:
        self._failures[task.name] += 1
        _log.warning("a game failed", name=task.name, times=self._failures[task.name], reason=why)
        if self._failures[task.name] < ATTEMPTS:
            self.notify(f"game {task.name} failed and is played again: {why.splitlines()[0]}")
            self._lost.append(task)
        else:
            self.notify(f"game {task.name} is given up: {why.splitlines()[0]}")
            self._given_up.append(given_up(task, why))

    def _restart(self, why: str = "") -> None:
        self._close()
        self._restarts += 1
        if self._restarts > MAX_RESTARTS:
            raise VindibotError(f"no game can be played: {why or 'the workers die'} again and again")

    def _close(self) -> None:
        """Shut the executor down. Kill its running games if the stop is immediate, or if an executor has broken."""
        executor, self._executor = self._executor, None
        if executor is None:
            return
        kill = getattr(executor, "kill", None)
        if kill is not None and (self.stop.now or self._restarts or self._lost):
            kill()
        executor.shutdown(wait=not self.stop.now, cancel_futures=True)


def _cancel_waiting(running: dict[Future[PlayedGame], GameTask]) -> None:
    """Cancel the games that no worker has begun, and remove them."""
    for future in [future for future in running if future.cancel()]:
        del running[future]


def given_up(task: GameTask, why: str) -> PlayedGame:
    """Return the result of a game that is given up: it has no moves, and all four seats forfeit.

    The message of the forfeits is the last line of `why`.
    """
    run = GameRun(stopped=Reason.ABORTED)
    for seat in run.seats:
        seat.forfeit(Forfeit(Reason.ABORTED, why.strip().splitlines()[-1]))
    return PlayedGame(*line_of(task, run))
