"""What a command does before it runs: it replaces its standard streams, and checks the current folder, our packages, and the
packages of an extra.

After `install_streams`, `OutputFile` is the only class that writes to a terminal: ``print``, rich, click and the log use the
streams of Python, which write to it. So a full disk or a closed terminal ends no game.
"""

from __future__ import annotations

import io
import os
import select
import sys
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from vindibot.base.errors import UsageError

#: The packages of the extra ``vindibot[tune]``, which ``vindibot tune`` and ``vindibot learn imitate`` need.
TUNE = ("cmaes", "optuna", "scipy")


def check_folder() -> None:
    """Raise `UsageError` if the current folder was removed."""
    try:
        Path.cwd()
    except OSError:
        raise UsageError("the current folder does not exist any more: change to another folder") from None


def hidden_package() -> str:
    """Return a message if Python would import a package ``behaviours`` or ``sim`` that is not ours, else "".

    Another package can hide ours: Python looks first in the current folder (``python -m pytest``), and in the folders of
    ``PYTHONPATH`` before installed packages. `behaviours` has the same check for ``vindibot``. The two checks share no code,
    because neither package may import the other before the check.
    """
    checkout = Path(__file__).resolve().parents[2]
    for name in ("behaviours", "sim"):
        spec = find_spec(name)
        origin = Path(spec.origin).resolve() if spec is not None and spec.origin else checkout / name
        if checkout not in origin.parents:
            hides = origin.parent if origin.name == "__init__.py" else origin
            return f"{hides} hides the package {name!r} of vindibot: give it another name"
    return ""


def require_extra() -> None:
    """Raise `UsageError` with the command that installs the packages of `TUNE`, if any is missing."""
    missing = [name for name in TUNE if find_spec(name) is None]
    if missing:
        more = "python -m pip install 'vindibot[tune]', or '.[tune]' in a checkout"
        raise UsageError(f"this command needs more packages ({', '.join(missing)}): {more}")


# ---- Standard streams ----


class OutputFile(io.FileIO):
    """The file of a standard stream. After an error it drops all further output, and tells the user once.

    `failed` says whether there was an error. The error of a closed pipe (`BrokenPipeError`) is raised, because a program such as
    ``head`` closes its pipe when it needs no more output.
    """

    def __init__(self, number: int) -> None:
        super().__init__(number, "wb", closefd=False)
        self.failed = False

    def write(self, data: Any) -> int:
        """Write bytes, and return their number. Wait if the terminal or the pipe is full."""
        try:
            while (written := super().write(data)) is None:
                select.select([], [self], [])
        except BrokenPipeError:
            raise
        except OSError as problem:
            self.failed = True
            _occupy(self.fileno())
            if self.fileno() == 1:
                words = f"standard output cannot be written, and is lost: {problem.strerror or problem}"
                with suppress(OSError, ValueError):
                    print(f"error: {words}", file=sys.stderr, flush=True)
            return memoryview(data).nbytes
        return written


def install_streams() -> OutputFile:
    """Replace the standard streams, and return the file of standard output.

    If the encoding of a stream lacks a character, the stream writes its escape sequence (``\\u2500``). A standard stream that is
    closed gets the null device, because the next file that the program opens would take its place. On Windows, Python's own
    streams stay, because its terminal needs them.
    """
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            _occupy(number)
    sys.stdin = sys.stdin or open(os.devnull, encoding="utf-8")  # noqa: SIM115, PTH123
    output = OutputFile(1)
    if sys.platform != "win32":
        sys.stdout, sys.stderr = _text(output, sys.stdout), _text(OutputFile(2), sys.stderr)
    return output


def _text(file: OutputFile, before: Any) -> io.TextIOWrapper:
    """Return a stream for texts with the encoding of the stream `before`, which is None if it was closed."""
    buffer = io.BufferedWriter(file)
    if before is None:
        return io.TextIOWrapper(buffer, "utf-8", "backslashreplace")
    before.flush()
    options = {"line_buffering": before.line_buffering, "write_through": before.write_through}
    return io.TextIOWrapper(buffer, before.encoding, "backslashreplace", **options)


def _occupy(number: int) -> None:
    """Make a file descriptor refer to the null device."""
    nothing = os.open(os.devnull, os.O_RDWR)
    if nothing != number:
        os.dup2(nothing, number)
        os.close(nothing)
