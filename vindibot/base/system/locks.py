"""Locks of files: only one process at a time writes a file.

The kernel holds the lock of an open file. So two names of one file (links) have one lock, and the lock ends with its process.
Some file systems have no such locks (NFS without a lock service, Lustre without the option ``flock``). There the lock is a
symbolic link beside the file, ``FILE.lock``. Its target names the process that made it. If this process has ended, the link has
no effect. Systems other than Linux have no locks of open files. There a file in the user's cache folder is locked instead (see
the package `filelock`), so the lock holds on this machine, for this user.
"""

from __future__ import annotations

import contextlib
import errno
import os
import socket
import struct
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from vindibot.base.errors import VindibotError

if TYPE_CHECKING:
    from filelock import BaseFileLock

#: The byte that is locked. It lies far behind the bytes that SQLite locks, and behind the end of every file.
BYTE = 2**62
#: Errors of a lock that another process holds, and of a file system without locks.
HELD = (errno.EAGAIN, errno.EACCES)
UNSUPPORTED = (errno.ENOSYS, errno.ENOLCK, errno.EOPNOTSUPP, errno.EINVAL)
#: The text for a process that is not known. The kernel does not say which process has a lock.
UNKNOWN = "another process"

#: Device and inode of each file that this process has locked. A second descriptor of such a file must not even be opened: when it
#: is closed, the kernel ends all locks that SQLite has in this process.
_held: set[tuple[int, int]] = set()


class LockedError(VindibotError):
    """Another process has locked the file. The message names this process, and is `UNKNOWN` if the process is not known."""

    @property
    def suffix(self) -> str:
        """The process in brackets, for the end of a sentence, or "" if the process is not known."""
        return "" if self.message == UNKNOWN else f" ({self.message})"


@dataclass(frozen=True)
class LockOwner:
    """A process that has a lock. `started` is its start in ticks since the start of the machine, as in ``/proc/PID/stat``.

    `boot` identifies the run of the machine. `space` identifies the name space of process ids (a container has its own).
    """

    host: str
    boot: str
    space: str
    pid: int
    started: int

    @classmethod
    def current(cls) -> LockOwner:
        """Return this process."""
        boot = _read("/proc/sys/kernel/random/boot_id").strip()
        return cls(socket.gethostname(), boot, _process_space(), os.getpid(), _start_of(os.getpid()) or 0)

    @classmethod
    def parse(cls, text: str) -> LockOwner | None:
        """Return the owner that `str` has written as `text`, or None for another text."""
        words = text.split("|")
        if len(words) != 6 or words[0] != "vindibot" or not (words[4].isdecimal() and words[5].isdecimal()):
            return None
        return cls(words[1], words[2], words[3], int(words[4]), int(words[5]))

    def __str__(self) -> str:
        return "|".join(("vindibot", self.host, self.boot, self.space, str(self.pid), str(self.started)))

    def has_ended(self) -> bool:
        """Return whether the process has certainly ended. For a process of another machine or container, return False."""
        here = LockOwner.current()
        if self.host != here.host:
            return False
        if self.boot != here.boot:
            return bool(self.boot and here.boot)  # the machine was started again since
        return self.space == here.space and not _runs(self.pid, self.started)


class WriterLock:
    """The right of this process to write a file. `close` gives the right back."""

    def __init__(self, path: Path, file: int) -> None:
        """Lock the file `path`, which is open for writing as the descriptor `file`. Keep `file` open as long as the lock.

        Raises `LockedError` if another process has locked the file, and `OSError` if the file cannot be locked at all.
        """
        self._link: Path | None = None
        self._instead: BaseFileLock | None = None
        status = os.fstat(file)
        self._file = status.st_dev, status.st_ino
        if self._file in _held:
            raise LockedError("this process")
        if sys.platform != "linux":
            self._instead = _lock_instead(*self._file)
        elif not _lock(file):
            self._link = _make_link(path, status.st_nlink)
        _held.add(self._file)

    @staticmethod
    def is_held(path: Path) -> bool:
        """Return whether this process has locked the file. Call this before you open a file of SQLite."""
        try:
            status = path.stat()
        except OSError:
            return False
        return (status.st_dev, status.st_ino) in _held

    def close(self) -> None:
        """Give the lock back. Close the descriptor of the file afterwards: this ends the lock of the kernel."""
        _held.discard(self._file)
        if self._instead is not None:
            self._instead.release()
        if self._link is not None:
            with contextlib.suppress(OSError):
                if str(self._link.readlink()) == str(LockOwner.current()):
                    self._link.unlink()


def _lock(file: int) -> bool:
    """Lock an open file on Linux. Return False if its file system has no locks. Raises `LockedError`."""
    import fcntl

    try:
        fcntl.fcntl(file, fcntl.F_OFD_SETLK, struct.pack("hhqqi", fcntl.F_WRLCK, os.SEEK_SET, BYTE, 1, 0))
    except OSError as problem:
        if problem.errno in HELD:
            raise LockedError(UNKNOWN) from None
        if problem.errno not in UNSUPPORTED:
            raise
        return False
    return True


def _lock_instead(device: int, inode: int) -> BaseFileLock:
    """Lock a file that stands for the file with this device and inode, and return its lock. Raises `LockedError`."""
    from filelock import FileLock, Timeout
    from platformdirs import user_cache_path

    folder = user_cache_path("vindibot", appauthor=False) / "locks"
    folder.mkdir(parents=True, exist_ok=True)
    lock = FileLock(folder / f"{device:x}-{inode:x}.lock", thread_local=False)
    try:
        lock.acquire(timeout=0)
    except Timeout:
        raise LockedError(UNKNOWN) from None
    return lock


def _make_link(path: Path, names: int) -> Path:
    """Lock a file by a link beside it, and return the link. Raises `LockedError`, and `OSError` if the link cannot be made."""
    link = Path(f"{path.resolve()}.lock")
    if names > 1:
        reason = f"the file has {names} names (hard links), and its file system has no file locks: keep only one name"
        raise OSError(errno.EMLINK, reason)
    _take_link(link)
    import structlog  # here, because the shell's completion imports this module

    log = structlog.get_logger("vindibot.base.locks")
    log.warning("the file system has no file locks; a link beside the file replaces its lock", link=str(link))
    return link


def _take_link(link: Path) -> None:
    """Make a link that names this process. Replace a link of a process that has ended."""
    while True:
        with contextlib.suppress(FileExistsError):
            link.symlink_to(str(LockOwner.current()))
            return
        if not _owner_has_ended(link):
            continue  # the owner has given the lock back
        # Only the process that has locked the link itself may remove it. Without this lock, a slower process could remove the new
        # link of a faster one.
        guard = Path(f"{link}.lock")
        _take_link(guard)
        try:
            if _owner_has_ended(link):
                link.unlink()
        finally:
            guard.unlink()


def _owner_has_ended(link: Path) -> bool:
    """Return True if the owner of this link has ended, and False if the link is gone. Raises `LockedError` otherwise."""
    try:
        owner = LockOwner.parse(str(link.readlink()))
    except FileNotFoundError:
        return False
    except OSError:  # not a link
        owner = None
    if owner is None:
        raise OSError(errno.EEXIST, f"{link} exists and is not a lock of vindibot: move it away")
    if owner.has_ended():
        return True
    where = f"process {owner.pid} on {owner.host}"
    if owner.host == socket.gethostname():
        raise LockedError(where)
    raise LockedError(f"{where}; if this process has ended, delete {link}")


def _process_space() -> str:
    try:
        return str(Path("/proc/self/ns/pid").readlink())
    except OSError:
        return ""


def _runs(pid: int, started: int) -> bool:
    """Return whether the process with this id runs, and is not a later process with the same id."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except OSError:
        pass  # a process of another user
    return _start_of(pid) in (started, None) and not _is_zombie(pid)


def _start_of(pid: int) -> int | None:
    """Return the start of a process in ticks, or None if it is not known."""
    fields = _status(pid)
    return int(fields[19]) if len(fields) > 19 else None


def _is_zombie(pid: int) -> bool:
    """Return whether a process has ended, but its parent has not noticed it yet."""
    return _status(pid)[:1] in (["Z"], ["X"])


def _status(pid: int) -> list[str]:
    """Return the fields of ``/proc/PID/stat`` after the name of the program, an empty list if they cannot be read."""
    return _read(f"/proc/{pid}/stat").rpartition(")")[2].split()


def _read(path: str) -> str:
    try:
        return Path(path).read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""
