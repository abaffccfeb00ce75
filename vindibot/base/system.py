"""What the operating system grants this process: open files, memory, core dumps, priority, processor time, child processes.

A system that lacks something (Windows) limits nothing and changes nothing.
"""

from __future__ import annotations

import atexit
import contextlib
import os
import sys
import warnings
from functools import cache
from pathlib import Path

from vindibot.base.errors import UsageError

try:
    import resource
except ImportError:
    resource = None  # type: ignore[assignment]


def open_files() -> set[int]:
    """Return the file descriptors that are open in this process. Raises `OSError` where there is no ``/proc``."""
    numbers = set()
    for number in map(int, os.listdir("/proc/self/fd")):  # noqa: PTH208  # names alone
        with contextlib.suppress(OSError):  # the folder itself
            os.fstat(number)
            numbers.add(number)
    return numbers


def allow_many_files() -> None:
    """Raise this process's limit of open files to the system's maximum."""
    with contextlib.suppress(AttributeError, OSError, ValueError):
        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        if soft != hard:
            resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))


def limit_memory(size: int) -> None:
    """Limit the addresses of this process to `size` bytes. It cannot raise the limit again."""
    _limit(resource.RLIMIT_AS, size)


def forbid_core_dumps() -> None:
    """Let a crash of this process write no file with its memory."""
    _limit(resource.RLIMIT_CORE, 0)


def _limit(what: int, value: int) -> None:
    hard = resource.getrlimit(what)[1]
    value = value if hard == resource.RLIM_INFINITY else min(value, hard)
    with contextlib.suppress(ValueError):
        resource.setrlimit(what, (value, value))


def lower_priority() -> None:
    """Give this process the lowest priority, and also the group of its session, until this process ends.

    Linux shares the processors among sessions first ("autogroup" in sched(7)). So without the second step, this process would
    get as much time as all processes of another terminal.
    """
    if sys.platform == "win32":
        return
    os.setpriority(os.PRIO_PROCESS, 0, 19)  # not nice(19), which adds to the priority at the start
    group = Path("/proc/self/autogroup")
    with contextlib.suppress(OSError, IndexError):
        before = group.read_text(encoding="utf-8").split()[-1]
        group.write_text("19", encoding="utf-8")
        atexit.register(group.write_text, before)


def cpu_quota(root: Path = Path("/")) -> float | None:
    """Return the smallest quota of processor time of the control groups of this process (version 2, as containers use them), in
    cores: 1.5 for one and a half. None for no quota.

    `root` is the folder that contains ``proc`` and ``sys``. In a container the files of the group itself are often in the top
    folder, so each folder above the group counts.
    """
    quotas = []
    with contextlib.suppress(OSError, ValueError):
        group = (root / "proc/self/cgroup").read_text(encoding="utf-8").rpartition("0::/")[2].strip()
        parts = [part for part in Path(group).parts if part != ".."]
        for count in range(len(parts) + 1):
            with contextlib.suppress(OSError, ValueError):
                file = root.joinpath("sys/fs/cgroup", *parts[:count], "cpu.max")
                allowed, period = map(int, file.read_text(encoding="utf-8").split())
                quotas.append(allowed / period)
    return min(quotas, default=None)


# ---- Child processes ----

#: The functions of Python that a system with child processes has.
_NEEDED = ("eventfd", "fork", "memfd_create", "pidfd_open")
#: The page that says what works elsewhere.
_PAGE = "docs/systems.md"


def supports_children() -> bool:
    """Return whether this system can run child processes."""
    return all(hasattr(os, name) for name in _NEEDED)


def require_children() -> None:
    """Raise `UsageError` if this system cannot run child processes."""
    if not supports_children():
        raise UsageError(
            "this needs Linux, since it runs bots in processes of their own: use WSL on Windows, or a container elsewhere"
            f" ({_PAGE})"
        )


@cache
def warn_of_traits_here() -> None:
    """Warn the user, once, that traits run in this process. Call this on a system that cannot run child processes."""
    warnings.warn(
        "traits run in the process of this command, since only Linux can give them processes of their own: if a trait hangs, no"
        f" trait votes any more, or the command ends ({_PAGE})",
        RuntimeWarning,
        stacklevel=2,
    )
