"""The game that is on air: the most interesting one, and the next one when it ends."""

from __future__ import annotations

import asyncio

import pytest

from tests.support.serving import MAP, playing, serving
from tests.support.waiting import until
from vindibot.server.site.original_pages import interest, most_interesting

STRONG, WEAK = (1500, 1500, 1500, 1500), (1200, 1200, 1200, 1200)


@pytest.mark.parametrize(
    ("more", "less"),
    [
        ((STRONG, (0, 0, 0, 900)), (WEAK, (0, 0, 5, 5))),  # the higher rating, whatever the gold is
        ((WEAK, (0, 7, 5, 1)), (WEAK, (3, 7, 4, 0))),  # the closer game
        (((1505, 1500, 1495, 1495), (1, 2, 3, 4)), ((1510, 1510, 1500, 1500), (4, 0, 2, 1))),  # the ratings are about equal
        ((WEAK, (0, 0, 0, 9)), ((1900, 1900, None, None), (0, 0, 0, 0))),  # a random bot counts as 0
    ],
)
def test_what_is_interesting(
    more: tuple[tuple[int | None, ...], tuple[int, ...]], less: tuple[tuple[int | None, ...], tuple[int, ...]]
) -> None:
    assert interest(*more) > interest(*less)


async def test_the_page_shows_the_best_game_and_goes_on_to_the_next() -> None:
    names = [f"weak {number}" for number in range(4)] + [f"good {number}" for number in range(4)]
    async with serving() as server, playing(server, *names) as bots:
        for user in server.lobby.users:
            user.elo = 1800 if user.name.startswith("good") else 1100
        client = bots[0].client
        assert "No arena game is running" in (await client.get("/tv")).text
        good = server.lobby.arrange(MAP, [bot.key for bot in bots[4:]], rounds=1)
        joins = [asyncio.create_task(bot.join("arena")) for bot in bots[4:]]
        good_id = await good.begun()
        weak = server.lobby.arrange(MAP, [bot.key for bot in bots[:4]], rounds=5)
        joins += [asyncio.create_task(bot.join("arena")) for bot in bots[:4]]
        weak_id = await weak.begun()
        await bots[0].client.post("/api/training", data={"key": bots[0].key, "turns": 5})
        page = (await client.get("/tv")).text
        assert f"/plies/{good_id}" in page
        assert 'data-next="/tv"' in page, "the page goes on when the game ends"
        for join, bot in zip(joins[:4], bots[4:], strict=True):
            await join
            bot.start()
        await asyncio.gather(*(bot.ended() for bot in bots[4:]))
        await until(lambda: server.lobby.rooms[good_id].finished)
        assert f"/plies/{weak_id}" in (await client.get("/tv")).text
        assert most_interesting([server.lobby.rooms[good_id]]) is None
        server.lobby.close()
        await asyncio.gather(*joins)
