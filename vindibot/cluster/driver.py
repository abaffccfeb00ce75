"""The driver: it gives the games of a tournament to the machines of a cluster, and collects the results.

The arena's dispatcher uses `ClusterGames` like the players of a local arena (`vindibot.arena.dispatch.GamePlayers`).
The driver decides which machine plays which game, and Dask only transports the games. The driver's loop runs in its own thread:

- About every second it asks the scheduler for its workers. In this room, each worker is a machine.
- A new machine proves its build: it sends its versions, a digest of its code, and its moves in fixed games. Then it loads the
  bots. If anything differs from the arena's machine, the new machine is refused and gets no game.
- If a machine is gone or gives no sign of life, its games go to other machines. The games stay the same, and only one result of
  each game counts. No bot forfeits because of a lost machine.
- If the connection to the scheduler is lost, the driver connects again, and then plays the unfinished games again.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import shlex
import threading
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import BrokenExecutor, Future
from functools import partial
from pathlib import Path
from typing import Any

from distributed.versions import VersionMismatchWarning

from vindibot.arena.dispatch import Elsewhere
from vindibot.arena.results import CPU_VARIABLE, GENERIC, PlayedGame
from vindibot.arena.schedule import GameTask
from vindibot.arena.seats.entrants import Entrant
from vindibot.arena.settings import ClusterSettings
from vindibot.base.errors import VindibotError
from vindibot.base.text import printable
from vindibot.cluster import plugin
from vindibot.cluster.answers import GameAnswer, LoadedAnswer, MachineError, ProofAnswer, answer_of
from vindibot.cluster.machines import ClusterMachine, ClusterMachines
from vindibot.cluster.player import PROVE_SECONDS, ClusterPlayer, request_of
from vindibot.cluster.proof import BuildProof
from vindibot.cluster.queue import ClusterGame, WaitingGames
from vindibot.cluster.scheduler import Scheduler
from vindibot.cluster.travel import Luggage, RemoteGame, pack_entrants
from vindibot.processes.ending import ChildEnded
from vindibot.processes.server import ForkServer

#: Smallest and largest number of seconds between two polls of the scheduler.
POLL_SECONDS, LONGEST_POLL_SECONDS = 1.0, 5.0
#: Number of times that a machine's proof may be lost, by Dask or with its player, before the machine is refused.
ATTEMPTS = 3


class ClusterGames:
    """Plays games on the machines of a cluster. `notify` gets lines of text for people.

    `timed` says whether bots have time limits. If they have, all machines must have the same processor, unless the settings allow
    different processors. `cpu` is the model of the processor that played earlier games of the tournament, empty if unknown.
    `local_workers` is the number of games at once if the address is "local".
    """

    def __init__(
        self,
        settings: ClusterSettings,
        luggage: Luggage,
        *,
        timed: bool,
        cpu: str,
        local_workers: int,
        notify: Callable[[str], None],
    ) -> None:
        self._settings, self._timed, self._cpu, self._notify = settings, timed, cpu, notify
        self._local_workers = local_workers
        self._environment = {CPU_VARIABLE: GENERIC} if settings.generic_cpu else {}
        self._load = request_of("load", luggage)
        self._proof: asyncio.Future[BuildProof]
        self._prover: ClusterPlayer | None = None
        self._main: asyncio.Task[None]
        self._queue = WaitingGames()
        self._scheduler = Scheduler(settings)
        self._loop = asyncio.new_event_loop()
        self._wake = asyncio.Event()
        self._machines = ClusterMachines(
            self._queue, settings.lost_s, lambda one: self._loop.create_task(self._prepare(one)), notify
        )
        self.broken = ""  # the reason why no game can be played any more
        self._closing = False
        self._began: Future[None] = Future()
        self._thread = threading.Thread(target=self._work, name="vindibot-cluster", daemon=True)
        self.slots, self.machines = self._machines.slots, self._machines.statuses

    # ---- Called by the arena ----

    def begin(self) -> None:
        """Connect to the scheduler, and wait until its machines are checked.

        Raises `VindibotError` if no scheduler answers, or if there are machines but all of them are refused.
        """
        self._main = self._loop.create_task(self._run())
        self._thread.start()
        self._began.result()

    def submit(self, task: GameTask) -> Future[PlayedGame]:
        """Play a game. Raises `BrokenExecutor` if no more games can be played."""
        if self.broken:
            raise BrokenExecutor(self.broken)
        game = ClusterGame(task, request_of("play", RemoteGame.of(task)))
        self._call(self._queue.add, game)
        return game.future

    def kill(self) -> None:
        """End all running games on all machines."""
        self._call(self._end_games)

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """Do nothing: the games have ended or were killed, and more games may follow. See `leave`."""

    def leave(self) -> None:
        """End the players on all machines, and leave the cluster."""
        if not self._thread.is_alive():
            return
        self._closing = True
        if (prover := self._prover) is not None:
            prover.kill()
        self._call(self._main.cancel)
        self._thread.join()

    def _end_games(self) -> None:
        """End all running and waiting games with an error."""
        self._machines.take_back_all()
        self._queue.end("the games were ended")

    def _call(self, function: Callable[..., Any], *args: Any) -> None:
        """Call a function in the thread of the driver's loop, and wake the loop up."""

        def call() -> None:
            function(*args)
            self._wake.set()

        with contextlib.suppress(RuntimeError):  # the loop has ended
            self._loop.call_soon_threadsafe(call)

    # ---- In the thread ----

    def _work(self) -> None:
        asyncio.set_event_loop(self._loop)
        try:
            self._loop.run_until_complete(self._main)
        except asyncio.CancelledError:  # by `leave`
            pass
        except BaseException as problem:
            error = problem if isinstance(problem, VindibotError) else VindibotError(f"the cluster has failed: {problem!r}")
            self.broken = error.message
            if not self._began.done():
                self._began.set_exception(error)
        finally:
            self.broken = self.broken or "the cluster is closed"
            self._queue.end(self.broken)
            self._loop.run_until_complete(self._end_tasks())
            self._loop.close()

    async def _run(self) -> None:
        async with contextlib.AsyncExitStack() as stack:
            await self._scheduler.start_local(stack, self._local_workers)
            try:
                await self._scheduler.connect()
                self._proof = self._loop.run_in_executor(None, self._prove)
                await self._poll()
                await self._check_first_machines()
                due = time.monotonic() + POLL_SECONDS
                while not self._closing:
                    self._place()
                    with contextlib.suppress(TimeoutError):
                        await asyncio.wait_for(self._wake.wait(), max(0.0, due - time.monotonic()))
                    self._wake.clear()
                    if time.monotonic() >= due:
                        began = time.monotonic()
                        await self._poll()
                        pause = 20 * (time.monotonic() - began)  # so that the polls of a large cluster cost little
                        due = time.monotonic() + min(max(POLL_SECONDS, pause), LONGEST_POLL_SECONDS)
            finally:
                await self._leave()

    async def _end_tasks(self) -> None:
        """Cancel all tasks that still run in the driver's loop."""
        tasks = asyncio.all_tasks() - {asyncio.current_task()}
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks, timeout=1.0)

    def _prove(self) -> BuildProof:
        """Return the proof of this machine's build. A player makes it, as on the other machines."""
        server = ForkServer(self._environment)
        self._prover = player = ClusterPlayer(server)
        try:
            return answer_of(player.ask(request_of("describe", ""), PROVE_SECONDS), ProofAnswer).proof
        finally:
            self._prover = None
            player.close()
            server.close()

    # -- the scheduler --

    async def _poll(self) -> None:
        """Ask the scheduler for its workers. If the scheduler is gone, connect again."""
        if not self._scheduler.is_connected:
            await self._reconnect()
        if not self._scheduler.is_connected:  # the tournament ends
            return
        workers = await self._scheduler.workers()
        if workers is not None:
            self._machines.compare(workers)
        elif self._scheduler.is_gone:
            await self._reconnect()

    async def _reconnect(self) -> None:
        """Take all games back, and connect to the scheduler again.

        Raises `VindibotError` after `wait_s` seconds without success.
        """
        self._notify(f"the scheduler at {self._settings.address} is gone; waiting for it")
        self._machines.forget_all()
        since = time.monotonic()
        while not self._closing:
            await self._scheduler.close()
            try:
                await self._scheduler.connect()
            except VindibotError:
                if time.monotonic() - since > self._settings.wait_s:
                    text = f"the scheduler at {self._settings.address} is gone for {time.monotonic() - since:.0f} s"
                    raise VindibotError(text) from None
                await asyncio.sleep(POLL_SECONDS)
            else:
                self._notify("the scheduler is there again")
                return

    async def _leave(self) -> None:
        """Take all games back, end the players on all machines, and leave the cluster."""
        self._machines.take_back_all()
        for one in self._machines.present():
            if one.preparing is not None:
                one.preparing.cancel()
        await self._scheduler.call_all([one.address for one in self._machines.present() if not one.silent], plugin.release)
        await self._scheduler.close()

    # -- the machines --

    async def _prepare(self, one: ClusterMachine) -> None:
        """Let a machine prove its build and load the bots. If anything differs, refuse it."""
        try:
            problem = await self._check(one)
        except (MachineError, ImportError, AttributeError) as error:
            problem = f"vindibot is missing there, or another version ({error})"
            if isinstance(error, MachineError):
                problem = error.message.strip().splitlines()[-1]
                if error.answer.not_loaded or (error.answer.ending is not None and not self._has_failed(one)):
                    problem = ""  # the next poll tries again
        except Exception as error:  # Dask has lost the worker or the scheduler: the next poll tries again, or removes the machine
            problem = f"{type(error).__name__}: {error}" if self._has_failed(one) else ""
        if problem:
            one.refused = printable(problem)
            self._notify(f"machine {one.name} is refused: {one.refused}")
        self._wake.set()

    def _has_failed(self, one: ClusterMachine) -> bool:
        """Count a lost proof of a machine. Return whether the machine has lost too many of them."""
        one.failures += 1
        return one.failures >= ATTEMPTS

    async def _check(self, one: ClusterMachine) -> str:
        """Return the reason why a machine may not play, empty if it may."""
        told = answer_of(await self._scheduler.submit(one.address, plugin.describe, self._environment), ProofAnswer)
        line = told.machine
        self._machines.rename(one, line.name)
        if differences := (await asyncio.shield(self._proof)).differences(told.proof):
            return "; ".join(differences)
        if self._timed and not self._settings.mixed_machines:
            self._cpu = self._cpu or line.cpu
            if line.cpu != self._cpu:
                words = f"its processor is {line.cpu}, that of the other machines {self._cpu}, and bots have time limits"
                return f"{words}: cluster.mixed_machines allows this, --nodes makes games independent of the processor"
        loaded = answer_of(await self._scheduler.submit(one.address, plugin.load, self._load), LoadedAnswer)
        if not loaded.problems:
            one.line = line
        return "; ".join(loaded.problems)

    async def _check_first_machines(self) -> None:
        """Wait until all machines that have joined are checked. Raises `VindibotError` if all of them are refused."""
        present = self._machines.present()
        checks = [one.preparing for one in present if one.preparing is not None]
        if checks:
            await asyncio.wait(checks)
        refused = [f"{one.name}: {one.refused}" for one in present if one.refused]
        if refused and len(refused) == len(present):
            raise VindibotError("\n".join(["every machine of the cluster is refused", *dict.fromkeys(refused)]), 2)
        if not present:
            command = shlex.join(["vindibot", "cluster", "join", self._settings.address])
            self._notify(f"no machine has joined yet; on each machine: {command}")
        self._began.set_result(None)

    # -- the games --

    def _place(self) -> None:
        """Give the waiting games to machines with room. Each game goes to the machine with the most room."""
        while (game := self._queue.first()) is not None and (one := self._machines.with_room(game)) is not None:
            self._queue.remove_first()
            task = self._loop.create_task(self._play(one, game))
            one.running[task] = game
            task.add_done_callback(partial(self._ended, one))

    def _ended(self, one: ClusterMachine, task: asyncio.Task[None]) -> None:
        one.running.pop(task, None)
        self._wake.set()

    async def _play(self, one: ClusterMachine, game: ClusterGame) -> None:
        """Let a machine play a game. Cancelling this coroutine ends the game there."""
        line = one.line
        future = self._scheduler.submit(one.address, plugin.play, game.request, game.task.wall_s, name=game.task.name)
        try:
            answer = answer_of(await future, GameAnswer)
        except MachineError as problem:
            if problem.answer.not_loaded:
                self._queue.put_back(game, lost=False)
                one.line = None  # the next poll lets it prove its build again
            else:
                game.finish(problem if problem.answer.ending is None else ChildEnded(problem.answer.ending))
        except Exception:  # Dask has lost the worker or the scheduler
            one.rest()
            self._queue.put_back(game, lost=True)
        else:
            _write_logs(game.task, answer.logs)
            self._machines.count(one.name)
            game.finish(answer.played(line))
        finally:
            future.release()


def _write_logs(task: GameTask, logs: dict[str, bytes]) -> None:
    """Write the output of bots on another machine into the folder for logs. If the disk is full, only this output is lost."""
    for name, content in logs.items():
        if task.logs and Path(name).name == name:
            with contextlib.suppress(OSError):
                Path(task.logs).mkdir(parents=True, exist_ok=True)
                Path(task.logs, name).write_bytes(content)


@contextlib.contextmanager
def other_machines(
    settings: ClusterSettings,
    entrants: Sequence[Entrant],
    workers: int,
    notify: Callable[[str], None],
    *,
    timed: bool = False,
    cpu: str = "",
) -> Iterator[Elsewhere]:
    """Connect to the cluster that `settings` name, let its machines load the bots, and yield its machines.

    `entrants` are the bots of all games. `workers`, `notify`, `timed` and `cpu` have the same meaning as for `ClusterGames`.

    The caller must have checked the settings with `check_cluster`. Raises `UsageError` if the folder of a bot cannot be sent to
    other machines, and `VindibotError` if no scheduler answers, or if all machines are refused.
    """
    logging.getLogger("distributed").setLevel(logging.CRITICAL)
    warnings.simplefilter("ignore", VersionMismatchWarning)  # the proofs find the differences that matter
    executor = ClusterGames(settings, pack_entrants(entrants), timed=timed, cpu=cpu, local_workers=workers, notify=notify)

    def factory() -> ClusterGames:
        if executor.broken:
            raise VindibotError(executor.broken)
        return executor

    try:
        executor.begin()
        yield Elsewhere(factory, executor.slots, executor.machines)
    finally:
        executor.leave()
