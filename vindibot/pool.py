"""The process pool: workers that stay alive between turns, get the game, and stream votes back until the deadline.

One law: `ask` is back at its deadline, whatever the traits do. A trait that does not come back is killed with its worker
after a grace period, and a warm replacement takes over, in the same turn if there is time. Votes carry the number of
their request, so a late one never counts in another turn.
"""

from __future__ import annotations

import asyncio
import contextlib
import contextvars
import os
import select
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Protocol

import structlog

from sim.game import Games
from vindibot import worker
from vindibot.ballot import BallotEntry, Status
from vindibot.conduct import Conduct, entry
from vindibot.errors import VindibotError
from vindibot.process import WorkerProcess, context
from vindibot.runner import Vote
from vindibot.worker import TraitPlan

log = structlog.get_logger("vindibot.pool")

#: Seconds before the deadline at which the stop word is set, so that what looks at it can still have a last word.
STOP_AHEAD = 0.010
#: Seconds that a turn is waited for without the event loop.
BRIEFLY = 0.001
#: Seconds after which what is queued behind a slow trait is given to a worker that has nothing to do.
RESCUE_AFTER = 0.020
#: Seconds that a worker may take to import and build the traits.
START_PATIENCE = 60.0
#: After this many deaths in a row before it was ready, a worker is replaced with growing pauses, no longer at once.
START_ATTEMPTS = 3


class Voters(Protocol):
    """Whoever can be asked for the votes of a turn: the pool, or the traits in this very process."""

    conducts: list[Conduct]

    async def start(self) -> None:
        """Be ready: build the traits. Raises `VindibotError` if that fails."""

    async def ask(
        self, games: Games, me: int, history: Games, *, deadline: float, seed: int, nodes: int | None = None
    ) -> list[BallotEntry]:
        """One entry for each trait of the bot, by `deadline` (on the monotonic clock)."""
        raise NotImplementedError

    def begin_game(self, conducts: Sequence[Conduct]) -> None:
        """A new game begins: forget how the traits behaved in the last one."""

    async def close(self) -> None:
        """End it; nothing is left running."""


@dataclass
class _Turn:
    """The request that is being voted on."""

    number: int
    games: bytes
    remembered: int
    me: int
    deadline: float
    seed: int
    nodes: int | None
    over: bool = False
    done: asyncio.Future[None] | None = None
    waiting: list[int] = field(default_factory=list)
    votes: dict[int, Vote] = field(default_factory=dict)
    failures: dict[int, tuple[Status, str]] = field(default_factory=dict)
    rescued: set[int] = field(default_factory=set)

    def said(self, trait: int) -> bool:
        """Whether a trait's last word on this turn is known."""
        return trait in self.failures or (trait in self.votes and self.votes[trait].final)

    def end(self) -> None:
        """All votes are in, or time is up."""
        self.over = True
        if self.done is not None and not self.done.done():
            self.done.set_result(None)


class Pool:
    """Traits spread over worker processes. See `Voters`; used from one event loop, for one game at a time."""

    def __init__(
        self,
        plans: Sequence[TraitPlan],
        conducts: Sequence[Conduct],
        *,
        workers: int,
        folders: Sequence[str] = (),
        grace: float = 0.1,
    ) -> None:
        self.plans, self.conducts = list(plans), list(conducts)
        self.grace = grace
        self.folders = list(folders)
        self.replacements: list[float] = []  # seconds from a death to a ready replacement, for those who measure
        self.preloaded = True  # whether every worker so far was born with everything loaded
        self._count = max(1, min(workers, len(self.plans)))
        self._context = context(self.folders, {plan.class_path.partition(":")[0] for plan in self.plans})
        self._lifeline, self._parent_end = self._context.Pipe(duplex=False)
        self.workers: list[WorkerProcess] = []
        self._failed_starts = [0] * self._count
        self._died_at: dict[int, float] = {}
        self._poll = select.poll()
        self._by_pipe: dict[int, WorkerProcess] = {}
        self._changed = asyncio.Event()
        self._failure = ""
        self._turn: _Turn | None = None
        self._number = 0
        self._closed = False
        self._about = contextvars.copy_context()

    async def start(self) -> None:
        """Start the workers and wait until each has built the traits."""
        self.workers = [self._hire(index) for index in range(self._count)]
        try:
            async with asyncio.timeout(START_PATIENCE):
                while not all(one.ready for one in self.workers):
                    if self._failure:
                        raise VindibotError(f"a worker process could not build the bot's traits: {self._failure}")
                    self._changed.clear()
                    await self._changed.wait()
        except TimeoutError:
            await self.close()
            raise VindibotError(f"the worker processes were not ready after {START_PATIENCE:.0f} s") from None
        except BaseException:
            await self.close()
            raise

    async def ask(
        self, games: Games, me: int, history: Games, *, deadline: float, seed: int, nodes: int | None = None
    ) -> list[BallotEntry]:
        """The votes of every trait that came in by `deadline` (monotonic seconds); sooner if all are in."""
        self._number += 1
        remembered, shared = worker.encode_turn(games, history)
        turn = _Turn(self._number, shared, remembered, me, deadline, seed, nodes)
        hung = {int(one.board.running[0]) for one in self.workers if one.assigned and not one.dead}
        turn.waiting = [trait for trait, conduct in enumerate(self.conducts) if not conduct.benched and trait not in hung]
        self._turn = turn
        self._about = contextvars.copy_context()
        try:
            self._hand_out(turn)
            self._check_done(turn)
            self._listen_briefly(turn)
            if not turn.over:
                await self._listen(turn)
        finally:
            self._turn = None
            self._let_go(turn)
        return [entry(conduct, turn.votes.get(trait), turn.failures.get(trait)) for trait, conduct in enumerate(self.conducts)]

    def _listen_briefly(self, turn: _Turn) -> None:
        """Wait a moment without the event loop: most turns are over before it would have gone round once."""
        limit = min(time.monotonic() + BRIEFLY, turn.deadline)
        while not turn.over and time.monotonic() < limit:
            for pipe, _ in self._poll.poll(BRIEFLY * 1000):
                if pipe in self._by_pipe:
                    self._readable(self._by_pipe[pipe])

    async def _listen(self, turn: _Turn) -> None:
        """Wait for votes until all are in or the deadline has come."""
        loop = asyncio.get_running_loop()
        turn.done = loop.create_future()
        ahead = turn.deadline - time.monotonic()
        timers = [
            loop.call_later(max(0.0, ahead - STOP_AHEAD), self._set_stop, turn),
            loop.call_later(max(0.0, ahead), turn.end),
            loop.call_later(RESCUE_AFTER, self._rescue, turn),
        ]
        try:
            await turn.done
        finally:
            for timer in timers:
                timer.cancel()

    def _let_go(self, turn: _Turn) -> None:
        """The turn is over: stop those who still work on it, take what they have said, and see to it that they come back."""
        turn.over = True
        for one in self.workers:
            if one.assigned and not one.dead and one.number == turn.number:
                one.board.stop[0] = 1
                self._collect(turn, one)
                asyncio.get_running_loop().call_later(self.grace, self._reap, one, turn.number)

    def begin_game(self, conducts: Sequence[Conduct]) -> None:
        """A new game: every trait starts with a clean record."""
        self.conducts = list(conducts)

    async def close(self) -> None:
        """End all workers and whatever they have started."""
        self._closed = True
        for one in self.workers:
            if not one.dead:
                one.dead = True
                self._forget(one)
                one.kill()
                one.close()
        self.workers = []
        self._lifeline.close()
        self._parent_end.close()

    # -- handing out --

    def _hand_out(self, turn: _Turn) -> None:
        """Give what waits to the workers that are free: suspects alone, cheap traits first, anytime ones last."""
        free = [one for one in self.workers if one.idle]
        if not free or not turn.waiting:
            return
        suspects = [trait for trait in turn.waiting if self.conducts[trait].suspect]
        others = [trait for trait in turn.waiting if not self.conducts[trait].suspect]
        shares: list[list[int]] = [[] for _ in free]
        turn.waiting = []
        if suspects and others:
            # Suspects get a worker of their own, or wait until the others are through, rather than take them down.
            if len(free) > 1:
                shares[-1] = suspects
            else:
                turn.waiting = suspects
            self._spread(others, shares[: max(1, len(free) - 1)])
        else:
            self._spread(suspects or others, shares)
        for one, share in zip(free, shares, strict=True):
            if share:
                self._send(one, turn, share)

    def _spread(self, traits: Sequence[int], shares: Sequence[list[int]]) -> None:
        """Spread traits over the shares, the longest first to the least loaded; each share ends up in running order."""
        if not shares or not traits:
            return
        keys = [(one.suspect, one.anytime, one.mean_ms) for one in self.conducts]
        load = [(0.0, 0)] * len(shares)  # milliseconds, traits
        for trait in sorted(traits, key=lambda one: keys[one][1:], reverse=True):
            least = load.index(min(load))
            shares[least].append(trait)
            load[least] = load[least][0] + keys[trait][2], load[least][1] + 1
        for share in shares:
            share.sort(key=keys.__getitem__)

    def _send(self, one: WorkerProcess, turn: _Turn, traits: list[int]) -> None:
        one.assigned, one.number = tuple(traits), turn.number
        one.board.stop[0], one.board.running[0] = 0, traits[0]
        one.board.put_turn(turn.games)
        seconds = max(0.0, turn.deadline - time.monotonic())
        request = worker.Request(turn.number, turn.me, turn.remembered, seconds, self.grace, turn.nodes, turn.seed, traits)
        with contextlib.suppress(BrokenPipeError):  # it has just died; its sentinel will tell
            os.write(one.requests.fileno(), request.encode())

    # -- what comes back --

    def _within_turn(self, react: Callable[[WorkerProcess], None], one: WorkerProcess) -> None:
        """React to a worker so that what is logged knows the game and the turn, and not those of the worker's start."""
        self._about.run(react, one)

    def _readable(self, one: WorkerProcess) -> None:
        try:
            data = os.read(one.answers.fileno(), 1 << 16)
        except BlockingIOError:
            return
        if not data:
            self._forget_answers(one)
            return
        one.buffer += data
        for kind, number, trait, text in worker.decode_messages(one.buffer):
            if kind == worker.DONE:
                self._came_back(one, number)
            elif kind == worker.READY:
                self._became_ready(one, preloaded=text == worker.PRELOADED)
            elif kind == worker.FAILED:
                self._failure = text
                self._changed.set()
            else:
                self._told(kind, number, trait, text)

    def _became_ready(self, one: WorkerProcess, *, preloaded: bool) -> None:
        one.ready = True
        self.preloaded &= preloaded
        self._failed_starts[one.index] = 0
        died = self._died_at.pop(one.index, None)
        if died is not None:
            self.replacements.append(time.monotonic() - died)
            log.info("worker replaced", worker=one.index, ms=round(self.replacements[-1] * 1000, 1))
        self._changed.set()
        self._go_on()

    def _came_back(self, one: WorkerProcess, number: int) -> None:
        """A worker has answered a request, this turn's or (too late to count) an earlier one."""
        if number != one.number:
            return
        turn = self._turn
        current = turn if turn is not None and number == turn.number else None
        for trait in one.assigned:
            vote = one.board.get(number, trait)
            if vote is None:
                continue
            if current is not None and not current.said(trait):
                current.votes[trait] = vote
            if vote.status == "ok":
                self.conducts[trait].answered(vote.ms)
        one.assigned = ()
        self._go_on()

    def _told(self, kind: int, number: int, trait: int, text: str) -> None:
        conduct = self.conducts[trait]
        if kind == worker.OUTPUT:
            conduct.prints(text)
            return
        status: Status = "error" if kind == worker.ERROR else "void"
        conduct.note(status, text, 0.0)
        if self._turn is not None and number == self._turn.number:
            self._turn.failures[trait] = status, text

    def _collect(self, turn: _Turn, one: WorkerProcess) -> None:
        """Take the votes that a worker has published for this turn so far; the last word on a trait is not replaced."""
        for trait in one.assigned:
            vote = one.board.get(turn.number, trait)
            if vote is not None and not turn.said(trait):
                turn.votes[trait] = vote

    def _go_on(self) -> None:
        """After a worker has become free: hand out what waits; the turn is over when nothing waits and nobody works."""
        turn = self._turn
        if turn is None:
            return
        self._hand_out(turn)
        self._check_done(turn)

    def _rescue(self, turn: _Turn) -> None:
        """What is queued behind a trait that takes long is given to a worker that is free."""
        for one in self.workers:
            if one.assigned and one.number == turn.number and not one.dead:
                self._collect(turn, one)
                queued = [trait for trait in one.assigned if not turn.said(trait) and trait not in turn.votes]
                turn.waiting += [
                    trait
                    for trait in queued
                    if trait != int(one.board.running[0]) and trait not in (*turn.waiting, *turn.rescued)
                ]
        turn.rescued.update(turn.waiting)
        self._hand_out(turn)

    def _check_done(self, turn: _Turn) -> None:
        working = any(one.assigned and one.number == turn.number and not one.dead for one in self.workers)
        if not turn.waiting and not working:
            turn.end()

    # -- time and death --

    def _set_stop(self, turn: _Turn) -> None:
        for one in self.workers:
            if one.number == turn.number:
                one.board.stop[0] = 1

    def _reap(self, one: WorkerProcess, number: int) -> None:
        """Kill a worker that still has not come back from request `number`."""
        if not one.dead and one.number == number and one.assigned:
            log.warning("worker killed", worker=one.index, trait=self.conducts[int(one.board.running[0])].label, reason="hung")
            one.kill()

    def _died(self, one: WorkerProcess) -> None:
        """The process of a place has ended, by our hand or another's: pass its work on and replace it."""
        if one.dead:
            return
        one.dead = True
        with contextlib.suppress(OSError):
            os.set_blocking(one.answers.fileno(), False)
            self._readable(one)  # its last words
        self._forget(one)
        one.kill()  # its children, if it had any
        turn = self._turn
        lost = list(one.assigned)
        culprit = int(one.board.running[0]) if lost else None
        if culprit is not None:
            self.conducts[culprit].struck("its worker process ended while it ran")
        if turn is not None and one.number == turn.number:
            self._collect(turn, one)
            if culprit is not None:
                turn.failures.setdefault(culprit, ("killed", "its worker process ended while it ran"))
            turn.waiting += [trait for trait in lost if not turn.said(trait) and trait not in turn.rescued]
        started, exit_code = one.ready, one.process.exitcode
        one.close()
        if self._closed:
            return
        log.warning("worker died", worker=one.index, exit_code=exit_code)
        self._replace(one.index, started)
        self._go_on()

    def _replace(self, index: int, had_started: bool) -> None:
        self._died_at.setdefault(index, time.monotonic())
        failed = self._failed_starts[index] = 0 if had_started else self._failed_starts[index] + 1
        if failed < START_ATTEMPTS:
            self.workers[index] = self._hire(index)
            return
        self._failure = self._failure or "it dies before it is ready"
        self._changed.set()
        pause = min(30.0, 0.25 * 2 ** (failed - START_ATTEMPTS))
        log.error("worker dies before it is ready", worker=index, reason=self._failure, next_try_s=pause)
        asyncio.get_running_loop().call_later(pause, self._hire_again, index)

    def _hire_again(self, index: int) -> None:
        if not self._closed:
            self.workers[index] = self._hire(index)

    def _hire(self, index: int) -> WorkerProcess:
        one = WorkerProcess(index, self.plans, self.folders, self._context, self._lifeline)
        loop, pipe = asyncio.get_running_loop(), one.answers.fileno()
        loop.add_reader(pipe, self._within_turn, self._readable, one)
        loop.add_reader(one.process.sentinel, self._within_turn, self._died, one)
        self._poll.register(pipe, select.POLLIN)
        self._by_pipe[pipe] = one
        return one

    def _forget(self, one: WorkerProcess) -> None:
        self._forget_answers(one)
        with contextlib.suppress(OSError, ValueError):
            asyncio.get_running_loop().remove_reader(one.process.sentinel)

    def _forget_answers(self, one: WorkerProcess) -> None:
        with contextlib.suppress(OSError, ValueError, KeyError):
            pipe = one.answers.fileno()
            asyncio.get_running_loop().remove_reader(pipe)
            del self._by_pipe[pipe]
            self._poll.unregister(pipe)
