"""The dispatcher gives games to players of games, and collects the played games.

A factory makes the players of games. It decides where games are played: in processes of this machine
(`vindibot.arena.games.LocalGames`) or elsewhere. If a game fails, it is played again. If it fails again, it is given up, and
counts for nobody.
"""

from __future__ import annotations

import contextlib
import math
import time
from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import BrokenExecutor, CancelledError, Future
from dataclasses import dataclass, field
from queue import Empty, SimpleQueue
from typing import Protocol

import structlog

from vindibot.arena.referee import GameRun, line_of
from vindibot.arena.results import MachineStatus, PlayedGame
from vindibot.arena.schedule import GameTask
from vindibot.arena.seats.seat import Forfeit
from vindibot.base.errors import VindibotError
from vindibot.base.interrupts import Stop
from vindibot.engine.jobs import JobEndedError
from vindibot.games.outcome import Reason

#: Number of failed attempts after which the dispatcher gives a game up.
ATTEMPTS = 2
#: Largest number of processes and players of games that end without a finished game between them, in addition to the number of
#: games at once. If there is one more, the tournament ends with an error.
MOST_DEATHS = 12
#: Seconds between two checks of `Stop`.
CHECK_SECONDS = 0.2

_log = structlog.get_logger("vindibot.arena")


class GamePlayers(Protocol):
    """Plays games in several processes at once."""

    def submit(self, task: GameTask) -> Future[PlayedGame]:
        """Play a game. Raises `BrokenExecutor` if no more games can be played. A game that has begun cannot be cancelled."""
        raise NotImplementedError

    def kill(self) -> None:
        """End all running games now."""

    def shutdown(self) -> None:
        """End all processes after the last game."""


@dataclass(frozen=True)
class Elsewhere:
    """Functions to play games on other machines. The results of `slots` and `machines` may change between two calls.

    `factory` returns new players of games. `slots` returns the number of games that the machines can play at once. `machines`
    returns the present state of each machine.
    """

    factory: Callable[[], GamePlayers]
    slots: Callable[[], int]
    machines: Callable[[], Sequence[MachineStatus]]


@dataclass
class Dispatcher:
    """Plays games with the players that `factory` makes. At most `slots` games run at a time.

    If `slots` is a function, the number that it returns may change during the tournament. If something fails, the dispatcher
    calls `notify` with a line of text for people. If `stop` is requested, the running games may take `last_seconds` seconds.
    """

    factory: Callable[[], GamePlayers]
    slots: int | Callable[[], int]
    notify: Callable[[str], None] = lambda text: None
    stop: Stop = field(default_factory=Stop)
    last_seconds: float = math.inf
    _lost: deque[GameTask] = field(default_factory=deque)
    _failures: Counter[str] = field(default_factory=Counter)
    _given_up: list[PlayedGame] = field(default_factory=list)
    _done: SimpleQueue[Future[PlayedGame]] = field(default_factory=SimpleQueue)
    _players: GamePlayers | None = None
    _deaths: int = 0

    def run(self, tasks: Iterable[GameTask | None]) -> Iterator[PlayedGame]:
        """Play all games, and yield each game when it ends. Return early if `stop` is requested.

        If `tasks` yields None, no game can begin before a game ends.

        Raises `VindibotError` if workers die again and again without a finished game. Errors of `factory` are not caught.
        """
        remaining = iter(tasks)
        running: dict[Future[PlayedGame], GameTask] = {}
        reported, latest = False, math.inf  # whether a line has said that games are still played, and until when
        try:
            while not self.stop.now and time.monotonic() < latest:
                if self.stop.soon:
                    _cancel_waiting(running)
                    if running and not reported:
                        reported, latest = True, time.monotonic() + self.last_seconds
                        most = f" for at most {self.last_seconds:g} s" if self.last_seconds < math.inf else ""
                        self.notify(f"finishing the games that are running{most}; once more to stop at once")
                else:
                    self._submit(remaining, running)
                if running:
                    yield from self._collect(self._wait(), running)
                elif self.stop.soon or not self._lost:
                    yield from self._given_up
                    return
        finally:
            self._close(kill=bool(running))

    def _submit(self, remaining: Iterator[GameTask | None], running: dict[Future[PlayedGame], GameTask]) -> None:
        while len(running) < self._present_slots() and not self.stop.soon:
            task = self._lost.popleft() if self._lost else next(remaining, None)
            if task is None:
                return
            if self._players is None:
                self._players = self.factory()
            try:
                future = self._players.submit(task)
            except BrokenExecutor as problem:
                self._lost.appendleft(task)
                self.notify(f"{problem}; trying again")
                self._close(kill=True)
                self._count_death(str(problem))
                return
            running[future] = task
            future.add_done_callback(self._done.put)

    def _present_slots(self) -> int:
        return self.slots() if callable(self.slots) else self.slots

    def _wait(self) -> list[Future[PlayedGame]]:
        """Return the games that have ended since the last call. Wait for the first one, at most `CHECK_SECONDS`."""
        ended = []
        with contextlib.suppress(Empty):
            ended.append(self._done.get(timeout=CHECK_SECONDS))
            while True:
                ended.append(self._done.get_nowait())
        return ended

    def _collect(self, ended: Iterable[Future[PlayedGame]], running: dict[Future[PlayedGame], GameTask]) -> Iterator[PlayedGame]:
        for future in ended:
            task = running.pop(future, None)
            if task is None:  # the game was cancelled
                continue
            try:
                played = future.result()
            except (BrokenExecutor, CancelledError) as problem:
                self._lost.append(task)
                self._count_death(str(problem))
            except Exception as problem:
                text = str(problem) or type(problem).__name__
                self._fail(task, text.strip().rpartition("\n")[2], text)
                if isinstance(problem, JobEndedError):
                    self._count_death(text)
            else:
                self._deaths = 0
                # Games can be played. So the games that were given up are at fault themselves, and can be yielded now.
                yield from self._given_up
                self._given_up.clear()
                yield played

    def _fail(self, task: GameTask, why: str, more: str) -> None:
        """Play a game again, or give it up. `why` is the reason in a line, `more` has all lines about it."""
        self._failures[task.name] += 1
        _log.warning("a game failed", name=task.name, times=self._failures[task.name], reason=why, more=more)
        if self._failures[task.name] < ATTEMPTS:
            self.notify(f"game {task.name} failed and is played again: {why}")
            self._lost.append(task)
        else:
            self.notify(f"game {task.name} is given up: {why}")
            self._given_up.append(given_up(task, why))

    def _count_death(self, why: str) -> None:
        self._deaths += 1
        if self._deaths > MOST_DEATHS + self._present_slots():
            raise VindibotError(f"no game can be played: {why} again and again")

    def _close(self, *, kill: bool) -> None:
        """End the players of games. With `kill`, end their running games, too."""
        players, self._players = self._players, None
        if players is None:
            return
        if kill:
            players.kill()
        else:
            players.shutdown()


def _cancel_waiting(running: dict[Future[PlayedGame], GameTask]) -> None:
    """Cancel the games that have not begun, and remove them."""
    for future in [future for future in running if future.cancel()]:
        del running[future]


def given_up(task: GameTask, why: str) -> PlayedGame:
    """Return the result of a game that is given up for the reason `why`: it has no moves, and all four seats forfeit."""
    run = GameRun(stopped=Reason.ABORTED)
    for seat in run.seats:
        seat.forfeit(Forfeit(Reason.ABORTED, why))
    return PlayedGame(*line_of(task, run))
