"""Compiled kernels, ready before anything is timed: loaded from the cache, or compiled once with progress shown."""

from __future__ import annotations

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from sim import kernels


def warm(console: Console) -> None:
    """Have every kernel that has been imported ready; see `sim.kernels.warm`. What takes long is told on `console`."""
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
