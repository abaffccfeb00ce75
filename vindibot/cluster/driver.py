"""The driver: it gives the games of a tournament to the machines of a cluster, and collects the results.

The arena's dispatcher uses `ClusterGames` like the players of a local arena (`vindibot.arena.GamePlayers`).
The driver decides which machine plays which game, and Dask only transports the games. The driver's loop runs in its own thread:

- About every second it asks the scheduler for its workers. In this module, each worker is a machine.
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
import secrets
import shlex
import threading
import time
import warnings
from collections import Counter, deque
from collections.abc import Awaitable, Callable, Iterator, Sequence
from concurrent.futures import BrokenExecutor, Future
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from distributed import Client, LocalCluster
from distributed.versions import VersionMismatchWarning

from vindibot.arena import (
    CPU_VARIABLE,
    GENERIC,
    ClusterSettings,
    Elsewhere,
    Entrant,
    GameTask,
    MachineLine,
    MachineStatus,
    PlayedGame,
)
from vindibot.base import VindibotError, printable
from vindibot.cluster import machine
from vindibot.cluster.access import LOCAL, security
from vindibot.cluster.proof import BuildProof
from vindibot.cluster.remote import RemoteError, RemotePlayer, answer_of
from vindibot.cluster.travel import RemoteGame, pack_entrants

#: Smallest and largest number of seconds between two polls of the scheduler, and seconds within which it must answer.
POLL_SECONDS, LONGEST_POLL_SECONDS, ANSWER_SECONDS = 1.0, 5.0, 10.0
#: Largest number of seconds to reach the scheduler at the start, and to release the machines at the end.
CONNECT_SECONDS, RELEASE_SECONDS = 10.0, 10.0
#: If a game was lost with its machine this number of times, the next machine plays it without other games at the same time. If
#: the game is lost there, too, it has failed.
LOSSES = 3
#: Number of times that Dask may lose a machine's proof before the machine is refused.
ATTEMPTS = 3
#: Seconds without new games for a machine that has lost a game. Within this time a poll finds the reason.
REST_SECONDS = 3.0
#: Number of last games from which the rate of a machine, in games per minute, is computed.
PACE = 50


class _ClusterClient(Client):  # type: ignore[misc]  # Dask has no types
    """A client of Dask without a destructor. The destructor would close it after the end of the loop, and print a traceback."""

    def __del__(self) -> None:
        """Do nothing."""


@dataclass
class _ClusterGame:
    """A game that waits or runs. `losses` is the number of times that it was lost with its machine."""

    task: GameTask
    request: bytes
    future: Future[PlayedGame] = field(default_factory=Future)
    losses: int = 0

    @property
    def suspect(self) -> bool:
        """Whether the game may be the reason why machines were lost."""
        return self.losses >= LOSSES


@dataclass
class _ClusterMachine:
    """A machine of the cluster, which is a Dask worker. It plays at most `slots` games at once.

    `line` describes the machine in the results; it is None until the machine has proved its build. `refused` says why the machine
    gets no game (empty: not refused). `silent` says whether it gives no sign of life. `failures` counts the proofs that Dask
    lost.

    `seen` is the time of the last sign of life, by the scheduler's clock. `heard` is our monotonic time when `seen` last changed.
    """

    address: str
    name: str
    slots: int
    seen: float
    heard: float = field(default_factory=time.monotonic)
    rests_until: float = 0.0
    failures: int = 0
    line: MachineLine | None = None
    refused: str = ""
    silent: bool = False
    running: dict[asyncio.Task[None], _ClusterGame] = field(default_factory=dict)
    preparing: asyncio.Task[None] | None = None

    @property
    def plays(self) -> bool:
        """Whether this machine may get games."""
        return self.line is not None and not self.refused and not self.silent

    @property
    def missing(self) -> str:
        """The reason why this machine plays no games, empty if it plays."""
        if self.refused:
            return f"refused: {self.refused}"
        if self.silent:
            return "gives no sign of life"
        return "" if self.line is not None else "proves its build"

    def has_room(self, game: _ClusterGame) -> bool:
        """Return whether this machine can play a game now. A suspect game needs a machine without other games."""
        if not self.plays or time.monotonic() < self.rests_until or any(other.suspect for other in self.running.values()):
            return False
        return not self.running if game.suspect else len(self.running) < self.slots


class ClusterGames:
    """Plays games on the machines of a cluster. `notify` gets lines of text for people.

    `timed` says whether bots have time limits. If they have, all machines must have the same processor, unless the settings allow
    different processors. `cpu` is the model of the processor that played earlier games of the tournament, empty if unknown.
    `local_workers` is the number of games at once if the address is "local".
    """

    def __init__(
        self, settings: ClusterSettings, luggage: Any, *, timed: bool, cpu: str, local_workers: int, notify: Callable[[str], None]
    ) -> None:
        self._settings, self._timed, self._cpu, self._notify = settings, timed, cpu, notify
        self._local_workers = local_workers
        self._environment = _environment(settings)
        self._load = machine.request_of("load", luggage)
        self._tournament = secrets.token_hex(8)
        self._proof: asyncio.Future[BuildProof]
        self._prover: RemotePlayer | None = None
        self._main: asyncio.Task[None] | None = None
        self._machines: dict[str, _ClusterMachine] = {}
        self._waiting: deque[_ClusterGame] = deque()
        self._ends: dict[str, deque[float]] = {}
        self._played: Counter[str] = Counter()
        self._gone_since: dict[str, float] = {}
        self.broken = ""  # the reason why no game can be played any more
        self._closing = False
        self._started = self._answered = time.monotonic()
        self._address: Any = ""
        self._client: Any = None
        self._loop = asyncio.new_event_loop()
        self._wake = asyncio.Event()
        self._began: Future[None] = Future()
        self._thread = threading.Thread(target=self._work, name="vindibot-cluster", daemon=True)

    # ---- Called by the arena ----

    def begin(self) -> None:
        """Connect to the scheduler, and wait until its machines are checked.

        Raises `VindibotError` if no scheduler answers, or if there are machines but all of them are refused.
        """
        self._thread.start()
        self._began.result()

    def submit(self, task: GameTask) -> Future[PlayedGame]:
        """Play a game. Raises `BrokenExecutor` if no more games can be played."""
        if self.broken:
            raise BrokenExecutor(self.broken)
        game = _ClusterGame(task, machine.request_of("play", RemoteGame.of(task)))
        self._call(self._waiting.append, game)
        return game.future

    def slots(self) -> int:
        """Return the number of games that all machines play at once, at least 1."""
        return max(1, sum(one.slots for one in list(self._machines.values()) if one.plays))

    def machines(self) -> list[MachineStatus]:
        """Return the state of each machine. Machines that are gone are included."""
        found: dict[str, MachineStatus] = {}
        for one in list(self._machines.values()):
            name = one.line.name if one.line is not None else one.name
            slots = (found[name].workers if name in found else 0) + (one.slots if one.plays else 0)
            found[name] = MachineStatus(name, slots, self._played[name], self._rate(name), "" if slots else one.missing)
        for name, since in list(self._gone_since.items()):
            if name not in found:
                found[name] = MachineStatus(name, 0, self._played[name], 0.0, f"gone for {time.monotonic() - since:.0f} s")
        return sorted(found.values(), key=lambda one: one.name)

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
        self._call(self._end_run)
        self._thread.join()

    def _end_run(self) -> None:
        if self._main is not None:
            self._main.cancel()

    def _call(self, function: Callable[..., Any], *args: Any) -> None:
        """Call a function in the thread of the driver's loop, and wake the loop up."""

        def call() -> None:
            function(*args)
            self._wake.set()

        with contextlib.suppress(RuntimeError):  # the loop has ended
            self._loop.call_soon_threadsafe(call)

    def _rate(self, name: str) -> float:
        ends = self._ends.get(name)
        if not ends or len(ends) < 2:
            return 0.0
        passed = time.monotonic() - ends[0]
        return (len(ends) - 1) * 60 / passed if passed > 0 else 0.0

    # ---- In the thread ----

    def _work(self) -> None:
        asyncio.set_event_loop(self._loop)
        try:
            self._main = self._loop.create_task(self._run())
            self._loop.run_until_complete(self._main)
        except asyncio.CancelledError:  # by `shutdown`
            pass
        except BaseException as problem:
            error = problem if isinstance(problem, VindibotError) else VindibotError(f"the cluster has failed: {problem!r}")
            self.broken = error.message
            if not self._began.done():
                self._began.set_exception(error)
        finally:
            self.broken = self.broken or "the cluster is closed"
            for game in self._waiting:
                if not game.future.done():
                    game.future.set_exception(BrokenExecutor(self.broken))
            self._loop.run_until_complete(self._end_tasks())
            self._loop.close()

    async def _run(self) -> None:
        async with contextlib.AsyncExitStack() as stack:
            local = self._settings.address == LOCAL
            self._address = await _local_cluster(stack, self._local_workers) if local else self._settings.address
            try:
                await self._connect()
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
        """Return the proof of this machine's build. A player (a process that plays games) makes it, as on the other machines."""
        self._prover = player = RemotePlayer(self._environment)
        try:
            _, proof = answer_of(player.ask("describe", "", timeout=machine.PROVE_TIMEOUT))
        finally:
            player.close()
            self._prover = None
        assert isinstance(proof, BuildProof)
        return proof

    # -- the scheduler --

    async def _connect(self) -> None:
        """Connect to the scheduler. Raises `VindibotError`."""
        try:
            self._client = _ClusterClient(
                self._address, security=security(self._settings), asynchronous=True, set_as_default=False, timeout=CONNECT_SECONDS
            )
            await _within(CONNECT_SECONDS + 1, self._client)
        except (OSError, TimeoutError, ValueError) as problem:
            await self._close_client()
            words = f"no scheduler answers at {self._settings.address}: start one with dask scheduler (docs/cluster.md)"
            raise VindibotError(f"{words}; {_last_reason(problem)}", 2) from None
        self._answered = time.monotonic()

    async def _close_client(self) -> None:
        client, self._client = self._client, None
        if client is not None:
            with contextlib.suppress(Exception):
                await _within(RELEASE_SECONDS, client.close())

    async def _poll(self) -> None:
        """Ask the scheduler for its workers. If the scheduler does not answer, connect again."""
        if self._client.status != "running":
            await self._reconnect()
        if self._client is None:  # the tournament ends
            return
        try:
            identity = await _within(ANSWER_SECONDS, self._client.scheduler.identity(n_workers=-1))
        except (OSError, TimeoutError, RuntimeError):
            if self._client.status != "running" or time.monotonic() - self._answered > self._settings.lost_s:
                await self._reconnect()
            return
        self._answered = time.monotonic()
        self._compare(identity["workers"])

    async def _reconnect(self) -> None:
        """Take all games back, and connect to the scheduler again.

        Raises `VindibotError` after `wait_s` seconds without success.
        """
        self._notify(f"the scheduler at {self._settings.address} is gone; waiting for it")
        for one in list(self._machines.values()):
            self._forget(one)
        since = time.monotonic()
        while not self._closing:
            await self._close_client()
            try:
                await self._connect()
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
        for one in self._machines.values():
            self._take_back(one)
            if one.preparing is not None:
                one.preparing.cancel()
        addresses = [one.address for one in self._machines.values() if not one.silent]
        if self._client is not None and self._client.status == "running":
            calls = [self._submit(address, machine.release, self._tournament) for address in addresses]
            with contextlib.suppress(Exception):
                await _within(RELEASE_SECONDS, asyncio.gather(*calls, return_exceptions=True))
        await self._close_client()

    # -- the machines --

    def _compare(self, workers: dict[str, dict[str, Any]]) -> None:
        """Compare the machines with the workers of the scheduler: find new, lost and silent machines."""
        now = time.monotonic()
        for address, info in workers.items():
            one = self._machines.get(address)
            if one is None:
                one = self._machines[address] = _ClusterMachine(address, _name_of(info), int(info["nthreads"]), info["last_seen"])
                self._gone_since.pop(one.name, None)
            if one.line is None and not one.refused and (one.preparing is None or one.preparing.done()):
                one.preparing = self._loop.create_task(self._prepare(one))
            if info["last_seen"] != one.seen:
                one.seen, one.heard = info["last_seen"], now
                if one.silent:
                    one.silent = False
                    self._notify(f"machine {one.name} gives signs of life again")
            elif not one.silent and now - one.heard > self._settings.lost_s:
                one.silent = True
                self._lose(one, f"gives no sign of life for {self._settings.lost_s:g} s")
        for one in [one for address, one in self._machines.items() if address not in workers]:
            self._lose(one, "is gone")
            self._forget(one)

    def _lose(self, one: _ClusterMachine, what: str) -> None:
        """Take back the games of a lost machine, and tell the user. `what` says what happened to the machine."""
        count = self._take_back(one, lost=True)
        more = f"; its games go to other machines ({count})" if count else ""
        self._notify(f"machine {one.name} {what}{more}")

    def _forget(self, one: _ClusterMachine) -> None:
        """Take back the games of a machine, and remove the machine."""
        self._take_back(one)
        if one.preparing is not None:
            one.preparing.cancel()
        del self._machines[one.address]
        self._gone_since.setdefault(one.name, time.monotonic())

    def _take_back(self, one: _ClusterMachine, *, lost: bool = False) -> int:
        """End the running games of a machine, so that they wait again, and return their number. For `lost` see `_wait_again`."""
        games = [game for task, game in one.running.items() if not task.done()]
        for task in one.running:
            task.cancel()
        one.running.clear()
        for game in reversed(games):
            self._wait_again(game, lost=lost)
        return len(games)

    def _wait_again(self, game: _ClusterGame, *, lost: bool) -> None:
        """Let a game wait again, before all other games. A game that was lost too often has failed.

        `lost` says whether the game's machine was lost. If it was, the game may be the reason, so the loss is counted.
        """
        if lost and game.suspect:
            self._finish(game, RemoteError(f"its machine was lost {game.losses + 1} times while it was played"))
            return
        game.losses += lost
        self._waiting.appendleft(game)

    async def _prepare(self, one: _ClusterMachine) -> None:
        """Let a machine prove its build and load the bots. If anything differs, refuse it."""
        try:
            problem = await self._check(one)
        except (RemoteError, ImportError, AttributeError) as error:
            problem = (
                error.message if isinstance(error, RemoteError) else f"vindibot is missing there, or another version ({error})"
            )
        except Exception as error:  # Dask has lost the worker or the scheduler: the next poll tries again, or removes the machine
            one.failures += 1
            problem = f"{type(error).__name__}: {error}" if one.failures >= ATTEMPTS else ""
        if problem:
            one.refused = printable(problem)
            self._notify(f"machine {one.name} is refused: {one.refused}")
        self._wake.set()

    async def _check(self, one: _ClusterMachine) -> str:
        """Return the reason why a machine may not play, empty if it may."""
        line, proof = answer_of(await self._submit(one.address, machine.describe, self._tournament, self._environment))
        one.name = line.name
        self._gone_since.pop(one.name, None)
        if differences := (await asyncio.shield(self._proof)).differences(proof):
            return "; ".join(differences)
        if self._timed and not self._settings.mixed_machines:
            self._cpu = self._cpu or line.cpu
            if line.cpu != self._cpu:
                words = f"its processor is {line.cpu}, that of the other machines {self._cpu}, and bots have time limits"
                return f"{words}: --mixed-machines allows this, --nodes makes games independent of the processor"
        (problems,) = answer_of(await self._submit(one.address, machine.load, self._tournament, self._load))
        if not problems:
            one.line = line
        return "; ".join(problems)

    def _submit(self, address: str, function: Callable[..., Any], *args: Any, name: str = "") -> Any:
        """Let the machine at `address` call a function, and return the Dask future of the result."""
        key = f"{machine.PREFIX}{self._tournament}-{name or function.__name__}-{secrets.token_hex(4)}"
        return self._client.submit(
            function, *args, key=key, workers=[address], allow_other_workers=False, pure=False, retries=0, priority=not name
        )

    async def _check_first_machines(self) -> None:
        """Wait until all machines that have joined are checked. Raises `VindibotError` if all of them are refused."""
        checks = [one.preparing for one in self._machines.values() if one.preparing is not None]
        if checks:
            await asyncio.wait(checks)
        refused = [f"{one.name}: {one.refused}" for one in self._machines.values() if one.refused]
        if refused and len(refused) == len(self._machines):
            raise VindibotError("\n".join(["every machine of the cluster is refused", *dict.fromkeys(refused)]), 2)
        if not self._machines:
            command = shlex.join(["vindibot", "cluster", "join", self._settings.address])
            self._notify(f"no machine has joined yet; on each machine: {command}")
        self._began.set_result(None)

    # -- the games --

    def _place(self) -> None:
        """Give the waiting games to machines with room. Each game goes to the machine with the most room."""
        while self._waiting:
            game = self._waiting[0]
            if not game.future.running() and not game.future.set_running_or_notify_cancel():
                self._waiting.popleft()
                continue
            room = [one for one in self._machines.values() if one.has_room(game)]
            if not room:
                return
            one = max(room, key=lambda one: one.slots - len(one.running))
            self._waiting.popleft()
            task = self._loop.create_task(self._play(one, game))
            one.running[task] = game
            task.add_done_callback(lambda task, one=one: self._ended(one, task))  # type: ignore[misc]

    def _ended(self, one: _ClusterMachine, task: asyncio.Task[None]) -> None:
        one.running.pop(task, None)
        self._wake.set()

    async def _play(self, one: _ClusterMachine, game: _ClusterGame) -> None:
        """Let a machine play a game. Cancelling this coroutine ends the game there."""
        line = one.line
        future = self._submit(one.address, machine.play, self._tournament, game.request, game.task.wall_s, name=game.task.name)
        try:
            played, logs = answer_of(await future)
        except RemoteError as problem:
            self._finish(game, problem)
        except machine.NotLoadedError:
            self._wait_again(game, lost=False)
            one.line = None  # the next poll lets it prove its build again
        except Exception:  # Dask has lost the worker or the scheduler
            one.rests_until = time.monotonic() + REST_SECONDS
            self._wait_again(game, lost=True)
        else:
            _write_logs(game.task, logs)
            self._count(one.name)
            self._finish(game, PlayedGame(played.line.model_copy(update={"machine": line}), played.record))
        finally:
            future.release()

    def _finish(self, game: _ClusterGame, result: PlayedGame | Exception) -> None:
        if game.future.done():
            return
        if isinstance(result, Exception):
            game.future.set_exception(result)
        else:
            game.future.set_result(result)

    def _count(self, name: str) -> None:
        """Add 1 to the number of games that the machine `name` has played."""
        self._played[name] += 1
        self._ends.setdefault(name, deque([self._started], maxlen=PACE + 1)).append(time.monotonic())

    def _end_games(self) -> None:
        """End all running and waiting games with an error."""
        for one in self._machines.values():
            self._take_back(one)
        for game in self._waiting:
            if not game.future.done():
                game.future.set_exception(BrokenExecutor("the games were ended"))
        self._waiting.clear()


async def _within(seconds: float, work: Awaitable[Any]) -> Any:
    """Return the result of `work`. Raises `TimeoutError` after this number of seconds.

    Unlike `asyncio.wait_for`, it does not wait for the end of the cancelled `work`, because Dask may ignore the cancellation.
    """
    task = asyncio.ensure_future(work)
    done, _ = await asyncio.wait((task,), timeout=seconds)
    if not done:
        task.cancel()
        raise TimeoutError
    return task.result()


def _environment(settings: ClusterSettings) -> dict[str, str]:
    """Return the environment variables for players."""
    return {CPU_VARIABLE: GENERIC} if settings.generic_cpu else {}


def _name_of(info: dict[str, Any]) -> str:
    """Return the name of a worker for messages, until the worker has stated the name of its machine."""
    name = info.get("name")
    return name.rpartition("/")[0] or name if isinstance(name, str) else str(info.get("host") or name)


def _last_reason(problem: BaseException) -> str:
    while problem.__cause__ is not None and not isinstance(problem.__cause__, asyncio.CancelledError):
        problem = problem.__cause__
    return str(problem) or type(problem).__name__


def _write_logs(task: GameTask, logs: dict[str, bytes]) -> None:
    """Write the output of bots on another machine into the folder for logs. If the disk is full, only this output is lost."""
    for name, content in logs.items():
        if task.logs and Path(name).name == name:
            with contextlib.suppress(OSError):
                Path(task.logs).mkdir(parents=True, exist_ok=True)
                Path(task.logs, name).write_bytes(content)


async def _local_cluster(stack: contextlib.AsyncExitStack, workers: int) -> Any:
    """Start a scheduler and a worker in this process, without ports that others can reach, and return them."""
    return await stack.enter_async_context(
        LocalCluster(
            n_workers=1,
            threads_per_worker=workers,
            processes=False,
            asynchronous=True,
            memory_limit=0,
            dashboard_address="127.0.0.1:0",
            worker_dashboard_address="127.0.0.1:0",
        )
    )


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
