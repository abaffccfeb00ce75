"""The fork server of this process: the one of the standard library, with our modules and the compiled kernels loaded.

A process that it forks has both at once. It lies in a session of its own, so signals of the terminal do not reach it. It ends
with the process that has started it, even if that process is killed, and then it kills all its descendants.
"""

from __future__ import annotations

import atexit
import contextlib
import gc
import json
import os
import signal
import sys
import tempfile
import threading
import time
import warnings
from collections.abc import Iterable, Iterator, Mapping
from multiprocessing import forkserver, get_context, resource_tracker, spawn
from multiprocessing.context import BaseContext, ForkServerContext, ForkServerProcess
from pathlib import Path
from types import FrameType
from typing import Any

from vindibot.base.errors import VindibotError
from vindibot.base.orphans import adopt_orphans, die_with_parent, end_descendants, name_process

#: The name of the process, as ``ps`` shows it.
NAME = "vindibot-fork"
#: The environment variable with the parameters of `_load` as JSON. The server removes it.
VARIABLE = "VINDIBOT_FORKSERVER"
#: Seconds until another attempt to start a process.
PAUSES = (0.05, 0.2, 0.5)
#: The folder of this project.
_TOP = Path(os.path.abspath(__file__)).parents[2]  # noqa: PTH100  # `resolve` would follow links


class Process(ForkServerProcess):
    """A process that the fork server forks."""

    def start(self) -> None:
        """Start the process. If somebody has just killed the server, it may still seem to run: then start another one."""
        for pause in PAUSES:
            try:
                return super().start()
            except (ConnectionError, EOFError):
                time.sleep(pause)
                start()
        return super().start()


class Context(ForkServerContext):
    """The context of `multiprocessing` whose processes the fork server forks. The first process starts the server."""

    def Process(self, *args: Any, **options: Any) -> Process:  # type: ignore[override]  # noqa: N802
        """Return a process that has not started yet. For the arguments see `multiprocessing.Process`."""
        start()
        return Process(*args, **options)


CONTEXT = Context()
_LOCK = threading.Lock()


def context() -> BaseContext:
    """Return the context for children of this process: it forks them itself if it has only one thread, else the server does."""
    return get_context("fork") if len(os.listdir("/proc/self/task")) == 1 else CONTEXT  # noqa: PTH208  # names alone


def start(modules: Iterable[str] = ()) -> None:
    """Start the fork server unless it runs. It imports `modules` of this project and loads all kernels, beside this process."""
    with _LOCK:  # several threads may start processes, and all see the same environment
        _start(modules)


def _start(modules: Iterable[str]) -> None:
    CONTEXT.set_forkserver_preload([__name__])
    with _environment(
        {**_on_path(), "PYTHONWARNINGS": "ignore"}
    ):  # if this process is killed, the tracker removes what it has left
        resource_tracker.ensure_running()
    variables = {**_on_path(), VARIABLE: json.dumps(_told(modules))}
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT, signal.SIGHUP})  # until the server ignores them
    try:
        with _environment(variables):
            forkserver.ensure_running()
    except OSError as problem:  # the name of its socket is too long, no process or no descriptor is left
        raise VindibotError(f"the fork server cannot be started in {tempfile.gettempdir()} (TMPDIR): {problem}") from None
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _on_path() -> dict[str, str]:
    """Return the variables with which a new interpreter finds this package, and nothing in the current folder."""
    top = [] if _TOP.name.endswith("-packages") else [str(_TOP)]
    return {"PYTHONSAFEPATH": "1", "PYTHONPATH": os.pathsep.join([*top, *filter(None, [os.environ.get("PYTHONPATH")])])}


def _told(modules: Iterable[str]) -> dict[str, Any]:
    """Return the parameters of `_load`, which a fork server needs to have the same modules and kernels as this process."""
    from sim import kernels
    from vindibot.config.bots import import_path

    return {
        "path": import_path(),
        "cache": str(kernels.cache_folder()),
        "main": spawn.get_preparation_data("").get("init_main_from_path"),
        "modules": [module for module in modules if module.partition(".")[0] in ("behaviours", "sim", "vindibot")],
        "environment": {name: os.environ.get(name) for name in ("PYTHONSAFEPATH", "PYTHONPATH", "VINDIBOT_KERNEL_CACHE")},
        "owner": os.getpid(),
    }


@contextlib.contextmanager
def _environment(variables: Mapping[str, str]) -> Iterator[None]:
    before = {name: os.environ.get(name) for name in variables}
    os.environ.update(variables)
    try:
        yield
    finally:
        _restore(before)


def _restore(variables: Mapping[str, str | None]) -> None:
    for name, value in variables.items():
        if value is None:
            os.environ.pop(name, None)
        else:
            os.environ[name] = value


# ---- In the fork server, which imports this module ----


def _load(
    path: list[str], cache: str, main: str | None, modules: list[str], environment: dict[str, str | None], owner: int
) -> None:
    """Prepare this process for its work.

    `path`, `main` and `environment` are the import path, the script and variables of the process `owner`, which has started this
    one. `cache` is the folder of the compiled kernels. `modules` are imported.
    """
    _end_with(owner)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)  # our owner may have been started without it
    os.setsid()
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT, signal.SIGHUP})
    name_process(NAME)
    adopt_orphans()
    _restore(environment)
    for package in ("behaviours", "sim"):
        __import__(package)  # those beside this one; on the path of the owner there may be others before them
    sys.path[:] = path
    if main is not None:
        sys.modules["__main__"].__file__ = main  # so `multiprocessing` does not run the user's script in each process
    with contextlib.suppress(Exception), warnings.catch_warnings(action="ignore"):  # the owner, or each process, repeats them
        _load_kernels(cache, modules)
    warnings.filterwarnings("ignore", "forkserver: waitpid returned unexpected pid")  # adopted orphans
    gc.collect()
    gc.freeze()  # else a garbage collection would copy the memory that a process shares with this one


def _end_with(owner: int) -> None:
    """Let this process end with the process `owner`, its parent, and then kill all its descendants."""

    def end_if_orphan(_number: int, _frame: FrameType | None) -> None:
        if os.getppid() != owner:  # else only the thread that has started this process has ended
            signal.signal(signal.SIGTERM, signal.SIG_IGN)
            end_descendants()
            os._exit(0)

    def at_exit(server: int) -> None:
        if os.getpid() == server:
            end_descendants()

    atexit.register(at_exit, os.getpid())
    signal.signal(signal.SIGTERM, end_if_orphan)
    die_with_parent(signal.SIGTERM)
    signal.raise_signal(signal.SIGTERM)  # the owner may have ended already


def _load_kernels(cache: str, modules: Iterable[str]) -> None:
    os.environ["VINDIBOT_KERNEL_CACHE"] = cache  # the import removes it
    from behaviours.base import View
    from behaviours.classic.mine import MineFinder
    from behaviours.registry import load_module
    from sim import kernels
    from sim.generator import generate

    for module in (*modules, "vindibot.engine.worker"):
        load_module(module)
    kernels.warm()
    MineFinder().vote(View(generate(1).new_game(), 0))  # the first call of a kernel imports modules


if VARIABLE in os.environ:
    _load(**json.loads(os.environ.pop(VARIABLE)))
