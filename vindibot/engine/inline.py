"""Traits in this very process: no worker, no pipe. For tests, tournaments with a node budget, and debugging.

Nothing can stop a Python loop that never looks at its budget here; that is what the pool is for. A turn is still decided in
time: the votes run in a thread of their own, and what has been published at the deadline counts. The process ends without
waiting for that thread. A compiled loop lets no other thread run, and no handler of Ctrl-C: it ends the process after a while,
with the line in which it was called.
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

#: Seconds that `Inline.close` waits for a trait that is still at work.
FAREWELL = 0.5
#: Seconds after the deadline of a turn at which this process is ended if nothing but a trait has run in it since.
STUCK = 5.0

_deadlines: list[float] = []  # of the turns that are being decided


class Inline:
    """See `vindibot.engine.pool.Voters`. `vote_now` asks in the calling thread; a view for it needs the budget of `budget`."""

    def __init__(self, behaviours: Sequence[Behaviour], health_records: Sequence[TraitHealth]) -> None:
        self.behaviours, self.health_records = list(behaviours), list(health_records)
        self._busy: asyncio.Future[None] | None = None
        self._running = 0  # the trait that is asked at present
        self._stop = StopWord()

    async def start(self) -> None:
        """Nothing to wait for."""

    async def close(self) -> None:
        """Wait for a trait that is still at work, but not for one that hangs."""
        if self._busy is not None:
            await asyncio.wait((self._busy,), timeout=FAREWELL)
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
        """Ask every trait that is not benched, here and now; the stop word is set after `seconds`, never if None.

        It takes as long as it takes: a trait that does not look at the stop word is not ended.
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
        """The votes of every trait that came in by `deadline` (monotonic seconds); sooner if all are in."""
        view = View(games, me, recent=recent, budget=self.budget(nodes), seed=seed)
        votes: dict[int, Vote] = {}
        if self._busy is None or self._busy.done():
            self._stop.set_at(deadline - STOP_AHEAD)
            with _ended_if_stuck(deadline):
                self._busy = _in_thread(partial(self._run, view, votes))
                await asyncio.wait((self._busy,), timeout=max(0.0, deadline - time.monotonic()))
            self._stop.set()
        else:  # a trait of an earlier turn still holds the thread: nobody can be asked
            with _ended_if_stuck(deadline):
                await asyncio.wait((self._busy,), timeout=max(0.0, deadline - time.monotonic()))
        return self._entries(dict(votes), None if self._busy.done() else self._running)

    def _run(self, view: View, votes: dict[int, Vote]) -> None:
        def publish(vote: Vote) -> None:
            votes[vote.trait] = vote
            if vote.final:
                self.health_records[vote.trait].note(vote.status, vote.note, vote.ms)

        asked = [
            (number, behaviour) for number, behaviour in enumerate(self.behaviours) if not self.health_records[number].benched
        ]
        asked.sort(key=lambda one: self.health_records[one[0]].anytime)
        run(asked, view, publish, partial(setattr, self, "_running"))

    def _entries(self, votes: dict[int, Vote], running: int | None = None) -> list[BallotEntry]:
        """The traits' lines in the ballot; `running` is the trait that has not come back."""
        entries = []
        for number, health in enumerate(self.health_records):
            vote = votes.get(number)
            stuck = number == running and not (vote is not None and (vote.final or health.anytime))
            entries.append(entry(health, vote, ("late", STILL_RUNNING) if stuck else None))
        return entries


@contextlib.contextmanager
def _ended_if_stuck(deadline: float) -> Iterator[None]:
    """End the process if the event loop does not come back to this block in time. A thread that holds the interpreter can be
    stopped in no other way, and nothing else can be said then than where all threads are."""
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
    """Do it in a thread that does not keep the process from ending, as one of an executor would."""
    loop = asyncio.get_running_loop()
    done: asyncio.Future[None] = loop.create_future()

    def tell(problem: BaseException | None) -> None:
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
        except BaseException as raised:  # it is raised where the work is waited for
            problem = raised
        with contextlib.suppress(RuntimeError):  # the loop has been closed
            loop.call_soon_threadsafe(tell, problem)

    threading.Thread(target=body, name="vindibot-traits", daemon=True).start()
    return done
