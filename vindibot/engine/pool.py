"""The process pool. Its workers stay alive between turns. They get the game of each turn and publish votes until the deadline.

`ask` returns at its deadline, whatever the traits do. The pool kills a worker that does not answer within a grace period after
the deadline, and replaces it with a new worker. If a worker dies before the deadline, its replacement does the remaining work of
the same turn. Each vote carries the number of its request, so a late vote never counts in another turn.

A worker without work helps: it plays parts of the split traits that other workers lead (see `vindibot.engine.parts`). It stops
when the pool has other work for it.
"""

from __future__ import annotations

import asyncio
import contextlib
import contextvars
import time
from collections.abc import Sequence

import structlog

from behaviours.base import View
from vindibot.engine import worker
from vindibot.engine.deadline import STOP_AHEAD
from vindibot.engine.health import STILL_RUNNING, Blame, TraitHealth, ballot_entry
from vindibot.engine.parts import PartsLayout
from vindibot.engine.turn import PoolTurn
from vindibot.engine.worker import TraitPlan
from vindibot.engine.workers import START_TIMEOUT, WorkerProcess, Workers
from vindibot.games.ballot import BallotEntry, Status
from vindibot.processes.frames import DONE, OUTPUT

log = structlog.get_logger("vindibot.engine.pool")

#: Seconds at the start of a turn in which the pool reads votes without the event loop.
POLL_TIME = 0.001
#: Seconds after which the pool gives the traits that wait behind a slow trait to idle workers.
RESCUE_AFTER = 0.020
#: If no worker works on the turn, the pool waits for a worker during this share of the remaining time. A replacement is usually
#: ready much sooner.
IDLE_SHARE = 0.25
#: Seconds of a rehearsal after which traits are told to stop, and after which workers that have not answered are replaced.
REHEARSAL_SECONDS, REHEARSAL_TIMEOUT = 0.5, 5.0
#: Largest number of suspects (traits that may damage their process) that get a worker of their own. Further suspects share
#: workers with the other traits.
MAX_SUSPECTS = 8
#: The note in the ballot about a trait that was running when its worker ended.
LOST = "its worker process ended while it ran"


class Pool:
    """Traits in worker processes (see `vindibot.engine.agent.Voters`). A pool serves one event loop, and one game at a time.

    A suspect (a trait that may damage its process, see `vindibot.engine.health`) has a worker of its own. The other traits share
    `workers` processes, or fewer if there are fewer traits and none can be split. The pool kills a worker that has not answered
    `grace` seconds after the deadline. Workers import the traits from the Python path and `folders`.
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
        self._blame = Blame(self.health_records)
        self._turn: PoolTurn | None = None
        self._number = 0
        self._rehearsal = 0  # the number of the rehearsal's request
        self._changed = asyncio.Event()  # a worker has answered, is ready or has ended

    @property
    def workers(self) -> list[WorkerProcess]:
        """All workers, ready or not, except the ones that are known to have ended."""
        return self._workers.all

    @property
    def replacements(self) -> list[float]:
        """The duration of each replacement of a worker so far: the seconds from its death until its replacement is ready."""
        return self._workers.replacements

    @property
    def preloaded(self) -> bool:
        """Whether each worker so far came from a fork server that had already loaded all modules and kernels."""
        return self._workers.preloaded

    async def start(self) -> None:
        """Start the workers and wait until each one has built the traits. Raises `VindibotError` if that fails."""
        try:
            await self._workers.start(self._count)
        except BaseException:
            await self.close()
            raise

    async def ask(self, view: View, *, deadline: float, nodes: int | None = None) -> list[BallotEntry]:
        """Return one ballot entry per trait at `deadline`, or earlier if all votes are final; see `Voters.ask`."""
        self._number += 1
        recent_count, shared = worker.encode_turn(view)
        turn = PoolTurn(self._number, shared, recent_count, view.me, deadline, view.seed, nodes)
        hung = {_running(one) for one in self.workers if one.assigned and not one.helps}
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

    async def rehearse(self, view: View, *, nodes: int) -> None:
        """Let each worker run all traits once; see `Voters.rehearse`. Return when all workers are idle.

        A worker that has not answered after `REHEARSAL_TIMEOUT` seconds is replaced. Its replacement has no rehearsal.
        """
        self._number += 1
        self._rehearsal = self._number
        recent_count, shared = worker.encode_turn(view)
        turn = PoolTurn(self._number, shared, recent_count, view.me, time.monotonic() + REHEARSAL_TIMEOUT, 0, nodes)
        traits: list[int] = []
        self._spread(range(len(self.plans)), [traits])
        for one in self.workers:
            self._send(one, turn, traits)
        stop = asyncio.get_running_loop().call_later(REHEARSAL_SECONDS, self._set_stop, turn)
        try:
            await self._until_idle(REHEARSAL_TIMEOUT)
            for one in self.workers:
                self._kill_if_hung(one, turn.number)
            await self._until_idle(START_TIMEOUT)
        finally:
            stop.cancel()

    async def _until_idle(self, seconds: float) -> None:
        """Wait until all workers are idle, at most `seconds` seconds."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                while not all(one.idle for one in self.workers):
                    self._changed.clear()
                    await self._changed.wait()

    def _poll(self, turn: PoolTurn) -> None:
        """Read answers for at most `POLL_TIME` seconds without the event loop.

        Most turns end in this time, so they do not wait for a pass of the event loop.
        """
        limit = min(time.monotonic() + POLL_TIME, turn.deadline)
        while not turn.over and time.monotonic() < limit:
            self._workers.poll(POLL_TIME)

    async def _wait(self, turn: PoolTurn) -> None:
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

    def _finish(self, turn: PoolTurn) -> None:
        """Tell the workers that still work on a turn to stop, and take their votes.

        A worker that has not answered after the grace period is killed.
        """
        turn.over = True
        for one in [*self._working(turn), *self._helping(turn)]:
            one.memory.stop[0] = 1
            asyncio.get_running_loop().call_later(self.grace, self._kill_if_hung, one, turn.number)
        for one in self._working(turn):
            self._collect(turn, one)
            running = int(one.memory.running[0])
            if not turn.is_final(running) and not (self.health_records[running].anytime and running in turn.votes):
                turn.failures[running] = "late", STILL_RUNNING

    def begin_game(self) -> None:
        """Give every trait a clean health record for a new game."""
        self.health_records = [health.fresh() for health in self.health_records]
        self._blame = Blame(self.health_records)

    async def close(self) -> None:
        """End all workers, and all processes that the workers have started."""
        await self._workers.close()

    # -- work for the workers --

    def _give_work(self, turn: PoolTurn) -> None:
        """Give the waiting traits to the idle workers. If no trait is left, the workers that are still idle become helpers."""
        if self._assign(turn):
            for one in self._helping(turn):
                one.memory.stop[0] = 1
        elif self._split and turn.nodes is None and not turn.over:
            self._help(turn)

    def _assign(self, turn: PoolTurn) -> bool:
        """Give the waiting traits to the idle workers. A suspect runs alone. Cheap traits run first, anytime traits last.

        Return whether a trait that is no suspect still waits, because no worker for it is idle.
        """
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
        if not shared:
            return False
        free = [one for one in self.workers if one.idle and one.only is None]
        if not free:
            turn.waiting += shared
            return True
        shares: list[list[int]] = [[] for _ in free]
        self._spread(shared, shares)
        for one, share in zip(free, shares, strict=True):
            if share:
                self._send(one, turn, share)
        return False

    def _help(self, turn: PoolTurn) -> None:
        """Let the idle workers play parts of the split traits that other workers lead. A suspect gets no help.

        A worker plays at most one part of a trait per turn. So no other part overwrites the statistics of a part that has ended.
        """
        led = {trait for one in self._working(turn) if one.only is None for trait in one.assigned}
        open_traits = [trait for trait in self._split if trait in led and not turn.is_final(trait)]
        for one in self.workers:
            traits = [trait for trait in open_traits if (one.index, trait) not in turn.helped]
            if traits and one.idle and one.only is None:
                turn.helped.update((one.index, trait) for trait in traits)
                self._send(one, turn, traits, helps=True)

    def _workers_of_suspects(self) -> dict[int, WorkerProcess]:
        """Return the worker of each suspect, by the number of the trait.

        Start missing workers, and end the workers of traits that are no suspects any more.
        """
        own = {one.only: one for one in self.workers if one.only is not None}
        if not own and not any(health.suspect for health in self.health_records):
            return {}
        for trait, health in enumerate(self.health_records):
            if trait in own and not health.suspect:
                if not own[trait].assigned:
                    self._workers.end(own.pop(trait))
            elif health.suspect and trait not in own and len(own) < MAX_SUSPECTS:
                own[trait] = self._workers.add(self._count + trait, only=trait)
        return own

    def _spread(self, traits: Sequence[int], shares: Sequence[list[int]]) -> None:
        """Distribute traits over `shares`, a list of traits per worker. Each trait goes to the share with the least load.

        Anytime traits come first, then the slowest traits. At the end, sort each share by the order in which the traits run.
        """
        keys = [(one.anytime, one.mean_ms) for one in self.health_records]
        load = [(0.0, 0)] * len(shares)  # milliseconds, traits
        for trait in sorted(traits, key=keys.__getitem__, reverse=True):
            least = load.index(min(load))
            shares[least].append(trait)
            load[least] = load[least][0] + keys[trait][1], load[least][1] + 1
        for share in shares:
            share.sort(key=keys.__getitem__)

    def _send(self, one: WorkerProcess, turn: PoolTurn, traits: list[int], *, helps: bool = False) -> None:
        one.assigned, one.number, one.helps = tuple(traits), turn.number, helps
        one.memory.stop[0], one.memory.running[0] = 0, worker.NO_TRAIT
        one.memory.put_turn(turn.games)
        seconds = max(0.0, turn.deadline - time.monotonic())
        trial = one.only is not None
        request = worker.TurnRequest(
            turn.number, turn.me, turn.recent_count, seconds, self.grace, turn.nodes, turn.seed, traits, trial, helps
        )
        one.child.send(worker.TURN, request.encode())  # if the worker has just died, `on_death` follows

    # -- `WorkerEvents` --

    def on_ready(self, one: WorkerProcess) -> None:
        """Give work to a worker that has just built the traits."""
        self._changed.set()
        self._continue()

    def on_message(self, one: WorkerProcess, kind: int, number: int, trait: int, text: str) -> None:
        """Handle a worker's message about a request. A message about an earlier turn changes only the health of the trait."""
        health = self.health_records[trait]
        if kind == DONE:
            self._on_done(one, number)
        elif number == self._rehearsal:
            return
        elif kind == OUTPUT:
            health.prints(text)
        else:
            status: Status = "error" if kind == worker.ERROR else "void"
            if status == "error":
                health.raised(text, alone=not (one.ran | self._begun(one, trait)) - {trait})
            else:
                health.voided(text)
            if self._turn is not None and number == self._turn.number and not one.helps:
                self._turn.failures[trait] = status, text

    def _on_done(self, one: WorkerProcess, number: int) -> None:
        """Take the votes of a worker that has answered a request, and give it new work."""
        if number != one.number:
            return
        current = self._current(one)
        for trait in () if one.helps else one.assigned:
            vote = one.memory.get(number, trait)
            if vote is None:
                continue
            if current is not None:
                current.take(vote)
            if vote.status == "ok":
                self.health_records[trait].answered(vote.ms)
                if trait == one.only:
                    self._blame.did_well_alone(trait)
        one.ran.update(one.assigned)
        one.assigned = ()
        self._changed.set()
        self._continue()

    def _current(self, one: WorkerProcess) -> PoolTurn | None:
        """Return the current turn if the last request to the worker belongs to it, else None."""
        return self._turn if self._turn is not None and one.number == self._turn.number else None

    def _collect(self, turn: PoolTurn, one: WorkerProcess) -> None:
        """Take the votes that a worker has published for this turn (see `PoolTurn.take`). A helper has no votes."""
        for trait in () if one.helps else one.assigned:
            vote = one.memory.get(turn.number, trait)
            if vote is not None:
                turn.take(vote)

    def _continue(self) -> None:
        """Assign the waiting traits of the current turn to idle workers, or end the turn if it has no work left."""
        if self._turn is not None:
            self._give_work(self._turn)
            self._check_done(self._turn)

    def _rescue(self, turn: PoolTurn) -> None:
        """Give the traits that wait behind a slow trait to idle workers."""
        for one in self._working(turn):
            self._collect(turn, one)
            queued = [trait for trait in one.assigned if not turn.is_final(trait) and trait not in turn.votes]
            turn.waiting += [trait for trait in queued if trait != _running(one) and trait not in (*turn.waiting, *turn.rescued)]
        turn.rescued.update(turn.waiting)
        self._give_work(turn)

    def _working(self, turn: PoolTurn) -> list[WorkerProcess]:
        """Return the workers whose votes count in a turn and that still work on it."""
        return [one for one in self.workers if one.assigned and one.number == turn.number and not one.helps]

    def _helping(self, turn: PoolTurn) -> list[WorkerProcess]:
        """Return the workers that help in a turn."""
        return [one for one in self.workers if one.assigned and one.number == turn.number and one.helps]

    def _check_done(self, turn: PoolTurn) -> None:
        """End the turn if it has no work left. If there is work but no worker, set a timer that may end the turn."""
        working = self._working(turn)
        if not working and not turn.waiting:
            turn.end()
        elif not working and not turn.idle:
            turn.idle = True
            timeout = IDLE_SHARE * max(0.0, turn.deadline - time.monotonic())
            asyncio.get_running_loop().call_later(timeout, self._end_if_idle, turn)

    def _end_if_idle(self, turn: PoolTurn) -> None:
        """End the turn if it still has no worker. A longer wait would risk a late move."""
        turn.idle = False
        if not turn.over and not self._working(turn):
            turn.end()

    # -- time and death --

    def _set_stop(self, turn: PoolTurn) -> None:
        for one in self.workers:
            if one.number == turn.number:
                one.memory.stop[0] = 1

    def _kill_if_hung(self, one: WorkerProcess, number: int) -> None:
        """Kill a worker that has not answered request `number`."""
        if not one.dead and one.number == number and one.assigned:
            running = _running(one)
            label = self.health_records[running].label if running is not None else None
            log.warning("worker killed", worker=one.index, trait=label, reason="hung")
            one.child.kill()

    def on_death(self, one: WorkerProcess) -> bool:
        """Handle the end of a worker: record the trait to blame, and give the worker's other traits to other workers.

        Return whether to replace the worker. For the end of a worker in a rehearsal, no trait is to blame.
        """
        self._changed.set()
        if one.number == self._rehearsal and one.assigned:
            return True
        lost = () if one.helps else one.assigned
        current = self._current(one)
        if current is not None:
            self._collect(current, one)
        running = _running(one)
        if running is not None:
            self._blame.worker_ended(running, one.ran | self._begun(one, running), LOST)
            if current is not None and not one.helps:
                current.failures.setdefault(running, ("killed", LOST))
        elif not one.assigned and one.only in one.ran:
            self._blame.worker_ended(one.only, one.ran, "its worker process ended after it had run")
        if current is not None:
            current.waiting += [trait for trait in lost if not current.is_final(trait) and trait not in current.rescued]
        if self._turn is not None:
            asyncio.get_running_loop().call_soon(self._continue)  # after its replacement has been requested
        self._workers_of_suspects()
        return one.only is None

    def _begun(self, one: WorkerProcess, last: int) -> set[int]:
        """Return the traits of the last request that the worker had begun when trait `last` ran.

        A worker runs the traits in the order of the request. Anytime traits run after all others and alternate. So if an anytime
        trait ran, all traits had begun.
        """
        if last not in one.assigned:
            return set()
        return set(one.assigned if self.health_records[last].anytime else one.assigned[: one.assigned.index(last) + 1])


def _running(one: WorkerProcess) -> int | None:
    """Return the number of the trait that a worker runs, None if the worker has not begun.

    If the number in the shared memory is not an assigned trait, a trait has overwritten it. Then the result is the first assigned
    trait.
    """
    running = int(one.memory.running[0])
    if running == worker.NO_TRAIT or not one.assigned:
        return None
    return running if running in one.assigned else one.assigned[0]
