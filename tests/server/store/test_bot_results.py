"""The results of a bot: rating over time, maps, rivals; and what they cost in a large database."""

from __future__ import annotations

import asyncio
import sqlite3
from datetime import UTC, datetime

from sim.generator import generate
from tests.support.serving import MAP, playing, serving
from tests.support.waiting import until
from vindibot.games.game_record import GameRecord
from vindibot.games.outcome import Reason
from vindibot.server.store.bot_results import BotResults, bot_results
from vindibot.server.store.database import Database
from vindibot.server.store.tables import begin_game, end_game, list_games

#: Tables that a query computes itself, from the latest games of one bot.
COMPUTED = ("latest", "played", "own", "other")
#: The games of the bot "me": side of the board, gold, bots, Elo after the game.
GAMES: list[tuple[int, list[int], tuple[str | None, ...], dict[str, int]]] = [
    (12, [5, 9, 1, 1], ("me", "you", None, None), {"me": 1190, "you": 1210}),
    (10, [8, 2, 8, 0], ("me", "you", "she", None), {"me": 1195, "you": 1200, "she": 1205}),
    (12, [6, 4, 30, 20], ("you", "you", "me", "me"), {}),
]


def play_all(connection: sqlite3.Connection) -> None:
    for number, (size, gold, bots, elo) in enumerate(GAMES):
        first, when = generate(1, size=size).new_game(4), datetime.fromtimestamp(10 * number, UTC)
        names = tuple(bot or "random" for bot in bots)
        record = GameRecord.of(
            first,
            id=f"game000{number}",
            names=names,
            player_ids=bots,
            moves=(0, 0, 0, 0),
            ending=Reason.FINISHED,
            started=when,
            finished=when,
            extra={"rated": elo},
        )
        begin_game(connection, record)
        end_game(connection, record, gold, bool(elo))


async def test_results_by_size_and_by_rival() -> None:
    store = Database()
    await asyncio.wrap_future(store.write("games", play_all))
    results = await store.read(lambda connection: bot_results(connection, "me"))
    assert results.games == 3
    assert results.ratings == [(0.0, 1190), (10.0, 1195)]
    assert [tuple(row) for row in results.sizes] == [(10, 1, 0, 8.0), (12, 2, 1, 15.0)]
    assert [tuple(row) for row in results.rivals] == [("you", 3, 2, 0, 1, (-4 + 6 + 20) / 3), ("she", 1, 0, 1, 0, 0.0)]
    assert await store.read(lambda connection: bot_results(connection, "nobody")) == BotResults([], [], [])
    await store.close()


async def test_the_page_of_a_bot_shows_its_results() -> None:
    async with serving(rounds=2, seed=1) as server, playing(server, "ann", "bob", "cid", "dot") as bots:
        await bots[0].play("training", turns=1)
        for private in (False, False, True):
            if private:
                server.lobby.arrange(MAP, [bot.key for bot in bots], rounds=1)
            await asyncio.gather(*(bot.play() for bot in bots))
        user = server.lobby.users.by_name("ann")
        assert user is not None
        await until(lambda: user.games == 2)
        await bots[0].join("training", turns=1)
        page = (await bots[0].client.get(f"/ai/{user.id}")).text
        running, played = page.split("Games played")
        assert f'href="/{bots[0].game["id"]}"' in running
        assert bots[0].game["id"] not in played
        assert f"Elo {user.elo}, skill" in page
        assert "2 rated games," in page
        assert "Elo over 3 rated games: from 1200" in page, "with the rating before the first game"
        assert "5 x 5" in page
        assert all(f"<bdi>{name}</bdi>" in page.split("By rival")[1].split("Games played")[0] for name in ("bob", "cid", "dot"))
        assert page.count('<svg class="board"') == 5
        assert all(bot.key not in page for bot in bots)


async def test_queries_for_lists_read_no_whole_table() -> None:
    store = Database()
    seen: list[str] = []

    def watch(connection: sqlite3.Connection) -> None:
        connection.set_trace_callback(seen.append)
        list_games(connection)
        list_games(connection, bot="b")
        list_games(connection, bot="b", before=7)
        bot_results(connection, "b")
        connection.set_trace_callback(None)

    await store.read(watch)
    plans = await store.read(lambda c: [[row[3] for row in c.execute(f"EXPLAIN QUERY PLAN {query}")] for query in seen])
    assert len(plans) == 6
    for plan in plans[:3]:
        assert not [step for step in plan if "TEMP B-TREE" in step], "rows come in the order of an index"
    assert not [step for plan in plans for step in plan if step.startswith("SCAN") and step.split()[1] not in COMPUTED]
    await store.close()
