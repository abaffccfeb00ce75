"""Warm-up before the first move: load the compiled kernels from the cache, or compile them once and show the progress."""

from __future__ import annotations

import _thread
import contextlib
import sys
import threading
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType

from rich.console import Console, RenderableType
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from sim import kernels
from vindibot.base.errors import UsageError
from vindibot.base.system import supports_children
from vindibot.config.bots import named_modules
from vindibot.config.settings import cores

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


def load_beside(*bots: str | Path) -> None:
    """Start the fork server, which loads the modules and the kernels of `bots` (names or files) while this process does the same.

    Do nothing on a system that cannot run child processes.
    """
    _start_server(module for bot in bots for module in named_modules(bot)[1])


def _start_server(modules: Iterable[str]) -> None:
    if supports_children():
        from vindibot.engine import forkserver

        forkserver.start(modules)


def _warm(console: Console, preview: Preview | None) -> None:
    if kernels.cached():
        kernels.warm()
        return
    if cores() > 1:  # the fork server compiles too
        _start_server(sorted({function.__module__ for function, _ in kernels.entries()}))
    _compile(console, preview)


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
