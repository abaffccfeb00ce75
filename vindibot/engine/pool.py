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
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Protocol

import structlog

from sim.game import Games
from vindibot.engine import worker
from vindibot.engine.blame import Blame
from vindibot.engine.deadline import STOP_AHEAD
from vindibot.engine.health import STILL_RUNNING, TraitHealth, entry
from vindibot.engine.process import WorkerProcess
from vindibot.engine.runner import Vote
from vindibot.engine.worker import TraitPlan
from vindibot.engine.workers import Workers
from vindibot.games import BallotEntry, Status

log = structlog.get_logger("vindibot.engine.pool")

#: Seconds that a turn is waited for without the event loop.
BRIEFLY = 0.001
#: Seconds after which what is queued behind a slow trait is given to a worker that has nothing to do.
RESCUE_AFTER = 0.020
#: The share of a turn that is waited for workers while none works on it; one that was killed is there again much sooner.
SHARE_TO_WAIT = 0.25
#: Suspects that have a worker of their own at the same time; others share one meanwhile.
MOST_SUSPECTS = 8
#: What is said of a trait that ran when its worker ended.
LOST = "its worker process ended while it ran"


class Voters(Protocol):
    """Whoever can be asked for the votes of a turn: the pool, or the traits in this very process."""

    health_records: list[TraitHealth]

    async def start(self) -> None:
        """Be ready: build the traits. Raises `VindibotError` if that fails."""

    async def ask(
        self, games: Games, me: int, recent: Games, *, deadline: float, seed: int, nodes: int | None = None
    ) -> list[BallotEntry]:
        """One entry for each trait of the bot, by `deadline` (on the monotonic clock)."""
        raise NotImplementedError

    def begin_game(self) -> None:
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
    idle: bool = False  # whether nobody works on it, so that its end has been set
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
    """Traits spread over worker processes. See `Voters`; used from one event loop, for one game at a time.

    A suspect (see `vindibot.engine.health`) has a worker of its own besides the `workers` that the others share.
    """

    def __init__(
        self,
        plans: Sequence[TraitPlan],
        health_records: Sequence[TraitHealth],
        *,
        workers: int,
        folders: Sequence[str] = (),
        grace: float = 0.1,
    ) -> None:
        self.plans, self.health_records = list(plans), list(health_records)
        self.grace = grace
        self._count = max(1, min(workers, len(plans)))
        self._staff = Workers(plans, folders, self)
        self._blame = Blame(self.health_records)
        self._turn: _Turn | None = None
        self._number = 0

    @property
    def workers(self) -> list[WorkerProcess]:
        """The workers that are not known to have ended."""
        return self._staff.all

    @property
    def replacements(self) -> list[float]:
        """Seconds that each replacement of a worker took, from the death to a ready successor."""
        return self._staff.replacements

    @property
    def preloaded(self) -> bool:
        """Whether every worker so far was born with everything loaded."""
        return self._staff.preloaded

    async def start(self) -> None:
        """Start the workers and wait until each has built the traits."""
        try:
            await self._staff.start(self._count)
        except BaseException:
            await self.close()
            raise

    async def ask(
        self, games: Games, me: int, recent: Games, *, deadline: float, seed: int, nodes: int | None = None
    ) -> list[BallotEntry]:
        """The votes of every trait that came in by `deadline` (monotonic seconds); sooner if all are in."""
        self._number += 1
        remembered, shared = worker.encode_turn(games, recent)
        turn = _Turn(self._number, shared, remembered, me, deadline, seed, nodes)
        hung = {_running(one) for one in self.workers if one.assigned}
        turn.waiting = [trait for trait, health in enumerate(self.health_records) if not health.benched and trait not in hung]
        self._turn = turn
        self._staff.about = contextvars.copy_context()
        try:
            self._hand_out(turn)
            self._check_done(turn)
            self._listen_briefly(turn)
            if not turn.over:
                await self._listen(turn)
        finally:
            self._turn = None
            self._let_go(turn)
        return [
            entry(health, turn.votes.get(trait), turn.failures.get(trait)) for trait, health in enumerate(self.health_records)
        ]

    def _listen_briefly(self, turn: _Turn) -> None:
        """Wait a moment without the event loop: most turns are over before it would have gone round once."""
        limit = min(time.monotonic() + BRIEFLY, turn.deadline)
        while not turn.over and time.monotonic() < limit:
            self._staff.listen(BRIEFLY)

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
            if one.assigned and one.number == turn.number:
                one.board.stop[0] = 1
                self._collect(turn, one)
                running = int(one.board.running[0])
                if not turn.said(running) and not (self.health_records[running].anytime and running in turn.votes):
                    turn.failures[running] = "late", STILL_RUNNING
                asyncio.get_running_loop().call_later(self.grace, self._reap, one, turn.number)

    def begin_game(self) -> None:
        """A new game: every trait starts with a clean record."""
        self.health_records = [health.fresh() for health in self.health_records]
        self._blame = Blame(self.health_records)

    async def close(self) -> None:
        """End all workers and whatever they have started."""
        await self._staff.close()

    # -- handing out --

    def _hand_out(self, turn: _Turn) -> None:
        """Give what waits to the workers that are free: suspects alone, cheap traits first, anytime ones last."""
        own = self._workers_of_suspects()
        shared = []
        waiting, turn.waiting = turn.waiting, []
        for trait in waiting:
            if trait not in own:
                shared.append(trait)
            elif own[trait].idle:
                self._send(own[trait], turn, [trait])
            else:
                turn.waiting.append(trait)
        free = [one for one in self.workers if one.idle and one.only is None]
        if not free:
            turn.waiting += shared
            return
        shares: list[list[int]] = [[] for _ in free]
        self._spread(shared, shares)
        for one, share in zip(free, shares, strict=True):
            if share:
                self._send(one, turn, share)

    def _workers_of_suspects(self) -> dict[int, WorkerProcess]:
        """The workers of suspects by trait: hired where they are missing, ended where they are not needed any more."""
        own = {one.only: one for one in self.workers if one.only is not None}
        if not own and not any(health.suspect for health in self.health_records):
            return {}
        for trait, health in enumerate(self.health_records):
            if trait in own and not health.suspect:
                if not own[trait].assigned:
                    self._staff.dismiss(own.pop(trait))
            elif health.suspect and trait not in own and len(own) < MOST_SUSPECTS:
                own[trait] = self._staff.hire(self._count + trait, only=trait)
        return own

    def _spread(self, traits: Sequence[int], shares: Sequence[list[int]]) -> None:
        """Spread traits over the shares, the longest first to the least loaded; each share ends up in running order."""
        if not shares or not traits:
            return
        keys = [(one.anytime, one.mean_ms) for one in self.health_records]
        load = [(0.0, 0)] * len(shares)  # milliseconds, traits
        for trait in sorted(traits, key=keys.__getitem__, reverse=True):
            least = load.index(min(load))
            shares[least].append(trait)
            load[least] = load[least][0] + keys[trait][1], load[least][1] + 1
        for share in shares:
            share.sort(key=keys.__getitem__)

    def _send(self, one: WorkerProcess, turn: _Turn, traits: list[int]) -> None:
        one.assigned, one.number = tuple(traits), turn.number
        one.board.stop[0], one.board.running[0] = 0, worker.NOBODY
        one.board.put_turn(turn.games)
        seconds = max(0.0, turn.deadline - time.monotonic())
        me, kept, nodes, trial = turn.me, turn.remembered, turn.nodes, one.only is not None
        request = worker.TurnRequest(turn.number, me, kept, seconds, self.grace, nodes, turn.seed, traits, trial)
        with contextlib.suppress(BrokenPipeError):  # it has just died; we shall be told
            os.write(one.requests, request.encode())

    # -- what comes back: see `WorkerEvents` --

    def ready(self, one: WorkerProcess) -> None:
        """A worker waits for work."""
        self._go_on()

    def told(self, one: WorkerProcess, kind: int, number: int, trait: int, text: str) -> None:
        """A worker says something about a request, this turn's or (too late to count) an earlier one."""
        health = self.health_records[trait]
        if kind == worker.DONE:
            self._came_back(one, number)
        elif kind == worker.OUTPUT:
            health.prints(text)
        else:
            status: Status = "error" if kind == worker.ERROR else "void"
            if status == "error":
                health.raised(text, alone=not (one.ran | self._begun(one, trait)) - {trait})
            else:
                health.voided(text)
            if self._turn is not None and number == self._turn.number:
                self._turn.failures[trait] = status, text

    def _came_back(self, one: WorkerProcess, number: int) -> None:
        """A worker has answered a request."""
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
                self.health_records[trait].answered(vote.ms)
                if trait == one.only:
                    self._blame.did_well_alone(trait)
        one.ran.update(one.assigned)
        one.assigned = ()
        self._go_on()

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
            if one.assigned and one.number == turn.number:
                self._collect(turn, one)
                queued = [trait for trait in one.assigned if not turn.said(trait) and trait not in turn.votes]
                turn.waiting += [
                    trait for trait in queued if trait != _running(one) and trait not in (*turn.waiting, *turn.rescued)
                ]
        turn.rescued.update(turn.waiting)
        self._hand_out(turn)

    def _check_done(self, turn: _Turn) -> None:
        working = any(one.assigned and one.number == turn.number for one in self.workers)
        if not working and not turn.waiting:
            turn.end()
        elif not working and not turn.idle:
            turn.idle = True
            timeout = SHARE_TO_WAIT * max(0.0, turn.deadline - time.monotonic())
            asyncio.get_running_loop().call_later(timeout, self._nobody_came, turn)

    def _nobody_came(self, turn: _Turn) -> None:
        """No worker has been there for a while: what cannot be had in time is not worth the risk to be late."""
        turn.idle = False
        if not turn.over and not any(one.assigned and one.number == turn.number for one in self.workers):
            turn.end()

    # -- time and death --

    def _set_stop(self, turn: _Turn) -> None:
        for one in self.workers:
            if one.number == turn.number:
                one.board.stop[0] = 1

    def _reap(self, one: WorkerProcess, number: int) -> None:
        """Kill a worker that still has not come back from request `number`."""
        if not one.dead and one.number == number and one.assigned:
            running = _running(one)
            label = self.health_records[running].label if running is not None else None
            log.warning("worker killed", worker=one.index, trait=label, reason="hung")
            one.kill()

    def died(self, one: WorkerProcess) -> bool:
        """A worker has ended, by our hand or another's: find out why, and pass its work on."""
        turn = self._turn
        lost = one.assigned
        current = turn if turn is not None and one.number == turn.number else None
        if current is not None:
            self._collect(current, one)
        running = _running(one)
        if running is not None:
            self._blame.worker_ended(running, one.ran | self._begun(one, running), LOST)
            if current is not None:
                current.failures.setdefault(running, ("killed", LOST))
        elif not lost and one.only in one.ran:
            self._blame.worker_ended(one.only, one.ran, "its worker process ended after it had run")
        if current is not None:
            current.waiting += [trait for trait in lost if not current.said(trait) and trait not in current.rescued]
        if turn is not None:
            asyncio.get_running_loop().call_soon(self._go_on)  # when its place has been filled
        self._workers_of_suspects()
        return one.only is None

    def _begun(self, one: WorkerProcess, last: int) -> set[int]:
        """The traits of its request that a worker had begun when `last` ran: anytime ones take turns, after all others."""
        if last not in one.assigned:
            return set()
        return set(one.assigned if self.health_records[last].anytime else one.assigned[: one.assigned.index(last) + 1])


def _running(one: WorkerProcess) -> int | None:
    """The trait that a worker runs; None if it has not begun. If it says what cannot be, a trait has written to its memory."""
    said = int(one.board.running[0])
    if said == worker.NOBODY or not one.assigned:
        return None
    return said if said in one.assigned else one.assigned[0]
