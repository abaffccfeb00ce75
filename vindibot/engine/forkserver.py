"""The processes that start workers: the fork server, and the keeper, which is the parent of the fork server.

The fork server imports all modules once. Then it forks a worker per request, so the worker has these modules at once. It reports
the worker's process id, and later its exit code. When a worker has ended, the server kills the worker's descendants.

The keeper is a child of the process that plays. It starts the server, and starts a new one if the server dies or is stopped. It
adopts the workers of a dead server. When the process that plays has ended, the keeper kills the server and all workers. Keeper
and server are in another session than the process that plays, so Ctrl-C on a terminal does not reach them.

A request is a message on a socket (see `request`) with six file descriptors:

- the worker's ends of three pipes: for its requests, its answers and its leash. The worker dies when the other end of its leash
  is closed.
- the server's end of the status pipe, to which the server writes the status of the worker.
- the worker's memory, and the memory that all workers of the pool share.

The status pipe carries two integers. The first is the worker's process id. The second is its exit code (negative for a signal),
sent when no descendant of the worker is left. If the pipe ends without an exit code, the server has ended and the worker still
lives. On the socket, the keeper sends the process id of each server that it starts.
"""

from __future__ import annotations

import contextlib
import os
import select
import signal
import socket
import struct
from typing import Any, NoReturn

from vindibot.base import adopt_orphans, children, kill_children, name_process

#: Names of the processes, as ``ps`` shows them.
KEEPER, SERVER, WORKER = "vindibot-keeper", "vindibot-forker", "vindibot-worker"
#: Pauses in milliseconds before a server is started again after it died during its imports: the first and the longest pause.
PAUSES = (50, 1000)
#: The format of an integer on the status pipe.
STATUS = struct.Struct("<i")

_REQUEST = struct.Struct("<QQ")
_DESCRIPTORS = 6


def request(board_size: int, setup_size: int) -> bytes:
    """Return the message that requests a worker.

    `board_size` and `setup_size` are the sizes in bytes of the worker's `worker.Board` and of its `worker.setup`.
    """
    return _REQUEST.pack(board_size, setup_size)


class _Children:
    """The children of this process. `descriptor` becomes readable when a child ends or stops."""

    def __init__(self) -> None:
        self.descriptor, self._wake = os.pipe()
        for end in (self.descriptor, self._wake):
            os.set_blocking(end, False)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        signal.set_wakeup_fd(self._wake, warn_on_full_buffer=False)

    def changed(self) -> list[tuple[int, int]]:
        """Return the children that have ended or stopped since the last call, as (process id, wait status)."""
        with contextlib.suppress(BlockingIOError):
            os.read(self.descriptor, 1 << 16)
        found = []
        with contextlib.suppress(ChildProcessError):
            while (told := os.waitpid(-1, os.WNOHANG | os.WUNTRACED))[0]:
                found.append(told)
        return found

    def end(self) -> NoReturn:
        """Kill all descendants, and end this process."""
        with contextlib.suppress(ChildProcessError):
            while True:
                kill_children()
                if not os.waitpid(-1, os.WNOHANG)[0]:
                    select.select([self.descriptor], [], [], 0.05)
                    self.changed()
        os._exit(0)

    def forget(self) -> None:
        """Reset the signal handling. A forked process calls this: these children are its siblings, not its children."""
        signal.set_wakeup_fd(-1)
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        os.close(self.descriptor)
        os.close(self._wake)


def main(requests: int, told: dict[str, Any]) -> NoReturn:
    """Run the keeper; never return.

    `requests` is the file descriptor of the socket on which the server receives requests. `told` says what the server loads (see
    `preload.load`).
    """
    name_process(KEEPER)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    adopt_orphans()
    born = _Children()
    gone = select.poll()
    gone.register(requests, 0)  # reports only the end of the socket, because the server reads the requests
    gone.register(born.descriptor, select.POLLIN)
    workers: set[int] = set()  # the workers of servers that have ended
    pause = PAUSES[0]
    while True:
        server, loaded = _start_server(born, requests, told)
        while server in _living(born, gone, requests, server, workers):
            pass
        workers |= set(children())
        if _was_loaded(loaded):
            pause = PAUSES[0]
            continue
        told = {**told, "needs": []}  # a module may have killed the server; so the workers load the modules and report faults
        select.select([], [], [], pause / 1000)
        pause = min(2 * pause, PAUSES[1])


def _living(born: _Children, gone: select.poll, requests: int, server: int, workers: set[int]) -> set[int]:
    """Wait until a child of the keeper ends or stops, and handle that. A stopped server is killed.

    Return the process ids of the server and of the workers that still live. If the process that plays has ended, end all
    processes.
    """
    for descriptor, _ in gone.poll():
        if descriptor == requests:
            born.end()
    ended = set()
    for pid, status in born.changed():
        if os.WIFSTOPPED(status):
            if pid == server:  # games cannot wait until a user continues the server
                os.kill(pid, signal.SIGKILL)
        else:
            ended.add(pid)
    workers -= ended
    if server not in ended:
        kill_children(keep={server, *workers})
    return {server, *workers} - ended


def _was_loaded(loaded: int) -> bool:
    """Return whether a server had loaded all modules before it ended. `loaded` is the pipe from `_start_server`."""
    with contextlib.suppress(BlockingIOError):
        told = os.read(loaded, 1)
        os.close(loaded)
        return bool(told)
    os.close(loaded)
    return False


def _start_server(born: _Children, requests: int, told: dict[str, Any]) -> tuple[int, int]:
    """Fork the server. Return its process id, and a pipe that receives a byte when the server has loaded all modules."""
    loaded, tell = os.pipe()
    os.set_blocking(loaded, False)
    pid = os.fork()
    if pid:
        os.close(tell)
        with contextlib.suppress(OSError), socket.socket(fileno=os.dup(requests)) as there:
            there.send(STATUS.pack(pid), socket.MSG_DONTWAIT)
        return pid, loaded
    try:
        os.close(loaded)
        born.forget()
        _serve(requests, tell, told)
    finally:
        os._exit(1)


def _serve(requests: int, tell: int, told: dict[str, Any]) -> NoReturn:
    """Run the fork server; never return. When it has loaded all modules, it writes a byte to the pipe `tell`."""
    name_process(SERVER)
    adopt_orphans()
    from vindibot.engine.preload import load

    load(told)
    os.write(tell, b"1")
    os.close(tell)
    server = _Server(socket.socket(fileno=requests))
    while True:
        server.step()


class _Server:
    """The fork server: forks workers, and reports their process ids and exit codes."""

    def __init__(self, requests: socket.socket) -> None:
        self._requests = requests
        self._own = children()  # processes that the loaded modules have started
        self._born = _Children()
        self._workers: dict[int, int] = {}  # process id: status pipe
        self._dead: list[tuple[int, int]] = []  # status pipe and exit code of workers whose descendants may still live

    def step(self) -> None:
        """Wait for a request or for the end of a worker, and handle it."""
        ready = select.select([self._requests.fileno(), self._born.descriptor], [], [])[0]
        if self._born.descriptor in ready:
            self._report_ends()
        if self._requests.fileno() in ready:
            try:
                message, descriptors, _, _ = socket.recv_fds(self._requests, _REQUEST.size, _DESCRIPTORS)
            except ConnectionError:
                message = b""
            if not message:
                self._born.end()
            if len(message) == _REQUEST.size and len(descriptors) == _DESCRIPTORS:
                self._fork(*_REQUEST.unpack(message), *descriptors)
            else:
                for descriptor in descriptors:
                    os.close(descriptor)

    def _fork(
        self, board: int, setup: int, requests: int, answers: int, leash: int, status: int, memory: int, parts: int
    ) -> None:
        pid = os.fork()
        if not pid:
            try:
                self._requests.close()
                self._born.forget()
                for other in (status, *self._workers.values(), *(pipe for pipe, _ in self._dead)):
                    os.close(other)
                from vindibot.engine import worker

                worker.main(requests, answers, leash, memory, parts, board, setup)
            finally:
                os._exit(1)
        self._workers[pid] = status
        _send(status, pid)
        for descriptor in (requests, answers, leash, memory, parts):
            os.close(descriptor)

    def _report_ends(self) -> None:
        """Report the exit codes of the workers that have ended, once none of their descendants is left."""
        for pid, status in self._born.changed():
            if pid in self._workers and not os.WIFSTOPPED(status):
                self._dead.append((self._workers.pop(pid), os.waitstatus_to_exitcode(status)))
        if kill_children(keep={*self._workers, *self._own}):
            return  # when these have ended, this method is called again
        for pipe, code in self._dead:
            _send(pipe, code)
            os.close(pipe)
        self._dead.clear()


def _send(pipe: int, number: int) -> None:
    with contextlib.suppress(OSError):  # the reader has ended
        os.write(pipe, STATUS.pack(number))
