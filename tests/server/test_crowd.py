"""Many games at once, and many spectators, with clients in processes of their own."""

from __future__ import annotations

import multiprocessing

import pytest

from sim.generator import generate
from tests.benchmarks.server import KEY, Stopwatch, measure, readers, serving, start_clients
from tests.support.waiting import until


@pytest.mark.slow_long
async def test_200_games_at_once_without_a_crash_of_a_player_in_time() -> None:
    rate, watch, _, refused = await measure(200, 20.0)
    assert rate > 0
    assert watch.plies > 1000
    assert watch.crashes == 0
    assert not refused


@pytest.mark.slow_long
async def test_a_board_of_28x28_streams_to_50_readers_without_a_late_move() -> None:
    watch, spawn = Stopwatch(), multiprocessing.get_context("spawn")
    async with serving(watch) as server:
        server.register("benchmark", KEY)
        server.lobby.arrange(generate(1, size=28), [KEY] * 4, rounds=100_000)
        players, _ = start_clients(server.port, 1)
        await until(lambda: server.lobby.rooms, 300)
        ready = spawn.Event()
        spectators = spawn.Process(target=readers, args=(server.port, list(server.lobby.rooms), 50, ready))
        spectators.start()
        await until(ready.is_set, 300)
        began = watch.plies
        await until(lambda: watch.plies >= began + 3000, 300)
        assert server.streams.pace.readers == 50
        assert watch.crashes == 0
        for process in (players, spectators):
            process.terminate()
            process.join()
