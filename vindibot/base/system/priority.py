"""The priority of a process. On Windows it stays as it is."""

from __future__ import annotations

import atexit
import os
import sys
from contextlib import suppress
from pathlib import Path


def lower_priority() -> None:
    """Give this process the lowest priority, and also the group of its session, until this process ends.

    Linux shares the processors among sessions first ("autogroup" in sched(7)). So without the second step, this process would
    get as much time as all processes of another terminal.
    """
    if sys.platform == "win32":
        return
    os.setpriority(os.PRIO_PROCESS, 0, 19)  # not nice(19), which adds to the priority at the start
    group = Path("/proc/self/autogroup")
    with suppress(OSError, IndexError):
        before = group.read_text(encoding="utf-8").split()[-1]
        group.write_text("19", encoding="utf-8")
        atexit.register(group.write_text, before)
