"""The program: ``vindibot``, and ``python -m vindibot``."""

import atexit
import os
import sys


def _leave_current_folder() -> None:
    """Remove the current folder from the import path, so that no file in it hides a module.

    If this package itself is in the current folder, the folder becomes the last entry of the path, so that our other packages can
    be imported.
    """
    try:
        current = os.getcwd()
    except OSError:  # the folder was removed
        return
    if sys.path[:1] != [current]:
        return
    if os.path.dirname(os.path.dirname(os.path.abspath(__file__))) == current:
        for package in ("behaviours", "sim"):
            __import__(package)
        sys.path.append(current)
    del sys.path[0]


if __name__ == "__main__":
    _leave_current_folder()

from vindibot.base import interrupts  # noqa: E402 - after the change of the import path
from vindibot.base.startup import OutputFile, hidden_package, install_streams  # noqa: E402


def _end(codes: list[int], output: OutputFile) -> None:
    """End the process at once with the exit code in `codes`. If `codes` is empty, only write out the standard streams.

    If standard output could not be written, the exit code is 1 instead of 0.

    Without this function the interpreter would first clear all modules. If compiled kernels are loaded, that takes half a second.
    """
    try:
        sys.stdout.flush()
        sys.stderr.flush()
    except (OSError, ValueError):  # the interpreter says so
        return
    if codes:
        os._exit(codes[0] or int(output.failed))


def main() -> None:
    """Run the command that the command line names. Before and after the command, Ctrl-C ends the program at once."""
    codes: list[int] = []
    output = install_streams()
    atexit.register(_end, codes, output)  # the first one registered is called last
    interrupts.at_once()
    interrupts.never_after_exit()
    if hidden := hidden_package():
        print(f"error: {hidden}", file=sys.stderr)
        sys.exit(2)
    try:
        from vindibot.cli.main import main as command

        command()
    except SystemExit as end:
        if isinstance(end.code, int):
            codes.append(end.code)
        raise
    finally:
        interrupts.at_once()


if __name__ == "__main__":
    main()
