"""The terminal that commands speak to."""

from __future__ import annotations

from rich.console import Console


def terminal() -> Console:
    """A console on standard output; plain where that is no terminal."""
    return Console(highlight=False)
