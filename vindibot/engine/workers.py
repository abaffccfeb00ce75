"""The workers of a pool. `Workers` gets them from the fork server, reads their frames, replaces dead ones, and ends them.

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

from vindibot.base.errors import VindibotError
from vindibot.engine import worker
from vindibot.engine.parts import PartsLayout
from vindibot.engine.worker import TraitPlan
from vindibot.processes.child import Child
from vindibot.processes.frames import FAILED, READY, ChildFrame
from vindibot.processes.requests import ChildLimits, Needs
from vindibot.processes.server import ForkServer

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


class WorkerProcess:
    """Handle of a worker: the process, its shared memory, and its last request.

    - `index`: the number of the worker in its pool.
    - `only`: the one trait that the worker may run, None for any.
    - `child`: the process.
    - `ready`: whether the worker has built the traits.
    - `dead`: whether the worker gets no more work.
    - `number`: the number of the last request.
    - `assigned`: the traits of the last request, empty after the answer.
    - `helps`: whether the last request was to play parts of split traits that another worker leads.
    - `ran`: the traits whose code has run in this worker.
    """

    def __init__(self, index: int, child: Child, only: int | None) -> None:
        self.index, self.only, self.child = index, only, child
        self.ready = self.dead = False
        self.number = 0
        self.assigned: tuple[int, ...] = ()
        self.helps = False
        self.ran: set[int] = set()
        self.memory = worker.WorkerMemory(child.memory)
        self.watched: set[int] = set()  # the descriptors of the child that the event loop watches

    @property
    def pid(self) -> int:
        return self.child.pid

    @property
    def idle(self) -> bool:
        return self.ready and not self.dead and not self.assigned


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
        self._layout = layout
        self._parts = os.fdopen(os.memfd_create("vindibot-parts"), "r+b", buffering=0)
        self._parts.truncate(layout.size)
        self._needs = Needs(tuple(folders), tuple(dict.fromkeys(plan.module for plan in plans)))
        self._server = ForkServer.of_process()
        self._server.prepare(worker.RUN, self._needs)
        self._starting: asyncio.Future[None] | None = None
        self._poll = select.poll()
        self._polled: dict[int, WorkerProcess] = {}  # by the descriptor for frames
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
                while any(one.pid for one in self._ending):  # others have not started, and are killed when they do
                    self._changed.clear()
                    await self._changed.wait()
        except TimeoutError:
            log.warning("workers do not end", pids=[one.pid for one in self._ending])
        finally:
            for one in list(self._ending):
                self._release(one)
            self._parts.close()

    def poll(self, seconds: float) -> None:
        """Wait at most `seconds` seconds for answers of workers, and read them. The event loop does not run meanwhile."""
        for descriptor, _ in self._poll.poll(seconds * 1000):
            if descriptor in self._polled:
                self._take(self._polled[descriptor])

    # -- new workers --

    def add(self, index: int, only: int | None = None) -> WorkerProcess:
        """Request a worker with number `index` from the fork server. Return its handle at once, before the worker is `ready`.

        `only` is the only trait that the worker may run, None for any.
        """
        child = Child(
            worker.RUN,
            worker.setup(self.plans, self.folders, index, self._layout),
            needs=self._needs,
            limits=ChildLimits(output=0, frame=worker.LONGEST_PAYLOAD),
            memory=worker.WorkerMemory.size(len(self.plans)),
            shared=[self._parts.fileno()] if self._layout.size else [],
            kinds=(worker.ERROR, worker.VOID),
            name=worker.WORKER,
        )
        one = WorkerProcess(index, child, only)
        self.all.append(one)
        self._watch(one)
        self._timeout[one] = asyncio.get_running_loop().call_later(START_TIMEOUT, self._overdue, one)
        if not child.start():
            self._retry(one)
        return one

    def _watch(self, one: WorkerProcess) -> None:
        """Watch the present descriptors of a worker. `poll` watches only the one for frames."""
        loop, wanted = asyncio.get_running_loop(), set(one.child.descriptors)
        for descriptor in one.watched - wanted:
            loop.remove_reader(descriptor)
            if self._polled.pop(descriptor, None) is not None:
                self._poll.unregister(descriptor)
        for descriptor in wanted - one.watched:
            frames = descriptor == one.child.frames_fd
            loop.add_reader(descriptor, self._with_log_context, self._take if frames else self._read, one)
            if frames:
                self._poll.register(descriptor, select.POLLIN)
                self._polled[descriptor] = one
        one.watched = wanted

    def _retry(self, one: WorkerProcess) -> None:
        """Request a worker again. If the fork server has ended, first start a new one in a thread."""
        if self._closed or one.dead:
            return
        if self._server.is_running():
            if not one.child.start():
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
            one.child.kill()
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

    def _read(self, one: WorkerProcess) -> None:
        """Read whether a worker has ended, and what it has sent."""
        frames = one.child.take()
        self._watch(one)
        self._handle_all(one, frames)

    def _take(self, one: WorkerProcess) -> None:
        """Read what a worker has sent."""
        self._handle_all(one, one.child.take_frames())

    def _handle_all(self, one: WorkerProcess, frames: Sequence[ChildFrame]) -> None:
        child = one.child
        try:
            for frame in frames:
                self._handle(one, frame)
        except ValueError as problem:
            log.error("worker sent an invalid message", worker=one.index, reason=str(problem))  # noqa: TRY400  # no error of ours
            child.end_as_malformed()
        if child.ending is not None:
            if one in self._ending:
                asyncio.get_running_loop().call_soon(self._release, one)
            else:
                self._died(one)
        elif child.frames_fd < 0:  # its end follows soon, if its forker lives
            self._watch(one)
            asyncio.get_running_loop().call_later(EXIT_CODE_TIMEOUT, self._with_log_context, self._died, one)

    def _handle(self, one: WorkerProcess, frame: ChildFrame) -> None:
        """Handle a frame of a worker. Raises `ValueError` if it is invalid."""
        if frame.kind == READY:
            self._became_ready(one, preloaded=frame.payload == worker.PRELOADED)
        elif frame.kind == FAILED:
            self._failure = frame.text
            self._changed.set()
        elif not one.dead:
            number, text = worker.message_of(frame, len(self.plans))
            self._events.on_message(one, frame.kind, number, frame.channel, text)

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

    # -- the end --

    def _died(self, one: WorkerProcess) -> None:
        """Remove a worker that has ended or sends nothing more. Replace it if `on_death` says so."""
        if one.dead:
            return
        ending = one.child.ending
        self.end(one)
        if self._closed:
            return
        if not one.pid:  # the fork server ended with the request
            if one.only is None:
                asyncio.get_running_loop().call_later(RETRY_AFTER, self._add_unless_closed, one.index)
            return
        log.warning("worker died", worker=one.index, exit_code=None if ending is None else ending.code)
        if self._events.on_death(one):
            self._replace(one)

    def end(self, one: WorkerProcess) -> None:
        """End a worker, and do not replace it."""
        one.dead = True
        if not one.ready:
            self._timeout.pop(one).cancel()
        self.all.remove(one)
        one.child.kill()
        self._ending.append(one)
        if one.child.ending is not None:
            asyncio.get_running_loop().call_soon(self._release, one)

    def _release(self, one: WorkerProcess) -> None:
        if one in self._ending:
            self._ending.remove(one)
            one.child.close()
            del one.memory  # releases the memory
            self._watch(one)
            self._changed.set()
