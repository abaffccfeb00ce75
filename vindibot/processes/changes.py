"""The children of a process that forks: which of them have ended or stopped."""

from __future__ import annotations

import contextlib
import os
import select
import signal
from typing import NoReturn

from vindibot.base.orphans import kill_children


class Changes:
    """The changes of the children of this process. `descriptor` becomes readable when a child ends or stops."""

    def __init__(self) -> None:
        self.descriptor, self._wake = os.pipe()
        for end in (self.descriptor, self._wake):
            os.set_blocking(end, False)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        signal.set_wakeup_fd(self._wake, warn_on_full_buffer=False)

    def take(self) -> list[tuple[int, int]]:
        """Return the children that have ended or stopped since the last call, as (process id, wait status)."""
        with contextlib.suppress(BlockingIOError):
            os.read(self.descriptor, 1 << 16)
        found = []
        with contextlib.suppress(ChildProcessError):
            while (told := os.waitpid(-1, os.WNOHANG | os.WUNTRACED))[0]:
                found.append(told)
        return found

    def end(self) -> NoReturn:
        """Kill all descendants, and end this process."""
        with contextlib.suppress(ChildProcessError):
            while True:
                kill_children()
                if not os.waitpid(-1, os.WNOHANG)[0]:
                    select.select([self.descriptor], [], [], 0.05)
                    self.take()
        os._exit(0)
