"""Workers on this machine: processes that play one game after another, born warm from a fork server."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import BrokenExecutor, Future, ProcessPoolExecutor
from typing import ParamSpec, TypeVar

from vindibot.arena.entrants import Entrant
from vindibot.arena.sandbox import become_worker
from vindibot.engine import Needs, context

P = ParamSpec("P")
R = TypeVar("R")


class LocalExecutor(ProcessPoolExecutor):
    """A pool of processes that can be ended at once, in the middle of a game, and end with us, however we end."""

    def __init__(self, workers: int, needs: Sequence[Needs]) -> None:
        self._needs = needs
        chosen = context(*needs)
        # No worker has the other end of this pipe: it breaks when this process is gone.
        lifeline, self._held = chosen.Pipe(duplex=False)
        super().__init__(workers, mp_context=chosen, initializer=become_worker, initargs=(lifeline,))

    def submit(self, fn: Callable[P, R], /, *args: P.args, **kwargs: P.kwargs) -> Future[R]:
        """As of any executor. Raises `BrokenExecutor` if a worker cannot be started: its fork server was killed, say."""
        try:
            context(*self._needs)  # the fork server that starts workers, anew if it has ended since
            return super().submit(fn, *args, **kwargs)
        except (ConnectionError, EOFError) as problem:
            raise BrokenExecutor("no worker could be started: the process that starts them has ended") from problem
        except OSError as problem:
            raise BrokenExecutor(f"no worker could be started: {problem.strerror}") from problem

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """As of any executor. Without `wait`, workers are ended."""
        super().shutdown(wait, cancel_futures=cancel_futures)
        self._held.close()

    def kill(self) -> None:
        """End all workers now; with each ends the game it plays, and the programs in it."""
        for process in list((self._processes or {}).values()):
            process.kill()


def local_workers(entrants: Sequence[Entrant], workers: int) -> Callable[[], LocalExecutor]:
    """What makes executors of so many workers for these entrants."""
    bots = [entrant.bot for entrant in entrants if entrant.bot is not None]
    ours = ["vindibot.arena.sandbox"]
    if any(entrant.kind == "http" for entrant in entrants):
        ours.append("vindibot.arena.hosting")
    needs = [Needs(modules=tuple(ours)), *(Needs(bot.folders, bot.modules) for bot in bots)]

    def make() -> LocalExecutor:
        return LocalExecutor(workers, needs)

    return make
