"""The page of a game in a frame of a page of another server, and what it says to programs that make previews of links."""

from __future__ import annotations

import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from html import unescape
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import httpx
import pytest
from playwright.async_api import Browser, Page

from tests.support.browser import until, visiting
from tests.support.serving import MAP, playing, serving

pytestmark = pytest.mark.asyncio(loop_scope="session")

#: A page that gives its frames the heights that they tell, as docs/viewer.md describes.
LESSON = """<!DOCTYPE html><title>Lesson</title>
<iframe id="bare" src="{game}?turn=4&autoplay&loop&controls=0" width="500" height="150"></iframe>
<iframe id="whole" src="{game}" width="900" height="150"></iframe>
<iframe id="home" src="{home}"></iframe>
<script>
  addEventListener('message', ({{ data, source }}) => {{
    if (data?.type !== 'vindibot') return;
    for (const frame of document.querySelectorAll('iframe'))
      if (frame.contentWindow === source) frame.style.height = `${{data.height}}px`;
  }});
</script>"""
#: Whether all of a page is visible without scrolling.
FITS = "innerHeight > 200 && document.documentElement.scrollHeight <= innerHeight"
#: Counts how often the game begins again, and lets it do so soon.
COUNT = """() => {
  const { clock } = vindibotPage, { from } = clock;
  window.begun = 0;
  clock.rest = 0.01;
  clock.from = () => (window.begun++, from());
  clock.setSpeed(64);
}"""
NASTY = '"><script>'


@contextmanager
def elsewhere(folder: Path) -> Iterator[str]:
    """Serve the files of a folder on another port, and yield the address of this other server."""
    with ThreadingHTTPServer(("127.0.0.1", 0), partial(SimpleHTTPRequestHandler, directory=str(folder))) as other:
        thread = threading.Thread(target=other.serve_forever)
        thread.start()
        try:
            yield f"http://127.0.0.1:{other.server_port}"
        finally:
            other.shutdown()
            thread.join()


async def inside(page: Page, frame: str) -> Any:
    """Return the page within a frame."""
    return await (await page.wait_for_selector(f"#{frame}")).content_frame()


@pytest.mark.slow_pages
async def test_a_game_plays_in_a_frame_of_another_page(browser: Browser, tmp_path: Path) -> None:
    async with serving() as server, playing(server, "ann") as [bot]:
        await bot.play("training", turns=5, map=MAP)
        game = f"{server.url}/{bot.game['id']}"
        (tmp_path / "lesson.html").write_text(LESSON.format(game=game, home=server.url))
        with elsewhere(tmp_path) as url:
            async with visiting(browser, f"{url}/lesson.html", expected=["frame-ancestors", "404 (File not found)"]) as page:
                whole, bare, home = [await inside(page, name) for name in ("whole", "bare", "home")]
                for frame in (whole, bare):
                    await until(frame, FITS)
                assert await whole.get_by_role("link", name="Games").get_attribute("target") == "_blank"
                assert await whole.get_by_role("slider", name="Time").is_visible()
                await until(bare, "vindibotPage.game.last === 20 && vindibotPage.clock.playing")
                assert await bare.evaluate("vindibotPage.clock.state") >= 4
                await bare.evaluate(COUNT)
                await until(bare, "begun >= 2")
                assert await bare.evaluate("vindibotPage.clock.from()") == 4
                assert not await bare.get_by_role("slider", name="Time").is_visible()
                link = bare.get_by_role("link", name=f"game {bot.game['id']}")
                assert await link.get_attribute("href") == f"/{bot.game['id']}"
                await bare.get_by_role("button", name="Pause").click()
                assert not await bare.evaluate("vindibotPage.clock.playing")
                assert home.url.startswith("chrome-error:"), "the browser refuses to show other pages in a frame"


@pytest.mark.slow_pages
async def test_nothing_moves_by_itself_for_a_reader_who_asks_for_little_motion(browser: Browser) -> None:
    async with serving() as server, playing(server, "ann") as [bot]:
        await bot.play("training", turns=1, map=MAP)
        address = f"{server.url}/{bot.game['id']}?autoplay&controls=0"
        async with visiting(browser, address, reduced_motion="reduce") as page:
            await until(page, "vindibotPage.stream.state === 'complete'")
            assert await page.evaluate("[vindibotPage.clock.playing, vindibotPage.clock.state]") == [False, 0]
            await page.get_by_role("button", name="Play").click()
            await until(page, "vindibotPage.clock.state === 4")


async def test_only_the_page_of_a_game_may_be_framed() -> None:
    async with serving(rounds=1) as server, playing(server, "ann") as [bot]:
        await bot.join(turns=1, map=MAP)
        game = f"/{bot.game['id']}"
        for _ in ("running", "over"):
            assert "frame-ancestors *" in (await bot.client.get(game)).headers["content-security-policy"]
            for path in ("/", "/tv", "/register", "/games", "/ai", f"{game}?text", f"{game}.svg", "/no-such-page"):
                policy = (await bot.client.get(path)).headers["content-security-policy"]
                assert "frame-ancestors 'none'" in policy, path
            await bot.play_on()


async def test_a_preview_has_a_title_and_a_picture_but_no_result() -> None:
    async with serving() as server, playing(server, NASTY) as [bot]:
        await bot.join(turns=2, map=MAP)
        game_id = bot.game["id"]
        assert properties(await bot.client.get(f"/{game_id}"))["og:image"] == f"{server.url}/{game_id}.png"
        await bot.play_on()
        assert properties(await bot.client.get(f"/{game_id}")) == {
            "og:type": "website",
            "og:site_name": "Vindinium",
            "og:title": f"game {game_id}",
            "og:description": f"{NASTY}, random, random, random: 2 rounds on 5 x 5 squares",
            "og:url": f"{server.url}/{game_id}",
            "og:image": f"{server.url}/{game_id}.png?turn=4",
            "og:image:type": "image/png",
        }


def properties(page: httpx.Response) -> dict[str, str]:
    """The Open Graph properties of a page."""
    assert NASTY not in page.text
    found = re.findall(r'<meta property="([^"]*)" content="([^"]*)">', page.text)
    return {name: unescape(content) for name, content in found}
