"""The imports of a fork server: the project, the bots' traits and the compiled kernels. So each new worker has them at once.

Only fork servers import this module, before they fork. An error in a trait's module does not end the fork server. Each worker
repeats the import, gets the same error and reports it.
"""

from __future__ import annotations

import contextlib
import fcntl
import gc
import io
import os
import signal
from multiprocessing import process, spawn
from pathlib import Path
from typing import Any


def load(told: dict[str, Any]) -> None:
    """Import the module of the workers and the modules of the traits, and load the compiled kernels. Errors are ignored.

    `told` has the parameters of the fork server, from `vindibot.engine.process`. It lists the modules of the traits. Text that
    the modules print is dropped, because the parent imports the modules too and prints the same text.
    """
    with contextlib.suppress(Exception), contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
        _load(told)


def load_for_multiprocessing(told: dict[str, Any]) -> None:
    """Do the same as `load` for the fork server of `multiprocessing`. Also import the parent's main module.

    New processes need this module. Restore the user's environment variables first, since new processes inherit them.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent handles Ctrl-C
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})  # processes that workers start inherit the mask
    for name, value in told["environment"].items():
        if value is None:
            os.environ.pop(name, None)
        else:
            os.environ[name] = value
    load(told)
    if told["main"] is not None:
        _import_main(told["main"])


def _load(told: dict[str, Any]) -> None:
    os.environ["VINDIBOT_KERNEL_CACHE"] = told["cache"]  # the next import removes it
    from behaviours.base import View
    from behaviours.classic.mine import MineFinder
    from behaviours.registry import load_module
    from sim import kernels
    from sim.generator import generate
    from vindibot.config import make_importable

    load_module("vindibot.engine.worker")
    for folders, modules in told["needs"]:
        make_importable(folders)
        for module in modules:
            with contextlib.suppress(Exception):
                load_module(module)
    make_importable(())
    if told.get("gate"):
        with contextlib.suppress(OSError), Path(told["gate"]).open() as gate:
            fcntl.flock(gate, fcntl.LOCK_SH)
    kernels.warm()
    MineFinder().vote(View(generate(1).new_game(), 0))  # the first call of a kernel imports modules
    gc.collect()
    # Otherwise a worker's garbage collector would visit these objects, and so copy the memory that it shares with this process.
    gc.freeze()


def _import_main(path: str) -> None:
    current: Any = process.current_process()
    current._inheriting = True  # noqa: SLF001  # as in multiprocessing, so that a main module without a guard cannot start processes
    try:
        with contextlib.suppress(Exception, SystemExit):
            spawn.import_main_path(path)
    finally:
        del current._inheriting  # noqa: SLF001
