"""The process pool: turns of six trivial traits on two workers, 28x28, and replacing a worker."""

from __future__ import annotations

import asyncio
import logging
import os
import signal
import time

import numpy as np
import structlog

from behaviours.base import View
from sim import kernels
from sim.game import Games
from sim.generator import generate
from tests.benchmarks import Row, sized
from vindibot.engine.health import TraitHealth
from vindibot.engine.pool import Pool
from vindibot.engine.worker import TraitPlan

TRAITS, WORKERS = 6, 2
TURNS, KILLS = sized((3000, 20), (20, 2))
STAY = "behaviours.classic.stay:Stay"


async def fan_out(games: Games, history: Games) -> tuple[list[float], list[float]]:
    """Return seconds: of turns through the pool, and of replacements of killed workers."""
    plans = [TraitPlan(STAY, {})] * TRAITS
    pool = Pool(plans, [TraitHealth(f"stay-{number}", 1.0, False) for number in range(TRAITS)], workers=WORKERS)
    await pool.start()
    view = View(games, 0, recent=history, seed=1)
    through = []
    for turn in range(TURNS + 200):
        began = time.perf_counter()
        await pool.ask(view, deadline=time.monotonic() + 1.0)
        if turn >= 200:
            through.append(time.perf_counter() - began)
    for _ in range(KILLS):
        before = len(pool.replacements)
        os.kill(pool.workers[0].pid, signal.SIGKILL)
        while len(pool.replacements) == before:  # noqa: ASYNC110 - it has no event; the pool measures
            await asyncio.sleep(0.001)
    replaced = pool.replacements
    await pool.close()
    return through, replaced


def rows() -> list[Row]:
    """Return the time of a turn (median and 99th percentile), and of a worker's replacement."""
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.ERROR))
    kernels.warm()
    games = generate(1, size=28).new_game()
    through, replaced = asyncio.run(fan_out(games, np.repeat(games, 8)))
    found = []
    for point in (50, 99):
        figure = f"{np.percentile(through, point) * 1e6:.0f} us"
        found.append(Row(f"turn to {TRAITS} traits on {WORKERS} workers, p{point}", figure, "", "120 us wanted"))
    times = np.array(replaced) * 1000
    note = f"{len(times)} kills, slowest {times.max():.0f} ms; under 50 ms wanted"
    found.append(Row("killed worker replaced, median", f"{np.median(times):.0f} ms", "", note))
    return found
