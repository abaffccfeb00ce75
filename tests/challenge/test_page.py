"""The page of challenges in a real browser: the form, keys and touch, the votes of the bots, the end."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.support.browser import PHONE, until as shown, visiting
from tests.support.challenges import NASTY, fits, hosting, our_turn
from tests.support.recorded import record, states_of
from tests.support.waiting import until
from vindibot.challenge.game import ChallengeGame
from vindibot.challenge.host import Host
from vindibot.challenge.routes import PATH
from vindibot.games.files.recorded_turn import Continuation
from vindibot.games.history import GameHistory

pytestmark = pytest.mark.asyncio(loop_scope="session")

KEYS = ["ArrowUp", "ArrowDown", "ArrowRight", "ArrowLeft", "Space", ".", "d", "a", "ArrowUp", "ArrowDown"]
WAYS = [1, 2, 3, 4, 0, 0, 3, 4, 1, 2]
#: Counts how often the board is drawn in each frame; `most` is the largest number.
COUNT = """() => {
  const { board } = vindibotChallenge.shown.view, frame = board.frame.bind(board);
  let now = 0;
  window.most = 0;
  board.frame = (scene) => { window.most = Math.max(window.most, ++now); frame(scene); };
  const next = () => { now = 0; requestAnimationFrame(next); };
  next();
}"""


@asynccontextmanager
async def opened(
    browser: Any, folder: Path, *, bots: tuple[str, ...] = ("malvert",), about: Any = None, **settings: Any
) -> AsyncIterator[Any]:
    """A host, and its page in a browser. `about` has the options of the window."""
    async with (
        hosting(folder, bots, **{"limit_ms": 5000, "your_limit_s": 0} | settings) as (host, server, _),
        visiting(browser, server.url + PATH, **about or {}) as page,
    ):
        yield host, page


async def play(page: Any, name: str = "ann", **chosen: str) -> None:
    await page.get_by_label("Your name").fill(name)
    for label, value in chosen.items():
        await page.get_by_label(label.replace("_", " "), exact=True).select_option(label=value)
    await page.get_by_role("button", name="Play", exact=True).click()


def only_game(host: Host) -> ChallengeGame:
    (game,) = host._tasks
    return game


def own_moves(game: ChallengeGame) -> list[int]:
    assert game.room is not None
    return game.room.moves[min(game.setup.people) :: 4]


@pytest.mark.slow_pages
async def test_ten_moves_by_keyboard_and_the_votes_of_the_bots(browser: Any, tmp_path: Path) -> None:
    async with opened(browser, tmp_path, bots=("malvert", "seed"), rounds=12) as (host, page):
        await play(page, NASTY, You_are="hero 3")
        await our_turn(page, 1)
        await page.evaluate(COUNT)
        for number, key in enumerate(KEYS, 1):
            await our_turn(page, number)
            await page.keyboard.press(key)
        await our_turn(page, 11)
        assert await page.evaluate("window.most") == 1, "moves and plies are drawn once per frame"
        game = only_game(host)
        assert own_moves(game) == WAYS
        assert await page.locator(".heroes .name").all_inner_texts() == ["malvert", "seed", NASTY, "malvert"]
        assert not await page.locator("main img").count(), "a name is text"
        for hero in (1, 0, 3):
            await page.locator(f".tab[data-hero='{hero}']").or_(page.get_by_label("Show how the bots decided")).first.wait_for()
            if hero == 1:
                await page.keyboard.press("v")
            await page.locator(f".tab[data-hero='{hero}']").click()
            last = [one for one in game.decisions.made if one.header.hero == hero + 1][-1]
            move = ("Stay", "North", "South", "East", "West")[last.ballot.direction]
            await page.get_by_role("heading", name=f"Why {move} on turn {last.games['turn'].item(0)}?").wait_for()
            for entry in last.ballot.entries:
                row = page.locator(f".votes tr[data-trait='{entry.label}']")
                shown = await row.locator("[data-value]").evaluate_all("cells => cells.map((cell) => Number(cell.dataset.value))")
                expected = [] if entry.votes is None else [entry.weighted[way] for way in last.ballot.candidates]
                assert shown == pytest.approx(expected, rel=1e-4), entry.label
        await page.keyboard.press("Space")
        await our_turn(page, 12)
        assert own_moves(game)[-1] == 0, "the space bar is not for the button that was clicked last"
        await page.keyboard.press("ArrowUp")
        await page.get_by_role("region", name="Result").wait_for()
        await until(lambda: host.notes)
        gold = game.result.gold
        place = ("first", "second", "third", "fourth")[sum(other > gold[2] for other in gold)]
        result = await page.get_by_role("region", name="Result").inner_text()
        assert "You have won!" in result or f"You tied for {place}" in result or f"You came {place}" in result
        assert ("You have won!" in result) == (game.result.winner == 2)
        await page.keyboard.press("Space")
        await page.get_by_role("button", name="Play again").click()
        await our_turn(page, 1)
        assert only_game(host) is not game


@pytest.mark.slow_pages
async def test_ten_moves_by_touch_in_a_narrow_window(browser: Any, tmp_path: Path) -> None:
    about = {"size": PHONE, "has_touch": True, "is_mobile": True}
    async with opened(browser, tmp_path, about=about, rounds=14) as (host, page):
        assert await fits(page)
        await play(page)
        for number, way in enumerate(WAYS, 1):
            await our_turn(page, number)
            await page.locator(f".way-{way}").tap()
        await our_turn(page, 11)
        box = await page.locator(".board").bounding_box()
        for number, (dx, dy) in enumerate(((60, 5), (-4, -70)), 11):
            await our_turn(page, number)
            middle = {"x": box["x"] + box["width"] / 2, "y": box["y"] + box["height"] / 2}
            await swipe(page, middle, dx, dy)
        await our_turn(page, 13)
        where = "(({ game }) => game.value(game.last, game.me, 0))(vindibotChallenge.shown.view)"
        own = await page.evaluate(where)
        side = box["width"] / 5
        assert await page.evaluate("vindibotChallenge.shown.view.game.size") == 5
        await page.touchscreen.tap(box["x"] + side * (own % 5 + 0.5), box["y"] + side * (own // 5 + 0.5))
        await our_turn(page, 14)
        assert own_moves(only_game(host)) == [*WAYS, 3, 1, 0]
        # The text about the round may still move the box.
        await shown(page, "vindibotChallenge.shown.view.clock.state === vindibotChallenge.shown.view.game.last")
        await page.get_by_label("Show how the bots decided").tap()
        await page.get_by_role("heading", name="on turn").wait_for()
        assert await fits(page)
        await page.set_viewport_size({"width": 320, "height": 700})
        assert await fits(page)
        await page.set_viewport_size({"width": 844, "height": 390})
        await shown(page, "document.querySelector('.board').clientHeight < 300")
        pad, board = await page.locator(".pad").bounding_box(), await page.locator(".board").bounding_box()
        assert pad["x"] >= board["x"] + board["width"], "on its side, a phone has the pad beside the board"
        assert board["y"] <= pad["y"] <= board["y"] + board["height"] - pad["height"]
        assert await fits(page)


async def swipe(page: Any, start: dict[str, float], dx: float, dy: float) -> None:
    """Touch the page, move, and release."""
    session = await page.context.new_cdp_session(page)
    for kind, step in (("touchStart", 0.0), ("touchMove", 0.5), ("touchMove", 1.0), ("touchEnd", None)):
        points = [] if step is None else [{"x": start["x"] + step * dx, "y": start["y"] + step * dy}]
        await session.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": points})
    await session.detach()


@pytest.mark.slow_pages
async def test_the_page_says_that_the_server_ended_the_game(browser: Any, tmp_path: Path) -> None:
    async with opened(browser, tmp_path, bots=("malvert", "seed"), rounds=30) as (host, page):
        await play(page, You_are="hero 3")
        await our_turn(page, 1)
        heard = page.get_by_role("status").filter(has_text="Your life is 100, your gold 0.")
        assert "North mine of nobody, South blocked, East blocked, West free." in await heard.inner_text()
        await page.get_by_label("Show how the bots decided").check()
        await page.get_by_role("heading", name="on turn").wait_for()
        await page.locator(".tab[data-hero='3']").click()
        assert await page.locator(".why h2").inner_text() == "Why", "hero 4 has not moved"
        only_game(host).leave()
        result = page.get_by_role("region", name="Result")
        await result.get_by_text("It was ended early.").wait_for()
        assert await result.get_by_role("heading").inner_text() == "The game has ended"
        await page.evaluate("() => addEventListener('keydown', (event) => (window.taken = event.defaultPrevented))")
        await page.keyboard.press("ArrowDown")
        assert await page.evaluate("taken") is False, "after the end, keys scroll the page"


@pytest.mark.slow_pages
async def test_a_page_that_is_loaded_again_goes_on_and_a_closed_page_ends_the_game(browser: Any, tmp_path: Path) -> None:
    async with opened(browser, tmp_path) as (host, page):
        await play(page, Your_pace="5 s per move, then your hero stays")
        await our_turn(page, 1)
        await page.keyboard.press("ArrowUp")
        await our_turn(page, 2)
        page.on("dialog", lambda dialog: dialog.accept())
        await page.reload()
        await our_turn(page, 2)
        assert await page.evaluate("vindibotChallenge.shown.page.pace") == 5
        await page.keyboard.press("ArrowDown")
        await our_turn(page, 3)
        assert own_moves(only_game(host)) == [1, 2]
        other = await page.context.new_page()
        await page.close()
        await until(lambda: host.notes)
        assert host.notes == ["ann: the game was ended early"]
        await other.close()


@pytest.mark.slow_pages
async def test_giving_up_and_playing_again_with_a_bot_that_is_broken_meanwhile(browser: Any, tmp_path: Path) -> None:
    bot = tmp_path / "mine.toml"
    bot.write_text('extends = "stay"\n')
    about = {"expected": ["404 (Not Found)"]}
    async with opened(browser, tmp_path, bots=(str(bot),), about=about) as (host, page):
        await play(page)
        await our_turn(page, 1)
        page.on("dialog", lambda dialog: dialog.accept())
        await page.get_by_role("button", name="Give up").click()
        await page.get_by_role("region", name="Result").get_by_text("You gave up.").wait_for()
        bot.write_text('extends = "nothing"\n')
        await until(lambda: host.notes)
        await page.get_by_role("button", name="Play again").click()
        await page.get_by_role("alert").filter(has_text="mine.toml").wait_for()
        bot.write_text('extends = "stay"\n')
        await page.get_by_role("button", name="Play again").click()
        await our_turn(page, 1)
        await page.get_by_role("button", name="Give up").click()
        await page.get_by_role("button", name="New choice").click()
        await page.get_by_label("Your name").wait_for()
        assert "#" not in page.url
        await page.goto(page.url + "#wrong")
        await page.get_by_label("Your name").wait_for()


@pytest.mark.slow_pages
async def test_choosing(browser: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The page draws the selected map, shows an error for a broken bot, and stores the choice."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mine.toml").write_text(f'name = "{NASTY}"\nextends = "stay"\n')
    about = {"expected": ["400 (Bad Request)", "net::ERR_FAILED"]}
    async with opened(browser, tmp_path, about=about, bots=()) as (_, page):
        assert await page.get_by_role("link", name="How to play").get_attribute("href") == "/doc"
        board = page.get_by_role("img", name="The map")
        assert await board.get_attribute("aria-label") == "The map: 5 by 5 squares"
        await page.get_by_label("Map", exact=True).select_option("random")
        await page.get_by_label("Size", exact=True).select_option("28")
        await page.get_by_role("img", name="The map: 28 by 28 squares").wait_for()
        await page.route("**/challenge/maps/**", lambda route: route.abort())
        await page.get_by_role("button", name="Another map").click()
        await page.get_by_role("alert").filter(has_text="does not answer").wait_for()
        await page.unroute("**/challenge/maps/**")
        await page.get_by_role("button", name="Another map").click()
        await page.get_by_role("alert").filter(has_text="does not answer").wait_for(state="detached")
        await page.get_by_label("Hero 4").select_option(label=f"{NASTY} (mine.toml)")
        await page.get_by_label("Rounds").fill("33")
        (tmp_path / "mine.toml").write_text('extends = "nothing"\n')
        await play(page)
        await page.get_by_role("alert").filter(has_text="mine.toml").wait_for()
        focused = "[document.activeElement.ariaLabel, document.activeElement.getAttribute('aria-describedby')]"
        assert await page.evaluate(focused) == ["Hero 4", "problem"]
        await play(page, "a\u202eb")
        await page.get_by_role("alert").filter(has_text="name has a character that cannot be seen").wait_for()
        assert await page.locator("[aria-invalid=true]").get_attribute("id") == "name"
        await page.reload()
        await page.get_by_label("Hero 4").wait_for()
        assert await page.get_by_label("Rounds").input_value() == "33"
        assert await page.get_by_label("Your name").input_value() == "a\u202eb"


@pytest.mark.slow_pages
async def test_a_game_goes_on_from_a_turn_of_an_earlier_game(browser: Any, tmp_path: Path) -> None:
    history = GameHistory.of(record(tmp_path, states_of(5, plies=60), 2))
    start = Continuation(history, history.at_turn(29), 1)
    async with opened(browser, tmp_path, start=start) as (host, page):
        await page.get_by_text("8 rounds left").wait_for()
        assert await page.get_by_label("Map", exact=True).input_value() == "turn"
        assert await page.get_by_label("You are").input_value() == "2"
        assert await page.get_by_label("Rounds").is_disabled()
        await play(page)
        await our_turn(page, 8)
        assert only_game(host).room.history.turn(0) == 29
