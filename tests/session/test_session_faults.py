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
from dataclasses import dataclass, field
from pathlib import Path

import psutil
import pytest

from tests.support.commands import begin, family, recordings
from tests.support.faulty_proxy import FaultyProxy
from tests.support.waiting import is_alive, until
from vindibot.engine.forkserver import NAME as SERVER
from vindibot.engine.worker import WORKER
from vindibot.games.files.recording import read_recording
from vindibot.server.embedded import EmbeddedServer
from vindibot.server.settings import ServerSettings

GAMES = int(os.environ.get("SESSION_FAULTS_GAMES", "25"))
SEED = int(os.environ.get("SESSION_FAULTS_SEED", "1"))
ROUNDS = 40
#: Seconds between two kills, at least and at most.
PAUSE = tuple(float(word) for word in os.environ.get("SESSION_FAULTS_PAUSE", "0.1,1.0").split(","))
#: Games of one command: its processes and descriptors must not grow in number meanwhile.
SESSION = 25
#: The share of moves whose exchange is spoiled.
SPOILED = 0.04
#: Seconds by which an answer is late: less than a move may take, or the server would be right not to wait.
DELAY = 0.3


@dataclass
class Watch:
    """What was seen of a session: all its processes, and how much its main one had open from one moment to the next."""

    kills: int = 0
    processes: set[psutil.Process] = field(default_factory=set)
    opened: list[int] = field(default_factory=list)  # file descriptors and pieces of memory shared with workers

    def look(self, process: psutil.Process) -> None:
        shared = sum("memfd:" in area.path for area in process.memory_maps(grouped=False))
        self.opened.append(process.num_fds() + shared)

    def grew(self) -> bool:
        """Whether more was open towards the end than ever before; replacements come and go, and the first looks see the start."""
        half = max(len(self.opened) // 2, 5)
        return max(self.opened[half:], default=0) > max(self.opened[:half], default=0) + 20


async def kill_now_and_then(process: asyncio.subprocess.Process, rng: random.Random, watch: Watch) -> None:
    """Kill a worker or the fork server at random moments until the session ends."""
    while process.returncode is None:
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(process.wait(), rng.uniform(*PAUSE))
        with contextlib.suppress(psutil.NoSuchProcess, psutil.AccessDenied):
            everybody = family(process.pid)
            watch.processes |= {one for group in everybody.values() for one in group}
            watch.look(psutil.Process(process.pid))
            victims = everybody[WORKER if rng.random() < 0.9 else SERVER]
            if victims:
                rng.choice(victims).kill()
                watch.kills += 1


async def session(folder: Path, url: str, key: str, games: int, rng: random.Random) -> tuple[str, int]:
    """Run one command that plays several games; return its output and the number of processes killed."""
    words = ("play", "--server", url, "--games", str(games), "--rounds", str(ROUNDS), "--display", "none", "--log-level", "debug")
    process = await begin(folder, *words, VINDIBOT_KEY=key, VINDIBOT_LOG__FILE="log.jsonl")
    watch = Watch()
    (out, _), _ = await asyncio.gather(process.communicate(), kill_now_and_then(process, rng, watch))
    assert process.returncode == 0, out.decode()
    await until(lambda: not any(is_alive(one.pid) for one in watch.processes))
    assert not watch.grew(), watch.opened
    return out.decode(), watch.kills


@pytest.mark.slow_long
@pytest.mark.timeout(1800)
async def test_no_turn_is_lost_when_processes_die(tmp_path: Path) -> None:
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
            assert len(re.findall(r"^game \d+(?: of \d+)?: finished", said, re.MULTILINE)) == games, said
            for path in recordings(folder):
                recording = read_recording(path)
                turns = [turn.turn for turn in recording.turns]
                assert turns == list(range(turns[0], turns[0] + 4 * ROUNDS, 4)), f"{path}: a turn was lost"
                assert all(turn.ballot.margin_ms > 0 for turn in recording.turns), f"{path}: a turn was late"
                assert recording.outcome is not None
                assert recording.outcome.reason == "finished"
                played += 1
    assert played == GAMES
    assert kills > GAMES // 10
    assert spoiled > GAMES // 10
    print(f"{played} games, {kills} processes killed, {spoiled} exchanges spoiled")
