"""The page of a game of several people in a real browser: the start page, the pages of the people, a spectator."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.support.browser import PHONE, visiting
from tests.support.challenges import NASTY, Visitor, fits, hosting, our_turn
from tests.support.waiting import until
from vindibot.challenge.routes import PATH

pytestmark = pytest.mark.asyncio(loop_scope="session")

SMALL = (360, 740)


@asynccontextmanager
async def gathered(
    browser: Any, folder: Path, sizes: tuple[tuple[int, int], ...], **settings: Any
) -> AsyncIterator[tuple[Any, Any, list[Any]]]:
    """A host, its start page, and the page of each person in a window of its own. Their sizes are `sizes`."""
    async with hosting(folder, people=len(sizes), **settings) as (host, server, client), AsyncExitStack() as windows:
        start = await windows.enter_async_context(visiting(browser, f"{server.url}{PATH}#{host.people.token}"))
        tokens = await Visitor(client, host.people.token).links()
        pages = [
            await windows.enter_async_context(
                visiting(browser, f"{server.url}{PATH}#{token}", size=size, has_touch=size != SMALL)
            )
            for token, size in zip(tokens, sizes, strict=True)
        ]
        yield host, start, pages


async def come(page: Any, name: str) -> None:
    await page.get_by_label("Your name").fill(name)
    await page.get_by_role("button", name="I am here").click()


@pytest.mark.slow_pages
async def test_two_people_by_keyboard_and_touch_and_a_spectator(browser: Any, tmp_path: Path) -> None:
    async with gathered(browser, tmp_path, (SMALL, PHONE), rounds=2, seconds=600) as (host, start, (ann, bob)):
        await start.get_by_text("0 of 2 people are here").wait_for()
        assert host.people.token not in start.url, "a projector shows the address"
        assert await start.get_by_role("img", name="QR code of the link of hero 1").is_visible()
        links = [await link.get_attribute("href") for link in await start.get_by_role("link", name="Open").all()]
        assert links == [page.url for page in (ann, bob)]
        await come(ann, NASTY)
        await start.get_by_text("1 of 2 people are here").wait_for()
        assert not await start.get_by_role("img", name="QR code of the link of hero 1").is_visible()
        assert await fits(ann)
        watching = await start.context.new_page()
        await watching.goto(links[0].partition("#")[0])
        await watching.get_by_text("The game has not begun").wait_for()
        assert not await watching.get_by_role("link", name="Open").count()
        await come(bob, "bob")
        for page in (start, watching):
            await page.get_by_text(f"Round 1 of 2. {NASTY} moves").wait_for()
            await page.get_by_text("s left").wait_for()
            assert not await page.locator(".pad").count()
        await our_turn(ann, 1)
        assert not await ann.get_by_text("Show how the bots decided").count(), "the votes of the bots help one person"
        await ann.keyboard.press("ArrowUp")
        await our_turn(bob, 1)
        await bob.reload()
        await our_turn(bob, 1)
        await bob.get_by_role("button", name="East", exact=True).tap()
        await our_turn(ann, 2)
        for page in (ann, bob, start):
            assert await fits(page)
        await ann.get_by_role("button", name="South", exact=True).click()
        await our_turn(bob, 2)
        await bob.get_by_role("button", name="Stay", exact=True).tap()
        room = host.people.game.room
        for page in (ann, bob, start, watching):
            await page.get_by_role("region", name="Result").wait_for()
        assert [room.moves[hero::4] for hero in (0, 1)] == [[1, 2], [3, 0]]
        await watching.close()
        await start.get_by_role("button", name="Play again").click()
        await our_turn(ann, 1)
        await until(lambda: len(host.notes) == 1)


@pytest.mark.slow_pages
async def test_the_start_page_starts_without_the_others_and_ends_the_game(browser: Any, tmp_path: Path) -> None:
    bot = tmp_path / "mine.toml"
    bot.write_text('extends = "stay"\n')
    async with gathered(browser, tmp_path, (SMALL, SMALL), bots=(str(bot),), rounds=50, seconds=600) as (host, start, (ann, bob)):
        button = start.get_by_role("button", name="Start without the others")
        await button.and_(start.locator(":disabled")).wait_for()
        await come(ann, "ann")
        bot.write_text('extends = "nothing"\n')
        await button.click()
        problems = [page.get_by_role("alert").filter(has_text="mine.toml") for page in (start, ann)]
        for problem in problems:
            await problem.wait_for()
        bot.write_text('extends = "stay"\n')
        await button.click()
        await our_turn(ann, 1)
        for problem in problems:
            await problem.wait_for(state="detached")
        await bob.get_by_text("Round 1 of 50").wait_for()
        assert await fits(bob)
        await come(bob, "bob")
        await bob.get_by_text("You play hero 2 in the next game").wait_for()
        assert not await bob.locator(".pad").count()
        start.on("dialog", lambda dialog: dialog.accept())
        await start.get_by_role("button", name="End the game").click()
        for page in (start, ann, bob):
            await page.get_by_role("heading", name="The game has ended").wait_for()
        await start.get_by_role("button", name="Play again").click()
        await our_turn(ann, 1)
        assert sorted(host.people.game.setup.people) == [0, 1]


@pytest.mark.slow_pages
async def test_four_people_in_the_tabs_of_one_browser(browser: Any, tmp_path: Path) -> None:
    """A browser has only six connections to a server: the pages must not keep them busy."""
    async with (
        hosting(tmp_path, people=4, rounds=2, seconds=600) as (host, server, client),
        visiting(browser, f"{server.url}{PATH}#{host.people.token}") as start,
    ):
        tabs = []
        for token in await Visitor(client, host.people.token).links():
            tabs.append(await start.context.new_page())
            await tabs[-1].goto(f"{server.url}{PATH}#{token}")
            await come(tabs[-1], f"person {len(tabs)}")
        for number in (1, 2):
            for tab in tabs:
                await our_turn(tab, number)
                await tab.keyboard.press("ArrowUp")
        for page in (start, *tabs):
            await page.get_by_role("region", name="Result").wait_for()
        assert host.people.game.room.moves == [1] * 8


@pytest.mark.slow_pages
async def test_a_wrong_link_says_so(browser: Any, tmp_path: Path) -> None:
    expected = ["404 (Not Found)"]
    async with (
        hosting(tmp_path, people=2) as (_, server, _),
        visiting(browser, f"{server.url}{PATH}#wrong", expected=expected) as page,
    ):
        await page.get_by_role("alert").filter(has_text="This link is not valid").wait_for()
        await page.evaluate("sessionStorage.setItem('vindibot-challenge-organiser', 'of an earlier command')")
        await page.goto(f"{server.url}{PATH}?again")
        await page.get_by_role("alert").filter(has_text="This link is not valid").wait_for()
        await page.reload()
        await page.get_by_text("The game has not begun").wait_for()
