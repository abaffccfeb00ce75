"""The page of a bot of a league: its games, and the reviews that a visitor asks for."""

from __future__ import annotations

import re
from pathlib import Path

import psutil
import pytest

from tests.league.test_league import league_of, only_result, play_all
from tests.support.waiting import until

PAGE = "/leagues/cup/bots/1"


async def test_the_page_of_a_bot_has_its_games(tmp_path: Path) -> None:
    async with league_of(tmp_path, "<a>", "bob", "cid", "dot", "eve", days=2, seatings=1) as (director, bots):
        page = (await bots[0].client.get(PAGE)).text
        assert ("Rank" in page, "Elo" in page) == (True, False), "the bot has never joined"
        await play_all(bots)
        client = bots[0].client
        assert '<a href="/leagues/cup/bots/1"><bdi>&lt;a&gt;</bdi></a>' in (await client.get("/leagues/cup")).text
        page = (await client.get(PAGE)).text
        played = [one.result.game_id for one in director.league.fixtures if one.result and 0 in one.entrants]
        assert re.findall(r'<td><a href="/(\w+)">', page) == played[::-1]
        assert page.count("<button aria-label=") == len(played)
        user = bots[0].server.lobby.users.by_name("<a>")
        assert user is not None
        assert "Rank" in page
        assert (await client.get(f"/ai/{user.id}")).text == page
        assert "Profile" not in page
        for missing in ("/leagues/cup/bots/0", "/leagues/cup/bots/6", "/leagues/nosuch/bots/1", "/leagues/nosuch/games"):
            assert (await client.get(missing)).status_code == 404
        assert (await client.post(PAGE, data={"game": "nosuch"})).status_code == 303
        assert (await client.post(PAGE)).status_code == 303
        assert "waiting" not in (await client.get(PAGE)).text, "only games of this bot are reviewed"


@pytest.mark.slow
@pytest.mark.timeout(300)
async def test_a_review_is_made_when_a_visitor_asks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("vindibot.server.site.reviews.NODES", 2000)
    async with league_of(tmp_path, "ann", "bob", seatings=1, rounds=12) as (director, bots):
        await play_all(bots)
        client, game = bots[0].client, only_result(director).game_id
        for _ in range(2):  # a second wish changes nothing
            assert (await client.post(PAGE, data={"game": game})).headers["location"] == PAGE
        assert re.search(r"<td>(waiting|running)</td>", (await client.get(PAGE)).text)
        review = bots[0].server.reviews.find(game, director.league.fixtures[0].seats.index(0))
        await until(lambda: review.review or review.state == "failed", 240)  # it has the lowest priority
        page = (await client.get(PAGE)).text
        assert "12 moves are reviewed" in page
        assert page.count(f'<a href="/{game}#turn=') == len(review.review.worst(10))
        assert "Profile" not in (await client.get("/leagues/cup/bots/2")).text


@pytest.mark.slow
async def test_the_server_ends_while_a_review_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("vindibot.server.site.reviews.NODES", 100_000_000)
    async with league_of(tmp_path, "ann", "bob", seatings=1, rounds=12) as (director, bots):
        await play_all(bots)
        result = only_result(director)
        await bots[0].client.post(PAGE, data={"game": result.game_id})

        def running() -> list[psutil.Process]:
            return [child for child in psutil.Process().children() if "review" in child.cmdline()]

        await until(lambda: [child for child in running() if child.nice() == 19], 30)
        children = running()
        assert len(children) == 1
    assert not psutil.wait_procs(children, 10)[1]


async def test_a_review_that_fails_can_be_asked_for_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async def broken(*arguments: object) -> None:
        raise OSError("no process")

    monkeypatch.setattr("vindibot.server.site.reviews.run_lowest", broken)
    async with league_of(tmp_path, "ann", "bob", seatings=1) as (director, bots):
        await play_all(bots)
        result = only_result(director)
        await bots[0].client.post(PAGE, data={"game": result.game_id})
        review = bots[0].server.reviews.find(result.game_id, director.league.fixtures[0].seats.index(0))
        assert review is not None
        await until(lambda: review.state == "failed")
        assert "Review again: it failed" in (await bots[0].client.get(PAGE)).text
