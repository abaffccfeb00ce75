"""The worker processes of a pool: starts them, watches them, replaces those that die, and ends them.

Answers are read when they arrive. Only `Workers.poll` blocks the event loop.
"""

from __future__ import annotations

import asyncio
import contextvars
import pickle
import select
import time
from collections.abc import Sequence
from functools import partial
from typing import Any, Protocol

import structlog

from vindibot.base.errors import VindibotError
from vindibot.engine import forkserver
from vindibot.engine.parts import PartsLayout
from vindibot.engine.worker import TraitPlan, TraitProcess, TurnRequest

log = structlog.get_logger("vindibot.engine.pool")

#: Seconds that a worker may take to import and build the traits.
START_TIMEOUT = 60.0
#: If this number of workers in a row die before they are ready, each further replacement comes after a pause. Each pause is
#: longer than the pause before it.
START_ATTEMPTS = 3


class PoolWorker:
    """A worker of a pool: the process, its shared memory, and its last request.

    - `index`: the number of the worker in its pool.
    - `ready`: whether the worker has built the traits. `dead`: whether it gets no more work.
    - `number`: the number of the last request.
    - `assigned`: the traits of the last request, empty after the answer.
    - `helps`: whether the last request was to play parts of split traits that another worker leads.
    """

    def __init__(self, index: int, process: TraitProcess) -> None:
        self.index, self.process, self.memory = index, process, process.memory
        self.ready = self.dead = False
        self.number = 0
        self.assigned: tuple[int, ...] = ()
        self.helps = False
        self.watched: set[int] = set()  # the descriptors that the event loop watches
        self.started: asyncio.Future[Any] | None = None
        self.timeout: asyncio.TimerHandle | None = None

    @property
    def pid(self) -> int:
        return self.process.pid

    @property
    def idle(self) -> bool:
        return self.ready and not self.dead and not self.assigned

    @property
    def running(self) -> int | None:
        """The number of the trait that the worker runs, None if it has not begun."""
        running = int(self.memory.running[0])
        return running if running in self.assigned else None

    def send(self, request: TurnRequest) -> None:
        """Send a request. If the worker has just died, `WorkerEvents.on_death` follows."""
        self.number, self.assigned, self.helps = request.number, tuple(request.traits), request.kind == "parts"
        self.process.ask(request)


class WorkerEvents(Protocol):
    """Callbacks about workers. They run in the event loop, and log with the fields of `Workers.log_context`."""

    def on_ready(self, worker: PoolWorker) -> None:
        """Handle that a worker has built the traits and waits for requests."""

    def on_answer(self, worker: PoolWorker, printed: Sequence[tuple[int, str]]) -> None:
        """Handle the answer of a worker to its last request. `printed` has what traits have printed, as (trait, text)."""

    def on_death(self, worker: PoolWorker) -> None:
        """Handle the end of a worker, even if we have killed it. It is replaced afterwards."""


class Workers:
    """The workers of a pool, for one event loop.

    - `all`: the workers, ready or not, except the ones that are known to have ended.
    - `replacements`: for each replacement so far, the seconds from the death of a worker until the replacement is ready.
    - `log_context`: the context (game and turn) whose fields appear in the log lines about workers.
    """

    def __init__(self, plans: Sequence[TraitPlan], folders: Sequence[str], layout: PartsLayout, events: WorkerEvents) -> None:
        self.plans, self.folders = list(plans), list(folders)
        self.all: list[PoolWorker] = []
        self.replacements: list[float] = []
        self.log_context = contextvars.copy_context()
        self._events, self._layout = events, layout
        modules = dict.fromkeys(plan.class_path.partition(":")[0] for plan in plans)
        forkserver.start(modules)
        self._parts = forkserver.CONTEXT.RawArray("B", layout.size) if layout.size else None
        self._poll = select.poll()
        self._polled: dict[int, PoolWorker] = {}  # by the descriptor for answers
        self._failed_starts: dict[int, int] = {}
        self._died_at: dict[int, float] = {}
        self._changed = asyncio.Event()
        self._failure = ""
        self._closed = False

    async def start(self, count: int) -> None:
        """Add `count` workers and wait until each one has built the traits. Raises `VindibotError` if that fails."""
        for index in range(count):
            self._add(index)
        try:
            async with asyncio.timeout(START_TIMEOUT):
                while not all(worker.ready for worker in self.all) or len(self.all) < count:
                    if self._failure:
                        raise VindibotError(f"a worker process could not build the bot's traits: {self._failure}")
                    self._changed.clear()
                    await self._changed.wait()
        except TimeoutError:
            raise VindibotError(f"the worker processes were not ready after {START_TIMEOUT:.0f} s") from None

    async def close(self) -> None:
        """End all workers, and wait for their end."""
        self._closed = True
        ended = [*self.all]
        for worker in ended:
            self._end(worker)
        for worker in ended:
            if worker.started is not None and not worker.started.done():
                await asyncio.wait((worker.started,))
        loop = asyncio.get_running_loop()
        await asyncio.gather(*(loop.run_in_executor(None, worker.process.close) for worker in ended))

    def poll(self, seconds: float) -> None:
        """Wait at most `seconds` seconds for answers of workers, and read them. The event loop does not run meanwhile."""
        for descriptor, _ in self._poll.poll(seconds * 1000):
            if descriptor in self._polled:
                worker = self._polled[descriptor]
                if (answer := worker.process.answer()) is not None:
                    self._handle(worker, answer)

    # -- new workers --

    def _add(self, index: int) -> None:
        """Start a worker with this number, in a thread, since a new fork server must first load all kernels."""
        process = TraitProcess(self.plans, self.folders, index, self._parts, self._layout)
        worker = PoolWorker(index, process)
        self.all.append(worker)
        loop = asyncio.get_running_loop()
        worker.timeout = loop.call_later(START_TIMEOUT, self._overdue, worker)
        worker.started = loop.run_in_executor(None, process.start)
        worker.started.add_done_callback(partial(self._started, worker))

    def _started(self, worker: PoolWorker, started: asyncio.Future[Any]) -> None:
        if worker.dead:
            return
        if started.cancelled() or started.exception() is not None:
            self._died(worker)
            return
        self._watch(worker)
        self._read(worker)

    def _watch(self, worker: PoolWorker) -> None:
        """Watch the present descriptors of a worker. `poll` watches only the one for answers."""
        loop, wanted = asyncio.get_running_loop(), set() if worker.dead else set(worker.process.descriptors)
        for descriptor in worker.watched - wanted:
            loop.remove_reader(descriptor)
            if self._polled.pop(descriptor, None) is not None:
                self._poll.unregister(descriptor)
        for descriptor in wanted - worker.watched:
            loop.add_reader(descriptor, self._read_in_context, worker)
            if descriptor == worker.process.answers_fd:
                self._poll.register(descriptor, select.POLLIN)
                self._polled[descriptor] = worker
        worker.watched = wanted

    def _overdue(self, worker: PoolWorker) -> None:
        log.error("a worker was not ready in time", worker=worker.index, timeout_s=START_TIMEOUT)
        worker.process.kill()

    def _replace(self, worker: PoolWorker) -> None:
        """Replace a worker that has died. If workers repeatedly die before they are ready, pause first, longer each time."""
        self._died_at.setdefault(worker.index, time.monotonic())
        failed = self._failed_starts[worker.index] = 0 if worker.ready else self._failed_starts.get(worker.index, 0) + 1
        if failed < START_ATTEMPTS:
            self._add(worker.index)
            return
        self._failure = self._failure or f"it dies before it is ready, with {worker.process.ending or 'the fork server'}"
        self._changed.set()
        pause = min(30.0, 0.25 * 2 ** (failed - START_ATTEMPTS))
        log.error("worker dies before it is ready", worker=worker.index, reason=self._failure, next_try_s=pause)
        asyncio.get_running_loop().call_later(pause, self._add_unless_closed, worker.index)

    def _add_unless_closed(self, index: int) -> None:
        if not self._closed:
            self._add(index)

    # -- answers --

    def _read_in_context(self, worker: PoolWorker) -> None:
        """Read as `_read` does. Log lines name the current game and turn, not those in which the worker was started."""
        self.log_context.run(self._read, worker)

    def _read(self, worker: PoolWorker) -> None:
        """Read what a worker has sent, and whether it has ended."""
        answers = worker.process.take()
        self._watch(worker)
        for answer in answers:
            self._handle(worker, answer)
        if worker.process.ending is not None:
            self._died(worker)

    def _handle(self, worker: PoolWorker, data: bytes) -> None:
        answer = pickle.loads(data)
        if worker.dead:
            return
        if not worker.ready:
            self._on_built(worker, answer)
        elif answer[0] == worker.number and worker.assigned:
            self._events.on_answer(worker, answer[1])

    def _on_built(self, worker: PoolWorker, problem: str) -> None:
        self._changed.set()
        if problem:
            self._failure = problem
            return
        worker.ready = True
        if worker.timeout is not None:
            worker.timeout.cancel()
        self._failed_starts[worker.index] = 0
        died = self._died_at.pop(worker.index, None)
        if died is not None:
            self.replacements.append(time.monotonic() - died)
            log.info("worker replaced", worker=worker.index, ms=round(self.replacements[-1] * 1000, 1))
        self._events.on_ready(worker)

    # -- the end --

    def _died(self, worker: PoolWorker) -> None:
        """Remove a worker that has ended, and replace it."""
        if worker.dead:
            return
        ending = worker.process.ending
        self._end(worker)
        worker.process.close()
        if ending is not None and ending.kind == "stopped":
            log.warning("worker killed", worker=worker.index, reason="hung")
        else:
            log.warning("worker died", worker=worker.index, reason=str(ending), exit_code=None if ending is None else ending.code)
        self._events.on_death(worker)
        self._replace(worker)

    def _end(self, worker: PoolWorker) -> None:
        """Kill a worker, unless it has ended, and remove it."""
        worker.dead = True
        if worker.timeout is not None:
            worker.timeout.cancel()
        self.all.remove(worker)
        self._watch(worker)
        worker.process.kill()
