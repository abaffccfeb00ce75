"""The records of a bot's games as one file, from a server over real sockets."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from tests.support.serving import MAP, Bot, playing, serving
from vindibot.games.files.game_files import read_records
from vindibot.server.site import routes


async def test_the_records_of_a_bot_are_lines_of_json_the_oldest_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(routes, "RECORDS_PER_READ", 2)  # several reads
    async with serving() as server, playing(server, "ann", "bob") as [bot, other]:
        games = []
        for player in (bot, bot, other, bot):
            await player.play("training", turns=1, map=MAP)
            games.append(str(player.game["id"]))
        server.lobby.arrange(MAP, [bot.key, bot.key, "random", "random"], rounds=1)  # one record for both heroes
        heroes = [bot, Bot(server, bot.key, bot.client)]
        await asyncio.gather(*(hero.play() for hero in heroes))
        games.append(str(bot.game["id"]))
        await bot.join(turns=1, map=MAP)  # this game runs, so it has no record yet
        user_id = next(user.id for user in server.lobby.users if user.name == "ann")
        answer = await bot.client.get("/records.jsonl", params={"bot": user_id})
        assert answer.status_code == 200, answer.text
        assert answer.headers["content-type"] == "application/jsonl"
        assert answer.headers["content-disposition"] == f'attachment; filename="{user_id}.games.jsonl"'
        path = tmp_path / "games.jsonl"
        path.write_bytes(answer.content)
        assert [record.id for record in read_records(path)] == [*games[:2], *games[3:]]
        page = await bot.client.get(f"/ai/{user_id}")
        assert f'href="/records.jsonl?bot={user_id}"' in page.text
        for query in ({}, {"bot": "nobody"}):
            refused = await bot.client.get("/records.jsonl", params=query)
            assert (refused.status_code, "Name a bot" in refused.text) == (404, True)
