"""The page of a game from the server, without a browser: its policy, its files and its events."""

from __future__ import annotations

import asyncio
import json
import re
from typing import Any

import httpx

from tests.support.serving import MAP, match_of_four, playing, serving
from tests.support.waiting import until
from vindibot.games.game_record import loads
from vindibot.server.site.feed import PageEncoder
from vindibot.viewer.bundle import bundle_of
from vindibot.viewer.page import served_page, static_files

NASTY = "</script><script>1"


def bundle_in(markup: str) -> tuple[dict[str, Any], str]:
    """Return the bundle in a page, and the address of its events."""
    found = re.search(r'<script type="application/json" id="game"([^>]*)>(.*?)</script>', markup, re.DOTALL)
    assert found is not None
    events = re.search(r'data-events="([^"]*)"', found.group(1))
    bundle: dict[str, Any] = json.loads(found.group(2))
    return bundle, events.group(1) if events else ""


def grown(bundle: dict[str, Any], stream: str) -> dict[str, Any]:
    """Return the bundle after the events of a stream, which must have an end."""
    events = [event for event in stream.split("\n\n") if "data: " in event]
    assert events[-1].startswith("event: end\n")
    for event in events:
        data = next(line for line in event.splitlines() if line.startswith("data: "))
        patch = json.loads(data[6:])
        known = len(bundle["plies"])
        if "plies" in patch:
            assert patch["from"] <= known
            bundle["plies"] += patch["plies"][known - patch["from"] :]
        bundle |= {key: patch[key] for key in ("ending", "results") if key in patch}
    return bundle


async def archived_bundle(client: httpx.AsyncClient, game_id: str) -> dict[str, Any]:
    return bundle_of(loads((await client.get(f"/records/{game_id}")).content))


async def test_the_page_of_a_game_and_its_events_live_and_archived() -> None:
    async with serving(keep_finished_seconds=0) as server, playing(server, NASTY) as [bot]:
        await bot.join(turns=20)
        path = f"/{bot.game['id']}"
        live = await bot.client.get(bot.state["viewUrl"])
        assert live.text.count("</script>") == 3
        bundle, events = bundle_in(live.text)
        assert bundle["live"]
        assert bundle["players"][0]["name"] == NASTY
        watcher = asyncio.create_task(bot.client.get(events))
        await bot.play_on("North")
        live_bundle = grown(bundle, (await watcher).text)
        await until(lambda: not server.lobby.rooms)
        whole = await archived_bundle(bot.client, bot.game["id"])
        for key in ("plies", "ending", "results", "start", "tiles", "spawns", "players", "limit_ms", "max_turns"):
            assert live_bundle[key] == whole[key], key
        archived = await bot.client.get(path)
        bundle, events = bundle_in(archived.text)
        assert not bundle["live"]
        assert grown(bundle, (await bot.client.get(events)).text)["plies"] == whole["plies"]
        assert bot.key not in live.text + archived.text
        assert bot.state["token"] not in re.findall(r"\w+", live.text + archived.text)


async def test_a_new_connection_gets_the_missing_events() -> None:
    async with serving() as server, playing(server, "seed") as [bot]:
        await bot.join(turns=15)
        address = f"/plies/{bot.game['id']}"
        for _ in range(5):
            await bot.move("South")
        rest = asyncio.create_task(bot.client.get(address, headers={"Last-Event-ID": "7"}))
        await bot.play_on("West")
        whole = await archived_bundle(bot.client, bot.game["id"])
        numbers = [int(number) for number in re.findall(r"^id: (\d+)$", (await rest).text, re.MULTILINE)]
        assert numbers == sorted(numbers)
        assert (numbers[0] > 7, numbers[-2:]) == (True, [60, 60])
        assert grown(whole | {"plies": whole["plies"][:7]}, (await rest).text)["plies"] == whole["plies"]
        for after in ("59", "60", "99", "x"):
            late = (await bot.client.get(address, headers={"Last-Event-ID": after})).text
            start = whole | {"plies": whole["plies"][: int(after)] if after != "x" else [], "ending": None}
            assert grown(start, late)["ending"] == {"kind": "finished", "message": ""}
        archived = (await bot.client.get(address)).text
        assert archived.count("data: ") < 10, "an event has several plies"
        assert grown(whole | {"plies": []}, archived)["plies"] == whole["plies"]
        assert (await bot.client.get("/plies/nothing0")).status_code == 404


async def test_a_game_that_the_closing_server_interrupts() -> None:
    """The page does not take it for finished, and no hero crashes because its client goes away then."""
    async with serving() as server, match_of_four(server) as (bots, _):
        game = bots[0].game["id"]
        room = server.lobby.rooms[game]
        watcher = asyncio.create_task(bots[0].client.get(f"/plies/{game}"))
        await until(lambda: server.streams.feed(game, PageEncoder).readers)
        server.end_games()
        room.withdraw(room.seats[0])
        server.streams.close()
        ended = grown({"plies": []}, (await watcher).text)
        assert (ended["plies"], ended["ending"]["kind"]) == ([], "interrupted")


async def test_crashes_are_events() -> None:
    async with serving(time_limit_ms=30) as server, playing(server, "slow") as [bot]:
        await bot.join(turns=5, map=MAP)
        stream = await bot.client.get(f"/plies/{bot.game['id']}")
        bundle = await archived_bundle(bot.client, bot.game["id"])
        assert grown(bundle | {"plies": []}, stream.text)["plies"] == [{"t": 0, "h": 0, "o": 5, **bundle["plies"][0]}]
        assert bundle["plies"][0]["e"] == [["crash", 0]]
        assert bundle["ending"]["kind"] == "all-crashed"


async def test_the_policy_allows_only_the_pages_own_files() -> None:
    async with serving() as server, playing(server, "seed") as [bot]:
        await bot.join(turns=5)
        page = await bot.client.get(bot.state["viewUrl"])
        policy = page.headers["content-security-policy"]
        assert policy.startswith("default-src 'none'; script-src 'self'; ")
        assert "unsafe" not in policy
        assert page.headers["x-content-type-options"] == "nosniff"
        assert not re.search(r"""(src|href)=["'](https?:)?//""", page.text)
        for name, content in static_files().items():
            file = await bot.client.get(f"/viewer/{name}")
            assert file.content == content
            assert file.headers["content-type"].startswith("text/")
            again = await bot.client.get(f"/viewer/{name}", headers={"If-None-Match": file.headers["etag"]})
            assert (again.status_code, again.content) == (304, b"")
        for path in ("/viewer/none.js", "/viewer/..%2Fpage.py", "/viewer/__init__.py"):
            assert (await bot.client.get(path)).status_code == 404


def test_json_in_html_is_unchanged() -> None:
    value = {"title": "", "name": "</script><!--<b>&amp;\u2028☃\ud800'\"", "number": 1.5}
    text = served_page(value, "/plies/x").partition(' id="game" data-events="/plies/x">')[2].partition("</script>\n")[0]
    assert json.loads(text) == value
    assert text.isascii()
    assert not set("<>&") & set(text)
