"""The program: ``vindibot``, and ``python -m vindibot``."""

import os
import sys


def _leave_current_folder() -> None:
    """Take the current folder off the import path, where Python puts it first: what lies there hides no module.

    It stays there, as the last, where this package itself is in it; the other packages are imported from it then, too.
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

from vindibot.base import hidden_package, interrupts  # noqa: E402 - after the current folder has been left


def main() -> None:
    """Run a command. Until it runs, and after it has run, Ctrl-C ends the program at once."""
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
