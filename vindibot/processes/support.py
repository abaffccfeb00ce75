"""Whether this system can run the child processes of this room. Only Linux can.

They need `fork`, memory and events without a name, descriptors of processes, ``/proc``, and adoption of orphans. Elsewhere the
traits of a bot run in the process of the command, and a command that cannot do without child processes says so.
"""

from __future__ import annotations

import os
import warnings
from functools import cache

from vindibot.base.errors import UsageError

#: The functions of Python that tell a system with all of this.
_NEEDED = ("eventfd", "fork", "memfd_create", "pidfd_open")
#: Where the user finds another way.
_PAGE = "docs/systems.md"


def supports_children() -> bool:
    """Return whether this system can run child processes."""
    return all(hasattr(os, name) for name in _NEEDED)


def require_children() -> None:
    """Raise `UsageError` if this system cannot run child processes."""
    if not supports_children():
        raise UsageError(
            "this needs Linux, since it runs bots in processes of their own: use WSL on Windows, or a container elsewhere"
            f" ({_PAGE})"
        )


@cache
def warn_of_traits_here() -> None:
    """Warn the user, once, that traits run in this process. Call this on a system that cannot run child processes."""
    warnings.warn(
        "traits run in the process of this command, since only Linux can give them processes of their own: if a trait hangs, no"
        f" trait votes any more, or the command ends ({_PAGE})",
        RuntimeWarning,
        stacklevel=2,
    )
