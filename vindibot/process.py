"""One worker as its pool sees it: the process, the pipes to and from it, the shared memory, and what it is busy with."""

from __future__ import annotations

import contextlib
import json
import multiprocessing
import os
import signal
from collections.abc import Iterator, Sequence
from multiprocessing import forkserver
from typing import Any

from vindibot import worker
from vindibot.worker import TraitPlan

#: What the fork server imports before it forks.
PRELOAD = "vindibot.preload"
#: What `PRELOAD` shall load, as JSON: {"folders": [...], "modules": [...]}.
PRELOAD_VARIABLE = "VINDIBOT_PRELOAD"


class WorkerProcess:
    """One place of the pool and the process that fills it at present."""

    def __init__(self, index: int, plans: Sequence[TraitPlan], folders: Sequence[str], context: Any, lifeline: Any) -> None:
        self.index = index
        self.memory = context.RawArray("b", worker.Board.size(len(plans)))
        self.board = worker.Board(self.memory)
        self.ready = False
        self.dead = False
        self.number = 0
        self.assigned: tuple[int, ...] = ()
        self.buffer = bytearray()
        request_end, self.requests = context.Pipe(duplex=False)
        self.answers, answer_end = context.Pipe(duplex=False)
        self.process = context.Process(
            target=worker.main,
            args=(plans, folders, request_end, answer_end, lifeline, self.memory),
            name=f"vindibot-worker-{index}",
            daemon=True,
        )
        try:
            self.process.start()
        finally:
            request_end.close()
            answer_end.close()

    @property
    def idle(self) -> bool:
        return self.ready and not self.dead and not self.assigned

    def kill(self) -> None:
        """End the process and everything it has started."""
        pid = self.process.pid
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(pid, signal.SIGKILL)
        with contextlib.suppress(ProcessLookupError):
            self.process.kill()

    def close(self) -> None:
        """Release what the process held. Call it when the process is gone."""
        self.requests.close()
        self.answers.close()
        with contextlib.suppress(ValueError):
            self.process.join(1.0)
            self.process.close()


def context(folders: Sequence[str], modules: set[str]) -> Any:
    """The multiprocessing context of workers: a fork server that has the traits loaded, or spawn where there is none.

    The fork server is one per process and is started by the first call; a module that a later bot needs is then imported
    by each of its workers.
    """
    if "forkserver" not in multiprocessing.get_all_start_methods():
        return multiprocessing.get_context("spawn")
    chosen = multiprocessing.get_context("forkserver")
    chosen.set_forkserver_preload(["__main__", PRELOAD])
    with _environment(folders, modules):
        forkserver.ensure_running()
    return chosen


@contextlib.contextmanager
def _environment(folders: Sequence[str], modules: set[str]) -> Iterator[None]:
    """What the fork server must know at its start: what to load, and where this project lies (its path is not ours)."""
    top = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    kept = {name: os.environ.get(name) for name in (PRELOAD_VARIABLE, "PYTHONPATH")}
    os.environ[PRELOAD_VARIABLE] = json.dumps({"folders": list(folders), "modules": sorted(modules)})
    os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, (top, kept["PYTHONPATH"])))
    try:
        yield
    finally:
        for name, value in kept.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value
