"""Traits in this process, without workers and pipes. For tests, tournaments with a node budget, and debugging.

Nothing here can stop a Python loop that ignores its budget; the pool can. A turn is still decided in time: the traits run in a
thread, and the votes that are published by the deadline count. The process can end while the thread runs. A compiled loop blocks
all other threads and the handler of Ctrl-C: then the process ends after `STUCK` seconds, and prints the line of the call.
"""

from __future__ import annotations

import asyncio
import contextlib
import faulthandler
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial

from behaviours.base import Behaviour, Budget, View
from sim.game import Games
from vindibot.engine.deadline import STOP_AHEAD, StopWord
from vindibot.engine.health import STILL_RUNNING, TraitHealth, entry
from vindibot.engine.runner import Vote, run
from vindibot.games import BallotEntry

#: Seconds that `Inline.close` waits for a running trait.
CLOSE_TIMEOUT = 0.5
#: Seconds after the deadline of a turn at which this process ends itself if a trait has blocked all other threads since.
STUCK = 5.0

_deadlines: list[float] = []  # of the current turns


class Inline:
    """Voters in this process; see `vindibot.engine.pool.Voters`.

    `vote_now` runs the traits in the calling thread, on a view with the budget of `budget`.
    """

    def __init__(self, behaviours: Sequence[Behaviour], health_records: Sequence[TraitHealth]) -> None:
        self.behaviours, self.health_records = list(behaviours), list(health_records)
        self._busy: asyncio.Future[None] | None = None
        self._running = 0  # the number of the running trait
        self._stop = StopWord()

    async def start(self) -> None:
        """Do nothing: the traits are built."""

    async def close(self) -> None:
        """Wait for a running trait, at most `CLOSE_TIMEOUT`."""
        if self._busy is not None:
            await asyncio.wait((self._busy,), timeout=CLOSE_TIMEOUT)
        self.let_go()

    def let_go(self) -> None:
        """End the thread that keeps the time. Enough of a `close` where only `vote_now` was used."""
        self._stop.close()

    def begin_game(self) -> None:
        """A new game: every trait starts with a clean record."""
        self.health_records = [health.fresh() for health in self.health_records]

    def budget(self, nodes: int | None) -> Budget:
        """A budget of `nodes` (None: as long as there is time) with the stop word that is set here."""
        return Budget(nodes, self._stop.word)

    def vote_now(self, view: View, seconds: float | None = None) -> list[BallotEntry]:
        """The entries of all traits. Those that are not benched run in this thread.

        Sets the stop word after `seconds`, never if None. A trait that ignores it is not ended.
        """
        votes: dict[int, Vote] = {}
        if seconds is None:
            self._stop.clear()
        else:
            self._stop.set_at(time.monotonic() + seconds)
        try:
            self._run(view, votes)
        finally:
            self._stop.rest()
        return self._entries(votes)

    async def ask(
        self, games: Games, me: int, recent: Games, *, deadline: float, seed: int, nodes: int | None = None
    ) -> list[BallotEntry]:
        """See `Voters`."""
        view = View(games, me, recent=recent, budget=self.budget(nodes), seed=seed)
        votes: dict[int, Vote] = {}
        free = self._busy is None or self._busy.done()  # else a trait of an earlier turn blocks this one
        with _exit_if_stuck(deadline):
            if free:
                self._stop.set_at(deadline - STOP_AHEAD)
                self._busy = _in_thread(partial(self._run, view, votes))
            assert self._busy is not None
            await asyncio.wait((self._busy,), timeout=max(0.0, deadline - time.monotonic()))
        if free:
            self._stop.set()
        return self._entries(dict(votes), None if self._busy.done() else self._running)

    def _run(self, view: View, votes: dict[int, Vote]) -> None:
        def publish(vote: Vote) -> None:
            votes[vote.trait] = vote
            if vote.final:
                self.health_records[vote.trait].note(vote.status, vote.note, vote.ms)

        traits = [
            (number, behaviour) for number, behaviour in enumerate(self.behaviours) if not self.health_records[number].benched
        ]
        traits.sort(key=lambda trait: self.health_records[trait[0]].anytime)
        run(traits, view, publish, partial(setattr, self, "_running"))

    def _entries(self, votes: dict[int, Vote], running: int | None = None) -> list[BallotEntry]:
        """The entries of all traits in the ballot. `running` is the trait that still runs."""
        entries = []
        for number, health in enumerate(self.health_records):
            vote = votes.get(number)
            stuck = number == running and not (vote is not None and (vote.final or health.anytime))
            entries.append(entry(health, vote, ("late", STILL_RUNNING) if stuck else None))
        return entries


@contextlib.contextmanager
def _exit_if_stuck(deadline: float) -> Iterator[None]:
    """End the process `STUCK` seconds after `deadline` if the event loop has not left the block. Prints the lines of all threads.

    There is no other way to stop a thread that holds the interpreter.
    """
    _deadlines.append(deadline)
    _watch()
    try:
        yield
    finally:
        _deadlines.remove(deadline)
        _watch()


def _watch() -> None:
    if not _deadlines:
        faulthandler.cancel_dump_traceback_later()
        return
    left = max(0.0, max(_deadlines) - time.monotonic()) + STUCK
    if sys.__stderr__ is not None:
        with contextlib.suppress(OSError, ValueError):  # it has been closed
            faulthandler.dump_traceback_later(left, exit=True, file=sys.__stderr__)


def _in_thread(work: Callable[[], None]) -> asyncio.Future[None]:
    """Run `work` in a daemon thread: the process can end without it. Raises the exception of `work` in the waiting code."""
    loop = asyncio.get_running_loop()
    done: asyncio.Future[None] = loop.create_future()

    def finish(problem: BaseException | None) -> None:
        if done.cancelled():
            return
        if problem is None:
            done.set_result(None)
        else:
            done.set_exception(problem)

    def body() -> None:
        problem = None
        try:
            work()
        except BaseException as raised:
            problem = raised
        with contextlib.suppress(RuntimeError):  # the loop has been closed
            loop.call_soon_threadsafe(finish, problem)

    threading.Thread(target=body, name="vindibot-traits", daemon=True).start()
    return done
