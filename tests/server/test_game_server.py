"""The core of a server alone: it plays games like the whole server, and loads no pages, streams, leagues or database."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from typing import Any

import httpx
import pytest

from tests.support.serving import MAP, playing
from vindibot.server.embedded import EmbeddedServer
from vindibot.server.game_server import GameServer
from vindibot.server.match import MatchResult
from vindibot.server.settings import ServerSettings

#: What the core must not load, because a game does not need it.
UNUSED = ("vindibot.server.embedded", "vindibot.server.site", "vindibot.server.store", "vindibot.league", "jinja2")
#: Plays a game on the core, and prints the names of the loaded modules.
PROGRAM = """
import asyncio, json, sys
import httpx
from vindibot.server.game_server import GameServer
from vindibot.server.settings import ServerSettings

async def play():
    async with GameServer(ServerSettings(keys="any")) as server, httpx.AsyncClient(base_url=server.url) as client:
        answer = await client.post("/api/training", data={"key": "somekey1", "turns": "2"})
        while not answer.json()["game"]["finished"]:
            answer = await client.post(answer.json()["playUrl"], data={"dir": "Stay"})

asyncio.run(play())
print(json.dumps(sorted(sys.modules)))
"""


async def arranged_game(kind: type[GameServer]) -> tuple[MatchResult, list[Any]]:
    """Play a match on a server of this class. Return its result, and what each player has seen at the end."""
    async with kind(ServerSettings(time_limit_ms=20_000)) as server, playing(server, "one", "two", "three") as bots:
        match = server.lobby.arrange(MAP, [*(bot.key for bot in bots), "random"], seed=3, rounds=5)
        await asyncio.gather(*(bot.play(direction=way) for bot, way in zip(bots, ("East", "South", "Stay"), strict=True)))
        result = await match.ended()
    assert result is not None
    return result, [[{**hero, "userId": None} for hero in bot.game["heroes"]] for bot in bots]


async def test_a_game_of_the_core_is_the_game_of_the_whole_server() -> None:
    (core, seen), (whole, seen_there) = await arranged_game(GameServer), await arranged_game(EmbeddedServer)
    assert len(core.moves) == 20
    assert (core.moves, core.gold, core.ending, core.seed) == (whole.moves, whole.gold, whole.ending, whole.seed)
    assert seen == seen_there


async def test_the_core_has_no_pages() -> None:
    async with GameServer() as server, httpx.AsyncClient(base_url=server.url) as client:
        for path in ("/", "/register", "/now-playing", "/leagues", "/viewer/pages/game.js"):
            answer = await client.get(path)
            assert (answer.status_code, answer.text) == (404, "This server has no such address")
            assert answer.headers["content-type"].startswith("text/plain")


@pytest.mark.slow
def test_the_core_loads_only_what_it_needs() -> None:
    done = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=True)
    loaded = json.loads(done.stdout)
    assert "vindibot.server.game_server" in loaded
    assert [name for name in loaded if name.startswith(UNUSED)] == []
