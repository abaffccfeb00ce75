"""The pages have no serious violation that axe-core finds, in dark and in light colours."""

from __future__ import annotations

import asyncio
import json
import os
import threading
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio

from tests.arena.test_report import tournament
from tests.league.test_league import new_league, roster
from tests.support.axe import SCHEMES, Scheme, violations
from tests.support.browser import DESKTOP, PHONE, visiting
from tests.support.challenges import Visitor, hosting
from tests.support.recorded import record, states_of
from tests.support.reviewed import SAMPLE
from tests.support.serving import Bot, playing, serving
from vindibot.arena.report.page import report
from vindibot.arena.report.summary import summarise
from vindibot.challenge.routes import PATH
from vindibot.viewer.bundle import bundle_of
from vindibot.viewer.page import whole_page
from vindibot.viewer.replay import replay_file

pytestmark = pytest.mark.asyncio(loop_scope="session")

#: What a browser says of a page, or of an icon of the server, that does not exist.
MISSING = ["404 (Not Found)"]
#: A variable with the folder of the web site of the documents.
SITE = "TESTS_DOCUMENTS_SITE"
#: Pages of a server. The names in braces are replaced by what the server has.
PAGES = [
    "/",
    "/{finished}",
    "/ai/{bot}",
    "/leagues/cup",
    "/running",
    "/games",
    "/{running}",
    "/ai",
    "/leagues",
    "/leagues/cup/projector",
    "/leagues/cup/games",
    "/leagues/cup/bots/1",
    "/leagues/cup/organiser",
    "/register",
    "/doc",
    "/starters",
    "/tv",
    "/no-such-page",
]


@asynccontextmanager
async def opened(browser: Any, address: str, schemes: Sequence[Scheme] = SCHEMES, **options: Any) -> AsyncIterator[Any]:
    """A page that is checked at the end of the block, in the colours of `schemes`."""
    async with visiting(browser, address, bypass_csp=True, **options) as page:
        yield page
        found = [line for scheme in schemes for line in await violations(page, scheme)]
    assert not found, "\n".join(found)


# ---- The viewer ----


@pytest.fixture(scope="module")
def game_page(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The address of the page of a game in one file, in the middle of the game."""
    bundle = bundle_of(record(tmp_path_factory.mktemp("game"), states_of(4, 480), 1))
    path = tmp_path_factory.mktemp("page") / "game.html"
    path.write_text(whole_page(json.loads(json.dumps(bundle))))
    return f"{path.as_uri()}#turn=212"


@pytest.mark.slow_pages
@pytest.mark.parametrize("size", [DESKTOP, PHONE], ids=["desktop", "phone"])
async def test_the_page_of_a_recorded_game(browser: Any, game_page: str, size: tuple[int, int]) -> None:
    async with opened(browser, game_page, size=size):
        pass


@pytest.mark.slow_pages
@pytest.mark.parametrize("size", [DESKTOP, PHONE], ids=["desktop", "phone"])
async def test_the_page_of_a_reviewed_game(browser: Any, tmp_path: Path, size: tuple[int, int]) -> None:
    path = replay_file(SAMPLE, tmp_path / "game.html")
    async with opened(browser, f"{path.as_uri()}#turn=92", size=size) as page:
        await page.keyboard.press("p")
        await page.keyboard.press("Space")
        await page.get_by_role("button", name="Back to the game").wait_for()


@pytest.mark.slow_pages
async def test_the_keys_of_the_viewer(browser: Any, game_page: str) -> None:
    async with opened(browser, game_page) as page:
        await page.keyboard.press("?")
        await page.get_by_role("dialog").wait_for()


# ---- The server ----


async def play_arena_game(bot: Bot) -> None:
    await bot.join("arena")
    await bot.play_on()


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def site(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[tuple[str, dict[str, str]]]:
    """The address of a server with a finished game, a running game and a league, and the names of what it has."""
    path = tmp_path_factory.mktemp("league") / "cup.league.json"
    new_league(path, roster("ann", "bob", "cid", "dot"))
    async with serving(league=path, rounds=5) as server, playing(server, "one", "two", "three", "four", "five") as bots:
        four, five = bots[:4], bots[4]
        await asyncio.gather(*map(play_arena_game, four))
        await five.join(turns=50)
        for _ in range(10):
            await five.move("North")
        yield server.url, {"finished": four[0].game["id"], "running": five.game["id"], "bot": four[0].state["hero"]["userId"]}


@pytest.mark.slow_pages
@pytest.mark.parametrize("path", PAGES)
async def test_the_pages_of_a_server(browser: Any, site: tuple[str, dict[str, str]], path: str) -> None:
    address, names = site
    async with opened(browser, address + path.format(**names), expected=MISSING):
        pass


@pytest.mark.slow_pages
async def test_the_page_after_a_registration(browser: Any, site: tuple[str, dict[str, str]]) -> None:
    async with opened(browser, f"{site[0]}/register", expected=MISSING) as page:
        await page.get_by_role("textbox").fill("a new bot")
        await page.keyboard.press("Enter")
        await page.locator("#user-key").wait_for()


# ---- Other pages ----


class SilentHandler(SimpleHTTPRequestHandler):
    """Serves files and prints nothing."""

    def log_message(self, *words: Any) -> None:
        """Override."""


@pytest.fixture(scope="module")
def documents() -> Iterator[str]:
    """The address of the web site of the documents."""
    if SITE not in os.environ:
        pytest.skip(f"{SITE} does not name the folder that `.ci/site` has built")
    with ThreadingHTTPServer(("127.0.0.1", 0), partial(SilentHandler, directory=os.environ[SITE])) as server:
        threading.Thread(target=server.serve_forever).start()
        yield f"http://127.0.0.1:{server.server_port}/"
        server.shutdown()


@pytest.mark.slow_pages
@pytest.mark.parametrize("page", ["index", "strength", "reference/traits"])
@pytest.mark.parametrize("scheme", SCHEMES)
async def test_the_web_site_of_the_documents(browser: Any, documents: str, page: str, scheme: Scheme) -> None:
    async with opened(browser, f"{documents}{page}.html", schemes=(scheme,), color_scheme=scheme):
        pass


@pytest.mark.slow_pages
async def test_a_copy_button_of_the_web_site_copies_only_commands(browser: Any, documents: str) -> None:
    async with visiting(browser, f"{documents}first-bot.html", permissions=["clipboard-read", "clipboard-write"]) as page:
        button = page.locator("div.highlight", has_text="vindibot init mybot").locator("[data-clipboard-target]")
        await button.click()
        assert (await page.evaluate("navigator.clipboard.readText()")).splitlines() == [
            "vindibot init mybot",
            "cd mybot",
            "vindibot play --bot bot.toml --against sparring/hunter",
        ]


@pytest.mark.slow_pages
async def test_the_home_page_of_the_web_site_begins_like_the_readme(browser: Any, documents: str) -> None:
    async with visiting(browser, f"{documents}index.html") as page:
        assert await page.locator("h1").first.inner_text() != "Documents"
        for text in ("vindibot brings the game back", "vindibot play", "Your first bot"):
            await page.locator(".md-content").get_by_text(text).first.wait_for()
        assert await page.evaluate("[...document.images].every((image) => image.naturalWidth > 0)")


@pytest.mark.slow_pages
async def test_the_page_of_challenges(browser: Any, tmp_path: Path) -> None:
    async with hosting(tmp_path, your_limit_s=0) as (_, server, _), opened(browser, server.url + PATH):
        pass


@pytest.mark.slow_pages
async def test_a_game_against_bots(browser: Any, tmp_path: Path) -> None:
    async with hosting(tmp_path, your_limit_s=0) as (_, server, _), opened(browser, server.url + PATH) as page:
        await page.get_by_role("button", name="Play", exact=True).click()
        await page.get_by_text("Round 1 of ").and_(page.locator(".ours-now")).wait_for()
        await page.keyboard.press("ArrowDown")
        await page.get_by_text("Round 2 of ").and_(page.locator(".ours-now")).wait_for()
        await page.keyboard.press("v")


@pytest.mark.slow_pages
async def test_the_pages_of_a_game_of_several_people(browser: Any, tmp_path: Path) -> None:
    async with hosting(tmp_path, people=2, seconds=600) as (host, server, client):
        address = f"{server.url}{PATH}"
        links = await Visitor(client, host.people.token).links()
        async with (
            opened(browser, f"{address}#{host.people.token}", size=PHONE) as start,
            opened(browser, f"{address}#{links[0]}", size=PHONE) as ann,
            opened(browser, f"{address}#{links[1]}") as bob,
            opened(browser, address) as watching,
        ):
            await watching.get_by_text("The game has not begun").wait_for()
            for page in (start, ann, watching):
                assert not [line for scheme in SCHEMES for line in await violations(page, scheme)]
            for page, name in ((ann, "ann"), (bob, "bob")):
                await page.get_by_label("Your name").fill(name)
                await page.get_by_role("button", name="I am here").click()
            for page in (ann, bob, start, watching):
                await page.get_by_text("Round 1 of ").wait_for()


@pytest.mark.slow_pages
async def test_the_report_of_a_tournament(browser: Any, tmp_path: Path) -> None:
    games = tournament()
    path = tmp_path / "cup.html"
    path.write_text(report(path.with_suffix(".jsonl"), summarise(games), games))
    async with opened(browser, path.as_uri()):
        pass
