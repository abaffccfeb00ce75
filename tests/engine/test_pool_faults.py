"""The pool when what it stands on breaks: the fork server, its keeper, the pipes and the memory of a worker."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import Callable
from pathlib import Path

import psutil
import pytest
from structlog.testing import capture_logs

from tests.support.pools import STAY, all_ready, ask, pool_of, statuses, trait
from tests.support.waiting import is_alive, until
from vindibot.engine.health import STRIKES
from vindibot.engine.pool import Pool
from vindibot.engine.rehearsal import rehearse
from vindibot.engine.workers import WorkerProcess
from vindibot.processes.keeper import KEEPER
from vindibot.processes.root import ROOT as SERVER


def process_called(name: str) -> psutil.Process:
    """The keeper of this process, or the server it keeps."""
    (keeper,) = (child for child in psutil.Process().children() if child.name() == KEEPER)
    return keeper if name == KEEPER else next(child for child in keeper.children() if child.name() == name)


def has(name: str) -> bool:
    try:
        return bool(process_called(name))
    except (StopIteration, ValueError, psutil.NoSuchProcess):
        return False


def kill_server() -> None:
    process_called(SERVER).kill()


def stop_server() -> None:
    process_called(SERVER).suspend()


def kill_both() -> None:
    server = process_called(SERVER)
    process_called(KEEPER).kill()
    server.kill()


def kill_workers(pool: Pool) -> set[WorkerProcess]:
    """Kill all workers that have been born."""
    victims = {one for one in pool.workers if one.pid}
    for one in victims:
        os.kill(one.pid, signal.SIGKILL)
    return victims


async def replaced(pool: Pool) -> None:
    """Kill all workers, and wait until others are there."""
    victims = kill_workers(pool)
    await until(lambda: all_ready(pool) and not victims & set(pool.workers))


@pytest.mark.slow_faults
@pytest.mark.parametrize("harm", [kill_server, stop_server, kill_both])
async def test_the_fork_server_goes_away_in_a_turn(harm: Callable[[], None]) -> None:
    """The workers go on, the votes are heard, and a worker that dies then is replaced all the same."""
    async with pool_of(trait("Tags", seconds=0.2), STAY, STAY) as pool:
        await until(lambda: has(SERVER))
        asked = asyncio.ensure_future(ask(pool, 4, seconds=20.0))
        await until(lambda: any(one.assigned for one in pool.workers))
        harm()
        assert statuses(await asked) == ["ok"] * 3
        kill_workers(pool)
        entries = await ask(pool, 8, seconds=0.3)  # nobody is there who could vote, and nobody is waited for
        assert len(entries) == 3
        await replaced(pool)
        assert statuses(await ask(pool, 12, seconds=20.0)) == ["ok"] * 3
        assert pool.preloaded


@pytest.mark.slow_faults
async def test_the_loop_goes_on_while_there_is_no_fork_server() -> None:
    async with pool_of(STAY, STAY) as pool:
        await until(lambda: has(SERVER))
        kill_both()
        kill_workers(pool)
        loop = asyncio.get_running_loop()
        slowest, last = 0.0, (began := loop.time())
        replaced = len(pool.replacements) + len(pool.workers)
        while len(pool.replacements) < replaced:
            await asyncio.sleep(0)
            now = loop.time()
            slowest, last = max(slowest, now - last), now
        assert slowest < (last - began) / 2, "something waited in the event loop for the imports of a fork server"


async def test_a_stopped_fork_server_does_not_keep_the_pool_from_ending() -> None:
    async with pool_of(STAY, STAY) as pool:
        await until(lambda: has(SERVER))
        server = process_called(SERVER)
        server.suspend()
        pids = [one.pid for one in pool.workers]
        async with asyncio.timeout(20.0):
            await pool.close()
        await until(lambda: not any(is_alive(pid) for pid in [*pids, server.pid]))


@pytest.mark.slow_faults
async def test_a_trait_that_kills_its_parent_does_no_harm() -> None:
    with capture_logs() as logs:
        async with pool_of(trait("KillsParent"), *[STAY] * 3) as pool:
            for turn in range(4):
                assert statuses(await ask(pool, 4 * turn, seconds=20.0)) == ["ok"] * 4
    assert not [line for line in logs if line["event"] in ("worker died", "trait suspected", "trait failed")]


async def bench(pool: Pool, guilty: set[int]) -> None:
    """Take turns until the guilty traits are benched; nobody else may be."""
    turn = 0
    while {number for number, health in enumerate(pool.health_records) if health.benched} != guilty:
        turn += 4
        assert turn < 400, [(health.label, health.suspect, list(health.strikes)) for health in pool.health_records]
        await ask(pool, turn, seconds=1.0)
        await until(lambda: all_ready(pool))
        assert {number for number, health in enumerate(pool.health_records) if health.benched} <= guilty, "an innocent is benched"
    entries = await ask(pool, turn + 4, seconds=20.0)
    await until(lambda: all_ready(pool))
    entries = await ask(pool, turn + 8, seconds=20.0)
    assert [number for number, entry in enumerate(entries) if entry.status != "ok"] == sorted(guilty)


@pytest.mark.slow_faults
@pytest.mark.parametrize("workers", [1, 2])
@pytest.mark.parametrize("name", ["ClosesAll", "WritesEverywhere", "Poisons", "Dies", "Raises"])
async def test_the_trait_that_does_harm_is_benched_and_no_other(name: str, workers: int) -> None:
    """It returns as if nothing had happened, and the one that runs next, or is asked next turn, meets the damage."""
    async with pool_of(trait("Collects"), trait(name), trait("Collects"), STAY, workers=workers, grace=0.05) as pool:
        await bench(pool, {1})


async def test_workers_that_somebody_else_kills_bench_nobody() -> None:
    async with pool_of(trait("Tags"), STAY, STAY, workers=1) as pool:
        for turn in range(2 * STRIKES):
            kill_workers(pool)
            await ask(pool, 4 * turn, seconds=20.0)
            await until(lambda: all_ready(pool))
        assert not any(health.benched for health in pool.health_records)


@pytest.mark.slow_faults
async def test_what_a_trait_starts_ends_with_its_worker_wherever_it_has_fled(tmp_path: Path) -> None:
    notes = tmp_path / "numbers"
    async with pool_of(trait("StartsDaemons", notes=str(notes)), STAY) as pool:
        await ask(pool, seconds=20.0)
        await until(lambda: notes.exists() and len(notes.read_text().split()) == 2, 60)
        numbers = [int(word) for word in notes.read_text().split()]
        assert all(is_alive(number) for number in numbers)
        await replaced(pool)
        await until(lambda: not any(is_alive(number) for number in numbers))
        notes.unlink()
        await ask(pool, seconds=1.0)
        await until(lambda: notes.exists() and len(notes.read_text().split()) == 2)
        numbers = [int(word) for word in notes.read_text().split()]
    assert not any(is_alive(number) for number in numbers), "the end of the pool waits for them"


# ---- The rehearsal ----


@pytest.mark.slow_faults
async def test_a_rehearsal_survives_traits_that_fail(monkeypatch: pytest.MonkeyPatch) -> None:
    """They raise, hang in Python, hang in a kernel or end their process. The game then begins with all workers and no strikes."""
    monkeypatch.setattr("vindibot.engine.pool.REHEARSAL_SECONDS", 0.05)
    monkeypatch.setattr("vindibot.engine.pool.REHEARSAL_TIMEOUT", 1.0)
    for bad in ("Raises", "Sleeps", "LoopsInKernel", "Segfaults", "Dies"):
        async with pool_of(STAY, trait(bad), workers=2) as pool:
            with capture_logs() as logs:
                await rehearse(pool)
            assert all_ready(pool), bad
            assert len(pool.workers) == 2
            assert not any(health.strikes or health.failures or health.suspect for health in pool.health_records)
            assert not [line for line in logs if line["event"] in ("trait failed", "trait suspected", "trait benched")]
            entries = await ask(pool)
            assert statuses(entries)[0] == "ok", bad
            assert statuses(entries)[1] != "ok", bad


async def test_each_worker_rehearses_all_traits() -> None:
    async with pool_of(STAY, trait("SlowAtFirst", seconds=0.2), workers=2) as pool:
        before = list(pool.workers)
        await rehearse(pool)
        assert pool.workers == before
        assert [one.ran for one in pool.workers] == [{0, 1}] * 2
