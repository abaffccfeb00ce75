"""Workers on this machine: processes that play one game after another, forked from a server with compiled kernels."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import BrokenExecutor, Future, ProcessPoolExecutor
from functools import partial
from typing import ParamSpec, TypeVar

from vindibot.arena.entrants import Entrant
from vindibot.arena.sandbox import become_worker
from vindibot.engine import Needs, context

P = ParamSpec("P")
R = TypeVar("R")


class LocalExecutor(ProcessPoolExecutor):
    """A pool of processes that can be killed during a game, and that end with this process, however it ends."""

    def __init__(self, workers: int, needs: Sequence[Needs]) -> None:
        self._needs = needs
        chosen = context(*needs)
        # No worker has the other end of this pipe: it breaks when this process ends.
        lifeline, self._held = chosen.Pipe(duplex=False)
        super().__init__(workers, mp_context=chosen, initializer=become_worker, initargs=(lifeline,))

    def submit(self, fn: Callable[P, R], /, *args: P.args, **kwargs: P.kwargs) -> Future[R]:
        """See `Executor`. Raises `BrokenExecutor` if a worker cannot be started, for example without its fork server."""
        try:
            context(*self._needs)  # starts the fork server again if it has ended
            return super().submit(fn, *args, **kwargs)
        except (ConnectionError, EOFError) as problem:
            raise BrokenExecutor("no worker could be started: the process that starts them has ended") from problem
        except OSError as problem:
            raise BrokenExecutor(f"no worker could be started: {problem.strerror}") from problem

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """See `Executor`. Without `wait`, the workers end."""
        super().shutdown(wait, cancel_futures=cancel_futures)
        self._held.close()

    def kill(self) -> None:
        """Kill all workers now, with the games that they play and the programs in them."""
        for process in list((self._processes or {}).values()):
            process.kill()


def local_workers(entrants: Sequence[Entrant], workers: int) -> Callable[[], LocalExecutor]:
    """Return a factory of executors with this number of workers, which have loaded what these entrants need."""
    modules = ["vindibot.arena.sandbox"]
    if any(entrant.kind == "http" for entrant in entrants):
        modules.append("vindibot.arena.hosting")
    bots = [entrant.bot for entrant in entrants if entrant.bot is not None]
    needs = [Needs(modules=tuple(modules)), *(Needs(bot.folders, bot.modules) for bot in bots)]
    return partial(LocalExecutor, workers, needs)
