"""Handles of worker processes and of their fork server, for the pool; and the multiprocessing context of our other processes."""

from __future__ import annotations

import atexit
import contextlib
import fcntl
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
import time
from collections.abc import Iterator, Sequence
from multiprocessing import resource_tracker, spawn
from multiprocessing.forkserver import ensure_running
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

from sim import kernels
from vindibot.config import import_path
from vindibot.engine import forkserver, worker
from vindibot.engine.worker import TraitPlan

#: Seconds to wait for the end of the keeper, and then for the end of a fork server without a keeper.
END_TIMEOUT = 1.5
#: The first module of a fork server: it makes the server find vindibot where this process has found it.
FIRST = "vindibot_first"
#: The variable that holds the JSON of `_told` for a fork server that gets no arguments.
TOLD_VARIABLE = "VINDIBOT_TOLD"

#: The folder of this project, and that of `FIRST`.
_TOP = str(Path(os.path.abspath(__file__)).parents[2])  # noqa: PTH100  # `resolve` would follow links
_FOLDER_OF_FIRST = str(Path(_TOP, "vindibot", "engine", "first"))


class Needs(NamedTuple):
    """The modules of a bot's traits, and the folders to import them from if they are beside the bot's files."""

    folders: tuple[str, ...] = ()
    modules: tuple[str, ...] = ()


def _told(needs: Sequence[Needs]) -> dict[str, Any]:
    """The parameters of a fork server: the import path, the folder of compiled kernels, and what to load."""
    return {"top": _TOP, "path": import_path(), "cache": str(kernels.cache_folder()), "needs": needs}


class ForkServer:
    """Handle of the fork server of this process; see `vindibot.engine.forkserver`. Only `start` and `close` wait.

    Any thread may call `start`; one thread calls the other methods.
    """

    def __init__(self, needs: Sequence[Needs]) -> None:
        self._told = _told(needs)
        self._keeper: subprocess.Popen[bytes] | None = None
        self._socket: socket.socket | None = None
        self._lock = threading.Lock()

    def is_running(self) -> bool:
        """Whether a process holds the other end of the socket for requests."""
        if self._socket is None:
            return False
        poll = select.poll()
        poll.register(self._socket, 0)
        return not poll.poll(0)

    def start(self, gate: str | None = None) -> None:
        """Start the server unless it runs. Takes milliseconds: it does not wait for the imports of the server.

        The server loads kernels after the file `gate` is unlocked.
        """
        with self._lock:
            if self.is_running():
                return
            self._end()
            ours, theirs = socket.socketpair()
            ours.setblocking(False)
            told = json.dumps({**self._told, "gate": gate, "requests": theirs.fileno()})
            try:
                self._keeper = subprocess.Popen(
                    [sys.executable, "-P", str(Path(_FOLDER_OF_FIRST, f"{FIRST}.py")), told],
                    stdin=subprocess.DEVNULL,
                    pass_fds=[theirs.fileno()],
                    start_new_session=True,
                )
            finally:
                theirs.close()
            self._socket = ours

    def send(self, message: bytes, descriptors: Sequence[int]) -> bool:
        """Send a request for a worker (see `vindibot.engine.forkserver.request`). Returns whether it could be sent."""
        if self._socket is None:
            return False
        try:
            return socket.send_fds(self._socket, [message], descriptors) == len(message)
        except OSError:
            return False

    def close(self) -> None:
        """End the server and all its descendants. Takes at most some seconds, even if a process is stopped."""
        with self._lock:
            self._end()

    def _end(self) -> None:
        keeper, ours = self._keeper, self._socket
        self._keeper = self._socket = None
        if keeper is None or ours is None:
            return
        servers = _server_pids(ours)
        ours.close()
        with contextlib.suppress(subprocess.TimeoutExpired):
            keeper.wait(END_TIMEOUT)
        if keeper.poll() != 0:  # it was stopped or killed, and the server may be stopped
            keeper.kill()
            keeper.wait()
            _kill_server(servers[-1:])


def _server_pids(ours: socket.socket) -> list[int]:
    """The process ids of the servers that the keeper has started."""
    told = b""
    with contextlib.suppress(OSError):
        while data := ours.recv(1 << 16):
            told += data
    return [number for (number,) in forkserver.STATUS.iter_unpack(told[: len(told) // 4 * 4])]


def _kill_server(pids: Sequence[int]) -> None:
    """Kill a server without a keeper if it does not end by itself. Its process id may belong to another process by now."""
    limit = time.monotonic() + END_TIMEOUT
    for pid in pids:
        with contextlib.suppress(OSError):
            while Path(f"/proc/{pid}/comm").read_text().strip() == forkserver.SERVER:
                if time.monotonic() > limit:
                    os.kill(pid, signal.SIGKILL)
                    return
                time.sleep(0.01)


_server: ForkServer | None = None


def fork_server(*needs: Needs) -> ForkServer:
    """The fork server of this process. It loads the `needs` of the first call; workers import the rest."""
    global _server
    if _server is None:
        _server = ForkServer(needs)
        atexit.register(_server.close)
    return _server


@contextlib.contextmanager
def loading_beside(*needs: Needs) -> Iterator[None]:
    """Let the fork server import what these bots need, while the block imports it in this process.

    The server loads kernels after the block. So this process compiles them, and can show the progress.
    """
    server = fork_server(*needs)
    with tempfile.NamedTemporaryFile(prefix="vindibot-") as gate:
        fcntl.flock(gate, fcntl.LOCK_EX)
        server.start(gate=gate.name)
        yield


class WorkerProcess:
    """Handle of a worker: the process, its pipes, its shared memory, and its current request.

    `only` is its one trait, None for any. `requested` says whether the fork server has the request. `ready`: it has built the
    traits. `dead`: it gets no more work. `gone`: the fork server has reported its end, or has ended. `pid` is 0 until it is
    known. `number` and `assigned` are its last request and the traits in it. `ran` are the traits whose code has run in it.
    `exit_code` is None unless the fork server has reported it.
    """

    def __init__(self, index: int, plans: Sequence[TraitPlan], folders: Sequence[str], only: int | None = None) -> None:
        self.index, self.only = index, only
        self.ready = self.requested = self.dead = self.gone = False
        self.pid = 0
        self.exit_code: int | None = None
        self.number = 0
        self.assigned: tuple[int, ...] = ()
        self.ran: set[int] = set()
        self.buffer = bytearray()
        self._status_bytes = bytearray()
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
            # Ours until the fork server has them.
            self._theirs = [request_end, answer_end, leash_end, status_end, os.dup(memory.fileno())]
        for pipe in (self.answers, self.status):
            os.set_blocking(pipe, False)

    @property
    def idle(self) -> bool:
        return self.ready and not self.dead and not self.assigned

    def request_from(self, server: ForkServer) -> bool:
        """Send the request for the process to the fork server, unless it has it. Returns whether it has it now."""
        if not self.requested and server.send(self._message, self._theirs):
            self.requested = True
            self._close_theirs()
        return self.requested

    def read_status(self) -> None:
        """Read the reports of the fork server about the process: `pid`, `exit_code` and `gone`."""
        try:
            data = os.read(self.status, 64)
        except BlockingIOError:
            return
        self._status_bytes += data
        numbers = [number for (number,) in forkserver.STATUS.iter_unpack(self._status_bytes)]
        if numbers:
            self.pid = numbers[0]
        if len(numbers) > 1:
            self.exit_code = numbers[1]
        self.gone = not data or len(numbers) > 1

    def kill(self) -> None:
        """Kill the process and its process group. The fork server kills its other descendants."""
        if self._leash >= 0:
            os.close(self._leash)  # a process that has just been forked sees this
            self._leash = -1
        if self.pid and self.exit_code is None:
            for kill in (os.killpg, os.kill):
                with contextlib.suppress(ProcessLookupError, PermissionError):
                    kill(self.pid, signal.SIGKILL)

    def close(self) -> None:
        """Release the pipes and the memory. Call it when the process has ended."""
        self.kill()
        self._close_theirs()
        for pipe in (self.requests, self.answers, self.status):
            os.close(pipe)
        del self.board  # and with it the memory

    def _close_theirs(self) -> None:
        for descriptor in self._theirs:
            os.close(descriptor)
        self._theirs = []


def _shared_file() -> BinaryIO:
    """A file in memory without a name."""
    if hasattr(os, "memfd_create"):
        return os.fdopen(os.memfd_create("vindibot-board"), "r+b", buffering=0)
    return tempfile.TemporaryFile(buffering=0)


def context(*needs: Needs) -> Any:
    """The multiprocessing context of our other processes: a fork server that has loaded the traits; spawn where there is none.

    The first call starts the one fork server of this process. If a later bot needs other modules, each worker imports them.
    """
    if "forkserver" not in multiprocessing.get_all_start_methods():
        return multiprocessing.get_context("spawn")
    chosen = multiprocessing.get_context("forkserver")
    chosen.set_forkserver_preload([FIRST])
    with _environment(needs):
        resource_tracker.ensure_running()  # starting it would lift the block
        # Ctrl-C goes to all processes of a terminal, and would kill the fork server while it imports.
        before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
        try:
            ensure_running()
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)
    return chosen


@contextlib.contextmanager
def _environment(needs: Sequence[Needs]) -> Iterator[None]:
    """Make processes that start within the block find `FIRST`, and import nothing from the current folder.

    The environment carries the parameters. The new process restores it before other code runs there.
    """
    users = {name: os.environ.get(name) for name in (TOLD_VARIABLE, "PYTHONPATH", "PYTHONSAFEPATH")}
    main = spawn.get_preparation_data("").get("init_main_from_path")
    os.environ[TOLD_VARIABLE] = json.dumps({**_told(needs), "main": main, "environment": users})
    os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, (_FOLDER_OF_FIRST, users["PYTHONPATH"])))
    os.environ["PYTHONSAFEPATH"] = "1"
    sys.path.append(_FOLDER_OF_FIRST)  # Python 3.13 gives our path to the fork server
    try:
        yield
    finally:
        sys.path.remove(_FOLDER_OF_FIRST)
        for name, value in users.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value
