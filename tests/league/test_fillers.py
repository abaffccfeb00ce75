"""Fillers of a league: bots that play for missing bots, and are not in the standings."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.league.test_league import by_name, clients, league_of, only_result, play_all, play_until_over
from tests.support.serving import Bot
from tests.support.waiting import until
from vindibot.league.director import Director

WITH_FILLERS = {"fillers": ("seed",), "seatings": 1}


@asynccontextmanager
async def fillers(
    director: Director, bot: Bot, count: int, names: Sequence[str] = ("filler",)
) -> AsyncIterator[list[asyncio.Task[int]]]:
    """Let clients be fillers: for each name, `count` clients, which come name by name. Yield the tasks in which they play."""
    tasks = []
    for index, name in enumerate(names):
        for _ in range(count):
            filler = Bot(bot.server, bot.server.register(name), bot.client)
            user = bot.server.lobby.users.find(filler.key)
            assert user is not None
            director.add_filler(user, index)
            tasks.append(asyncio.create_task(play_until_over(filler)))
            await until(lambda: len(director.fillers.claims) == len(tasks))
    try:
        yield tasks
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


async def names_of(bot: Bot, game_id: str) -> list[str]:
    return (await bot.client.get(f"/records/{game_id}")).json()["names"]


async def test_fillers_play_the_free_heroes(tmp_path: Path) -> None:
    async with league_of(tmp_path, "ann", "bob", **WITH_FILLERS) as (director, bots), fillers(director, bots[0], 2) as filling_in:
        assert await play_all(bots) == [1, 1]
        assert await asyncio.gather(*filling_in) == [1, 1]
        result = only_result(director)
        assert sorted(await names_of(bots[0], result.game_id)) == ["ann", "bob", "filler", "filler"]
        assert {row.name: (row.games, row.points) for row in director.league.table()} == {"ann": (1, 0.5), "bob": (1, 0.5)}


async def test_the_named_bots_play_in_turn(tmp_path: Path) -> None:
    names = ("seed", "miner", "hunter")
    wanted: dict[str, Any] = {"fillers": ("seed", "sparring/miner", "sparring/hunter"), "seatings": 3, "parallel": 1}
    async with league_of(tmp_path, "ann", "bob", **wanted) as (director, bots), fillers(director, bots[0], 2, names):
        assert await play_all(bots) == [3, 3]
        ids = [fixture.result.game_id for fixture in director.league.fixtures if fixture.result is not None]
        fill = [sorted(set(await names_of(bots[0], game_id)) - {"ann", "bob"}) for game_id in ids]
        assert fill == [["miner", "seed"], ["hunter", "seed"], ["hunter", "miner"]]


@pytest.mark.parametrize("table", ["four", "duel"])
async def test_fillers_play_for_absent_bots_which_lose(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, table: str) -> None:
    monkeypatch.setattr("vindibot.league.director.CHECK_SECONDS", 0.02)
    wanted = {**WITH_FILLERS, "absence_timeout_s": 1, "table": table, "days": 1}
    names = ("ann", "bob", "ghost") if table == "four" else ("ann", "ghost")
    async with league_of(tmp_path, *names, **wanted) as (director, bots), fillers(director, bots[0], 2):
        heroes = 2 if table == "duel" else 1
        games = await play_all(clients(bots[:-1], heroes))
        assert set(games) == {1}
        result = only_result(director)
        assert (result.kind, result.absent) == ("played", (len(names) - 1,))
        assert (await names_of(bots[0], result.game_id)).count("filler") == 2
        table_of = by_name(director.league.table())
        assert (table_of["ghost"].points, table_of["ghost"].absences, table_of["ghost"].gold) == (0.0, 1, 0)
        assert table_of["ann"].opponents_beaten == 1
        page = (await bots[0].client.get("/leagues/cup")).text
        assert "(<bdi>ghost</bdi> absent)" in page
        projector = (await bots[0].client.get("/leagues/cup/projector")).text
        row = r'<bdi>(\w+)</bdi>(?:</strong>)? <span class="gold">\d+ by a filler'
        assert re.findall(row, projector) == ["ghost"]
        assert director.reversible() == {"ghost": 1}, "the game can still be played with the bot"


async def test_without_any_filler_random_bots_play(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("vindibot.league.director.CHECK_SECONDS", 0.02)
    monkeypatch.setattr("vindibot.league.director.FILLER_SECONDS", 0.5)
    async with league_of(tmp_path, "ann", "bob", **WITH_FILLERS) as (director, bots), fillers(director, bots[0], 1) as [lost]:
        await until(lambda: director.fillers.claims)
        lost.cancel()
        await until(lambda: not director.fillers.claims)
        assert await play_all(bots) == [1, 1]
        result = only_result(director)
        assert (await names_of(bots[0], result.game_id)).count("random") == 2
