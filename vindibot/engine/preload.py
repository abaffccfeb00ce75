"""What a fork server imports once, so that every worker is born warm: the project, the bots' traits, compiled kernels.

Fork servers, and nobody else, import this module, before they fork anything. Whatever fails here must not end the fork server; a
worker meets the same failure again and reports it.
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
    """Load what `vindibot.engine.process` has told us to. What modules print meanwhile is dropped: our parent imports them
    too."""
    with contextlib.suppress(Exception), contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
        _load(told)


def load_for_multiprocessing(told: dict[str, Any]) -> None:
    """The same for the fork server of `multiprocessing`: with the environment of the user for all that workers start, and the
    main module of our parent, which each worker would have to import otherwise."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for our parent
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})  # what workers start gets it again
    for name, value in told["environment"].items():
        if value is None:
            os.environ.pop(name, None)
        else:
            os.environ[name] = value
    load(told)
    if told["main"] is not None:
        _import_main(told["main"])


def _load(told: dict[str, Any]) -> None:
    os.environ["VINDIBOT_KERNEL_CACHE"] = told["cache"]  # the next import takes it out again
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
    gc.freeze()  # what is shared by all workers need not be walked, and so copied, by each


def _import_main(path: str) -> None:
    current: Any = process.current_process()
    current._inheriting = True  # noqa: SLF001  # as multiprocessing does: what has no guard against being imported may not start processes
    try:
        with contextlib.suppress(Exception, SystemExit):
            spawn.import_main_path(path)
    finally:
        del current._inheriting  # noqa: SLF001
