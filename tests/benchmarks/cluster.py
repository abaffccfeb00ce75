"""A cluster on loopback: the overhead of a game on one and on two workers, and what driver and scheduler need per game."""

from __future__ import annotations

import statistics
import tempfile
import time
from concurrent.futures import Future
from pathlib import Path
from typing import Any

import psutil

from tests.support.clusters import Cluster, Watch, play_on, tournament
from vindibot.arena.dispatch import Dispatcher, given_up
from vindibot.arena.results import PlayedGame
from vindibot.arena.schedule import GameTask
from vindibot.arena.tournament import Tournament

from . import Row, sized

#: The games between which the time is measured, and seconds of a game with which the overhead is compared.
SETTINGS: dict[str, Any] = {"blocks": sized(8, 1), "rounds": sized(150, 5), "limits__nodes": 1000, "maps__sizes": [18]}
LONG = 5.0
#: Blocks of games that end at once, and number of games at once for the cost of the dispatcher.
EMPTY, SLOTS = sized((100, 1000), (2, 20))


def rows() -> list[Row]:
    """Return all measurements of the cluster."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        local = _overhead(_local(folder / "local.jsonl"))
        found = [Row("between two games, 1 worker, local", f"{1000 * local:.1f} ms", "", "median, wall time without the games")]
        for workers in (1, 2):
            remote = _overhead(_on_cluster(folder / str(workers), workers))
            share = f"{(remote - local) / LONG:+.2%} of a game of {LONG:g} s, beside local"
            found.append(Row(f"between two games, cluster, workers: {workers}", f"{1000 * remote:.1f} ms", "", share))
        return [*found, *_saturation(folder / "empty"), _dispatcher(folder / "dispatcher")]


class _Timed(Watch):
    """Notes when each game ends."""

    def __init__(self) -> None:
        super().__init__(lambda count: self.ends.append(time.perf_counter()))
        self.ends: list[float] = []


def _overhead(watch: _Timed) -> float:
    """Return the median of the seconds between the ends of two games on the same machine, without the seconds of the second game.

    So the speed of the games does not count. The first game of a machine is left out.
    """
    last: dict[str, float] = {}
    found = []
    for line, end in zip(watch.lines, watch.ends, strict=True):
        name = line.machine.name if line.machine is not None else ""
        if name in last:
            found.append(end - last[name] - line.seconds)
        last[name] = end
    return statistics.median(found)


def _tournament(path: Path, **settings: Any) -> Tournament:
    path.parent.mkdir(parents=True, exist_ok=True)
    return tournament(path, "searcher", "seed", "malvert", "random", **settings)


def _local(path: Path) -> _Timed:
    """Play the games with one worker of this machine."""
    watch = _Timed()
    _tournament(path, **SETTINGS, workers=1).play(watch)
    return watch


def _on_cluster(folder: Path, workers: int) -> _Timed:
    """Play the games on a cluster of this number of Dask workers with one slot each."""
    folder.mkdir()
    cluster = Cluster(folder)
    watch = _Timed()
    try:
        names = [f"machine{number}" for number in range(workers)]
        for name in names:
            cluster.join(name)
        cluster.wait_joined(*names)
        play_on(cluster.address, _tournament(folder / "remote.jsonl", **SETTINGS), watch)
    finally:
        cluster.close()
    return watch


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


class _AtOnce:
    """Ends the game that began first whenever another one begins, so that `SLOTS` games run at any time."""

    def __init__(self) -> None:
        self._running: list[tuple[Future[PlayedGame], GameTask]] = []

    def submit(self, task: GameTask) -> Future[PlayedGame]:
        future: Future[PlayedGame] = Future()
        future.set_running_or_notify_cancel()
        self._running.append((future, task))
        if len(self._running) >= SLOTS:
            first, ended = self._running.pop(0)
            first.set_result(given_up(ended, "nothing"))
        return future

    def kill(self) -> None:
        """Do nothing: no game runs."""

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """Do nothing."""


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
