"""Workers for a review and for the checks of traits: processes of `multiprocessing` that end with their parent."""

from __future__ import annotations

import contextlib
import fcntl
import os
import select
import signal
from collections.abc import Callable, Sequence
from concurrent.futures import BrokenExecutor, Future, ProcessPoolExecutor
from multiprocessing.connection import Connection
from posix import _exit  # not `os._exit`, which is replaced while modules of bots are imported
from typing import Any, ParamSpec, TypeVar

from vindibot.base import adopt_orphans, end_descendants
from vindibot.engine import context, pool_context
from vindibot.processes import Needs

P = ParamSpec("P")
R = TypeVar("R")


def become_worker(lifeline: Connection | None = None) -> None:
    """Make this process a worker. A worker ignores Ctrl-C, which its parent handles. It ends processes that bots leave behind.

    `lifeline` is the reading end of a pipe. Only the arena's process has the writing end. If the arena's process ends, the pipe
    breaks, and the worker ends too.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})  # the fork server blocks it, but programs of bots may need it
    adopt_orphans()
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
