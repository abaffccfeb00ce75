"""Workers on this machine: processes that play one game after another, born warm from a fork server."""

from __future__ import annotations

import signal
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import resource_tracker
from typing import Any

from vindibot.arena.entrants import Entrant
from vindibot.arena.sandbox import become_worker
from vindibot.process import context


class LocalExecutor(ProcessPoolExecutor):
    """A pool of processes that can be ended at once, in the middle of a game, and end with us, however we end."""

    def __init__(self, workers: int, mp_context: Any) -> None:
        # No worker has the other end of this pipe: it breaks when this process is gone.
        lifeline, self._held = mp_context.Pipe(duplex=False)
        super().__init__(workers, mp_context=mp_context, initializer=become_worker, initargs=(lifeline,))

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """As of any executor. Without `wait`, workers are ended."""
        super().shutdown(wait, cancel_futures=cancel_futures)
        self._held.close()

    def kill(self) -> None:
        """End all workers now; with each ends the game it plays, and the programs in it."""
        for process in list((self._processes or {}).values()):
            process.kill()


def local_workers(entrants: Sequence[Entrant], workers: int) -> Callable[[], LocalExecutor]:
    """What makes executors of so many workers for these entrants."""
    bots = [entrant.bot for entrant in entrants if entrant.bot is not None]
    modules = {spec.class_path.partition(":")[0] for bot in bots for spec in bot.traits}
    modules.add("vindibot.arena.sandbox")
    if any(entrant.kind == "http" for entrant in entrants):
        modules.add("vindibot.arena.hosting")
    folders = tuple(dict.fromkeys(folder for bot in bots for folder in bot.folders))

    def make() -> LocalExecutor:
        return LocalExecutor(workers, _deaf_context(folders, modules))

    return make


def _deaf_context(folders: Sequence[str], modules: set[str]) -> Any:
    """As `context`, with a fork server that gets no Ctrl-C, which goes to all processes of a terminal: it would die of one
    while it imports."""
    resource_tracker.ensure_running()  # starting it would lift the block
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        return context(folders, modules)
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
