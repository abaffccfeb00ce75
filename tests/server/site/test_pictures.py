"""The pictures of games for pages elsewhere, from a server over real sockets."""

from __future__ import annotations

import asyncio
from io import BytesIO
from xml.etree import ElementTree

import httpx
import psutil
import pytest
from PIL import Image

from tests.support.serving import MAP, Bot, playing, serving
from tests.support.waiting import until
from vindibot.server.site import pictures

#: A name of a bot. In a picture it must be text, not a script.
NASTY = "<script>a</script>"


async def played(bot: Bot, rounds: int = 5) -> str:
    """Play a training game of so many rounds; its id."""
    await bot.join(turns=rounds, map=MAP)
    await bot.play_on()
    return str(bot.game["id"])


def children() -> list[psutil.Process]:
    return [child for child in psutil.Process().children(recursive=True) if "replay" in child.cmdline()]


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
            assert refused.status_code == 400
            assert words in refused.text
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


@pytest.mark.slow_long
async def test_a_gif_is_made_once_in_a_process_of_the_lowest_priority() -> None:
    async with serving() as server, playing(server, "ann") as [bot]:
        game_id = await played(bot)
        asked = [asyncio.create_task(bot.client.get(f"/{game_id}.gif")) for _ in range(3)]
        await until(lambda: [child for child in children() if child.nice() == 19], 30)
        assert len(children()) == 1
        other = await played(bot, 1)  # games go on meanwhile
        whole, *others = await asyncio.gather(*asked)
        assert whole.status_code == 200, whole.text
        assert whole.headers["content-type"] == "image/gif"
        assert [answer.content == whole.content for answer in others] == [True, True]
        with Image.open(BytesIO(whole.content)) as picture:
            assert picture.n_frames == 21
        again = asyncio.create_task(bot.client.get(f"/{game_id}.gif"))
        assert (await again).content == whole.content
        assert not children()
        part = await bot.client.get(f"/{other}.gif", params={"turns": "1-2"})
        with Image.open(BytesIO(part.content)) as picture:
            assert picture.n_frames == 2


async def test_a_gif_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[tuple[str, ...]] = []
    made = asyncio.Event()

    async def record(_: float, *words: str) -> None:
        asked.append(words)
        await made.wait()
        raise OSError("no process")

    monkeypatch.setattr(pictures, "MOST_ROUNDS", 3)
    monkeypatch.setattr(pictures, "MAX_WAITING", 2)
    monkeypatch.setattr(pictures, "run_lowest", record)
    async with serving() as server, playing(server, "ann") as [bot]:
        await bot.join(turns=5, map=MAP)
        address = f"/{bot.game['id']}.gif"
        refused = await bot.client.get(address)
        assert (refused.status_code, "The game runs" in refused.text) == (409, True)
        await bot.play_on()
        for turns, words in (
            ("5-21", "this game has the turns 0 to 20"),
            ("9-5", "There are no turns 9-5"),
            ("0-13", "at most 12 turns"),
            ("5", "no range of turns"),
            ("<b>", "no range of turns"),
        ):
            refused = await bot.client.get(address, params={"turns": turns})
            assert refused.status_code == 400
            assert words in refused.text
        assert (await bot.client.get("/nobody.gif")).status_code == 404
        assert not asked
        waiting = [asyncio.create_task(bot.client.get(address, params=turns)) for turns in ({}, {"turns": "0-4"})]
        await until(lambda: len(server.pictures._making) == 2)
        full = await bot.client.get(address, params={"turns": "0-5"})
        assert (full.status_code, full.headers["retry-after"]) == (503, "10")
        assert len(asked) == 1, "one at a time"
        assert asked[0][-1] == "8-20", "the last rounds of a longer game"
        made.set()
        assert [answer.status_code for answer in await asyncio.gather(*waiting)] == [503, 503]


async def test_the_oldest_pictures_are_dropped(monkeypatch: pytest.MonkeyPatch) -> None:
    async with serving() as server, playing(server, "ann") as [bot]:
        game_id = await played(bot)
        size = len((await bot.client.get(f"/{game_id}.svg?turn=0")).content)
        monkeypatch.setattr(pictures, "STORED_BYTES", int(2.5 * size))
        for turn in range(5):
            await bot.client.get(f"/{game_id}.svg?turn={turn}")
        stored = server.pictures._stored
        assert [turns for _, _, turns in stored] == [(3, 3), (4, 4)]
        assert server.pictures._bytes == sum(map(len, stored.values()))


@pytest.mark.slow_long
async def test_the_end_of_the_server_ends_the_process() -> None:
    async with serving() as server, playing(server, "ann") as [bot]:
        game_id = await played(bot, 300)
        asked = asyncio.create_task(bot.client.get(f"/{game_id}.gif"))
        await until(children, 30)
        left = children()
        await server.pictures.close()
        assert (await asked).status_code == 503
        assert (await bot.client.get(f"/{game_id}.gif?turns=0-1")).status_code == 503
    assert not psutil.wait_procs(left, 10)[1]
