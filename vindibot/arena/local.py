"""Workers on this machine: processes that play one game after another.

A fork server makes the workers. It has loaded the compiled kernels, so a new worker can play at once.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import BrokenExecutor, Future, ProcessPoolExecutor
from functools import partial
from multiprocessing.connection import Connection
from typing import Any, ParamSpec, TypeVar

from vindibot.arena.entrants import Entrant
from vindibot.arena.sandbox import become_worker
from vindibot.engine import context, pool_context
from vindibot.processes import Needs

P = ParamSpec("P")
R = TypeVar("R")


class LocalExecutor(ProcessPoolExecutor):
    """A pool of worker processes, which can be killed during a game. They also end if this process ends for any reason.

    `workers` is the number of processes. `needs` says what the fork server must load before it makes workers. Each worker first
    calls `prepare` with `arguments`.
    """

    def __init__(self, workers: int, needs: Sequence[Needs], prepare: Callable[..., None] | None = None, *arguments: Any) -> None:
        self._needs = needs
        chosen = pool_context(*needs)
        # Only this process has the other end of this pipe. So the pipe breaks when this process ends.
        lifeline, self._held = chosen.Pipe(duplex=False)
        super().__init__(workers, mp_context=chosen, initializer=_begin, initargs=(lifeline, prepare, arguments))

    def submit(self, fn: Callable[P, R], /, *args: P.args, **kwargs: P.kwargs) -> Future[R]:
        """See `Executor`. Raises `BrokenExecutor` if no worker can be started, for example because the fork server has ended."""
        try:
            context(*self._needs)  # starts the fork server again if it has ended
            return super().submit(fn, *args, **kwargs)
        except (ConnectionError, EOFError) as problem:
            raise BrokenExecutor("no worker could be started: the process that starts them has ended") from problem
        except OSError as problem:
            raise BrokenExecutor(f"no worker could be started: {problem.strerror}") from problem

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """See `Executor`. Without `wait`, the workers end immediately."""
        super().shutdown(wait, cancel_futures=cancel_futures)
        self._held.close()

    def kill(self) -> None:
        """Kill all workers immediately. Their running games and the programs in these games end too."""
        for process in list((self._processes or {}).values()):
            process.kill()


def _begin(lifeline: Connection, prepare: Callable[..., None] | None, arguments: Sequence[Any]) -> None:
    """Prepare this process as a worker."""
    become_worker(lifeline)
    if prepare is not None:
        prepare(*arguments)


def local_workers(entrants: Sequence[Entrant], workers: int) -> Callable[[], LocalExecutor]:
    """Return a factory for executors. Each executor has `workers` workers that have already loaded the bots of `entrants`."""
    modules = ["vindibot.arena.sandbox"]
    if any(entrant.kind == "http" for entrant in entrants):
        modules.append("vindibot.arena.hosting")
    bots = [entrant.bot for entrant in entrants if entrant.bot is not None]
    needs = [Needs(modules=tuple(modules)), *(Needs(bot.folders, bot.modules) for bot in bots)]
    return partial(LocalExecutor, workers, needs)
