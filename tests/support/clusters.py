"""A real scheduler of Dask and real workers on loopback, and tournaments on them."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import psutil

from tests.support.paths import TOP
from vindibot.arena.report.live import Reporter
from vindibot.arena.results import GameLine
from vindibot.arena.settings import ArenaSettings
from vindibot.arena.tournament import Tournament, prepare
from vindibot.cluster.connection import machines_for
from vindibot.config.load import load_config
from vindibot.processes.server import ForkServer

#: Fields of a line that may differ between two runs of the same game.
MEASURED = {"machine", "started", "seconds"}
MEASURED_OF_SEATS = {"ms_median", "ms_p99", "ms_max"}
#: A variable that all processes of a cluster inherit: the process id of the tests.
MARK = "TESTS_CLUSTER"


def free_port() -> int:
    """Return a port on loopback that nobody uses."""
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])


class Cluster:
    """A scheduler, and machines that have joined it. `folder` gets the output of each process. `tls` has options with files."""

    def __init__(self, folder: Path, tls: Sequence[str] = ()) -> None:
        os.environ[MARK] = str(os.getpid())
        self.folder, self.port = folder, free_port()
        self.address = f"{'tls' if tls else 'tcp'}://127.0.0.1:{self.port}"
        self.tls = tls
        self.machines: dict[str, subprocess.Popen[bytes]] = {}
        self.start_scheduler()

    def start_scheduler(self) -> None:
        """Start the scheduler, and wait until it listens."""
        words = ["-m", "dask", "scheduler", "--host", "127.0.0.1", "--port", str(self.port), "--no-dashboard"]
        self.scheduler = self._start("scheduler", *words, "--dashboard-address", "127.0.0.1:0", *self.tls)
        wait_until(lambda: _listens(self.port), 30)

    def join(self, name: str, *, workers: int = 1, address: str = "", environment: dict[str, str] | None = None) -> None:
        """Let a machine join."""
        words = ["-m", "vindibot", "cluster", "join", address or self.address, "--workers", str(workers), "--name", name]
        self.machines[name] = self._start(name, *words, *self.tls, environment=environment)

    def kill(self, name: str) -> None:
        """Kill a machine's Dask worker (SIGKILL)."""
        process = self.machines.pop(name)
        process.kill()
        process.wait()

    def wait_joined(self, *names: str) -> None:
        """Wait until these machines have joined."""
        for name in names:
            wait_until(lambda name=name: b"has joined" in self.output(name), 60)

    def output(self, name: str) -> bytes:
        """Return what a machine has printed since it was started last."""
        return (self.folder / f"{name}.log").read_bytes()

    def close(self) -> None:
        """End all processes, also those that are stopped."""
        for process in (*self.machines.values(), self.scheduler):
            with contextlib.suppress(ProcessLookupError):
                process.send_signal(signal.SIGCONT)
                process.terminate()
        for process in (*self.machines.values(), self.scheduler):
            try:
                process.wait(15)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()

    def _start(self, log: str, *words: str, environment: dict[str, str] | None = None) -> subprocess.Popen[bytes]:
        with (self.folder / f"{log}.log").open("wb") as output:
            return subprocess.Popen(
                [sys.executable, *words],
                cwd=TOP,
                env={**os.environ, **(environment or {})},
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )


def _listens(port: int) -> bool:
    try:
        socket.create_connection(("127.0.0.1", port), 1).close()
    except OSError:
        return False
    return True


def wait_until(happened: Callable[[], object], seconds: float) -> None:
    """Wait until a function returns something true. Fail after this number of seconds."""
    limit = time.monotonic() + seconds
    while not happened():
        assert time.monotonic() < limit, "it did not happen in time"
        time.sleep(0.05)


class Watch(Reporter):
    """Collects lines and notes, and calls `on_game` with the number of games so far."""

    def __init__(self, on_game: Callable[[int], object] = lambda count: None) -> None:
        self.lines: list[GameLine] = []
        self.notes: list[str] = []
        self._on_game = on_game

    def begin(self, info: Any) -> None:
        """See `Reporter`."""
        self.info = info

    def finished(self, line: GameLine) -> None:
        """See `Reporter`."""
        self.lines.append(line)
        self._on_game(len(self.lines))

    def note(self, text: str) -> None:
        """See `Reporter`."""
        self.notes.append(text)

    def end(self) -> None:
        """See `Reporter`."""


def tournament(path: Path, *bots: str, resume: bool = False, **settings: Any) -> Tournament:
    """Return a tournament of these bots with a fixed seed. `settings` are keys with two underscores for the dot."""
    given = {"bots": list(bots), "results": str(path), "seed": 7, "report": False, "logs": "none"}
    given |= {key.replace("__", "."): value for key, value in settings.items()}
    return prepare(load_config(ArenaSettings, None, given, environ={}), resume=resume)


def play_on(address: str, found: Tournament, watch: Watch | None = None) -> Watch:
    """Play a tournament on the machines of a cluster, and return what was reported."""
    watch = watch or Watch()
    cluster = found.settings.cluster.model_copy(update={"address": address})
    try:
        with machines_for(found, cluster, watch.note) as elsewhere:
            found.play(watch, elsewhere)
    finally:
        found.store.close()
    return watch


def same_games(path: Path) -> list[dict[str, Any]]:
    """Return the lines of a results file in the order of the schedule, without what is measured."""
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    for line in lines:
        for name in MEASURED:
            del line[name]
        for seat in line["seats"]:
            for name in MEASURED_OF_SEATS:
                del seat[name]
    return sorted(lines, key=lambda line: (line["block"], line["game"]))


def players() -> list[psutil.Process]:
    """Return the players of the clusters of this test process, and all processes of their fork servers."""
    found = []
    keeper = ForkServer.of_process()._keeper
    with contextlib.suppress(psutil.Error):
        local = [] if keeper is None else [psutil.Process(keeper.pid), *psutil.Process(keeper.pid).children(recursive=True)]
    for process in psutil.process_iter():
        with contextlib.suppress(psutil.Error):
            ours = any("vindibot_first" in word for word in process.cmdline()) and process.environ().get(MARK) == str(os.getpid())
            if ours and process not in local and process.status() != psutil.STATUS_ZOMBIE:
                found.append(process)
    return found


@contextlib.contextmanager
def no_players_left(seconds: float = 75.0) -> Iterator[None]:
    """Check that no player outlives the block by more than this number of seconds."""
    before = set(players())
    yield
    wait_until(lambda: set(players()) <= before, seconds)
