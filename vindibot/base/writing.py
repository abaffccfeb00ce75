"""Safe writing of files. After a crash, the path holds either the complete old file or the complete new file.

A command overwrites only files that it has made. It recognises its files by a mark: a text in the first bytes of each file.
"""

from __future__ import annotations

import fcntl
import mmap
import os
import secrets
from contextlib import suppress
from dataclasses import dataclass
from io import FileIO
from pathlib import Path

from vindibot.base.errors import UsageError, VindibotError

#: Number of bytes at the start of a file that contain its mark.
HEAD = 4096


def short(path: Path | str) -> str:
    """Return a path as a text for a message. A path inside the current folder becomes relative to this folder."""
    path = Path(path)
    try:
        return str(path.relative_to(Path.cwd()))
    except (ValueError, OSError):
        return str(path)


@dataclass(frozen=True)
class Output:
    """A file that a command writes.

    `mark` is a text in the file, which shows that the command made it. `maker` is the command (``vindibot replay``). `instead`
    tells the user how to name another file (``--html names another file``). Devices and pipes need no mark.
    """

    path: Path
    mark: str
    maker: str
    instead: str

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
                create(path, data)
        except FileExistsError:  # created since the check
            raise UsageError(f"{short(self.path)} is there already: {self.instead}") from None
        except OSError as problem:
            raise VindibotError(f"{short(self.path)}: cannot be written: {problem.strerror or problem}") from None


class LineFile:
    """A file to which only whole lines are appended. `file` is the file at `path`, open for writing without a buffer."""

    def __init__(self, path: Path, file: FileIO) -> None:
        self.path, self._file = path, file
        self._size = file.seek(0, os.SEEK_END)

    @classmethod
    def locked(cls, path: Path, writer: str, error: type[VindibotError]) -> LineFile:
        """Open a file for more lines, lock it, and remove an unfinished last line. Create its folder if it does not exist.

        `writer` is the kind of program that holds the lock, for the message. Raises `error` if the file cannot be written, and
        `UsageError` if another process has locked it.
        """
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            file = path.open("ab+", buffering=0)
        except OSError as problem:
            raise error(f"{short(path)}: cannot be written: {problem.strerror or problem}", 2) from None
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            file.close()
            raise UsageError(f"{short(path)}: another {writer} is writing to this file") from None
        if os.fstat(file.fileno()).st_size:
            with mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as content:
                file.truncate(content.rfind(b"\n") + 1)
        return cls(path, file)

    def append(self, line: bytes) -> None:
        """Append a line. If this fails, restore the file and raise `OSError`."""
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
        """Close the file."""
        self._file.close()


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
        return file.read(HEAD)


def _draft(path: Path, content: bytes, mode: int) -> Path:
    """Write `content` to a temporary file beside `path`, wait until it is on the disk, and return the temporary file."""
    draft = path.with_name(f".{path.name[:100]}.{secrets.token_hex(6)}.part")
    file = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, mode)
    try:
        with os.fdopen(file, "wb") as stream:
            stream.write(content)
            stream.flush()
            os.fsync(file)
    except BaseException:
        with suppress(OSError):
            draft.unlink()
        raise
    return draft
