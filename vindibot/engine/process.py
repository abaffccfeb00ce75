"""The `multiprocessing` context in which processes other than the pool's workers start."""

from __future__ import annotations

import contextlib
import json
import multiprocessing
import multiprocessing.util
import os
import signal
import sys
import tempfile
from collections.abc import Iterator, Sequence
from multiprocessing import process, resource_tracker, spawn
from multiprocessing.forkserver import ensure_running
from pathlib import Path
from typing import Any

from vindibot.base import VindibotError
from vindibot.config import make_importable
from vindibot.processes import Needs, parameters, preload

#: Largest number of bytes of the path of the folder for temporary files. `multiprocessing` adds two names for a socket.
LONGEST_TEMPORARY = 70
#: The environment variable with the JSON of the parameters, for the fork server of `multiprocessing`, which gets no arguments.
TOLD_VARIABLE = "VINDIBOT_TOLD"
#: The first module of a fork server, and its folder.
FIRST, FOLDER_OF_FIRST = "vindibot_first", str(Path(__file__).parent / "first")


def context(*needs: Needs) -> Any:
    """Return the `multiprocessing` context for processes other than the pool's workers.

    New processes come from a fork server that has loaded the modules `needs`, or from "spawn" on systems without fork servers.
    The first call starts the only fork server of `multiprocessing` in this process. If a later call has other `needs`, each new
    process imports them.
    """
    if "forkserver" not in multiprocessing.get_all_start_methods():
        return multiprocessing.get_context("spawn")
    _choose_socket_folder()
    chosen = multiprocessing.get_context("forkserver")
    chosen.set_forkserver_preload([FIRST])
    with _environment(needs):
        resource_tracker.ensure_running()  # its start unblocks SIGINT, so it must start before the block below
        # Ctrl-C goes to all processes of a terminal, and would kill the fork server while it imports.
        before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
        try:
            ensure_running()
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)
    return chosen


def pool_context(*needs: Needs) -> Any:
    """Return `context` for a pool of processes. Raises `VindibotError` if the pool cannot have semaphores."""
    chosen = context(*needs)
    try:
        chosen.Lock()
    except OSError as problem:
        advice = "make it writable (podman and docker: --tmpfs /dev/shm)"
        words = f"worker processes need semaphores in /dev/shm, which cannot be made: {problem.strerror or problem}"
        raise VindibotError(f"{words}; {advice}") from None
    return chosen


def _choose_socket_folder() -> None:
    """Let `multiprocessing` make its sockets in a folder with a short path. Raises `VindibotError` if there is none.

    The path of a socket has at most 107 bytes. So a long ``TMPDIR`` cannot be used.
    """
    try:
        usual = tempfile.gettempdir()
    except OSError as problem:
        raise VindibotError(f"there is no folder for temporary files: set TMPDIR ({problem.strerror})") from None
    if len(os.fsencode(usual)) <= LONGEST_TEMPORARY:
        return
    for folder in filter(None, (os.environ.get("XDG_RUNTIME_DIR"), "/tmp", "/var/tmp", "/dev/shm")):  # noqa: S108
        if len(os.fsencode(folder)) <= LONGEST_TEMPORARY and os.access(folder, os.W_OK | os.X_OK):
            before, tempfile.tempdir = tempfile.tempdir, folder
            try:
                multiprocessing.util.get_temp_dir()  # makes the folder for sockets at the first call
            finally:
                tempfile.tempdir = before
            return
    raise VindibotError(f"TMPDIR is too long for sockets: set it to a folder with at most {LONGEST_TEMPORARY} characters")


@contextlib.contextmanager
def _environment(needs: Sequence[Needs]) -> Iterator[None]:
    """Set the environment so that a fork server that starts within the block finds `FIRST` and its parameters.

    Such a server imports nothing from the current folder. It restores the user's environment before other code runs in it.
    """
    users = {name: os.environ.get(name) for name in (TOLD_VARIABLE, "PYTHONPATH", "PYTHONSAFEPATH")}
    main = spawn.get_preparation_data("").get("init_main_from_path")
    os.environ[TOLD_VARIABLE] = json.dumps({**parameters(), "needs": needs, "main": main, "environment": users})
    os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, (FOLDER_OF_FIRST, users["PYTHONPATH"])))
    os.environ["PYTHONSAFEPATH"] = "1"
    sys.path.append(FOLDER_OF_FIRST)  # since Python 3.13, the fork server gets the import path of this process
    try:
        yield
    finally:
        sys.path.remove(FOLDER_OF_FIRST)
        for name, value in users.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value


def load(told: dict[str, Any]) -> None:
    """Import the modules of a fork server of `multiprocessing`, and the parent's main module, which new processes need.

    Restore the user's environment variables first, since new processes inherit them. `told` has the parameters.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent handles Ctrl-C
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})  # processes that workers start inherit the mask
    for name, value in told["environment"].items():
        if value is None:
            os.environ.pop(name, None)
        else:
            os.environ[name] = value
    preload.import_modules(["vindibot.engine.worker"])
    for folders, modules in told["needs"]:
        preload.import_modules(modules, folders)
    make_importable(())
    preload.load_kernels()
    if told["main"] is not None:
        _import_main(told["main"])


def _import_main(path: str) -> None:
    current: Any = process.current_process()
    current._inheriting = True  # noqa: SLF001  # as in multiprocessing, so that a main module without a guard cannot start processes
    try:
        with contextlib.suppress(Exception, SystemExit):
            spawn.import_main_path(path)
    finally:
        del current._inheriting  # noqa: SLF001
