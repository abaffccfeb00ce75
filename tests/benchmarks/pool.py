"""The process pool compared with bare pipes: turns of six trivial traits on two workers, 28x28, and replacing a worker."""

from __future__ import annotations

import asyncio
import logging
import multiprocessing
import os
import pickle
import signal
import time
from typing import Any

import numpy as np
import structlog

from behaviours.base import View
from sim import kernels
from sim.game import Games
from sim.generator import generate
from tests.benchmarks import Row, sized
from vindibot.engine.health import TraitHealth
from vindibot.engine.pool import Pool
from vindibot.engine.worker import TraitPlan, TurnRequest, encode_turn

TRAITS, WORKERS = 6, 2
TURNS, KILLS = sized((3000, 20), (20, 2))
STAY = "behaviours.classic.stay:Stay"


def echo(requests: Any, answers: Any, size: int) -> None:
    """Run in a process: answer every message with `size` bytes."""
    answer = bytes(size)
    while True:
        try:
            requests.recv_bytes()
        except EOFError:
            return
        answers.send_bytes(answer)


class BarePipes:
    """Processes that only receive and send as many bytes as a turn of the pool does, one per worker."""

    def __init__(self, request: bytes, answer: int) -> None:
        self.request = request
        spawner = multiprocessing.get_context("spawn")
        self.ends, self.processes = [], []
        for _ in range(WORKERS):
            there, requests = spawner.Pipe(duplex=False)
            answers, back = spawner.Pipe(duplex=False)
            process = spawner.Process(target=echo, args=(there, back, answer), daemon=True)
            process.start()
            there.close()
            back.close()
            self.ends.append((requests, answers))
            self.processes.append(process)

    def round_trip(self) -> None:
        for requests, _ in self.ends:
            requests.send_bytes(self.request)
        for _, answers in self.ends:
            answers.recv_bytes()

    def close(self) -> None:
        for requests, answers in self.ends:
            requests.close()
            answers.close()
        for process in self.processes:
            process.join(2)


async def fan_out(games: Games, history: Games) -> tuple[list[float], list[float], list[float]]:
    """Return seconds: of turns through the pool, of bare round trips between them, and of replacements of killed workers."""
    plans = [TraitPlan(STAY, {})] * TRAITS
    pool = Pool(plans, [TraitHealth(f"stay-{number}", 1.0, False) for number in range(TRAITS)], workers=WORKERS)
    await pool.start()
    view = View(games, 0, recent=history, seed=1)
    request = pickle.dumps(TurnRequest(0, encode_turn(view), 0, 1.0, None, 0, [0, 1, 2]))
    pipes = BarePipes(request, answer=TRAITS // WORKERS * 64)
    through, bare = [], []
    for turn in range(TURNS + 200):
        began = time.perf_counter()
        pipes.round_trip()
        between = time.perf_counter()
        await pool.ask(view, deadline=time.monotonic() + 1.0)
        if turn >= 200:
            bare.append(between - began)
            through.append(time.perf_counter() - between)
    for _ in range(KILLS):
        before = len(pool.replacements)
        os.kill(pool.workers[0].pid, signal.SIGKILL)
        while len(pool.replacements) == before:  # noqa: ASYNC110 - it has no event; the pool measures
            await asyncio.sleep(0.001)
    pipes.close()
    replaced = pool.replacements
    await pool.close()
    return through, bare, replaced


def rows() -> list[Row]:
    """Return the time of a turn compared with bare pipes (median and 99th percentile), and of a worker's replacement."""
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.ERROR))
    kernels.warm()
    games = generate(1, size=28).new_game()
    through, bare, replaced = asyncio.run(fan_out(games, np.repeat(games, 8)))
    found = []
    for point in (50, 99):
        ours, theirs = np.percentile(through, point) * 1e6, np.percentile(bare, point) * 1e6
        note = f"bare pipes {theirs:.0f} us; within 1.5x, 120 us wanted"
        found.append(
            Row(f"turn to {TRAITS} traits on {WORKERS} workers, p{point}", f"{ours:.0f} us", f"{ours / theirs:.2f}x", note)
        )
    times = np.array(replaced) * 1000
    note = f"{len(times)} kills, slowest {times.max():.0f} ms; under 50 ms wanted"
    found.append(Row("killed worker replaced, median", f"{np.median(times):.0f} ms", "", note))
    return found
