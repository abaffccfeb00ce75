"""A real scheduler of Dask and real Dask workers on loopback, and tournaments on them."""

from __future__ import annotations

import contextlib
import json
import os
import socket
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.support.paths import TOP
from tests.support.waiting import wait_until
from vindibot.arena.report.live import Reporter
from vindibot.arena.results import GameLine
from vindibot.arena.settings import ArenaSettings
from vindibot.arena.tournament import Tournament, prepare
from vindibot.config.load import load_config

#: Fields of a line that may differ between two runs of the same game.
MEASURED = {"machine", "started", "seconds"}
MEASURED_OF_SEATS = {"ms_median", "ms_p99", "ms_max"}


def free_port() -> int:
    """Return a port on loopback that nobody uses."""
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])


class Cluster:
    """A scheduler and Dask workers. `folder` gets the output of each process, `variables` are for all of them."""

    def __init__(self, folder: Path, protocol: str = "tcp", **variables: str) -> None:
        self.folder, self.port, self.variables = folder, free_port(), variables
        self.address = f"{protocol}://127.0.0.1:{self.port}"
        self.workers: dict[str, subprocess.Popen[bytes]] = {}
        self.start_scheduler()

    def start_scheduler(self) -> None:
        """Start the scheduler, and wait until it listens."""
        words = ["scheduler", "--host", self.address.rpartition(":")[0], "--port", str(self.port), "--no-dashboard"]
        self.scheduler = self._start("scheduler", *words, "--dashboard-address", "127.0.0.1:0")
        wait_until(lambda: _listens(self.port), 30)

    def join(self, name: str, *options: str, **variables: str) -> None:
        """Start a worker that plays one game at a time, without a nanny unless `options` say something else."""
        words = ["worker", self.address, "--nthreads", "1", "--name", name, *(options or ["--no-nanny"]), "--no-dashboard"]
        self.workers[name] = self._start(name, *words, "--local-directory", str(self.folder), **variables)

    def kill(self, name: str) -> None:
        """Kill a worker (SIGKILL)."""
        process = self.workers.pop(name)
        process.kill()
        process.wait()

    def close(self) -> None:
        """End all processes."""
        processes = [*self.workers.values(), self.scheduler]
        for process in processes:
            process.terminate()
        for process in processes:
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(20)
            process.kill()
            process.wait()

    def _start(self, log: str, *words: str, **variables: str) -> subprocess.Popen[bytes]:
        with (self.folder / f"{log}.log").open("ab") as output:
            return subprocess.Popen(
                [sys.executable, "-m", "dask", *words],
                cwd=TOP,
                env={**os.environ, **self.variables, **variables},
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


def play(found: Tournament, watch: Watch | None = None) -> Watch:
    """Play a tournament, and return what was reported."""
    watch = watch or Watch()
    try:
        with found.machines(watch.note) as elsewhere:
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
