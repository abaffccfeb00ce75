"""Many games with random faults: no socket, file descriptor or task is left behind, and memory stays flat."""

from __future__ import annotations

import asyncio
import gc
import random

import psutil
import pytest

from tests.support.clientkit import Pauses, Player, settings_for
from tests.support.faulty_server import Fault, FaultyServer
from tests.support.waiting import until
from vindibot.client.game_client import GameClient
from vindibot.games.outcome import Reason

KINDS = ["reset", "close", "cut", "page", "text", "bye", "status", "stale", "hang", "dribble"]


def fault(rng: random.Random, *, joining: bool = False) -> Fault:
    kind = rng.choice(KINDS[:5] if joining else KINDS)
    return Fault(kind, rng.choice(("before", "after")), status=rng.choice((429, 500, 502, 503)))


async def one_game(rng: random.Random) -> Reason | None:
    """A game of a few turns with faults, sometimes cancelled or stopped in the middle."""
    turns = rng.randrange(1, 6)
    faults = {number: fault(rng) for number in range(1, 30) if rng.random() < 0.3}
    joins = {1: fault(rng, joining=True)} if rng.random() < 0.2 else {}
    known = rng.random() < 0.5
    server = FaultyServer(joins=joins, moves=faults, plies=4 * turns, understands_turn=known, stated_limit=0.02)
    settings = {"time_limit": 0.02, "move_timeout": 0.03, "resync_timeout": 5.0}
    async with server, GameClient(settings_for(server, **settings), pause=Pauses()) as client:
        task = asyncio.create_task(client.play(Player()))
        if rng.random() < 0.2:
            await asyncio.sleep(rng.random() * 0.03)
            (task.cancel if rng.random() < 0.5 else client.stop_after_turn)()
        try:
            return (await task).outcome.reason
        except asyncio.CancelledError:
            return None


@pytest.mark.slow_faults
@pytest.mark.timeout(1200)
async def test_a_thousand_games_with_random_faults_leak_nothing() -> None:
    process, rng = psutil.Process(), random.Random(2)

    def in_use() -> tuple[int, ...]:
        return process.num_fds(), len(process.net_connections()), len(asyncio.all_tasks())

    for _ in range(3):  # whatever is loaded at first use
        await one_game(rng)
    gc.collect()
    children, before = set(process.children()), in_use()  # children: the fork server of other tests
    ends = [await one_game(rng) for _ in range(500)]
    gc.collect()
    memory = process.memory_info().rss
    ends += [await one_game(rng) for _ in range(500)]
    gc.collect()
    # Connections close a moment after the last answer, also one of the games before.
    await until(lambda: all(now <= then for now, then in zip(in_use(), before, strict=True)))
    assert set(process.children()) == children
    assert ends.count(Reason.FINISHED) > 700
    assert process.memory_info().rss - memory < 8 * 2**20
