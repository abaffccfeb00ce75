"""Waits for conditions that have no event."""

from __future__ import annotations

import asyncio
import inspect
import time
from collections.abc import Callable

import psutil


async def until(condition: Callable[[], object], seconds: float = 20.0) -> None:
    """Let the event loop run until a condition holds that has no event, for example that a process has ended.

    Fails with the source of the condition and its variables if it does not hold after `seconds` seconds.
    """
    limit = time.monotonic() + seconds
    while not (value := condition()):
        if time.monotonic() > limit:
            variables = {name: repr(value)[:500] for name, value in inspect.getclosurevars(condition).nonlocals.items()}
            raise AssertionError(f"after {seconds:g} s still {value!r}: {inspect.getsource(condition).strip()}, with {variables}")
        await asyncio.sleep(0.005)


def is_alive(pid: int) -> bool:
    """Return whether a process runs. A zombie (a process that has ended but is still listed) does not run."""
    try:
        return bool(psutil.Process(pid).status() != psutil.STATUS_ZOMBIE)
    except psutil.NoSuchProcess:
        return False
