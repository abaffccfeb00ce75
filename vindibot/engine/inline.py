"""Traits that run in this process, without workers and pipes: for tests, for tournaments with a node budget, and for debugging.

The process pool can stop a Python loop that ignores its budget; this module cannot. A turn is still decided in time: `ask` runs
the traits in a thread and counts the votes that they published before the deadline. The program can end while the thread still
runs. A compiled loop blocks all other threads and the handler of Ctrl-C. In this case the process prints the line that called the
loop, and ends itself. It does this `STUCK` seconds after the deadline.
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
from vindibot.engine.deadline import STOP_AHEAD, StopWord
from vindibot.engine.health import STILL_RUNNING, TraitHealth, ballot_entry
from vindibot.engine.runner import Vote, run
from vindibot.games.ballot import BallotEntry

#: Seconds that `Inline.close` waits for a running trait.
CLOSE_TIMEOUT = 0.5
#: If a trait blocks all other threads for this number of seconds after the deadline, this process ends itself.
STUCK = 5.0

_deadlines: list[float] = []  # of the current turns


class Inline:
    """Voters in this process (see `vindibot.engine.agent.Voters`).

    `ask` runs the traits in a separate thread, `vote_now` in the calling thread. The view for `vote_now` needs a budget from the
    method `budget`.
    """

    def __init__(self, behaviours: Sequence[Behaviour], health_records: Sequence[TraitHealth]) -> None:
        self.behaviours, self.health_records = list(behaviours), list(health_records)
        self._busy: asyncio.Future[None] | None = None
        self._running = 0  # the number of the running trait
        self._stop = StopWord()

    async def start(self) -> None:
        """Do nothing, since the traits are already built."""

    async def close(self) -> None:
        """Wait at most `CLOSE_TIMEOUT` seconds for a trait that still runs, and end the thread that sets the stop word."""
        if self._busy is not None:
            await asyncio.wait((self._busy,), timeout=CLOSE_TIMEOUT)
        self.let_go()

    def let_go(self) -> None:
        """End the thread that sets the stop word. Call this instead of `close` if only `vote_now` was used."""
        self._stop.close()

    async def rehearse(self, view: View, *, nodes: int) -> None:
        """Do nothing: a trait that runs in this process may be under a debugger, and cannot be stopped."""

    def begin_game(self) -> None:
        """Give every trait a clean health record for a new game."""
        self.health_records = [health.fresh() for health in self.health_records]

    def budget(self, nodes: int | None) -> Budget:
        """Return a search budget of `nodes` nodes, None for no limit. A search also ends when this object sets its stop word."""
        return Budget(nodes, self._stop.word)

    def vote_now(self, view: View, seconds: float | None = None) -> list[BallotEntry]:
        """Run the traits on `view` in this thread, and return the ballot entries of all traits. Benched traits do not run.

        After `seconds` seconds the stop word is set, which tells the traits to stop. If `seconds` is None, it is never set. A
        trait that ignores the stop word runs on.
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

    async def ask(self, view: View, *, deadline: float, nodes: int | None = None) -> list[BallotEntry]:
        """Return one ballot entry per trait at `deadline`, or earlier if all votes are final; see `Voters.ask`."""
        view.budget = self.budget(nodes)
        votes: dict[int, Vote] = {}
        free = self._busy is None or self._busy.done()  # else a trait still works on an earlier turn
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
        """Return the ballot entries of all traits. `running` is the number of the trait that still runs, if any."""
        entries = []
        for number, health in enumerate(self.health_records):
            vote = votes.get(number)
            stuck = number == running and not (vote is not None and (vote.final or health.anytime))
            entries.append(ballot_entry(health, vote, ("late", STILL_RUNNING) if stuck else None))
        return entries


@contextlib.contextmanager
def _exit_if_stuck(deadline: float) -> Iterator[None]:
    """If the ``with`` block has not ended `STUCK` seconds after `deadline`, print the stacks of all threads and end the process.

    There is no other way to stop a thread that does not release the interpreter lock.
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
        with contextlib.suppress(OSError, ValueError):  # stderr is closed
            faulthandler.dump_traceback_later(left, exit=True, file=sys.__stderr__)


def _in_thread(work: Callable[[], None]) -> asyncio.Future[None]:
    """Run `work` in a daemon thread, which does not keep the process alive. Return a future that is done when `work` has ended.

    The future gets the exception of `work`, if any.
    """
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
        with contextlib.suppress(RuntimeError):  # the loop is closed
            loop.call_soon_threadsafe(finish, problem)

    threading.Thread(target=body, name="vindibot-traits", daemon=True).start()
    return done
