"""The trait `rollout` on one worker and on two workers: plies of playouts in 200 ms, measured alternately in one run.

Two bots with one worker each, which think at the same time, show how many plies two cores can play without a common vote.
"""

from __future__ import annotations

import asyncio
import time
from contextlib import AsyncExitStack
from itertools import chain

import numpy as np
import psutil
from numpy.typing import NDArray

from behaviours.base import View
from sim import kernels
from sim.game import Games
from sim.generator import generate
from sim.rules import step
from tests.benchmarks import Row, sized
from vindibot.engine.health import TraitHealth
from vindibot.engine.pool import Pool
from vindibot.engine.worker import TraitPlan

SECONDS, TURNS = 0.2, sized(40, 6)
#: Number of first turns that do not count, because workers build tables in them.
WARM_UP = 4
#: The numbers of workers of the bots that think at the same time, by the name of the measurement.
BOTS = {"one worker": (1,), "two workers": (2,), "two bots": (1, 1)}
#: The traits with their parameters: alone, and beside a trait that cannot be split.
ROLLOUT = TraitPlan("behaviours.rollout.trait:Rollout", {"nodes": 10**12})
SEARCH = TraitPlan("behaviours.search.trait:Search", {"nodes": 30_000})


def positions() -> list[Games]:
    """Return the states at one turn of `TURNS` games with random moves."""
    found = []
    for seed in range(TURNS):
        games, rng = generate(seed, size=18).new_game(), np.random.default_rng(seed)
        for move in rng.integers(0, 5, 200).tolist():
            step(games, 0, move)
        found.append(games)
    return found


def pool(workers: int, *plans: TraitPlan) -> Pool:
    built = [(plan.class_path, plan.build()) for plan in plans]
    return Pool(plans, [TraitHealth.of(path, 1.0, behaviour) for path, behaviour in built], workers=workers, grace=5.0)


def processor_seconds(pool: Pool) -> float:
    """Return the processor time of all workers so far, in seconds."""
    return sum(sum(psutil.Process(one.pid).cpu_times()[:2]) for one in pool.workers)


async def counted(pool: Pool, games: Games) -> tuple[int, float]:
    """Return the plies of one turn, and the processor seconds that all workers took for it."""
    before = processor_seconds(pool)
    (entry, *_) = await pool.ask(View(games, 0, seed=1), deadline=time.monotonic() + SECONDS)
    while any(one.assigned for one in pool.workers):  # noqa: ASYNC110  # the pool has no event for it
        await asyncio.sleep(0.001)
    return (entry.info.nodes or 0) if entry.info is not None else 0, processor_seconds(pool) - before


async def measured(plans: tuple[TraitPlan, ...]) -> dict[str, NDArray[np.float64]]:
    """Return plies and processor seconds of each turn (float64[turns, 2]), by the names in `BOTS`. They alternate."""
    found: dict[str, list[NDArray[np.float64]]] = {name: [] for name in BOTS}
    async with AsyncExitStack() as stack:
        pools = {name: [pool(workers, *plans) for workers in bots] for name, bots in BOTS.items()}
        for one in chain(*pools.values()):
            await one.start()
            stack.push_async_callback(one.close)
        for games in positions():
            for name, bots in pools.items():
                turns = await asyncio.gather(*(counted(one, games) for one in bots))
                found[name].append(np.sum(turns, axis=0))
    return {name: np.array(turns[WARM_UP:]) for name, turns in found.items()}


def rows() -> list[Row]:
    """Return the plies in 200 ms with two workers and of two bots, as ratios to one worker.

    On a busy machine two workers get no second core. Even then, the plies per second of processor time show the loss.
    """
    for plan in (ROLLOUT, SEARCH):
        plan.build()  # imports the kernels
    kernels.warm()
    found = []
    for traits, plans in (("rollout", (ROLLOUT,)), ("rollout, search", (ROLLOUT, SEARCH))):
        turns = asyncio.run(measured(plans))
        plies = {name: float(np.median(turns[name][:, 0])) for name in BOTS}
        cost = {name: turns[name][:, 0].sum() / turns[name][:, 1].sum() for name in BOTS}
        one, two, apart = plies.values()
        note = (
            f"one worker {one / 1e6:.2f} million, 1.9x wanted; two bots of one worker each {apart / one:.2f}x; "
            f"plies per processor second {cost['two workers'] / cost['one worker']:.2f}x, "
            f"of two bots {cost['two bots'] / cost['one worker']:.2f}x"
        )
        found.append(Row(f"plies in 200 ms on 2 workers: {traits}", f"{two / 1e6:.2f} million", f"{two / one:.2f}x", note))
    return found
