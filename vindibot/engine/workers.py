"""The workers of a pool: hired from the fork server, listened to, replaced when they die, and ended.

Nothing here waits in the event loop: a request for a worker is sent, and what comes of it is read when it is there.
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
#: After this many deaths in a row before it was ready, a worker is replaced with growing pauses, no longer at once.
START_ATTEMPTS = 3
#: Seconds after the end of a worker's answers at which its exit code is no longer waited for.
EXIT_CODE_TIMEOUT = 0.05
#: Seconds after which a request that the fork server did not get, or lost, is repeated.
ASK_AGAIN = 0.1
#: Seconds that the end of all workers is waited for.
END_TIMEOUT = 2.0


class WorkerEvents(Protocol):
    """Who hears of workers; called in the event loop, in the context of `Workers.about`."""

    def ready(self, one: WorkerProcess) -> None:
        """It has built the traits and waits for requests."""

    def told(self, one: WorkerProcess, kind: int, number: int, trait: int, text: str) -> None:
        """A message about request `number` (see `vindibot.engine.worker`)."""

    def died(self, one: WorkerProcess) -> bool:
        """It has ended, by our hand or another's; whether its place is to be filled again."""
        raise NotImplementedError


class Workers:
    """See the module. Used from one event loop. `all` are those that are not known to have ended, ready or not."""

    def __init__(self, plans: Sequence[TraitPlan], folders: Sequence[str], events: WorkerEvents) -> None:
        self.plans, self.folders = list(plans), list(folders)
        self.all: list[WorkerProcess] = []
        self.replacements: list[float] = []  # seconds from a death to a ready replacement, for those who measure
        self.preloaded = True  # whether every worker so far was born with everything loaded
        self.about = contextvars.copy_context()
        self._events = events
        self._server = fork_server(Needs(tuple(folders), tuple(dict.fromkeys(plan.module for plan in plans))))
        self._starting: asyncio.Future[None] | None = None
        self._poll = select.poll()
        self._by_pipe: dict[int, WorkerProcess] = {}
        self._leaving: list[WorkerProcess] = []  # dead to us, not yet buried
        self._failed_starts: dict[int, int] = {}
        self._died_at: dict[int, float] = {}
        self._timeout: dict[WorkerProcess, asyncio.TimerHandle] = {}  # of those that are not ready
        self._changed = asyncio.Event()
        self._failure = ""
        self._closed = False

    async def start(self, count: int) -> None:
        """Hire so many workers and wait until each has built the traits. Raises `VindibotError` if that fails."""
        await self._ensure_server()
        for index in range(count):
            self.hire(index)
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
        """End all workers and whatever they have started; takes two seconds at most."""
        self._closed = True
        for one in list(self.all):
            self.dismiss(one)
        try:
            async with asyncio.timeout(END_TIMEOUT):
                while any(one.pid for one in self._leaving):  # others are not born yet, and will see the end of their leash
                    self._changed.clear()
                    await self._changed.wait()
        except TimeoutError:
            log.warning("workers do not end", pids=[one.pid for one in self._leaving])
        finally:
            for one in list(self._leaving):
                self._bury(one)

    def listen(self, seconds: float) -> None:
        """Wait for answers without the event loop, and see to those that are there."""
        for pipe, _ in self._poll.poll(seconds * 1000):
            if pipe in self._by_pipe:
                self._readable(self._by_pipe[pipe])

    # -- hiring --

    def hire(self, index: int, only: int | None = None) -> WorkerProcess:
        """Ask for a worker, and return it; it is not `ready` yet. Never waits."""
        one = WorkerProcess(index, self.plans, self.folders, only)
        self.all.append(one)
        loop = asyncio.get_running_loop()
        loop.add_reader(one.answers, self._in_turn, self._readable, one)
        loop.add_reader(one.status, self._in_turn, self._status_readable, one)
        self._timeout[one] = loop.call_later(START_TIMEOUT, self._overdue, one)
        self._poll.register(one.answers, select.POLLIN)
        self._by_pipe[one.answers] = one
        if not one.ask_for(self._server):
            self._ask_again(one)
        return one

    def _ask_again(self, one: WorkerProcess) -> None:
        """Ask the fork server once more, which is started if it has gone; that happens in a thread."""
        if self._closed or one.dead:
            return
        if self._server.is_running():
            if not one.ask_for(self._server):
                asyncio.get_running_loop().call_later(ASK_AGAIN, self._ask_again, one)
            return
        starting = self._ensure_server()
        starting.add_done_callback(lambda _: self._ask_again(one) if self._server.is_running() else self._delay(one))

    def _delay(self, one: WorkerProcess) -> None:
        asyncio.get_running_loop().call_later(ASK_AGAIN, self._ask_again, one)

    def _ensure_server(self) -> asyncio.Future[None]:
        """Start the fork server, in a thread, unless it runs or is being started."""
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
        """Fill the place of a worker that has died: at once, or after a pause if it dies again and again."""
        self._died_at.setdefault(one.index, time.monotonic())
        failed = self._failed_starts[one.index] = 0 if one.ready else self._failed_starts.get(one.index, 0) + 1
        if failed < START_ATTEMPTS:
            self.hire(one.index)
            return
        self._failure = self._failure or "it dies before it is ready"
        self._changed.set()
        pause = min(30.0, 0.25 * 2 ** (failed - START_ATTEMPTS))
        log.error("worker dies before it is ready", worker=one.index, reason=self._failure, next_try_s=pause)
        asyncio.get_running_loop().call_later(pause, self._hire_again, one.index)

    def _hire_again(self, index: int) -> None:
        if not self._closed:
            self.hire(index)

    # -- what comes back --

    def _in_turn(self, react: Callable[[WorkerProcess], None], one: WorkerProcess) -> None:
        """React to a worker so that what is logged knows the game and the turn, and not those of the worker's start."""
        self.about.run(react, one)

    def _readable(self, one: WorkerProcess) -> None:
        try:
            data = os.read(one.answers, 1 << 16)
        except BlockingIOError:
            return
        if not data:
            self._forget_answers(one)
            if not one.dead:  # the exit code comes in a moment, if the fork server lives
                timeout = 0.0 if one.buried else EXIT_CODE_TIMEOUT
                asyncio.get_running_loop().call_later(timeout, self._in_turn, self._died, one)
            return
        one.buffer += data
        try:
            messages = worker.decode_messages(one.buffer, len(self.plans))
        except ValueError as problem:
            log.error("worker sends what is no message", worker=one.index, reason=str(problem))  # noqa: TRY400  # it fails elsewhere
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
                self._events.told(one, kind, number, trait, text)

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
        self._events.ready(one)

    def _status_readable(self, one: WorkerProcess) -> None:
        one.read_status()
        if one.exit_code is not None:
            self._died(one)
        if one.buried:
            asyncio.get_running_loop().remove_reader(one.status)
            if one in self._leaving:
                asyncio.get_running_loop().call_soon(self._bury, one)
            elif not one.pid:  # the fork server died with our request
                self._died(one)

    # -- the end --

    def _died(self, one: WorkerProcess) -> None:
        """A worker has ended, or is no good any more."""
        if one.dead:
            return
        if one.answers in self._by_pipe:
            self._readable(one)  # its last words
        if one.dead:
            return
        born = one.pid != 0
        self.dismiss(one)
        if self._closed:
            return
        if not born:
            if one.only is None:
                asyncio.get_running_loop().call_later(ASK_AGAIN, self._hire_again, one.index)
            return
        log.warning("worker died", worker=one.index, exit_code=one.exit_code)
        if self._events.died(one):
            self._replace(one)

    def dismiss(self, one: WorkerProcess) -> None:
        """End a worker that is not wanted any more; it is not replaced."""
        one.dead = True
        if not one.ready:
            self._timeout.pop(one).cancel()
        self.all.remove(one)
        self._forget_answers(one)
        one.kill()
        self._leaving.append(one)
        if one.buried or not one.asked:
            asyncio.get_running_loop().call_soon(self._bury, one)

    def _bury(self, one: WorkerProcess) -> None:
        if one in self._leaving:
            self._leaving.remove(one)
            asyncio.get_running_loop().remove_reader(one.status)
            one.close()
            self._changed.set()

    def _forget_answers(self, one: WorkerProcess) -> None:
        if self._by_pipe.pop(one.answers, None) is not None:
            asyncio.get_running_loop().remove_reader(one.answers)
            self._poll.unregister(one.answers)
