"""Handing out games: to an executor of `concurrent.futures` that can be asked for anew, and to nothing else.

Where the games are played is the factory's business: processes of this machine (`vindibot.arena.local`) or anything else
that has an `Executor`. A worker that dies breaks the standard one for good, so it is asked for anew and the games that
were lost are played again, one at a time: a game that takes its worker with it is found out, and gets an ending of
its own in the end.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, BrokenExecutor, CancelledError, Executor, Future, wait
from dataclasses import dataclass, field

import structlog

from vindibot.arena.referee import GameRun, line_of
from vindibot.arena.sandbox import PlayedGame, play_task
from vindibot.arena.schedule import GameTask
from vindibot.arena.seats import Forfeit
from vindibot.base import VindibotError
from vindibot.games import Reason

#: A game is given up when it has failed so often by itself.
ATTEMPTS = 2
#: Executors that break one after another without a single game played, before that is taken for what it is.
MAX_RESTARTS = 12
#: Seconds between two looks whether to stop.
LOOK = 0.2

_log = structlog.get_logger("vindibot.arena")


@dataclass
class Stop:
    """How much of a hurry there is: `soon` lets the running games end, `now` does not."""

    soon: bool = False
    now: bool = False


@dataclass
class Dispatcher:
    """Plays games on executors that `factory` makes, `slots` at a time. `play` is what an executor is given to do; `tell`
    gets a line for people when something goes wrong."""

    factory: Callable[[], Executor]
    slots: int
    play: Callable[[GameTask], PlayedGame] = play_task
    tell: Callable[[str], None] = lambda text: None
    stop: Stop = field(default_factory=Stop)
    _again: deque[GameTask] = field(default_factory=deque)
    _failures: Counter[str] = field(default_factory=Counter)
    _executor: Executor | None = None
    _held: list[PlayedGame] = field(default_factory=list)
    _hopeless: int = 0

    def run(self, tasks: Iterable[GameTask]) -> Iterator[PlayedGame]:
        """Play all games and hand over each as it ends, in any order, every one once. Ends early when told to `stop`.

        Raises `VindibotError` if no executor holds, and whatever the factory raises.
        """
        ahead = iter(tasks)
        running: dict[Future[PlayedGame], GameTask] = {}
        try:
            while not self.stop.now:
                if not self.stop.soon:
                    self._hand_out(ahead, running)
                if not running:
                    if self._again and not self.stop.soon:
                        continue
                    yield from self._release()
                    return
                wait(running, timeout=LOOK, return_when=FIRST_COMPLETED)
                yield from self._collect(running)
        finally:
            self._close()

    def _hand_out(self, ahead: Iterator[GameTask], running: dict[Future[PlayedGame], GameTask]) -> None:
        while len(running) < self.slots and not self.stop.soon:
            if self._again:
                if running:
                    return  # what was lost is played alone
                task: GameTask | None = self._again.popleft()
            else:
                task = next(ahead, None)
            if task is None:
                return
            alone = task.name in self._failures
            if self._executor is None:
                self._executor = self.factory()
            try:
                running[self._executor.submit(self.play, task)] = task
            except BrokenExecutor as problem:
                self._again.appendleft(task)
                self._failures.setdefault(task.name, 0)
                self.tell(f"{problem}; trying again")
                self._rebuild(str(problem))
                return
            if alone:
                return

    def _collect(self, running: dict[Future[PlayedGame], GameTask]) -> Iterator[PlayedGame]:
        broken: list[GameTask] = []
        for future in [future for future in running if future.done()]:
            task = running.pop(future)
            try:
                played = future.result()
            except (BrokenExecutor, CancelledError):
                broken.append(task)
            except Exception as problem:
                self._failed(task, str(problem) or type(problem).__name__)
            else:
                self._hopeless = 0
                yield from self._release()
                yield played
        if broken:
            broken += running.values()
            running.clear()
            self._broken(broken)

    def _broken(self, lost: list[GameTask]) -> None:
        """The executor has broken and all its games are lost."""
        if self.stop.soon:
            self._close()
            return
        self._rebuild()
        for task in lost:
            self._failures.setdefault(task.name, 0)
        if len(lost) > 1:
            self.tell(f"a worker died: {len(lost)} games are played again, one at a time")
            self._again.extend(sorted(lost, key=lambda task: task.name))
            return
        self._failed(lost[0], "its worker died")

    def _release(self) -> Iterator[PlayedGame]:
        """The games that were given up, once it is known that others can be played: else it is not they who are to blame."""
        held, self._held = self._held, []
        yield from held

    def _failed(self, task: GameTask, why: str) -> None:
        self._failures[task.name] += 1
        _log.warning("a game failed", name=task.name, times=self._failures[task.name], reason=why)
        if self._failures[task.name] < ATTEMPTS:
            self.tell(f"game {task.name} failed and is played again: {why.splitlines()[0]}")
            self._again.append(task)
        else:
            self.tell(f"game {task.name} is given up: {why.splitlines()[0]}")
            self._held.append(given_up(task, why))

    def _rebuild(self, why: str = "") -> None:
        self._close()
        self._hopeless += 1
        if self._hopeless > MAX_RESTARTS:
            raise VindibotError(f"no game can be played: {why or 'the workers die'} again and again")

    def _close(self) -> None:
        """Let the executor go, with whatever still runs there if there is no time."""
        executor, self._executor = self._executor, None
        if executor is None:
            return
        kill = getattr(executor, "kill", None)
        if kill is not None and (self.stop.now or self._hopeless or self._again):
            kill()
        executor.shutdown(wait=not self.stop.now, cancel_futures=True)


def given_up(task: GameTask, why: str) -> PlayedGame:
    """A game that nobody could play: no ply of it is known, and nobody is to blame more than another."""
    course = GameRun(stopped=Reason.ABORTED)
    for seat in course.seats:
        seat.forfeit(Forfeit(Reason.ABORTED, why.strip().splitlines()[-1]))
    line, record = line_of(task, course)
    return PlayedGame(line, record)
