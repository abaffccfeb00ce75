"""Forkers: processes that load modules once, and fork children that have these modules at once.

A child sends its process id to its control socket, and the forker later its exit code and 1 if its time limit was over. When
the owner closes the control socket, the forker kills the child. It also kills a child that is stopped. When a child has ended,
the forker kills its descendants before it reports the end.
"""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import struct
import time
from collections.abc import Iterable
from math import inf
from selectors import EVENT_READ, PollSelector, SelectorKey
from typing import NoReturn

from vindibot.base.orphans import children, kill_children
from vindibot.processes import inside
from vindibot.processes.changes import Changes
from vindibot.processes.requests import CONTROL, Request, close_all, receive

#: What a control socket carries: the process id, or the negative number of the error that prevented the start. Then 0, the exit
#: code, and 1 if the time limit was over. The process id is missing if the child was killed before it could tell it.
PID, END = struct.Struct("<i"), struct.Struct("<iii")


class Timed:
    """A process with a monotonic time `limit` at which it is killed. `late` says that this has happened."""

    def __init__(self, pid: int, seconds: float | None) -> None:
        self.pid = pid
        self.limit = inf if seconds is None else time.monotonic() + seconds
        self.late = False

    def kill(self) -> None:
        """Kill the process and its process group. It must be a child of this process."""
        for kill in (os.killpg, os.kill):
            with contextlib.suppress(ProcessLookupError, PermissionError):
                kill(self.pid, signal.SIGKILL)


class ForkedChild(Timed):
    """A child: the control socket of its owner, and the number of its request.

    `stopped` is the number of the signal that has stopped the child. Such a child is killed, because nobody can wait until a user
    continues it.
    """

    def __init__(self, pid: int, request: Request, control: socket.socket) -> None:
        super().__init__(pid, request.limits.seconds)
        self.control, self.number = control, request.number
        self.stopped = 0


class Forker:
    """Forks children on request, kills them when their owners close the control sockets, and reports their ends."""

    def __init__(self, requests: socket.socket, changes: Changes) -> None:
        self._changes = changes
        self._own = children()  # processes that the loaded modules have started
        self._children: dict[int, ForkedChild] = {}
        self._ended: list[tuple[ForkedChild, int]] = []  # with exit codes; their descendants may still live
        self._selector = PollSelector()
        self._selector.register(changes.descriptor, EVENT_READ, self._collect)
        self._listen(requests)

    def serve(self) -> NoReturn:
        """Handle requests and the ends of children; never return."""
        while True:
            first = min((one.limit for one in self._timed()), default=inf)
            for key, _ in self._selector.select(None if first == inf else max(0.0, first - time.monotonic())):
                if self._selector.get_map().get(key.fd) is key:  # else the handler of an earlier key has closed it
                    key.data(key)
            now = time.monotonic()
            for one in self._timed():
                if one.limit <= now:
                    one.late, one.limit = True, inf
                    one.kill()

    def _timed(self) -> Iterable[Timed]:
        """Return the processes that may have a time limit."""
        return self._children.values()

    # -- requests --

    def _listen(self, requests: socket.socket) -> None:
        self._selector.register(requests, EVENT_READ, self._take_request)

    def _take_request(self, key: SelectorKey) -> None:
        requests = key.fileobj
        assert isinstance(requests, socket.socket)
        with contextlib.suppress(BlockingIOError):
            received = receive(requests)
            if received is not None:
                self._handle(*received)
                return
            self._selector.unregister(requests)
            requests.close()
            self._lost(requests)

    def _handle(self, request: Request, descriptors: list[int]) -> None:
        self._fork(request, descriptors)

    def _lost(self, requests: socket.socket) -> None:
        """Handle the end of the process that has sent requests to the socket `requests`."""

    def _fork(self, request: Request, descriptors: list[int]) -> None:
        """Fork a child, and close the descriptors. If that is impossible, tell the owner the negative number of the error."""
        ours = theirs = None
        try:
            if request.spawns:
                ours, theirs = socket.socketpair(type=socket.SOCK_SEQPACKET)
            pid = os.fork()
        except OSError as problem:
            _tell(descriptors[CONTROL], PID.pack(-(problem.errno or 1)))
            self._note(request.number, 0)
        else:
            if not pid:
                try:
                    # Not the forker: an older child may have killed it.
                    self._note(request.number, os.getpid())
                    _tell(descriptors[CONTROL], PID.pack(os.getpid()))
                    inside.run(request, descriptors, theirs)
                finally:
                    os._exit(1)
            self._add(ForkedChild(pid, request, socket.socket(fileno=descriptors.pop(CONTROL))))
            if ours is not None:
                self._listen(ours)
        close_all(descriptors)
        if theirs is not None:
            theirs.close()

    def _add(self, child: ForkedChild) -> None:
        self._children[child.pid] = child
        self._selector.register(child.control, EVENT_READ, self._let_go)

    def _let_go(self, key: SelectorKey) -> None:
        """Kill a child whose owner has closed the control socket."""
        self._selector.unregister(key.fileobj)
        for child in self._children.values():
            if child.control is key.fileobj:
                child.kill()

    def _note(self, number: int, pid: int) -> None:
        """Note that request `number` has a child with this process id, or with 0, that it has none any more."""

    # -- ends --

    def _collect(self, key: SelectorKey) -> None:
        """Report the exit codes of the children that have ended, once none of their descendants is left."""
        changed = self._changes.take()
        self._look_at(changed)
        for pid, status in changed:
            if (child := self._children.get(pid)) is not None:
                self._note_change(child, status)
        if kill_children(keep=self._known()):
            return  # when these have ended, this method is called again
        for child, code in self._ended:
            _tell(child.control.fileno(), END.pack(0, code, child.late))
            self._release(child)
            self._note(child.number, 0)
        self._ended.clear()

    def _note_change(self, child: ForkedChild, status: int) -> None:
        """Note that a child has ended, or kill it because it has stopped."""
        if os.WIFSTOPPED(status):
            child.stopped = os.WSTOPSIG(status)
            child.kill()
        else:
            del self._children[child.pid]
            self._ended.append((child, -child.stopped or os.waitstatus_to_exitcode(status)))

    def _release(self, child: ForkedChild) -> None:
        with contextlib.suppress(KeyError):
            self._selector.unregister(child.control)
        child.control.close()

    def _look_at(self, changed: list[tuple[int, int]]) -> None:
        """Handle processes other than `_children` that have ended or stopped: process ids and wait statuses."""

    def _known(self) -> set[int]:
        """Return the process ids of the children that are not to be killed."""
        return {*self._children, *self._own, *self._others()}

    def _others(self) -> list[int]:
        """Return the process ids of further children that are not to be killed."""
        return []


def _tell(control: int, message: bytes) -> None:
    with contextlib.suppress(OSError):  # the owner has ended
        os.write(control, message)
