"""The results of a bot: rating over time, maps, rivals; and what they cost in a large database."""

from __future__ import annotations

import asyncio
import sqlite3
from pathlib import Path

import pytest

from tests.support.serving import MAP, Bot, playing, serving
from tests.support.waiting import until
from vindibot.server.store.bot_results import ArchivedGame, RivalRow, SizeRow, bot_results, latest_games
from vindibot.server.store.database import Database
from vindibot.server.store.tables import list_games

GAMES = [
    ArchivedGame(10.0, 12, (5, 9, 1, 1), ("me", "you", None, None), {"me": 1190, "you": 1210}),
    ArchivedGame(20.0, 10, (8, 2, 8, 0), ("me", "you", "she", None), {"me": 1195, "you": 1200, "she": 1205}),
    ArchivedGame(30.0, 12, (6, 4, 30, 20), ("you", "you", "me", "me")),
]


def test_results_by_size_and_by_rival() -> None:
    results = bot_results("me", GAMES)
    assert results.games == 3
    assert results.ratings == [(10.0, 1190), (20.0, 1195)]
    assert results.sizes == [SizeRow(10, games=1, won=0, gold=8.0), SizeRow(12, games=2, won=1, gold=15.0)]
    assert results.rivals == [
        RivalRow("you", games=3, won=2, drawn=0, lost=1, lead=(-4 + 6 + 20) / 3),
        RivalRow("she", games=1, won=0, drawn=1, lost=0, lead=0.0),
    ]
    assert bot_results("me", []).sizes == []


async def play_arena(bot: Bot) -> None:
    await bot.join("arena")
    await bot.play_on()


async def test_the_page_of_a_bot_shows_its_results() -> None:
    async with serving(rounds=2, seed=1) as server, playing(server, "ann", "bob", "cid", "dot") as bots:
        await bots[0].join(turns=1)
        await bots[0].play_on()
        for private in (False, False, True):
            if private:
                server.lobby.arrange(MAP, [bot.key for bot in bots], rounds=1)
            await asyncio.gather(*(play_arena(bot) for bot in bots))
        user = server.lobby.users.by_name("ann")
        assert user is not None
        await until(lambda: user.games == 2)
        played = await server.database.read(lambda connection: latest_games(connection, user.id))
        assert [bool(game.elo) for game in played] == [True, True, False]
        assert played[1].elo[user.id] == user.elo
        assert {game.size for game in played} >= {5}
        page = (await bots[0].client.get(f"/ai/{user.id}")).text
        assert "Elo over 3 rated games: from 1200" in page, "with the rating before the first game"
        assert "5 x 5" in page
        assert all(f"<bdi>{name}</bdi>" in page.split("By rival")[1].split("Games played")[0] for name in ("bob", "cid", "dot"))
        assert page.count('<svg class="board"') == 4
        assert all(bot.key not in page for bot in bots)


@pytest.fixture
async def large(tmp_path: Path) -> Database:
    store = Database(tmp_path / "large.db")
    await store.read(lambda connection: None)
    return store


async def test_queries_for_lists_read_no_whole_table(large: Database) -> None:
    seen: list[str] = []

    def watch(connection: sqlite3.Connection) -> None:
        connection.set_trace_callback(seen.append)
        list_games(connection)
        list_games(connection, bot="b")
        list_games(connection, bot="b", before=7)
        latest_games(connection, "b")
        connection.set_trace_callback(None)

    await large.read(watch)
    plans = await large.read(lambda c: [[row[3] for row in c.execute(f"EXPLAIN QUERY PLAN {query}")] for query in seen])
    assert len(plans) == 4
    for plan in plans[:3]:
        assert not [step for step in plan if "TEMP B-TREE" in step], "rows come in the order of an index"
    assert not [step for plan in plans for step in plan if step.startswith("SCAN") and step != "SCAN latest"]
    await large.close()
