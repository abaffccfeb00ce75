"""Files that commands write: each is the old or the new one, whole, and no command writes over a file that it did not make.

A command recognises its own file by a mark: a text that it writes into the first bytes of each file of that kind.
"""

from __future__ import annotations

import os
import secrets
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from vindibot.base.errors import UsageError, VindibotError

#: A mark stands within the first so many bytes of a file.
HEAD = 4096


def short(path: Path | str) -> str:
    """A path as people want to read it: relative where it lies in the current folder."""
    path = Path(path)
    try:
        return str(path.relative_to(Path.cwd()))
    except (ValueError, OSError):
        return str(path)


@dataclass(frozen=True)
class Output:
    """A file that a command is to write, in which `mark` shows that the command made it.

    `maker` is the command (``vindibot replay``), `instead` says how to name another file (``--html names another file``).
    Devices and pipes are written to as they are.
    """

    path: Path
    mark: str
    maker: str
    instead: str

    def check(self) -> None:
        """Raise `UsageError` if there is something that must not be replaced: a folder, or a file without the mark that is
        not empty."""
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
        """Write the file, with its folders, whole or not at all. Raises `UsageError` as `check` does, `VindibotError` if the
        disk refuses."""
        data = content.encode() if isinstance(content, str) else content
        assert self.mark.encode() in data[:HEAD], "else the command would not know its own file again"
        self.check()
        path = self.path.resolve()  # a link to a file stays a link
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
        except FileExistsError:  # made by somebody since the check
            raise UsageError(f"{short(self.path)} is there already: {self.instead}") from None
        except OSError as problem:
            raise VindibotError(f"{short(self.path)}: cannot be written: {problem.strerror or problem}") from None


def create(path: Path, content: bytes, *, mode: int = 0o666) -> None:
    """Write a new file, whole or not at all. Raises `FileExistsError` if anything is there, a dangling link included, and
    other `OSError`s."""
    draft = _draft(path, content, mode)
    try:
        os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode))  # from now on the name is ours
        draft.replace(path)
    except OSError:
        draft.unlink(missing_ok=True)
        raise


def replace(path: Path, content: bytes, *, mode: int = 0o666) -> None:
    """Write a file that is known to be ours anew, whole or not at all. Raises `OSError`."""
    draft = _draft(path, content, mode)
    try:
        draft.replace(path)
    except OSError:
        draft.unlink(missing_ok=True)
        raise


def begins_with(path: Path, mark: bytes) -> bool:
    """Whether a file begins with `mark`, or with as much of it as a crash left; an empty or missing file does."""
    try:
        head = _head(path) if path.is_file() else b""
    except OSError:
        return False
    return head.startswith(mark) or mark.startswith(head)


def _head(path: Path) -> bytes:
    with path.open("rb") as file:
        return file.read(HEAD)


def _draft(path: Path, content: bytes, mode: int) -> Path:
    """The content on the disk, beside the file that it is for."""
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
