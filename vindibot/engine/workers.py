"""The workers of a pool: requested from the fork server, read from, replaced after their death, and ended.

Nothing here blocks the event loop: it sends a request for a worker, and reads the answers when they arrive.
"""

from __future__ import annotations

import asyncio
import contextvars
import os
import select
import time
from collections.abc import Callable, Sequence
from typing import Protocol

import structlog

from vindibot.base import VindibotError
from vindibot.engine import worker
from vindibot.engine.process import Needs, WorkerProcess, fork_server
from vindibot.engine.worker import TraitPlan

log = structlog.get_logger("vindibot.engine.pool")

#: Seconds that a worker may take to import and build the traits.
START_TIMEOUT = 60.0
#: Number of deaths in a row, each before the worker was ready, after which its replacement waits for a growing pause.
START_ATTEMPTS = 3
#: Seconds to wait for a worker's exit code after the end of its answers.
EXIT_CODE_TIMEOUT = 0.05
#: Seconds after which a request that the fork server did not get, or lost, is repeated.
RETRY_AFTER = 0.1
#: Seconds to wait for the end of all workers.
END_TIMEOUT = 2.0


class WorkerEvents(Protocol):
    """Callbacks about workers. They run in the event loop and in `Workers.log_context`."""

    def on_ready(self, one: WorkerProcess) -> None:
        """A worker has built the traits and waits for requests."""

    def on_message(self, one: WorkerProcess, kind: int, number: int, trait: int, text: str) -> None:
        """A worker has sent a message about request `number` (see `vindibot.engine.worker`)."""

    def on_death(self, one: WorkerProcess) -> bool:
        """A worker has ended, killed by us or not. Returns whether to replace it."""
        raise NotImplementedError


class Workers:
    """The workers of a pool. For one event loop.

    `all` are those that are not known to have ended, ready or not. `replacements` are the seconds from each death to a ready
    replacement. `preloaded` says whether every worker was forked from a server that had loaded everything. Log lines about
    workers have the fields of `log_context` (game and turn).
    """

    def __init__(self, plans: Sequence[TraitPlan], folders: Sequence[str], events: WorkerEvents) -> None:
        self.plans, self.folders = list(plans), list(folders)
        self.all: list[WorkerProcess] = []
        self.replacements: list[float] = []
        self.preloaded = True
        self.log_context = contextvars.copy_context()
        self._events = events
        self._server = fork_server(Needs(tuple(folders), tuple(dict.fromkeys(plan.module for plan in plans))))
        self._starting: asyncio.Future[None] | None = None
        self._poll = select.poll()
        self._by_pipe: dict[int, WorkerProcess] = {}
        self._ending: list[WorkerProcess] = []  # dismissed, but not yet released
        self._failed_starts: dict[int, int] = {}
        self._died_at: dict[int, float] = {}
        self._timeout: dict[WorkerProcess, asyncio.TimerHandle] = {}  # of workers that are not ready
        self._changed = asyncio.Event()
        self._failure = ""
        self._closed = False

    async def start(self, count: int) -> None:
        """Add `count` workers and wait until each has built the traits. Raises `VindibotError` if that fails."""
        await self._ensure_server()
        for index in range(count):
            self.add(index)
        try:
            async with asyncio.timeout(START_TIMEOUT):
                while not all(one.ready for one in self.all):
                    if self._failure:
                        raise VindibotError(f"a worker process could not build the bot's traits: {self._failure}")
                    self._changed.clear()
                    await self._changed.wait()
        except TimeoutError:
            raise VindibotError(f"the worker processes were not ready after {START_TIMEOUT:.0f} s") from None

    async def close(self) -> None:
        """End all workers and the processes that they have started. Takes at most `END_TIMEOUT`."""
        self._closed = True
        for one in list(self.all):
            self.end(one)
        try:
            async with asyncio.timeout(END_TIMEOUT):
                while any(one.pid for one in self._ending):  # one without a process id starts later, and sees its leash closed
                    self._changed.clear()
                    await self._changed.wait()
        except TimeoutError:
            log.warning("workers do not end", pids=[one.pid for one in self._ending])
        finally:
            for one in list(self._ending):
                self._release(one)

    def poll(self, seconds: float) -> None:
        """Wait for answers without the event loop, at most `seconds`, and read them."""
        for pipe, _ in self._poll.poll(seconds * 1000):
            if pipe in self._by_pipe:
                self._read_answers(self._by_pipe[pipe])

    # -- new workers --

    def add(self, index: int, only: int | None = None) -> WorkerProcess:
        """A worker that has been requested and is not `ready` yet. `only` is its one trait, None for any. Never waits."""
        one = WorkerProcess(index, self.plans, self.folders, only)
        self.all.append(one)
        loop = asyncio.get_running_loop()
        loop.add_reader(one.answers, self._with_log_context, self._read_answers, one)
        loop.add_reader(one.status, self._with_log_context, self._read_status, one)
        self._timeout[one] = loop.call_later(START_TIMEOUT, self._overdue, one)
        self._poll.register(one.answers, select.POLLIN)
        self._by_pipe[one.answers] = one
        if not one.request_from(self._server):
            self._retry(one)
        return one

    def _retry(self, one: WorkerProcess) -> None:
        """Request a worker again. Start the fork server first if it has ended, in a thread."""
        if self._closed or one.dead:
            return
        if self._server.is_running():
            if not one.request_from(self._server):
                self._retry_later(one)
            return
        starting = self._ensure_server()
        starting.add_done_callback(lambda _: self._retry(one) if self._server.is_running() else self._retry_later(one))

    def _retry_later(self, one: WorkerProcess) -> None:
        asyncio.get_running_loop().call_later(RETRY_AFTER, self._retry, one)

    def _ensure_server(self) -> asyncio.Future[None]:
        """Start the fork server in a thread, unless it runs or is being started."""
        if self._starting is None or self._starting.done():
            self._starting = asyncio.get_running_loop().run_in_executor(None, self._server.start)
        return self._starting

    def _overdue(self, one: WorkerProcess) -> None:
        log.error("a worker was not ready in time", worker=one.index, absence_timeout_s=START_TIMEOUT)
        if one.pid:
            one.kill()
        else:  # the fork server does not answer
            asyncio.get_running_loop().run_in_executor(None, self._server.close)

    def _replace(self, one: WorkerProcess) -> None:
        """Replace a worker that has died: at once, or after a growing pause if it dies repeatedly before it is ready."""
        self._died_at.setdefault(one.index, time.monotonic())
        failed = self._failed_starts[one.index] = 0 if one.ready else self._failed_starts.get(one.index, 0) + 1
        if failed < START_ATTEMPTS:
            self.add(one.index)
            return
        self._failure = self._failure or "it dies before it is ready"
        self._changed.set()
        pause = min(30.0, 0.25 * 2 ** (failed - START_ATTEMPTS))
        log.error("worker dies before it is ready", worker=one.index, reason=self._failure, next_try_s=pause)
        asyncio.get_running_loop().call_later(pause, self._add_unless_closed, one.index)

    def _add_unless_closed(self, index: int) -> None:
        if not self._closed:
            self.add(index)

    # -- answers --

    def _with_log_context(self, react: Callable[[WorkerProcess], None], one: WorkerProcess) -> None:
        """Call `react` so that log lines name the current game and turn, and not those of the worker's start."""
        self.log_context.run(react, one)

    def _read_answers(self, one: WorkerProcess) -> None:
        try:
            data = os.read(one.answers, 1 << 16)
        except BlockingIOError:
            return
        if not data:
            self._forget_answers(one)
            if not one.dead:  # the exit code follows soon, if the fork server lives
                timeout = 0.0 if one.gone else EXIT_CODE_TIMEOUT
                asyncio.get_running_loop().call_later(timeout, self._with_log_context, self._died, one)
            return
        one.buffer += data
        try:
            messages = worker.decode_messages(one.buffer, len(self.plans))
        except ValueError as problem:
            log.error("worker sent an invalid message", worker=one.index, reason=str(problem))  # noqa: TRY400  # no error of ours
            self._forget_answers(one)
            self._died(one)
            return
        for kind, number, trait, text in messages:
            if kind == worker.READY:
                self._became_ready(one, preloaded=text == worker.PRELOADED)
            elif kind == worker.FAILED:
                self._failure = text
                self._changed.set()
            elif not one.dead:
                self._events.on_message(one, kind, number, trait, text)

    def _became_ready(self, one: WorkerProcess, *, preloaded: bool) -> None:
        if one.dead:
            return
        one.ready = True
        self._timeout.pop(one).cancel()
        self.preloaded &= preloaded
        self._failed_starts[one.index] = 0
        died = self._died_at.pop(one.index, None)
        if died is not None:
            self.replacements.append(time.monotonic() - died)
            log.info("worker replaced", worker=one.index, ms=round(self.replacements[-1] * 1000, 1))
        self._changed.set()
        self._events.on_ready(one)

    def _read_status(self, one: WorkerProcess) -> None:
        one.read_status()
        if one.exit_code is not None:
            self._died(one)
        if one.gone:
            asyncio.get_running_loop().remove_reader(one.status)
            if one in self._ending:
                asyncio.get_running_loop().call_soon(self._release, one)
            elif not one.pid:  # the fork server died with our request
                self._died(one)

    # -- the end --

    def _died(self, one: WorkerProcess) -> None:
        """Remove a worker that has ended or sends invalid messages, and replace it if need be."""
        if one.dead:
            return
        if one.answers in self._by_pipe:
            self._read_answers(one)  # its last messages
        if one.dead:
            return
        started = one.pid != 0
        self.end(one)
        if self._closed:
            return
        if not started:
            if one.only is None:
                asyncio.get_running_loop().call_later(RETRY_AFTER, self._add_unless_closed, one.index)
            return
        log.warning("worker died", worker=one.index, exit_code=one.exit_code)
        if self._events.on_death(one):
            self._replace(one)

    def end(self, one: WorkerProcess) -> None:
        """End a worker without a replacement."""
        one.dead = True
        if not one.ready:
            self._timeout.pop(one).cancel()
        self.all.remove(one)
        self._forget_answers(one)
        one.kill()
        self._ending.append(one)
        if one.gone or not one.requested:
            asyncio.get_running_loop().call_soon(self._release, one)

    def _release(self, one: WorkerProcess) -> None:
        if one in self._ending:
            self._ending.remove(one)
            asyncio.get_running_loop().remove_reader(one.status)
            one.close()
            self._changed.set()

    def _forget_answers(self, one: WorkerProcess) -> None:
        if self._by_pipe.pop(one.answers, None) is not None:
            asyncio.get_running_loop().remove_reader(one.answers)
            self._poll.unregister(one.answers)
