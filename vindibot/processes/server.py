"""The handle of this process's fork server, which forks children that have their modules at once."""

from __future__ import annotations

import atexit
import contextlib
import json
import os
import select
import signal
import socket
import subprocess
import sys
import threading
import time
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar

from sim import kernels
from vindibot.base.errors import VindibotError
from vindibot.base.system import require_children, supports_children
from vindibot.config.bots import import_path
from vindibot.processes import requests
from vindibot.processes.requests import ROOT, Needs, Request

#: Seconds to wait for the end of the keeper. If the keeper was killed, seconds to wait for the end of the root.
END_TIMEOUT = 1.5
#: The number of the latest bots whose modules a server imports at its start.
MOST_PREPARED = 8

#: The folder of this project, and the first module of a keeper.
_TOP = Path(os.path.abspath(__file__)).parents[2]  # noqa: PTH100  # `resolve` would follow links
_FIRST = _TOP / "vindibot" / "processes" / "first" / "vindibot_first.py"


class ForkServer:
    """Handle of the fork server of this process: its keeper (see `vindibot.processes.keeper`) and its root.

    Only `start` and `close` can block. Any thread may call the methods. `path` is the import path of its processes, None if it is
    unknown. Its processes have the environment variables of this process, and those of `environment`. Raises
    `UsageError` on a system that cannot run child processes.
    """

    _of_process: ClassVar[ForkServer | None] = None

    def __init__(self, environment: Mapping[str, str] | None = None, *, inherited: socket.socket | None = None) -> None:
        require_children()
        self._environment = dict(environment or {})
        self._prepared: deque[tuple[str, Needs]] = deque(maxlen=MOST_PREPARED)
        self._keeper: subprocess.Popen[bytes] | None = None
        self._socket = inherited
        self._gate = -1
        self.path: list[str] | None = None
        self._inherited = inherited is not None
        self._lock = threading.Lock()

    @classmethod
    def of_process(cls) -> ForkServer:
        """Return the fork server of this process. In a child that may have children, this is the server of its owner."""
        if cls._of_process is None:
            cls._of_process = cls()
            atexit.register(cls._of_process.close)
        return cls._of_process

    @classmethod
    def inherit(cls, there: socket.socket) -> None:
        """Let this process, which is a child, send its requests to the socket `there`."""
        cls._of_process = cls(inherited=there)

    def is_running(self) -> bool:
        """Return whether the fork server runs, that is, whether a process holds the other end of the socket for requests."""
        there = self._socket
        if there is None:
            return False
        poll = select.poll()
        poll.register(there, 0)
        return not poll.poll(0)

    def start(self, *, gate: bool = False) -> None:
        """Start the server unless it runs. This takes only milliseconds, because it does not wait for the imports of the server.

        With `gate`, the server loads the kernels only after `open_gate`. Raises `VindibotError` in a child of a server that has
        ended.
        """
        with self._lock:
            if self.is_running():
                return
            if self._inherited:
                raise VindibotError("the process that starts processes has ended")
            self._end()
            ours, theirs = socket.socketpair(type=socket.SOCK_SEQPACKET)
            inherited = [theirs.fileno()]
            if gate:
                end, self._gate = os.pipe()
                inherited.append(end)
            told = {
                **parameters(),
                "prepared": [*self._prepared],
                "requests": theirs.fileno(),
                "gate": inherited[1] if gate else None,
            }
            try:
                self._keeper = subprocess.Popen(
                    [sys.executable, "-P", str(_FIRST), json.dumps(told)],
                    env={**os.environ, **self._environment},
                    stdin=subprocess.DEVNULL,
                    pass_fds=inherited,
                    start_new_session=True,
                )
            except BaseException:
                ours.close()
                raise
            finally:
                theirs.close()
                requests.close_all(inherited[1:])
            self._socket, self.path = ours, told["path"]
            with contextlib.suppress(OSError, RuntimeError):  # no descriptor or no thread is left: a stopped keeper stays stopped
                watched = os.pidfd_open(self._keeper.pid)
                threading.Thread(target=_keep_running, args=(watched,), name="keeper", daemon=True).start()

    def open_gate(self) -> None:
        """Let the root load the kernels."""
        gate, self._gate = self._gate, -1
        if gate >= 0:
            os.close(gate)

    def prepare(self, run: str, needs: Needs) -> None:
        """Let the server import what children need for the function `run`, as soon as it runs. Do not wait for the imports."""
        if (run, needs) not in self._prepared:
            self._prepared.append((run, needs))
            self.send(Request(run, needs))

    def send(self, request: Request, descriptors: Sequence[int] = ()) -> bool:
        """Send a request. Return whether it was sent. Otherwise the server does not run, or has too many requests to handle."""
        there = self._socket
        return there is not None and requests.send(there, request, descriptors)

    def close(self) -> None:
        """End the server and all its descendants. Takes a few seconds at most, even if a process is stopped."""
        with self._lock:
            self._end()

    def _end(self) -> None:
        self.open_gate()
        keeper, ours = self._keeper, self._socket
        self._keeper = self._socket = None
        if ours is None:
            return
        roots = _root_pids(ours) if keeper else []
        ours.close()
        if keeper is None:
            return
        with contextlib.suppress(subprocess.TimeoutExpired):
            keeper.wait(END_TIMEOUT)
        if keeper.poll() != 0:  # the keeper was stopped or killed, so the root may still exist, perhaps stopped
            keeper.kill()
            keeper.wait()
            _kill_root(roots[-1:])


def parameters() -> dict[str, Any]:
    """Return what a fork server needs to import the same modules as this process: folders, and that of the compiled kernels."""
    return {"top": str(_TOP), "path": import_path(), "cache": str(kernels.cache_folder())}


def _keep_running(keeper: int) -> None:
    """Continue a keeper whenever it is stopped, until it ends. Otherwise nobody would start a new root. `keeper` is a pidfd."""
    with contextlib.suppress(OSError):
        while True:
            changed = os.waitid(os.P_PIDFD, keeper, os.WSTOPPED | os.WEXITED | os.WNOWAIT)
            if changed is None or changed.si_code != os.CLD_STOPPED:
                break
            signal.pidfd_send_signal(keeper, signal.SIGCONT)
    os.close(keeper)


def _root_pids(ours: socket.socket) -> list[int]:
    """Return the process ids of the roots that the keeper has started, oldest first."""
    found = []
    with contextlib.suppress(OSError):
        while told := ours.recv(64, socket.MSG_DONTWAIT):
            found.append(int(told))
    return found


def _kill_root(pids: Sequence[int]) -> None:
    """Kill a root whose keeper has ended, unless the root ends by itself within `END_TIMEOUT` seconds.

    `pids` has the process id of the root, or nothing. The name of the process is checked, since its process id may belong to
    another process by now.
    """
    limit = time.monotonic() + END_TIMEOUT
    for pid in pids:
        with contextlib.suppress(OSError):
            while Path(f"/proc/{pid}/comm").read_text().strip() == ROOT:
                if time.monotonic() > limit:
                    os.kill(pid, signal.SIGKILL)
                    return
                time.sleep(0.01)


@contextlib.contextmanager
def loading_beside(run: str, *needs: Needs) -> Iterator[None]:
    """Let the fork server import the modules `needs` while the ``with`` block imports the same modules in this process.

    `run` is the function of the later children. The server loads the kernels after the block, or as soon as `open_gate` is called
    in it. Then both processes compile missing kernels together, and this process can show the progress. On a system that cannot
    run child processes, there is no server.
    """
    if not supports_children():
        yield
        return
    server = ForkServer.of_process()
    for one in needs or (Needs(),):
        server.prepare(run, one)
    server.start(gate=True)
    try:
        yield
    finally:
        server.open_gate()
