"""A slow disk: results that the players got are stored, even if the server is killed at once afterwards."""

from __future__ import annotations

import asyncio
import re
import shutil
import signal
import sqlite3
import subprocess
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, closing
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.support.serving import MAP, server_process
from vindibot.league.league import League
from vindibot.server.store.database import Database
from vindibot.server.store.tables import UserTable
from vindibot.server.users import Users

#: Each sync of a file takes longer, by so many milliseconds as a variable of the environment says.
SLOW_DISK = """
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdlib.h>
#include <unistd.h>

static int slowly(const char *name, int file) {
    usleep(1000 * atoi(getenv("SLOW_DISK_MS")));
    return ((int (*)(int))dlsym(RTLD_NEXT, name))(file);
}
int fsync(int file) { return slowly("fsync", file); }
int fdatasync(int file) { return slowly("fdatasync", file); }
"""


@pytest.fixture(scope="module")
def slow_disk(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A library to be loaded before all others, which makes the disk slow."""
    compiler = shutil.which("cc") or shutil.which("gcc")
    if compiler is None:
        pytest.skip("there is no C compiler")
    folder = tmp_path_factory.mktemp("slow")
    (folder / "slow.c").write_text(SLOW_DISK)
    subprocess.run([compiler, "-shared", "-fPIC", "-o", folder / "slow.so", folder / "slow.c", "-ldl"], check=True)
    return folder / "slow.so"


async def short_game(client: httpx.AsyncClient, key: str) -> str:
    """A training game of one round, to its end; its id."""
    answer = (await client.post("/api/training", data={"key": key, "turns": 1, "map": MAP})).json()
    answer = (await client.post(answer["playUrl"], data={"dir": "Stay"})).json()
    assert answer["game"]["finished"]
    return str(answer["game"]["id"])


@asynccontextmanager
async def killed_server(db: Path, library: Path, **settings: Any) -> AsyncIterator[httpx.AsyncClient]:
    """Yield a client of a server on a slow disk, with the key of its administrator. At the end the server is killed at once."""
    settings |= {"admin_key": "a long secret"}
    async with server_process(db, settings, LD_PRELOAD=str(library), SLOW_DISK_MS="100") as (process, client):
        client.headers["Authorization"] = "Bearer a long secret"
        yield client
        process.send_signal(signal.SIGKILL)
        await process.wait()


@pytest.mark.slow_faults
async def test_kill_9_on_a_slow_disk_loses_no_game_whose_end_was_told(tmp_path: Path, slow_disk: Path) -> None:
    db = tmp_path / "league.db"
    async with killed_server(db, slow_disk, heroes_per_key=60) as client:
        [bot] = (await client.post("/api/admin/bots", json=["seed"])).json()
        began = time.monotonic()
        told = await asyncio.gather(*(short_game(client, bot["key"]) for _ in range(52)))
        took = time.monotonic() - began
    assert took >= 0.1, "the disk was not slow"
    with closing(sqlite3.connect(db)) as connection:
        stored = {game for (game,) in connection.execute("SELECT id FROM games WHERE state = 'finished'")}
    assert not set(told) - stored


@pytest.mark.slow_faults
async def test_kill_9_on_a_slow_disk_loses_no_bot_that_was_told(tmp_path: Path, slow_disk: Path) -> None:
    db, names = tmp_path / "server.db", [f"bot {number}" for number in range(40)]
    told: dict[str, str] = {}
    for way in ("admin", "register", "guest"):
        async with killed_server(db, slow_disk, keys="any") as client:
            if way == "admin":
                answer = await client.post("/api/admin/bots", json=names)
                told |= {bot["key"]: bot["name"] for bot in answer.json()}
            elif way == "register":
                page = (await client.post("/register", data={"name": "signed up"})).text
                told[re.findall(r'id="user-key"[^>]*>(\w{8})<', page)[0]] = "signed up"
            else:
                state = (await client.post("/api/training", data={"key": "anykey12"})).json()
                told["anykey12"] = state["hero"]["name"]
    assert len(told) == 42
    store = Database(db)
    users = Users(UserTable(store))
    found = {key: users.find(key) for key in told}
    await store.close()
    assert {key: user.name if user else None for key, user in found.items()} == told


@pytest.mark.slow_faults
async def test_kill_9_on_a_slow_disk_loses_no_state_of_a_league_that_was_told(tmp_path: Path, slow_disk: Path) -> None:
    for action, state in (("pause", "paused"), ("end", "over")):
        async with killed_server(tmp_path / "server.db", slow_disk, league=str(tmp_path)) as client:
            if action == "pause":
                made = await client.post("/api/admin/leagues", json={"name": "cup", "roster": ["ann", "bob"]})
                assert made.status_code == 201
            answer = await client.post(f"/api/admin/leagues/cup/{action}")
            assert answer.json()["state"] == state
        assert League.load(tmp_path / "cup.league.json").state == state
