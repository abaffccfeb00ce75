"""The search: nodes per second, and the depth within a move's time."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from behaviours import View
from behaviours.common.map_tables import map_tables_of
from behaviours.common.policy import policy
from behaviours.search.deepening import IterationResult, iterative_deepening
from behaviours.search.trait import Search
from sim import kernels
from sim.game import Games, mover
from sim.rules import step
from vindibot.config.maps import standard_maps

from . import Row, sized

#: Seconds of a move, and the nodes with which speed is measured.
TIMES, NODES = sized((0.1, 0.9), (0.02, 0.05)), sized(200_000, 5_000)
#: Number of standard maps.
MAPS = sized(len(standard_maps()), 2)
#: Plies that are played on the standard maps before the searched positions, and the share of random moves.
PLIES, STRAY = 400, 0.15


def rows() -> list[Row]:
    """Return all measurements of this part."""
    kernels.warm()
    positions = [middle_game(number) for number in range(MAPS)]
    return [*_speed(positions), *_depths(positions)]


def middle_game(number: int) -> Games:
    """Return a position on a standard map after `PLIES` plies of the policy with some random moves, hero 1 to move."""
    where = standard_maps()[number]
    games, rng = where.new_game(), np.random.default_rng(number)
    for stray in (rng.random(PLIES) < STRAY).tolist():
        step(games, 0, int(rng.integers(5)) if stray else policy(games, 0, mover(games), map_tables_of(where)))
    return games


@dataclass(frozen=True)
class Run:
    """A search of a position: the active heroes, and each depth with the processor time at which it was reached."""

    active: int
    depths: list[IterationResult]
    seconds: list[float]

    def depth_at(self, seconds: float) -> int:
        """Return the last depth that was complete after this time."""
        return max((d.depth for d, at in zip(self.depths, self.seconds, strict=True) if d.whole and at <= seconds), default=0)


def _run(games: Games, nodes: int, stop: NDArray[np.int64]) -> Run:
    view, trait = View(games, mover(games)), Search()
    params = trait.params(view)
    start = time.process_time()
    depths, seconds = [], []
    for found in iterative_deepening(games, view.map, params, trait.weights, depths=range(1, 81), nodes=nodes, stop=stop):
        seconds.append(time.process_time() - start)
        depths.append(found)
    return Run(params.active.bit_count(), depths, seconds)


def _speed(positions: Sequence[Games]) -> Iterator[Row]:
    stop = np.zeros(1, np.int64)
    for games in positions:
        _run(games, 100, stop)  # the tables of the maps are made once per game
    spent = np.array([min(_run(games, NODES, stop).seconds[-1] for _ in range(3)) for games in positions])
    speed = NODES / spent / 1e6
    yield Row("search of a game, standard maps", f"{np.median(speed):.1f} M nodes/s", "", _spread(speed))


@contextmanager
def _stopping(stop: NDArray[np.int64], seconds: float) -> Iterator[None]:
    """Set the stop word when this process has used this processor time. Other programs may use the machine too."""
    end, done = time.process_time() + seconds, threading.Event()
    stop[0] = 0

    def watch() -> None:
        while not done.wait(0.002) and time.process_time() < end:
            pass
        stop[0] = 1

    watcher = threading.Thread(target=watch)
    watcher.start()
    try:
        yield
    finally:
        done.set()
        watcher.join()


def _depths(positions: Sequence[Games]) -> Iterator[Row]:
    runs, stop = [], np.zeros(1, np.int64)
    for games in positions:
        with _stopping(stop, TIMES[-1]):
            runs.append(_run(games, 1 << 60, stop))
    for active in sorted({run.active for run in runs}):
        same = [run for run in runs if run.active == active]
        name = f"{active} searched with us, {len(same)} of {len(runs)} maps"
        for seconds in TIMES:
            reached = np.array([run.depth_at(seconds) for run in same])
            yield Row(f"depth in {seconds * 1000:.0f} ms, {name}", f"{np.median(reached):.0f} plies", "", _spread(reached))


def _spread(values: NDArray[np.float64] | NDArray[np.int64]) -> str:
    low, first, third, high = np.quantile(values, (0.1, 0.25, 0.75, 0.9))
    return f"10, 25, 75, 90 %: {low:.3g}, {first:.3g}, {third:.3g}, {high:.3g}"
