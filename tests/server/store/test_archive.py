"""What a server keeps: bots, ratings and games over restarts, also after kill -9, over real sockets."""

from __future__ import annotations

import asyncio
import re
import signal
import sqlite3
import sys
from contextlib import closing
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.support.serving import MAP, Bot, playing, server_process, serving
from vindibot.games.game_record import GameRecord, loads
from vindibot.games.history import GameHistory
from vindibot.server.embedded import EmbeddedServer
from vindibot.server.ratings import FIRST_MU, FIRST_SIGMA
from vindibot.server.store.tables import list_games

#: Hero 1 stands beside a mine, and so does nobody else.
RICH = "@1$-  @4\n        \n        \n@2    @3"


async def sign_up(client: httpx.AsyncClient, name: str) -> str:
    page = await client.post("/register", data={"name": name})
    found = re.search(r'id="user-key">(\w{8})<', page.text)
    assert found is not None, page.text
    return found.group(1)


async def arena_game(client: httpx.AsyncClient, keys: list[str], rounds: int) -> str:
    """An arena game of these four for some rounds of the first; its id."""

    async def play(key: str) -> str:
        answer = (await client.post("/api/arena", data={"key": key})).json()
        for _ in range(rounds):
            answer = (await client.post(answer["playUrl"], data={"dir": "Stay"})).json()
        return str(answer["game"]["id"])

    games = [asyncio.create_task(play(key)) for key in keys]
    game_id = await games[0]
    for game in games:
        game.cancel()
    return game_id


@pytest.mark.slow_faults
async def test_kill_9_leaves_finished_games_whole_and_running_ones_interrupted_and_not_rated(tmp_path: Path) -> None:
    db = tmp_path / "league.db"
    names = ["first bot", "second bot", "third bot", "fourth bot"]
    async with server_process(db, {"rounds": 3}) as (process, client):
        keys = [await sign_up(client, name) for name in names]
        finished = [await arena_game(client, keys, 3) for _ in range(3)]
        running = await arena_game(client, keys, 1)
        process.send_signal(signal.SIGKILL)  # at once after the answers
        assert await process.wait() == -signal.SIGKILL

    async with serving(db=db, rounds=3) as server, httpx.AsyncClient(base_url=server.url, timeout=30) as client:
        users = {user.name: user for user in server.lobby.users}
        assert {user.games for user in users.values()} == {3}
        assert all(user.sigma < FIRST_SIGMA for user in users.values())
        games = await server.database.read(list_games)
        assert [(game.id, game.state) for game in games] == [
            (running, "interrupted"),
            *((game_id, "finished") for game_id in reversed(finished)),
        ]
        for game_id in finished:
            record = loads((await client.get(f"/records/{game_id}")).content)
            assert len(record.moves) == 12
            assert sorted(record.names) == sorted(names)
            assert int(GameHistory.of(record).last[0]["turn"]) == 12
        assert "interrupted" in (await client.get(f"/{running}?text")).text
        # The keys go on working, and the game that was interrupted cannot be played on.
        answer = (await client.post("/api/training", data={"key": keys[0], "turns": 1})).json()
        assert answer["hero"]["name"] == "first bot"
        assert answer["hero"]["elo"] == users["first bot"].elo
        assert (await client.post(f"/api/{running}/abcd/play", data={"dir": "Stay"})).status_code == 404


async def test_a_server_that_is_stopped_keeps_how_far_its_games_were(tmp_path: Path) -> None:
    db = tmp_path / "league.db"
    async with serving(db=db) as server, playing(server, "seed") as [bot]:
        await bot.join(map=MAP, turns=5)
        await bot.move("South")
        game_id = bot.game["id"]
    async with serving(db=db) as server, httpx.AsyncClient(base_url=server.url) as client:
        record = loads((await client.get(f"/records/{game_id}")).content)
        assert record.ending == "interrupted"
        assert record.first()["training"].item(0)
        assert record.moves[0] == 2
        assert int(GameHistory.of(record).last[0]["turn"]) == len(record.moves) >= 4


async def rated_match(server: EmbeddedServer, bots: list[Bot], *, rounds: int = 3, **options: Any) -> GameRecord:
    """A match on `RICH` which hero 1 wins by some gold; its record."""
    match = server.lobby.arrange(RICH, [bot.key for bot in bots], rounds=rounds, **options)
    await asyncio.gather(*(bot.play(direction="Stay" if index else "East") for index, bot in enumerate(bots)))
    result = await match.ended()
    assert result is not None
    assert result.gold == (rounds, 0, 0, 0)
    async with httpx.AsyncClient(base_url=server.url) as client:
        return loads((await client.get(f"/records/{result.game_id}")).content)


async def test_ratings_follow_the_rules_and_survive(tmp_path: Path) -> None:
    db = tmp_path / "league.db"
    async with serving(db=db, seed=1) as server, playing(server, "winner", "two", "three", "four") as bots:
        winner = server.lobby.users.by_name("winner")
        assert winner is not None
        expected = 1200
        for _ in range(3):
            present = {user.name: user.elo for user in server.lobby.users}
            record = await rated_match(server, bots, rated=True)
            assert record.extra["elo"] == [present[name] for name in record.names]
            gain = sum(int(16 * (1 - 1 / (1 + 10 ** ((present[name] - expected) / 400)))) for name in record.names[1:])
            assert winner.elo - expected - gain in (0, 1), "the bonus"
            expected = winner.elo
        assert winner.games == 3
        assert bots[0].state["hero"]["elo"] == record.extra["elo"][0]  # the rating at the time of joining
        skill = winner.mu, winner.sigma
    async with serving(db=db) as server:
        winner = server.lobby.users.by_name("winner")
        assert winner is not None
        assert (winner.elo, winner.games, winner.mu, winner.sigma) == (expected, 3, *skill)
        assert winner.played is not None


async def test_only_arena_games_of_several_bots_are_rated() -> None:
    async with serving(rounds=1) as server, playing(server, "winner", "two", "three", "four") as bots:
        await rated_match(server, bots)
        await bots[0].play("training", turns=1)
        assert {(user.elo, user.games) for user in server.lobby.users} == {(1200, 0)}
        assert all(user.played is not None for user in server.lobby.users)
        await asyncio.gather(*(bot.play() for bot in bots))
        assert {user.games for user in server.lobby.users} == {1}
    async with serving(rounds=1, seed=1) as server, playing(server, "twice", "other") as [twice, other]:
        await asyncio.gather(*(Bot(server, twice.key, twice.client).play() for _ in range(4)))
        users = {user.name: user for user in server.lobby.users}
        assert (users["twice"].elo, users["twice"].games, users["twice"].mu) == (1200, 0, FIRST_MU)
        bots = [twice, Bot(server, twice.key, twice.client), other, Bot(server, other.key, other.client)]
        await rated_match(server, bots, rated=True)
        assert users["twice"].games == users["other"].games == 1, "a bot with two seats counts once"
        # Hero 1 beats two, hero 2 draws with two: 16 in all; the others lose 8 each.
        assert (users["twice"].elo, users["other"].elo) == (1216, 1184)


@pytest.mark.slow_faults
async def test_the_bonus_comes_from_the_seed_in_about_one_game_of_ten() -> None:
    async def elos(seed: int, games: int) -> list[int]:
        async with serving(rounds=1, seed=seed) as server, playing(server, *(f"bot {n}" for n in range(4))) as bots:
            seen = []
            for _ in range(games):
                before = next(iter(server.lobby.users)).elo
                await asyncio.gather(*(bot.play() for bot in bots))
                seen.append(next(iter(server.lobby.users)).elo - before)
            return seen

    once, again = await elos(5, 25), await elos(5, 8)
    assert once[:8] == again
    assert 0 < sum(gain == 1 for gain in once) < 10


async def test_a_locked_file_holds_up_no_game_for_long_and_loses_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("vindibot.server.room.MAX_END_SECONDS", 0.05)
    db = tmp_path / "league.db"
    async with serving(db=db) as server, playing(server, "seed") as [bot]:
        await server.database.read(lambda connection: connection.execute("PRAGMA busy_timeout = 100"))
        with closing(sqlite3.connect(db, isolation_level=None)) as other:
            other.execute("BEGIN IMMEDIATE")
            await bot.join(turns=1, map=MAP)
            await bot.move()
            assert bot.game["finished"]
            refused = await bot.client.post("/register", data={"name": "another"})
            assert refused.status_code == 400
            assert "cannot store registrations now" in refused.text
            other.execute("ROLLBACK")
        assert (await bot.client.post("/register", data={"name": "another"})).status_code == 200
    with closing(sqlite3.connect(db)) as connection:
        assert connection.execute("SELECT state FROM games").fetchall() == [("finished",)]
        assert connection.execute("SELECT name FROM bots").fetchall() == [("seed",), ("another",)]


@pytest.mark.slow_faults
async def test_a_file_that_cannot_be_used_ends_the_command_with_a_message(tmp_path: Path) -> None:
    db = tmp_path / "league.db"
    db.write_text("this is no database, it is a letter\n" * 200)
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "vindibot", "serve", "--port", "0", "--db", str(db), stderr=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
    )  # fmt: skip
    _, problem = await process.communicate()
    assert process.returncode == 2
    assert "this is not a database" in " ".join(problem.decode().split())
    assert "Traceback" not in problem.decode()
