"""Worker processes and their fork server as the pool sees them; and the context of other processes of ours."""

from __future__ import annotations

import atexit
import contextlib
import json
import mmap
import multiprocessing
import os
import select
import signal
import socket
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator, Sequence
from multiprocessing.forkserver import ensure_running
from typing import Any, BinaryIO

from vindibot import forkserver, worker
from vindibot.worker import TraitPlan

#: What the fork server imports before it forks.
PRELOAD = "vindibot.preload"
#: What `PRELOAD` shall load, as JSON: {"folders": [...], "modules": [...]}.
PRELOAD_VARIABLE = "VINDIBOT_PRELOAD"


class ForkServer:
    """The fork server of this process, as those who hire see it: nothing here waits for it but `start` and `close`.

    See `vindibot.forkserver` for the processes. `start` may be called from any thread, the other methods from one.
    """

    def __init__(self, folders: Sequence[str], modules: set[str]) -> None:
        self._arguments = {"folders": list(folders), "modules": sorted(modules)}
        self._keeper: subprocess.Popen[bytes] | None = None
        self._socket: socket.socket | None = None
        self._lock = threading.Lock()

    def is_running(self) -> bool:
        """Whether somebody is there who gets our requests."""
        if self._socket is None:
            return False
        poll = select.poll()
        poll.register(self._socket, 0)
        return not poll.poll(0)

    def start(self) -> None:
        """Start it, unless it runs. Takes milliseconds; what it has to import takes longer, and is not waited for."""
        with self._lock:
            if self.is_running():
                return
            self._end()
            ours, theirs = socket.socketpair()
            ours.setblocking(False)
            told = json.dumps({**self._arguments, "path": [*_PATH, _TOP], "requests": theirs.fileno()})
            try:
                self._keeper = subprocess.Popen(
                    [sys.executable, "-P", "-c", _RUN, _TOP, told],
                    stdin=subprocess.DEVNULL,
                    pass_fds=[theirs.fileno()],
                    start_new_session=True,
                )
            finally:
                theirs.close()
            self._socket = ours

    def ask(self, message: bytes, descriptors: Sequence[int]) -> bool:
        """Ask for a worker (see `vindibot.forkserver.request`); whether the request could be sent."""
        if self._socket is None:
            return False
        try:
            return socket.send_fds(self._socket, [message], descriptors) == len(message)
        except OSError:
            return False

    def close(self) -> None:
        """End it and all that came from it. Returns within two seconds."""
        with self._lock:
            self._end()

    def _end(self) -> None:
        keeper, self._keeper = self._keeper, None
        if self._socket is not None:
            self._socket.close()
            self._socket = None
        if keeper is not None:
            with contextlib.suppress(subprocess.TimeoutExpired):
                keeper.wait(2.0)
                return
            keeper.kill()
            keeper.wait()


#: The folder of this project.
_TOP = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
#: What the interpreter of a fork server runs, with the folder of this project and what `forkserver.start` gets.
_RUN = "import sys; sys.path.insert(0, sys.argv[1]); from vindibot.forkserver import start; start(sys.argv[2])"
#: Where modules are found. As it was before folders of bots were added to it: those come and go, see `bots.make_importable`.
_PATH = [folder for folder in sys.path if folder]

_server: ForkServer | None = None


def fork_server(folders: Sequence[str], modules: set[str]) -> ForkServer:
    """The fork server of this process. It loads what the first bot needs; workers import what a later bot needs besides."""
    global _server
    if _server is None:
        _server = ForkServer(folders, modules)
        atexit.register(_server.close)
    return _server


class WorkerProcess:
    """A worker as its pool sees it: the process, the pipes to and from it, the shared memory, what it is busy with.

    `only` is the one trait that it is for, None for any. `pid` is 0 until it is known. `ran` are the traits whose code has
    run in it. `exit_code` is known once the worker has been buried by a fork server that still lives.
    """

    def __init__(self, index: int, plans: Sequence[TraitPlan], folders: Sequence[str], only: int | None = None) -> None:
        self.index, self.only = index, only
        self.ready = self.asked = self.dead = self.buried = False
        self.pid = 0
        self.exit_code: int | None = None
        self.number = 0
        self.assigned: tuple[int, ...] = ()
        self.ran: set[int] = set()
        self.buffer = bytearray()
        self._told = bytearray()
        setup, size = worker.setup(plans, folders), worker.Board.size(len(plans))
        with _shared_file() as memory:
            memory.truncate(size + len(setup))
            shared = mmap.mmap(memory.fileno(), size + len(setup))
            shared[size:] = setup
            self.board = worker.Board(memoryview(shared)[:size])
            self._message = forkserver.request(size, len(setup))
            request_end, self.requests = os.pipe()
            self.answers, answer_end = os.pipe()
            leash_end, self._leash = os.pipe()
            self.status, status_end = os.pipe()
            # Until the fork server has them.
            self._theirs = [request_end, answer_end, leash_end, status_end, os.dup(memory.fileno())]
        for pipe in (self.answers, self.status):
            os.set_blocking(pipe, False)

    @property
    def idle(self) -> bool:
        return self.ready and not self.dead and not self.assigned

    def ask_for(self, server: ForkServer) -> bool:
        """Ask the fork server for the process; whether it could be asked. May be repeated until it could."""
        if not self.asked and server.ask(self._message, self._theirs):
            self.asked = True
            self._let_go()
        return self.asked

    def read_status(self) -> None:
        """Take what the fork server tells of the process: `pid`, `exit_code`, and whether it is `buried`."""
        try:
            data = os.read(self.status, 64)
        except BlockingIOError:
            return
        self._told += data
        numbers = [number for (number,) in forkserver.STATUS.iter_unpack(self._told)]
        if numbers:
            self.pid = numbers[0]
        if len(numbers) > 1:
            self.exit_code = numbers[1]
        self.buried = not data or len(numbers) > 1

    def kill(self) -> None:
        """End the process, and everything that it has started in its group; the fork server sees to the rest."""
        if self._leash >= 0:
            os.close(self._leash)  # who has only just been forked sees this
            self._leash = -1
        if self.pid and self.exit_code is None:
            for kill in (os.killpg, os.kill):
                with contextlib.suppress(ProcessLookupError, PermissionError):
                    kill(self.pid, signal.SIGKILL)

    def close(self) -> None:
        """Release what the process held. Call it when the process is gone."""
        self.kill()
        self._let_go()
        for pipe in (self.requests, self.answers, self.status):
            os.close(pipe)
        del self.board  # and with it the memory

    def _let_go(self) -> None:
        for descriptor in self._theirs:
            os.close(descriptor)
        self._theirs = []


def _shared_file() -> BinaryIO:
    """A file in memory that has no name."""
    if hasattr(os, "memfd_create"):
        return open(os.memfd_create("vindibot-board"), "r+b", buffering=0)
    return tempfile.TemporaryFile(buffering=0)


def context(folders: Sequence[str], modules: set[str]) -> Any:
    """The multiprocessing context of other processes: a fork server that has the traits loaded, or spawn where there is none.

    The fork server is one per process and is started by the first call; a module that a later bot needs is then imported
    by each of its workers.
    """
    if "forkserver" not in multiprocessing.get_all_start_methods():
        return multiprocessing.get_context("spawn")
    chosen = multiprocessing.get_context("forkserver")
    chosen.set_forkserver_preload(["__main__", PRELOAD])
    with _environment(folders, modules):
        ensure_running()
    return chosen


@contextlib.contextmanager
def _environment(folders: Sequence[str], modules: set[str]) -> Iterator[None]:
    """What the fork server must know at its start: what to load, and where this project lies (its path is not ours)."""
    top = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    kept = {name: os.environ.get(name) for name in (PRELOAD_VARIABLE, "PYTHONPATH")}
    os.environ[PRELOAD_VARIABLE] = json.dumps({"folders": list(folders), "modules": sorted(modules)})
    os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, (top, kept["PYTHONPATH"])))
    try:
        yield
    finally:
        for name, value in kept.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value
