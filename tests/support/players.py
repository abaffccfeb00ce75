"""Players of games for tests: they call a function of the test for each game."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

from vindibot.arena.results import PlayedGame
from vindibot.arena.schedule import GameTask


class AtOnce:
    """Plays each game at once, in this thread."""

    def __init__(self, play: Callable[[GameTask], PlayedGame]) -> None:
        self.play = play

    def submit(self, task: GameTask) -> Future[PlayedGame]:
        future: Future[PlayedGame] = Future()
        try:
            future.set_result(self.play(task))
        except Exception as problem:
            future.set_exception(problem)
        return future

    def kill(self) -> None:
        """Do nothing: no game runs."""

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """Do nothing."""


class Threads(AtOnce):
    """Plays games in threads."""

    def __init__(self, workers: int, play: Callable[[GameTask], PlayedGame]) -> None:
        super().__init__(play)
        self.pool = ThreadPoolExecutor(workers)

    def submit(self, task: GameTask) -> Future[PlayedGame]:
        return self.pool.submit(self.play, task)

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        self.pool.shutdown(wait, cancel_futures=cancel_futures)


def at_once(play: Callable[[GameTask], PlayedGame]) -> Callable[[], Any]:
    """Return a factory of `AtOnce`."""
    return lambda: AtOnce(play)


def threads(workers: int, play: Callable[[GameTask], PlayedGame]) -> Callable[[], Any]:
    """Return a factory of `Threads`."""
    return lambda: Threads(workers, play)
