"""The pool under traits that misbehave: every turn is decided in time, and what went wrong has a name."""

from __future__ import annotations

import asyncio
import gc
import os
import signal
import time
from pathlib import Path

import numpy as np
import psutil
import pytest
import structlog
from structlog.testing import capture_logs

from behaviours import RECENT_TURNS
from tests.support.pools import STAY, TURN, all_ready, ask, game, pool_of, statuses, trait
from tests.support.waiting import is_alive, until
from vindibot.base.errors import VindibotError
from vindibot.base.log import context
from vindibot.engine.health import STRIKES, TraitHealth
from vindibot.engine.pool import Pool
from vindibot.engine.worker import OUTPUT_LIMIT, TraitPlan


async def test_all_answers_come_in_before_the_deadline() -> None:
    async with pool_of(*[STAY] * 6) as pool:
        began = time.monotonic()
        entries = await ask(pool, seconds=30.0)
        assert time.monotonic() - began < 15.0, "nobody waits for a deadline when all votes are in"
        assert statuses(entries) == ["ok"] * 6
        assert [entry.votes for entry in entries] == [[1, 0, 0, 0, 0]] * 6
        assert [entry.label for entry in entries] == [health.label for health in pool.health_records]


async def test_a_trait_that_raises_is_void_then_benched_and_told_now_and_then() -> None:
    with capture_logs() as logs:
        async with pool_of(trait("Raises"), STAY) as pool:
            for turn in range(STRIKES + 1):  # of which the last is alone in a worker, if none of the others was
                entries = await ask(pool, 4 * turn, seconds=20.0)
                if turn == STRIKES and entries[0].status == "benched":
                    break
                assert statuses(entries) == ["error", "ok"]
                assert entries[0].votes is None
                assert "no idea" in entries[0].note
            entries = await ask(pool, 100)
            assert statuses(entries) == ["benched", "ok"]
            pool.begin_game()
            assert statuses(await ask(pool)) == ["error", "ok"], "a new game, a new chance"
    told = [line["count"] for line in logs if line["event"] == "trait failed"]
    assert told in ([1, 2, 1], [1, 2, 4, 1])
    assert [line["trait"] for line in logs if line["event"] == "trait benched"] == ["0-Raises"]


async def test_strikes_that_lie_far_apart_do_not_bench() -> None:
    async with pool_of(trait("Raises", every=15), STAY) as pool:
        seen = [statuses(await ask(pool, 4 * turn))[0] for turn in range(50)]
        assert seen.count("error") == 4
        assert "benched" not in seen


@pytest.mark.parametrize(
    ("plan", "status", "note"),
    [
        (trait("Exits"), "error", "SystemExit"),
        (trait("Answers", what="nan"), "void", "nan"),
        (trait("Answers", what="shape"), "void", ""),
        (trait("Answers", what="lambda"), "void", ""),
        (trait("Answers", what="object"), "void", ""),
        (trait("Segfaults"), "killed", "its worker process ended"),
        (trait("Dies"), "killed", "its worker process ended"),
    ],
)
async def test_a_failure_costs_one_vote_and_is_named(plan: TraitPlan, status: str, note: str) -> None:
    with capture_logs(processors=[structlog.contextvars.merge_contextvars]) as logs, context(turn=8):
        async with pool_of(plan, STAY, STAY) as pool:
            entries = await ask(pool, 8, seconds=20.0)
            assert statuses(entries) == [status, "ok", "ok"]
            assert entries[0].votes is None
            assert note in entries[0].note != ""
            await until(lambda: all_ready(pool))
    failures = [line for line in logs if line["event"] in ("trait failed", "void vote", "worker died")]
    assert failures
    assert all(line["turn"] == 8 for line in failures)


@pytest.mark.slow_faults
async def test_a_late_vote_never_counts_in_another_turn() -> None:
    async with pool_of(trait("Tags", seconds=TURN * 1.5), trait("Tags"), grace=5.0) as pool:
        entries = await ask(pool, 4)
        assert statuses(entries) == ["late", "ok"]
        assert entries[1].votes == [4, 0, 0, 0, 0]
        for turn in (8, 12):
            entries = await ask(pool, turn, TURN * 3)
            slow, quick = entries
            assert quick.votes == [turn, 0, 0, 0, 0]
            assert slow.votes in (None, [turn, 0, 0, 0, 0]), "a vote of an earlier turn"


@pytest.mark.slow_faults
@pytest.mark.parametrize("name", ["Sleeps", "LoopsInPython", "LoopsInKernel"])
async def test_what_never_comes_back_is_killed_replaced_and_benched(name: str) -> None:
    async with pool_of(trait(name), *[STAY] * 3) as pool:
        first = await ask(pool, seconds=5 * TURN)
        assert statuses(first) == ["late", "ok", "ok", "ok"]
        for turn in range(1, STRIKES + 3):
            entries = await ask(pool, 4 * turn, seconds=2 * TURN)
            assert statuses(entries)[1:] == ["ok", "ok", "ok"]
            await until(lambda: all_ready(pool))
        assert statuses(await ask(pool, 100)) == ["benched", "ok", "ok", "ok"]
        assert len(pool.replacements) == STRIKES


async def test_all_workers_killed_at_once_in_a_turn() -> None:
    async with pool_of(trait("Tags", seconds=0.3), trait("Tags", seconds=0.3), STAY, STAY) as pool:
        asked = asyncio.ensure_future(ask(pool, seconds=20.0))
        await until(lambda: any(one.assigned for one in pool.workers))
        for one in pool.workers:
            os.kill(one.pid, signal.SIGKILL)
        entries = await asked
        assert len(pool.replacements) >= 1
        assert all(entry.status in ("ok", "killed") for entry in entries), statuses(entries)
        await until(lambda: all_ready(pool))
        assert statuses(await ask(pool, 4, seconds=20.0)) == ["ok"] * 4


async def test_anytime_traits_count_with_their_latest_answer() -> None:
    async with pool_of(trait("Improves"), trait("Improves", steps=3), STAY, workers=1) as pool:
        endless, ended, other = await ask(pool)
        assert endless.status == ended.status == other.status == "ok"
        assert endless.votes is not None
        assert endless.votes[3] > 3
        assert ended.votes == [0, 0, 0, 3, 0]
        await until(lambda: all_ready(pool))
        assert not pool.replacements, "who looks at the stop word is not killed"


async def test_an_anytime_trait_that_hangs_keeps_what_it_said() -> None:
    async with pool_of(trait("Improves", steps=5, hang=True), STAY) as pool:
        entries = await ask(pool)
        assert entries[0].votes == [0, 0, 0, 5, 0]
        await until(lambda: len(pool.replacements) == 1)


async def test_node_budget_ends_an_anytime_trait() -> None:
    async with pool_of(trait("Improves", pause=0.0), STAY) as pool:
        entries = await ask(pool, seconds=20.0, nodes=7)
        assert entries[0].votes == [0, 0, 0, 8, 0]


async def test_printing_is_captured_and_capped(capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """Once, also if the worker begins so late that the pool looks for another one."""
    monkeypatch.setattr("vindibot.engine.pool.RESCUE_AFTER", 0.0)
    with capture_logs() as logs:
        async with pool_of(trait("Prints"), STAY, workers=1) as pool:
            assert statuses(await ask(pool, seconds=20.0)) == ["ok", "ok"]
    (shown,) = (line["text"] for line in logs if line["event"] == "trait printed")
    assert len(shown) < 200
    (printed,) = (line["text"] for line in logs if line["event"] == "all that the trait printed")
    assert OUTPUT_LIMIT < len(printed) < OUTPUT_LIMIT + 100
    assert "more characters" in printed
    assert capfd.readouterr() == ("", "")


async def test_the_history_goes_along() -> None:
    past = np.concatenate([game(4 * turn) for turn in range(RECENT_TURNS + 4)])
    async with pool_of(trait("Remembers")) as pool:
        assert (await ask(pool, 48, recent=past[:3]))[0].votes == [3, 0, 0, 0, 0]
        os.kill(pool.workers[0].pid, signal.SIGKILL)
        await until(lambda: len(pool.replacements) == 1 and all_ready(pool))
        assert (await ask(pool, 48, recent=past))[0].votes == [RECENT_TURNS, 0, 0, 0, 0]


@pytest.mark.parametrize("hang", [False, True])
async def test_children_die_with_their_worker(tmp_path: Path, hang: bool) -> None:
    notes = tmp_path / "children"
    async with pool_of(trait("HasChildren", notes=str(notes), hang=hang), STAY) as pool:
        await ask(pool, seconds=1.0)
        await until(notes.exists)
        (child,) = (psutil.Process(int(line)) for line in notes.read_text().split())
        if hang:
            await until(lambda: not is_alive(child.pid))
    await until(lambda: not is_alive(child.pid))


async def test_a_trait_that_cannot_be_built_is_an_error_at_the_start() -> None:
    plans = [TraitPlan("behaviours.classic.stay:NoSuchTrait", {})]
    pool = Pool(plans, [TraitHealth("broken", 1.0, False)], workers=1)
    with pytest.raises(VindibotError, match="NoSuchTrait"):
        await pool.start()


async def test_nothing_is_left_running_or_open() -> None:
    me, counts = psutil.Process(), list[int]()
    for _ in range(4):
        async with pool_of(trait("Dies"), STAY) as pool:
            await ask(pool)
            pids = [worker.pid for worker in pool.workers]
        gc.collect()  # shared memory is free when its last object is gone
        counts.append(me.num_fds())
    await until(lambda: not any(is_alive(pid) for pid in pids))
    assert max(counts[1:]) <= counts[0], "what is left are the fork server's, and shared memory for later use"
