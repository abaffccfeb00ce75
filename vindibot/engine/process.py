"""Handles of worker processes and of their fork server, and the `multiprocessing` context in which other processes start."""

from __future__ import annotations

import atexit
import contextlib
import fcntl
import json
import mmap
import multiprocessing
import multiprocessing.util
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
from vindibot.base import VindibotError
from vindibot.config import import_path
from vindibot.engine import forkserver, worker
from vindibot.engine.parts import PartsLayout
from vindibot.engine.worker import TraitPlan

#: Seconds to wait for the end of the keeper. If the keeper was killed, seconds to wait for the end of the fork server.
END_TIMEOUT = 1.5
#: Largest number of bytes of the path of the folder for temporary files. `multiprocessing` adds two names for a socket.
LONGEST_TEMPORARY = 70
#: The first module of a fork server. It makes the server import vindibot from the same place as this process.
FIRST = "vindibot_first"
#: The environment variable with the JSON of `_told`, for the fork server of `multiprocessing`, which gets no arguments.
TOLD_VARIABLE = "VINDIBOT_TOLD"

#: The folder of this project, and the folder of `FIRST`.
_TOP = str(Path(os.path.abspath(__file__)).parents[2])  # noqa: PTH100  # `resolve` would follow links
_FOLDER_OF_FIRST = str(Path(_TOP, "vindibot", "engine", "first"))


class Needs(NamedTuple):
    """The modules that contain a bot's traits. `folders` are folders beside the bot's files from which they can be imported."""

    folders: tuple[str, ...] = ()
    modules: tuple[str, ...] = ()


def _told(needs: Sequence[Needs]) -> dict[str, Any]:
    """Return the parameters of a fork server: the import path, the folder of compiled kernels, and the modules to load."""
    return {"top": _TOP, "path": import_path(), "cache": str(kernels.cache_folder()), "needs": needs}


class ForkServer:
    """Handle of this process's fork server (see `vindibot.engine.forkserver`). Only `start` and `close` can block.

    Any thread may call `start`. All other methods must be called from one thread.
    """

    def __init__(self, needs: Sequence[Needs]) -> None:
        self._told = _told(needs)
        self._keeper: subprocess.Popen[bytes] | None = None
        self._socket: socket.socket | None = None
        self._lock = threading.Lock()

    def is_running(self) -> bool:
        """Return whether the fork server runs, that is, whether a process holds the other end of the socket for requests."""
        if self._socket is None:
            return False
        poll = select.poll()
        poll.register(self._socket, 0)
        return not poll.poll(0)

    def start(self, gate: str | None = None) -> None:
        """Start the server unless it runs. This takes only milliseconds, because it does not wait for the imports of the server.

        If `gate` is given, the server loads the kernels only after the file `gate` is unlocked.
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
        """Send a request for a worker. Return whether it was sent.

        `message` comes from `vindibot.engine.forkserver.request`. `descriptors` are the six file descriptors of the request.
        """
        if self._socket is None:
            return False
        try:
            return socket.send_fds(self._socket, [message], descriptors) == len(message)
        except OSError:
            return False

    def close(self) -> None:
        """End the server and all its descendants. Takes a few seconds at most, even if a process is stopped."""
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
        if keeper.poll() != 0:  # the keeper was stopped or killed, so the server may still exist, perhaps stopped
            keeper.kill()
            keeper.wait()
            _kill_server(servers[-1:])


def _server_pids(ours: socket.socket) -> list[int]:
    """Return the process ids of the servers that the keeper has started, oldest first."""
    told = b""
    with contextlib.suppress(OSError):
        while data := ours.recv(1 << 16):
            told += data
    return [number for (number,) in forkserver.STATUS.iter_unpack(told[: len(told) // 4 * 4])]


def _kill_server(pids: Sequence[int]) -> None:
    """Kill a fork server whose keeper has ended, unless the server ends by itself within `END_TIMEOUT` seconds.

    `pids` has the process id of the server, or nothing. The name of the process is checked, since its process id may belong to
    another process by now.
    """
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
    """Return the fork server of this process. It loads the `needs` of the first call. Workers import all other modules."""
    global _server
    if _server is None:
        _server = ForkServer(needs)
        atexit.register(_server.close)
    return _server


@contextlib.contextmanager
def loading_beside(*needs: Needs) -> Iterator[None]:
    """Import the modules `needs` in the fork server while the ``with`` block imports the same modules in this process.

    The server loads the kernels only after the block. So this process compiles them in the block, and can show the progress.
    """
    server = fork_server(*needs)
    with _shared_file() as gate:
        fcntl.flock(gate, fcntl.LOCK_EX)
        server.start(gate=f"/proc/{os.getpid()}/fd/{gate.fileno()}")
        yield


class SharedParts:
    """The memory for the statistics of helpers (`Parts`), as a file that all workers of a pool share."""

    def __init__(self, layout: PartsLayout) -> None:
        self.layout = layout
        self.memory = _shared_file()
        self.memory.truncate(layout.size)


class WorkerProcess:
    """Handle of a worker: the process, its pipes, its shared memory, and its last request.

    - `index`: the number of the worker in its pool.
    - `only`: the one trait that the worker may run, None for any.
    - `requested`: whether the fork server has the request for this worker.
    - `ready`: whether the worker has built the traits.
    - `dead`: whether the worker gets no more work.
    - `gone`: whether the fork server has reported the end of the worker, or has ended itself.
    - `pid`: the process id, 0 until it is known.
    - `exit_code`: the exit code, None unless the fork server has reported it.
    - `number`: the number of the last request.
    - `assigned`: the traits of the last request, empty after the answer.
    - `helps`: whether the last request was to play parts of split traits that another worker leads.
    - `ran`: the traits whose code has run in this worker.
    """

    def __init__(
        self, index: int, plans: Sequence[TraitPlan], folders: Sequence[str], shared: SharedParts, only: int | None = None
    ) -> None:
        self.index, self.only = index, only
        self.ready = self.requested = self.dead = self.gone = False
        self.pid = 0
        self.exit_code: int | None = None
        self.number = 0
        self.assigned: tuple[int, ...] = ()
        self.helps = False
        self.ran: set[int] = set()
        self.buffer = bytearray()
        self._status_bytes = bytearray()
        setup, size = worker.setup(plans, folders, index, shared.layout), worker.Board.size(len(plans))
        with _shared_file() as memory:
            memory.truncate(size + len(setup))
            mapped = mmap.mmap(memory.fileno(), size + len(setup))
            mapped[size:] = setup
            self.board = worker.Board(memoryview(mapped)[:size])
            self._message = forkserver.request(size, len(setup))
            request_end, self.requests = os.pipe()
            self.answers, answer_end = os.pipe()
            leash_end, self._leash = os.pipe()
            self.status, status_end = os.pipe()
            # The descriptors for the fork server. This process closes its copies once the server has them.
            copies = [os.dup(memory.fileno()), os.dup(shared.memory.fileno())]
            self._theirs = [request_end, answer_end, leash_end, status_end, *copies]
        for pipe in (self.answers, self.status):
            os.set_blocking(pipe, False)

    @property
    def idle(self) -> bool:
        return self.ready and not self.dead and not self.assigned

    def request_from(self, server: ForkServer) -> bool:
        """Send the request for this worker to the fork server, unless it was sent before. Return whether it has been sent."""
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
        """Kill the process and its process group. The fork server kills the other descendants of the process."""
        if self._leash >= 0:
            os.close(self._leash)  # ends the process even if its process id is not known yet
            self._leash = -1
        if self.pid and self.exit_code is None:
            for kill in (os.killpg, os.kill):
                with contextlib.suppress(ProcessLookupError, PermissionError):
                    kill(self.pid, signal.SIGKILL)

    def close(self) -> None:
        """Kill the process if it still runs, and release its pipes and its memory."""
        self.kill()
        self._close_theirs()
        for pipe in (self.requests, self.answers, self.status):
            os.close(pipe)
        del self.board  # releases the memory

    def _close_theirs(self) -> None:
        for descriptor in self._theirs:
            os.close(descriptor)
        self._theirs = []


def _shared_file() -> BinaryIO:
    """Return a new file without a name, in memory if possible."""
    if hasattr(os, "memfd_create"):
        return os.fdopen(os.memfd_create("vindibot-board"), "r+b", buffering=0)
    return tempfile.TemporaryFile(buffering=0)


def context(*needs: Needs) -> Any:
    """Return the `multiprocessing` context for processes other than the pool's workers.

    New processes come from a fork server that has loaded the modules `needs`, or from "spawn" on systems without fork servers.
    The first call starts the only fork server of `multiprocessing` in this process. If a later call has other `needs`, each new
    process imports them.
    """
    if "forkserver" not in multiprocessing.get_all_start_methods():
        return multiprocessing.get_context("spawn")
    _choose_socket_folder()
    chosen = multiprocessing.get_context("forkserver")
    chosen.set_forkserver_preload([FIRST])
    with _environment(needs):
        resource_tracker.ensure_running()  # its start unblocks SIGINT, so it must start before the block below
        # Ctrl-C goes to all processes of a terminal, and would kill the fork server while it imports.
        before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
        try:
            ensure_running()
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)
    return chosen


def pool_context(*needs: Needs) -> Any:
    """Return `context` for a pool of processes. Raises `VindibotError` if the pool cannot have semaphores."""
    chosen = context(*needs)
    try:
        chosen.Lock()
    except OSError as problem:
        advice = "make it writable (podman and docker: --tmpfs /dev/shm)"
        words = f"worker processes need semaphores in /dev/shm, which cannot be made: {problem.strerror or problem}"
        raise VindibotError(f"{words}; {advice}") from None
    return chosen


def _choose_socket_folder() -> None:
    """Let `multiprocessing` make its sockets in a folder with a short path. Raises `VindibotError` if there is none.

    The path of a socket has at most 107 bytes. So a long ``TMPDIR`` cannot be used.
    """
    try:
        usual = tempfile.gettempdir()
    except OSError as problem:
        raise VindibotError(f"there is no folder for temporary files: set TMPDIR ({problem.strerror})") from None
    if len(os.fsencode(usual)) <= LONGEST_TEMPORARY:
        return
    for folder in filter(None, (os.environ.get("XDG_RUNTIME_DIR"), "/tmp", "/var/tmp", "/dev/shm")):  # noqa: S108
        if len(os.fsencode(folder)) <= LONGEST_TEMPORARY and os.access(folder, os.W_OK | os.X_OK):
            before, tempfile.tempdir = tempfile.tempdir, folder
            try:
                multiprocessing.util.get_temp_dir()  # makes the folder for sockets at the first call
            finally:
                tempfile.tempdir = before
            return
    raise VindibotError(f"TMPDIR is too long for sockets: set it to a folder with at most {LONGEST_TEMPORARY} characters")


@contextlib.contextmanager
def _environment(needs: Sequence[Needs]) -> Iterator[None]:
    """Set the environment so that a fork server that starts within the block finds `FIRST` and its parameters.

    Such a server imports nothing from the current folder. It restores the user's environment before other code runs in it.
    """
    users = {name: os.environ.get(name) for name in (TOLD_VARIABLE, "PYTHONPATH", "PYTHONSAFEPATH")}
    main = spawn.get_preparation_data("").get("init_main_from_path")
    os.environ[TOLD_VARIABLE] = json.dumps({**_told(needs), "main": main, "environment": users})
    os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, (_FOLDER_OF_FIRST, users["PYTHONPATH"])))
    os.environ["PYTHONSAFEPATH"] = "1"
    sys.path.append(_FOLDER_OF_FIRST)  # since Python 3.13, the fork server gets the import path of this process
    try:
        yield
    finally:
        sys.path.remove(_FOLDER_OF_FIRST)
        for name, value in users.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value
