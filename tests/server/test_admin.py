"""The administrator: the key, bots from a roster, private matches, leagues."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.support.serving import MAP, Bot, serving
from tests.support.waiting import until
from vindibot.league.server import LeagueServer

KEY = "a long secret"
LEAGUE = {"name": "cup", "roster": ["ann", "bob"]}


@asynccontextmanager
async def administered(**settings: Any) -> AsyncIterator[tuple[LeagueServer, httpx.AsyncClient]]:
    """A server with an administrator, and its client."""
    headers = {"Authorization": f"Bearer {KEY}"}
    async with serving(admin_key=KEY, **settings) as server, httpx.AsyncClient(headers=headers, timeout=30) as admin:
        admin.base_url = f"{server.url}/api/admin"
        yield server, admin


@asynccontextmanager
async def bots_of(server: LeagueServer, admin: httpx.AsyncClient, *names: str) -> AsyncIterator[list[Bot]]:
    """Bots with these names, registered by the administrator."""
    made = await admin.post("/bots", json=list(names))
    assert made.status_code == 201
    async with httpx.AsyncClient(base_url=server.url, timeout=30) as client:
        yield [Bot(server, bot["key"], client) for bot in made.json()]


@pytest.mark.parametrize("path", ["bots", "matches", "leagues", "matches/x", "leagues/x", "leagues/x/end"])
async def test_without_the_key_there_is_nothing_to_see(path: str) -> None:
    async with administered() as (server, _), httpx.AsyncClient(base_url=server.url) as client:
        for method in ("GET", "POST", "DELETE"):
            answers = set()
            for key in (None, "", f"Basic {KEY}", f"Bearer {KEY}x", "Bearer", "Bearer \u00e9"):
                headers = {} if key is None else {"Authorization": key.encode()}
                answers.add((await client.request(method, f"/api/admin/{path}", headers=headers)).status_code)
            assert answers in ({401}, {404}), (method, answers)
        assert KEY not in repr(server.settings)
        assert KEY not in repr(vars(server))
    async with serving() as server, httpx.AsyncClient(base_url=server.url) as client:  # it has no administrator
        answer = await client.post(f"/api/admin/{path}", headers={"Authorization": "Bearer x"}, json={})
        assert answer.status_code == 404


async def test_a_roster_of_bots() -> None:
    async with administered() as (server, admin):
        made = await admin.post("/bots", content="name,key\nann,annsannn\nbob,\n", headers={"Content-Type": "text/csv"})
        assert made.status_code == 201
        assert made.headers["cache-control"] == "no-store"
        ann, bob = made.json()
        assert ann == {"name": "ann"}  # the owner of the key knows it
        assert len(bob["key"]) == 8
        again = await admin.post("/bots", json=[{"name": "eve", "key": "annsannn"}, "mallory"])
        assert (again.status_code, again.json()["error"]) == (
            400, "the key of eve is already in use; no bot was registered"
        )  # fmt: skip
        assert server.lobby.users.by_name("mallory") is None
        for body in ("nonsense", "{}", '["a", "a"]', '[{"name": "a", "key": "short"}]', "[" * 5000, "[1]", '["\\ud800"]'):
            refused = await admin.post("/bots", content=body)
            assert refused.status_code == 400, body
            assert refused.json()["error"]


async def test_a_private_match_from_beginning_to_end() -> None:
    async with administered() as (server, admin), bots_of(server, admin, "ann", "bob") as bots:
        wanted = {"seats": ["ann", "random", "bob", "ann"], "map": MAP, "rounds": 2, "time_limit_ms": 5000, "seed": 7}
        wanted["seat_limits_ms"] = [None, None, 4000, None]
        made = (await admin.post("/matches", json=wanted)).json()
        assert made["state"] == "waiting"
        assert made["missing"] == ["ann", "bob", "ann"]
        other = Bot(server, bots[0].key, bots[0].client)

        async def play(bot: Bot) -> None:
            response = await bot.join("arena")
            limit = 4000 if bot.state["hero"]["id"] == 3 else 5000
            assert limit - 1000 < int(response.headers["x-vindibot-time-limit"]) <= limit
            await bot.play_on()

        await asyncio.gather(*(play(bot) for bot in (*bots, other)))
        await until(lambda: not server.lobby._running)
        ended = (await admin.get(f"/matches/{made['id']}")).json()
        assert (ended["state"], ended["game"]) == ("finished", bots[1].game["id"])
        assert ended["result"]["names"] == ["ann", "random", "bob", "ann"]
        assert (ended["result"]["turn"], ended["result"]["ending"]) == (8, "finished")
        assert [one["id"] for one in (await admin.get("/matches")).json()] == [made["id"]]


async def test_a_match_that_is_called_off() -> None:
    async with administered() as (server, admin), bots_of(server, admin, "ann", "bob") as [ann, bob]:
        made = (await admin.post("/matches", json={"seats": ["ann", "bob", "random", "random"]})).json()
        waiting = asyncio.create_task(ann.join("arena"))
        [match] = server.lobby.matches
        await until(lambda: match.missing() == ["bob"])
        assert (await admin.delete(f"/matches/{made['id']}")).json()["state"] == "cancelled"
        response = await waiting
        assert (response.status_code, response.text) == (400, "Vindinium - The match was cancelled")
        assert await match.ended() is None
        assert (await bob.join("training")).json()["game"]["heroes"][0]["name"] == "bob"
        assert (await admin.delete("/matches/nosuch")).status_code == 404


@pytest.mark.parametrize(
    ("path", "wanted", "says"),
    [
        ("/matches", {"seats": ["ann"]}, "seats must have at least 4 items"),
        ("/matches", {"seats": ["random", "eve", "random", "random"]}, "no bot with the id or name 'eve'"),
        ("/matches", {"seats": ["random"] * 4, "map": "??"}, "the map of the match: line 1, column 1"),
        ("/matches", {"seats": ["random"] * 4, "rounds": 0}, "rounds must be at least 1"),
        ("/matches", {"seats": ["random"] * 4, "colour": 1}, "colour is an unknown key"),
        ("/matches", [], "must be"),
        ("/leagues", LEAGUE | {"roster": ["ann"]}, "at least two bots"),
        ("/leagues", LEAGUE | {"roster": ["ann", 5]}, "entry 2: a name and a key must be strings"),
        ("/leagues", LEAGUE | {"name": "../cup"}, "name"),
        ("/leagues", LEAGUE | {"settings": {"seatings": 7}}, "settings.seatings must be at most 6"),
        ("/leagues", LEAGUE | {"settings": {"maps": ["@1"]}}, "map 1 of the league: line 1"),
    ],
)
async def test_matches_and_leagues_that_cannot_be(path: str, wanted: Any, says: str) -> None:
    async with administered() as (server, admin):
        refused = await admin.post(path, json=wanted)
        assert refused.status_code == 400
        assert says in refused.text
        assert not server.lobby.matches
        assert not server.leagues.directors


async def test_a_league_made_paused_and_ended_over_http(tmp_path: Path) -> None:
    async with administered(league=tmp_path) as (server, admin):
        settings = {"table": "duel", "rounds": 1, "seatings": 1, "maps": [MAP]}
        wanted = {"name": "cup", "settings": settings, "roster": ["ann", {"name": "bob", "key": "bobsbobs"}, "cid"]}
        made = await admin.post("/leagues", json=wanted)
        assert made.status_code == 201, made.text
        keys = {bot["name"]: bot.get("key", "bobsbobs") for bot in made.json()["bots"]}
        assert "key" not in made.json()["bots"][1]
        kept = (tmp_path / "cup.league.json").read_text()
        assert not [key for key in keys.values() if key in kept]
        assert (await admin.post("/leagues", json=wanted)).json() == {"error": "there is already a league named cup"}
        assert (await admin.post("/leagues/cup/pause")).json()["state"] == "paused"
        async with httpx.AsyncClient(base_url=server.url, timeout=30) as client:
            bots = [Bot(server, keys[name], client) for name in ("ann", "ann", "bob", "bob")]
            joins = [asyncio.create_task(bot.join("arena")) for bot in bots]
            director = server.leagues.directors["cup"]
            await until(lambda: director.waiting() == {"ann": 2, "bob": 2})
            assert not director.running
            await admin.post("/leagues/cup/resume")

            async def play(bot: Bot, join: asyncio.Task[httpx.Response]) -> None:
                await join
                await bot.play_on()

            await asyncio.gather(*(play(bot, join) for bot, join in zip(bots, joins, strict=True)))
        whole = (await admin.get("/leagues/cup")).json()
        assert whole["bots"] == ["ann", "bob", "cid"]
        assert sum("result" in fixture and fixture["result"] is not None for fixture in whole["fixtures"]) == 1
        assert whole["missing"] == ["ann", "bob", "cid"]
        assert (await admin.post("/leagues/cup/end")).json()["state"] == "over"
        assert (await admin.post("/leagues/cup/resume")).json() == {"error": "the league is over"}
        assert (await admin.post("/leagues/cup/fly")).status_code == 422
        assert [one["name"] for one in (await admin.get("/leagues")).json()] == ["cup"]
