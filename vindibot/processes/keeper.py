"""The keeper: the parent of the fork server.

The keeper is a child of the process that wants children, its owner. It starts the fork server, called the root (see
`vindibot.processes.root`), and starts a new one if the root dies or is stopped. It adopts the children of a dead root. If the
keeper itself is stopped, the owner continues it. When the owner has ended, the keeper kills the root and all children. Keeper and
root are in another session than the owner, so Ctrl-C on a terminal does not reach them.

The owner sends requests on a socket (see `vindibot.processes.requests`), which only the root reads. On the same socket, the
keeper sends the process id of each root that it starts.
"""

from __future__ import annotations

import contextlib
import os
import select
import signal
import socket
from typing import Any, NoReturn

from vindibot.base.orphans import adopt_orphans, children, continue_after_parent, kill_children, name_process
from vindibot.processes.changes import Changes

#: The name of the process, as ``ps`` shows it.
KEEPER = "vindibot-keeper"
#: Pauses in milliseconds before a root is started again after it died during its imports: the first and the longest pause.
PAUSES = (50, 1000)


def main(told: dict[str, Any]) -> NoReturn:
    """Run the keeper; never return. `told` has the parameters from `vindibot.processes.server`."""
    name_process(KEEPER)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    adopt_orphans()
    continue_after_parent()
    requests = told["requests"]
    changes = Changes()
    gone = select.poll()
    gone.register(requests, 0)  # reports only the end of the socket, because the root reads the requests
    gone.register(changes.descriptor, select.POLLIN)
    adopted: set[int] = set()  # the children of roots that have ended
    pause = PAUSES[0]
    while True:
        root, loaded = _start_root(requests, told)
        while root in _living(changes, gone, requests, root, adopted):
            pass
        adopted |= set(children())
        if _was_loaded(loaded):
            pause = PAUSES[0]
            continue
        select.select([], [], [], pause / 1000)
        pause = min(2 * pause, PAUSES[1])


def _living(changes: Changes, gone: select.poll, requests: int, root: int, adopted: set[int]) -> set[int]:
    """Wait until a child of the keeper ends or stops, and handle that. A stopped child is killed.

    Return the process ids of the root and of the adopted processes that still live. If the owner has ended, end all processes.
    """
    for descriptor, _ in gone.poll():
        if descriptor == requests:
            changes.end()
    ended = set()
    for pid, status in changes.take():
        if not os.WIFSTOPPED(status):
            ended.add(pid)
        else:  # nobody can wait until a user continues it
            os.kill(pid, signal.SIGKILL)
    adopted -= ended
    if root not in ended:
        kill_children(keep={root, *adopted})
    return {root, *adopted} - ended


def _was_loaded(loaded: int) -> bool:
    """Return whether a root had loaded all modules before it ended. `loaded` is the pipe from `_start_root`."""
    with os.fdopen(loaded, "rb") as pipe:
        return bool(pipe.read(1))


def _start_root(requests: int, told: dict[str, Any]) -> tuple[int, int]:
    """Fork the root. Return its process id, and a pipe that receives a byte when the root has loaded all modules."""
    loaded, tell = os.pipe()
    os.set_blocking(loaded, False)
    pid = os.fork()
    if pid:
        os.close(tell)
        with contextlib.suppress(OSError), socket.socket(fileno=os.dup(requests)) as there:
            there.send(str(pid).encode(), socket.MSG_DONTWAIT)
        return pid, loaded
    try:
        from vindibot.processes.root import serve_as_root

        serve_as_root(tell, told)
    finally:
        os._exit(1)
