"""Standard output and standard error of a command.

`install` replaces both streams. From then on `OutputFile` is the only class that writes to a terminal: ``print``, rich, click and
the log use the streams of Python, which write to it. So a full disk or a closed terminal ends no game.
"""

from __future__ import annotations

import io
import os
import select
import sys
from contextlib import suppress
from typing import Any


class OutputFile(io.FileIO):
    """The file of a standard stream. After an error it drops all further output, and tells the user once.

    `failed` says whether there was an error. The error of a closed pipe (`BrokenPipeError`) is raised, because a program such as
    ``head`` closes its pipe when it needs no more output.
    """

    def __init__(self, number: int, *, closed: bool) -> None:
        super().__init__(number, "wb", closefd=False)
        self.failed = False
        self._closed = closed

    def write(self, data: Any) -> int:
        """Write bytes, and return their number. Wait if the terminal or the pipe is full."""
        if self._closed:
            self._fail("it is closed")
        try:
            while (written := super().write(data)) is None:
                select.select([], [self], [])
        except BrokenPipeError:
            raise
        except OSError as problem:
            self._fail(problem.strerror or str(problem))
            return memoryview(data).nbytes
        return written

    def _fail(self, reason: str) -> None:
        self._closed, self.failed = False, True
        _occupy(self.fileno())
        if self.fileno() == 1:
            with suppress(OSError, ValueError):
                print(f"error: standard output cannot be written, and is lost: {reason}", file=sys.stderr, flush=True)


def install() -> OutputFile:
    """Replace the standard streams, and return the file of standard output.

    If the encoding of a stream lacks a character, the stream writes its escape sequence (``\\u2500``). A standard stream that is
    closed gets the null device, because the next file that the program opens would take its place. On Windows, Python's own
    streams stay, because its terminal needs them.
    """
    closed = [number for number in range(3) if not _is_open(number)]
    for number in closed:
        _occupy(number)
    if sys.stdin is None:
        sys.stdin = open(os.devnull, encoding="utf-8")  # noqa: SIM115, PTH123
    output = OutputFile(1, closed=1 in closed)
    if sys.platform == "win32":
        return output
    sys.stdout = _text(output, sys.stdout)
    sys.stderr = _text(OutputFile(2, closed=2 in closed), sys.stderr)
    return output


def _text(file: OutputFile, before: Any) -> io.TextIOWrapper:
    """Return a stream for texts with the encoding of the stream `before`, which is None if it was closed."""
    if before is None:
        return io.TextIOWrapper(io.BufferedWriter(file), "utf-8", "backslashreplace", line_buffering=True)
    before.flush()
    return io.TextIOWrapper(
        io.BufferedWriter(file),
        before.encoding,
        "backslashreplace",
        line_buffering=before.line_buffering,
        write_through=before.write_through,
    )


def _is_open(number: int) -> bool:
    try:
        os.fstat(number)
    except OSError:
        return False
    return True


def _occupy(number: int) -> None:
    """Make a file descriptor refer to the null device."""
    nothing = os.open(os.devnull, os.O_RDWR)
    if nothing != number:
        os.dup2(nothing, number)
        os.close(nothing)
