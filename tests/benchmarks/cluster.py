"""A cluster on loopback: the overhead of a game on one and on two workers, and what driver and scheduler need per game."""

from __future__ import annotations

import tempfile
import time
from concurrent.futures import Executor, Future
from pathlib import Path
from typing import Any

import psutil

from tests.support.clusters import Cluster, Watch, play_on, tournament
from vindibot.arena.dispatch import Dispatcher, given_up
from vindibot.arena.sandbox import PlayedGame
from vindibot.arena.tournament import Tournament

from . import Row

#: The games whose overhead is measured: blocks of four games, rounds and nodes.
BLOCKS, ROUNDS, NODES = 6, 300, 4000
#: Blocks of games that end at once, and number of games at once for the cost of the dispatcher.
EMPTY, SLOTS = 100, 1000


def rows() -> list[Row]:
    """Return all measurements of the cluster."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        found = []
        for workers in (1, 2):
            local, remote = _overhead(folder / str(workers), workers)
            many = "1 worker" if workers == 1 else f"{workers} workers"
            found.append(
                Row(f"a game, {many}, local", f"{local:.3f} s", "", f"{4 * (BLOCKS - 1)} games, searcher and three others")
            )
            found.append(Row(f"a game, {many}, cluster", f"{remote:.3f} s", f"{remote / local:.3f}", "workers of one slot each"))
        return [*found, *_saturation(folder / "empty"), _dispatcher(folder / "dispatcher")]


class _Timed(Watch):
    """Notes when each game ends."""

    def __init__(self) -> None:
        super().__init__(lambda count: self.ends.append(time.perf_counter()))
        self.ends: list[float] = []

    @property
    def seconds(self) -> float:
        """Wall seconds per game, without the first four games, during which workers start."""
        return (self.ends[-1] - self.ends[3]) / (len(self.ends) - 4)


def _tournament(path: Path, **settings: Any) -> Tournament:
    path.parent.mkdir(parents=True, exist_ok=True)
    return tournament(path, "searcher", "seed", "malvert", "random", **settings)


def _overhead(folder: Path, workers: int) -> tuple[float, float]:
    """Return the wall seconds per game with this number of workers, on this machine and on a cluster."""
    settings = {"blocks": BLOCKS, "rounds": ROUNDS, "limits__nodes": NODES, "maps__sizes": [18], "workers": workers}
    local, remote = _Timed(), _Timed()
    _tournament(folder / "local.jsonl", **settings).play(local)
    cluster = Cluster(folder)
    try:
        names = [f"machine{number}" for number in range(workers)]
        for name in names:
            cluster.join(name)
        cluster.wait_joined(*names)
        play_on(cluster.address, _tournament(folder / "remote.jsonl", **settings), remote)
    finally:
        cluster.close()
    return local.seconds, remote.seconds


def _saturation(folder: Path) -> list[Row]:
    """Return the processor time per game of the driver and of the scheduler, from games that end at once."""
    folder.mkdir()
    cluster = Cluster(folder)
    try:
        cluster.join("machine", workers=2)
        cluster.wait_joined("machine")
        found = tournament(folder / "empty.jsonl", "stay", "random", "stay", "random", blocks=EMPTY, rounds=1, limits__nodes=1)
        watch = _Timed()
        driver, scheduler = psutil.Process(), psutil.Process(cluster.scheduler.pid)
        before = [sum(one.cpu_times()[:2]) for one in (driver, scheduler)]
        play_on(cluster.address, found, watch)
        after = [sum(one.cpu_times()[:2]) for one in (driver, scheduler)]
    finally:
        cluster.close()
    games = len(watch.lines)
    times = [(now - then) / games for now, then in zip(after, before, strict=True)]
    return [
        Row(f"{name}, processor time per game", f"{1000 * seconds:.2f} ms", "", f"{1 / seconds:.0f} games/s on one core")
        for name, seconds in zip(("driver", "scheduler"), times, strict=True)
    ]


class _AtOnce(Executor):
    """Ends the game that began first whenever another one begins, so that `SLOTS` games run at any time."""

    def __init__(self) -> None:
        self._running: list[tuple[Future[PlayedGame], Any]] = []

    def submit(self, fn: Any, /, *args: Any, **kwargs: Any) -> Any:
        future: Future[PlayedGame] = Future()
        future.set_running_or_notify_cancel()
        self._running.append((future, args[0]))
        if len(self._running) >= SLOTS:
            first, task = self._running.pop(0)
            first.set_result(given_up(task, "nothing"))
        return future


def _dispatcher(folder: Path) -> Row:
    """Return the time of the dispatcher per game if `SLOTS` games run at once."""
    folder.mkdir()
    found = tournament(folder / "empty.jsonl", "stay", "random", "stay", "random", blocks=1500, rounds=1, limits__nodes=1)
    tasks = list(found.schedule.tasks())[: 2 * SLOTS]
    dispatcher = Dispatcher(_AtOnce, SLOTS)
    games = dispatcher.run(iter(tasks))
    began, count = time.process_time(), 0
    for _ in games:
        count += 1
        if count == SLOTS:
            break
    return Row(f"dispatcher, {SLOTS} games at once", f"{1000 * (time.process_time() - began) / count:.2f} ms", "", "per game")
