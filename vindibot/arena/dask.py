"""Plays games on other machines, which Dask connects. Each machine runs ``dask worker`` (docs/cluster.md).

The driver is the arena or ``vindibot tune play``. It lets each Dask worker join: the worker unpacks the folders of the bots, and
gets a pool of processes, as on one machine. A worker that differs from the driver's machine gets no games. Dask decides which of
the other workers plays which game. If a worker ends, Dask gives its games to others. If the scheduler is started again, Dask's
client connects again, the workers join again, and the driver submits the unfinished games again.
"""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import io
import logging
import platform
import secrets
import shutil
import tarfile
import tempfile
import threading
import time
import warnings
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import BrokenExecutor, Future
from dataclasses import dataclass, field, replace
from functools import partial
from importlib.metadata import packages_distributions
from pathlib import Path
from typing import Any

from sim.cache import sources
from vindibot.arena.dispatch import Elsewhere
from vindibot.arena.games import LocalGames
from vindibot.arena.report.live import GameRate
from vindibot.arena.results import MachineLine, MachineStatus, PlayedGame, processor
from vindibot.arena.schedule import GameTask
from vindibot.arena.seats.entrants import Entrant, files_digest
from vindibot.base.errors import UsageError, VindibotError
from vindibot.config.files import shipped_folder, short
from vindibot.config.signature import digest_of
from vindibot.config.traits import DataPath, data_paths, replaced_paths

try:  # the import reads the configuration of Dask: files, and variables that begin with DASK_
    import dask
    from dask.utils import parse_bytes, parse_timedelta
    from distributed import Client, KilledWorker, LocalCluster, WorkerPlugin, get_worker
    from distributed.config import defaults
    from distributed.diagnostics.plugin import UploadFile
    from distributed.versions import VersionMismatchWarning, get_versions
except ModuleNotFoundError:
    raise UsageError("other machines need the package distributed of Dask: pip install 'vindibot[dask]'") from None
except Exception as problem:  # of any kind: each part of Dask reads its values in its own way
    reason = " ".join(str(problem).split())[:300] or type(problem).__name__
    raise UsageError(f"the configuration of Dask cannot be used: {reason}; correct its file, or the variable DASK_...") from None

#: The address that stands for a scheduler and a worker in the process of the driver itself.
LOCAL = "local"
#: Prefix of the names of drivers and archives.
PREFIX = "vindibot-"
#: Seconds between two polls of the scheduler, and largest number of seconds for its answer and for the end of the pools.
POLL_SECONDS, ANSWER_SECONDS, LEAVE_SECONDS = 1.0, 10.0, 10.0
#: The states of a client of Dask that is connected, or connects again.
CONNECTED = ("running", "connecting")
#: Largest number of bytes of the folder of a bot, in which each file counts at least 512.
MAX_BYTES = 32 << 20
#: Files and folders that do not belong to a bot. Hidden ones and virtual environments do not belong to it either.
LEFT_OUT = {"__pycache__", "node_modules", "results", "recordings"}
#: The packages whose versions must be equal on all machines, in addition to those of the bots' traits.
PACKAGES = ("python", "dask", "distributed", "cloudpickle", "msgpack", "numpy", "numba", "vindibot")


def check_configuration(default: Any = defaults, value: Any = dask.config.config, key: str = "") -> None:
    """Raise `UsageError` if Dask cannot read the value of `key`, or of a key in this table, in its configuration.

    Dask reads most values late, and may then wait for ever. So a value must be of the same kind as the `default`: a number, a
    time or a size.
    """
    if isinstance(default, Mapping) and isinstance(value, Mapping):
        for name in default:
            inner = value.get(dask.config.canonical_name(name, value))  # a variable has _ in place of -
            check_configuration(default[name], inner, f"{key}.{name}" if key else name)
    elif isinstance(default, int | float | str) and not isinstance(default, bool) and value is not None:
        for read in (float, parse_timedelta, parse_bytes):
            if _is_readable(read, default) and not _is_readable(read, value):
                variable = f"DASK_{key.upper().replace('.', '__').replace('-', '_')}"
                words = f"{key} is {value!r}, which does not go with its default {default!r} (variable {variable})"
                raise UsageError(f"the configuration of Dask cannot be used: {words}")


def _is_readable(read: Callable[[Any], Any], value: Any) -> bool:
    try:
        read(value)
    except Exception:  # KeyError, ValueError, TypeError
        return False
    return True


# ---- What travels ----


def packed(path: Path) -> bytes:
    """Return an archive of a bot's folder, or of a single file. Equal files give equal bytes.

    Raises `UsageError` if the folder is too large (`MAX_BYTES`) or cannot be read.
    """
    size = 0

    def belonging(entry: tarfile.TarInfo) -> tarfile.TarInfo | None:
        nonlocal size
        name = Path(entry.name).name
        if path.is_dir() and (name.startswith(".") or name in LEFT_OUT or Path(path, entry.name, "pyvenv.cfg").exists()):
            return None
        size += max(entry.size, 512)
        if size > MAX_BYTES:
            words = f"more than {MAX_BYTES >> 20} MB, so it cannot travel to other machines"
            raise UsageError(f"{short(path)}, of a bot, has {words}: put the bot into a folder of its own")
        entry.mtime = entry.uid = entry.gid = 0
        entry.uname = entry.gname = ""
        return entry if entry.isfile() or entry.isdir() else None

    target = io.BytesIO()
    try:
        with tarfile.open(fileobj=target, mode="w:xz", dereference=True) as archive:
            for file in sorted(path.iterdir()) if path.is_dir() else [path]:
                archive.add(file, file.name, filter=belonging)
    except OSError as problem:
        raise UsageError(f"{short(Path(problem.filename or path))}: cannot be read: {problem.strerror or problem}") from None
    return target.getvalue()


def unpack(archive: Path, folder: Path) -> None:
    """Write the files of an archive into a folder. Raises `OSError` and `tarfile.TarError`."""
    with tarfile.open(archive) as files:
        files.extraction_filter = getattr(tarfile, "data_filter", None)  # Python 3.11.3 and earlier have none
        files.extractall(folder)  # noqa: S202 - filtered


def archives_of(entrants: Sequence[Entrant]) -> tuple[dict[str, bytes], dict[str, str]]:
    """Return the archives of the bots' files by digest, and the paths of these files and folders with the digest as their folder.

    The paths are in a mapping by the present path. The folders of a bot travel only if the bot has traits of its own. Raises
    `UsageError` as `packed` does.
    """
    archives, places = dict[str, bytes](), dict[str, str]()
    for bot in [entrant.bot for entrant in entrants if entrant.bot is not None]:
        files = [str(path) for spec in bot.traits for path in data_paths(spec.parameters)]
        folders = [folder for folder in bot.folders if bot.has_own_traits and not Path(folder).is_relative_to(shipped_folder())]
        for path in dict.fromkeys([*files, *folders]):
            archive = packed(Path(path))
            digest = PREFIX + hashlib.sha256(archive).hexdigest()
            archives[digest] = archive
            places[path] = f"{digest}/{Path(path).name}" if path in files else digest
    return archives, places


def moved(entrant: Entrant, place: Callable[[str], str | None]) -> Entrant:
    """Return an entrant whose folders and data files lie elsewhere: ``place(path)`` is the new path, None for no folder."""
    if (bot := entrant.bot) is None:
        return entrant

    def parameters(values: Mapping[str, Any]) -> dict[str, Any]:
        return {key: replaced_paths(value, lambda path: DataPath(place(path))) for key, value in values.items()}

    traits = tuple(replace(spec, parameters=parameters(spec.parameters)) for spec in bot.traits)
    folders = tuple(folder for folder in map(place, bot.folders) if folder is not None)
    return replace(entrant, bot=replace(bot, folders=folders, traits=traits, origins={}))


def moved_task(task: GameTask, place: Callable[[str], str | None], logs: str) -> GameTask:
    """Return a game with `moved` entrants, and `logs` as the folder for the output of bots."""
    return replace(task, seats=tuple(replace(seat, entrant=moved(seat.entrant, place)) for seat in task.seats), logs=logs)


def versions(packages: Sequence[str]) -> dict[str, str | None]:
    """Return what must be equal on all machines: versions of packages, and the digest of our code, which has all kernels."""
    known = get_versions(packages)["packages"]
    return {name: known[name] for name in packages} | {"our code": sources.digest(("sim", "behaviours", "vindibot"))}


# ---- On a machine ----


class GamesPlugin(WorkerPlugin):  # type: ignore[misc]  # Dask has no types
    """Keeps the pool that plays the games of one driver on a Dask worker. `running` has the keys of the running games."""

    def __init__(self, entrants: Sequence[Entrant], workers: int) -> None:
        self._new_pool = partial(LocalGames, entrants, workers)
        self.pool = self._new_pool()
        self.running: set[str] = set()
        self._lock = threading.Lock()

    def transition(self, key: Any, start: str, finish: str, **_: Any) -> None:
        """End the games if the driver has cancelled all of them, or has ended. See `WorkerPlugin`."""
        if key in self.running and start == "executing" and finish in ("cancelled", "released"):
            self.running.discard(key)
            if not self.running:
                self.restart(self.pool)

    def restart(self, pool: LocalGames) -> None:
        """Replace the pool by a new one, and end its games, unless it was replaced already."""
        with self._lock:
            if self.pool is pool:
                self.pool = self._new_pool()
                pool.kill()

    def teardown(self, worker: Any) -> None:
        """End all games. See `WorkerPlugin`."""
        self.pool.kill()


def join(
    name: str, ours: Mapping[str, str | None], entrants: Sequence[Entrant], digests: Sequence[str]
) -> tuple[MachineLine, str]:
    """Let the Dask worker of this process play the games of the driver `name`. Return the machine and why it plays no games.

    `ours` are the versions of the driver's machine, `digests` are the names of the archives of the bots' files.
    """
    worker = get_worker()
    there = versions([package for package in ours if package != "our code"])
    named = isinstance(worker.name, str) and "://" not in worker.name
    machine = MachineLine(name=worker.name if named else platform.node(), cpu=processor(), signature=digest_of(there))
    problems = [f"{key} is {there[key]} there and {ours[key]} here" for key in ours if ours[key] != there[key]]
    if worker.nanny and dask.config.get("distributed.worker.daemon"):  # the process of the worker is a daemon
        problems.append("its worker may start no processes: use dask worker --no-nanny, or set distributed.worker.daemon: false")
    programs = [entrant for entrant in entrants if entrant.command]
    problems += [
        f"the program of {bot.label}, or a file that its command names, is missing or differs"
        for bot in programs
        if not shutil.which(bot.command[0]) or files_digest(bot.command, Path(bot.folder)) != bot.files
    ]
    folder = Path(worker.local_directory)
    try:
        for digest in digests:
            unpack(folder / f"{digest}.tar.xz", folder / digest)
    except (OSError, tarfile.TarError) as problem:
        problems.append(f"the files of a bot cannot be unpacked: {problem}")
    if not problems:
        plugin = GamesPlugin([moved(entrant, lambda path: str(folder / path)) for entrant in entrants], worker.state.nthreads)
        asyncio.run_coroutine_threadsafe(worker.plugin_add(plugin, name), worker.loop.asyncio_loop).result()
    return machine, "; ".join(problems)


def play(name: str, task: GameTask) -> tuple[str, PlayedGame, dict[str, bytes]]:
    """Play a game of the driver `name`. Return the address of this worker, the game, and the output of bots by file name."""
    worker, key = get_worker(), get_worker().get_current_task()
    plugin, folder = worker.plugins[name], Path(worker.local_directory)
    with tempfile.TemporaryDirectory(dir=folder, ignore_cleanup_errors=True) as logs:
        plugin.running.add(key)
        pool = plugin.pool
        try:
            game = pool.submit(moved_task(task, lambda path: str(folder / path), logs if task.logs else "")).result()
        except BrokenExecutor:
            plugin.restart(pool)
            raise
        finally:
            plugin.running.discard(key)
        return worker.address, game, {path.name: path.read_bytes() for path in Path(logs).iterdir()}


async def leave(name: str, dask_worker: Any) -> None:
    """End the pool of the driver `name` on a Dask worker."""
    if name in dask_worker.plugins:
        await dask_worker.plugin_remove(name=name)


# ---- In the driver ----


@dataclass
class Machine:
    """A Dask worker. `joining` is Dask's future of `join`. `line` is None until it plays, `problem` says why it does not."""

    name: str
    slots: int
    joining: Any
    line: MachineLine | None = None
    problem: str = "joins"
    games: int = 0
    rate: GameRate = field(default_factory=GameRate)


@dataclass(eq=False)
class DaskGame:
    """A game that waits for machines, or that Dask may play (`remote`) on the workers at `addresses`."""

    task: GameTask
    future: Future[PlayedGame] = field(default_factory=Future)
    remote: Any = None
    addresses: frozenset[str] = frozenset()


class DaskGames:
    """Plays the games of `entrants` on the workers of a client of Dask. `notify` gets lines of text for people."""

    def __init__(self, client: Client, entrants: Sequence[Entrant], notify: Callable[[str], None]) -> None:
        self._client, self._notify = client, notify
        self._name = f"{PREFIX}{secrets.token_hex(8)}"
        self._archives, places = archives_of(entrants)
        self._place = places.get
        modules = {module.partition(".")[0] for entrant in entrants if entrant.bot is not None for module in entrant.bot.modules}
        packages = {name for module, names in packages_distributions().items() if module in modules for name in names}
        bots = [moved(entrant, self._place) for entrant in entrants]
        self._join = (self._name, versions([*dict.fromkeys([*PACKAGES, *sorted(packages)])]), bots, [*self._archives])
        self._lock, self._closing = threading.RLock(), threading.Event()
        self._machines: dict[str, Machine] = {}  # by address
        self._waiting, self._running = deque[DaskGame](), set[DaskGame]()
        self._scheduler = ""

    def begin(self) -> None:
        """Wait until a machine plays, or until there is none. Raises `VindibotError` if every machine has a problem."""
        self._poll()
        if not self._machines:
            self._notify("no machine has joined yet; on each machine: dask worker ADDRESS --no-nanny")
        while self._machines and not self._playing():
            time.sleep(POLL_SECONDS / 5)
            self._poll()
            problems = [f"{machine.name}: {machine.problem}" for machine in self._machines.values()]
            if problems and not any(machine.line or machine.problem == "joins" for machine in self._machines.values()):
                raise VindibotError("\n".join(["every machine of the cluster is left out", *dict.fromkeys(problems)]), 2)
        threading.Thread(target=self._watch, name="vindibot-dask", daemon=True).start()

    def submit(self, task: GameTask) -> Future[PlayedGame]:
        """Play a game. Raises `VindibotError` if the client of Dask has given up."""
        if self._client.status not in CONNECTED:
            raise VindibotError("the scheduler of Dask is gone")
        game = DaskGame(task)
        with self._lock:
            self._waiting.append(game)
            self._submit_waiting()
        return game.future

    def kill(self) -> None:
        """End all games on all machines."""
        with self._lock:
            games, self._running = [*self._waiting, *self._running], set()
            self._waiting.clear()
        for game in games:
            game.future.set_exception(BrokenExecutor("the games were ended"))
            if game.remote is not None:
                game.remote.cancel()

    def shutdown(self) -> None:
        """Do nothing: the games have ended, and more games may follow. See `leave`."""

    def slots(self) -> int:
        """Return the number of games that all machines play at once, at least 1."""
        with self._lock:
            return max(1, sum(machine.slots for machine in self._machines.values() if machine.line is not None))

    def statuses(self) -> list[MachineStatus]:
        """Return the state of each machine, by name."""
        with self._lock:
            machines = sorted(self._machines.values(), key=lambda machine: machine.name)
        return [MachineStatus(state.name, state.slots, state.games, state.rate.per_minute(), state.problem) for state in machines]

    def leave(self) -> None:
        """End the pools on all machines. Wait at most `LEAVE_SECONDS`."""
        self._closing.set()
        self.kill()

        def end_pools() -> None:
            with contextlib.suppress(Exception):
                self._client.run(leave, self._name, on_error="ignore")
                for digest in self._archives:
                    self._client.unregister_worker_plugin(f"{self._name}-{digest}")

        ending = threading.Thread(target=end_pools, daemon=True)
        ending.start()
        ending.join(LEAVE_SECONDS)

    # -- the machines --

    def _playing(self) -> frozenset[str]:
        return frozenset(address for address, machine in self._machines.items() if machine.line is not None)

    def _watch(self) -> None:
        while not self._closing.wait(POLL_SECONDS):
            self._poll()

    def _poll(self) -> None:
        """Let the new workers of the scheduler join, and play the games of lost workers elsewhere."""
        workers: dict[str, Any] = {}
        if self._client.status == "running":
            try:
                scheduler = self._client.sync(self._client.scheduler.identity, n_workers=-1, callback_timeout=ANSWER_SECONDS)
            except (OSError, TimeoutError):  # the next poll tries again
                return
            workers = scheduler["workers"]
            if scheduler["id"] != self._scheduler:
                self._upload()
                self._scheduler = scheduler["id"]
        elif self._client.status not in CONNECTED:
            self.kill()
        with self._lock:
            for address in [address for address in self._machines if address not in workers]:
                self._notify(f"machine {self._machines.pop(address).name} is gone")
            for address in [address for address in workers if address not in self._machines]:
                joining = self._submit(join, *self._join, key="join", workers=[address], priority=1)
                self._machines[address] = Machine(str(workers[address]["name"]), workers[address]["nthreads"], joining)
                joining.add_done_callback(partial(self._joined, address))
            for game in [game for game in self._running if game.addresses.isdisjoint(self._machines)]:
                game.remote.cancel()  # so that it waits again

    def _upload(self) -> None:
        """Let all workers get the files of the bots, also the workers that join later."""
        with tempfile.TemporaryDirectory() as folder:
            for digest, archive in self._archives.items():
                path = Path(folder, f"{digest}.tar.xz")
                path.write_bytes(archive)
                with contextlib.suppress(Exception):  # a machine without the files has a problem when it joins
                    self._client.register_plugin(UploadFile(str(path), load=False), name=f"{self._name}-{digest}")

    def _joined(self, address: str, joining: Any) -> None:
        """Note that a worker has joined, or why it plays no games."""
        try:
            line, problem = joining.result()
        except Exception as error:  # the scheduler is gone, or vindibot is missing there
            line, problem = None, f"it cannot join: {error}"
        with self._lock:
            if (machine := self._machines.get(address)) is None or joining.status == "cancelled":
                return
            machine.name, machine.problem = line.name if line else machine.name, problem
            if problem:
                self._notify(f"machine {machine.name} is left out: {problem}")
            else:
                machine.line = line
                self._submit_waiting()

    # -- the games --

    def _submit(self, function: Callable[..., Any], *args: Any, key: str, **options: Any) -> Any:
        key = f"{self._name}-{key}-{secrets.token_hex(4)}"
        return self._client.submit(function, *args, key=key, pure=False, allow_other_workers=False, **options)

    def _submit_waiting(self) -> None:
        """Submit the waiting games, if there are machines that play them."""
        addresses = self._playing()
        while addresses and self._waiting:
            game = self._waiting.popleft()
            if not game.future.running() and not game.future.set_running_or_notify_cancel():
                continue
            task = moved_task(game.task, self._place, game.task.logs)
            game.remote = self._submit(play, self._name, task, key=task.name, workers=[*addresses])
            game.addresses = addresses
            self._running.add(game)
            game.remote.add_done_callback(partial(_in_thread, self._ended, game))  # Dask has one thread for all of them

    def _ended(self, game: DaskGame, remote: Any) -> None:
        """Give the result of a game to its future. If the scheduler or all machines of the game were lost, let it wait again.

        If the machine of a finished game is lost before it has sent the result, Dask plays the game again meanwhile.
        """
        answer: Any = None
        error: Exception | None = None
        try:
            answer = remote.result()
        except KilledWorker:
            error = VindibotError("its machine was lost again and again while it was played")
        except Exception as problem:
            error = problem
        with self._lock:
            if game not in self._running:
                return
            self._running.discard(game)
            if error is not None and remote.status == "cancelled":
                self._waiting.appendleft(game)
                self._submit_waiting()
                return
        if error is None:
            game.future.set_result(self._taken(game.task, *answer))
        else:
            game.future.set_exception(error)

    def _taken(self, task: GameTask, address: str, game: PlayedGame, logs: Mapping[str, bytes]) -> PlayedGame:
        """Return a game with its machine. Write the output of bots; if the disk is full, only this output is lost."""
        for name, content in logs.items():
            with contextlib.suppress(OSError):
                Path(task.logs).mkdir(parents=True, exist_ok=True)
                Path(task.logs, Path(name).name).write_bytes(content)
        if (machine := self._machines.get(address)) is None:
            return game
        machine.games += 1
        machine.rate.tick()
        return replace(game, line=replace(game.line, machine=machine.line))


def _in_thread(function: Callable[..., None], *args: Any) -> None:
    threading.Thread(target=function, args=args, daemon=True).start()


@contextlib.contextmanager
def machines(address: str, entrants: Sequence[Entrant], workers: int, notify: Callable[[str], None]) -> Iterator[Elsewhere]:
    """Connect to the scheduler at an address, let its workers join, and yield them.

    `entrants` are the bots of all games. `workers` is the number of games at once if the address is "local". `notify` gets
    lines of text for people. Raises `UsageError` if the folder of a bot cannot travel, and `VindibotError` if no
    scheduler answers, or if every machine has a problem.
    """
    logging.getLogger("distributed").setLevel(logging.CRITICAL)
    warnings.simplefilter("ignore", VersionMismatchWarning)  # `versions` finds the differences that matter
    with contextlib.ExitStack() as stack:
        try:
            where: Any = address
            if address == LOCAL:
                private = {"dashboard_address": "127.0.0.1:0", "worker_dashboard_address": "127.0.0.1:0", "memory_limit": 0}
                where = stack.enter_context(LocalCluster(n_workers=1, threads_per_worker=workers, processes=False, **private))
            client = Client(where, set_as_default=False)
        except Exception as problem:  # for example OSError, ValueError for a wrong address, TypeError without TLS files
            cause: BaseException = problem
            while cause.__cause__ is not None:
                cause = cause.__cause__
            words = f"no scheduler answers at {address}: start dask scheduler (docs/cluster.md)"
            raise VindibotError(f"{words}; {str(cause) or type(cause).__name__}", 2) from None
        stack.callback(client.close, timeout=LEAVE_SECONDS)
        games = DaskGames(client, entrants, notify)
        stack.callback(games.leave)
        games.begin()
        yield Elsewhere(lambda: games, games.slots, games.statuses)
