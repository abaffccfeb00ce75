"""Traits in this very process: no worker, no pipe. For tests, tournaments with a node budget, and debugging.

Nothing can stop a Python loop that never looks at its budget here; that is what the pool is for. A turn is still decided in
time: the votes run in a thread of their own, and what has been published at the deadline counts.
"""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial

import numpy as np

from behaviours.base import Behaviour, Budget, View
from sim.game import Games
from vindibot.engine.health import STILL_RUNNING, Conduct, entry
from vindibot.engine.pool import STOP_AHEAD
from vindibot.engine.runner import Vote, run
from vindibot.games import BallotEntry


class Inline:
    """See `vindibot.engine.pool.Voters`. `vote_now` is the synchronous heart of it."""

    def __init__(self, behaviours: Sequence[Behaviour], conducts: Sequence[Conduct]) -> None:
        self.behaviours, self.conducts = list(behaviours), list(conducts)
        self._thread: ThreadPoolExecutor | None = None
        self._busy: asyncio.Future[None] | None = None
        self._running = 0  # the trait that is asked at present

    async def start(self) -> None:
        """Nothing to wait for."""
        self._thread = ThreadPoolExecutor(1, "vindibot-traits")

    async def close(self) -> None:
        """Let go of the thread; a trait that hangs keeps it until the process ends."""
        if self._thread is not None:
            self._thread.shutdown(wait=False, cancel_futures=True)

    def begin_game(self, conducts: Sequence[Conduct]) -> None:
        """A new game: every trait starts with a clean record."""
        self.conducts = list(conducts)

    def vote_now(self, view: View) -> list[BallotEntry]:
        """Ask every trait that is not benched, here and now; it takes as long as it takes."""
        votes: dict[int, Vote] = {}
        self._run(view, votes)
        return self._entries(votes)

    async def ask(
        self, games: Games, me: int, history: Games, *, deadline: float, seed: int, nodes: int | None = None
    ) -> list[BallotEntry]:
        """The votes of every trait that came in by `deadline` (monotonic seconds); sooner if all are in."""
        if self._thread is None:
            await self.start()
        assert self._thread is not None
        stop = np.zeros(1, np.int64)
        view = View(games, me, history=history, budget=Budget(nodes, stop), seed=seed)
        votes: dict[int, Vote] = {}
        if self._busy is None or self._busy.done():
            timer = threading.Timer(max(0.0, deadline - STOP_AHEAD - time.monotonic()), stop.__setitem__, (0, 1))
            timer.daemon = True
            timer.start()
            loop = asyncio.get_running_loop()
            self._busy = loop.run_in_executor(self._thread, self._run, view, votes)
            await asyncio.wait((self._busy,), timeout=max(0.0, deadline - time.monotonic()))
            timer.cancel()
            stop[0] = 1
        else:  # a trait of an earlier turn still holds the thread: nobody can be asked
            await asyncio.wait((self._busy,), timeout=max(0.0, deadline - time.monotonic()))
        return self._entries(dict(votes), None if self._busy.done() else self._running)

    def _run(self, view: View, votes: dict[int, Vote]) -> None:
        def publish(vote: Vote) -> None:
            votes[vote.trait] = vote
            if vote.final:
                self.conducts[vote.trait].note(vote.status, vote.note, vote.ms)

        asked = [(number, behaviour) for number, behaviour in enumerate(self.behaviours) if not self.conducts[number].benched]
        asked.sort(key=lambda one: self.conducts[one[0]].anytime)
        run(asked, view, publish, partial(setattr, self, "_running"))

    def _entries(self, votes: dict[int, Vote], running: int | None = None) -> list[BallotEntry]:
        """The traits' lines in the ballot; `running` is the trait that has not come back."""
        entries = []
        for number, conduct in enumerate(self.conducts):
            vote = votes.get(number)
            stuck = number == running and not (vote is not None and (vote.final or conduct.anytime))
            entries.append(entry(conduct, vote, ("late", STILL_RUNNING) if stuck else None))
        return entries
