"""The trait `rollout` on one worker and on two workers: plies of playouts in 200 ms, measured by turns in one run."""

from __future__ import annotations

import asyncio
import time
from contextlib import AsyncExitStack

import numpy as np
import psutil
from numpy.typing import NDArray

from sim import kernels
from sim.game import GAME, Games
from sim.generator import generate
from sim.rules import step
from tests.benchmarks import Row
from vindibot.engine.health import TraitHealth
from vindibot.engine.pool import Pool
from vindibot.engine.worker import TraitPlan

SECONDS, TURNS = 0.2, 40
#: Number of first turns that do not count, because workers build tables in them.
WARM_UP = 4
#: The traits with their parameters: alone, and beside a trait that cannot be split.
ROLLOUT = TraitPlan("behaviours.rollout:Rollout", {"nodes": 10**12})
SEARCH = TraitPlan("behaviours.search:Search", {"nodes": 30_000})


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
    (entry, *_) = await pool.ask(games, 0, np.zeros(0, GAME), deadline=time.monotonic() + SECONDS, seed=1)
    while any(one.assigned for one in pool.workers):  # noqa: ASYNC110  # the pool has no event for it
        await asyncio.sleep(0.001)
    return (entry.info.nodes or 0) if entry.info is not None else 0, processor_seconds(pool) - before


async def measured(plans: tuple[TraitPlan, ...]) -> dict[int, NDArray[np.float64]]:
    """Return plies and processor seconds of each turn (float64[turns, 2]), by the number of workers. The pools alternate."""
    found: dict[int, list[tuple[int, float]]] = {1: [], 2: []}
    async with AsyncExitStack() as stack:
        pools = {workers: pool(workers, *plans) for workers in found}
        for one in pools.values():
            await one.start()
            stack.push_async_callback(one.close)
        for games in positions():
            for workers, one in pools.items():
                found[workers].append(await counted(one, games))
    return {workers: np.array(turns[WARM_UP:]) for workers, turns in found.items()}


def rows() -> list[Row]:
    """Return the plies in 200 ms with one and with two workers, for rollout alone and for rollout beside a search.

    On a busy machine two workers get no second core. Even then, the plies per second of processor time show the loss.
    """
    for plan in (ROLLOUT, SEARCH):
        plan.build()  # imports the kernels
    kernels.warm()
    found = []
    for name, plans in (("rollout", (ROLLOUT,)), ("rollout, search", (ROLLOUT, SEARCH))):
        turns = asyncio.run(measured(plans))
        one, two = (float(np.median(turns[workers][:, 0])) for workers in (1, 2))
        cost = [turns[workers][:, 0].sum() / turns[workers][:, 1].sum() for workers in (1, 2)]
        note = f"one worker {one / 1e6:.2f} million, 1.9x wanted; plies per processor second {cost[1] / cost[0]:.2f}x"
        found.append(Row(f"plies in 200 ms on 2 workers: {name}", f"{two / 1e6:.2f} million", f"{two / one:.2f}x", note))
    return found
