"""Independent jobs in processes that the fork server forks: games of a tournament, turns of a review.

A process does one job after another. If it ends or is late, only its job fails, and a new process takes its place. The package
Pebble does all of this.
"""

from __future__ import annotations

import contextlib
import os
import signal
import threading
import traceback
from collections.abc import Callable
from concurrent.futures import BrokenExecutor, Future
from functools import partial
from typing import Any, TypeVar

from pebble import CONSTS, ProcessExpired, ProcessFuture, ProcessPool

from vindibot.base.errors import VindibotError
from vindibot.base.orphans import adopt_orphans, children, die_with_parent, end_descendants, name_process
from vindibot.base.system import require_children
from vindibot.engine.forkserver import CONTEXT
from vindibot.engine.worker_process import code_words

#: The name of the processes, as ``ps`` shows it.
NAME = "vindibot-job"
#: Seconds that a process waits for a lock of the pool. If a process was killed while it had the lock, all others end after twice
#: this time.
CONSTS.channel_lock_timeout = 5

Argument = TypeVar("Argument")
Result = TypeVar("Result")


class JobError(VindibotError):
    """A job has failed. The message is the traceback of the exception that its function has raised."""


class JobEndedError(JobError):
    """The process of a job has ended or was late. The message says how."""


class JobPool:
    """Runs jobs in `workers` processes. Each process first calls `prepare`. Raises `VindibotError` if it cannot have any."""

    def __init__(self, workers: int, prepare: Callable[[], object] | None = None) -> None:
        require_children()
        try:
            CONTEXT.Lock()
        except (ImportError, OSError) as problem:
            raise VindibotError(f"jobs in processes need semaphores, which lie in /dev/shm: {problem}") from None
        self._new_pool = partial(ProcessPool, workers, initializer=_begin, initargs=(prepare,), context=CONTEXT)
        self._pool = self._new_pool()
        self._lock, self._ended = threading.Lock(), False

    def submit(self, function: Callable[[Argument], Result], argument: Argument, seconds: float) -> Future[Result]:
        """Run ``function(argument)`` in a process. If it takes longer than `seconds`, the process is killed.

        The future fails with `JobError`, or with `BrokenExecutor` if processes end before they take jobs. Then the next job gets
        new processes. Raises `BrokenExecutor` if no process can be started. A job that has begun cannot be cancelled.
        """
        try:
            with self._lock:
                if not (self._ended or self._pool.active):
                    self._pool.stop()
                    self._pool.join()
                    self._pool = self._new_pool()
                job = self._pool.schedule(_run, (function, argument), timeout=seconds)
        except (OSError, RuntimeError) as problem:
            raise BrokenExecutor(f"no process can be started: {problem.__cause__ or problem}") from None
        future: _JobFuture[Result] = _JobFuture(job)
        job.add_done_callback(partial(_settle, future, seconds))
        return future

    def kill(self) -> None:
        """Kill all processes with their jobs."""
        self._ended = True
        self._pool.stop()
        self._pool.join()

    def close(self) -> None:
        """End the processes after the last job."""
        self._ended = True
        self._pool.close()
        self._pool.join()


class _JobFuture(Future[Result]):
    def __init__(self, job: ProcessFuture[Result]) -> None:
        super().__init__()
        self._job = job

    def cancel(self) -> bool:
        return not self._job.running() and self._job.cancel() and super().cancel()


def _settle(future: Future[Any], seconds: float, job: Future[Any]) -> None:
    """Give the result of `job`, which is done, to `future`."""
    if job.cancelled() or not future.set_running_or_notify_cancel():
        future.cancel()
        return
    match job.exception():
        case None:
            future.set_result(job.result())
        case ProcessExpired() as problem:
            future.set_exception(JobEndedError(f"its process ended with {code_words(problem.exitcode)}"))
        case TimeoutError():
            future.set_exception(JobEndedError(f"it took more than {seconds:g} s"))
        case problem:
            future.set_exception(problem)


# ---- In a process ----


def _begin(prepare: Callable[[], object] | None) -> None:
    die_with_parent()
    signal.signal(signal.SIGTERM, signal.SIG_DFL)  # it has to end also if a kernel runs
    name_process(NAME)
    adopt_orphans()
    _end_orphans()
    if prepare is not None:
        prepare()


def _end_orphans() -> None:
    """Kill what jobs that were killed have left: programs and their children, which have sessions of their own."""
    for process in children(os.getppid()):
        with contextlib.suppress(OSError):  # it has ended
            if os.getsid(process) != os.getsid(0):
                os.kill(process, signal.SIGKILL)


def _run(function: Callable[[Any], Any], argument: Any) -> Any:
    try:
        return function(argument)
    except Exception:
        raise JobError(traceback.format_exc()) from None
    finally:
        end_descendants()
