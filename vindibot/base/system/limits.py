"""The limits of a process: open files, memory, core dumps. A system without such limits (Windows) sets none and tells none."""

from __future__ import annotations

import contextlib
import os

try:
    import resource
except ImportError:
    resource = None  # type: ignore[assignment]

#: What `free_files` returns if the system does not tell.
MANY_FILES = 2**31


def open_files() -> set[int]:
    """Return the file descriptors that are open in this process. Raises `OSError` where there is no ``/proc``."""
    found = set()
    for number in map(int, os.listdir("/proc/self/fd")):  # noqa: PTH208  # names alone
        with contextlib.suppress(OSError):  # the folder itself
            os.fstat(number)
            found.add(number)
    return found


def free_files() -> int:
    """Return the number of files that this process may still open. It is `MANY_FILES` if the system does not tell."""
    try:
        most = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
        return MANY_FILES if most == resource.RLIM_INFINITY else most - len(open_files())
    except (AttributeError, OSError):
        return MANY_FILES


def allow_many_files() -> None:
    """Raise this process's limit of open files to the system's maximum."""
    with contextlib.suppress(AttributeError, OSError, ValueError):
        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        if soft != hard:
            resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))


def limit_files(number: int) -> None:
    """Let this process open at most this number of files. It cannot raise the limit again."""
    _limit(resource.RLIMIT_NOFILE, number)


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
