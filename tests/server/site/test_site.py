"""The server's pages in a real browser: the theme, boards that move, buttons that copy, the page for a projector."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from playwright.async_api import Browser

from tests.support.browser import DESKTOP, PHONE, until, visiting
from tests.support.serving import MAP, playing, serving
from vindibot.league.league import League
from vindibot.league.settings import LeagueSettings
from vindibot.league.standings import FixtureResult
from vindibot.server.admin.roster import RosterEntry

pytestmark = pytest.mark.asyncio(loop_scope="session")

THEME = "document.documentElement.dataset.theme"


@pytest.mark.slow_pages
async def test_the_theme_is_that_of_the_viewer_and_is_remembered(browser: Browser) -> None:
    async with serving() as server, playing(server, "ann") as [bot]:
        await bot.join(turns=5, map=MAP)
        async with visiting(browser, server.url, color_scheme="light") as page:
            assert await page.evaluate(THEME) == "light"
            light = await page.evaluate("getComputedStyle(document.body).backgroundColor")
            await page.get_by_role("button", name="Switch between dark and light").click()
            assert await page.evaluate(THEME) == "dark"
            dark = await page.evaluate("getComputedStyle(document.body).backgroundColor")
            assert dark != light
            for path in ("/doc", f"/{bot.game['id']}"):  # a page of ours, and the page of a game
                await page.goto(server.url + path)
                await until(page, f"{THEME} === 'dark'")
                assert await page.evaluate("getComputedStyle(document.body).backgroundColor") == dark


@pytest.mark.slow_pages
async def test_times_are_those_of_the_reader_and_stay_so(browser: Browser) -> None:
    times = "[...document.querySelectorAll('#results .ended time')].map((time) => time.textContent)"
    async with serving(rounds=1) as server, playing(server, "ann", "bob", "cid", "dot") as bots:
        await asyncio.gather(*(bot.play() for bot in bots))
        shown = {}
        for zone in ("UTC", "Asia/Tokyo"):
            async with visiting(browser, server.url, locale="en-GB", timezone_id=zone) as page:
                (shown[zone],) = await page.evaluate(times)
                async with page.expect_response(server.url + "/"):
                    pass
                await page.evaluate("new Promise(requestAnimationFrame)")
                assert await page.evaluate(times) == [shown[zone]], "a refresh does not change it"
        hours = [int(text.split(", ")[1].split(":")[0]) for text in (shown["UTC"], shown["Asia/Tokyo"])]
        assert (hours[0] + 9) % 24 == hours[1]
        assert "UTC" not in "".join(shown.values())


@pytest.mark.slow_pages
async def test_boards_of_running_games_move_in_place(browser: Browser) -> None:
    async with serving() as server, playing(server, "ann", "bob") as [bot, other]:
        await bot.join(turns=50, map=MAP)
        async with visiting(browser, server.url) as page:
            link = page.locator("#running a.open")
            await link.focus()
            await page.evaluate("document.querySelector('#running .open').mark = 1")
            await bot.move("South")
            await page.get_by_text("turn 4 of 200").wait_for()
            assert await page.evaluate("document.activeElement.mark") == 1, "the element stays, with its focus"
            assert await page.locator("#running circle.of1").get_attribute("cy") == "1.5"
            await other.join(turns=50, map=MAP)
            await until(page, "document.querySelectorAll('#running li').length === 2")
            assert await page.evaluate("document.activeElement.mark") == 1
            first = await page.locator("#running a.open").first.get_attribute("href")
            assert first == f"/{other.game['id']}", "the newest game comes first"
            server.end_games()
        async with visiting(browser, server.url, java_script_enabled=False) as page:
            assert await page.get_by_role("link", name="On air", exact=True).is_visible()
            assert not await page.get_by_role("button", name="Switch").is_visible()
            assert not await page.locator("button.copy").first.is_visible()


@pytest.mark.slow_pages
async def test_a_button_copies_the_command(browser: Browser) -> None:
    async with (
        serving() as server,
        visiting(browser, server.url, permissions=["clipboard-read", "clipboard-write"]) as page,
    ):
        button = page.get_by_role("button", name="Copy").first
        text = await page.locator(".command pre").first.text_content()
        await button.click()
        await page.get_by_role("button", name="Copied").wait_for()
        assert await page.evaluate("navigator.clipboard.readText()") == text
        await page.get_by_role("button", name="Copied").wait_for(state="detached")
        await page.evaluate("navigator.clipboard.writeText('before')")
        await page.evaluate("delete Navigator.prototype.clipboard")  # as on a page of another machine without https
        await page.get_by_role("button", name="Copy").first.click()
        await page.locator("#running").get_by_role("button", name="Copied").wait_for()
        async with page.expect_response("**/running"):
            pass
        assert await page.locator("#running").get_by_role("button", name="Copied").is_visible(), "a refresh leaves this word"
        await page.evaluate("document.querySelector('main').append(document.createElement('textarea'))")
        await page.locator("textarea").focus()
        await page.keyboard.press("Control+V")
        assert await page.locator("textarea").input_value() == text


#: As long and as wide as the name of a bot may be.
WIDE = "W" * 18


def league_file(path: Path, bots: int, name: str = "team ") -> Path:
    """Make a league of so many bots, which waits for its start."""
    roster = [RosterEntry(f"{name}{number:02}", f"key-{number:04}") for number in range(bots)]
    settings = LeagueSettings(table="duel", system="swiss", seatings=1, days=2, rounds=5)
    League.create("cup", settings, roster, path).save(new=True)
    return path


#: The smallest part of every row that is not hidden, and how far the rows and the page reach.
EXTENT = """() => {
  const rows = [...document.querySelectorAll(".standings tr")].map((row) => row.getBoundingClientRect());
  const names = [...document.querySelectorAll(".standings th[scope=row]")].map((name) => name.getBoundingClientRect().width);
  const page = document.documentElement;
  return [names.length, Math.max(...rows.map((row) => row.bottom)), Math.max(...rows.map((row) => row.right)),
    Math.min(...names), page.scrollHeight, page.scrollWidth];
}"""


#: The edges of the QR code, and whether all texts beside the bots are whole.
CODE = """() => {
  const edges = document.querySelector(".code svg").getBoundingClientRect();
  return [edges.left, edges.top, edges.right, edges.bottom];
}"""
UNCUT = """() => [...document.querySelectorAll(".now > p, .now > pre")].every((part) => part.scrollWidth <= part.clientWidth)"""


@pytest.mark.slow_pages
@pytest.mark.parametrize(("bots", "size"), [(6, (1920, 1080)), (28, (1280, 720)), (44, (1920, 1080)), (60, (800, 600))])
async def test_the_page_for_a_projector_fits_the_screen(
    browser: Browser, tmp_path: Path, bots: int, size: tuple[int, int]
) -> None:
    path = league_file(tmp_path / "cup.league.json", bots, WIDE)
    async with (
        serving(league=path) as server,
        visiting(browser, f"{server.url}/leagues/cup/projector", size=size) as page,
    ):
        for state in ("not started", "0 running"):
            await page.get_by_text(state).wait_for()
            rows, bottom, right, name, height, width = await page.evaluate(EXTENT)
            assert rows == min(bots, 44)
            assert bottom <= size[1]
            assert right <= size[0]
            assert name >= 60
            assert (width, height) == size
            if state == "not started":
                left, top, right, bottom = await page.evaluate(CODE)
                assert min(right - left, bottom - top) >= 100, "a phone can read it"
                assert right <= size[0]
                assert bottom <= size[1]
                assert await page.evaluate(UNCUT)
            server.leagues.directors["cup"].set_state("running")


@pytest.mark.slow_pages
async def test_the_page_for_a_projector_refreshes_itself_or_says_how_old_it_is(browser: Browser, tmp_path: Path) -> None:
    path = league_file(tmp_path / "cup.league.json", 2)
    expected = ["net::ERR_", "404 (Not Found)"]
    async with (
        serving(league=path) as server,
        visiting(browser, f"{server.url}/leagues/cup/projector", expected=expected) as page,
    ):
        director = server.leagues.directors["cup"]
        await page.get_by_text("not started, 0 of 2 bots are here").wait_for()
        director.set_state("running")
        await page.get_by_text("day 1 of 2, 1 game left on this day, 0 running").wait_for()
        await page.clock.install()
        await page.reload()
        old = page.get_by_role("status").filter(has_text="This is the state of")
        del server.leagues.directors["cup"]
        await page.clock.run_for(13_000)
        await old.filter(has_text="The server does not know this page any more").wait_for()
        await page.route("**/projector", lambda route: route.abort())
        await page.clock.run_for(3_000)
        await old.filter(has_text="The server does not answer").wait_for()
        await page.unroute("**/projector")
        server.leagues.directors["cup"] = director
        director.set_state("over")
        await page.clock.run_for(13_000)
        await page.get_by_text("final standings").wait_for()
        assert "data-refresh" not in await page.locator("#projector").evaluate("(part) => part.outerHTML.slice(0, 200)")


@pytest.mark.slow_pages
async def test_a_refresh_does_not_change_the_button_that_the_organiser_aims_at(browser: Browser, tmp_path: Path) -> None:
    roster = [RosterEntry(name, f"key-{name}_") for name in ("ann", "bob", "cid", "dot")]
    path = tmp_path / "cup.league.json"
    League.create("cup", LeagueSettings(table="duel"), roster, path, "the-organisers-key").save(new=True)
    undo = "[...document.querySelectorAll('[data-key^=undo]')].map((form) => form.dataset.key.slice(5)).join()"
    async with serving(league=path) as server, visiting(browser, f"{server.url}/leagues/cup/organiser") as page:
        director = server.leagues.directors["cup"]
        absent = [fixture.entrants[0] for fixture in director.league.fixtures[:2]]
        one, other = (director.league.names[entrant] for entrant in absent)
        for fixture, entrant in zip(director.league.fixtures, absent, strict=False):
            director.league.decide(fixture, FixtureResult(kind="absent", absent=(entrant,)))
        await page.get_by_label("Key").fill("the-organisers-key")
        await page.get_by_role("button", name="Log in").click()
        await until(page, f"{undo} === '{one},{other}'")
        await page.get_by_role("button", name="Let it play").nth(1).focus()
        director.undo_absences(one)
        await until(page, f"{undo} === '{other}'")
        assert await page.evaluate("document.activeElement.form.dataset.key") == f"undo {other}"
        director.undo_absences(other)
        await until(page, f"{undo} === ''")
        assert await page.evaluate("document.activeElement === document.body"), "its button is gone"


@pytest.mark.slow_pages
async def test_the_page_off_air_goes_to_the_next_game(browser: Browser) -> None:
    async with serving(rounds=50) as server, playing(server, *"abcd") as bots:
        async with visiting(browser, f"{server.url}/tv") as page:
            await page.get_by_role("heading", name="Nothing on").wait_for()
            joins = [asyncio.create_task(bot.join("arena")) for bot in bots]
            await page.get_by_role("heading", name="on air: game").wait_for()
        server.lobby.close()
        await asyncio.gather(*joins)


@pytest.mark.slow_pages
@pytest.mark.parametrize("size", [DESKTOP, PHONE])
async def test_no_page_is_wider_than_the_window(browser: Browser, size: tuple[int, int]) -> None:
    async with serving(rounds=1) as server, playing(server, *("W" * 19 + sign for sign in "abcd")) as bots:
        await asyncio.gather(*(bot.play() for bot in bots))
        await bots[0].join(turns=5)
        user = bots[0].state["hero"]["userId"]
        async with visiting(browser, server.url, size=size) as page:
            for path in ("/", "/games", "/ai", f"/ai/{user}", "/leagues", "/doc", "/register"):
                await page.goto(server.url + path)
                assert await page.evaluate("document.documentElement.scrollWidth <= innerWidth"), path
