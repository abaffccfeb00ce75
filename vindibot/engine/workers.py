"""The workers of a pool. `Workers` gets them from the fork server, reads their messages, replaces dead ones, and ends them.

Answers are read when they arrive. Only `Workers.poll` blocks the event loop.
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
from vindibot.engine.parts import PartsLayout
from vindibot.engine.process import Needs, SharedParts, WorkerProcess, fork_server
from vindibot.engine.worker import TraitPlan

log = structlog.get_logger("vindibot.engine.pool")

#: Seconds that a worker may take to import and build the traits.
START_TIMEOUT = 60.0
#: If this number of workers in a row die before they are ready, each further replacement comes after a pause. Each pause is
#: longer than the pause before it.
START_ATTEMPTS = 3
#: Seconds to wait for a worker's exit code after its answer pipe has been closed.
EXIT_CODE_TIMEOUT = 0.05
#: Seconds until a worker is requested again, if the fork server has not taken the request or has died with it.
RETRY_AFTER = 0.1
#: Seconds to wait for the end of all workers.
END_TIMEOUT = 2.0


class WorkerEvents(Protocol):
    """Callbacks about workers. They run in the event loop, and log with the fields of `Workers.log_context`."""

    def on_ready(self, one: WorkerProcess) -> None:
        """Handle that a worker has built the traits and waits for requests."""

    def on_message(self, one: WorkerProcess, kind: int, number: int, trait: int, text: str) -> None:
        """Handle a message of a worker about request `number` (see `vindibot.engine.worker`)."""

    def on_death(self, one: WorkerProcess) -> bool:
        """Handle the end of a worker, even if we have killed it. Return whether to replace the worker."""
        raise NotImplementedError


class Workers:
    """The workers of a pool, for one event loop.

    - `all`: the workers, ready or not, except the ones that are known to have ended.
    - `replacements`: for each replacement so far, the seconds from the death of a worker until the replacement is ready.
    - `preloaded`: whether every worker so far came from a fork server that had already loaded all modules and kernels.
    - `log_context`: the context (game and turn) whose fields appear in the log lines about workers.
    """

    def __init__(self, plans: Sequence[TraitPlan], folders: Sequence[str], layout: PartsLayout, events: WorkerEvents) -> None:
        self.plans, self.folders = list(plans), list(folders)
        self.all: list[WorkerProcess] = []
        self.replacements: list[float] = []
        self.preloaded = True
        self.log_context = contextvars.copy_context()
        self._events = events
        self._shared = SharedParts(layout)
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
        """Add `count` workers and wait until each one has built the traits. Raises `VindibotError` if that fails."""
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
        """End all workers, and all processes that the workers have started. Takes at most `END_TIMEOUT` seconds."""
        self._closed = True
        for one in list(self.all):
            self.end(one)
        try:
            async with asyncio.timeout(END_TIMEOUT):
                while any(one.pid for one in self._ending):  # others have not started and will find their leash closed
                    self._changed.clear()
                    await self._changed.wait()
        except TimeoutError:
            log.warning("workers do not end", pids=[one.pid for one in self._ending])
        finally:
            for one in list(self._ending):
                self._release(one)
            self._shared.memory.close()

    def poll(self, seconds: float) -> None:
        """Wait at most `seconds` seconds for answers of workers, and read them. The event loop does not run meanwhile."""
        for pipe, _ in self._poll.poll(seconds * 1000):
            if pipe in self._by_pipe:
                self._read_answers(self._by_pipe[pipe])

    # -- new workers --

    def add(self, index: int, only: int | None = None) -> WorkerProcess:
        """Request a worker with number `index` from the fork server. Return its handle at once, before the worker is `ready`.

        `only` is the only trait that the worker may run, None for any.
        """
        one = WorkerProcess(index, self.plans, self.folders, self._shared, only)
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
        """Request a worker again. If the fork server has ended, first start a new one in a thread."""
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
        """Start the fork server in a thread, unless it runs or already starts. Return a future that is done after the start."""
        if self._starting is None or self._starting.done():
            self._starting = asyncio.get_running_loop().run_in_executor(None, self._server.start)
        return self._starting

    def _overdue(self, one: WorkerProcess) -> None:
        log.error("a worker was not ready in time", worker=one.index, timeout_s=START_TIMEOUT)
        if one.pid:
            one.kill()
        else:  # the fork server does not answer
            asyncio.get_running_loop().run_in_executor(None, self._server.close)

    def _replace(self, one: WorkerProcess) -> None:
        """Replace a worker that has died. If workers repeatedly die before they are ready, pause first, longer each time."""
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
        """Call `react` with a worker. Its log lines name the current game and turn, not those in which the worker was started."""
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
        """Remove a worker that has ended or sends invalid messages. Replace it if `on_death` says so."""
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
        """End a worker, and do not replace it."""
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
