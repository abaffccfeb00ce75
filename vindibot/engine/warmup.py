"""Warm-up before the first move: load the compiled kernels from the cache, or compile them once and show the progress."""

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
from vindibot.config import cores
from vindibot.processes import ForkServer, Needs, supports_children

#: Seconds after which a lost `KeyboardInterrupt` is raised again.
INTERRUPT_DELAY = 0.01


def warm(console: Console) -> None:
    """Load every kernel (compiled function) of the imported modules from the cache, or compile it. See `sim.kernels.warm`.

    The progress is shown on `console`. Raises `UsageError` for a user's kernel that cannot be compiled.
    """
    try:
        with _no_interrupt_lost():
            _warm(console)
    except kernels.KernelError as problem:
        raise UsageError(str(problem)) from None


@contextlib.contextmanager
def _no_interrupt_lost() -> Iterator[None]:
    """Raise again each `KeyboardInterrupt` that Python loses within the block.

    Python prints an interrupt, but does not raise it, if it comes during a `__del__` or a callback of the compiler.
    """
    before = sys.unraisablehook

    def unraisable(problem: sys.UnraisableHookArgs) -> None:
        if not isinstance(problem.exc_value, KeyboardInterrupt):
            before(problem)
            return
        started = False
        while not started:  # on a busy machine, the interrupt may come before the call of `start` ends
            with contextlib.suppress(KeyboardInterrupt):
                threading.Timer(INTERRUPT_DELAY, _thread.interrupt_main).start()  # without a delay, Python would lose it again
                started = True

    sys.unraisablehook = unraisable
    try:
        yield
    finally:
        sys.unraisablehook = before


def _warm(console: Console) -> None:
    if kernels.cached():
        kernels.warm()
        return
    with _compilers():
        _compile(console)


@contextlib.contextmanager
def _compilers() -> Iterator[None]:
    """Let the fork server compile kernels too within the block, unless there is only one core or no fork server.

    A fork server that was started for this purpose ends after the block.
    """
    if cores() == 1 or not supports_children():
        yield
        return
    server = ForkServer.of_process()
    if server.is_running():
        server.open_gate()
        yield
    else:
        modules = {function.__module__ for function, _ in kernels.entries()}
        server.prepare(f"{__name__}:", Needs(modules=tuple(sorted(modules))))
        server.start()
        try:
            yield
        finally:
            server.close()


def _compile(console: Console) -> None:
    if not console.is_terminal:
        console.print("compiling kernels: only once, up to a minute")
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
