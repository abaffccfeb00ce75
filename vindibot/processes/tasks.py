"""A pool of children that do tasks, one after the other."""

from __future__ import annotations

import contextlib
import os
import select
import threading
import time
import traceback
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future
from math import ceil, inf
from typing import Any, TypeVar, overload

from vindibot.base.errors import VindibotError
from vindibot.base.system import require_children
from vindibot.processes.child import EXIT_SECONDS, RETRY_AFTER, Child
from vindibot.processes.ending import ChildEnded, ChildEnding
from vindibot.processes.frames import DONE, FAILED, FIRST_KIND, READY, ChildFrame
from vindibot.processes.inside import Owner
from vindibot.processes.server import ForkServer

#: The kind of a frame with a task.
TASK = FIRST_KIND
#: Seconds that a child may take until it is ready. If this number of children in a row end before they are ready, a task fails.
READY_SECONDS, START_ATTEMPTS = 60.0, 3


T = TypeVar("T")


class TaskError(VindibotError):
    """The function of a task raised an error. The text is its traceback."""


def serve_tasks(owner: Owner, work: Callable[[bytes], bytes]) -> None:
    """Do tasks in a child of `Tasks`: send the result of `work` for each task, until the owner ends."""
    owner.send(READY)
    for frame in owner.requests():
        try:
            owner.send(DONE, work(frame.payload))
        except MemoryError:
            raise  # the process ends, and its end says why
        except Exception:
            owner.send(FAILED, traceback.format_exc().encode(errors="replace"))


class Tasks:
    """A pool of children, whose functions call `serve_tasks`. A child that ends fails its own task only, and is replaced.

    - `workers`: the number of children.
    - `child`: makes a child, which is not yet started.
    - `timeout`: returns the largest number of seconds of a task, None for no limit.
    """

    def __init__(
        self, workers: int, child: Callable[[], Child], timeout: Callable[[bytes], float | None] = lambda task: None
    ) -> None:
        require_children()
        self._child, self._timeout = child, timeout
        self._waiting: deque[tuple[bytes, Future[Any], Callable[[bytes], Any]]] = deque()
        self._slots = [_Slot() for _ in range(workers)]
        self._failed_starts = 0
        self._lock = threading.Lock()
        self._closing = self._killed = False
        self._wake = os.eventfd(0, os.EFD_NONBLOCK | os.EFD_CLOEXEC)
        self._thread = threading.Thread(target=self._run, name="tasks", daemon=True)
        self._thread.start()

    @overload
    def submit(self, task: bytes) -> Future[bytes]: ...

    @overload
    def submit(self, task: bytes, read: Callable[[bytes], T]) -> Future[T]: ...

    def submit(self, task: bytes, read: Callable[[bytes], Any] = bytes) -> Future[Any]:
        """Let a child do a task. The result of the future is what `read` returns for the answer of the child.

        The future fails with `ChildEnded` if the child ends, with `TaskError`, and with the errors of `read`.
        """
        future: Future[Any] = Future()
        with self._lock:
            if self._closing:
                raise VindibotError("the processes for tasks have ended")
            self._waiting.append((task, future, read))
            os.eventfd_write(self._wake, 1)
        return future

    def kill(self) -> None:
        """Kill all children now. Their tasks fail, and waiting tasks are cancelled."""
        self._killed = True
        self.shutdown(cancel_futures=True)

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """Take no more tasks, and end the children after the last task. With `wait`, wait for that."""
        with self._lock:
            cancelled = [*self._waiting] if cancel_futures else []
            if cancel_futures:
                self._waiting.clear()
            self._closing = True
            if self._wake >= 0:
                os.eventfd_write(self._wake, 1)
        for _, future, _ in cancelled:
            future.cancel()
        if wait:
            self._thread.join()

    # -- in the thread --

    def _run(self) -> None:
        problem: VindibotError = ChildEnded(ChildEnding("stopped", None, 0.0))
        try:
            while not self._killed and (not self._closing or self._waiting or any(slot.future for slot in self._slots)):
                self._step()
        except VindibotError as error:  # the fork server has ended
            problem = error
        finally:
            with self._lock:
                self._closing = True
                os.close(self._wake)
                self._wake = -1
            for slot in self._slots:
                slot.fail(problem)
            for _, future, _ in self._waiting:
                if future.set_running_or_notify_cancel():
                    future.set_exception(problem)

    def _step(self) -> None:
        """Start children, give tasks to those that are ready, and handle what happens next."""
        limit = inf
        for slot in self._slots:
            if slot.ready and slot.future is None and slot.child is not None and slot.child.is_orphan():
                slot.fail(ChildEnded(ChildEnding("stopped", None, 0.0)))  # it could start no processes of its own
            if slot.child is None and self._waiting:
                slot.child, slot.began = self._child(), time.monotonic()
                slot.limit = slot.began + READY_SECONDS
            if slot.child is not None and not slot.child.start():
                ForkServer.of_process().start()
                limit = time.monotonic() + RETRY_AFTER
            if slot.ready and slot.future is None:
                self._give_task(slot)
            limit = min(limit, slot.limit)
        watched = select.poll()
        watched.register(self._wake, select.POLLIN)
        for descriptor in [one for slot in self._slots if slot.child is not None for one in slot.child.descriptors]:
            watched.register(descriptor, select.POLLIN)
        watched.poll(None if limit == inf else max(0, ceil((limit - time.monotonic()) * 1000)))
        with contextlib.suppress(BlockingIOError):
            os.eventfd_read(self._wake)
        for slot in self._slots:
            if slot.child is not None:
                self._look_at(slot, slot.child)

    def _give_task(self, slot: _Slot) -> None:
        with contextlib.suppress(IndexError):
            task, future, read = self._waiting.popleft()
            if future.set_running_or_notify_cancel():
                seconds = self._timeout(task)
                slot.future, slot.read, slot.began = future, read, time.monotonic()
                slot.limit = inf if seconds is None else slot.began + seconds
                assert slot.child is not None
                slot.child.send(TASK, task)

    def _look_at(self, slot: _Slot, child: Child) -> None:
        """Handle what a child has sent, its end, and the end of its time."""
        for frame in child.take():
            self._handle(slot, child, frame)
        if child.frames_fd < 0:  # its end follows soon
            slot.limit = min(slot.limit, time.monotonic() + EXIT_SECONDS)
        ending = child.ending
        if ending is None and time.monotonic() >= slot.limit:
            if child.frames_fd < 0:
                child.end_as_malformed()
            elif not child.pid:  # the fork server does not answer
                ForkServer.of_process().close()
            ending = child.ending or ChildEnding("time", None, time.monotonic() - slot.began)
        if ending is None:
            return
        if not slot.ready:
            self._failed_starts += 1
            if self._failed_starts >= START_ATTEMPTS and self._waiting:
                _, slot.future, _ = self._waiting.popleft()
                slot.future.set_running_or_notify_cancel()
        slot.fail(ChildEnded(ending))

    def _handle(self, slot: _Slot, child: Child, frame: ChildFrame) -> None:
        future = slot.future
        if frame.kind == READY:
            slot.ready, slot.limit, self._failed_starts = True, inf, 0
        elif frame.kind in (DONE, FAILED) and future is not None:
            slot.future, slot.limit = None, inf
            try:
                if frame.kind == FAILED:
                    raise TaskError(frame.text)
                future.set_result(slot.read(frame.payload))
            except Exception as problem:
                future.set_exception(problem)
        else:
            child.end_as_malformed()


class _Slot:
    """A place for a child: the child, whether it is ready, the future of its task, and the monotonic time of its end.

    `read` turns the answer of the child into the result of the future.
    """

    def __init__(self) -> None:
        self.child: Child | None = None
        self.future: Future[Any] | None = None
        self.read: Callable[[bytes], Any] = bytes
        self.ready = False
        self.began = 0.0
        self.limit = inf

    def fail(self, problem: VindibotError) -> None:
        """Kill the child. Its task fails with `problem`."""
        child, future = self.child, self.future
        self.__init__()  # type: ignore[misc]
        if child is not None:
            child.close()
        if future is not None and not future.cancelled():
            future.set_exception(problem)
