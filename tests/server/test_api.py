"""The API as clients use it: joins, keys, maps and moves, and the answers to the letter."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.support.serving import MAP, Bot, playing, serving
from vindibot.server.embedded import EmbeddedServer

# One server, in one event loop, for all tests that do not set anything on it.
pytestmark = pytest.mark.asyncio(loop_scope="module")


JSON = {"Content-Type": "application/json"}
NO_KEY = "Did you forget the key parameter?"


async def test_the_answer_to_a_training_join_to_the_letter() -> None:
    async with serving(time_limit_ms=1234) as server, playing(server, 'a "b" é') as [bot]:
        response = await bot.join(map=MAP, turns="7")
        state = bot.state
        user = next(iter(server.lobby.users))
        me = (
            f'{{"id":1,"name":"a \\"b\\" é","userId":"{user.id}","elo":1200,"pos":{{"x":0,"y":0}},"life":100,"gold":0,'
            '"mineCount":0,"spawnPos":{"x":0,"y":0},"crashed":false}'
        )
        others = ",".join(
            f'{{"id":{hero},"name":"random","pos":{{"x":{x},"y":{y}}},"life":100,"gold":0,'
            f'"mineCount":0,"spawnPos":{{"x":{x},"y":{y}}},"crashed":false}}'
            for hero, x, y in [(2, 4, 0), (3, 4, 4), (4, 0, 4)]
        )
        game_id, token = state["game"]["id"], state["token"]
        tiles = MAP.replace("\n", "")
        assert response.text == (
            f'{{"game":{{"id":"{game_id}","turn":0,"maxTurns":28,"heroes":[{me},{others}],'
            f'"board":{{"size":5,"tiles":"{tiles}"}},"finished":false}},"hero":{me},"token":"{token}",'
            f'"viewUrl":"{server.url}/{game_id}","playUrl":"{server.url}/api/{game_id}/{token}/play"}}'
        )
        assert response.headers["content-type"] == "application/json"
        assert 0 < int(response.headers["x-vindibot-time-limit"]) <= 1234  # the time left
        for word, length in ((game_id, 8), (token, 24), (bot.key, 8), (user.id, 8)):
            assert len(word) == length
            assert set(word) <= set("0123456789abcdefghijklmnopqrstuvwxyz")


@pytest.mark.parametrize(
    ("turns", "plies"),
    [
        ("", 1200),
        ("+5", 20),
        ("601", 2400),
        ("0", 0),
        ("-536870913", 2147483644),  # in 32 bits
        ("٣", 12),
        ("1.0", None),
        (" 5", None),
        ("2147483648", None),
    ],
)
async def test_turns(server: EmbeddedServer, turns: str, plies: int | None) -> None:
    async with playing(server, "seed") as [bot]:
        response = await bot.join(turns=turns)
        if plies is None:
            assert (response.status_code, response.text) == (400, NO_KEY)
            return
        assert bot.game["maxTurns"] == plies
        if plies == 0:  # there is always at least one ply
            await bot.move()
            assert (bot.game["finished"], bot.game["turn"]) == (True, 1)


@pytest.mark.parametrize(
    "request_",
    [
        {},
        {"data": {"key": " \t"}},
        {"json": {"key": ["abcdefgh"]}},
        {"json": ["key"]},
        {"content": "key=abcdefgh"},
        {"data": {"key": "abcdefgh"}, "params": {"key": ""}},
    ],
)
async def test_a_missing_key(server: EmbeddedServer, request_: dict[str, Any]) -> None:
    async with httpx.AsyncClient(base_url=server.url) as client:
        for mode in ("training", "arena"):
            response = await client.post(f"/api/{mode}", **request_)
            assert (response.status_code, response.text) == (400, NO_KEY)


async def test_white_space_around_a_key_is_no_part_of_it(server: EmbeddedServer) -> None:
    async with playing(server, "ann") as [ann]:
        for mode in ("data", "json", "params"):
            answer = await ann.client.post("/api/training", **{mode: {"key": f"\t{ann.key} \r\n", "turns": "1"}})
            assert answer.json()["hero"]["name"] == "ann"
        for key in ("abcdefgh", f"{ann.key[:4]} {ann.key[4:]}", f"{ann.key}x", "\ud800"):
            for mode in ("training", "arena"):
                response = await ann.client.post(f"/api/{mode}", content=json.dumps({"key": key}), headers=JSON)
                assert (response.status_code, response.text) == (400, "Vindinium - Key not found")


async def test_any_key_where_any_is_allowed() -> None:
    async with serving(keys="any") as server, playing(server) as _, httpx.AsyncClient(base_url=server.url) as client:
        names = [Bot(server, key, client) for key in ("abcdefgh", "abcdefgh", "12345678")]
        heroes = []
        for bot in names:
            await bot.join()
            heroes.append(bot.state["hero"]["name"])
        assert heroes[0] == heroes[1] != heroes[2]
        short = await Bot(server, "short", client).join()
        assert short.text == "Vindinium - Key not found"


async def test_maps_by_name_and_by_text(server: EmbeddedServer) -> None:
    async with playing(server, "seed") as [bot]:
        tiles = set()
        for number in range(1, 7):
            await bot.join(map=f"m{number}")
            tiles.add(bot.game["board"]["tiles"])
        assert len(tiles) == 6
        await bot.join(map=MAP.replace("\n", "\r\n"))
        assert bot.game["board"] == {"size": 5, "tiles": MAP.replace("\n", "")}
        await bot.join(map="")
        assert bot.game["board"]["size"] >= 10


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("@1@2\n@3", "line 2, column 3"),
        ("  " * 40, "line 1, column 57"),
        ("m7", "there is no map named 'm7'"),
        ("<b>é", "line 1, column 1"),
    ],
)
async def test_bad_maps_are_refused_with_their_place(server: EmbeddedServer, text: str, says: str) -> None:
    async with playing(server, "seed") as [bot]:
        response = await bot.join(map=text)
        assert response.status_code == 400
        assert response.text.startswith(f"Vindinium - {says}"), response.text


async def test_a_file_is_no_map(server: EmbeddedServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "mine.map"
    file.write_text(MAP)
    monkeypatch.chdir(tmp_path)
    async with playing(server, "seed") as [bot]:
        for name in ("mine", "mine.map", "./mine.map", str(file), f"file://{file}", "maps/standard.toml", "mine.map\0"):
            assert (await bot.join(map=name)).status_code == 400, name


async def test_moves_that_are_refused(server: EmbeddedServer) -> None:
    async with playing(server, "seed") as [bot]:
        await bot.join()
        url = bot.state["playUrl"]
        game_id = bot.game["id"]
        for data in ({}, {"dir": ""}, {"dir": "  "}, {"key": bot.key}):
            response = await bot.client.post(url, data=data)
            assert (response.status_code, response.text) == (400, "")
            assert response.headers["content-type"] == "text/plain; charset=utf-8"
        response = await bot.client.post("/api/nosuch/xxxx/play", data={"dir": "North"})
        assert (response.status_code, response.text) == (404, "Vindinium - Unknown game nosuch")
        response = await bot.client.post(f"/api/{game_id}/nope/play", data={"dir": "North"})
        assert (response.status_code, response.text) == (404, "Vindinium - Wrong or expired token")
        bots = [seat.token for seat in server.lobby.rooms[game_id].seats[1:]]
        response = await bot.client.post(f"/api/{game_id}/{bots[0]}/play", data={"dir": "North"})
        assert response.status_code == 404
        assert server.lobby.rooms[game_id].turn == 0


@pytest.mark.parametrize("word", ["Crash", "\U0001f600"])
async def test_an_unknown_direction_is_stay(server: EmbeddedServer, word: str) -> None:
    async with playing(server, "seed") as [bot]:
        await bot.join()
        assert (await bot.move(word)).status_code == 200
        assert bot.state["hero"]["lastDir"] == "Stay"
        assert not bot.state["hero"]["crashed"]
