"""The process pool. Its workers stay alive between turns. They get the game of each turn and publish votes until the deadline.

`ask` returns at its deadline, whatever the traits do. A worker that does not answer within a grace period after the deadline is
killed and replaced, and the trait that was running gets a strike. If a worker dies before the deadline, its replacement does the
remaining work of the same turn. Each vote carries the number of its request, so a late vote never counts in another turn.

A worker without work helps: it plays parts of the split traits that other workers lead (see `vindibot.engine.parts`). It stops
when the pool has other work for it.
"""

from __future__ import annotations

import asyncio
import contextlib
import contextvars
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal

import structlog

from behaviours.base import View
from vindibot.engine.deadline import STOP_AHEAD
from vindibot.engine.health import STILL_RUNNING, TraitHealth, ballot_entry
from vindibot.engine.parts import PartsLayout
from vindibot.engine.runner import Vote
from vindibot.engine.worker import TraitPlan, TurnRequest, encode_turn
from vindibot.engine.workers import START_TIMEOUT, PoolWorker, Workers
from vindibot.games.ballot import BallotEntry, Status

log = structlog.get_logger("vindibot.engine.pool")

#: Seconds at the start of a turn in which the pool reads votes without the event loop.
POLL_TIME = 0.001
#: Seconds after which the pool gives the traits that wait behind a slow trait to idle workers.
RESCUE_AFTER = 0.020
#: If no worker works on the turn, the pool waits for a worker during this share of the remaining time. A replacement is usually
#: ready much sooner.
IDLE_SHARE = 0.25
#: A worker ends itself after the grace period. This number of seconds later the pool kills it, if it still runs.
KILL_AFTER = 0.1
#: Seconds of a rehearsal after which traits are told to stop, and after which workers that have not answered are replaced.
REHEARSAL_SECONDS, REHEARSAL_TIMEOUT = 0.5, 5.0
#: The note in the ballot about a trait that was running when its worker ended.
LOST = "its worker process ended while it ran"


@dataclass
class _Turn:
    """The turn on which the traits vote now. A trait is given by its number."""

    number: int
    view: View
    games: bytes
    deadline: float
    nodes: int | None
    over: bool = False
    idle: bool = False  # no worker works on it, and a timer is set
    done: asyncio.Future[None] | None = None
    waiting: list[int] = field(default_factory=list)
    votes: dict[int, Vote] = field(default_factory=dict)
    failures: dict[int, tuple[Status, str]] = field(default_factory=dict)
    rescued: set[int] = field(default_factory=set)
    helped: set[tuple[int, int]] = field(default_factory=set)  # (index of a worker, trait) of the parts that were begun

    def is_final(self, trait: int) -> bool:
        """Return whether a trait has failed or published its final vote."""
        return trait in self.failures or (trait in self.votes and self.votes[trait].final)

    def take(self, vote: Vote) -> None:
        """Take a vote that a worker has published. A final vote is not replaced.

        If the trait has failed, its earlier votes stay, and its notes are taken.
        """
        before = self.votes.get(vote.trait)
        if self.is_final(vote.trait):
            return
        if vote.status != "ok":
            self.failures[vote.trait] = vote.status, vote.note
            vote = (before or vote._replace(votes=None))._replace(notes=vote.notes)
        self.votes[vote.trait] = vote

    def end(self) -> None:
        """End the turn, because all votes are final or the deadline has come."""
        self.over = True
        if self.done is not None and not self.done.done():
            self.done.set_result(None)


class Pool:
    """Traits in worker processes (see `vindibot.engine.agent.Voters`). A pool serves one event loop, and one game at a time.

    The traits share `workers` processes, or fewer if there are fewer traits and none can be split. A worker is killed if it has
    not answered `grace` seconds after the deadline. Workers import the traits from the Python path and `folders`.
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
        self._split = tuple(trait for trait, health in enumerate(self.health_records) if health.split)
        self._count = max(1, workers if self._split else min(workers, len(plans)))
        self._workers = Workers(plans, folders, PartsLayout(self._split, self._count), self)
        self._turn: _Turn | None = None
        self._number = 0
        self._rehearsal = 0  # the number of the rehearsal's request
        self._changed = asyncio.Event()  # a worker has answered, is ready or has ended

    @property
    def workers(self) -> list[PoolWorker]:
        """All workers, ready or not, except the ones that are known to have ended."""
        return self._workers.all

    @property
    def replacements(self) -> list[float]:
        """The duration of each replacement of a worker so far: the seconds from its death until its replacement is ready."""
        return self._workers.replacements

    async def start(self) -> None:
        """Start the workers and wait until each one has built the traits. Raises `VindibotError` if that fails."""
        try:
            await self._workers.start(self._count)
        except BaseException:
            await self.close()
            raise

    async def ask(self, view: View, *, deadline: float, nodes: int | None = None) -> list[BallotEntry]:
        """Return one ballot entry per trait at `deadline`, or earlier if all votes are final; see `Voters.ask`."""
        turn = self._new_turn(view, deadline, nodes)
        hung = {worker.running for worker in self.workers if worker.assigned and not worker.helps}
        turn.waiting = [trait for trait, health in enumerate(self.health_records) if not health.benched and trait not in hung]
        self._turn = turn
        self._workers.log_context = contextvars.copy_context()
        try:
            self._give_work(turn)
            self._check_done(turn)
            self._poll(turn)
            if not turn.over:
                await self._wait(turn)
        finally:
            self._turn = None
            self._finish(turn)
        return [
            ballot_entry(health, turn.votes.get(trait), turn.failures.get(trait))
            for trait, health in enumerate(self.health_records)
        ]

    def _new_turn(self, view: View, deadline: float, nodes: int | None) -> _Turn:
        self._number += 1
        return _Turn(self._number, view, encode_turn(view), deadline, nodes)

    async def rehearse(self, view: View, *, nodes: int) -> None:
        """Let each worker run all traits once; see `Voters.rehearse`. Return when all workers are idle.

        A worker that has not answered after `REHEARSAL_TIMEOUT` seconds is replaced. Its replacement has no rehearsal.
        """
        turn = self._new_turn(view, time.monotonic() + REHEARSAL_TIMEOUT, nodes)
        self._rehearsal = turn.number
        traits: list[int] = []
        self._spread(range(len(self.plans)), [traits])
        for worker in self.workers:
            self._send(worker, turn, traits)
        stop = asyncio.get_running_loop().call_later(REHEARSAL_SECONDS, self._set_stop, turn)
        try:
            await self._until_idle(REHEARSAL_TIMEOUT)
            for worker in self.workers:
                self._kill_if_hung(worker, turn.number)
            await self._until_idle(START_TIMEOUT)
        finally:
            stop.cancel()

    async def _until_idle(self, seconds: float) -> None:
        """Wait until all workers are idle, at most `seconds` seconds."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                while not all(worker.idle for worker in self.workers):
                    self._changed.clear()
                    await self._changed.wait()

    def _poll(self, turn: _Turn) -> None:
        """Read answers for at most `POLL_TIME` seconds without the event loop.

        Most turns end in this time, so they do not wait for a pass of the event loop.
        """
        limit = min(time.monotonic() + POLL_TIME, turn.deadline)
        while not turn.over and time.monotonic() < limit:
            self._workers.poll(POLL_TIME)

    async def _wait(self, turn: _Turn) -> None:
        """Wait until all votes are final or the deadline has come."""
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

    def _finish(self, turn: _Turn) -> None:
        """Tell the workers that still work on a turn to stop, and take their votes.

        A worker that has not answered after the grace period is killed.
        """
        turn.over = True
        for worker in [*self._working(turn), *self._helping(turn)]:
            worker.memory.stop[0] = 1
            asyncio.get_running_loop().call_later(self.grace + KILL_AFTER, self._kill_if_hung, worker, turn.number)
        for worker in self._working(turn):
            self._collect(turn, worker)
            running = worker.running
            if (
                running is not None
                and not turn.is_final(running)
                and not (self.health_records[running].anytime and running in turn.votes)
            ):
                turn.failures[running] = "late", STILL_RUNNING

    def begin_game(self) -> None:
        """Give every trait a clean health record for a new game."""
        self.health_records = [health.fresh() for health in self.health_records]

    async def close(self) -> None:
        """End all workers, and all processes that the workers have started."""
        await self._workers.close()

    # -- work for the workers --

    def _give_work(self, turn: _Turn) -> None:
        """Give the waiting traits to the idle workers. If no trait is left, the workers that are still idle become helpers."""
        free = [worker for worker in self.workers if worker.idle]
        turn.waiting = [trait for trait in turn.waiting if not turn.is_final(trait)]  # its first worker may have run it
        if turn.waiting and free:
            shares: list[list[int]] = [[] for _ in free]
            self._spread(turn.waiting, shares)
            turn.waiting = []
            for worker, share in zip(free, shares, strict=True):
                if share:
                    self._send(worker, turn, share)
        if turn.waiting:
            for worker in self._helping(turn):
                worker.memory.stop[0] = 1
        elif self._split and turn.nodes is None and not turn.over:
            self._help(turn)

    def _help(self, turn: _Turn) -> None:
        """Let the idle workers play parts of the split traits that other workers lead.

        A worker plays at most one part of a trait per turn. So no other part overwrites the statistics of a part that has ended.
        """
        led = {trait for worker in self._working(turn) for trait in worker.assigned}
        open_traits = [trait for trait in self._split if trait in led and not turn.is_final(trait)]
        for worker in self.workers:
            traits = [trait for trait in open_traits if (worker.index, trait) not in turn.helped]
            if traits and worker.idle:
                turn.helped.update((worker.index, trait) for trait in traits)
                self._send(worker, turn, traits, helps=True)

    def _spread(self, traits: Sequence[int], shares: Sequence[list[int]]) -> None:
        """Distribute traits over `shares`, a list of traits per worker. Each trait goes to the share with the least load.

        Anytime traits come first, then the slowest traits. At the end, sort each share by the order in which the traits run:
        cheap traits first, anytime traits last.
        """
        keys = [(record.anytime, record.mean_ms) for record in self.health_records]
        load = [(0.0, 0)] * len(shares)  # milliseconds, traits
        for trait in sorted(traits, key=keys.__getitem__, reverse=True):
            least = load.index(min(load))
            shares[least].append(trait)
            load[least] = load[least][0] + keys[trait][1], load[least][1] + 1
        for share in shares:
            share.sort(key=keys.__getitem__)

    def _send(self, worker: PoolWorker, turn: _Turn, traits: list[int], *, helps: bool = False) -> None:
        limit = max(0.0, turn.deadline - time.monotonic()) + self.grace
        kind: Literal["votes", "parts"] = "parts" if helps else "votes"
        worker.send(TurnRequest(turn.number, turn.games, turn.view.me, limit, turn.nodes, turn.view.seed, traits, kind))

    # -- `WorkerEvents` --

    def on_ready(self, worker: PoolWorker) -> None:
        """Give work to a worker that has just built the traits."""
        self._changed.set()
        self._continue()

    def on_answer(self, worker: PoolWorker, printed: Sequence[tuple[int, str]]) -> None:
        """Take the votes of a worker that has answered a request, and give it new work.

        An answer to an earlier turn changes only the health of the traits.
        """
        if worker.number != self._rehearsal:
            for trait, text in printed:
                self.health_records[trait].prints(text)
            self._note_votes(worker)
        worker.assigned = ()
        self._changed.set()
        self._continue()

    def _note_votes(self, worker: PoolWorker) -> None:
        """Record the last votes of a worker in the health of its traits, and take them for the current turn."""
        current = self._current(worker)
        for trait in worker.assigned:
            vote = worker.memory.get(worker.number, trait)
            if vote is None:
                continue
            if current is not None and not worker.helps:
                current.take(vote)
            if vote.final and not (worker.helps and vote.status == "ok"):
                self.health_records[trait].note(vote.status, vote.note, vote.ms)

    def _current(self, worker: PoolWorker) -> _Turn | None:
        """Return the current turn if the last request to the worker belongs to it, else None."""
        return self._turn if self._turn is not None and worker.number == self._turn.number else None

    def _collect(self, turn: _Turn, worker: PoolWorker) -> None:
        """Take the votes that a worker has published for this turn (see `_Turn.take`). A helper has no votes."""
        for trait in () if worker.helps else worker.assigned:
            vote = worker.memory.get(turn.number, trait)
            if vote is not None:
                turn.take(vote)

    def _continue(self) -> None:
        """Give waiting traits of the current turn to idle workers, or end the turn if it has no work left."""
        if self._turn is not None:
            self._give_work(self._turn)
            self._check_done(self._turn)

    def _rescue(self, turn: _Turn) -> None:
        """Give the traits that wait behind a slow trait to idle workers."""
        for worker in self._working(turn):
            self._collect(turn, worker)
            queued = [trait for trait in worker.assigned if not turn.is_final(trait) and trait not in turn.votes]
            turn.waiting += [trait for trait in queued if trait != worker.running and trait not in (*turn.waiting, *turn.rescued)]
        turn.rescued.update(turn.waiting)
        self._give_work(turn)

    def _working(self, turn: _Turn) -> list[PoolWorker]:
        """Return the workers whose votes count in a turn and that still work on it."""
        return [worker for worker in self.workers if worker.assigned and worker.number == turn.number and not worker.helps]

    def _helping(self, turn: _Turn) -> list[PoolWorker]:
        """Return the workers that help in a turn."""
        return [worker for worker in self.workers if worker.assigned and worker.number == turn.number and worker.helps]

    def _check_done(self, turn: _Turn) -> None:
        """End the turn if it has no work left. If there is work but no worker, set a timer that may end the turn."""
        working = self._working(turn)
        if not working and not turn.waiting:
            turn.end()
        elif not working and not turn.idle:
            turn.idle = True
            timeout = IDLE_SHARE * max(0.0, turn.deadline - time.monotonic())
            asyncio.get_running_loop().call_later(timeout, self._end_if_idle, turn)

    def _end_if_idle(self, turn: _Turn) -> None:
        """End the turn if it still has no worker. A longer wait would risk a late move."""
        turn.idle = False
        if not turn.over and not self._working(turn):
            turn.end()

    # -- time and death --

    def _set_stop(self, turn: _Turn) -> None:
        for worker in self.workers:
            if worker.number == turn.number:
                worker.memory.stop[0] = 1

    def _kill_if_hung(self, worker: PoolWorker, number: int) -> None:
        """Kill a worker that has not answered request `number`."""
        if not worker.dead and worker.number == number and worker.assigned:
            worker.process.kill()

    def on_death(self, worker: PoolWorker) -> None:
        """Handle the end of a worker: charge the trait that was running, and give its other traits to other workers.

        For the end of a worker in a rehearsal, no trait is charged.
        """
        self._changed.set()
        running, current = worker.running, self._current(worker)
        if worker.number == self._rehearsal or not worker.assigned:
            return
        self._note_votes(worker)
        if running is not None:
            self.health_records[running].strike(f"{LOST}, with {worker.process.ending}")
        if current is not None and not worker.helps:
            if running is not None:
                current.failures.setdefault(running, ("killed", LOST))
            current.waiting += [
                trait for trait in worker.assigned if not current.is_final(trait) and trait not in current.rescued
            ]
        if self._turn is not None:
            asyncio.get_running_loop().call_soon(self._continue)  # after its replacement has been requested
