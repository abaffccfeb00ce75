"""The imports of a fork server: the project, the bots' traits, compiled kernels. So every worker starts warm.

Only fork servers import this module, before they fork. An error here must not end the fork server: a worker meets the same error
again and reports it.
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
    """Load what `vindibot.engine.process` asks for. Drops the output of the modules: the parent imports them too."""
    with contextlib.suppress(Exception), contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
        _load(told)


def load_for_multiprocessing(told: dict[str, Any]) -> None:
    """Load the same for the fork server of `multiprocessing`, and the main module of the parent, which each worker needs.

    Restores the user's environment first, for the processes that workers start.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent handles Ctrl-C
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})  # for the processes that workers start
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
    from behaviours.registry import load_module
    from sim import kernels
    from vindibot.config import make_importable

    load_module("vindibot.engine.worker")
    for folders, modules in told["needs"]:
        make_importable(folders)
        for module in modules:
            with contextlib.suppress(Exception):
                load_module(module)
    make_importable(())
    if told.get("gate"):
        with contextlib.suppress(FileNotFoundError), Path(told["gate"]).open() as gate:
            fcntl.flock(gate, fcntl.LOCK_SH)
    kernels.warm()
    gc.collect()
    gc.freeze()  # a worker would copy the shared memory if its collector walked it


def _import_main(path: str) -> None:
    current: Any = process.current_process()
    current._inheriting = True  # noqa: SLF001  # as multiprocessing does: a main module without a guard must not start processes
    try:
        with contextlib.suppress(Exception, SystemExit):
            spawn.import_main_path(path)
    finally:
        del current._inheriting  # noqa: SLF001
