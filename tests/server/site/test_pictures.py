"""The pictures of games for pages elsewhere, from a server over real sockets."""

from __future__ import annotations

import asyncio
import threading
from io import BytesIO
from xml.etree import ElementTree

import httpx
import pytest
from PIL import Image

from tests.support.serving import MAP, Bot, playing, serving
from tests.support.waiting import until
from vindibot.server.site import pictures

#: A name of a bot. In a picture it must be text, not a script.
NASTY = "<script>a</script>"


async def played(bot: Bot) -> str:
    """Play a training game, and return its id."""
    await bot.play("training", turns=5, map=MAP)
    return str(bot.game["id"])


async def test_an_svg_shows_a_turn_of_a_game_that_runs_or_is_over() -> None:
    async with serving() as server, playing(server, NASTY) as [bot]:
        await bot.join(turns=5, map=MAP)
        address = f"/{bot.game['id']}.svg"
        await bot.move()
        running = await bot.client.get(address)
        assert running.headers["cache-control"] == "no-cache"
        assert label(running).startswith("The board at turn 4.")
        await bot.play_on()
        over = await bot.client.get(address)
        assert label(over).startswith("The board at turn 20.")
        assert f"{NASTY}: life" in label(over)
        assert "max-age=" in over.headers["cache-control"]
        assert label(await bot.client.get(address, params={"turn": 7})).startswith("The board at turn 7.")
        for turn, words in (("21", "this game has the turns 0 to 20"), ("x", "'x' is no turn"), ("-1", "there is no turn -1")):
            refused = await bot.client.get(address, params={"turn": turn})
            assert (refused.status_code, words in refused.text) == (400, True)
        assert (await bot.client.get("/nobody.svg")).status_code == 404


def label(response: httpx.Response) -> str:
    """The description of a picture, which must be a whole SVG without anything that a browser would run or load."""
    assert response.status_code == 200, response.text
    assert response.headers["content-type"] == "image/svg+xml"
    assert "default-src 'none'" in response.headers["content-security-policy"]
    assert response.headers["x-content-type-options"] == "nosniff"
    drawn = ElementTree.fromstring(response.text)  # our own
    assert not [part for part in drawn.iter() if part.tag.endswith(("script", "foreignObject", "image", "}a"))]
    return drawn.attrib["aria-label"]


async def test_a_png_shows_the_same_turn_and_is_made_once() -> None:
    async with serving() as server, playing(server, NASTY) as [bot]:
        await bot.join(turns=5, map=MAP)
        address = f"/{bot.game['id']}.png"
        await bot.move()
        first, newest = await bot.client.get(address, params={"turn": 0}), await bot.client.get(address)
        assert first.headers["content-type"] == "image/png"
        assert newest.headers["cache-control"] == "no-cache"
        assert first.content != newest.content
        assert (await bot.client.get(address, params={"turn": 5})).status_code == 400
        await bot.play_on()
        over = await bot.client.get(address, params={"turn": 4})
        assert over.content == newest.content
        assert "max-age=" in over.headers["cache-control"]
        with Image.open(BytesIO(over.content)) as picture:
            assert picture.width >= 200
        assert (await bot.client.get(address, params={"turn": "21"})).status_code == 400
        assert (await bot.client.get("/nobody.png")).status_code == 404
        assert (await bot.client.get(f"/{bot.game['id']}.gif")).status_code == 404


async def test_pictures_are_limited(monkeypatch: pytest.MonkeyPatch) -> None:
    started, free = threading.Event(), threading.Event()

    def paint(*_: object) -> bytes:
        started.set()
        assert free.wait(30)
        return b"picture"

    monkeypatch.setattr(pictures, "MAX_WAITING", 2)
    monkeypatch.setattr(pictures.Pictures, "_draw", staticmethod(paint))
    async with serving() as server, playing(server, "ann", "bob") as [bot, other]:
        game_id = await played(bot)
        asked = [asyncio.create_task(bot.client.get(f"/{game_id}.png?turn={turn}")) for turn in range(2)]
        await until(lambda: server.pictures._waiting == 2 and started.is_set())
        await played(other)  # games go on
        full = await bot.client.get(f"/{game_id}.png?turn=2")
        assert (full.status_code, full.headers["retry-after"]) == (503, "10")
        free.set()
        assert [answer.status_code for answer in await asyncio.gather(*asked)] == [200, 200]


async def test_the_oldest_pictures_are_dropped(monkeypatch: pytest.MonkeyPatch) -> None:
    async with serving() as server, playing(server, "ann") as [bot]:
        game_id = await played(bot)
        size = len((await bot.client.get(f"/{game_id}.svg?turn=0")).content)
        monkeypatch.setattr(pictures, "STORED_BYTES", int(2.5 * size))
        for turn in range(5):
            await bot.client.get(f"/{game_id}.svg?turn={turn}")
        stored = server.pictures._stored
        assert [turn for _, _, turn, _ in stored] == [3, 4]
        assert server.pictures._bytes == sum(map(len, stored.values()))
