"""Waits for what has no event of its own."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable

import psutil


async def until(condition: Callable[[], object], seconds: float = 20.0) -> None:
    """Let the loop run until something holds that has no event of its own (a process of the system is gone, say)."""
    limit = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < limit, "it never came to hold"
        await asyncio.sleep(0.005)


def is_alive(pid: int) -> bool:
    """Whether a process runs; an orphan that nobody has buried does not."""
    try:
        return bool(psutil.Process(pid).status() != psutil.STATUS_ZOMBIE)
    except psutil.NoSuchProcess:
        return False
