"""Whole games of ``vindibot play`` on a bad network, while its workers and its fork server are killed: none of it costs a turn.

A server of the test counts, the proxy between spoils exchanges, and processes of the client are killed at random moments.
``SESSION_FAULTS_GAMES`` sets the number of games, ``SESSION_FAULTS_SEED`` the seed of what goes wrong.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import random
import re
from pathlib import Path

import psutil
import pytest
from faulty_proxy import FaultyProxy
from test_play import begin, recordings
from test_play_faults import family
from test_pool import is_alive, until

from vindibot.forkserver import SERVER, WORKER
from vindibot.recording import read_recording
from vindibot.server import EmbeddedServer, ServerSettings

GAMES = int(os.environ.get("SESSION_FAULTS_GAMES", "8"))
SEED = int(os.environ.get("SESSION_FAULTS_SEED", "1"))
ROUNDS = 40
#: Games of one command: its processes and descriptors must not grow in number meanwhile.
SESSION = 25
#: The share of moves whose exchange is spoiled.
SPOILED = 0.04
#: Seconds by which an answer is late: less than a move may take, or the server would be right not to wait.
DELAY = 0.3


async def kill_now_and_then(process: asyncio.subprocess.Process, rng: random.Random, seen: list[psutil.Process]) -> int:
    """Kill a worker or the fork server at random moments until the session ends; how often."""
    kills = 0
    while process.returncode is None:
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(process.wait(), rng.uniform(0.1, 1.5))
        with contextlib.suppress(psutil.NoSuchProcess):
            everybody = family(process.pid)
            seen += [one for group in everybody.values() for one in group]
            victims = everybody[WORKER if rng.random() < 0.7 else SERVER]
            if victims:
                rng.choice(victims).kill()
                kills += 1
    return kills


async def session(folder: Path, url: str, key: str, games: int, rng: random.Random) -> tuple[str, int]:
    """One command that plays so many games: all that it said, and how often something of it was killed."""
    before = set(os.listdir("/dev/shm"))
    words = ("play", "--server", url, "--games", str(games), "--rounds", str(ROUNDS), "--display", "none", "--log-level", "error")
    process = await begin(folder, *words, VINDIBOT_KEY=key)
    seen: list[psutil.Process] = []
    (out, _), kills = await asyncio.gather(process.communicate(), kill_now_and_then(process, rng, seen))
    assert process.returncode == 0, out.decode()
    await until(lambda: not any(is_alive(one.pid) for one in set(seen)))
    assert set(os.listdir("/dev/shm")) <= before, "shared memory is left"
    return out.decode(), kills


@pytest.mark.slow
@pytest.mark.timeout(1800)
async def test_no_turn_is_lost_whatever_dies(tmp_path: Path) -> None:
    rng = random.Random(SEED)
    kills = spoiled = played = 0
    async with EmbeddedServer(ServerSettings(time_limit_ms=1000)) as server:
        for number, start in enumerate(range(0, GAMES, SESSION)):
            folder = tmp_path / str(number)
            folder.mkdir()
            games = min(SESSION, GAMES - start)
            async with FaultyProxy(int(server.url.rpartition(":")[2]), rng, SPOILED, DELAY) as proxy:
                said, killed = await session(folder, proxy.url, server.register("seed"), games, rng)
                spoiled += proxy.spoiled
            kills += killed
            assert len(re.findall(r"^game \d+: finished", said, re.MULTILINE)) == games, said
            for path in recordings(folder):
                recording = read_recording(path)
                turns = [turn.turn for turn in recording.turns]
                assert turns == list(range(turns[0], turns[0] + 4 * ROUNDS, 4)), f"{path}: a turn was lost"
                assert all(turn.ballot.margin_ms > 0 for turn in recording.turns), f"{path}: a turn was late"
                assert recording.outcome is not None
                assert recording.outcome.termination == "finished"
                played += 1
    assert played == GAMES
    assert kills > GAMES // 10
    assert spoiled > GAMES // 10
    print(f"{played} games, {kills} processes killed, {spoiled} exchanges spoiled")
