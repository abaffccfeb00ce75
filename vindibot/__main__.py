"""The program: ``vindibot``, and ``python -m vindibot``."""

import os
import sys


def _leave_current_folder() -> None:
    """Remove the current folder from the import path, so that no file in it hides a module.

    If this package itself is in the current folder, the folder becomes the last entry of the path, so that our other packages can
    be imported.
    """
    here = os.getcwd()
    if sys.path[:1] != [here]:
        return
    if os.path.dirname(os.path.dirname(os.path.abspath(__file__))) == here:
        for package in ("behaviours", "sim"):
            __import__(package)
        sys.path.append(here)
    del sys.path[0]


if __name__ == "__main__":
    _leave_current_folder()

from vindibot.base import hidden_package, interrupts  # noqa: E402 - after the change of the import path


def main() -> None:
    """Run a command. Before and after the command Ctrl-C ends the program at once."""
    interrupts.at_once()
    interrupts.never_after_exit()
    if hidden := hidden_package():
        print(f"error: {hidden}", file=sys.stderr)
        sys.exit(2)
    try:
        from vindibot.cli.main import main as command

        command()
    finally:
        interrupts.at_once()


if __name__ == "__main__":
    main()
