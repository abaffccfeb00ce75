"""Workers on this machine: processes that play one game after another, born warm from a fork server."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from typing import Any

from vindibot.arena.entrants import Entrant
from vindibot.arena.sandbox import become_worker
from vindibot.engine import Needs, context


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
    ours = ["vindibot.arena.sandbox"]
    if any(entrant.kind == "http" for entrant in entrants):
        ours.append("vindibot.arena.hosting")
    needs = [Needs(modules=tuple(ours)), *(Needs(bot.folders, bot.modules) for bot in bots)]

    def make() -> LocalExecutor:
        return LocalExecutor(workers, context(*needs))

    return make
