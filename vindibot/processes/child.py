"""The owner's handle of a child process."""

from __future__ import annotations

import contextlib
import mmap
import os
import select
import signal
import socket
import time
from collections import deque
from collections.abc import Collection, Sequence
from dataclasses import replace
from math import ceil, inf
from types import TracebackType
from typing import Self

from vindibot.processes.ending import OUT_OF_MEMORY, ChildEnded, ChildEnding, ChildLate, Kind
from vindibot.processes.forker import END, PID
from vindibot.processes.frames import DONE, FAILED, OUTPUT, READY, ChildFrame, Decoder, FrameError, encode
from vindibot.processes.requests import ChildLimits, Needs, Request, close_all
from vindibot.processes.server import ForkServer

#: The number of bytes that are stored of the end of a long output, and the number of lines that an `ChildEnding` has.
TAIL, LAST_LINES = 4096, 5
#: Seconds after which a child that reads nothing is killed. Seconds until a request is sent again.
SEND_SECONDS, RETRY_AFTER = 1.0, 0.02
#: Seconds that a child may live after it has closed its pipe for frames.
EXIT_SECONDS = 0.5
#: Seconds that a fork server may take to start a child.
START_SECONDS = 60.0

#: The default needs and limits.
NOTHING, USUAL = Needs(), ChildLimits()

_CHUNK = 1 << 16


class Child:
    """A process that the fork server forks for a function of ours, ``run="module:function"``, which gets an `inside.Owner`.

    - `setup`: what the function gets once.
    - `needs`: the modules that the process should have at once.
    - `memory`: the number of bytes of memory that only this process and the child share. `shared` are further files to share.
    - `kinds`: the kinds of frames that the child may send, in addition to the general kinds.
    - `spawns`: whether the child may have children from the same server. It must not run foreign code.
    - `server`: the fork server that starts the process. Usually this is the fork server of this process.

    Attributes:
    - `pid`: the process id, 0 until it is known.
    - `ending`: how the process ended, None before its end.
    - `frames_fd`, `control_fd`, `output_fd`: descriptors to watch (see `descriptors`). A call of `take` may change them: to -1
      when the child has closed its end, and `control_fd` to another descriptor when the child's forker has ended.

    """

    def __init__(
        self,
        run: str,
        setup: bytes = b"",
        *,
        needs: Needs = NOTHING,
        limits: ChildLimits = USUAL,
        memory: int = 0,
        shared: Sequence[int] = (),
        kinds: Collection[int] = (),
        spawns: bool = False,
        name: str = "vindibot-child",
        server: ForkServer | None = None,
    ) -> None:
        self._server = server or ForkServer.of_process()
        self.limits = limits
        self.pid = 0
        self.ending: ChildEnding | None = None
        self.output_fd = self._pidfd = -1
        self._request = Request(run, needs, limits, memory, len(setup), spawns, name)
        self._decoder = Decoder(limits.frame, {READY, FAILED, OUTPUT, DONE, *kinds})
        self._frames: deque[ChildFrame] = deque()
        self._told = b""  # by the forker
        self._output, self._tail = bytearray(), b""
        self._began = time.monotonic()
        self._killed = False
        file = os.memfd_create("vindibot-child")
        os.truncate(file, memory + len(setup) or 1)
        mapped = mmap.mmap(file, 0)
        mapped[memory : memory + len(setup)] = setup
        self.memory = memoryview(mapped)[:memory]
        reading, self._writing = os.pipe()
        self.frames_fd, writing = os.pipe()
        for descriptor in (self._writing, self.frames_fd):
            os.set_blocking(descriptor, False)
        self._control, control_end = socket.socketpair()
        self._control.setblocking(False)
        self.control_fd = self._control.fileno()
        #: The descriptors for the fork server. This process closes its copies once the server has them.
        self._theirs = [reading, writing, control_end.detach(), file]
        if limits.output:
            self.output_fd, end = os.pipe()
            os.set_blocking(self.output_fd, False)
            self._theirs.append(end)
        self._theirs += map(os.dup, shared)
        #: They stay open until `close`, since event loops watch them.
        self._pipes = [self._writing, self.frames_fd, *([self.output_fd] if limits.output else [])]

    # -- the beginning --

    def start(self) -> bool:
        """Request the process from the fork server, unless this was done before. Return whether it has been done. Never block.

        If not, start the server or wait, and call this method again.
        """
        if self._theirs and self._server.send(self._request, self._theirs):
            self._close_theirs()
            self._began = time.monotonic()
        return not self._theirs

    def __enter__(self) -> Self:
        """Start the process and the fork server. Raises `ChildLate` if the server does not take the request in time."""
        limit = time.monotonic() + START_SECONDS
        while not self.start():
            self._server.start()
            if time.monotonic() > limit:
                self.close()
                raise ChildLate(f"no process could be started in {START_SECONDS:.0f} s")
            time.sleep(RETRY_AFTER)
        return self

    # -- frames --

    def send(self, kind: int, payload: bytes = b"", channel: int = 0) -> None:
        """Send a frame. A child that has ended does not get it. A child that reads nothing for `SEND_SECONDS` is killed."""
        data = encode(kind, payload, channel)
        try:
            while data:
                data = data[os.write(self._writing, data) :]
        except BlockingIOError:
            self._send_slowly(memoryview(data))
        except ConnectionError:
            pass

    def _send_slowly(self, data: memoryview) -> None:
        with contextlib.suppress(ConnectionError):
            while _ready([self._writing], select.POLLOUT, SEND_SECONDS):
                data = data[os.write(self._writing, data) :]
                if not data:
                    return
            self.kill()

    def take(self) -> list[ChildFrame]:
        """Return the frames that have arrived, and update the attributes. Never block. Use this method or `receive`, not both."""
        self._read_control()
        self._read_output()
        return self.take_frames()

    def take_frames(self) -> list[ChildFrame]:
        """Return the frames that have arrived. This is faster than `take`, and enough if only `frames_fd` is readable."""
        found: list[ChildFrame] = []
        try:
            while self.frames_fd >= 0:
                data = os.read(self.frames_fd, _CHUNK)
                if not data:
                    self.frames_fd = -1
                found += self._decoder.feed(data)
                if self.ending is None:  # else all that are left are read
                    break
        except BlockingIOError:
            pass
        except FrameError:
            self.end_as_malformed()
        return found

    def receive(self, seconds: float | None = None) -> ChildFrame:
        """Return the next frame. Raises `ChildEnded` if the child has ended, and `ChildLate` after `seconds` seconds.

        A child that closes its pipe without an end of the process is killed. With the first frame, the process id is known.
        """
        limit = inf if seconds is None else time.monotonic() + seconds
        closed = inf
        while not self._frames or not (self.pid or self.ending):
            if self.ending is not None:
                raise ChildEnded(self.ending)
            now = time.monotonic()
            if self.frames_fd < 0 and closed == inf:
                closed = now + EXIT_SECONDS
            ready = _ready(self.descriptors, select.POLLIN, min(limit, closed) - now)
            if ready == [(self.frames_fd, select.POLLIN)]:  # the usual case
                self._frames.extend(self.take_frames())
                continue
            if not ready:
                if limit <= closed:
                    raise ChildLate(f"no answer in {seconds:g} s")
                self.end_as_malformed()
            self._frames.extend(self.take())
        return self._frames.popleft()

    @property
    def descriptors(self) -> list[int]:
        """The descriptors to watch now: `take` should be called when one of them is readable."""
        return [one for one in (self.frames_fd, self.control_fd, self.output_fd) if one >= 0]

    def _read_output(self) -> None:
        """Read output. If the child has ended, read all that is left."""
        with contextlib.suppress(BlockingIOError):
            while self.output_fd >= 0:
                data = os.read(self.output_fd, _CHUNK)
                if not data:
                    self.output_fd = -1
                room = self.limits.output - len(self._output)
                self._output += data[:room]
                self._tail = (self._tail + data[room:])[-TAIL:]
                if self.ending is None:
                    return

    @property
    def output(self) -> bytes:
        """What the child has printed so far: the first bytes, and the last `TAIL` bytes if the output is long."""
        return bytes(self._output) + (b"\n[...]\n" + self._tail if self._tail else b"")

    # -- the end --

    def _read_control(self) -> None:
        """Read what the forker has told. If the forker has ended, look whether the process has ended."""
        if self.ending is not None or self._theirs:
            return
        if self.control_fd == self._pidfd:
            if _ready([self._pidfd], select.POLLIN, 0.0):
                self._end("killed", None)
            return
        try:
            data = self._control.recv(64)
        except BlockingIOError:
            return
        except ConnectionError:
            data = b""
        self._told += data
        if len(self._told) >= PID.size and (pid := PID.unpack_from(self._told)[0]):
            self._told = self._told[PID.size :]
            if pid < 0:
                self._end("not started", -pid)
                return
            self.pid = pid
            with contextlib.suppress(OSError):  # it has ended
                self._pidfd = os.pidfd_open(pid)
            if self._killed:
                self.kill()
        if len(self._told) >= END.size:
            _, code, late = END.unpack_from(self._told)
            self._end_with(code, late=bool(late))
        elif not data:  # the forker has ended
            if self._pidfd >= 0:
                self.control_fd = self._pidfd
                self._read_control()
            else:
                self._end("killed" if self.pid else "not started", None)

    def is_orphan(self) -> bool:
        """Return whether the process still runs, but its forker has ended. Then it can have no further children."""
        self._read_control()
        return self.ending is None and self.control_fd == self._pidfd

    def _end_with(self, code: int, *, late: bool) -> None:
        if late:
            self._end("time", code)
        elif self._killed:
            self._end("stopped", code)
        elif code == OUT_OF_MEMORY or (code == -signal.SIGKILL and self.limits.memory_mb is not None):
            self._end("memory", code)
        else:
            self._end("killed" if code < 0 else "exited", code)

    def _end(self, kind: Kind, code: int | None) -> None:
        if self.ending is None:
            self.ending = ChildEnding(kind, code, time.monotonic() - self._began)  # so that `_read_output` reads all
            self._read_output()
            lines = self.output[-TAIL:].decode(errors="replace").strip().splitlines()
            self.ending = replace(self.ending, last_lines="\n".join(lines[-LAST_LINES:]))

    def end_as_malformed(self) -> None:
        """Kill the child, because it has sent an invalid message or has closed its pipe."""
        self.kill()
        self._end("malformed", None)

    def kill(self) -> None:
        """Kill the process and all its descendants. Do not wait for their end. Any thread may call this method."""
        if self.ending is not None:
            return
        self._killed = True
        if self._theirs:
            self._end("stopped", None)
        with contextlib.suppress(OSError):
            self._control.shutdown(socket.SHUT_WR)  # the forker kills the process, and later its descendants
        if self._pidfd >= 0:  # the forker may be busy or stopped
            with contextlib.suppress(OSError):
                signal.pidfd_send_signal(self._pidfd, signal.SIGKILL)

    def close(self) -> None:
        """Kill the process if it still runs, and release its descriptors and its memory."""
        self.kill()
        self._close_theirs()
        self._control.close()
        close_all(self._pipes)
        close_all([self._pidfd] if self._pidfd >= 0 else [])
        self._pipes = []
        self.frames_fd = self.control_fd = self.output_fd = self._writing = self._pidfd = -1
        self.memory = memoryview(b"")  # the memory is released when nobody else has a view of it

    def __exit__(self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None) -> None:
        self.close()

    def _close_theirs(self) -> None:
        close_all(self._theirs)
        self._theirs = []


def _ready(descriptors: Sequence[int], events: int, seconds: float) -> list[tuple[int, int]]:
    """Wait at most `seconds` seconds until a descriptor is ready. Return the descriptors that are, and their events."""
    poll = select.poll()
    for descriptor in descriptors:
        poll.register(descriptor, events)
    return poll.poll(None if seconds == inf else max(0, ceil(seconds * 1000)))
