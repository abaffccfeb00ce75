"""Compiled kernels, ready before anything is timed: loaded from the cache, or compiled once with progress shown."""

from __future__ import annotations

import _thread
import contextlib
import sys
import threading
from collections.abc import Iterator

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from sim import kernels
from vindibot.base import UsageError

#: Seconds after which an interrupt that was lost is raised again.
AGAIN = 0.01


def warm(console: Console) -> None:
    """Have every kernel that has been imported ready; see `sim.kernels.warm`. What takes long is told on `console`.

    Raises `UsageError` for a kernel of a user's own that cannot be compiled.
    """
    try:
        with _no_interrupt_lost():
            _warm(console)
    except kernels.KernelError as problem:
        raise UsageError(str(problem)) from None


@contextlib.contextmanager
def _no_interrupt_lost() -> Iterator[None]:
    """Raise each `KeyboardInterrupt` that Python would otherwise only print, because it came in a `__del__` or a callback:
    the compiler is full of them."""
    before = sys.unraisablehook

    def unraisable(problem: sys.UnraisableHookArgs) -> None:
        if isinstance(problem.exc_value, KeyboardInterrupt):
            threading.Timer(AGAIN, _thread.interrupt_main).start()  # at once it would be raised in here
        else:
            before(problem)

    sys.unraisablehook = unraisable
    try:
        yield
    finally:
        sys.unraisablehook = before


def _warm(console: Console) -> None:
    if kernels.cached():
        kernels.warm()
        return
    if not console.is_terminal:
        console.print("compiling kernels: this is done once and takes up to a minute")
        kernels.warm()
        return
    columns = (
        TextColumn("compiling kernels, once"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TextColumn("{task.description}", style="dim"),
    )
    with Progress(*columns, console=console, transient=True) as progress:
        task = progress.add_task("", total=None)

        def step(done: int, total: int, name: str) -> None:
            progress.update(task, completed=done, total=total, description=name)

        kernels.warm(step)
