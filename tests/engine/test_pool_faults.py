"""The pool when processes end that it needs: the fork server and its workers; and the rehearsal."""

from __future__ import annotations

import asyncio
import os
import signal
import time

import psutil
import pytest
from structlog.testing import capture_logs

from tests.support.pools import STAY, all_ready, ask, pool_of, statuses, trait
from tests.support.waiting import until
from vindibot.engine.agent import rehearse
from vindibot.engine.forkserver import NAME
from vindibot.engine.health import STRIKES
from vindibot.engine.pool import Pool


def kill_workers(pool: Pool) -> None:
    """Kill all workers that have been born."""
    for one in pool.workers:
        if one.pid:
            os.kill(one.pid, signal.SIGKILL)


@pytest.mark.slow_faults
async def test_the_fork_server_ends_in_a_turn() -> None:
    """The workers end with it. The votes of the turn are lost or come from new workers of a new fork server."""
    async with pool_of(trait("Tags", seconds=0.2), STAY, STAY) as pool:
        asked = asyncio.ensure_future(ask(pool, 4, seconds=20.0))
        await until(lambda: any(one.assigned for one in pool.workers))
        (server,) = (child for child in psutil.Process().children() if child.name() == NAME)
        server.kill()
        await asked
        await until(lambda: all_ready(pool))
        assert statuses(await ask(pool, 12, seconds=20.0)) == ["ok"] * 3


async def test_workers_that_somebody_else_kills_bench_nobody() -> None:
    async with pool_of(trait("Tags"), STAY, STAY, workers=1) as pool:
        for turn in range(2 * STRIKES):
            kill_workers(pool)
            await ask(pool, 4 * turn, seconds=20.0)
            await until(lambda: all_ready(pool))
        assert not any(health.benched for health in pool.health_records)


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
            assert not any(health.strikes or health.failures for health in pool.health_records)
            assert not [line for line in logs if line["event"] in ("trait failed", "trait benched")]
            entries = await ask(pool)
            assert statuses(entries)[0] == "ok", bad
            assert statuses(entries)[1] != "ok", bad


async def test_each_worker_rehearses_all_traits() -> None:
    async with pool_of(STAY, trait("SlowAtFirst", seconds=0.2), workers=2) as pool:
        before = list(pool.workers)
        await rehearse(pool)
        assert pool.workers == before
        began = time.monotonic()
        assert statuses(await ask(pool, seconds=20.0)) == ["ok", "ok"]
        assert time.monotonic() - began < 0.2
