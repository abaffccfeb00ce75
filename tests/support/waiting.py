"""Waits for conditions that have no event."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable

import psutil


async def until(condition: Callable[[], object], seconds: float = 20.0) -> None:
    """Let the event loop run until a condition holds that has no event, for example that a process has ended."""
    limit = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < limit, "it never came to hold"
        await asyncio.sleep(0.005)


def is_alive(pid: int) -> bool:
    """Return whether a process runs. A zombie (a process that has ended but is still listed) does not run."""
    try:
        return bool(psutil.Process(pid).status() != psutil.STATUS_ZOMBIE)
    except psutil.NoSuchProcess:
        return False
