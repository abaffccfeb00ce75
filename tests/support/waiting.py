"""Waits for conditions that have no event."""

from __future__ import annotations

import asyncio
import inspect
import time
from collections.abc import Callable
from typing import TypeVar

import psutil

_T = TypeVar("_T")


async def until(condition: Callable[[], object], seconds: float = 20.0) -> None:
    """Let the event loop run until a condition holds that has no event, for example that a process has ended.

    Fails with the source of the condition and its variables if it does not hold after `seconds` seconds.
    """
    limit = time.monotonic() + seconds
    while not (value := condition()):
        assert time.monotonic() < limit, _state(condition, value, seconds)
        await asyncio.sleep(0.005)


def wait_until(condition: Callable[[], _T], seconds: float = 60.0) -> _T:
    """Wait as `until` does, in a program without an event loop, and return the value of the condition."""
    limit = time.monotonic() + seconds
    while not (value := condition()):
        assert time.monotonic() < limit, _state(condition, value, seconds)
        time.sleep(0.005)
    return value


def _state(condition: Callable[[], object], value: object, seconds: float) -> str:
    variables = {name: repr(value)[:500] for name, value in inspect.getclosurevars(condition).nonlocals.items()}
    return f"after {seconds:g} s still {value!r}: {inspect.getsource(condition).strip()}, with {variables}"


def is_alive(pid: int) -> bool:
    """Return whether a process runs. A zombie (a process that has ended but is still listed) does not run."""
    try:
        return bool(psutil.Process(pid).status() != psutil.STATUS_ZOMBIE)
    except psutil.NoSuchProcess:
        return False
