"""Warm-up before the first move: load the compiled kernels from the cache, or compile them once and show the progress."""

from __future__ import annotations

import _thread
import contextlib
import sys
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from types import ModuleType

from rich.console import Console, RenderableType
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from sim import kernels
from vindibot.base.errors import UsageError
from vindibot.config.settings import cores
from vindibot.processes.requests import Needs
from vindibot.processes.server import ForkServer
from vindibot.processes.support import supports_children

#: Seconds after which a lost `KeyboardInterrupt` is raised again.
INTERRUPT_DELAY = 0.01


@dataclass(frozen=True)
class Preview:
    """A picture that a person sees while kernels are compiled. `draw` needs only the kernels of `module`."""

    module: ModuleType
    draw: Callable[[], RenderableType]


def warm(console: Console, preview: Preview | None = None) -> None:
    """Load every kernel (compiled function) of the imported modules from the cache, or compile it. See `sim.kernels.warm`.

    The progress is shown on `console`. If kernels are compiled and `console` is a terminal, the kernels of the preview are the
    first ones, and then it shows the preview. Raises `UsageError` for a user's kernel that cannot be compiled.
    """
    try:
        with _no_interrupt_lost():
            _warm(console, preview)
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


def _warm(console: Console, preview: Preview | None) -> None:
    if kernels.cached():
        kernels.warm()
        return
    with _compilers():
        _compile(console, preview)


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


def _compile(console: Console, preview: Preview | None) -> None:
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

        if preview is not None:
            with contextlib.suppress(Exception):  # if a kernel cannot be compiled, the next line says so
                kernels.warm_module(preview.module.__name__, step)
                progress.console.print(preview.draw())
        kernels.warm(step)
