"""Paths that people write, locks, and safe writing of files.

After a crash, the path holds either the complete old file or the complete new file. A command overwrites only files that it has
made. It recognises its files by a mark: a text in the first bytes of each file.
"""

from __future__ import annotations

import errno
import os
import secrets
from codecs import BOM_UTF8
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from io import FileIO
from pathlib import Path

from vindibot.base.errors import UsageError, VindibotError

#: Number of bytes at the start of a file that contain its mark.
HEAD = 4096
#: Errors of a file system without locks.
NO_LOCKS = (errno.ENOSYS, errno.ENOLCK, errno.EOPNOTSUPP, errno.EINVAL)


def short(path: Path | str) -> str:
    """Return a path as a text for a message. A path inside the current folder becomes relative to this folder."""
    path = Path(path)
    try:
        return str(path.relative_to(Path.cwd()))
    except (ValueError, OSError):
        return str(path)


def given_path(text: str | os.PathLike[str]) -> Path:
    """Return the path that a text means. ``~`` or ``~NAME`` at the start stands for the home folder of a user.

    If there is no such user, or if its home folder is unknown, the text is the name of a file that begins with ``~``.
    """
    return Path(os.path.expanduser(text))  # noqa: PTH111  # `Path.expanduser` raises an error for an unknown user


@dataclass(frozen=True)
class Output:
    """A file that a command writes.

    `mark` is a text in the file, which shows that the command made it. `maker` is the command (``vindibot replay``). `instead`
    tells the user how to name another file (``--html names another file``). Devices and pipes need no mark. `mode` has the rights
    of a new file.
    """

    path: Path
    mark: str
    maker: str
    instead: str
    mode: int = 0o666

    def check(self) -> None:
        """Raise `UsageError` if the path is a folder, or a file that has content but no mark."""
        if self.path.is_dir():
            raise UsageError(f"{short(self.path)} is a folder: {self.instead}")
        if not self.path.is_file():
            return
        try:
            head = _head(self.path)
        except OSError as problem:
            raise UsageError(f"{short(self.path)} is there already and cannot be read: {problem.strerror or problem}") from None
        if head and self.mark.encode() not in head:
            words = f"is there already and was not made by {self.maker}: move it away, or {self.instead}"
            raise UsageError(f"{short(self.path)} {words}")

    def write(self, content: str | bytes) -> None:
        """Write the complete file, or nothing. Create missing folders. A text is written as UTF-8; parts of file names that are
        not UTF-8 are escaped.

        Raises `UsageError` as `check` does, and `VindibotError` if the disk refuses the file.
        """
        data = content.encode(errors="backslashreplace") if isinstance(content, str) else content
        assert self.mark.encode() in data[:HEAD], "the command must recognise its own file"
        self.check()
        path = self.path.resolve()  # if the path is a link to a file, the link stays
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
        except OSError as problem:
            raise VindibotError(f"{short(path.parent)}: cannot be made: {problem.strerror or problem}") from None
        try:
            if path.is_file():
                replace(path, data, mode=path.stat().st_mode & 0o777)
            elif path.exists():
                path.write_bytes(data)
            else:
                create(path, data, mode=self.mode)
        except FileExistsError:  # created since the check
            raise UsageError(f"{short(self.path)} is there already: {self.instead}") from None
        except OSError as problem:
            raise VindibotError(f"{short(self.path)}: cannot be written: {problem.strerror or problem}") from None


class WriterLock:
    """The right of this process to write a file, under all symbolic links of the file. `close` gives the right back.

    The lock is that of an empty file beside it, ``FILE.lock``, which `close` removes. If the process is killed, the empty file
    stays, without effect. Raises `UsageError` with the text `refusal` if another writer has the right, and `OSError` if there can
    be no lock.
    """

    def __init__(self, path: Path, refusal: str) -> None:
        from filelock import FileLock, Timeout  # here, because the shell's completion imports this module

        self._lock = FileLock(f"{os.path.realpath(path)}.lock", timeout=0, thread_local=False, fallback_to_soft=False)
        try:
            self._lock.acquire()
        except Timeout:
            raise UsageError(f"{short(path)}: {refusal}") from None
        except OSError as problem:
            if problem.errno not in NO_LOCKS:
                raise
            reason = "its file system has no file locks (flock): use a folder on a local disk"
            raise OSError(problem.errno, reason) from None

    def close(self) -> None:
        """Give the right back."""
        if self._lock.is_locked:
            with suppress(OSError):
                Path(self._lock.lock_file).unlink()
            self._lock.release()


@contextmanager
def only_writer(path: Path, refusal: str) -> Iterator[None]:
    """Within the ``with`` block, let no other process be the writer of a file that is replaced as a whole.

    Raises `UsageError` with the text `refusal` if there is another one, and `VindibotError` if there can be no lock.
    """
    try:
        lock = WriterLock(path, refusal)
    except OSError as problem:
        raise VindibotError(f"{short(path)}: cannot be written: {problem.strerror or problem}") from None
    try:
        yield
    finally:
        lock.close()


class LineFile:
    """A file of lines, open so that this process can append more. No other process can append to it meanwhile.

    A process that continues a file first opens it, and so locks it, and then reads it. So the content that it has read stays true
    until it closes the file. Opening changes nothing in the file: an unfinished last line, which a crash can leave, is removed by
    the first `append`.

    `file` is the file at `path`, open for writing without a buffer. `made` says whether it is new. `lock` is its lock, None if it
    needs none.
    """

    def __init__(self, path: Path, file: FileIO, *, made: bool, lock: WriterLock | None = None) -> None:
        self.path, self._file, self._made, self._lock = path, file, made, lock
        self._cleared = False
        self._size: int | None = None  # None before the first line is appended

    @classmethod
    def new(cls, path: Path) -> LineFile:
        """Create a file that does not exist, and open it. It needs no lock, because no other process can create it too.

        Raises `OSError`, and `FileExistsError` if the path exists.
        """
        return cls(path, path.open("xb", buffering=0), made=True)

    @classmethod
    def locked(cls, path: Path, writer: str, error: type[VindibotError]) -> LineFile:
        """Lock a file and open it. Create the file and its folder if they do not exist. A device or a pipe needs no lock.

        `writer` is the kind of program that holds the lock, for the message. Raises `error` if the file cannot be written, and
        `UsageError` if another process has locked it.
        """
        lock = None
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            made = not path.exists()
            if made or path.is_file():
                lock = WriterLock(path, f"another {writer} is writing to this file; wait until it has ended")
            return cls(path, path.open("ab+", buffering=0), made=made, lock=lock)
        except OSError as problem:
            if lock is not None:
                lock.close()
            raise error(f"{short(path)}: cannot be written: {problem.strerror or problem}", 2) from None

    @property
    def empty(self) -> bool:
        """Whether the file has no byte. A device or a pipe is always empty."""
        return os.fstat(self._file.fileno()).st_size == 0

    def read(self) -> bytes:
        """Return the content of the file, with an unfinished last line. Raises `OSError`."""
        return b"" if self.empty else self.path.read_bytes()

    def clear(self) -> None:
        """Let the first `append` remove all lines that the file has."""
        self._cleared = True

    def append(self, line: bytes) -> None:
        """Append a line. If this fails, restore the file and raise `OSError`."""
        if self._size is None:
            self._size = self._cut()
        data = line + b"\n"
        size = self._size + len(data)
        try:
            while data:
                data = data[self._file.write(data) or 0 :]
        except OSError:
            with suppress(OSError):
                self._file.truncate(self._size)
                self._file.seek(self._size)
            raise
        self._size = size

    def close(self) -> None:
        """Close the file, and give the lock back."""
        self._file.close()
        if self._lock is not None:
            self._lock.close()

    def discard(self) -> None:
        """Close the file. If it is empty and did not exist before, remove it."""
        with suppress(OSError):
            if self._made and self.empty:
                self.path.unlink()
        self.close()

    def _cut(self) -> int:
        """Remove an unfinished last line, or all lines after `clear`. Return the size of the file in bytes."""
        if self.empty:
            return 0
        size = 0 if self._cleared else self.path.read_bytes().rfind(b"\n") + 1
        self._file.truncate(size)
        return size


def create(path: Path, content: bytes, *, mode: int = 0o666) -> None:
    """Write a complete new file, or nothing. Raises `OSError`, and `FileExistsError` if the path exists, even as a dangling
    link."""
    replace(path, content, mode=mode, exclusive=True)


def replace(path: Path, content: bytes, *, mode: int = 0o666, exclusive: bool = False) -> None:
    """Write a complete file, or change nothing. The function overwrites an existing file: the caller must have checked that the
    file is ours.

    Raises `OSError`. With `exclusive`, raises `FileExistsError` if the file exists.
    """
    draft = _draft(path, content, mode)
    try:
        if exclusive:
            os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode))  # reserves the name
        draft.replace(path)
    except OSError:
        draft.unlink(missing_ok=True)
        raise


def begins_with(path: Path, mark: bytes) -> bool:
    """Return whether a file begins with `mark`.

    This is also true if the file is missing or empty, or has only the first part of `mark`, as a crash can leave it.
    """
    try:
        head = _head(path) if path.is_file() else b""
    except OSError:
        return False
    return head.startswith(mark) or mark.startswith(head)


def _head(path: Path) -> bytes:
    with path.open("rb") as file:
        return file.read(HEAD).removeprefix(BOM_UTF8)


def _draft(path: Path, content: bytes, mode: int) -> Path:
    """Write `content` to a temporary file beside `path`, wait until it is on the disk, and return the temporary file."""
    draft = path.with_name(f".{path.name[:100]}.{secrets.token_hex(6)}.part")
    file = open(draft, "xb", opener=partial(os.open, mode=mode))  # noqa: SIM115  # pathlib has no opener
    try:
        with file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
    except BaseException:
        with suppress(OSError):
            draft.unlink()
        raise
    return draft
