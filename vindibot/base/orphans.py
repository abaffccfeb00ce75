"""Control of a process's descendants, so that no descendant outlives the process.

These functions work on Linux and do nothing elsewhere. The module imports only the standard library, because small processes
use it.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import signal
import sys
import time
from pathlib import Path

_PR_SET_PDEATHSIG = 1
_PR_SET_NAME = 15
_PR_SET_CHILD_SUBREAPER = 36

_LIBC = ctypes.CDLL(None) if sys.platform == "linux" else None


def _prctl(option: int, value: int | bytes) -> None:
    if _LIBC is not None:
        _LIBC.prctl(option, value, 0, 0, 0)


def die_with_parent(number: signal.Signals | None = None) -> None:
    """Let the kernel send this process a signal, by default SIGKILL, when its parent (the thread that has started it) ends."""
    _prctl(_PR_SET_PDEATHSIG, signal.SIGKILL if number is None else number)


def adopt_orphans() -> None:
    """Make this process adopt descendants: if the parent of a descendant ends, this process becomes the descendant's parent.

    The process also adopts descendants in other POSIX sessions (`setsid`).
    """
    _prctl(_PR_SET_CHILD_SUBREAPER, 1)


def name_process(name: str) -> None:
    """Set the name, at most 15 characters, that ``ps`` and ``top`` show for this process."""
    _prctl(_PR_SET_NAME, name.encode())


def children(process: int | None = None) -> list[int]:
    """Return the process ids of the children of a process, by default of this process.

    If a child ends during the call, another child may be missing: call again.
    """
    processes: list[int] = []
    with contextlib.suppress(OSError):
        for task in Path(f"/proc/{process or 'self'}/task").iterdir():
            with contextlib.suppress(OSError):
                processes += map(int, (task / "children").read_text().split())
    return processes


def end_descendants() -> None:
    """Kill all descendants and wait until none is left. The process must have called `adopt_orphans`."""
    with contextlib.suppress(ChildProcessError):
        while True:
            for child in children():
                with contextlib.suppress(ProcessLookupError, PermissionError):
                    os.kill(child, signal.SIGKILL)
            if not os.waitpid(-1, os.WNOHANG)[0]:
                time.sleep(0.001)
