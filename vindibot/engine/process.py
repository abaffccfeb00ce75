"""Worker processes and their fork server as the pool sees them; and the context of other processes of ours."""

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

#: Seconds that the end of the fork server is waited for, and then that of one that has lost its keeper.
END_TIMEOUT = 1.5
#: What a fork server runs first: it finds vindibot where this process has found it.
FIRST = "vindibot_first"
#: What it is told (see `_told`) where that is not an argument, as JSON.
TOLD_VARIABLE = "VINDIBOT_TOLD"

#: The folder of this project, and that of `FIRST`.
_TOP = str(Path(os.path.abspath(__file__)).parents[2])  # noqa: PTH100  # `resolve` would follow links
_FOLDER_OF_FIRST = str(Path(_TOP, "vindibot", "engine", "first"))


class Needs(NamedTuple):
    """What the traits of a bot need: `modules`, and the `folders` in which those that lie beside the bot's files are found."""

    folders: tuple[str, ...] = ()
    modules: tuple[str, ...] = ()


def _told(needs: Sequence[Needs]) -> dict[str, Any]:
    """What a fork server must know: where modules are found, where kernels are kept, and what to load."""
    return {"top": _TOP, "path": import_path(), "cache": str(kernels.cache_folder()), "needs": needs}


class ForkServer:
    """The fork server of this process, as those who hire see it: nothing here waits for it but `start` and `close`.

    See `vindibot.engine.forkserver` for the processes. `start` may be called from any thread, the other methods from one.
    """

    def __init__(self, needs: Sequence[Needs]) -> None:
        self._told = _told(needs)
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

    def start(self, gate: str | None = None) -> None:
        """Start it, unless it runs. Takes milliseconds; what it has to import takes longer, and is not waited for. It loads
        kernels when the file `gate` is unlocked."""
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

    def ask(self, message: bytes, descriptors: Sequence[int]) -> bool:
        """Ask for a worker (see `vindibot.engine.forkserver.request`); whether the request could be sent."""
        if self._socket is None:
            return False
        try:
            return socket.send_fds(self._socket, [message], descriptors) == len(message)
        except OSError:
            return False

    def close(self) -> None:
        """End it and all that came from it. Returns within some seconds, whatever has been stopped."""
        with self._lock:
            self._end()

    def _end(self) -> None:
        keeper, ours = self._keeper, self._socket
        self._keeper = self._socket = None
        if keeper is None or ours is None:
            return
        servers = _numbers(ours)
        ours.close()
        with contextlib.suppress(subprocess.TimeoutExpired):
            keeper.wait(END_TIMEOUT)
        if keeper.poll() != 0:  # it was stopped, or killed before, and the server may have been stopped
            keeper.kill()
            keeper.wait()
            _kill_server(servers[-1:])


def _numbers(ours: socket.socket) -> list[int]:
    """What the keeper has told of the servers that it started."""
    told = b""
    with contextlib.suppress(OSError):
        while data := ours.recv(1 << 16):
            told += data
    return [number for (number,) in forkserver.STATUS.iter_unpack(told[: len(told) // 4 * 4])]


def _kill_server(pids: Sequence[int]) -> None:
    """Kill a server that has no keeper, if it does not end by itself. Its number may be another's by now."""
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
    """The fork server of this process. It loads what the first call names; workers import what is needed besides."""
    global _server
    if _server is None:
        _server = ForkServer(needs)
        atexit.register(_server.close)
    return _server


@contextlib.contextmanager
def loading_beside(*needs: Needs) -> Iterator[None]:
    """Have the fork server import what these bots need at the same time as what is done inside imports it here.

    It loads compiled kernels when the context is left, so that kernels are compiled here, where it is shown.
    """
    server = fork_server(*needs)
    with tempfile.NamedTemporaryFile(prefix="vindibot-") as gate:
        fcntl.flock(gate, fcntl.LOCK_EX)
        server.start(gate=gate.name)
        yield


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
        return os.fdopen(os.memfd_create("vindibot-board"), "r+b", buffering=0)
    return tempfile.TemporaryFile(buffering=0)


def context(*needs: Needs) -> Any:
    """The multiprocessing context of other processes: a fork server that has the traits loaded, or spawn where there is none.

    The fork server is one per process and is started by the first call; a module that a later bot needs is then imported
    by each of its workers.
    """
    if "forkserver" not in multiprocessing.get_all_start_methods():
        return multiprocessing.get_context("spawn")
    chosen = multiprocessing.get_context("forkserver")
    chosen.set_forkserver_preload([FIRST])
    with _environment(needs):
        resource_tracker.ensure_running()  # starting it would lift the block
        # Ctrl-C goes to all processes of a terminal: the fork server would die of one while it imports.
        before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
        try:
            ensure_running()
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)
    return chosen


@contextlib.contextmanager
def _environment(needs: Sequence[Needs]) -> Iterator[None]:
    """Have what is started meanwhile find `FIRST`, and import nothing from the current folder.

    All of it goes through the environment, and out of it again before anything else runs over there.
    """
    users = {name: os.environ.get(name) for name in (TOLD_VARIABLE, "PYTHONPATH", "PYTHONSAFEPATH")}
    main = spawn.get_preparation_data("").get("init_main_from_path")
    os.environ[TOLD_VARIABLE] = json.dumps({**_told(needs), "main": main, "environment": users})
    os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, (_FOLDER_OF_FIRST, users["PYTHONPATH"])))
    os.environ["PYTHONSAFEPATH"] = "1"
    sys.path.append(_FOLDER_OF_FIRST)  # where the fork server is given our path (Python 3.13)
    try:
        yield
    finally:
        sys.path.remove(_FOLDER_OF_FIRST)
        for name, value in users.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value
